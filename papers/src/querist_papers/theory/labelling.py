"""How well a labelling fits a graph: its cut, its energy, and the least energy that agrees with it.

The energy of u is `u'Mu`, M the Laplacian. On labels +-1 of an unsigned graph it is four times the cut
(sslgc13, Lemma 3 prints two times). With some labels given, the least energy is reached by the harmonic u*
(pounce08, eq. 5). Asking only for `u_i y_i >= 1` instead of `u_i = y_i` allows no less (pounce08, Theorem 5),
because a signed Laplacian is diagonally dominant.
"""

from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from querist import Graph, effective_resistance, laplacian
from querist.extend import harmonic
from querist_papers.types import Codes, Floats


def cut_size(graph: Graph, codes: Any) -> float:
    """Weight of the edges whose ends disagree: different classes, or for a negative edge the same class.

    Edges at an unlabelled node (-1) are not counted.

    >>> from querist import as_graph
    >>> cut_size(as_graph([(0, 1), (1, 2), (2, 3)]), [0, 0, 1, 1])
    1.0
    """
    labels = np.asarray(codes)
    S = graph.adjacency.tocoo()
    seen = (labels[S.row] >= 0) & (labels[S.col] >= 0)
    disagree = (labels[S.row] != labels[S.col]) == (S.data > 0)
    return float(np.abs(S.data[seen & disagree]).sum() / 2)


def energy(graph: Graph, u: Floats) -> float:
    """`u'Mu = sum over edges of |S_ij| (u_i - sign(S_ij) u_j)^2`, summed edge by edge.

    Every term is positive, so that large and tiny weights can stand together.

    >>> from querist import as_graph
    >>> energy(as_graph([("a", "b"), ("b", "c")]), np.array([1.0, 1.0, -1.0]))
    4.0
    """
    S = graph.adjacency.tocoo()
    return float((np.abs(S.data) * (u[S.row] - np.sign(S.data) * u[S.col]) ** 2).sum() / 2)


def minimiser(graph: Graph, nodes: Codes, values: Floats) -> tuple[Floats, float]:
    """u* (n,) with the given values at the given nodes and the least energy, and that energy.

    >>> from querist import as_graph
    >>> u, least = minimiser(as_graph([("a", "b"), ("b", "c")]), np.array([0, 2]), np.array([1.0, -1.0]))
    >>> u.round(3) + 0.0, round(least, 3)
    (array([ 1.,  0., -1.]), 2.0)
    """
    u = harmonic(graph.adjacency, np.asarray(nodes), np.asarray(values, dtype=np.float64))
    return u, energy(graph, u)


def relaxed_energy(graph: Graph, nodes: Codes, signs: Codes) -> float:
    """The least energy with `u_i y_i >= 1` at the given nodes, by bounded least squares on a root of M.

    Theorem 5 of pounce08 says that it is the one of `u_i = y_i`. For small graphs: M is made dense.

    >>> from querist import as_graph
    >>> round(relaxed_energy(as_graph([("a", "b"), ("b", "c")]), np.array([0, 2]), np.array([1, -1])), 3)
    2.0
    """
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    low, high = np.full(graph.n_nodes, -np.inf), np.full(graph.n_nodes, np.inf)
    low[nodes[signs > 0]], high[nodes[signs < 0]] = 1.0, -1.0
    found = lsq_linear(root, np.zeros(graph.n_nodes), (low, high), method="bvls", tol=1e-14)
    return energy(graph, found.x)


def resistance_diameter(graph: Graph) -> float:
    """The largest effective resistance between two nodes (R_G in pounce08).

    >>> from querist import as_graph
    >>> round(resistance_diameter(as_graph([("a", "b"), ("b", "c")])), 3)
    2.0
    """
    return float(effective_resistance(graph).max())
