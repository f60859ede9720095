"""The bounds that go with a run: one function for the command line, the tests, and anyone with a trace."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist import Graph, InputError, UnknownNameError, effective_resistance
from querist.extend import steps
from querist.online import Trace
from querist_papers.theory import msg16, pounce08, sslgc13
from querist_papers.theory.bounds import Bound
from querist_papers.theory.sslgc13 import BinaryRun
from querist_papers.types import Codes, Floats


class Run(NamedTuple):
    """A run, every label known; the arguments of `bounds_of`."""

    place: Any
    trace: Trace
    labels: Codes
    n_classes: int
    parameters: Mapping[str, Any]

    @property
    def rival(self) -> bool:
        """Whether targets are +1 for the true class and -1 for the best other one."""
        return bool(self.parameters.get("target", "rival") == "rival")


def bounds_of(
    algorithm: str, place: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    """Every bound that is known for a run, a binary problem at a time where the learner has several.

    Parameters
    ----------
    algorithm : pounce, perceptron, nearest, ollgc, sslgc, bbq, cmog, cmog_selected or msg
    place : the graph for pounce, perceptron and nearest, else the embedding of the learner or its rows
    trace, labels : of the run, every label known
    parameters : all parameters of the algorithm, defaults included

    >>> from querist import ALGORITHMS, datasets, embed
    >>> karate = datasets.load_graph("karate")
    >>> rows = embed(karate, rank=8)
    >>> trace = ALGORITHMS["cmog"](rows, 2).run(range(34), karate.codes)
    >>> bound, = bounds_of("cmog", rows, trace, karate.codes, 2, {"gamma": 1.0, "target": "rival"})
    >>> bound.observed, bound.respected
    (4.0, True)
    """
    if algorithm not in BOUNDED:
        raise UnknownNameError.of("algorithm with a bound", algorithm, BOUNDED)
    if not trace.judged.all():
        raise InputError("some true labels of the run are unknown; a bound needs them all")
    run = Run(place, trace, np.asarray(labels), n_classes, parameters)
    if algorithm in _WHOLE:
        return _WHOLE[algorithm](run)
    problems = binary_runs(trace, run.labels, n_classes)
    return [replace(bound, problem=k) for k, each in problems for bound in _BINARY[algorithm](run, each)]


def binary_runs(trace: Trace, labels: Codes, n_classes: int) -> list[tuple[int | None, BinaryRun]]:
    """The binary problems of a run, each with its positive class; None where there is one problem only."""
    flags, truth = trace.problems, labels[trace.row]
    if flags is None:
        raise InputError("the run has no binary problems; use scheme='one-vs-rest'")
    alone = flags.asked.shape[1] == 1
    return [
        (
            None if alone else k,
            BinaryRun(
                trace.row,
                np.where(truth == k, 1, -1),
                *(of[:, 0 if alone else k] for of in (flags.mistaken, flags.updated, flags.asked)),
            ),
        )
        for k in ([1] if alone else range(n_classes))
    ]


def _on_graph(theorem: Callable[..., Bound], run: Run, binary: BinaryRun) -> list[Bound]:
    if not isinstance(run.place, Graph):
        raise InputError("this bound is about a graph; pass the Graph, not an embedding")
    return [theorem(run.place, binary.nodes, binary.signs, binary.mistaken)]


def _nearest(run: Run) -> list[Bound]:
    graph, kind = run.place, run.parameters.get("distance", "resistance")
    if not isinstance(graph, Graph) or kind == "points":
        raise InputError("the bound of nearest neighbour is computed for distances on a Graph")
    distance = geodesics(graph) if kind == "geodesic" else effective_resistance(graph)
    seen = np.unique(run.trace.row)
    count = float(run.trace.mistaken.sum())
    return [pounce08.nearest_neighbour(distance[np.ix_(seen, seen)], run.labels[seen], count)]


def geodesics(graph: Graph) -> Floats:
    """(n, n) lengths of the shortest paths, an edge of weight w being 1/|w| long."""
    S = graph.adjacency
    with np.errstate(over="ignore"):  # an edge too weak to have a length is not on a shortest path
        lengths = sp.csr_array((1 / np.abs(S.data), S.indices, S.indptr), shape=S.shape)
    return np.asarray(csgraph.dijkstra(lengths, directed=False))


def _ollgc(run: Run, binary: BinaryRun) -> list[Bound]:
    rows, mu = steps.checked_rows(run.place), float(run.parameters["mu"])
    return [*reversed(sslgc13.learning_bounds(rows, binary, mu))]


def _asked_by_variance(run: Run, binary: BinaryRun) -> list[Bound]:
    ridge = run.parameters["mu" if "mu" in run.parameters else "gamma"]
    return [
        sslgc13.query_bound(
            steps.checked_rows(run.place), binary, float(ridge), float(run.parameters["kappa"])
        )
    ]


def _cmog(run: Run) -> list[Bound]:
    rows, gamma = steps.checked_rows(run.place), run.parameters["gamma"]
    return [msg16.theorem_1(rows, run.trace, run.labels, gamma, run.n_classes, run.rival)]


def _drawn(theorem: Literal[3, 5], run: Run) -> list[Bound]:
    rows, (gamma, h) = steps.checked_rows(run.place), (run.parameters[name] for name in ("gamma", "h"))
    return [
        msg16.selective(theorem, rows, run.trace, run.labels, gamma, run.n_classes, h, run.rival),
        msg16.expected_questions(run.trace, run.n_classes, h),
    ]


_BINARY: dict[str, Callable[[Run, BinaryRun], list[Bound]]] = {
    "pounce": partial(_on_graph, pounce08.theorem_2),
    "perceptron": partial(_on_graph, pounce08.equation_4),
    "ollgc": _ollgc,
    "sslgc": _asked_by_variance,
    "bbq": _asked_by_variance,
}
"""Of each binary problem of a run."""
_WHOLE: dict[str, Callable[[Run], list[Bound]]] = {
    "nearest": _nearest,
    "cmog": _cmog,
    "cmog_selected": partial(_drawn, 3),
    "msg": partial(_drawn, 5),
}
BOUNDED = (*_BINARY, *_WHOLE)
"""Algorithms with a bound."""
