"""The operator of all ranks' rows: the project's kernel on own rows, after the halo has come."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from querist.cluster.shard import Shard
from querist.cluster.space import ShardSpace
from querist.errors import InputError
from querist.operator.kernels import combine_rows, scale_entries
from querist.operator.local import empty_block
from querist.operator.threads import over_rows
from querist.types import Floats

Block = NDArray[Any]

SLICE = 8
"""Columns of a float64 product that are exchanged at a time: halos of all would be most of the memory."""


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
