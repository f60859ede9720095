"""Where the arrays of an algorithm live: in the memory of this process, or on a device.

An algorithm that is written against `Backend` runs in both places. What is large is an array of the backend;
its operators (`+ * / @`, comparison, slices, `.sum(axis=)`, `.reshape`, `.T`, `.clip`) and the functions of
`xp` that NumPy and torch have under one name are all that it may use. What is small is NumPy's. Products of
sparse matrices are the backend's, and so are the sums over rows of its spaces (space.py).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from querist.operator.local import LocalSpace
from querist.operator.space import Block, Space
from querist.operator.value import LocalMatrix, Operator
from querist.types import Codes, Sparse


class Backend:
    """This process and its threads; that of a device is `device/backend.py`.

    >>> backend = backend_of(None)
    >>> backend.spread(np.array([2]), np.ones((1, 2)), 3).tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """

    name: str | None = None
    """As `backend_of` takes it."""

    xp: Any = np
    """`exp`, `log`, `where`, `amax` and others of one name."""

    has_factors: ClassVar[bool] = True
    """Whether its operators can solve by a sparse factor."""

    at_once: ClassVar[bool] = False
    """Whether much work at once is quicker than many threads with little each."""

    chunk: ClassVar[int] = 1 << 13
    """Rows of which a copy may be made at a time."""

    def given(self, array: Any, dtype: Any = None) -> Block:
        """An array of NumPy, or of the backend, in a precision or in its own."""
        return np.asarray(array) if dtype is None else np.asarray(array).astype(dtype, copy=False)

    def array(self, block: Block) -> Any:
        """As an array of NumPy."""
        return np.asarray(block)

    def space(self, n: int, dtype: Any = np.float64) -> Space:
        """Blocks of n rows."""
        return LocalSpace(n, np.dtype(dtype))

    def beside(self, blocks: Sequence[Block]) -> Block:
        """Their columns side by side."""
        return blocks[0] if len(blocks) == 1 else self.xp.hstack(blocks)

    def spread(self, nodes: Codes, rows: Block, n: int) -> Block:
        """(n, k) these rows at the nodes, 0 elsewhere, in double precision."""
        block = self.space(n).empty(rows.shape[1])
        block[:] = 0
        block[self.given(nodes)] = self.given(rows, np.float64)
        return block

    def matrix(self, X: Sparse, dtype: Any = np.float64) -> Any:
        """(n, m) a sparse matrix `A`, for `A @ B` and `A.T @ B`."""
        return LocalMatrix.of(X, dtype)

    def laplacian(self, S: Any, *, normalised: bool = False, dtype: Any = np.float64) -> Any:
        """The Laplacian of an adjacency, as a `BlockOperator` that solves."""
        return Operator.laplacian(S, normalised=normalised, dtype=dtype)

    def symmetric(self, S: Any, *, dtype: Any = np.float64) -> Any:
        """Any symmetric matrix, as a `BlockOperator`."""
        return Operator.symmetric(S, dtype=dtype)


HERE = Backend()


def backend_of(device: str | None) -> Backend:
    """The backend of a device by its name; None is this process."""
    if device is None:
        return HERE
    from querist.operator.device.backend import DeviceBackend

    return DeviceBackend(device)
