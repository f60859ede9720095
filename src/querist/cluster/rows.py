"""Features smoothed over a graph on shards, and their leading directions: see labelling/rows.py.

The nodes' side of the decomposition lies on the ranks. The features' side does too where features are links,
for then they are nodes; words are few, and every rank has them all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from querist.cluster.operator import ShardOperator
from querist.cluster.shard import Shard
from querist.cluster.space import ShardSpace
from querist.embedding.kinds.diffusion import OVERSAMPLING, Triples
from querist.labelling.rows import RowSettings
from querist.operator import LocalSpace, Space
from querist.operator.eigen.ritz import thin_qr
from querist.operator.kernels import scale_entries
from querist.operator.threads import one_blas_thread, over_rows
from querist.types import Floats, Sparse

Block = Any


@dataclass(frozen=True, eq=False)
class ShardFeatures:
    """Features of the nodes as two products: `forward` (features -> own rows) and `backward`.

    `right` is the space of blocks of features, `width` how many features there are.
    """

    forward: Callable[[Block], Block]
    backward: Callable[[Block], Block]
    right: Space
    width: int


def smoothing(shard: Shard, *, dtype: DTypeLike = np.float64) -> ShardOperator:
    """`T = D^-1/2 (S + C) D^-1/2`, every node its own, average, neighbour (embedding/kinds/diffusion.py)."""
    kind, degrees, neighbours = np.dtype(dtype), shard.degrees(), np.diff(shard.indptr)
    own = np.where(neighbours > 0, degrees / np.maximum(neighbours, 1), 1.0)
    r = shard.with_halo(1 / np.sqrt(degrees + own))
    values = np.empty(shard.nnz, dtype=kind)
    over_rows(scale_entries, (shard.indptr, shard.indices, shard.weights, r, values), shard.cuts, shard.nnz)
    return ShardOperator(shard, values, (own * r[: shard.own] ** 2).astype(kind), sign=1)


def link_features(shard: Shard, dtype: DTypeLike = np.float32) -> ShardFeatures:
    """tf-idf rows of length one over links: a node's words are its neighbours and itself.

    `X = N^-1 A I` with A the pattern and the diagonal, I the weights of words and N the lengths of rows.
    """
    kind = np.dtype(dtype)
    A = ShardOperator(shard, np.ones(shard.nnz, dtype=kind), np.ones(shard.own, dtype=kind), sign=1)
    exact = ShardOperator(shard, np.ones(shard.nnz), np.ones(shard.own), sign=1)
    often = np.diff(shard.indptr) + 1.0
    weight = (1 + np.log((1 + shard.n) / (1 + often)))[:, None]
    length = np.sqrt(exact.matmat(weight**2))
    weight, length = weight.astype(kind), length.astype(kind)

    def forward(B: Block) -> Block:
        return A.matmat(A.space.given(weight * B)) / length

    def backward(B: Block) -> Block:
        return weight * A.matmat(A.space.given(B / length))

    return ShardFeatures(forward, backward, A.space, shard.n)


def word_features(shard: Shard, X: Sparse, dtype: DTypeLike = np.float32) -> ShardFeatures:
    """Rows (own, words) that every rank has in full; sums over nodes go over segments in their order."""
    kind = np.dtype(dtype)
    own: Any = X.astype(kind)
    turned = [sp.csr_array(own[rows].T) for _, rows in shard.own_segments]

    def backward(B: Block) -> Block:
        parts = [part @ B[rows] for part, (_, rows) in zip(turned, shard.own_segments, strict=True)]
        return shard.in_turn(parts, np.zeros((X.shape[1], B.shape[1]), dtype=kind))

    return ShardFeatures(lambda B: np.asarray(own @ B), backward, LocalSpace(X.shape[1], kind), X.shape[1])


def word_weights(shard: Shard, counts: Sparse, weighting: Literal["unit", "tfidf"] = "tfidf") -> Sparse:
    """Rows of length one of own nodes: as they are, or `log(1 + count)` by how rare a word is."""
    X: Sparse = counts.astype(np.float64, copy=True)
    X.eliminate_zeros()
    if weighting == "tfidf":
        X.data = np.log1p(X.data)
        have = np.bincount(X.indices, minlength=X.shape[1])
        often = np.sum(shard.group.everyone(have), axis=0)
        X.data *= (1 + np.log((1 + shard.n) / (1 + often)))[X.indices]
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
    X.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(X.indptr))
    return X


def smoothed_triples(
    shard: Shard,
    features: ShardFeatures,
    settings: RowSettings,
    rank: int,
    *,
    sweeps: int,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
) -> Triples:
    """The leading directions of the smoothed features, `left` own rows, by randomised subspace iteration.

    As `singular_triples` (embedding/kinds/diffusion.py), with blocks on the ranks.
    """
    T, space = smoothing(shard, dtype=dtype), ShardSpace.of(shard, dtype)
    kept = 1 - settings.damping

    def smooth(block: Block) -> Block:
        out, other = block, space.empty(block.shape[1])
        for step in range(settings.steps):
            np.copyto(other, block)
            T.combine(out, other, scale=settings.damping, previous=kept)
            out, other = other, space.empty(block.shape[1]) if step == 0 else out
        return out

    width = min(rank + OVERSAMPLING, shard.n, features.width)
    with one_blas_thread():
        block = smooth(features.forward(features.right.random(np.random.default_rng(seed), width)))
        for _ in range(sweeps):
            basis = thin_qr(block, space)[0]
            right, triangle = thin_qr(features.backward(smooth(basis)), features.right)
            inner, values, turn = (space.agreed(one) for one in np.linalg.svd(triangle.T))
            left = space.times(basis, inner)
            block = smooth(features.forward(features.right.times(right, turn.T)))
    gaps = space.residuals(block, left, values) / max(float(values[0]), np.finfo(np.float64).tiny)
    return Triples(left[:, :rank], values[:rank], gaps[:rank], sweeps)


def decisive(left: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Without directions that are rounding; in double precision, as regressions take them."""
    count = max(1, int((values > 1e-12 * max(float(values[0]), 1e-300)).sum()))
    return np.ascontiguousarray(left[:, :count], dtype=np.float64), values[:count].astype(np.float64)
