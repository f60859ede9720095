"""What of a stream learner goes to disk (`querist.saved`), and how it is rebuilt from there."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from querist import saved
from querist.budgeted import learner as protocol
from querist.budgeted.budget import housed
from querist.budgeted.similarity import RBF, Gram
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
from querist.errors import InputError, refuse
from querist.fields import ArrayField, as_record, checked, floats, whole

FORMAT = 2


def save(
    learner: "protocol.StreamLearner", path: str | PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write the learner, and something of the caller's own, to `path`, replacing it in one step."""
    about = {
        "format": FORMAT,
        "n_classes": learner.n_classes,
        "kernel": None if callable(learner.kernel) else learner.kernel,
        "kernel_params": learner.kernel_params,
        "rules": learner.rules._asdict(),
        "warm": learner.warm,
        "floor": learner.floor,
        "extra": extra or {},
    }
    arrays = {} if learner.state is None else learner.state._asdict()
    try:
        saved.write(path, about, {"first": learner.first, **arrays})
    except TypeError as problem:
        raise InputError(
            f"{problem}; a learner can be saved when its classes, feature names and kernel_params are "
            "strings, numbers or booleans"
        ) from None


def load(
    path: str | PathLike[str], kernel: Gram | None = None
) -> tuple["protocol.StreamLearner", dict[str, Any]]:
    """The learner, bit for bit, and the caller's own; a kernel that was a function is given again."""
    about, arrays = saved.read(path, FORMAT)
    named: str | Gram | None = about.get("kernel") or kernel
    if named is None:
        raise InputError(f"{path}: its kernel was a function, which a file cannot hold; give it as kernel=")
    with saved.rebuilding(path):
        return _rebuilt(about, arrays, named), dict(about["extra"])


def _rebuilt(
    about: Mapping[str, Any], arrays: Mapping[str, Any], kernel: str | Gram
) -> "protocol.StreamLearner":
    rules = as_record(BudgetRules, about["rules"])
    n_classes, warm, floor = about["n_classes"], about["warm"], about["floor"]
    # A learner that is made of these numbers checks them.
    learner = protocol.StreamLearner(
        n_classes,
        strategy=_name(protocol.STRATEGIES, rules.strategy),
        condition=_name(protocol.CONDITIONS, rules.condition),
        kernel=kernel,
        kernel_params=dict(about["kernel_params"]),
        **{name: value for name, value in rules._asdict().items() if name not in _CODES},
    )
    state = None
    if "H" in arrays:
        state = BudgetState(**{name: arrays[name] for name in BudgetState._fields})
        checked(arrays, _fields(rules), {"problems": learner.n_problems})
        refuse(_faults(rules, state, warm))
    refuse(
        {
            "rules of another learner": learner.rules != rules,
            f"warm {warm!r}": type(warm) is not bool or (warm and rules.kernel != RBF),
            f"floor {floor!r}": type(floor) is not float or floor < 0,
            "first items": _odd_first(arrays["first"], state, warm),
        }
    )
    learner.state = None if state is None else housed(state)
    learner.rules, learner.first, learner.warm, learner.floor = rules, arrays["first"], warm, floor
    return learner


_CODES = ("kernel", "strategy", "condition")


def _name(names: Mapping[str, int], code: int) -> Any:
    return {own: name for name, own in names.items()}[code]


def _odd_first(first: Any, state: BudgetState | None, warm: bool) -> bool:
    """Items that a width is still to be taken from: rows with the features of the budget, or nothing."""
    if state is None or not warm:
        return bool(first.size)
    if (
        first.ndim != 2
        or first.dtype != np.float64
        or not state.counts[SEEN] <= len(first) <= protocol.WARM_UP
    ):
        return True
    return bool(first.size) and not (first.shape[1] == len(state.X) and np.isfinite(first).all())


# -- what the arrays must be -----------------------------------------------------------


def _fields(rules: BudgetRules) -> dict[str, ArrayField]:
    """In terms of d (features), room (vectors that fit) and the number of problems."""
    second = "0" if rules.strategy == REMOVE else "room"
    a_vector = ("norms", "D", "waiting_h", "waiting_v")
    scratch = {name: floats("room", finite=False) for name in ("k", "a", "h", "g")}
    scores = {name: floats("problems", finite=False) for name in ("f", "y", "c")}
    return {
        "X": floats("d room"),
        **{name: floats("room") for name in a_vector},
        "H": floats("room room"),
        "G": floats(f"{second} {second}"),
        "alpha": floats("problems room"),
        "base": floats(f"problems {second}"),
        "Y": floats("problems room"),
        "items": whole("room"),
        "ring": whole("2 room", below="room"),
        "counts": whole("8"),
        "owed": floats("4"),
        **scratch,
        **scores,
    }


def _faults(rules: BudgetRules, state: BudgetState, warm: bool) -> dict[str, Any]:
    """What a step takes for granted of slots and counts."""
    d, room = state.X.shape
    labelled, unlabelled = (int(state.counts[kind]) for kind in (LABELLED, UNLABELLED))
    b, budgets = labelled + unlabelled, (rules.budget_labelled, rules.budget_unlabelled)
    oldest = state.counts[OLDEST_L : OLDEST_U + 1]
    slots = sorted([*state.ring[0, :labelled].tolist(), *state.ring[1, :unlabelled].tolist()])
    fixed = rules.strategy == REMOVE
    return {
        f"{d} features, {room} slots": d < 1 or room < 1,
        f"{b} vectors in {room} slots": b > room,
        f"{room} slots for {sum(budgets)} vectors": fixed and room < sum(budgets),
        f"{labelled} and {unlabelled} vectors": fixed and (labelled > budgets[0] or unlabelled > budgets[1]),
        "slots that are none of the vectors": slots != list(range(b)),
        f"the oldest at {oldest.tolist()}": any(
            o and o >= most for o, most in zip(oldest, budgets, strict=True)
        ),
        f"the last slot {state.counts[SLOT]}": state.counts[SLOT] >= room,
        f"{state.counts[SEEN]} items seen": state.counts[SEEN] < b
        or (warm and state.counts[SEEN] >= protocol.WARM_UP),
        "a change that waits for no slot": state.owed[0] != 0 and state.owed[2] not in range(b),
        "weights that are not above 0": (state.D[:b] <= 0).any(),
    }
