"""The stream learner: predict, then learn, one vector or many; no maths.

It speaks class codes and rows of numbers. `BudgetedLeastSquares` puts the user's labels
and scikit-learn's contract around it, `RiverBudgetedLeastSquares` river's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from querist.budgeted import budget, checks, loop, screen, step
from querist.budgeted.similarity import OTHER, RBF, Gram, checked_kernel, dense, gram_of, mean_distance
from querist.budgeted.step import BudgetRules, BudgetState
from querist.errors import InputError
from querist.locks import OwnLock, one_at_a_time
from querist.types import Codes, Floats

StrategyName: TypeAlias = Literal["remove", "projection", "projection-persistent"]
ConditionName: TypeAlias = Literal["algorithm", "text", "fill"]

STRATEGIES = {"remove": step.REMOVE, "projection": step.PROJECT, "projection-persistent": step.PERSIST}
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


class StreamLearner:
    """Budgeted least squares on a stream (bls19, Alg. 3).

    Several threads may use it: each call is done before the next one begins.

    Parameters
    ----------
    n_classes : >= 2
    strategy : "remove" the oldest, "projection", or "projection-persistent" (see step.py)
    condition : who enters, "algorithm" (Alg. 3, line 3), "text", or "fill" (see step.py); by
        default "algorithm" to remove, "text" to project. The paper's tables follow "fill"
    kernel : "rbf", "linear", a scikit-learn kernel name, or a function of two matrices
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
    kernel_params : keywords for a scikit-learn kernel name

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [0.1], [0.9], [0.2]])
    >>> learner = StreamLearner(2, width=1.0)
    >>> learner.run(X, np.array([0, 1, -1, -1, 0])).predicted
    array([-1,  0,  0,  1,  0])
    """

    def __init__(
        self,
        n_classes: int,
        *,
        strategy: StrategyName = "remove",
        condition: ConditionName | None = None,
        kernel: str | Gram = "rbf",
        width: float | None = None,
        lambda1: float = 1.0,
        lambda2: float = 0.1,
        epsilon: float = 0.25,
        budget_labelled: int = 150,
        budget_unlabelled: int = 300,
        ridge: float = 1e-4,
        limit: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_classes = checks.checked_count("n_classes", n_classes, 2)
        if strategy not in STRATEGIES:
            raise InputError(f"strategy = {strategy!r}; it must be one of {', '.join(STRATEGIES)}")
        default = "algorithm" if strategy == "remove" else "text"
        if (condition or default) not in CONDITIONS:
            raise InputError(f"condition = {condition!r}; it must be one of {', '.join(CONDITIONS)}")
        labelled = checks.checked_count("budget_labelled", budget_labelled, 1)
        unlabelled = checks.checked_count("budget_unlabelled", budget_unlabelled, 0)
        most = 2 * (labelled + unlabelled) if limit is None else limit
        self.kernel, self.kernel_params = kernel, dict(kernel_params or {})
        code = checked_kernel(kernel)
        self.warm = code == RBF and width is None
        self.rules = BudgetRules(
            kernel=code,
            width=1.0 if width is None else checks.checked_number("width", width),
            strategy=STRATEGIES[strategy],
            condition=CONDITIONS[condition or default],
            lambda1=checks.checked_number("lambda1", lambda1),
            lambda2=checks.checked_number("lambda2", lambda2),
            epsilon=checks.checked_number("epsilon", epsilon, zero=True),
            ridge=checks.checked_number("ridge", ridge),
            budget_labelled=labelled,
            budget_unlabelled=unlabelled,
            limit=checks.checked_count("limit", most, labelled),
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

    @property
    def _gram(self) -> Gram:
        # Made when needed: a stored closure could not be copied or pickled.
        return gram_of(self.kernel, self.rules.width, self.kernel_params)

    # -- predict and learn -----------------------------------------------------

    @one_at_a_time
    def scores(self, X: Any) -> Floats:
        """(n, problems) f of every row; nothing changes."""
        M = self._checked(X)
        out = np.zeros((M.shape[0], self.n_problems))
        if self.state is not None and any(self.sizes):
            unseen = np.full(M.shape[0], -1)
            self._pass(_Source(M), unseen, _record(M.shape[0], out), 0, M.shape[0], learning=False)
        return out

    @one_at_a_time
    def run(self, X: Any, labels: Any, labelled: Any = None) -> Stream:
        """Predict every row, then learn from it, in order; -1, or a false `labelled`, is no label.

        Everything is checked before anything is learned.
        """
        M = self._checked(X)
        codes = checks.masked(checks.checked_labels(labels, M.shape[0], self.n_classes), labelled)
        record = _record(M.shape[0], np.empty((0, self.n_problems)))
        if self.state is None and M.shape[0]:
            self.state = budget.empty(self.rules, self.n_problems, M.shape[1])
        at, source = 0, _Source(M)
        while at < M.shape[0]:
            stop = min(self._warm_up(M, at), at + BLOCK)
            at = self._learn(source, codes, record, at, stop)
        return Stream(record.predicted, record.actions)

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

    def _learn(self, source: "_Source", codes: Codes, record: loop.StreamRecord, at: int, stop: int) -> int:
        stuck = -1
        while True:
            assert self.state is not None
            at, event = self._pass(source, codes, record, at, stop, learning=True)
            if event == loop.DONE:
                return at
            if event == loop.FULL:
                capacity = min(self.rules.limit, 2 * self.state.k.size)
                self.state = budget.resized(self.state, self.rules, self.state.X.shape[0], capacity)
                continue
            if event == loop.STUCK and stuck == at:
                raise InputError(
                    f"item {self.seen + 1} leaves the kernel matrix without digits; scale the features, "
                    "raise lambda1 or ridge, or use a positive definite kernel"
                )
            if event == loop.STUCK:
                stuck = at
            self.floor = budget.refactor(self.state, self.rules, self._gram)

    @property
    def _tolerance(self) -> float:
        """How far the inverse may be off before it is computed afresh."""
        return max(budget.FINE, budget.WORSE * self.floor)

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
        self.floor = budget.restart(self.state, self.rules, self._gram)
        if due == WARM_UP:
            self.warm, self.first = False, np.empty((0, 0))
        return at + 1

    def _remember(self, rows: Any) -> None:
        more = dense(rows)
        self.first = more.copy() if self.first.size == 0 else np.concatenate([self.first, more])

    def _pass(
        self,
        source: "_Source",
        codes: Codes,
        record: loop.StreamRecord,
        at: int,
        stop: int,
        *,
        learning: bool,
    ) -> tuple[int, int]:
        assert self.state is not None
        if self.rules.kernel == OTHER:
            return self._pass_by_python(source.M, codes, record, at, stop, learning=learning)
        # What is screened has no scores to tell.
        worth = self.rules.kernel == RBF and source.dense and learning and stop - at >= screen.SHORTEST
        sketch = screen.sketch_of(self.state, self.rules) if worth else screen.NONE
        found: tuple[int, int] = loop.run(
            self.state, self.rules, sketch, source.rows, codes, record, at, stop, learning, self._tolerance
        )
        return found

    def _pass_by_python(
        self, M: Any, codes: Codes, record: loop.StreamRecord, at: int, stop: int, *, learning: bool
    ) -> tuple[int, int]:
        """The compiled loop for a kernel that only Python can call: the same steps, the same events."""
        state = self.state
        assert state is not None
        for t in range(at, stop):
            if learning:
                if loop.due(state) and self._drifted_by_python(state):
                    return t, loop.DRIFTED
                if loop.full(state, self.rules):
                    return t, loop.FULL
            x, b = dense(M[t : t + 1]), sum(self.sizes)
            if b:
                state.k[:b] = budget.checked_gram(self._gram(x, budget.vectors(state)), (1, b))[0]
            kxx = float(budget.checked_gram(self._gram(x, x), (1, 1))[0, 0]) if learning else 0.0
            action = loop.take(state, self.rules, record, t, codes[t], kxx, learning)
            if action == step.SINGULAR:
                return t, loop.STUCK
            if action not in (step.NOTHING, step.PROJECTED):
                loop.put_dense(state, x[0])
        return stop, loop.DONE

    def _drifted_by_python(self, state: BudgetState) -> bool:
        row = loop.checked_next(state)
        return not budget.residual(state, self.rules, self._gram, row) <= self._tolerance

    def _checked(self, X: Any) -> Any:
        M = checks.checked_vectors(X, self.n_features)
        checks.checked_scale(M, self.rules.kernel, self.rules.lambda1)
        return M

    # -- saved state -----------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` gives the same bits."""
        from querist.budgeted.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str], kernel: Gram | None = None) -> "StreamLearner":
        """The learner that `save` wrote; a kernel that was a function must be given again."""
        from querist.budgeted.storage import load

        return load(path, kernel)[0]


