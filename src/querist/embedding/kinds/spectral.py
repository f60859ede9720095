"""The rank-d Laplacian embedding (sslgc13 eq. 27-28, msg16 II.C).

With eigenpairs `L v_k = lambda_k v_k`, growing, node i has the row

    m_i = ( v_2(i)/sqrt(lambda_2), ..., v_d(i)/sqrt(lambda_d), c )

so that `m_i . m_j` is, but for the constant c, the rank-d part of the pseudo-inverse of L, and squared
distances of full-rank rows are effective resistances. Reading and departures:

- The papers divide by sqrt(lambda_1) = 0. The null vector is left out and a constant column stands in for
  it: one a component, since the null space is spanned by them. In a signed graph it is the +-1 signature of
  a balanced component; an unbalanced one has no null vector and gets none.
- `rank` counts the columns of a connected graph: rank - 1 eigenvectors and the constant, or, with
  `constant=0` or no null vector at all, rank eigenvectors. (sslgc13 eq. 28 calls rank d what has rank
  d - 1.) A disconnected graph has one more column for each further component, up to `max_constants`; the
  smaller ones share one.
- The normalised Laplacian takes its own eigenvectors v, not D^-1/2 v: of the two this gives the lower
  error on PubMed, and no measurable difference on Cora.
"""

from typing import Any

import numpy as np

from querist.embedding.kinds import Kind, register
from querist.embedding.value import Embedding
from querist.embedding_options import SpectralOptions
from querist.graph import Graph
from querist.graph.scaling import common_factor, divided, scaled
from querist.operator.backend import backend_of
from querist.operator.eigen import krylov, solve
from querist.operator.eigen.chebyshev import precision, width_of
from querist.operator.eigen.pool import Pool, pooled_pairs
from querist.operator.resistance import null_signs
from querist.operator.threads import over_parts
from querist.progress import Progress, silent
from querist.types import Bools, Codes, Floats

TOL = 2e-3
"""Below it the errors of the learners do not move (docs/embedding.md)."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""Eigenvalues up to this multiple of a component's largest degree cannot be told from 0."""

CHUNK = 4096
"""Rows worked on at a time."""

SAME = 1e-6
"""Neighbouring eigenvalues with a smaller relative gap count as one multiple eigenvalue."""

FACTOR_BYTES = 32
"""An entry of a sparse factor: value and index, in both halves, with room to grow."""

FILL = 150.0
"""Entries of a factor, for every node."""


def spectral(
    graph: Graph,
    rank: int,
    *,
    normalised: bool = SpectralOptions.normalised,
    constant: float = SpectralOptions.constant,
    max_constants: int | None = SpectralOptions.max_constants,
    tol: float = TOL,
    seed: int = 0,
    progress: Progress = silent,
    device: str | None = None,
) -> Embedding:
    """The Laplacian embedding of a graph; `querist.embed` describes the parameters.

    >>> from querist import as_graph
    >>> rows = spectral(as_graph([(0, 1), (1, 2)]), 3, normalised=False, constant=0).rows
    >>> np.round(rows @ rows.T * 9)  # nine times the pseudo-inverse of the path's Laplacian
    array([[ 5., -1., -4.],
           [-1.,  2., -1.],
           [-4., -1.,  5.]])
    """
    given, unit = graph, 1.0 if normalised else common_factor(graph)
    graph = scaled(graph) if normalised else divided(graph, unit)
    signs = null_signs(graph.adjacency, graph.components)
    null = signs * np.sqrt(graph.degrees) if normalised else signs.copy()
    null[graph.degrees == 0] = 1.0
    wanted = rank - int(constant != 0 and signs.any())
    # One pair more than wanted measures the gap at the cut.
    pool = pooled_pairs(
        graph.adjacency,
        graph.components,
        null,
        wanted + 1,
        normalised=normalised,
        tol=tol,
        seed=seed,
        progress=progress,
        spare=1,
        device=device,
    )
    kind = np.float32 if pool.single and normalised else np.float64
    L = laplacian_on(graph, device, normalised=normalised, dtype=kind)
    gap = relative_gap(pool.values, wanted)
    errors = residuals(L, graph.components, pool.values, pool.vectors, pool.owner)[:wanted]
    values, vectors, owner = pool.values[:wanted], pool.vectors[:, :wanted], pool.owner[:wanted]
    tiny = unresolved(L, graph.components, values, owner)
    scales = column_scales(values, tiny, constant, np.bincount(graph.components)[owner])
    columns, shared = constant_columns(graph.components, signs, constant, max_constants or rank)
    if unit != 1:
        scales = np.where(tiny, scales, scales / np.sqrt(unit))
    return Embedding(
        rows=beside(vectors, scales * orientation(vectors), columns),
        components=graph.components,
        eigenvalues=np.maximum(values, 0.0) * unit,
        residuals=errors,
        eigengap=gap,
        solver=pool.solver,
        rank=rank,
        kind="spectral",
        layout=(values.size, columns.shape[1], 0),
        normalised=normalised,
        degrees=given.degrees,
        notes=_notes(pool, wanted, gap, shared),
        doubts=doubts_about(errors, tol, int(tiny.sum()), pool.missing),
    )


