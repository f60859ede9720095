"""The stream learner: predict, then learn, one vector or many; no maths.

It speaks class codes and rows of numbers. `SavedStream` is what is saved of it. `BudgetedLeastSquares` puts
the user's labels and scikit-learn's contract around it, `RiverBudgetedLeastSquares` river's.
"""

from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from querist import codec
from querist.budgeted import budget, checks, step
from querist.budgeted.similarity import CODES, RBF, KernelName, dense, mean_distance
from querist.budgeted.step import BudgetRules, BudgetState
from querist.codec import Field, SavedKind
from querist.errors import InputError, refuse
from querist.locks import OwnLock, one_at_a_time
from querist.parameters import Range, check_values, checked_count, parameters_of
from querist.types import Codes, Floats

MaintenanceName: TypeAlias = Literal["remove", "projection", "projection-persistent"]
ConditionName: TypeAlias = Literal["algorithm", "text", "fill"]

MAINTENANCE = {"remove": step.REMOVE, "projection": step.PROJECT, "projection-persistent": step.PERSIST}
CONDITIONS = {"algorithm": step.ALGORITHM, "text": step.TEXT, "fill": step.FILL}

WARM_UP = 500
"""Items that the kernel width is taken from, where it is not given."""

MILESTONES = (2, 4, 8, 16, 32, 64, 128, 256, WARM_UP)
"""Items after which the width is taken anew."""

BLOCK = 4096
"""Items between two looks at Python, where a run can be interrupted."""


@dataclass(frozen=True)
class Stream:
    """What happened, item by item.

    predicted : (n,) class codes before learning; -1 where all scores were 0
    actions : (n,) 0 nothing, 1 added, 2 replaced another, 3 projected

    >>> import numpy as np
    >>> stream = Stream(predicted=np.array([-1, 0, 1]), actions=np.array([1, 0, 1]))
    >>> round(stream.accuracy(np.array([0, 0, 1])), 3), stream.updates
    (0.667, 2)
    """

    predicted: Codes
    actions: Codes

    @classmethod
    def blank(cls, n: int) -> "Stream":
        """Of n items, none of which has been looked at."""
        return cls(np.full(n, -1), np.zeros(n, dtype=np.int64))

    @property
    def updates(self) -> int:
        """Items that changed the model."""
        return int(np.count_nonzero(self.actions))

    def accuracy(self, truth: Codes) -> float:
        """Prequential accuracy: an item that nothing can be said about counts as wrong."""
        return float(np.mean(self.predicted == truth)) if truth.size else float("nan")


@dataclass(eq=False, repr=False, kw_only=True)
class StreamParameters:
    """The parameters of `BLS` as fields, which estimators have too.

    >>> StreamParameters(budget_labelled=20).lambda1
    1.0
    """

    maintenance: MaintenanceName = "remove"
    condition: ConditionName | None = None
    kernel: KernelName = "rbf"
    width: Annotated[float | None, Range(gt=0)] = None
    lambda1: Annotated[float, Range(gt=0)] = 1.0
    lambda2: Annotated[float, Range(gt=0)] = 0.1
    epsilon: Annotated[float, Range(0)] = 0.25
    budget_labelled: Annotated[int, Range(1)] = 150
    budget_unlabelled: Annotated[int, Range(0)] = 300
    ridge: Annotated[float, Range(gt=0)] = 1e-4
    limit: int | None = None

    def stream_learner(self, n_classes: int) -> "BLS":
        """A fresh learner with these parameters."""
        return BLS(n_classes, **{f.name: getattr(self, f.name) for f in fields(StreamParameters)})


