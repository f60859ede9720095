"""Any sparse matrix of this process, for its products with blocks: its rows are shared among the threads."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from querist.errors import InputError
from querist.operator.kernels import combine_rows
from querist.operator.local import empty_block
from querist.operator.threads import available, cuts, over_rows
from querist.types import Sparse

Block = NDArray[Any]


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
