"""The operator on a device: `M = diag(centre) + sign V` as in operator/value.py, its arrays torch tensors."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from querist.errors import InputError, check_name
from querist.operator.device import kernel
from querist.operator.device.blocks import NUMBERS, Block, DeviceSpace
from querist.operator.solve import Solution, conjugate_gradients, doubt
from querist.operator.value import checked_dtype

ENTRIES = 1 << 26
"""Entries of a matrix that are worked on at a time where a copy of each is needed."""


@dataclass(frozen=True, eq=False)
class DeviceOperator:
    """A symmetric operator on blocks of one precision; `DeviceOperator.laplacian(...)` makes one.

    Parameters
    ----------
    indptr : (n + 1,) int64 tensor; indices : (nnz,) int32 or int64
    values : (nnz,) the entries of V, float32 or float64 whatever the blocks are, or None where all are 1
    centre : (n,) the diagonal C
    sign : +1 or -1
    dtype : of the blocks
    """

    indptr: Any
    indices: Any
    values: Any | None
    centre: Any
    sign: int
    dtype: np.dtype[Any]

    @classmethod
    def laplacian(
        cls,
        indptr: Any,
        indices: Any,
        values: Any | None = None,
        *,
        normalised: bool = False,
        dtype: Any = np.float64,
    ) -> "DeviceOperator":
        """The Laplacian of a symmetric adjacency without self-loops, from tensors on one device.

        `values` may be left out where all weights are 1.

        >>> path = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 1])
        >>> DeviceOperator.laplacian(*path).matmat(torch.eye(3)).tolist()
        [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
        """
        kind, indptr = checked_dtype(dtype), indptr.to(torch.int64)
        number, degrees = NUMBERS[kind], degrees_of(indptr, values)
        if not normalised:
            data = None if values is None else values.to(number)
            return cls(indptr, indices, data, degrees.to(number), -1, kind)
        r = torch.where(degrees > 0, degrees, 1.0).rsqrt() * (degrees > 0)
        scaled = scaled_entries(indptr, indices, values, r, number)
        return cls(indptr, indices, scaled, (degrees > 0).to(number), -1, kind)

    @classmethod
    def symmetric(
        cls, indptr: Any, indices: Any, values: Any, *, dtype: Any = np.float64
    ) -> "DeviceOperator":
        """Any symmetric matrix as it is, from tensors on one device."""
        kind = checked_dtype(dtype)
        nothing = torch.zeros(len(indptr) - 1, dtype=NUMBERS[kind], device=indptr.device)
        return cls(indptr, indices, values.to(NUMBERS[kind]), nothing, 1, kind)

    def to(self, dtype: Any) -> "DeviceOperator":
        """The same matrix for blocks of another precision; its entries stay as they are."""
        kind = np.dtype(dtype)
        return replace(self, centre=self.centre.to(NUMBERS[kind]), dtype=kind)

    @property
    def n(self) -> int:
        """Rows, and columns."""
        return len(self.centre)

    @property
    def nnz(self) -> int:
        """Stored entries beside the diagonal C."""
        return len(self.indices)

    @cached_property
    def space(self) -> DeviceSpace:
        """Where its blocks live."""
        return DeviceSpace(self.n, self.dtype, self.centre.device)

    @cached_property
    def _long(self) -> kernel.LongRows:
        return kernel.LongRows(self.indptr)

    @cached_property
    def _sparse(self) -> Any:
        """V as torch's own matrix, where our kernel cannot run."""
        number = self.space.number
        ones = torch.ones(self.nnz, dtype=number, device=self.centre.device)
        data = ones if self.values is None else self.values.to(number)
        return torch_matrix(self.indptr, self.indices, data, (self.n, self.n))

    def diagonal(self) -> Any:
        """(n,) the diagonal of a Laplacian."""
        return self.centre.clone()

    def matmat(self, X: Block, out: Block | None = None) -> Block:
        """`M X` for an (n, k) block."""
        X = X.to(self.space.number)
        return self.combine(
            X, torch.empty_like(X, memory_format=torch.contiguous_format) if out is None else out
        )

    def combine(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """`out <- scale M X + shift X + previous out` in one pass."""
        X = X.to(self.space.number).contiguous()
        if X.ndim != 2 or len(X) != self.n:
            raise InputError(f"a block of shape {tuple(X.shape)}; the operator needs ({self.n}, k)")
        if out.shape != X.shape or out.dtype != X.dtype or not out.is_contiguous():
            raise InputError(
                f"out is {out.dtype} of shape {tuple(out.shape)}; "
                f"give contiguous {X.dtype} of shape {tuple(X.shape)}"
            )
        weight = scale * self.sign
        if kernel.usable(self.centre.device):
            kernel.combine(
                self.indptr, self.indices, self.values, self.centre, X, out, self._long,
                scale=scale, weight=weight, shift=shift, previous=previous,
            )  # fmt: skip
            return out
        if previous == 0:
            out.zero_()  # what lies there may be no number
        torch.addmm(out, self._sparse, X, beta=previous, alpha=weight, out=out)
        out.addcmul_(X, (scale * self.centre + shift)[:, None])
        return out

    def solve(
        self,
        B: Block,
        *,
        diagonal: Any,
        weight: float = 1.0,
        x0: Block | None = None,
        tol: float = 1e-6,
        method: str = "cg",
    ) -> tuple[Block, Solution]:
        """X with `(diag(diagonal) + weight M) X = B` by conjugate gradients, as `Operator.solve`."""
        check_name("method", method, ("auto", "cg"))
        space = self.space
        q = space.given(np.broadcast_to(diagonal, (self.n,)) if np.ndim(diagonal) == 0 else diagonal)
        start = None if x0 is None else space.given(x0)
        X, steps, residual = conjugate_gradients(self, space.given(B), q, weight, start, tol)
        doubt(residual, tol)
        return X, Solution("cg", steps, residual)


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """A sparse (n, m) matrix: `A @ B` for (m, k) blocks. Rows with more entries than `longest` are cut."""

    indptr: Any
    indices: Any
    values: Any
    shape: tuple[int, int]
    longest: int | None = None

    @cached_property
    def rows(self) -> Any:
        """(nnz,) the row of each entry."""
        lengths = self.indptr[1:] - self.indptr[:-1]
        rows = torch.arange(self.shape[0], device=lengths.device, dtype=torch.int32)
        return torch.repeat_interleave(rows, lengths, output_size=len(self.indices))

    @cached_property
    def order(self) -> Any:
        """(nnz,) where each entry of `T` comes from."""
        return torch.sort(self.indices, stable=True).indices

    @cached_property
    def T(self) -> "DeviceMatrix":
        """Turned round, also a CSR matrix."""
        n, m = self.shape
        columns = self.indices[self.order]
        ends = torch.arange(m + 1, device=columns.device, dtype=columns.dtype)
        starts = torch.searchsorted(columns, ends).to(torch.int64)
        return DeviceMatrix(starts, self.rows[self.order], self.values[self.order], (m, n))

    def with_values(self, values: Any) -> "DeviceMatrix":
        """Other entries on the same pattern."""
        made = replace(self, values=values)
        made.__dict__["_long"] = self._long  # it belongs to the pattern
        return made

    @cached_property
    def _long(self) -> kernel.LongRows:
        return kernel.LongRows(self.indptr, self.longest)

    @cached_property
    def _sparse(self) -> Any:
        return torch_matrix(self.indptr, self.indices, self.values, self.shape)

    def __matmul__(self, B: Block) -> Block:
        B = B.to(self.values.dtype).contiguous()
        if not kernel.usable(B.device):
            return self._sparse @ B
        out = torch.empty((self.shape[0], B.shape[1]), dtype=B.dtype, device=B.device)
        kernel.combine(
            self.indptr, self.indices, self.values, None, B, out, self._long,
            scale=0.0, weight=1.0, shift=0.0, previous=0.0,
        )  # fmt: skip
        return out


def torch_matrix(indptr: Any, indices: Any, values: Any, shape: tuple[int, int]) -> Any:
    """torch's own sparse matrix, where our kernel cannot run."""
    with warnings.catch_warnings():  # that such matrices are new to torch
        warnings.simplefilter("ignore", UserWarning)
        arrays = indptr, indices.to(torch.int64), values
        return torch.sparse_csr_tensor(*arrays, shape, check_invariants=False)


def compressed(matrix: Any, device: Any) -> tuple[Any, Any, Any]:
    """Row pointers, indices and entries of a CSR matrix of this process, as tensors on a device."""
    indptr = torch.as_tensor(np.asarray(matrix.indptr, dtype=np.int64))
    small = matrix.shape[1] <= np.iinfo(np.int32).max
    indices = torch.as_tensor(np.asarray(matrix.indices, dtype=np.int32 if small else np.int64))
    return indptr.to(device), indices.to(device), torch.as_tensor(matrix.data).to(device)


def row_ranges(indptr: Any) -> list[slice]:
    """Rows with about `ENTRIES` entries each, in order."""
    goals = ENTRIES * torch.arange(1, -(-int(indptr[-1]) // ENTRIES), device=indptr.device)
    cuts = [0, *torch.searchsorted(indptr, goals).tolist(), len(indptr) - 1]
    return [slice(a, b) for a, b in pairwise(cuts) if b > a]


def rows_of(indptr: Any, rows: slice) -> tuple[slice, Any]:
    """The entries of a range of rows, and the row of each."""
    first, last = int(indptr[rows.start]), int(indptr[rows.stop])
    counts = indptr[rows.start + 1 : rows.stop + 1] - indptr[rows.start : rows.stop]
    numbers = torch.arange(rows.start, rows.stop, device=indptr.device)
    return slice(first, last), torch.repeat_interleave(numbers, counts, output_size=last - first)


def degrees_of(indptr: Any, values: Any | None) -> Any:
    """(n,) the sum of the absolute entries of every row, in float64."""
    if values is None:
        return (indptr[1:] - indptr[:-1]).double()
    degrees = torch.zeros(len(indptr) - 1, dtype=torch.float64, device=indptr.device)
    for rows in row_ranges(indptr):
        entries, _ = rows_of(indptr, rows)
        lengths = indptr[rows.start + 1 : rows.stop + 1] - indptr[rows.start : rows.stop]
        degrees[rows] = torch.segment_reduce(values[entries].double().abs(), "sum", lengths=lengths)
    return degrees


def scaled_entries(indptr: Any, indices: Any, values: Any | None, r: Any, number: Any) -> Any:
    """`r_i V_ij r_j` on the pattern of V."""
    out = torch.empty(len(indices), dtype=number, device=indptr.device)
    for rows in row_ranges(indptr):
        entries, row = rows_of(indptr, rows)
        scaled = r[row] * r[indices[entries]]
        out[entries] = scaled if values is None else scaled * values[entries]
    return out
