"""Attributes smoothed over the graph, reduced to rank d.

With attribute rows X (each of length one) and the smoothing matrix T,

    Z_0 = X,    Z <- a T Z + (1 - a) X,    `steps` times, a = `damping`,

and the rows are `U Sigma` of the rank-d singular value decomposition of Z: its best rank-d image. This is
ours, not from the papers; they have no attributes. T is the symmetrically normalised adjacency in which
every node is also its own neighbour, `T = D^-1/2 (S + C) D^-1/2`, `C_ii` the mean weight at i (1 without
weights and where isolated) and D the absolute row sums of S + C. On Cora and Citeseer this gave a lower
error than leaving C out and than row-stochastic smoothing; it also leaves an isolated node its attributes.

Z is dense, so it is never formed: `Z B = p(T) (X B)` and `Z'B = X' p(T) B` for thin blocks B, with the
polynomial p applied by the recursion. The decomposition is a randomised range finder with oversampling and
subspace iteration (Halko, Martinsson and Tropp 2011, alg. 4.4 and 5.1).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import norm as sparse_norm

from querist.embedding.kinds import Kind, register
from querist.embedding.kinds.spectral import orientation
from querist.embedding.value import Embedding
from querist.embedding_options import DiffusionOptions, Weighting
from querist.errors import InputError, check_name
from querist.graph.graph import Graph
from querist.graph.scaling import scaled
from querist.operator.backend import backend_of
from querist.operator.eigen.chebyshev import COLUMNS
from querist.operator.eigen.ritz import thin_qr
from querist.operator.space import BlockOperator, Space
from querist.operator.threads import one_blas_thread
from querist.progress import Progress, silent
from querist.types import Codes, Floats, Sparse

TOL = 1e-2
OVERSAMPLING = 20
LARGE = 200_000
"""Nodes above which rows of a block fill whole cache lines of float32, with about half the oversampling: a
row that ends in the middle of a line costs all of it."""
SWEEPS = 20

Apply = Callable[[Floats], Floats]


def diffusion(
    graph: Graph,
    rank: int,
    *,
    weighting: Weighting = DiffusionOptions.weighting,
    steps: int = DiffusionOptions.steps,
    damping: float = DiffusionOptions.damping,
    tol: float = TOL,
    seed: int = 0,
    sweeps: int = SWEEPS,
    progress: Progress = silent,
    device: str | None = None,
) -> Embedding:
    """The attribute embedding of a graph; `querist.embed` describes the parameters.

    >>> from dataclasses import replace
    >>> from querist import as_graph
    >>> graph = replace(as_graph([(0, 1), (1, 2)]), attributes=sp.csr_array(np.eye(3)))
    >>> diffusion(graph, 1, steps=1, damping=1.0).rows.ravel().round(4).tolist()
    [0.5345, 0.6547, 0.5345]
    """
    if graph.attributes is None or not graph.attributes.count_nonzero():
        raise InputError("the graph has no attributes to diffuse; use kind='spectral', or give attributes")
    X = weighted(graph.attributes, weighting)
    columns = min(rank, *X.shape)
    Z = smoothed_products(smoothing(scaled(graph)), X, steps, damping, device)
    with one_blas_thread():  # the threads are ours
        found = singular_triples(Z, columns, tol=tol, sweeps=sweeps, seed=seed, progress=progress)
    worst = float(found.residuals[:columns].max(initial=0.0))
    loose = f"attribute residuals reach {worst:.1e}, above tol {tol:.0e}; raise tol or the rank"
    left = found.left[:, :columns]
    rows = left * (found.values[:columns] * orientation(left)) + 0.0  # no -0.0
    short = f"rank {rank} exceeds the {X.shape[1]} attributes; {columns} columns were made"
    return Embedding(
        rows=rows,
        components=reach(graph, rows),
        eigenvalues=found.values[:columns] ** 2,
        residuals=found.residuals[:columns],
        eigengap=_gap(found.values, columns),
        solver=f"randomised{'' if device is None else f' on {device}'}, {found.sweeps} sweeps",
        rank=rank,
        kind="diffusion",
        layout=(0, 0, columns),
        degrees=graph.degrees,
        notes=(short,) if columns < rank else (),
        doubts=((loose, worst),) if worst > tol else (),
    )


def rarity(n: int, often: Any) -> Floats:
    """(m,) `1 + ln((1+n)/(1+df))`, the weight of a word that so many of n nodes have."""
    return np.asarray(1 + np.log((1 + n) / (1 + often)))


def weighted(attributes: Sparse, weighting: Weighting, rare: Floats | None = None) -> Sparse:
    """Attribute rows: of length one, tf-idf of length one, or as they are.

    `rare` (m,) is the `rarity` of the words, where these rows are not all there are.
    """
    check_name("weighting", weighting, get_args(Weighting))
    X: Sparse = attributes.astype(np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    if weighting == "raw":
        return X
    if weighting == "tfidf":
        if rare is None:
            rare = rarity(X.shape[0], np.bincount(X.indices, minlength=X.shape[1]))
        X.data *= rare[X.indices]
    # Divided by its largest entry first, a row's sum of squares neither overflows nor vanishes.
    for order in (np.inf, 2):
        per_row = np.asarray(sparse_norm(X, order, axis=1))
        X.data /= np.repeat(np.where(per_row > 0, per_row, 1.0), np.diff(X.indptr))
    return X


def own_weights(degrees: Floats, indptr: Any) -> Floats:
    """(n,) the weight of a node as its own neighbour: the average of its others', or 1."""
    neighbours = np.diff(indptr)
    return np.where(neighbours > 0, degrees / np.maximum(neighbours, 1), 1.0)


