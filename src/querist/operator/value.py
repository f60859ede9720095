"""The Laplacian as something that multiplies a block of vectors, gives its diagonal, and solves.

An operator is `M = C + sign V`: a diagonal C and a symmetric sparse V.

- combinatorial Laplacian: `C = D`, `V = S`, sign -1, with no copy of S when the dtype is right: S may be a
  memory-mapped file;
- normalised: `C = I` (0 where isolated), `V = D^-1/2 S D^-1/2`, sign -1;
- any symmetric matrix: `C = 0`, sign +1.

`D = diag(sum_j |S_ij|)`, so signed weights need nothing special (graph/laplacian.py). The operator knows
arrays only and trusts them to be symmetric; `Graph` has checked. Another machine can stand behind the same
methods: what algorithms ask of an operator and of its blocks is in space.py.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from querist.errors import InputError, check_name
from querist.operator import solve
from querist.operator.kernels import combine_rows, degree_rows, scale_entries
from querist.operator.local import LocalSpace, empty_block
from querist.operator.solve import Solution
from querist.operator.threads import available, cuts, over_rows
from querist.types import Sparse

Block = NDArray[Any]


class Compressed(Protocol):
    """A CSR matrix: SciPy's, or anything that holds the three arrays."""

    indptr: Any
    indices: Any
    data: Any


