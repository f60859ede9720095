"""What of an online learner is saved (`querist.codec`), and how it is rebuilt.

Numbers and arrays are compared with the annotations of its parts before a kernel sees them; open questions
and ids with what the learner would have taken from its user.
"""

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from querist import plugins
from querist.codec import SavedKind
from querist.online import checks
from querist.online.catalogue import ALGORITHMS
from querist.online.composition import Composition, OnlineParts
from querist.online.learner import Learned, Learner, OpenQuestion
from querist.online.rules import SchemeName

KINDS: dict[str, type[Learner]] = {
    kind.__name__: kind
    for kind in (
        *(Composition, *ALGORITHMS.data.values()),
        *(plugins.load("learner", name) for name in plugins.names("learner")),
    )
    if isinstance(kind, type)
}
"""The classes of learners by name; a plugin names one of its own as `learner.NAME`."""


@dataclass(frozen=True)
class SavedLearner:
    """An online learner without its working room; `safe` is whether blocks of rounds may be screened."""

    algorithm: str
    parts: Any
    seed: int
    budget: int | None
    safe: bool
    notes: tuple[str, ...]
    nodes: tuple[Hashable, ...] | None
    pending: Mapping[int, tuple[OpenQuestion, ...]]
    learned: Learned | None

    def saved_faults(self) -> dict[str, Any]:
        """What no annotation says."""
        rules, place, kind = self.parts.rules, self.parts.place, KINDS.get(self.algorithm)
        n, problems, names = len(place.rows), self.parts.saved_sizes()["C"], self.nodes
        asked = {len(question.asks) for queue in self.pending.values() for question in queue}
        return {
            f"no parts of {self.algorithm!r:.80}": kind is None or type(self.parts) is not kind._parts,
            "there are no rows": n == 0,
            "what was learned does not fit": (self.learned is None) == isinstance(self.parts, OnlineParts),
            f"tie_order is {place.tie_order}": set(place.tie_order.tolist()) != set(range(rules.n_classes)),
            f"rules for a budget of {rules.budget}": rules.budget not in (-1, self.budget),
            f"{n} rows and other ids": names is not None and not len(set(names)) == len(names) == n,
            "open questions about no node": any(not 0 <= row < n for row in self.pending),
            f"open questions of {asked} problems": asked not in (set(), {problems}),
        }

    def learner(self) -> Learner:
        """The learner again; decisions, draws and state go on bit for bit."""
        kind = KINDS[self.algorithm]
        learner = kind.__new__(kind)
        learner.n_classes = self.parts.rules.n_classes
        ids = None if self.nodes is None else checks.Ids(self.nodes)
        scheme: SchemeName = "one-vs-rest" if self.parts.rules.binary else "multiclass"
        learner._open(ids, self.budget, self.seed, scheme, self.notes)
        learner._hold(self.parts, self.safe)
        learner._pending = {row: deque(questions) for row, questions in self.pending.items()}
        learner._learned = None if self.learned is None else [self.learned]
        return learner


SavedLearner.__annotations__["parts"] = Union[tuple({kind._parts: None for kind in KINDS.values()})]  # noqa: UP007
KIND = SavedKind("online learner", 4, SavedLearner)


def as_saved(learner: Learner) -> SavedLearner:
    """What is saved of a learner."""
    return SavedLearner(
        algorithm=next(kind.__name__ for kind in type(learner).__mro__ if kind in KINDS.values()),
        parts=learner._parts(learner._rules, learner._place, learner._state),
        seed=learner.seed,
        budget=learner.budget,
        safe=learner._safe,
        notes=learner.notes,
        nodes=None if learner.ids is None else learner.ids.names,
        pending={row: tuple(questions) for row, questions in learner._pending.items()},
        learned=learner._answers(),
    )