def column_scales(values: Floats, tiny: Bools, constant: float, sizes: Codes) -> Floats:
    """(k,) `1/sqrt(lambda)`; an eigenvalue that cannot be told from 0 is not inverted.

    Its vector counts as one more null vector, and gets the length that a constant column of its component
    has: `constant sqrt(size)`.
    """
    return np.where(tiny, constant * np.sqrt(sizes), 1 / np.sqrt(np.where(tiny, 1.0, values)))


def beside(vectors: Floats, factors: Floats, columns: Floats) -> Floats:
    """(n, k + c) the vectors times their factors, then the columns; in one pass, since it may be large."""
    k = vectors.shape[1]
    rows = np.empty((vectors.shape[0], k + columns.shape[1]))

    def fill(part: slice) -> None:
        np.multiply(vectors[part], factors, out=rows[part, :k])
        rows[part, :k] += 0.0  # turns -0.0 into 0.0
        rows[part, k:] = columns[part]

    over_parts(fill, rows.shape[0], CHUNK)
    return rows


def relative_gap(values: Floats, wanted: int) -> float:
    """`1 - lambda_k / lambda_k+1` at the cut behind `wanted` values; 1 when nothing is cut off."""
    if values.size <= wanted or wanted == 0:
        return 1.0
    return float(1 - max(values[wanted - 1], 0.0) / values[wanted]) if values[wanted] > 0 else 0.0


def orientation(vectors: Floats) -> Floats:
    """(k,) +-1, which makes the largest entry of every column (the first of nearly equal ones) positive.

    >>> orientation(np.array([[0.0, 0.6], [-1.0, 0.6], [0.5, -0.6]])).tolist()
    [-1.0, 1.0]
    """
    ends = over_parts(
        lambda part: (vectors[part].max(axis=0), -vectors[part].min(axis=0)), vectors.shape[0], CHUNK
    )
    high, low = (np.max(end, axis=0, initial=0.0) for end in zip(*ends, strict=True))
    turn = np.where(high < low, -1.0, 1.0)
    largest = np.maximum(high, low)
    for k in np.flatnonzero(np.abs(high - low) <= 1e-6 * largest):
        first = np.argmax(np.abs(vectors[:, k]) >= (1 - 1e-6) * largest[k])
        turn[k] = np.copysign(1.0, vectors[first, k])
    return turn


def laplacian_on(graph: Graph, device: str | None, *, normalised: bool, dtype: Any = np.float64) -> Any:
    """The Laplacian of a graph, on a device or in this process."""
    return backend_of(device).laplacian(graph.adjacency, normalised=normalised, dtype=dtype)


def unresolved(L: Any, components: Codes, values: Floats, owner: Codes) -> Bools:
    """(k,) whether a non-null eigenvalue is lost in the rounding of its component's largest degree."""
    largest = np.zeros(int(components.max()) + 1)
    np.maximum.at(largest, components, L.space.array(L.diagonal()))
    return np.asarray(values <= ROUNDING * largest[owner])


def residuals(L: Any, components: Codes, values: Floats, vectors: Floats, owner: Codes) -> Floats:
    """(k,) `|Lv - lambda v|` in units of the component's mean degree (1 for the normalised Laplacian)."""
    space, diagonal = L.space, L.space.array(L.diagonal())
    mean = (np.bincount(components, weights=diagonal / np.bincount(components)[components]))[owner]
    X = space.given(vectors)
    Y = L.matmat(X)
    if (mean != 1).any():  # before they are squared: weights may be as large or small as a float can be
        Y /= space.given(mean)
    return np.asarray(space.residuals(Y, X, values / mean))


def constant_columns(components: Codes, signs: Floats, constant: float, most: int) -> tuple[Floats, int]:
    """(n, c) a column for each of the `most` largest components with a null vector, and one for the rest.

    Also how many components share the last column.
    """
    holders = np.unique(components[signs != 0])  # numbered by falling size
    if constant == 0 or not holders.size:
        return np.zeros((components.size, 0)), 0
    column = np.minimum(np.searchsorted(holders, components), most)
    columns = np.zeros((components.size, min(holders.size, most + 1)))
    rows = np.flatnonzero(signs)
    columns[rows, column[rows]] = constant * signs[rows]
    return columns, max(0, holders.size - most)


def _notes(pool: Pool, wanted: int, gap: float, shared: int) -> tuple[str, ...]:
    size = pool.values.size
    notes = {
        f"the graph has {size} eigenvectors besides its constants; all were taken": (
            size < wanted and not pool.missing
        ),
        "the cut falls inside a multiple eigenvalue: another rank makes it unambiguous": gap < SAME,
        f"{shared:,} small components share one constant column": shared > 1,
    }
    return tuple(note for note, holds in notes.items() if holds)