@dataclass(frozen=True, eq=False)
class Operator:
    """`M = diag(centre) + sign V` over float32 or float64; `Operator.laplacian(...)` makes one.

    Parameters
    ----------
    indptr : (n + 1,) int64; indices : (nnz,) integers; values : (nnz,) the entries of V
    centre : (n,) the diagonal C
    sign : +1 or -1

    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> Operator.laplacian(path).matmat(np.array([[1.0], [-1.0]])).ravel()
    array([ 2., -2.])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: Block
    centre: Block
    sign: int = -1
    _factors: dict[bytes, Any] = field(default_factory=dict, repr=False)
    """The latest, by a digest of the system."""

    @classmethod
    def laplacian(
        cls,
        adjacency: Compressed,
        *,
        normalised: bool = False,
        dtype: DTypeLike = np.float64,
    ) -> "Operator":
        """The Laplacian of a symmetric CSR adjacency without self-loops; signed when weights are.

        >>> import scipy.sparse as sp
        >>> path = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> Operator.laplacian(path).matmat(np.eye(3))
        array([[ 1., -1.,  0.],
               [-1.,  2., -1.],
               [ 0., -1.,  1.]])
        """
        kind = checked_dtype(dtype)
        indptr, indices = _checked_pattern(adjacency)
        degrees = degrees_of(adjacency, indptr)
        if not normalised:
            return cls(indptr, indices, np.ascontiguousarray(adjacency.data, kind), degrees.astype(kind))
        if indices.dtype != np.int32 and degrees.size <= np.iinfo(np.int32).max:
            indices = indices.astype(np.int32)  # V is another matrix anyway; half of its bytes are these
        values = np.empty(adjacency.data.size, dtype=kind)
        r = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
        parts = cuts(indptr, available())
        over_rows(scale_entries, (indptr, indices, np.asarray(adjacency.data), r, values), parts, values.size)
        return cls(indptr, indices, values, (degrees > 0).astype(kind))

    @classmethod
    def symmetric(cls, matrix: Compressed, *, dtype: DTypeLike = np.float64) -> "Operator":
        """Any symmetric CSR matrix as it is."""
        kind = checked_dtype(dtype)
        indptr, indices = _checked_pattern(matrix)
        nothing = np.zeros(indptr.size - 1, dtype=kind)
        return cls(indptr, indices, np.ascontiguousarray(matrix.data, kind), nothing, 1)

    @property
    def n(self) -> int:
        """Rows, and columns."""
        return int(self.centre.size)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.n, self.n

    @property
    def nnz(self) -> int:
        """Stored entries beside the diagonal C."""
        return int(self.values.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64; blocks are converted to it."""
        return self.values.dtype

    @cached_property
    def _bounds(self) -> list[int]:
        return cuts(self.indptr, min(available(), max(1, self.n)))

    @cached_property
    def space(self) -> LocalSpace:
        """Where its blocks live: in this process."""
        return LocalSpace(self.n, self.dtype)

    def diagonal(self) -> Block:
        """(n,) the diagonal of M."""
        if self.sign < 0:  # a Laplacian: no self-loops
            return self.centre.copy()
        rows = np.repeat(np.arange(self.n), np.diff(self.indptr))
        own = rows == self.indices
        return np.bincount(rows[own], self.values[own], minlength=self.n).astype(self.dtype)

    def matrix(self) -> Sparse:
        """M as a SciPy matrix, for what needs its entries."""
        V = sp.csr_array((self.values, self.indices, self.indptr), shape=self.shape)
        return sp.csr_array(sp.diags_array(self.centre) + self.sign * V) if self.sign < 0 else V

    def matmat(self, X: Block, out: Block | None = None) -> Block:
        """`M X` for an (n, k) block, in the operator's dtype."""
        return self.combine(X, empty_block(np.shape(X), self.dtype) if out is None else out)

    def combine(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """`out <- scale M X + shift X + previous out` in one pass: a step of any three-term recursion."""
        X = np.ascontiguousarray(X, dtype=self.dtype)
        if X.ndim != 2 or X.shape[0] != self.n:
            raise InputError(f"a block of shape {X.shape}; the operator needs ({self.n}, k)")
        if out.shape != X.shape or out.dtype != self.dtype or not out.flags.c_contiguous:
            raise InputError(
                f"out is {out.dtype} of shape {out.shape}; give C-contiguous {self.dtype} of shape {X.shape}"
            )
        if np.may_share_memory(X, out):
            raise InputError("out shares memory with the block; give it an array of its own")
        number = self.dtype.type
        factors = number(scale), number(self.sign), number(shift), number(previous)
        arrays = self.indptr, self.indices, self.values, self.centre, X, out, out
        over_rows(combine_rows, (*arrays, *factors), self._bounds, (self.nnz + self.n) * X.shape[1])
        return out

    def solve(
        self,
        B: Block,
        *,
        diagonal: Block | float,
        weight: float = 1.0,
        x0: Block | None = None,
        tol: float = 1e-6,
        method: str = "auto",
    ) -> tuple[Block, Solution]:
        """X with `(diag(diagonal) + weight M) X = B`, all right-hand sides at once, and how it was found.

        Parameters
        ----------
        B : (n, k)
        diagonal : (n,) or a number, not negative; positive somewhere in every component
        weight : 0 or more
        x0 : a guess, such as the solution of the step before
        tol : largest `|B - A X| / |B|` of a column; above it a `ResidualWarning` carries it
        method : "factor" (kept for later calls with the same matrix), "cg" (Jacobi-preconditioned
            conjugate gradients), or "auto"; `Solution.method` says which it was

        >>> import scipy.sparse as sp
        >>> path = Operator.laplacian(sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
        >>> path.solve(np.array([[1.0], [0], [0]]), diagonal=1.0)[0].round(3).ravel().tolist()
        [0.625, 0.25, 0.125]
        """
        check_name("method", method, solve.METHODS)
        q = np.ascontiguousarray(np.broadcast_to(np.asarray(diagonal), (self.n,)), dtype=self.dtype)
        B = np.ascontiguousarray(B, dtype=self.dtype)
        x0 = None if x0 is None else np.ascontiguousarray(x0, dtype=self.dtype)
        if B.ndim != 2 or len(B) != self.n or (x0 is not None and x0.shape != B.shape):
            raise InputError(f"B of shape {B.shape} for {self.n:,} nodes; give a row for each, and x0 alike")
        if not ((q >= 0).all() and weight >= 0):
            raise InputError("the diagonal of the system and the weight must not be negative, nor NaN")
        if not all(np.isfinite(given).all() for given in (q, weight, B, 0.0 if x0 is None else x0)):
            raise InputError("the system holds NaN or infinite values; remove or replace them")
        key = hashlib.sha256(q.tobytes() + repr(weight).encode()).digest()
        direct = method == "factor" or (method == "auto" and (key in self._factors or self._factor_is_cheap))
        how, steps = "factor" if direct else "cg", 0
        if not direct:
            X, steps, residual = solve.conjugate_gradients(self, B, q, weight, x0, tol)
            if method == "auto" and residual > tol:
                direct, how = True, "cg, then factor"
        if direct:
            if key not in self._factors:
                self._factors.clear()
                self._factors[key] = solve.factorise(self, q, weight)
            X = self._factors[key].solve(B.astype(np.float64)).astype(B.dtype)
            residual = solve.relative_residual(self, B, X, q, weight)
        solve.doubt(residual, tol)
        return X, Solution(how, steps, residual)

    @cached_property
    def _factor_is_cheap(self) -> bool:
        return solve.cheap(self)


@dataclass(frozen=True, eq=False)
class LocalMatrix:
    """An (n, m) matrix in CSR; `LocalMatrix.of` makes one.

    >>> import scipy.sparse as sp
    >>> A = LocalMatrix.of(sp.csr_array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    >>> (A @ np.ones((3, 2))).tolist()
    [[2.0, 2.0], [4.0, 4.0]]
    """

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: Block
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Sparse, dtype: DTypeLike = np.float64) -> "LocalMatrix":
        """From SciPy's, in float32 or float64."""
        n, m = matrix.shape
        indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
        values = np.ascontiguousarray(matrix.data, dtype=dtype)
        return cls(indptr, np.ascontiguousarray(matrix.indices), values, (n, m))

    @cached_property
    def T(self) -> "LocalMatrix":
        """Turned round, also in CSR."""
        whole = sp.csr_array((self.values, self.indices, self.indptr), shape=self.shape)
        return LocalMatrix.of(sp.csr_array(whole.T), self.values.dtype)

    @cached_property
    def _bounds(self) -> list[int]:
        return cuts(self.indptr, min(available(), max(1, self.shape[0])))

    @cached_property
    def _nothing(self) -> Block:
        """The kernel's own part of a row."""
        return np.zeros(self.shape[0], dtype=self.values.dtype)

    def __matmul__(self, B: Block) -> Block:
        """(n, k) for an (m, k) block, in the matrix's dtype."""
        kind = self.values.dtype
        B = np.ascontiguousarray(B, dtype=kind)
        if B.ndim != 2 or B.shape[0] != self.shape[1]:
            raise InputError(f"a block of shape {B.shape}; the matrix needs ({self.shape[1]}, k)")
        out = empty_block((self.shape[0], B.shape[1]), kind)
        factors = kind.type(1), kind.type(1), kind.type(0), kind.type(0)
        arrays = self.indptr, self.indices, self.values, self._nothing, B, out, out
        over_rows(combine_rows, (*arrays, *factors), self._bounds, self.values.size * B.shape[1])
        return out


def degrees_of(matrix: Compressed, indptr: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n,) the sum of the absolute entries of every row."""
    degrees = np.empty(indptr.size - 1)
    over_rows(
        degree_rows, (indptr, np.asarray(matrix.data), degrees), cuts(indptr, available()), matrix.data.size
    )
    return degrees


def checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The precision of an operator: float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"dtype {kind} for an operator; use float32 or float64")
    return kind


def _checked_pattern(matrix: Compressed) -> tuple[NDArray[np.int64], NDArray[Any]]:
    if matrix.data.dtype == np.float16:
        raise InputError("entries of float16 for an operator; convert them to float32 or float64")
    # Row pointers grow beyond 2^31 entries; there are few of them. The indices stay where they lie.
    return np.ascontiguousarray(matrix.indptr, dtype=np.int64), np.ascontiguousarray(matrix.indices)