def smoothing(graph: Graph) -> Sparse:
    """T: the normalised adjacency in which a node is its own, average, neighbour."""
    own = own_weights(graph.degrees, graph.adjacency.indptr)
    scale = 1 / np.sqrt(graph.degrees + own)
    T = sp.csr_array(graph.adjacency + sp.diags_array(own))
    T.data *= np.repeat(scale, np.diff(T.indptr))
    T.data *= scale[T.indices]
    return T


class Products(NamedTuple):
    """A matrix Z (n, m) as its products: `forward(B)` is `Z B` for blocks of the columns' space,
    `backward(B)` is `Z'B` for those of the rows'."""

    forward: Apply
    backward: Apply
    rows: Space
    columns: Space


def smoothed_products(
    T: Sparse,
    X: Sparse,
    steps: int,
    damping: float,
    device: str | None = None,
    *,
    dtype: Any = np.float64,
) -> Products:
    """The smoothed attributes by the recursion (T is symmetric), on a device or in this process."""
    backend = backend_of(device)
    operator, A = backend.symmetric(T, dtype=dtype), backend.matrix(X, dtype)

    def forward(B: Any) -> Any:
        return smoothed(operator, A @ B, steps, damping)

    def backward(B: Any) -> Any:
        return A.T @ smoothed(operator, B, steps, damping)

    return Products(forward, backward, operator.space, backend.space(X.shape[1], dtype))


def smoothed(T: BlockOperator, block: Any, steps: int, damping: float) -> Any:
    """`steps` times `Z <- a T Z + (1 - a) block`, from the block itself."""
    out, other = block, T.space.empty(block.shape[1])
    for step in range(steps):
        other[:] = block
        T.combine(out, other, scale=damping, previous=1 - damping)
        out, other = other, T.space.empty(block.shape[1]) if step == 0 else out
    return out


class Triples(NamedTuple):
    """`left` (n, l) orthonormal, `values` (l,) falling, `residuals` (l,), sweeps taken."""

    left: Floats
    values: Floats
    residuals: Floats
    sweeps: int


