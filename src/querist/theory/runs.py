"""The bounds that go with a run: one door for the command line, the tests, and anyone with a trace."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.graph import Graph
from querist.online.checks import checked_rows
from querist.online.trace import Trace
from querist.theory import msg16, pounce08, sslgc13
from querist.theory.bounds import Bound
from querist.types import Bools, Codes


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
    found = _BOUNDS[algorithm](place, trace, np.asarray(labels), n_classes, parameters)
    if len(found) < n_classes or trace.problems is None:
        return found
    return [replace(bound, problem=k) for k, bound in enumerate(found)]


def problems(trace: Trace, labels: Codes, n_classes: int) -> list[tuple[Codes, Bools, Bools, Bools]]:
    """(signs, mistaken, learned, asked) of every binary problem, one entry a round."""
    if trace.problems is None:
        raise InputError("the run has no binary problems; use scheme='one-vs-rest'")
    truth = labels[trace.row]
    flags = trace.problems
    positive = [1] if flags.asked.shape[1] == 1 else range(n_classes)
    return [
        (np.where(truth == k, 1, -1), flags.mistaken[:, c], flags.updated[:, c], flags.asked[:, c])
        for c, k in enumerate(positive)
    ]


def _pounce(
    graph: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    if not isinstance(graph, Graph):
        raise InputError("the bound of POUNCE is about a graph; run it on the Graph, not on an embedding")
    return [
        pounce08.theorem_2(graph, trace.row, signs, mistaken)
        for signs, mistaken, _, _ in problems(trace, labels, n_classes)
    ]


def _nearest(
    graph: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    from querist.graph.laplacian import resistances
    from querist.online.cover_learner import geodesics

    if not isinstance(graph, Graph) or parameters.get("distance", "resistance") == "points":
        raise InputError("the bound of nearest neighbour is computed for distances on a Graph")
    by_path = parameters.get("distance") == "geodesic"
    distance = geodesics(graph) if by_path else resistances(graph).all()
    seen = np.unique(trace.row)
    count = float(trace.mistaken.sum())
    return [pounce08.nearest_neighbour(distance[np.ix_(seen, seen)], labels[seen], count)]


def _ollgc(
    place: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    rows, mu = checked_rows(place), float(parameters["mu"])
    return [
        sslgc13.corollary_5(rows, trace.row, *problem, mu) for problem in problems(trace, labels, n_classes)
    ]


def _asked_by_variance(
    place: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    rows, kappa = checked_rows(place), float(parameters["kappa"])
    mu = float(parameters["mu"] if "mu" in parameters else parameters["gamma"])
    return [
        sslgc13.query_bound(rows, trace.row, signs, learned, asked, mu, kappa)
        for signs, _, learned, asked in problems(trace, labels, n_classes)
    ]


def _cmog(
    place: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
) -> list[Bound]:
    rival = parameters.get("target", "rival") == "rival"
    return [msg16.theorem_1(checked_rows(place), trace, labels, parameters["gamma"], n_classes, rival)]


def _drawn(theorem: Callable[..., Bound]) -> Callable[..., list[Bound]]:
    def both(
        place: Any, trace: Trace, labels: Codes, n_classes: int, parameters: Mapping[str, Any]
    ) -> list[Bound]:
        gamma, h = parameters["gamma"], parameters["h"]
        rival = parameters.get("target", "rival") == "rival"
        return [
            theorem(checked_rows(place), trace, labels, gamma, n_classes, h, rival),
            msg16.expected_questions(trace, n_classes, h),
        ]

    return both


_BOUNDS: dict[str, Callable[..., list[Bound]]] = {
    "pounce": _pounce,
    "nearest": _nearest,
    "ollgc": _ollgc,
    "sslgc": _asked_by_variance,
    "bbq": _asked_by_variance,
    "cmog": _cmog,
    "cmog_selected": _drawn(msg16.theorem_3),
    "msg": _drawn(msg16.theorem_5),
}
BOUNDED = tuple(_BOUNDS)
"""Algorithms with a bound."""