def doubts_about(errors: Floats, tol: float, tiny: int, missing: int) -> tuple[tuple[str, float], ...]:
    """What is not right to the tolerance (`Embedding.doubts`)."""
    worst, late = float(errors.max(initial=0.0)), int((errors > tol).sum())
    doubts = {
        f"{late} eigenpairs have residuals up to {worst:.1e}, above tol {tol:.0e}": late,
        f"{tiny} eigenvalues are lost in rounding and their vectors enter as constants do; the weights span "
        "too many orders of magnitude: drop the smallest, or rescale": tiny,
        f"{missing} eigenpairs did not converge; raise tol or lower the rank": missing,
    }
    return tuple((doubt, worst) for doubt, count in doubts.items() if count)


# -- as a kind -------------------------------------------------------------------------------------------


def spectral_bytes(graph: Graph, rank: int, *, normalised: bool, tol: float, **_: Any) -> float:
    """The most that it holds beyond the graph: the large arrays that live at the same time.

    Blocks of n rows, sparse matrices, dense matrices of small components.
    """
    sizes = np.bincount(graph.components)
    largest, nnz = int(sizes[0]), graph.adjacency.nnz
    count = min(rank, largest)
    rows = 8.0 * graph.n_nodes * (rank + min(sizes.size, rank))
    if solve.is_small(largest, count):
        return rows + 8.0 * (2.5 * largest**2 + 3 * largest * count)
    item = np.dtype(precision(tol, 2.0 if normalised else np.inf)).itemsize
    width = width_of(count, largest)
    block = item * largest * width
    # The space of krylov.py is at most a quarter of the graph; the estimate must grow with the rank.
    lanczos = item * largest * min(krylov.room_of(count), largest / 4) if count >= krylov.LEAST else 0.0
    space = max(block, lanczos)
    pairs = 8.0 * largest * count
    # A float32 block and its product beside the vectors that are made of them; or all three in float64.
    sweeping, finishing = max(3 * block, space), space + (2 if item == 4 else 3) * pairs
    factor = 0.0 if normalised else FACTOR_BYTES * min(solve.FACTOR_ENTRIES, FILL * largest) + pairs
    copies = 0.0 if sizes.size == 1 else 24.0 * nnz
    if normalised:  # by falling degree
        copies += 12.0 * nnz
    # In the end pairs, their rows, and the products that residuals are measured by. One block passes by.
    most = max(sweeping, finishing, factor, rows + 2 * pairs) + item * largest * count
    return (item + 8.0) * nnz + copies + most


def device_bytes(graph: Graph, rank: int, *, normalised: bool, tol: float, **_: Any) -> float:
    """The most that is held on a device: the matrix, and blocks while filtering or when pairs are checked."""
    n, nnz = graph.n_nodes, graph.adjacency.nnz
    count = min(rank, n)
    item = np.dtype(precision(tol, 2.0 if normalised else np.inf)).itemsize
    lanczos = krylov.room_of(count) if krylov.worth(count, n) else 0
    space = item * n * max(width_of(count, n), lanczos)
    blocks = max(space + 2.0 * item * n * width_of(count, n), space + 3 * 8.0 * n * count)
    return (16.0 + item) * nnz + blocks


def new_row(embedding: Embedding, M: Floats, degrees: Floats, weights: Floats) -> Floats:
    """(k + c,) the row that the node's own line of the eigen-equation asks for, the rest unchanged.

    With `d_x = sum |w_j|` (Nystroem's extension):

    - normalised: `v(x) = sum_j w_j v(j) / sqrt(d_x d_j) / (1 - lambda)`, `d_j` the degree that v(j) was made
      with (the degree with the new edge gives a higher error on Cora and PubMed),
    - combinatorial: `v(x) = sum_j w_j v(j) / (d_x - lambda)`,

    which is of order `edges x columns` and touches no other node. Where `lambda` comes near the degree the
    equation says nothing, so the divisor is kept above half of it. A constant column is copied from the
    heaviest neighbour.
    """
    k, c, _ = embedding.parts
    own, values = np.abs(weights).sum(), embedding.eigenvalues[:k]
    row = np.empty(M.shape[1])
    if embedding.normalised:
        row[:k] = (weights / np.sqrt(own * degrees)) @ M[:, :k] / np.maximum(1 - values, 0.5)
    else:
        row[:k] = weights @ M[:, :k] / np.maximum(own - values, own / 2)
    heaviest = int(np.argmax(np.abs(weights)))
    row[k : k + c] = np.sign(weights[heaviest]) * M[heaviest, k : k + c]
    return row


SPECTRAL = register(
    Kind(
        name="spectral",
        about="the edges alone: eigenvectors of the Laplacian, and a constant",
        declaring=SpectralOptions,
        make=spectral,
        memory=spectral_bytes,
        row=new_row,
        tol=TOL,
        usual=True,
        on_device=device_bytes,
    )
)
