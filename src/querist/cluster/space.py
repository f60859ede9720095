"""Blocks whose rows lie on several ranks, each rank's own rows in its memory, and operators on them.

What the algorithms ask of a space (operator/space.py) is done here by the local space on own rows. Two things
differ: rows are taken in parts that begin anew with every segment, and sums go over the segments of all
ranks, in their order. So every rank has the same sums, and they are the same on any number of ranks.

Small matrices are decomposed on every rank, by its own processor; where processors differ, so could the last
bits, and with them a decision. `agreed` makes the first rank's everybody's.

A product is the project's kernel on own rows, after the halo has come.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from querist.cluster.shard import Shard
from querist.errors import InputError
from querist.operator.kernels import combine_rows, scale_entries
from querist.operator.lanes import LINE
from querist.operator.local import CHUNK, LocalSpace, empty_block
from querist.operator.threads import each, over_rows
from querist.types import Floats

SLICE = 8
"""Columns of a float64 product that are exchanged at a time: halos of all would be most of the memory."""

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


class ShardOperator:
    """`M = diag(centre) + sign V` over the rows of all ranks (operator/space.py says what solvers ask of it).

    Every rank calls the same methods in the same order. `sent` counts bytes.
    """

    def __init__(self, shard: Shard, values: Block, centre: Block, sign: int = -1) -> None:
        self.shard, self.values, self.centre, self.sign = shard, values, centre, sign
        self.space = ShardSpace.of(shard, values.dtype)
        self.sent = 0
        self._buffers: dict[Any, Block] = {}

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
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return np.dtype(self.values.dtype)

    def matmat(self, X: Block, out: Block | None = None) -> Block:
        """`M X` for own rows of a block, in the operator's dtype."""
        out = self.space.empty(X.shape[1]) if out is None else out
        if self.dtype == np.float32 or X.shape[1] <= SLICE:
            return self.combine(X, out)
        for k in range(0, X.shape[1], SLICE):
            width = min(SLICE, X.shape[1] - k)
            part = empty_block((self.shard.own, width), self.dtype)
            out[:, k : k + width] = self.combine(X[:, k : k + width], part)
        return out

    def combine(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """`out <- scale M X + shift X + previous out` in one pass, after the halo of X has come."""
        if X.ndim != 2 or X.shape[0] != self.shard.own:
            raise InputError(f"a block of shape {X.shape}; this rank needs ({self.shard.own}, k)")
        whole, number = self.space.with_room(X), self.dtype.type
        self.sent += self.shard.fill(whole, self._buffers)
        factors = number(scale), number(self.sign), number(shift), number(previous)
        arrays = self.shard.indptr, self.shard.indices, self.values, self.centre, whole, out, out
        work = (self.shard.nnz + self.shard.own) * X.shape[1]
        over_rows(combine_rows, (*arrays, *factors), self.shard.cuts, work)
        return out