def width_of(count: int, n: int, m: int) -> int:
    """Columns of the block for the leading `count` triples of an (n, m) matrix.

    >>> width_of(35, 1000, 500), width_of(35, 10**6, 10**6)
    (55, 48)
    """
    wanted = count + OVERSAMPLING
    if n > LARGE:
        wanted = -(-(count + OVERSAMPLING // 2) // COLUMNS) * COLUMNS
    return min(wanted, n, m)


def singular_triples(
    Z: Products,
    count: int,
    *,
    tol: float | None,
    sweeps: int,
    seed: int,
    progress: Progress,
) -> Triples:
    """Leading singular values and left vectors of an (n, m) operator, by randomised subspace iteration.

    Stops when the first `count` residuals `|Zv - sigma u| / sigma_1` are below `tol`, or after `sweeps`.
    The product `Z V` that measures them is also the next, better, range: no work is wasted. Without `tol`
    there are as many sweeps as were asked for, and the last is not measured: there are no residuals.
    """
    rows, columns = Z.rows, Z.columns
    width = width_of(count, rows.n, columns.n)
    # Drawn in float64, whatever the precision.
    block = Z.forward(columns.given(columns.in_double.random(np.random.default_rng(seed), width)))
    sweep = 0
    while True:
        sweep += 1
        basis = thin_qr(block, rows)[0]
        right, triangle = thin_qr(Z.backward(basis), columns)
        inner, values, turn = map(rows.agreed, np.linalg.svd(triangle.T))
        left = rows.rotated(basis, inner)
        progress(sweep / (sweeps + 1), "diffusing attributes")
        if tol is None and sweep >= sweeps:
            return Triples(rows.array(left), values, np.empty(0), sweep)
        block = Z.forward(columns.rotated(right, turn.T))
        rest = block - left * rows.given(values)
        gaps = np.sqrt(rows.dots(rest, rest)) / max(values[0], np.finfo(np.float64).tiny)
        if tol is not None and (gaps[:count].max(initial=0.0) <= tol or sweep >= sweeps):
            return Triples(rows.array(left), values, gaps, sweep)


def _gap(values: Floats, count: int) -> float:
    if values.size <= count or values[count - 1] <= 0:
        return 1.0
    return float(1 - (values[count] / values[count - 1]) ** 2)


def reach(graph: Graph, rows: Floats) -> Codes:
    """(n,) which nodes can learn from each other: components of the graph with attributes as nodes.

    A node whose row is zero learns nothing, not even from itself, and stands alone. 0 is the largest.
    """
    assert graph.attributes is not None
    n = graph.n_nodes
    both: Any = sp.block_array(
        [[graph.adjacency, graph.attributes], [graph.attributes.T, None]], format="csr"
    )
    found = csgraph.connected_components(both, directed=False)[1][:n].astype(np.int64)
    alone = np.flatnonzero(~rows.any(axis=1))
    found[alone] = found.max() + 1 + np.arange(alone.size)
    _, first, number, size = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, -size)))[number]


# -- as a kind -------------------------------------------------------------------------------------------


def diffusion_bytes(graph: Graph, rank: int, **_: Any) -> float:
    """The most that it holds beyond the graph; nothing where there are no attributes to smooth."""
    if graph.attributes is None:
        return 0.0
    n, m = graph.attributes.shape
    return smoothed_bytes(n, m, graph.adjacency.nnz, graph.attributes.nnz, rank, item=8)


def smoothed_bytes(n: int, m: int, entries: int, words: int, rank: int, *, item: int) -> float:
    """The most that the leading directions of (n, m) smoothed features take, of `item` bytes a number."""
    width = width_of(rank, n, m)
    return (item + 4.0) * (3 * words + 2 * entries) + item * width * (4.0 * n + 3.0 * m)


def device_bytes(graph: Graph, rank: int, **_: Any) -> float:
    """The most that is held on a device."""
    if graph.attributes is None:
        return 0.0
    n, m = graph.attributes.shape
    width = width_of(rank, n, m)
    return 20.0 * (2 * graph.attributes.nnz + graph.adjacency.nnz) + 8.0 * width * (5.0 * n + 3.0 * m)


def new_row(embedding: Embedding, M: Floats, degrees: Floats, weights: Floats) -> Floats:
    """(d,) the weighted mean of the neighbours' rows; the node's own attributes are not asked for."""
    return np.asarray((weights / np.abs(weights).sum()) @ M)


DIFFUSION = register(
    Kind(
        name="diffusion",
        about="attributes smoothed along the edges, no constant",
        declaring=DiffusionOptions,
        make=diffusion,
        memory=diffusion_bytes,
        row=new_row,
        tol=TOL,
        attributes=True,
        usual=True,
        on_device=device_bytes,
    )
)
