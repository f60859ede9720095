"""The bounds that go with a run: one door for the command line, the tests, and anyone with a trace."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.graph import Graph
from querist.online.checks import checked_rows
from querist.online.trace import Trace
from querist.theory import msg16, pounce08, sslgc13
from querist.theory.bounds import Bound
from querist.theory.sslgc13 import BinaryRun
from querist.types import Codes


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
    algorithm : name in the catalogue: one of pounce, nearest, ollgc, sslgc, bbq, cmog, cmog_selected, msg
    place : what the learner was made with: the graph for pounce and nearest, else the embedding or its rows
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
    if algorithm not in _BOUNDS:
        raise UnknownNameError.of("algorithm with a bound", algorithm, _BOUNDS)
    if not trace.judged.all():
        raise InputError("some true labels of the run are unknown; a bound needs them all")
    return _BOUNDS[algorithm](Run(place, trace, np.asarray(labels), n_classes, parameters))


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


def _in_every_problem(bounds: Callable[[Run, BinaryRun], list[Bound]]) -> Callable[[Run], list[Bound]]:
    def all_of(run: Run) -> list[Bound]:
        return [
            replace(bound, problem=k)
            for k, binary in binary_runs(run.trace, run.labels, run.n_classes)
            for bound in bounds(run, binary)
        ]

    return all_of


def _pounce(run: Run, binary: BinaryRun) -> list[Bound]:
    if not isinstance(run.place, Graph):
        raise InputError("the bound of POUNCE is about a graph; run it on the Graph, not on an embedding")
    return [pounce08.theorem_2(run.place, binary.nodes, binary.signs, binary.mistaken)]


def _nearest(run: Run) -> list[Bound]:
    from querist.graph.laplacian import resistances
    from querist.online.cover_learner import geodesics

    graph, kind = run.place, run.parameters.get("distance", "resistance")
    if not isinstance(graph, Graph) or kind == "points":
        raise InputError("the bound of nearest neighbour is computed for distances on a Graph")
    distance = geodesics(graph) if kind == "geodesic" else resistances(graph).all()
    seen = np.unique(run.trace.row)
    count = float(run.trace.mistaken.sum())
    return [pounce08.nearest_neighbour(distance[np.ix_(seen, seen)], run.labels[seen], count)]


def _ollgc(run: Run, binary: BinaryRun) -> list[Bound]:
    rows, mu = checked_rows(run.place), float(run.parameters["mu"])
    return [sslgc13.corollary_5(rows, binary, mu), sslgc13.theorem_4(rows, binary, mu)]


def _asked_by_variance(run: Run, binary: BinaryRun) -> list[Bound]:
    ridge = run.parameters["mu" if "mu" in run.parameters else "gamma"]
    return [
        sslgc13.query_bound(checked_rows(run.place), binary, float(ridge), float(run.parameters["kappa"]))
    ]


def _cmog(run: Run) -> list[Bound]:
    rows, gamma = checked_rows(run.place), run.parameters["gamma"]
    return [msg16.theorem_1(rows, run.trace, run.labels, gamma, run.n_classes, run.rival)]


def _drawn(theorem: Callable[..., Bound]) -> Callable[[Run], list[Bound]]:
    def both(run: Run) -> list[Bound]:
        rows, (gamma, h) = checked_rows(run.place), (run.parameters[name] for name in ("gamma", "h"))
        return [
            theorem(rows, run.trace, run.labels, gamma, run.n_classes, h, run.rival),
            msg16.expected_questions(run.trace, run.n_classes, h),
        ]

    return both


_BOUNDS: dict[str, Callable[[Run], list[Bound]]] = {
    "pounce": _in_every_problem(_pounce),
    "nearest": _nearest,
    "ollgc": _in_every_problem(_ollgc),
    "sslgc": _in_every_problem(_asked_by_variance),
    "bbq": _in_every_problem(_asked_by_variance),
    "cmog": _cmog,
    "cmog_selected": _drawn(msg16.theorem_3),
    "msg": _drawn(msg16.theorem_5),
}
BOUNDED = tuple(_BOUNDS)
"""Algorithms with a bound."""
