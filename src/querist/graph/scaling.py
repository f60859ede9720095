"""Weights where doubles can work with them.

Most methods see only how the weights of a component compare: all of them times a number change nothing. Far
from 1, though, sums overflow, squares vanish, and single precision holds neither. There the weights of a
component are divided by a power of four, whose square root is exact too: every result has the bits that the
same weights nearer to 1 give.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.graph import Graph, ends_of
from querist.types import Codes, Sparse

ORDINARY = 2.0**100
"""Components whose largest weight lies between this and its inverse are left as they are."""

FAR_APART = 1e8
"""The heaviest weight over the lightest, from which on results are looked at."""

WIDEST = 1000
"""Binary orders of magnitude between the weights of a component that is scaled: more are not kept apart."""


def scaled(graph: Graph) -> Graph:
    """The graph with the largest weight of every component near 1, where it is far from that; or itself.

    >>> from querist import as_graph
    >>> far = as_graph([(0, 1, 3e300), (2, 3, 1e-310), (3, 4, 2e-310)])
    >>> scaled(far).adjacency.data.round(3).tolist()
    [1.12, 1.12, 0.288, 0.288, 0.575, 0.575]
    """
    S = graph.adjacency
    size = np.abs(S.data)
    if not size.size or (size.max() <= ORDINARY and size.min() >= 1 / ORDINARY):
        return graph
    component = np.repeat(graph.components, np.diff(S.indptr))
    largest = np.zeros(graph.n_components)
    np.maximum.at(largest, component, size)
    power = _powers(largest)
    return _divided(graph, power[component]) if power.any() else graph


def common_factor(graph: Graph) -> float:
    """The power of four nearest to the largest weight where that is far from 1; 1 elsewhere."""
    largest = np.abs(graph.adjacency.data).max(initial=0.0)
    return float(np.ldexp(1.0, _powers(largest)))


def _powers(largest: Any) -> Any:
    """Of two, the powers that bring numbers far from 1 near to it, even ones; 0 for the others."""
    far = (largest > ORDINARY) | ((largest < 1 / ORDINARY) & (largest > 0))
    return np.where(far, 2 * (np.frexp(largest)[1] // 2), 0)


def divided(graph: Graph, factor: float) -> Graph:
    """The graph with all weights divided by a `common_factor`; itself where that is 1."""
    return graph if factor == 1 else _divided(graph, np.full(graph.adjacency.nnz, np.frexp(factor)[1] - 1))


def _divided(graph: Graph, power: Codes) -> Graph:
    """Every weight divided by two to its power; refused where one would vanish beside the others."""
    S = graph.adjacency
    if ((np.frexp(S.data)[1] < power - WIDEST) & (power > 0)).any():
        raise InputError(
            f"{widest_ratio(graph)}: doubles do not hold both beside each other. Leave the lightest edges "
            "out, or give them other weights"
        )
    data = np.ldexp(S.data, -power)
    return replace(graph, adjacency=sp.csr_array((data, S.indices, S.indptr), shape=S.shape))


def far_apart(adjacency: Sparse) -> bool:
    """Whether weights lie so far apart that a solve may have no digits left of the light ones."""
    size = np.abs(adjacency.data)
    return bool(size.size and size.max() > FAR_APART * size.min())


def widest_ratio(graph: Graph) -> str:
    """In words, where the weights of a component are farthest apart: its lightest edge, its heaviest."""
    S = graph.adjacency
    if not S.nnz:
        return "the graph has no edges"
    size = np.log10(np.abs(S.data))
    component = np.repeat(graph.components, np.diff(S.indptr))
    least, most = np.full(graph.n_components, np.inf), np.full(graph.n_components, -np.inf)
    np.minimum.at(least, component, size)
    np.maximum.at(most, component, size)
    worst = int(np.argmax(most - least))
    inside = np.flatnonzero(component == worst)
    light, heavy = inside[size[inside].argmin()], inside[size[inside].argmax()]
    return (
        f"the edge {ends_of(graph, light)} weighs {S.data[light]:g}, 1e{size[heavy] - size[light]:.0f} times "
        f"less than the heaviest of its component, {ends_of(graph, heavy)} ({S.data[heavy]:g})"
    )
