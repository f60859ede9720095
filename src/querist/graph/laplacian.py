"""Laplacians of a graph: combinatorial, normalised, signed.

With weights `S` and degrees `D = diag(sum_j |S_ij|)`:

- combinatorial `L = D - S`,
- normalised `L = I - D^-1/2 S D^-1/2`, with a zero row for an isolated node.

Negative weights need nothing special: with absolute degrees both are the
*signed* Laplacians (pounce08, section 2), positive semi-definite for any signs,
and the usual ones when no weight is negative.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.graph.graph import Graph
from querist.types import Floats, Sparse


def laplacian(graph: Graph, normalised: bool = False) -> Sparse:
    """The (n, n) Laplacian; signed when the graph is.

    >>> from querist import as_graph
    >>> laplacian(as_graph([(0, 1), (1, 2)])).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    if not normalised:
        return sp.csr_array(sp.diags_array(graph.degrees) - graph.adjacency)
    S = normalised_adjacency(graph)
    return sp.csr_array(sp.diags_array((graph.degrees > 0).astype(np.float64)) - S)


def normalised_adjacency(graph: Graph) -> Sparse:
    """`D^-1/2 S D^-1/2`; an isolated node has an empty row."""
    degrees = graph.degrees
    scale = sp.diags_array(np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0.0))
    return sp.csr_array(scale @ graph.adjacency @ scale)


def quadratic_form(graph: Graph, values: Floats) -> float:
    """`f'Lf = sum over edges of |S_ij| (f_i - sign(S_ij) f_j)^2`.

    On labels +-1 of an unsigned graph this is four times the cut
    (sslgc13, Lemma 3, prints two times).
    """
    return float(values @ (laplacian(graph) @ values))


def null_signs(graph: Graph) -> Floats:
    """(n,) the null vector of every component in one: +-1, or 0 where there is none.

    An unsigned component is spanned by its constant. A signed one has a null
    vector only when it is balanced: its nodes split in two camps with positive
    weights inside and negative weights between; then the vector is +1 on one
    camp (that of its first node) and -1 on the other.
    """
    n = graph.n_nodes
    if not graph.signed:
        return np.ones(n)
    # The double cover has each node twice, once in either camp: a positive edge
    # joins equal camps, a negative one opposite camps. A component is balanced
    # if and only if its cover falls apart in two.
    S = graph.adjacency.tocoo()
    flip = np.where(S.data < 0, n, 0)
    heads = np.concatenate([S.row, S.row + n])
    tails = np.concatenate([S.col + flip, S.col + n - flip])
    cover = sp.csr_array((np.ones(heads.size), (heads, tails)), shape=(2 * n, 2 * n))
    _, camp = csgraph.connected_components(cover, directed=False)
    _, first = np.unique(graph.components, return_index=True)
    signs = np.where(camp[:n] == camp[first][graph.components], 1.0, -1.0)
    return np.where(camp[:n] == camp[n:], 0.0, signs)
