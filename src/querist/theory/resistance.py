"""Effective resistance between nodes (pounce08, eq. 3), for a few pairs or for all."""

from collections.abc import Iterable

import numpy as np

from querist.errors import InputError
from querist.graph import Graph, laplacian
from querist.graph.laplacian import resistances
from querist.operator.resistance import pair_resistances
from querist.types import Floats


def effective_resistance(graph: Graph, pairs: Iterable[tuple[int, int]] | None = None) -> Floats:
    """(n, n) resistances of all pairs, or (k,) of the pairs given.

    An edge of weight w has resistance 1/w. All pairs need a connected graph, or a positive definite signed
    Laplacian, and memory for (n, n). Some pairs are solved for one by one in a sparse factor of the
    Laplacian with one node of every component grounded; between components it is infinite.

    >>> from querist import as_graph
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> effective_resistance(square, [(0, 1), (0, 2)]).round(12)
    array([0.75, 1.  ])
    """
    if pairs is None:
        return resistances(graph).all()
    ends = np.asarray(list(pairs))
    if ends.size == 0:
        return np.empty(0)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise InputError(f"pairs of shape {ends.shape}; give two row numbers a pair")
    if ends.min() < 0 or ends.max() >= graph.n_nodes:
        raise InputError(f"pairs name nodes outside 0..{graph.n_nodes - 1}; give row numbers")
    return pair_resistances(laplacian(graph), ends, name=graph.name)


def resistance_diameter(graph: Graph) -> float:
    """The largest effective resistance between two nodes (R_G in pounce08).

    >>> from querist.graph import as_graph
    >>> round(resistance_diameter(as_graph([("a", "b"), ("b", "c")])), 3)
    2.0
    """
    return float(effective_resistance(graph).max())
