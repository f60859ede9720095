"""The kernel of personalised PageRank: eigenvectors, and beside them what they lack, near every node.

With `S = D^-1/2 A D^-1/2` and `p = walk`, the kernel is

    K = (I - p S)^-1 = sum_k p^k S^k = sum_j v_j v_j' / (1 - p lambda_j)

over all eigenpairs of S. The rows are those of the largest `rank` eigenvalues, `m_i = (v_j(i) / sqrt(1 - p
lambda_j))_j`; they are smooth over the graph, and without the others a learner cannot tell a node from the
nodes around it. The others, `K - M M'`, are large near the node only: of every row the `neighbours` largest
entries are kept, with the diagonal, in `Embedding.local`.

They are found near the node (operator/push.py): where pushing stops, `K e_i = x + K r`, with r spread thin
over far nodes, so that `K r` is smooth and lies in the span of V. So `(I - V V') K e_i` is about
`x - V (V'x)`, which needs only the nodes that were met.

Components that `local` can hold whole, but for the largest, get no columns.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.compiled import compiled
from querist.embedding.kinds import Kind, register
from querist.embedding.kinds.spectral import (
    TOL,
    beside,
    device_bytes,
    doubts_about,
    laplacian_on,
    new_row,
    orientation,
    relative_gap,
    residuals,
    spectral_bytes,
)
from querist.embedding.value import Embedding
from querist.embedding_options import PageRankOptions
from querist.graph import Graph
from querist.graph.scaling import scaled
from querist.operator.eigen.pool import pooled_pairs
from querist.operator.push import PushRoom, Walkable, clear, push, push_room, walkable
from querist.operator.resistance import null_signs
from querist.progress import Progress, part, silent
from querist.types import Codes, Floats, Sparse

EPS = 2e-3
"""Where pushes stop, for a node of the median degree."""

PIECE = 512
"""Nodes between two reports of progress."""


def pagerank(
    graph: Graph,
    rank: int,
    *,
    walk: float = PageRankOptions.walk,
    neighbours: int = PageRankOptions.neighbours,
    tol: float = TOL,
    seed: int = 0,
    progress: Progress = silent,
    device: str | None = None,
) -> Embedding:
    """The PageRank embedding of a graph; `querist.embed` describes the parameters.

    >>> from querist import as_graph
    >>> made = pagerank(as_graph([(0, 1), (1, 2)]), 1, walk=0.5)
    >>> (made.rows @ made.rows.T + made.local).round(2)  # the inverse of I - S/2
    array([[1.17, 0.47, 0.17],
           [0.47, 1.33, 0.47],
           [0.17, 0.47, 1.17]])
    """
    given, graph = graph, scaled(graph)
    large = holders(graph, neighbours)
    whole = graph if large.size == graph.n_nodes else graph.subgraph(large)
    null = null_columns(whole, max(1, rank // 2))
    wanted = rank - null.shape[1]
    # One pair more than wanted measures the gap at the cut.
    pool = pooled_pairs(
        whole.adjacency,
        whole.components,
        null_signs(whole.adjacency, whole.components) * np.sqrt(whole.degrees),
        wanted + 1,
        normalised=True,
        tol=tol,
        seed=seed,
        progress=part(progress, 0.0, 0.5),
        spare=1,
        device=device,
    )
    found = pool.values[:wanted]
    # Where there is nothing but single nodes, one column of zeros.
    values = np.append(np.zeros(max(null.shape[1], int(found.size == 0))), found)
    V = np.zeros((graph.n_nodes, values.size))
    V[large, : null.shape[1]] = null
    own = slice(values.size - found.size, None)
    V[large, own] = pool.vectors[:, :wanted]
    L = laplacian_on(graph, device, normalised=True)
    errors = np.zeros(values.size)
    errors[own] = residuals(L, graph.components, found, V[:, own], pool.owner[:wanted])
    scales = 1 / np.sqrt(1 - walk * np.clip(1 - values, -1.0, 1.0))
    return Embedding(
        rows=beside(V, scales * orientation(V), np.zeros((graph.n_nodes, 0))),
        components=graph.components,
        eigenvalues=np.maximum(values, 0.0),
        residuals=errors,
        eigengap=relative_gap(pool.values, wanted),
        solver=pool.solver,
        rank=rank,
        kind="pagerank",
        layout=(values.size, 0, 0),
        degrees=given.degrees,
        local=rest_of(
            walkable(graph.adjacency), V, walk, neighbours, part(progress, 0.5, 0.5, "looking around nodes")
        ),
        doubts=doubts_about(errors, tol, 0, pool.missing),
    )


def holders(graph: Graph, neighbours: int) -> Codes:
    """The nodes that columns are for: those of the largest component, and of all too large for `local`."""
    sizes = np.bincount(graph.components)[graph.components]
    return np.flatnonzero((graph.components == 0) | (sizes > neighbours + 1))


def null_columns(graph: Graph, most: int) -> Floats:
    """(n, c) the vector that S leaves as it is, `D^1/2 1` of length one, of the `most` largest components."""
    lengths = null_signs(graph.adjacency, graph.components) * np.sqrt(
        graph.degrees / max(graph.degrees.max(), np.finfo(float).tiny)
    )
    able = np.unique(graph.components[lengths != 0])[:most]  # numbered by falling size
    columns = np.where(graph.components[:, None] == able, lengths[:, None], 0.0)
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def rest_of(S: Walkable, V: Floats, walk: float, neighbours: int, progress: Progress) -> Sparse:
    """(n, n) of `K - V V'K`, the diagonal and the `neighbours` largest entries of a row, symmetric."""
    n = len(V)
    column, entry = np.zeros((n, neighbours + 1), dtype=np.int64), np.zeros((n, neighbours + 1))
    sizes, room, share = np.zeros(n, dtype=np.int64), push_room(n), np.zeros(V.shape[1])
    for first in range(0, n, PIECE):
        progress(first / n, "")
        last = min(n, first + PIECE)
        rest_rows(S, V, walk, EPS, first, last, room, share, column, entry, sizes)
    kept = np.arange(neighbours + 1) < sizes[:, None]
    row = np.repeat(np.arange(n), sizes)
    half = sp.csr_array((entry[kept], (row, column[kept])), shape=(n, n))
    seen = sp.csr_array((np.ones(row.size), (row, column[kept])), shape=(n, n))
    # An entry that was found from both ends is the mean of the two.
    total, times = sp.csr_array(half + half.T), sp.csr_array(seen + seen.T)
    for matrix in (total, times):
        matrix.sort_indices()
    wide = sp.csr_array((1 / times.data, times.indices, times.indptr), shape=(n, n))
    return sp.csr_array(total.multiply(wide))


@compiled
def rest_rows(
    S: Walkable,
    V: Floats,
    walk: float,
    eps: float,
    first: int,
    last: int,
    room: PushRoom,
    share: Floats,
    column: Codes,
    entry: Floats,
    sizes: Codes,
) -> None:
    """`x - V (V'x)` of nodes first to last - 1: the node itself, then the largest entries in no order."""
    d, most = V.shape[1], column.shape[1]
    for i in range(first, last):
        met = push(S, walk, eps, i, room)
        for k in range(d):
            share[k] = 0.0
        for a in range(met):
            u = room.met[a]
            for k in range(d):
                share[k] += room.x[u] * V[u, k]
        size, least = 0, 0
        for a in range(met):
            u = room.met[a]
            value = room.x[u]
            for k in range(d):
                value -= share[k] * V[u, k]
            if a == 0:
                value = max(value, 0.0)  # of a positive semidefinite matrix
            if size < most:
                column[i, size], entry[i, size] = u, value
                size += 1
            elif abs(value) > abs(entry[i, least]):
                column[i, least], entry[i, least] = u, value
            else:
                continue
            if size == most:
                least = 1 if most > 1 else 0
                for b in range(2, most):
                    if abs(entry[i, b]) < abs(entry[i, least]):
                        least = b
        sizes[i] = size
        clear(room, met)


# -- as a kind -------------------------------------------------------------------------------------------


def pagerank_bytes(graph: Graph, rank: int, *, neighbours: int, tol: float, **_: Any) -> float:
    """The most that it holds beyond the graph: a spectral embedding, its columns again, and `local`."""
    entries = graph.n_nodes * (neighbours + 1.0)
    own = 8.0 * graph.n_nodes * rank + 120.0 * entries + 24.0 * graph.adjacency.nnz
    return spectral_bytes(graph, rank, normalised=True, tol=tol) + own


PAGERANK = register(
    Kind(
        name="pagerank",
        about="the edges alone: personalised PageRank, eigenvectors and what they lack near a node",
        declaring=PageRankOptions,
        make=pagerank,
        memory=pagerank_bytes,
        row=new_row,
        tol=TOL,
        on_device=lambda graph, rank, *, tol, **_: device_bytes(graph, rank, normalised=True, tol=tol),
    )
)
