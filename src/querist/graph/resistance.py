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
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from scipy import linalg
from scipy.sparse import csgraph

from querist.errors import InputError
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian, null_signs
from querist.types import Bools, Codes, Floats

WELL = 1e-7
"""Reciprocal condition number from which the Cholesky inverse keeps nine digits."""

SINGULAR = 1e-13
"""Reciprocal condition number at which a signed Laplacian cannot be told from a singular one."""

_known: "WeakKeyDictionary[Graph, Resistances]" = WeakKeyDictionary()


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
        return self.matrix if self.matrix.size else squared_distances(self.rows)


def resistances(graph: Graph, memory: float | None = None) -> Resistances:
    """All effective resistances of a graph, computed once as long as the graph lives.

    `memory` is how many GiB may be used; what the machine has free unless given.

    >>> from querist import as_graph
    >>> resistances(as_graph([(0, 1), (1, 2), (0, 2)])).all().round(3)
    array([[0.   , 0.667, 0.667],
           [0.667, 0.   , 0.667],
           [0.667, 0.667, 0.   ]])
    """
    check_irreducible(graph)
    if graph not in _known:
        check_memory(graph.n_nodes, memory)
        _known[graph] = _computed(graph)
    return _known[graph]


def check_irreducible(graph: Graph) -> None:
    """Refuse a Laplacian under which some nodes have no distance."""
    if not graph.signed:
        if graph.n_components > 1:
            raise InputError(
                f"{graph.name} has {graph.n_components:,} components: its Laplacian is reducible, and no "
                "current flows between them, so the effective resistance is infinite (pounce08, Theorem 2 "
                "needs an irreducible Laplacian). Use graph.largest_component() (--component largest), or "
                "add edges"
            )
        return
    signs = null_signs(graph)
    if signs.any():
        balanced = np.unique(graph.components[signs != 0]).size
        raise InputError(
            f"{graph.name} is signed, and {balanced:,} of its {graph.n_components:,} components are balanced "
            "(the negative edges only separate two camps): the signed Laplacian is singular, and pounce08 "
            "needs a positive definite one. Flip the signs of one camp to get an unsigned graph, or use "
            "the components that are not balanced"
        )


def check_memory(n: int, memory: float | None = None) -> None:
    """Refuse what does not fit: two (n, n) matrices of doubles."""
    needed = 2 * 8 * n**2 / 2**30
    free = available_memory() if memory is None else memory
    if needed > free:
        raise InputError(
            f"the exact kernel of {n:,} nodes needs {needed:.1f} GiB, and {free:.1f} GiB are free; pass an "
            "embedding instead (querist.embed(graph, rank=...)): its distances are an approximation"
        )


def available_memory() -> float:
    """GiB of memory that is free; unlimited where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            entries = dict(line.split(":", 1) for line in file)
        return int(entries["MemAvailable"].split()[0]) / 2**20
    except (OSError, KeyError, ValueError):
        return float("inf")


def _computed(graph: Graph) -> Resistances:
    n = graph.n_nodes
    none = np.empty((0, 0))
    if n == 1:
        return Resistances(np.zeros((1, 1)), none)
    K, rcond = pseudo_inverse(laplacian(graph).toarray(), definite=graph.signed)
    if rcond >= WELL:
        return Resistances(from_kernel(K), none)
    if graph.signed:
        if rcond < SINGULAR:
            raise InputError(
                f"the signed Laplacian of {graph.name} is nearly singular (reciprocal condition number "
                f"{rcond:.0e}); make its negative weights larger, or drop them for an unsigned graph"
            )
        doubt = f"the signed Laplacian is badly conditioned: about {-np.log10(1e-16 / rcond):.0f} digits hold"
        return Resistances(from_kernel(K), none, (doubt,))
    note = "weights span many orders of magnitude: resistances come from spanning-tree coordinates"
    return Resistances(none, tree_coordinates(graph), (note,))


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


def squared_distances(rows: Floats) -> Floats:
    """(n, n) squared distances, row by row: differences first, so that small ones keep their digits."""
    out = np.empty((len(rows), len(rows)))
    for i, row in enumerate(rows):
        difference = rows - row
        out[i] = np.einsum("ij,ij->i", difference, difference)
    return out


def tree_coordinates(graph: Graph) -> Floats:
    """(n, n - 1) rows with the effective resistances as squared distances; any range of weights."""
    behind, strength = spanning_tree(graph)
    W = graph.adjacency.toarray()
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


def spanning_tree(graph: Graph) -> tuple[Bools, Floats]:
    """A maximum spanning tree rooted at node 0: (n, n - 1) which nodes lie behind each edge; its weights."""
    S = graph.adjacency
    # Negated logarithms: any order-preserving length will do, and 1/w could overflow. All are kept below 0
    # because a sparse graph reads 0 as "no edge".
    length = sp.csr_array((-1.0 - np.log(S.data) + np.log(S.data.min()), S.indices, S.indptr), shape=S.shape)
    tree = csgraph.minimum_spanning_tree(length)
    order, parent = csgraph.breadth_first_order(tree, 0, directed=False)
    behind = np.zeros((graph.n_nodes, graph.n_nodes - 1), dtype=np.bool_)
    edge: Codes = np.full(graph.n_nodes, -1)
    edge[order[1:]] = np.arange(graph.n_nodes - 1)
    for node in order[1:]:
        behind[node] = behind[parent[node]]
        behind[node, edge[node]] = True
    children = order[1:]
    strength = np.asarray(S[parent[children], children]).ravel()
    return behind, strength
