"""Effective resistance between nodes (pounce08, eq. 3), for a few pairs or for all."""

from collections.abc import Iterable

import numpy as np
from scipy.sparse.linalg import splu

from querist.errors import InputError
from querist.graph import Graph, laplacian
from querist.graph.laplacian import null_signs
from querist.graph.resistance import resistances
from querist.types import Bools, Floats


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
    free = ~_grounded(graph)
    row = np.cumsum(free) - 1
    M = laplacian(graph)[free][:, free].tocsc()
    solve = splu(M, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve if free.any() else None
    out = np.empty(len(ends))
    for k, (p, q) in enumerate(ends):
        current = np.zeros(int(free.sum()))
        for node, amount in ((p, 1.0), (q, -1.0)):
            if free[node]:
                current[row[node]] += amount
        potential = solve(current) if solve is not None else current
        apart = not graph.signed and graph.components[p] != graph.components[q]
        out[k] = np.inf if apart else float(current @ potential)
    return out


def _grounded(graph: Graph) -> Bools:
    """(n,) the first node of every component whose Laplacian is singular."""
    singular = null_signs(graph) != 0
    if graph.signed and singular.any():
        raise InputError(
            f"{graph.name} is signed and partly balanced: its Laplacian is singular, so some pairs have no "
            "resistance; flip one camp to an unsigned graph first"
        )
    _, first = np.unique(graph.components, return_index=True)
    grounded = np.zeros(graph.n_nodes, dtype=np.bool_)
    grounded[first[singular[first]]] = True
    return grounded


def resistance_diameter(graph: Graph) -> float:
    """The largest effective resistance between two nodes (R_G in pounce08)."""
    return float(effective_resistance(graph).max())
