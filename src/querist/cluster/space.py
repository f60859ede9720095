"""Blocks whose rows lie on several ranks, each rank's own rows in its memory.

What the algorithms ask of a space (operator/space.py) is done here by the local space on own rows. Two things
differ: rows are taken in parts that begin anew with every segment, and sums go over the segments of all
ranks, in their order. So every rank has the same sums, and they are the same on any number of ranks.

Small matrices are decomposed on every rank, by its own processor; where processors differ, so could the last
bits, and with them a decision. `agreed` makes the first rank's everybody's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from querist.cluster.shard import Shard
from querist.operator.lanes import LINE
from querist.operator.local import CHUNK, LocalSpace, empty_block
from querist.operator.threads import each
from querist.types import Floats

T = TypeVar("T")

Block = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ShardSpace(LocalSpace):
    """Blocks of the rows of a shard. `n` are the rows of all ranks."""

    shard: Shard
    # Raw memory of blocks by the address of their first row, as long as they live.
    _blocks: WeakValueDictionary[int, Any] = field(default_factory=WeakValueDictionary, repr=False)

    @classmethod
    def of(cls, shard: Shard, dtype: Any) -> "ShardSpace":
        """In a precision."""
        return cls(shard.n, np.dtype(dtype), shard)

    @property
    def rows(self) -> int:
        """Those of this rank."""
        return self.shard.own

    def over(self, work: Callable[[slice], T], chunk: int) -> list[T]:
        """Parts that begin anew with every segment."""
        return each(work, self.shard.parts(chunk))

    def total(self, parts: Sequence[Any], chunk: int, nothing: Any) -> Any:
        """Over all ranks: see `Shard.total`."""
        return np.asarray(self.shard.total(parts, chunk, nothing))

    def agreed(self, array: Any) -> Any:
        """The first rank's."""
        return self.shard.group.everyone(np.asarray(array))[0]

    def empty(self, k: int) -> Block:
        """With room for the halo behind it: a product reads it as it is."""
        whole = empty_block((self.rows + self.shard.halo.size, k), self.dtype)
        block = whole[: self.rows]
        self._blocks[block.ctypes.data] = whole.base
        return block

    def with_room(self, X: Block) -> Block:
        """(own + halo, k) that begins with X: the same memory where `empty` made it, else a copy."""
        shape = self.rows + self.shard.halo.size, X.shape[1]
        raw, size = self._blocks.get(X.ctypes.data), int(np.prod(shape)) * self.dtype.itemsize
        if raw is not None and raw.nbytes == size + LINE and X.dtype == self.dtype and X.flags.c_contiguous:
            first = X.ctypes.data - raw.ctypes.data
            own: Block = raw[first : first + size].view(self.dtype).reshape(shape)
            return own
        whole = empty_block(shape, self.dtype)
        whole[: self.rows] = X
        return whole

    def random(self, random: np.random.Generator, k: int) -> Block:
        """A stream for every segment: the block does not depend on the ranks."""
        seed, block = int(random.integers(1 << 62)), self.empty(k)
        for number, rows in self.shard.own_segments:
            stream = np.random.default_rng([seed, number])
            stream.standard_normal(out=block[rows], dtype=self.dtype.type)
        return block

    def given(self, rows: Any) -> Block:
        """A vector as it is; a block with room for the halo."""
        found = np.asarray(rows)
        if found.ndim == 1 or found.dtype == self.dtype:
            return found.astype(self.dtype, copy=False)
        block = self.empty(found.shape[1])
        block[:] = found
        return block

    def beside(self, X: Block, Y: Block) -> Block:
        """A new block."""
        block = self.empty(X.shape[1] + Y.shape[1])
        block[:, : X.shape[1]], block[:, X.shape[1] :] = X, Y
        return block

    def dot(self, X: Block, Y: Block) -> float:
        """By column."""
        return float(self.dots(X, Y).sum())

    def dots(self, X: Block, Y: Block) -> Floats:
        """By parts."""

        def part_of(rows: slice) -> Floats:
            return LocalSpace.dots(self, X[rows], Y[rows])

        return np.asarray(self.total(self.over(part_of, CHUNK), CHUNK, np.zeros(X.shape[1])))

    def remove(self, W: Block, Q: Block) -> None:
        """By the Gram matrix; rows by parts, so that they have the same bits in any company."""
        Q = Q[:, None] if Q.ndim == 1 else Q
        along = self.gram(Q, W).astype(W.dtype)

        def subtract(rows: slice) -> None:
            W[rows] -= Q[rows] @ along

        self.over(subtract, CHUNK)

    def reflected(self, X: Block) -> tuple[Block, Floats]:
        """No reflections over ranks: the block is whitened by its Gram matrix, null directions stay zero."""
        spread, turn = np.linalg.eigh(self.gram(X, X))
        spread, turn = self.agreed(spread), self.agreed(turn)
        keep = spread > 10 * np.finfo(self.dtype).eps * max(float(spread[-1]), np.finfo(np.float64).tiny)
        length = np.where(keep, np.sqrt(np.where(keep, spread, 1.0)), 0.0)
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=keep)
        # In the basis of the eigenvectors, turned so that R is triangular.
        R = np.linalg.qr(length[:, None] * turn.T)
        return self.rotated(X, turn * inverse @ R[0]), R[1].astype(self.dtype)