@dataclass(eq=False, repr=False, kw_only=True)
class StreamParameters:
    """The parameters of `StreamLearner` as fields, for estimators that keep theirs so.

    >>> StreamParameters(budget_labelled=20).lambda1
    1.0
    """

    strategy: StrategyName = "remove"
    condition: ConditionName | None = None
    kernel: str | Gram = "rbf"
    width: float | None = None
    lambda1: float = 1.0
    lambda2: float = 0.1
    epsilon: float = 0.25
    budget_labelled: int = 150
    budget_unlabelled: int = 300
    ridge: float = 1e-4
    limit: int | None = None
    kernel_params: Mapping[str, Any] | None = None

    def stream_learner(self, n_classes: int) -> StreamLearner:
        """A fresh learner with these parameters."""
        return StreamLearner(n_classes, **{f.name: getattr(self, f.name) for f in fields(StreamParameters)})


class _Source:
    """A stream as it was given, and as the compiled loop reads it."""

    def __init__(self, M: Any) -> None:
        self.M = M
        self.rows = checks.as_rows(M)
        self.dense = isinstance(M, np.ndarray)


def _record(n: int, scores: Floats) -> loop.StreamRecord:
    return loop.StreamRecord(np.full(n, -1, dtype=np.int64), scores, np.zeros(n, dtype=np.int64))
