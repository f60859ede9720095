"""The rows of a symmetric matrix that one rank holds, and the operator over all ranks' rows.

Rows are numbered through all ranks; rank p holds those from `bounds[p]` on. A shard numbers its columns anew:
own rows first, then the *halo*, the rows of others that it has entries in, in order of their number and so
grouped by their owner. A block of a shard is (own + halo, k): the project's kernel runs on it as it stands,
and what comes from a peer is one stretch of it. The pattern is symmetric, so what a peer needs is known
without asking: those own rows that have an entry in its range.

A row is summed in the order of its entries, whoever holds it: products have the same bits on any number of
ranks. Sums over rows run over *segments* (partition.py), ranges of rows that do not depend on the ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from querist.cluster.transport import Group
from querist.compiled import compiled
from querist.errors import InputError
from querist.operator import empty_block
from querist.operator.kernels import combine_rows, degree_rows, scale_entries
from querist.operator.lanes import LINE
from querist.operator.threads import available, cuts, over_rows
from querist.types import Codes, Floats

Block = NDArray[Any]

SLICE = 8
"""Columns of a float64 product that are exchanged at a time: halos of all would be most of the memory."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Own rows of a symmetric pattern with weights; `Shard.of` makes one.

    Parameters
    ----------
    group : the ranks
    bounds : (size + 1,) the first row of every rank, and the number of all rows
    segments : (s + 1,) bounds of segments, of which every rank holds whole ones
    indptr, indices, weights : own rows in CSR, columns numbered own first, then `halo`
    halo : numbers of the rows of others, growing
    send : for every rank, the own rows that it needs, growing
    """

    group: Group
    bounds: Codes
    segments: Codes
    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    weights: Block
    halo: NDArray[Any]
    send: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, group: Group, bounds: Any, segments: Any, indptr: Any, columns: Any, weights: Any) -> "Shard":
        """From rows whose columns have the numbers of all ranks; `columns` is overwritten."""
        bounds, indptr = np.asarray(bounds, dtype=np.int64), np.asarray(indptr, dtype=np.int64)
        first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
        # A mark and a place for every row of the graph, given back before the work begins.
        place = np.full(int(bounds[-1]), -1, dtype=columns.dtype)
        place[columns] = 0
        place[first:last] = -1
        halo = np.flatnonzero(place == 0).astype(columns.dtype)
        place[first:last] = np.arange(last - first)
        place[halo] = last - first + np.arange(halo.size)
        send = []
        for p in range(group.size):
            needed = np.zeros(last - first, dtype=bool)
            if p != group.rank:
                mark_rows_into(indptr, columns, int(bounds[p]), int(bounds[p + 1]), needed)
            send.append(np.flatnonzero(needed).astype(np.int32))
        renumber(columns, place)
        shard = cls(
            group, bounds, np.asarray(segments, dtype=np.int64), indptr, columns, weights, halo, tuple(send)
        )
        if not np.isin(bounds, shard.segments).all():
            raise InputError("a rank begins inside a segment; give every rank whole segments")
        return shard

    @property
    def n(self) -> int:
        """Rows of all ranks."""
        return int(self.bounds[-1])

    @property
    def first(self) -> int:
        """The number of the first own row."""
        return int(self.bounds[self.group.rank])

    @property
    def own(self) -> int:
        """Rows of this rank."""
        return int(self.indptr.size - 1)

    @property
    def nnz(self) -> int:
        """Entries of this rank."""
        return int(self.indptr[-1])

    @cached_property
    def receive(self) -> tuple[slice, ...]:
        """Where in a block the rows of every rank arrive."""
        ends = self.own + np.searchsorted(self.halo, self.bounds)
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @cached_property
    def own_segments(self) -> list[tuple[int, slice]]:
        """The numbers of this rank's segments, and their rows here."""
        return [
            (number, slice(int(a) - self.first, int(b) - self.first))
            for number, (a, b) in enumerate(pairwise(self.segments))
            if self.first <= a and b <= self.first + self.own
        ]

    def parts(self, chunk: int) -> list[slice]:
        """Own rows in parts of `chunk` that begin anew with every segment."""
        return [
            slice(a, min(rows.stop, a + chunk))
            for _, rows in self.own_segments
            for a in range(rows.start, rows.stop, chunk)
        ]

    def total(self, parts: Sequence[Any], chunk: int, nothing: Any) -> Any:
        """The sum over `parts`, one for each of `parts(chunk)`, of all ranks: the same bits on all of them.

        Parts are added within segments, then segments in their order.
        """
        nothing = np.asarray(nothing)
        sums, at = [np.zeros((0, *nothing.shape))], 0
        for _, rows in self.own_segments:
            count = -(-(rows.stop - rows.start) // chunk)
            sums.append(sum(parts[at : at + count], np.zeros_like(nothing))[None])
            at += count
        found = np.concatenate(self.group.everyone(np.concatenate(sums)))
        return sum(found, nothing)

    def fill(self, whole: Block, buffers: dict[Any, Block] | None = None) -> int:
        """Bring the halo of an (own + halo, ...) block up to date; the bytes that were sent.

        `buffers` keep the memory of what is sent from call to call.
        """
        kept = {} if buffers is None else buffers
        sent = []
        for p, rows in enumerate(self.send):
            shape = (rows.size, *whole.shape[1:])
            if p not in kept or kept[p].shape != shape or kept[p].dtype != whole.dtype:
                kept[p] = np.empty(shape, dtype=whole.dtype)
            sent.append(np.take(whole, rows, axis=0, out=kept[p], mode="clip"))
        found = self.group.exchange(sent)
        for p, where in enumerate(self.receive):
            if p != self.group.rank:
                whole[where] = found[p]
        return sum(part.nbytes for part in sent)

    def with_halo(self, own: Block) -> Block:
        """(own + halo, ...) with what others have in it."""
        whole = np.empty((self.own + self.halo.size, *own.shape[1:]), dtype=own.dtype)
        whole[: self.own] = own
        self.fill(whole)
        return whole

    def degrees(self) -> Floats:
        """(own,) sums of the absolute weights."""
        found = np.empty(self.own)
        over_rows(degree_rows, (self.indptr, self.weights, found), self.cuts, self.nnz)
        return found

    @cached_property
    def cuts(self) -> list[int]:
        """Own rows, in ranges for as many threads."""
        return cuts(self.indptr, min(available(), max(1, self.own)))


@compiled
def mark_rows_into(indptr: Any, columns: Any, first: int, last: int, marks: Any) -> None:
    """`marks_i`: whether row i has an entry in a column from first to last - 1."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if first <= columns[p] < last:
                marks[i] = True
                break


@compiled
def renumber(columns: Any, place: Any) -> None:
    """`columns_p <- place[columns_p]`."""
    for p in range(columns.size):
        columns[p] = place[columns[p]]


class ShardOperator:
    """`M = diag(centre) + sign V` over the rows of all ranks, with the methods of `Operator` for solvers.

    Every rank calls the same methods in the same order. `sent` counts bytes, `products` the products
    with one vector.
    """

    def __init__(self, shard: Shard, values: Block, centre: Block, sign: int = -1) -> None:
        self.shard, self.values, self.centre, self.sign = shard, values, centre, sign
        self.sent = self.products = 0
        self._buffers: dict[Any, Block] = {}
        # Raw memory of blocks by the address of their first row, as long as they live.
        self._blocks: WeakValueDictionary[int, Any] = WeakValueDictionary()

    @classmethod
    def laplacian(cls, shard: Shard, degrees: Floats, *, dtype: DTypeLike = np.float64) -> "ShardOperator":
        """The normalised Laplacian; `degrees` (own,)."""
        kind = np.dtype(dtype)
        r = shard.with_halo(1 / np.sqrt(np.where(degrees > 0, degrees, np.inf)))
        values = np.empty(shard.nnz, dtype=kind)
        arrays = shard.indptr, shard.indices, shard.weights, r, values
        over_rows(scale_entries, arrays, shard.cuts, shard.nnz)
        return cls(shard, values, (degrees > 0).astype(kind))

    @property
    def n(self) -> int:
        """Rows of all ranks."""
        return self.shard.n

    @property
    def rows(self) -> int:
        """Rows of this rank."""
        return self.shard.own

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return np.dtype(self.values.dtype)

    def empty(self, k: int) -> Block:
        """An uninitialised (rows, k) block with room for the halo behind it: a product reads it as it is."""
        whole = empty_block((self.rows + self.shard.halo.size, k), self.dtype)
        block = whole[: self.rows]
        self._blocks[block.ctypes.data] = whole.base
        return block

    def random(self, random: np.random.Generator, k: int) -> Block:
        """A block of normal numbers that does not depend on the ranks: a stream for every segment."""
        seed, block = int(random.integers(1 << 62)), self.empty(k)
        for number, rows in self.shard.own_segments:
            stream = np.random.default_rng([seed, number])
            stream.standard_normal(out=block[rows], dtype=self.dtype.type)
        return block

    def matmat(self, X: Block, out: Block | None = None) -> Block:
        """`M X` for a (rows, k) block, in the operator's dtype."""
        out = self.empty(X.shape[1]) if out is None else out
        if self.dtype == np.float32 or X.shape[1] <= SLICE:
            return self.combine(X, out)
        for k in range(0, X.shape[1], SLICE):
            width = min(SLICE, X.shape[1] - k)
            part = empty_block((self.rows, width), self.dtype)
            out[:, k : k + width] = self.combine(X[:, k : k + width], part)
        return out

    def combine(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """`out <- scale M X + shift X + previous out` in one pass, after the halo of X has come."""
        if X.ndim != 2 or X.shape[0] != self.rows:
            raise InputError(f"a block of shape {X.shape}; this rank needs ({self.rows}, k)")
        whole, number = self._whole(X), self.dtype.type
        self.sent += self.shard.fill(whole, self._buffers)
        self.products += X.shape[1]
        factors = number(scale), number(self.sign), number(shift), number(previous)
        arrays = self.shard.indptr, self.shard.indices, self.values, self.centre, whole, out, out
        work = (self.shard.nnz + self.rows) * X.shape[1]
        over_rows(combine_rows, (*arrays, *factors), self.shard.cuts, work)
        return out

    def _whole(self, X: Block) -> Block:
        """X with its halo behind it: the same memory where `empty` made it, else a copy."""
        shape = self.rows + self.shard.halo.size, X.shape[1]
        raw = self._blocks.get(X.ctypes.data)
        size = int(np.prod(shape)) * self.dtype.itemsize
        fits = raw is not None and raw.nbytes == size + LINE and X.dtype == self.dtype
        if raw is not None and fits and X.flags.c_contiguous:
            first = X.ctypes.data - raw.ctypes.data
            own: Block = raw[first : first + size].view(self.dtype).reshape(shape)
            return own
        whole = empty_block(shape, self.dtype)
        whole[: self.rows] = X
        return whole
