"""The protocols of bls19: shuffled streams judged item by item, and trials of transduction.

Tuning happens on a held-out shuffle, never on the reported ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from querist.budgeted.closed_form import MethodName, transduce
from querist.budgeted.learner import Stream
from querist.errors import InputError
from querist.types import Bools, Codes, Floats

OrderName: TypeAlias = Literal["shuffled", "source"]
Report: TypeAlias = Callable[[int, int], None]

_VALUES = (10.0, 1.0, 0.1, 0.01)
GRID: tuple[dict[str, float], ...] = tuple(
    {"lambda1": l1, "lambda2": l2} for l1, l2 in product(_VALUES, (10.0, 0.1))
)
"""The lambdas that are tried in tuning."""

HELD_OUT = 10**6
"""Added to a seed, it gives the shuffle that is for tuning only."""


class Learns(Protocol):
    """Whatever runs over a stream."""

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then learn it."""
        ...


@dataclass(frozen=True, eq=False)
class Run:
    """One stream: what happened, the true classes in its order, vectors kept at the end, seconds spent."""

    stream: Stream
    truth: Codes
    budget: tuple[int, int]
    seconds: float

    @property
    def accuracy(self) -> float:
        """Prequential."""
        return self.stream.accuracy(self.truth)


@dataclass(frozen=True)
class Runs:
    """Prequential accuracies, updates and budgets of several runs; seconds spent learning."""

    accuracy: tuple[float, ...]
    updates: tuple[int, ...]
    budget: tuple[tuple[int, int], ...]
    seconds: float
    items: int

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(np.mean(self.accuracy))

    @property
    def std(self) -> float:
        """Standard deviation of these runs (ddof = 0)."""
        return float(np.std(self.accuracy))

    @property
    def per_second(self) -> float:
        """Items a second."""
        return self.items * len(self.accuracy) / self.seconds if self.seconds > 0 else float("inf")


def draw(n: int, labelled: float, seed: int, order: OrderName = "shuffled") -> tuple[Codes, Bools]:
    """The order of a run, and which items carry their label: a share, drawn at random."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n) if order == "shuffled" else np.arange(n)
    visible = np.zeros(n, dtype=np.bool_)
    visible[rng.permutation(n)[: round(labelled * n)]] = True
    return rows, visible


def prequential(
    make: Callable[[int], Learns],
    X: Any,
    codes: Codes,
    *,
    labelled: float = 0.1,
    repeats: int = 1,
    seed: int = 0,
    order: OrderName = "shuffled",
    progress: Report | None = None,
) -> Runs:
    """Run fresh learners, `make(seed)` each, over `repeats` streams; every item is predicted, then learned.

    X : (n, d) rows; codes : (n,) true classes, which a learner sees only where labelled
    """
    if not 0 < labelled <= 1:
        raise InputError(f"labelled = {labelled!r}; it must be a share above 0 and at most 1")
    if repeats < 1:
        raise InputError(f"repeats = {repeats!r}; it must be at least 1")
    warm_up(make, X, codes)
    found = []
    for repeat in range(repeats):
        found.append(run_stream(make, X, codes, labelled=labelled, seed=seed + repeat, order=order))
        if progress is not None:
            progress(repeat + 1, repeats)
    return Runs(
        tuple(run.accuracy for run in found),
        tuple(run.stream.updates for run in found),
        tuple(run.budget for run in found),
        sum(run.seconds for run in found),
        codes.size,
    )


def warm_up(make: Callable[[int], Learns], X: Any, codes: Codes) -> None:
    """Compile what is not compiled yet, outside any clock."""
    make(0).run(X[:2], codes[:2])


def run_stream(
    make: Callable[[int], Learns],
    X: Any,
    codes: Codes,
    *,
    labelled: float = 0.1,
    seed: int = 0,
    order: OrderName = "shuffled",
) -> Run:
    """One fresh learner over one stream, in the order of this seed."""
    rows, visible = draw(codes.size, labelled, seed, order)
    learner, items, truth = make(seed), X[rows], codes[rows]
    started = time.perf_counter()
    done = learner.run(items, truth, visible)
    seconds = time.perf_counter() - started
    return Run(done, truth, getattr(learner, "sizes", (0, 0)), seconds)


def transductive(
    K: Floats,
    codes: Codes,
    n_classes: int,
    *,
    method: MethodName = "bls",
    labelled: float = 0.2,
    trials: int = 10,
    seed: int = 0,
    progress: Report | None = None,
    **parameters: float,
) -> tuple[float, ...]:
    """Accuracy on the unlabelled points, trial by trial, each with labels drawn anew.

    A draw that misses a class is drawn again: nothing could be said about that class.
    """
    found = []
    for trial in range(trials):
        found.append(
            transduce_once(
                K, codes, n_classes, method=method, labelled=labelled, seed=seed + trial, **parameters
            )
        )
        if progress is not None:
            progress(trial + 1, trials)
    return tuple(found)


def transduce_once(
    K: Floats,
    codes: Codes,
    n_classes: int,
    *,
    method: MethodName = "bls",
    labelled: float = 0.2,
    seed: int = 0,
    **parameters: float,
) -> float:
    """Accuracy on the unlabelled points, with the labels that this seed draws."""
    if not 0 < labelled < 1:
        raise InputError(f"labelled = {labelled!r}; it must be a share between 0 and 1")
    visible = _cover(codes, n_classes, labelled, seed)
    given = transduce(K, np.where(visible, codes, -1), n_classes, method=method, **parameters)
    return float(np.mean(given[~visible] == codes[~visible]))


def tune_transductive(
    K: Floats,
    codes: Codes,
    n_classes: int,
    *,
    method: MethodName = "bls",
    labelled: float = 0.2,
    trials: int = 10,
    seed: int = 0,
) -> dict[str, float]:
    """The lambdas, or the ridge of RLP, that do best on the mean of held-out trials.

    On a set of some hundred points one trial alone would choose by chance.
    """
    grids: dict[str, tuple[dict[str, float], ...]] = {
        "bls": GRID,
        "rlp": tuple({"ridge": r} for r in _VALUES),
        "lp": ({},),
    }

    def accuracy(parameters: dict[str, float]) -> float:
        options = {"method": method, "labelled": labelled, "trials": trials, "seed": seed + HELD_OUT}
        found = transductive(K, codes, n_classes, **options, **parameters)  # type: ignore[arg-type]
        return float(np.mean(found))

    return max(grids[method], key=accuracy)


def _cover(codes: Codes, n_classes: int, labelled: float, seed: int) -> Bools:
    rng, count = np.random.default_rng(seed), max(n_classes, round(labelled * codes.size))
    for _ in range(1000):
        visible = np.zeros(codes.size, dtype=np.bool_)
        visible[rng.permutation(codes.size)[:count]] = True
        if np.unique(codes[visible]).size == n_classes:
            return visible
    raise InputError(
        f"{count} labels of {codes.size} never cover all {n_classes} classes; label a larger share"
    )
