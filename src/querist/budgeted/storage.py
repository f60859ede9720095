"""What of a stream learner is saved (`querist.codec`), and how it is rebuilt."""

from dataclasses import dataclass
from typing import Annotated, Any

from querist.budgeted.budget import housed
from querist.budgeted.learner import BLS, CONDITIONS, MAINTENANCE, WARM_UP
from querist.budgeted.similarity import CODES, RBF
from querist.budgeted.step import (
    LABELLED,
    OLDEST_L,
    OLDEST_U,
    REMOVE,
    SEEN,
    SLOT,
    UNLABELLED,
    BudgetRules,
    BudgetState,
)
from querist.codec import Field, SavedKind
from querist.errors import refuse
from querist.types import Floats

_NAMED = {"maintenance": MAINTENANCE, "condition": CONDITIONS, "kernel": CODES}


@dataclass(frozen=True)
class SavedStream:
    """A stream learner; `first` are the items that a width is still to be taken from, while it is `warm`."""

    n_classes: int
    rules: BudgetRules
    warm: bool
    floor: Annotated[float, Field(least=0)]
    first: Annotated[Floats, Field("items features")]
    state: BudgetState | None

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes; room is for so many vectors."""
        room = 0 if self.state is None else self.state.X.shape[1]
        return {
            "K": self.n_classes,
            "problems": 1 if self.n_classes == 2 else self.n_classes,
            "room": room,
            "second": 0 if self.rules.maintenance == REMOVE else room,
        }

    def saved_faults(self) -> dict[str, Any]:
        """What a step takes for granted of slots and counts."""
        state, rules, first = self.state, self.rules, self.first
        if state is None:
            return {"first items and no budget": first.size}
        d, room = state.X.shape
        labelled, unlabelled = (int(state.counts[kind]) for kind in (LABELLED, UNLABELLED))
        b, budgets, seen = (
            labelled + unlabelled,
            (rules.budget_labelled, rules.budget_unlabelled),
            state.counts[SEEN],
        )
        oldest = state.counts[OLDEST_L : OLDEST_U + 1]
        slots = sorted([*state.ring[0, :labelled].tolist(), *state.ring[1, :unlabelled].tolist()])
        fixed = rules.maintenance == REMOVE
        return {
            f"{d} features, {room} slots": d < 1 or room < 1,
            f"{b} vectors in {room} slots": b > room,
            f"{room} slots for {sum(budgets)} vectors": fixed and room < sum(budgets),
            f"{labelled} and {unlabelled} vectors": fixed
            and (labelled > budgets[0] or unlabelled > budgets[1]),
            "slots that are none of the vectors": len(slots) != b or slots != list(range(len(slots))),
            f"the oldest at {oldest.tolist()}": any(
                o and o >= most for o, most in zip(oldest, budgets, strict=True)
            ),
            f"the last slot {state.counts[SLOT]}": state.counts[SLOT] >= room,
            f"{seen} items seen": seen < b or (self.warm and seen >= WARM_UP),
            "a change that waits for no slot": state.owed[0] != 0 and state.owed[2] not in range(b),
            "weights that are not above 0": (state.D[:b] <= 0).any(),
            f"first items of shape {first.shape}": (
                not seen <= len(first) <= WARM_UP or (first.size and first.shape[1] != d)
                if self.warm
                else first.size
            ),
        }

    def learner(self) -> BLS:
        """The learner again, bit for bit."""
        named = {name: [*codes][getattr(self.rules, name)] for name, codes in _NAMED.items()}
        learner = BLS(self.n_classes, **{**self.rules._asdict(), **named})  # it checks these numbers
        refuse(
            {
                "rules of another learner": learner.rules != self.rules,
                "a width that is still to be taken": self.warm and self.rules.kernel != RBF,
            }
        )
        learner.state = None if self.state is None else housed(self.state)
        learner.first, learner.warm, learner.floor = self.first, self.warm, self.floor
        return learner


KIND = SavedKind("stream learner", 3, SavedStream)


def as_saved(learner: BLS) -> SavedStream:
    """What is saved of a learner."""
    return SavedStream(**{name: getattr(learner, name) for name in SavedStream.__dataclass_fields__})
