"""Effective resistances: how far two nodes are from each other, by all paths at once.

A graph is a network of resistors, an edge of weight w having resistance 1/w. With `M` its Laplacian and
`K = M^+` the pseudo-inverse, the effective resistance is (pounce08, eq. 3)

    R_ij = (e_i - e_j)' K (e_i - e_j) = K_ii + K_jj - 2 K_ij,

a metric, and the squared distance of the points `v_i = K e_i` in the norm of M. M must be the Laplacian of a
connected graph, or a positive definite signed Laplacian (pounce08, Theorem 2): otherwise R is no distance
between some nodes. (pounce08, section 5 writes a resistance as 1/G_ij; it is 1/|G_ij|.)

Two ways to the same numbers:

- `K = (M + c 11'/n)^-1 - 11'/(cn)` by one Cholesky inverse, c of the size of a degree. The rank-one term is
  for the null vector of an unsigned Laplacian.
- Where weights span too many orders of magnitude for that (an exponential graph with a large `a`), by
  coordinates in a maximum spanning tree. With potentials `u = P x`, x the drops along tree edges,
  `u'Mu = x'Hx`, and `H` has no subtraction in it: with S_e the nodes behind tree edge e,
  `H_ef = w(S_f, V - S_e)` if S_f lies in S_e, and `-w(S_e, S_f)` if they are apart. An edge is no heavier
  than any tree edge it closes a cycle with, so H scaled to a unit diagonal stays well conditioned however far
  the weights are apart. Its Cholesky factor, strong edges first, gives rows whose squared distances are R.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csgraph
from scipy.spatial import distance

from querist import memory
from querist.errors import InputError
from querist.matrices import with_short_indices
from querist.types import Bools, Codes, Floats, Sparse

WELL = 1e-7
"""Reciprocal condition number from which the Cholesky inverse keeps nine digits."""

SINGULAR = 1e-13
"""Reciprocal condition number at which a signed Laplacian cannot be told from a singular one."""


@dataclass(frozen=True, eq=False)
class Resistances:
    """Effective resistances of a graph, in one of two forms.

    `matrix` (n, n) holds them; or, where weights span many orders of magnitude, it is empty and `rows`
    (n, n - 1) are points with R as squared distances.
    """

    matrix: Floats
    rows: Floats
    notes: tuple[str, ...] = field(default=())

    def all(self) -> Floats:
        """(n, n) all effective resistances."""
        # By differences, so that small distances keep their digits.
        return self.matrix if self.matrix.size else distance.cdist(self.rows, self.rows, "sqeuclidean")


def resistances(M: Sparse, *, name: str = "the graph") -> Resistances:
    """All effective resistances under a Laplacian; `name` is what errors call its graph.

    >>> triangle = sp.csr_array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
    >>> resistances(triangle).all().round(3)
    array([[0.   , 0.667, 0.667],
           [0.667, 0.   , 0.667],
           [0.667, 0.667, 0.   ]])
    """
    check_irreducible(M, name)
    check_room(M.shape[0])
    none = np.empty((0, 0))
    if M.shape[0] == 1:
        return Resistances(np.zeros((1, 1)), none)
    signed = _signed(weights_of(M))
    K, rcond = pseudo_inverse(M.toarray(), definite=signed)
    if rcond >= WELL:
        return Resistances(from_kernel(K), none)
    if signed:
        if rcond < SINGULAR:
            raise InputError(
                f"the signed Laplacian of {name} is nearly singular (reciprocal condition number "
                f"{rcond:.0e}); make its negative weights larger, or drop them for an unsigned graph"
            )
        doubt = f"the signed Laplacian is badly conditioned: about {-np.log10(1e-16 / rcond):.0f} digits hold"
        return Resistances(from_kernel(K), none, (doubt,))
    note = "weights span many orders of magnitude: resistances come from spanning-tree coordinates"
    check_room(M.shape[0], matrices=11.5)  # as measured
    return Resistances(none, tree_coordinates(M), (note,))


def check_irreducible(M: Sparse, name: str = "the graph") -> None:
    """Refuse a Laplacian under which some nodes have no distance."""
    S = weights_of(M)
    count, component = csgraph.connected_components(S, directed=False)
    if count > 1:
        raise InputError(
            f"{name} has {count:,} components: its Laplacian is reducible, and no "
            "current flows between them, so the effective resistance is infinite (pounce08, Theorem 2 "
            "needs an irreducible Laplacian). Use graph.largest_component() (--component largest), or "
            "add edges"
        )
    if not _signed(S):
        return
    if null_signs(S, component.astype(np.int64)).any():
        raise InputError(
            f"{name} is signed and balanced (the negative edges only separate two camps): the signed "
            "Laplacian is singular, and pounce08 needs a positive definite one. Flip the signs of one camp "
            "to get an unsigned graph"
        )


def check_room(n: int, matrices: float = 5.25) -> None:
    """Refuse a graph of which so many (n, n) matrices do not fit into the free memory: the inverse holds
    five at once, and a mask."""
    advice = "pass an embedding instead (querist.embed(graph, rank=...)): its distances are an approximation"
    memory.check(8.0 * matrices * n**2, f"the exact kernel of {n:,} nodes", advice)


def weights_of(M: Sparse) -> Sparse:
    """The adjacency S of a Laplacian `D - S`."""
    S = sp.csr_array(-M)
    S.setdiag(0.0)
    S.eliminate_zeros()
    return S


def _signed(S: Sparse) -> bool:
    return bool((S.data < 0).any())


def null_signs(S: Sparse, component: NDArray[Any]) -> Floats:
    """(n,) the null vector of the Laplacian of every component in one: +-1, or 0 where there is none.

    An unsigned component is spanned by its constant. A signed one has a null vector only when it is
    balanced: its nodes split in two camps with positive weights inside and negative weights between; then
    the vector is +1 on one camp (that of its first node) and -1 on the other.
    """
    n = component.size
    if not _signed(S):
        return np.ones(n)
    # The double cover has each node twice, once in either camp: a positive edge joins equal camps, a
    # negative one opposite camps. A component is balanced if and only if its cover falls apart in two.
    entries = S.tocoo()
    flip = np.where(entries.data < 0, n, 0)
    heads = np.concatenate([entries.row, entries.row + n])
    tails = np.concatenate([entries.col + flip, entries.col + n - flip])
    cover = sp.csr_array((np.ones(heads.size), (heads, tails)), shape=(2 * n, 2 * n))
    _, camp = csgraph.connected_components(cover, directed=False)
    _, first, number = np.unique(component, return_index=True, return_inverse=True)
    signs = np.where(camp[:n] == camp[first][number], 1.0, -1.0)
    return np.where(camp[:n] == camp[n:], 0.0, signs)


def pseudo_inverse(M: Floats, definite: bool) -> tuple[Floats, float]:
    """`M^+` of an irreducible Laplacian, or of a positive definite matrix; and `1/condition number`.

    A matrix that is not positive definite to the last digit gives condition number 0 and no inverse.
    """
    n = len(M)
    c = 0.0 if definite else float(np.mean(np.diag(M)))
    A = M + c / n
    norm = float(np.abs(A).sum(axis=0).max())
    factor, failed = linalg.lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return np.empty((0, 0)), 0.0
    rcond, _ = linalg.lapack.dpocon(factor, norm, uplo="L")
    half, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    K = np.tril(half)
    K += np.tril(half, -1).T
    if not definite:
        K -= 1 / (c * n)
    return K, float(rcond)


def from_kernel(K: Floats) -> Floats:
    """(n, n) `K_ii + K_jj - 2 K_ij`, exactly symmetric with a zero diagonal."""
    diagonal = np.diag(K)
    R = np.add.outer(diagonal, diagonal) - 2 * K
    np.fill_diagonal(R, 0.0)
    return np.asarray(np.maximum(R, 0.0))


def tree_coordinates(M: Sparse) -> Floats:
    """(n, n - 1) rows with the effective resistances as squared distances; any range of weights."""
    S = weights_of(M)
    behind, strength = spanning_tree(S)
    W = S.toarray()
    inside, outside = behind.astype(np.float64), (~behind).astype(np.float64)
    crossing = inside.T @ W @ outside  # w(S_e, V - S_f)
    shared = inside.T @ W @ inside  # w(S_e, S_f) where they are apart
    common = inside.T @ inside
    size = inside.sum(axis=0)
    # In a rooted tree two such sets are nested or apart.
    first_in_second = common == size[:, None]
    second_in_first = common == size[None, :]
    H = np.where(first_in_second, crossing, np.where(second_in_first, crossing.T, -shared))
    order = np.argsort(-strength, kind="stable")
    H, inside = H[np.ix_(order, order)], inside[:, order]
    scale = 1 / np.sqrt(np.diag(H))
    G = linalg.cholesky(H * np.outer(scale, scale), lower=True)
    rows = linalg.solve_triangular(G, (inside * scale).T, lower=True).T
    return np.ascontiguousarray(rows)


def spanning_tree(S: Sparse) -> tuple[Bools, Floats]:
    """A maximum spanning tree of positive weights, rooted at node 0.

    (n, n - 1) which nodes lie behind each of its edges; and the weights of these.
    """
    n = S.shape[0]
    # Negated logarithms: any order-preserving length will do, and 1/w could overflow. All are kept below 0
    # because a sparse graph reads 0 as "no edge".
    length = sp.csr_array((-1.0 - np.log(S.data) + np.log(S.data.min()), S.indices, S.indptr), shape=S.shape)
    tree = csgraph.minimum_spanning_tree(with_short_indices(length))
    order, parent = csgraph.breadth_first_order(tree, 0, directed=False)
    behind = np.zeros((n, n - 1), dtype=np.bool_)
    edge: Codes = np.full(n, -1)
    edge[order[1:]] = np.arange(n - 1)
    for node in order[1:]:
        behind[node] = behind[parent[node]]
        behind[node, edge[node]] = True
    children = order[1:]
    strength = np.asarray(S[parent[children], children]).ravel()
    return behind, strength
