"""Features smoothed over a graph on shards, and their leading directions: see labelling/rows.py.

The nodes' side of the decomposition lies on the ranks. The features' side does too where features are links,
for then they are nodes; words are few, and every rank has them all.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from querist.cluster.operator import ShardOperator
from querist.cluster.shard import Shard
from querist.cluster.space import ShardSpace
from querist.embedding.kinds.diffusion import (
    Products,
    Triples,
    own_weights,
    rarity,
    singular_triples,
    smoothed,
    weighted,
)
from querist.labelling.rows import RowSettings
from querist.operator.kernels import scale_entries
from querist.operator.local import LocalSpace
from querist.operator.threads import one_blas_thread, over_rows
from querist.progress import silent
from querist.types import Sparse

Block = Any


def smoothing(shard: Shard, *, dtype: DTypeLike = np.float64) -> ShardOperator:
    """`T = D^-1/2 (S + C) D^-1/2`, every node its own, average, neighbour (embedding/kinds/diffusion.py)."""
    kind, degrees = np.dtype(dtype), shard.degrees()
    own = own_weights(degrees, shard.indptr)
    r = shard.with_halo(1 / np.sqrt(degrees + own))
    values = np.empty(shard.nnz, dtype=kind)
    over_rows(scale_entries, (shard.indptr, shard.indices, shard.weights, r, values), shard.cuts, shard.nnz)
    return ShardOperator(shard, values, (own * r[: shard.own] ** 2).astype(kind), sign=1)


def link_features(shard: Shard) -> Products:
    """tf-idf rows of length one over links: a node's words are its neighbours and itself.

    `X = N^-1 A I` with A the pattern and the diagonal, I the weights of words and N the lengths of rows.
    """
    kind = np.dtype(np.float32)
    A = ShardOperator(shard, np.ones(shard.nnz, dtype=kind), np.ones(shard.own, dtype=kind), sign=1)
    exact = ShardOperator(shard, np.ones(shard.nnz), np.ones(shard.own), sign=1)
    weight = rarity(shard.n, np.diff(shard.indptr) + 1)[:, None]
    length = np.sqrt(exact.matmat(weight**2))
    weight, length = weight.astype(kind), length.astype(kind)

    def forward(B: Block) -> Block:
        return A.matmat(A.space.given(weight * B)) / length

    def backward(B: Block) -> Block:
        return weight * A.matmat(A.space.given(B / length))

    return Products(forward, backward, A.space, A.space)


def word_features(shard: Shard, X: Sparse, dtype: DTypeLike = np.float32) -> Products:
    """Rows (own, words) that every rank has in full; sums over nodes go over segments in their order."""
    kind = np.dtype(dtype)
    own: Any = X.astype(kind)
    turned = [sp.csr_array(own[rows].T) for _, rows in shard.own_segments]

    def backward(B: Block) -> Block:
        parts = [part @ B[rows] for part, (_, rows) in zip(turned, shard.own_segments, strict=True)]
        return shard.in_turn(parts, np.zeros((X.shape[1], B.shape[1]), dtype=kind))

    words = LocalSpace(X.shape[1], kind)
    return Products(lambda B: np.asarray(own @ B), backward, ShardSpace.of(shard, kind), words)


def word_weights(shard: Shard, counts: Sparse, weighting: Literal["unit", "tfidf"] = "tfidf") -> Sparse:
    """Rows of length one of own nodes: as they are, or `log(1 + count)` by how rare a word is."""
    if weighting == "unit":
        return weighted(counts, "unit")
    X = sp.csr_array((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    X.eliminate_zeros()
    often = shard.group.everyone(np.bincount(X.indices, minlength=X.shape[1]))
    return weighted(X, "tfidf", rarity(shard.n, np.sum(often, axis=0)))


def smoothed_triples(
    shard: Shard,
    features: Products,
    settings: RowSettings,
    rank: int,
    *,
    sweeps: int,
    tol: float | None = None,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
) -> Triples:
    """The leading directions of the smoothed features, `left` own rows: see `singular_triples`."""
    T = smoothing(shard, dtype=dtype)

    def smooth(block: Block) -> Block:
        return smoothed(T, block, settings.steps, settings.damping)

    Z = features._replace(
        forward=lambda B: smooth(features.forward(B)), backward=lambda B: features.backward(smooth(B))
    )
    with one_blas_thread():
        return singular_triples(Z, rank, tol=tol, sweeps=sweeps, seed=seed, progress=silent)
