"""Which rows lie together: an order of the nodes that does not depend on the ranks, and its segments.

A rank receives the rows of others that it has entries in, so neighbours should have one owner. Three steps:

1. *neighbourhoods*: a few random vectors after a low filter are nearly alike within a community; every node
   joins the nearest of some random nodes;
2. *parts*: neighbourhoods in a line, those with many edges between them beside each other, cut into parts of
   equal work;
3. *order*: by part, within it by falling degree, which suits the caches; cut into `SEGMENTS` ranges of
   equal work.

A rank holds a run of whole segments. Sums here are of whole numbers or over segments, products have the same
bits on any number of ranks: the order does not depend on the ranks, and no sum over its segments does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from querist.cluster.shard import Shard, renumber
from querist.cluster.space import ShardOperator
from querist.cluster.transport import Group, delivered
from querist.compiled import compiled
from querist.operator.eigen.filter import filtered
from querist.operator.threads import one_blas_thread
from querist.types import Codes, Floats

SEGMENTS = 64
"""Ranges of rows that ranks hold whole: no more ranks than these."""

LEAST_ROWS = 64
"""Of a segment; smaller graphs have fewer segments."""

COLUMNS, DEGREE, CUT = 16, 8, 0.5
"""Vectors that tell communities apart, and the filter that makes them."""

PIVOTS = 512
"""Random nodes whose neighbourhoods the others join."""

CLASSES = 64
"""Classes of degrees, two for each doubling."""

CHUNK = 4096


@dataclass(frozen=True, eq=False)
class RankRows:
    """Rows of a symmetric matrix, those of one rank: columns have the numbers of all ranks.

    Parameters
    ----------
    bounds : (size + 1,) first row of every rank; segments : (s + 1,) fixed ranges, whole ones for every rank
    indptr, columns, weights : own rows, entries of a row by growing column
    names : (own,) the number that each row's node had when it was read
    """

    bounds: Codes
    segments: Codes
    indptr: NDArray[np.int64]
    columns: NDArray[Any]
    weights: NDArray[Any]
    names: NDArray[Any]

    def shard(self, group: Group) -> Shard:
        """As something that multiplies. The columns are overwritten: the rows are gone after this."""
        return Shard.of(group, self.bounds, self.segments, self.indptr, self.columns, self.weights)


def even_segments(n: int) -> Codes:
    """(s + 1,) bounds of about equally many rows."""
    count = int(np.clip(n // LEAST_ROWS, 1, SEGMENTS))
    return n * np.arange(count + 1) // count


def rank_bounds(segments: Codes, size: int, work: Any = None) -> Codes:
    """(size + 1,) bounds of runs of whole segments of about equal work (s,), by default their rows.

    >>> rank_bounds(np.array([0, 10, 20, 30, 40]), 2).tolist()
    [0, 20, 40]
    """
    done = np.concatenate([[0], np.cumsum(np.diff(segments) if work is None else work)]).astype(np.float64)
    picks = [int(np.abs(done - done[-1] * p / size).argmin()) for p in range(size + 1)]
    return np.asarray(segments)[picks]


def partitioned(shard: Shard, names: Any, keep: Any = None) -> tuple[RankRows, Codes]:
    """The same rows in an order that keeps neighbours together, given to the ranks anew.

    Also (own,) the new number of every row that was here, -1 where it is dropped: `keep` (own,) says which
    stay, whole components. `names` (own,) go with the rows. The shard's columns are overwritten.
    """
    group = shard.group
    kept = np.ones(shard.own, dtype=bool) if keep is None else np.asarray(keep, dtype=bool)
    part, count = parts(shard)
    fresh, segments, work = numbered(shard, part, count, kept)
    bounds = rank_bounds(segments, group.size, work)
    renumber(shard.indices, shard.with_halo(fresh.astype(shard.indices.dtype)))
    return _moved(group, bounds, segments, fresh, shard, names), fresh


def parts(shard: Shard) -> tuple[Codes, int]:
    """(own,) the part of every own row, and how many there are."""
    count = int(np.clip(shard.n // LEAST_ROWS, 1, SEGMENTS))
    if count == 1:
        return np.zeros(shard.own, dtype=np.int64), 1
    work = np.diff(shard.indptr) + 1
    near = neighbourhoods(shard)
    line = _in_line(shard, near, min(PIVOTS, shard.n))
    load = _summed(shard, np.bincount(near, work, minlength=line.size).astype(np.int64))[np.argsort(line)]
    middle = np.cumsum(load) - load / 2
    return np.minimum(count * middle / load.sum(), count - 1).astype(np.int64)[line][near], count


def neighbourhoods(shard: Shard) -> Codes:
    """(own,) which of some random nodes is nearest, for every own row."""
    degrees = np.asarray(np.diff(shard.indptr), dtype=np.float64)
    M = ShardOperator.laplacian(shard, shard.degrees(), dtype=np.float32)
    random = np.random.default_rng(0)
    X = filtered(M, M.space.random(random, COLUMNS), DEGREE, CUT, 2.0)
    # The null vector, left in, would make all nodes alike; a node's share of it is known.
    X = X - np.sqrt(degrees)[:, None].astype(np.float32) * _along_null(shard, X, degrees)
    chosen = np.sort(random.choice(shard.n, min(PIVOTS, shard.n), replace=False))
    mine = chosen[(chosen >= shard.first) & (chosen < shard.first + shard.own)] - shard.first
    pivots = np.concatenate(shard.group.everyone(X[mine])).T
    pivots /= np.maximum(np.linalg.norm(pivots, axis=0), np.finfo(np.float32).tiny)
    found = np.empty(shard.own, dtype=np.int64)
    with one_blas_thread():
        for rows in shard.parts(CHUNK):
            found[rows] = (X[rows] @ pivots).argmax(axis=1)
    return found


def _along_null(shard: Shard, X: Any, degrees: Floats) -> Any:
    """(1, k) how much of the square roots of the degrees is in every column."""
    root = np.sqrt(degrees)[:, None]
    sums = [(root[rows] * X[rows]).sum(axis=0) for rows in shard.parts(CHUNK)]
    whole = shard.total([np.array([degrees[rows].sum()]) for rows in shard.parts(CHUNK)], CHUNK, np.zeros(1))
    return (shard.total(sums, CHUNK, np.zeros(X.shape[1])) / whole).astype(np.float32)[None]


def _in_line(shard: Shard, groups: Codes, count: int) -> Codes:
    """(count,) a place for every group of rows: those with many entries between them come near each other."""
    table = np.zeros((count, count), dtype=np.int64)
    count_between(shard.indptr, shard.indices, shard.with_halo(groups), table)
    between = _summed(shard, table).astype(np.float64)
    np.fill_diagonal(between, 0.0)
    root = np.sqrt(np.maximum(between.sum(axis=1), 1.0))
    # By the second eigenvector: it changes least along the entries. Processors may differ in its last bits,
    # so the first rank's order is everybody's.
    vector = np.linalg.eigh(between / root[:, None] / root)[1][:, -2] / root
    order = shard.group.everyone(np.argsort(vector, kind="stable"))[0]
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return place


def _summed(shard: Shard, counts: Any) -> Any:
    """The sum over ranks of whole numbers."""
    return np.sum(shard.group.everyone(counts), axis=0)


@compiled
def count_between(indptr: Any, indices: Any, group: Any, table: Any) -> None:
    """`table_gh` plus the entries of rows in g and columns in h."""
    for i in range(indptr.size - 1):
        g = group[i]
        for p in range(indptr[i], indptr[i + 1]):
            table[g, group[indices[p]]] += 1


def numbered(shard: Shard, part: Codes, count: int, kept: Any) -> tuple[Codes, Codes, Codes]:
    """(own,) the new number of every own row or -1, the new segments, and the work of each.

    By part, then by class of degree from the largest, then as they were. Parts and classes are counted
    segment by segment, so nobody needs to see all rows.
    """
    if count > 1:
        part = _in_line(shard, part, count)[part]
    degree = np.diff(shard.indptr)
    step = CLASSES - 1 - np.minimum(2 * np.log2(degree + 1), CLASSES - 1).astype(np.int64)
    # What is dropped comes last, and has no number in the end.
    key, keys = np.where(kept, part * CLASSES + step, count * CLASSES), count * CLASSES + 1
    own = [np.bincount(key[rows], minlength=keys) for _, rows in shard.own_segments]
    table = np.concatenate(shard.group.everyone(np.array(own, dtype=np.int64).reshape(-1, keys)))
    first = np.cumsum(table.T.ravel()).reshape(table.T.shape).T - table
    fresh = np.empty(shard.own, dtype=np.int64)
    for number, rows in shard.own_segments:
        order = np.argsort(key[rows], kind="stable")
        sizes = table[number]
        within = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        fresh[rows.start + order] = np.repeat(first[number], sizes) + within
    # Cuts of equal work: rows of a part and class are about equal, so a share of them is that of their work.
    weight = _summed(shard, np.bincount(key, degree + 1, minlength=keys).astype(np.int64))[:-1]
    ends, rows_until = np.cumsum(weight), np.cumsum(table.sum(axis=0)[:-1])
    n = int(rows_until[-1])
    pieces = even_segments(n).size - 1
    goals = ends[-1] * np.arange(1, pieces) / pieces
    inner = np.interp(goals, np.r_[0, ends], np.r_[0, rows_until]).astype(np.int64)
    segments = np.unique(np.concatenate([[0], inner, [n]]))
    work = np.interp(segments, np.r_[0, rows_until], np.r_[0, ends])
    return np.where(kept, fresh, -1), segments, np.diff(work)


def _moved(group: Group, bounds: Codes, segments: Codes, fresh: Codes, shard: Shard, names: Any) -> RankRows:
    """Rows with their new numbers, columns alike, at their new owners."""
    owner = np.searchsorted(bounds, fresh, side="right") - 1
    matrix = _matrix(shard.indptr, shard.indices, shard.weights)
    parts = [matrix[np.flatnonzero(owner == p)] for p in range(group.size)]
    came, lengths, named = delivered(group, owner, fresh, np.diff(shard.indptr), names)
    columns = np.concatenate(group.exchange([part.indices for part in parts]))
    weights = np.concatenate(group.exchange([part.data for part in parts]))
    order = np.argsort(came)
    moved = _matrix(np.concatenate([[0], np.cumsum(lengths)]), columns, weights)[order]
    indptr = moved.indptr.astype(np.int64)
    return RankRows(bounds, segments, indptr, *sorted_rows(indptr, moved.indices, moved.data), named[order])


def _matrix(indptr: Any, columns: Any, weights: Any) -> Any:
    return sp.csr_array((weights, columns, indptr), shape=(indptr.size - 1, np.iinfo(columns.dtype).max))


def sorted_rows(indptr: Any, columns: Any, weights: Any) -> tuple[Any, Any]:
    """Columns and weights with the entries of every row by growing column; in place if SciPy can."""
    S = _matrix(indptr, columns, weights)
    S.sort_indices()
    return S.indices.astype(columns.dtype, copy=False), S.data


def cut_share(group: Group, rows: RankRows) -> float:
    """The share of entries whose column belongs to another rank."""
    first, last = int(rows.bounds[group.rank]), int(rows.bounds[group.rank + 1])
    away = int(((rows.columns < first) | (rows.columns >= last)).sum())
    found = np.sum(group.everyone(np.array([away, rows.columns.size])), axis=0)
    return float(found[0] / max(1, found[1]))