@dataclass(eq=False, repr=False)
class BLS(StreamParameters):
    """Budgeted least squares on a stream (bls19, Alg. 3).

    Several threads may use it: each call is done before the next one begins.

    Parameters
    ----------
    n_classes : >= 2
    maintenance : "remove" the oldest, "projection", or "projection-persistent" (see step.py)
    condition : who enters, "algorithm" (Alg. 3, line 3), "text", or "fill" (see step.py); by
        default "algorithm" to remove, "text" to project. The paper's tables follow "fill"
    kernel : "rbf" or "linear"
    width : sigma^2 of the RBF kernel; by default the mean distance between the first 500
        items. It is taken after 2, 4, 8, ..., 256 and 500 items, the model is solved anew
        each time, and then it stays
    lambda1, lambda2 : > 0; weight of the model's norm, and of the prior on unlabelled targets
    epsilon : >= 0; a score within it is unsure
    budget_labelled, budget_unlabelled : vectors kept; 0 unlabelled ones means that unlabelled
        items teach nothing
    ridge : > 0; added to the kernel matrix that projections are made with
    limit : most vectors that projections may keep (the paper sets none); by default twice
        both budgets
    seed : as for every stream learner; nothing here is random

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [0.1], [0.9], [0.2]])
    >>> learner = BLS(2, width=1.0)
    >>> learner.run(X, np.array([0, 1, -1, -1, 0])).predicted
    array([-1,  0,  0,  1,  0])
    """

    n_classes: int
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_values(parameters_of(StreamParameters), vars(self))
        self.n_classes = checked_count("n_classes", self.n_classes, 2)
        labelled, unlabelled = int(self.budget_labelled), int(self.budget_unlabelled)
        most = 2 * (labelled + unlabelled) if self.limit is None else self.limit
        code = CODES[self.kernel]
        self.warm = code == RBF and self.width is None
        default: ConditionName = "algorithm" if self.maintenance == "remove" else "text"
        self.rules = BudgetRules(
            kernel=code,
            width=1.0 if self.width is None else float(self.width),
            maintenance=MAINTENANCE[self.maintenance],
            condition=CONDITIONS[self.condition or default],
            lambda1=float(self.lambda1),
            lambda2=float(self.lambda2),
            epsilon=float(self.epsilon),
            ridge=float(self.ridge),
            budget_labelled=labelled,
            budget_unlabelled=unlabelled,
            limit=checked_count("limit", most, labelled),
        )
        self.floor = 0.0
        self.first = np.empty((0, 0))
        self.state: BudgetState | None = None
        self.own_lock = OwnLock()

    # -- what it knows ---------------------------------------------------------

    @property
    def n_problems(self) -> int:
        """Rows of coefficients: one for two classes, one a class above."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_features(self) -> int | None:
        """Features of a vector; None before the first."""
        return None if self.state is None else int(self.state.X.shape[0])

    @property
    def seen(self) -> int:
        """Items learned from or passed over."""
        return 0 if self.state is None else int(self.state.counts[step.SEEN])

    @property
    def updates(self) -> int:
        """Items that changed the model."""
        return 0 if self.state is None else int(self.state.counts[step.UPDATES])

    @property
    def sizes(self) -> tuple[int, int]:
        """Labelled and unlabelled vectors in the budget."""
        if self.state is None:
            return 0, 0
        return int(self.state.counts[step.LABELLED]), int(self.state.counts[step.UNLABELLED])

    # -- predict and learn -----------------------------------------------------

    @one_at_a_time
    def scores(self, X: Any) -> Floats:
        """(n, problems) f of every row; nothing changes."""
        M = self._checked(X)
        out = np.zeros((M.shape[0], self.n_problems))
        if self.state is not None and any(self.sizes):
            unseen = np.full(M.shape[0], -1)
            blank, rows = Stream.blank(M.shape[0]), checks.as_rows(M)
            record = step.StreamRecord(blank.predicted, out, blank.actions)
            step.run(self.state, self.rules, rows, unseen, record, 0, M.shape[0], False)
        return out

    @one_at_a_time
    def run(self, X: Any, labels: Any, labelled: Any = None) -> Stream:
        """Predict every row, then learn from it, in order; -1, or a false `labelled`, is no label.

        Everything is checked before anything is learned.
        """
        M = self._checked(X)
        codes = checks.masked(checks.checked_labels(labels, M.shape[0], self.n_classes), labelled)
        done = Stream.blank(M.shape[0])
        record = step.StreamRecord(done.predicted, np.empty((0, self.n_problems)), done.actions)
        if self.state is None and M.shape[0]:
            self.state = budget.empty(self.rules, self.n_problems, M.shape[1])
        at, rows = 0, checks.as_rows(M)
        while at < M.shape[0]:
            stop = min(self._warm_up(M, at), at + BLOCK)
            at = self._learn(rows, codes, record, at, stop)
        return done

    @one_at_a_time
    def widen(self, n_features: int) -> None:
        """Make room for features that were not there before; they were 0 in every earlier item."""
        if self.state is not None and n_features > self.state.X.shape[0]:
            more = n_features - self.state.X.shape[0]
            self.state = self.state._replace(X=np.pad(self.state.X, ((0, more), (0, 0))))
            if self.first.size:
                self.first = np.pad(self.first, ((0, 0), (0, more)))

    @one_at_a_time
    def add_class(self) -> None:
        """Make room for a class that was not there before: every label so far was none of it."""
        if self.state is not None:
            self.state = budget.with_class(self.state, self.rules)
        self.n_classes += 1

    def __setstate__(self, content: dict[str, Any]) -> None:
        # Unpickled arrays may be views of a read-only file; the loop writes to them.
        self.__dict__.update(content)
        if self.state is not None:
            self.state = budget.housed(self.state)

    # -- the loop, and what interrupts it ----------------------------------------

    def _learn(
        self, rows: step.StreamRows, codes: Codes, record: step.StreamRecord, at: int, stop: int
    ) -> int:
        stuck = -1
        while True:
            assert self.state is not None
            at, event = step.run(self.state, self.rules, rows, codes, record, at, stop, True)
            if event == step.DONE:
                return at
            # How far the inverse may be off before it is computed afresh.
            tolerance = max(budget.FINE, budget.WORSE * self.floor)
            if event == step.DUE and not budget.drifted(self.state, self.rules, tolerance):
                continue
            if event == step.FULL:
                capacity = min(self.rules.limit, 2 * self.state.k.size)
                self.state = budget.resized(self.state, self.rules, self.state.X.shape[0], capacity)
                continue
            if event == step.STUCK and stuck == at:
                raise InputError(
                    f"item {self.seen + 1} leaves the kernel matrix without digits; scale the features, "
                    "or raise lambda1 or ridge"
                )
            if event == step.STUCK:
                stuck = at
            self.floor = budget.refactor(self.state, self.rules)

    def _warm_up(self, M: Any, at: int) -> int:
        """Take the width anew where it is due; the item before which to stop and do it again."""
        if not self.warm:
            return int(M.shape[0])
        # An item that was refused half-way has been remembered, but not seen.
        self.first = self.first[: self.seen]
        due = next(n for n in MILESTONES if n > self.seen)
        stop = int(min(M.shape[0], at + due - 1 - self.seen))
        if stop > at:
            self._remember(M[at:stop])
            return stop
        self._remember(M[at : at + 1])
        self.rules = self.rules._replace(width=mean_distance(self.first))
        assert self.state is not None
        self.floor = budget.restart(self.state, self.rules)
        if due == WARM_UP:
            self.warm, self.first = False, np.empty((0, 0))
        return at + 1

    def _remember(self, rows: Any) -> None:
        more = dense(rows)
        self.first = more.copy() if self.first.size == 0 else np.concatenate([self.first, more])

    def _checked(self, X: Any) -> Any:
        M = checks.checked_vectors(X, self.n_features)
        checks.checked_scale(M, self.rules.kernel, self.rules.lambda1)
        return M

    # -- saved state -----------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` gives the same bits."""
        names = SavedStream.__dataclass_fields__
        codec.write(path, KIND, SavedStream(**{name: getattr(self, name) for name in names}))

    @staticmethod
    def load(path: str | PathLike[str]) -> "BLS":
        """The learner that `save` wrote."""
        return codec.read(path, KIND, SavedStream.learner)


# -- what is saved ----------------------------------------------------------------------

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
            "second": 0 if self.rules.maintenance == step.REMOVE else room,
        }

    def saved_faults(self) -> dict[str, Any]:
        """What a step takes for granted of slots and counts."""
        state, rules, first = self.state, self.rules, self.first
        if state is None:
            return {"first items and no budget": first.size}
        d, room = state.X.shape
        labelled, unlabelled = (int(state.counts[kind]) for kind in (step.LABELLED, step.UNLABELLED))
        b, budgets, seen = (
            labelled + unlabelled,
            (rules.budget_labelled, rules.budget_unlabelled),
            state.counts[step.SEEN],
        )
        oldest = state.counts[step.OLDEST_L : step.OLDEST_U + 1]
        slots = sorted([*state.ring[0, :labelled].tolist(), *state.ring[1, :unlabelled].tolist()])
        fixed = rules.maintenance == step.REMOVE
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
            f"the last slot {state.counts[step.SLOT]}": state.counts[step.SLOT] >= room,
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
        learner.state = None if self.state is None else budget.housed(self.state)
        learner.first, learner.warm, learner.floor = self.first, self.warm, self.floor
        return learner


KIND = SavedKind("stream learner", 3, SavedStream)
