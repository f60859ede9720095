"""The same eigenvectors from fewer nodes, in an order that suits the caches.

**Twins.** Two nodes whose rows of the adjacency are proportional (leaves of one hub, pages with the same
links) have proportional entries in every eigenvector of the normalised Laplacian whose eigenvalue is not 1:
by their own lines of the eigen-equation, `(1 - lambda) v(i) = sum_j w_ij v(j) / sqrt(d_i d_j)`. So they are
taken together as one node with their weights added, and with `d_I` the degree of all twins of i together

    v(i) = sqrt(d_i / d_I) v(I).

This is an isometry: lengths, inner products and residuals stay what they are. What is lost are eigenvectors
that sum to 0 over twins, and their eigenvalue is 1 exactly: below 1 nothing is missing.

**Order.** A product reads a row of the block for every edge. Nodes of falling degree put the rows that are
read most beside each other, and make the lengths of neighbouring rows predictable for the processor. Where a
block is larger than the caches, nodes that share neighbours should lie together too. Which ones do, a few
random vectors tell after a low filter: within a community their entries are nearly alike. Nodes are put
beside the one of some random nodes whose entries point their way most.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.compiled import compiled
from querist.operator import Operator, empty_block
from querist.operator.eigen.filter import filtered
from querist.operator.threads import one_blas_thread, over_parts
from querist.operator.value import degrees_of
from querist.types import Bools, Codes, Floats, Sparse

FEW = 0.02
"""Twins below this share of the nodes are left alone."""

LARGE = 1 << 18
"""Nodes from which a cache line for each is more than the caches hold."""

PIVOTS = 512
"""Random nodes beside which the others of a large graph are put."""

COLUMNS, DEGREE, CUT = 16, 8, 0.5
"""Vectors that tell communities apart, and the filter that makes them."""

CHUNK = 4096

BELOW = 1 - 1e-3
"""Eigenvalues up to this are surely not the 1 of the vectors that twins hide."""


@dataclass(frozen=True, eq=False)
class Compact:
    """A smaller graph `S`; node i of the larger one has `share[i]` times the entry of its row `place[i]`."""

    S: Sparse
    place: Codes
    share: Floats

    def lift(self, vectors: Floats) -> Floats:
        """(n, k) eigenvectors of the larger graph from those of the smaller one."""
        out = np.empty((self.place.size, vectors.shape[1]))

        def fill(rows: slice) -> None:
            np.multiply(vectors[self.place[rows]], self.share[rows, None], out=out[rows])

        over_parts(fill, self.place.size, CHUNK)
        return out

    def lower(self, vectors: Floats) -> Floats:
        """The nearest to given vectors, (n,) or (n, k), that `lift` can make: `P'v`, with `P` the lift."""
        n, m = self.place.size, self.S.shape[0]
        P = sp.csr_array((self.share, (np.arange(n), self.place)), shape=(n, m))
        return np.asarray(P.T @ vectors)


def compacted(S: Sparse, seed: int) -> Compact:
    """A connected graph for its normalised Laplacian: without twins, in an order that suits the caches.

    >>> star = sp.csr_array([[0.0, 1, 2, 1], [1, 0, 0, 0], [2, 0, 0, 0], [1, 0, 0, 0]])
    >>> pair = compacted(star, 0)  # the hub, and all its leaves as one
    >>> pair.S.toarray().tolist(), pair.place.tolist(), pair.share.round(3).tolist()
    ([[0.0, 4.0], [4.0, 0.0]], [0, 1, 1, 1], [1.0, 0.5, 0.707, 0.5])
    """
    indptr, indices = np.ascontiguousarray(S.indptr, dtype=np.int64), np.ascontiguousarray(S.indices)
    data = np.ascontiguousarray(S.data, dtype=np.float64)
    degrees = degrees_of(S, indptr)
    first = first_twins(indptr, indices, data, degrees)
    own = first == np.arange(first.size)
    together = np.bincount(first, weights=degrees, minlength=first.size)
    kept = np.flatnonzero(own)
    keys = [-np.diff(indptr)[kept]]
    if kept.size >= LARGE:
        keys.append(neighbourhoods(S, degrees, seed)[kept])
    order = kept[np.lexsort(keys)]
    smaller = reordered(indptr, indices, data, own, together / degrees, order)
    place = np.empty(first.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return Compact(smaller, place[first], np.sqrt(degrees / together[first]))


def first_twins(indptr: Any, indices: Any, data: Floats, degrees: Floats) -> Codes:
    """(n,) the first node whose row is proportional to that of node i: i itself where there is none before.

    All are themselves where twins are few.
    """
    n = degrees.size
    marks = np.empty(n, dtype=np.uint64)
    mark_rows(indptr, indices, data, degrees, marks)
    order = np.argsort(marks, kind="stable")
    alike = np.flatnonzero(np.diff(marks[order]) == 0)
    first = np.arange(n)
    if alike.size < FEW * n:
        return first
    join_twins(indptr, indices, data, degrees, marks, order, first)
    return first if (first != np.arange(n)).sum() >= FEW * n else np.arange(n)


@compiled
def mark_rows(indptr: Any, indices: Any, data: Any, degrees: Any, marks: Any) -> None:
    """`marks_i`: a number that proportional rows share, and others hardly ever (splitmix64)."""
    for i in range(degrees.size):
        total = np.uint64(0)
        for p in range(indptr[i], indptr[i + 1]):
            share = np.uint64(np.int64(data[p] / degrees[i] * 1099511627776.0))
            x = (np.uint64(indices[p]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + share
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += x ^ (x >> np.uint64(31))
        marks[i] = total


@compiled
def join_twins(
    indptr: Any, indices: Any, data: Any, degrees: Any, marks: Any, order: Any, first: Any
) -> None:
    """`first_i` becomes the first node with its mark, if their rows are indeed proportional, to the bit."""
    leader = order[0]
    for position in range(1, order.size):
        i = order[position]
        length = indptr[i + 1] - indptr[i]
        same = marks[i] == marks[leader] and length == indptr[leader + 1] - indptr[leader]
        for step in range(length if same else 0):
            p, q = indptr[i] + step, indptr[leader] + step
            if indices[p] != indices[q] or data[p] / degrees[i] != data[q] / degrees[leader]:
                same = False
        if same:
            first[i] = leader
        else:
            leader = i


def reordered(indptr: Any, indices: Any, data: Floats, keep: Bools, factor: Floats, order: Codes) -> Sparse:
    """Rows `order`, and columns alike, of a symmetric CSR matrix; entries in columns that `keep` leaves out
    are dropped, others multiplied by `factor` of row and column."""
    n = indptr.size - 1
    place = np.full(n, -1, dtype=np.int32 if n <= np.iinfo(np.int32).max else np.int64)
    place[order] = np.arange(order.size)
    starts = np.zeros(order.size + 1, dtype=np.int64)
    if order.size == n:
        np.cumsum(np.diff(indptr)[order], out=starts[1:])
    else:
        count_kept(indptr, indices, keep, order, starts)
    columns, values = np.empty(int(starts[-1]), dtype=place.dtype), np.empty(int(starts[-1]))
    over_parts(
        lambda rows: copy_rows(
            indptr, indices, data, keep, factor, order, place, starts, columns, values, rows.start, rows.stop
        ),
        order.size,
        CHUNK,
    )
    return sp.csr_array((values, columns, starts), shape=(order.size, order.size))


@compiled
def count_kept(indptr: Any, indices: Any, keep: Any, order: Any, starts: Any) -> None:
    """`starts`: the row pointers of what is kept."""
    for row in range(order.size):
        total = 0
        for p in range(indptr[order[row]], indptr[order[row] + 1]):
            total += keep[indices[p]]
        starts[row + 1] = starts[row] + total


@compiled
def copy_rows(
    indptr: Any,
    indices: Any,
    data: Any,
    keep: Any,
    factor: Any,
    order: Any,
    place: Any,
    starts: Any,
    columns: Any,
    values: Any,
    first: int,
    last: int,
) -> None:
    """Rows first to last - 1 of `reordered`."""
    for row in range(first, last):
        i, to = order[row], starts[row]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if keep[j]:
                columns[to] = place[j]
                values[to] = data[p] * (factor[i] * factor[j])
                to += 1


def neighbourhoods(S: Sparse, degrees: Floats, seed: int) -> Codes:
    """(n,) a number for every node of a large graph, which those of one community mostly share."""
    random = np.random.default_rng(seed)
    M, n = Operator.laplacian(S, normalised=True, dtype=np.float32), degrees.size
    X = empty_block((n, COLUMNS), np.float32)
    random.standard_normal(out=X, dtype=np.float32)
    null = (np.sqrt(degrees) / np.sqrt(degrees.sum())).astype(np.float32)
    X -= null[:, None] * (null @ X)
    X = filtered(M, X, DEGREE, CUT, 2.0)
    pivots = X[random.choice(n, PIVOTS, replace=False)].T
    pivots /= np.maximum(np.linalg.norm(pivots, axis=0), np.finfo(np.float32).tiny)
    with one_blas_thread():
        return np.concatenate(over_parts(lambda rows: (X[rows] @ pivots).argmax(axis=1), n, CHUNK))
