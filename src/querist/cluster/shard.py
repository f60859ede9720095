"""The rows of a symmetric matrix that one rank holds.

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

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from querist.cluster.transport import Group
from querist.compiled import compiled
from querist.errors import InputError
from querist.operator.kernels import degree_rows
from querist.operator.threads import available, cuts, over_rows
from querist.types import Codes, Floats

Block = NDArray[Any]


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
        send, filled = [], np.flatnonzero(np.diff(indptr))
        for p in range(group.size):
            into = (columns >= bounds[p]) & (columns < bounds[p + 1]) & (p != group.rank)
            needed = np.logical_or.reduceat(into, indptr[filled]) if filled.size else into
            send.append(filled[needed].astype(np.int32))
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
        return segments_within(self.segments, self.first, self.first + self.own)

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

    def in_turn(self, values: Sequence[Any], nothing: Any) -> Any:
        """The sum over segments, in their order, of values of own segments: for those that are large.

        A rank adds its own to what those before it have; so no more than one sum is ever sent.
        """
        found = np.asarray(nothing)
        for rank in range(self.group.size):
            if rank == self.group.rank:
                found = sum(values, found)
            found = self.group.everyone(found if rank == self.group.rank else np.zeros(0))[rank]
        return found

    def fill(self, whole: Block, buffers: dict[Any, Block] | None = None) -> int:
        """Bring the halo of an (own + halo, ...) block up to date; the bytes that were sent.

        `buffers` keep the memory of what is sent from call to call.
        """
        kept = {} if buffers is None else buffers
        sent = []
        for p, rows in enumerate(self.send):
            shape = (rows.size, *whole.shape[1:])
            if p not in kept or kept[p].shape != shape:
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


def segments_within(segments: Codes, first: int, last: int) -> list[tuple[int, slice]]:
    """The numbers of the segments of the rows first to last - 1, and their rows, counted from the first."""
    return [
        (number, slice(int(a) - int(first), int(b) - int(first)))
        for number, (a, b) in enumerate(pairwise(segments))
        if first <= a and b <= last
    ]


@compiled
def renumber(columns: Any, place: Any) -> None:
    """`columns_p <- place[columns_p]`."""
    for p in range(columns.size):
        columns[p] = place[columns[p]]


# -- which rows of all ranks are joined by entries ------------------------------------------------------


def components(shard: Shard) -> Codes:
    """(own,) the smallest number of a row that each own row is joined to."""
    return joined(shard, shard.first + np.arange(shard.own))


def spread(shard: Shard, marks: Any) -> Any:
    """(own,) whether a row is joined to one that has a mark, or has one."""
    return joined(shard, np.where(marks, 0, 1)) == 0


def joined(shard: Shard, values: Codes) -> Codes:
    """(own,) the smallest value of a row that each own row is joined to.

    Within a shard by SciPy's components; between shards the smallest known value goes over until nobody
    learns of a smaller one.
    """
    size = shard.own + shard.halo.size
    indptr = np.r_[shard.indptr, np.full(shard.halo.size, shard.nnz)]
    local = sp.csr_array((np.ones(shard.nnz, dtype=np.int8), shard.indices, indptr), shape=(size, size))
    count, piece = csgraph.connected_components(local, directed=True, connection="weak")
    label = shard.with_halo(values.astype(np.int64))
    while True:
        least = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(least, piece, label)
        fresh = least[piece]
        shard.fill(fresh)  # what others have found of our halo, and we of theirs
        np.minimum(fresh, label, out=fresh)
        moved = int((fresh != label).any())
        label = fresh
        if not any(int(each) for each in shard.group.everyone(np.array(moved))):
            return label[: shard.own]


def largest(shard: Shard, component: Codes) -> tuple[Any, int]:
    """(own,) whether a row is in the largest component, and how many components there are, not counting rows
    without entries."""
    linked = np.diff(shard.indptr) > 0
    names, sizes = np.unique(component[linked], return_counts=True)
    found = shard.group.everyone(np.stack([names, sizes]))
    every = np.concatenate(found, axis=1)
    names, place = np.unique(every[0], return_inverse=True)
    sizes = np.bincount(place, every[1])
    # The lowest number among equally large ones.
    best = names[int(sizes.argmax())] if names.size else -1
    return linked & (component == best), int(names.size)
