"""A classifier on many draws of the labelled nodes: the protocol of mrgm15, section 4.4.

In trial t of a seed, `ceil(p n_c)` nodes of every class are drawn from `default_rng((seed, t))` and
labelled; all other nodes with a known label are the test. So a trial is the same whatever the method. With
several labels a node, `ceil(p n)` are drawn of all: a draw a class would take the nodes with many
labels first and leave the easy ones for the test.

Where a node is not reached, the likeliest class of the labels is its answer (the paper is silent);
`reached` says how many were.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from querist.collective.classifier import Classifier, History
from querist.collective.threshold import decide
from querist.errors import InputError
from querist.graph import Graph
from querist.labels import one_hot
from querist.types import Bools, Floats

Measure: TypeAlias = Callable[[Floats, Floats, Floats], Mapping[str, float]]
"""From 0/1 truth, 0/1 answers and scores (m, K) to named numbers, as `querist.metrics.measure`."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (trials done, trials in all)."""


@dataclass(frozen=True)
class Trial:
    """What came of one draw.

    `labelled` counts nodes, `reached` is the share of the test that labels reach, `history` is the
    classifier's own account of its iterations.
    """

    metrics: dict[str, float]
    reached: float
    seconds: float
    iterations: int
    labelled: int
    history: History


@dataclass(frozen=True)
class Trials:
    """A number a trial for each of these; `labelled` counts nodes."""

    metrics: dict[str, tuple[float, ...]]
    reached: tuple[float, ...]
    seconds: tuple[float, ...]
    iterations: tuple[int, ...]
    labelled: tuple[int, ...]

    def mean(self, name: str) -> float:
        """Over the trials."""
        return float(np.mean(self.metrics[name]))

    def std(self, name: str) -> float:
        """Within these trials (ddof = 0)."""
        return float(np.std(self.metrics[name]))


def draw(indicator: Floats, share: float, seed: int, trial: int, several: bool = False) -> Bools:
    """(n,) the nodes that are labelled in a trial: `ceil(share n_c)` of every class, or of all."""
    if not 0 < share < 1:
        raise InputError(f"labelled = {share!r}; it must lie between 0 and 1: the share of each class")
    generator = np.random.default_rng((seed, trial))
    chosen = np.zeros(len(indicator), dtype=bool)
    groups = [indicator.any(axis=1)] if several else list(indicator.T)
    for group in groups:
        members = np.flatnonzero(group)
        # 0.07 * 100 is 7.000000000000001: no eighth node for a rounding error.
        count = math.ceil(share * members.size * (1 - 1e-12))
        chosen[generator.choice(members, size=count, replace=False)] = True
    return chosen


def run_trials(
    graph: Graph,
    factory: Callable[..., Classifier],
    parameters: Mapping[str, Any],
    measure: Measure,
    *,
    labelled: float = 0.05,
    trials: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trials:
    """Fit on every draw, measure on the rest.

    >>> from querist.collective.relational import WVRN
    >>> from querist.datasets import load
    >>> from querist.metrics import measure
    >>> found = run_trials(load("karate"), WVRN, {}, measure, labelled=0.1, trials=5)
    >>> round(found.mean("accuracy"), 2), found.labelled
    (0.8, (4, 4, 4, 4, 4))
    """
    if trials < 1:
        raise InputError(f"{trials} trials; give at least 1")
    found = []
    for trial in range(trials):
        found.append(
            run_trial(graph, factory, parameters, measure, labelled=labelled, seed=seed, trial=trial)
        )
        if progress is not None:
            progress(trial + 1, trials)
    return Trials(
        {name: tuple(each.metrics[name] for each in found) for name in found[0].metrics},
        tuple(each.reached for each in found),
        tuple(each.seconds for each in found),
        tuple(each.iterations for each in found),
        tuple(each.labelled for each in found),
    )


def run_trial(
    graph: Graph,
    factory: Callable[..., Classifier],
    parameters: Mapping[str, Any],
    measure: Measure,
    *,
    labelled: float = 0.05,
    seed: int = 0,
    trial: int = 0,
) -> Trial:
    """Fit on one draw, measure on the rest."""
    truth, several = _truth(graph)
    seeds = draw(truth, labelled, seed, trial, several)
    test = truth.any(axis=1) & ~seeds
    if not test.any():
        raise InputError(f"labelled = {labelled}: no node is left to be tested; label fewer")
    given = _given(graph, truth, seeds, several)
    model = factory(**parameters, classes=graph.classes)
    # What a model must not see, it does not get.
    bare = replace(graph, codes=None, label_matrix=None)
    started = time.perf_counter()
    model.fit(bare, given)
    seconds = time.perf_counter() - started
    P = np.asarray(model.probabilities_, dtype=np.float64)[test]
    answers = decide(P, model.threshold, model.top_k) if several else one_hot(P.argmax(axis=1), P.shape[1])
    return Trial(
        metrics=dict(measure(truth[test], answers.astype(np.float64), P)),
        reached=float(model.reached_[test].mean()),
        seconds=seconds,
        iterations=model.n_iter_,
        labelled=int(seeds.sum()),
        history=model.history_,
    )


def _truth(graph: Graph) -> tuple[Floats, bool]:
    """(n, K) what is known of the graph, and whether a node may have several labels."""
    if graph.label_matrix is not None:
        return np.asarray(graph.label_matrix.toarray(), dtype=np.float64), True
    if graph.codes is None or graph.labelled.size == 0 or graph.n_classes < 2:
        raise InputError(f"{graph.name} has no labels of at least 2 classes, so nothing can be tested")
    return one_hot(graph.codes, graph.n_classes), False


def _given(graph: Graph, truth: Floats, seeds: Bools, several: bool) -> Any:
    if several:
        return truth * seeds[:, None]
    names = np.empty(graph.n_nodes, dtype=object)
    names[:] = [graph.classes[c] if s else None for c, s in zip(truth.argmax(axis=1), seeds, strict=True)]
    return names
