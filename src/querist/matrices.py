"""Matrices from outside: what they are made of is looked at once, before anything trusts it.

SciPy makes a matrix of any index arrays, and its own compiled code and ours then read where they point. Its
`check_format` alters the matrix, and takes pointers that go up and come back to 0 for those of an empty one.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.memory import check
from querist.types import Floats, Sparse


def checked_sparse(matrix: Any, what: str) -> Any:
    """The matrix, of any sparse format, if it holds real numbers within its shape; nothing is changed.

    >>> import scipy.sparse as sp
    >>> checked_sparse(sp.csr_array(([1.0], [7], [0, 1]), shape=(1, 2)), "attributes")
    Traceback (most recent call last):
    ...
    querist.errors.InputError: attributes: a csr matrix of shape (1, 2) with indices 7..7, and they must be \
0..1; make it again
    """
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{what}: a sparse matrix of {matrix.dtype}; give real numbers")
    if matrix.dtype == np.float16:
        raise InputError(f"{what}: a sparse matrix of float16, which SciPy cannot use; convert it to float32")
    if matrix.format in ("csr", "csc", "bsr"):
        fault = _compressed_fault(matrix)
    elif matrix.format == "coo":
        fault = next((f for f in map(_range_fault, matrix.coords, matrix.shape) if f), None)
    elif max(matrix.shape) > 2**31:
        fault = f"a side of {max(matrix.shape):,}"
    else:
        check(16.0 * max(matrix.shape), what)  # diagonals take no room for empty rows, what SciPy makes does
        checked_sparse(matrix.tocoo(), what)  # by Python's own lists and masks, which cannot go astray
        fault = None
    if fault is not None:
        raise InputError(
            f"{what}: a {matrix.format} matrix of shape {matrix.shape} with {fault}; make it again"
        )
    return matrix


def with_short_indices(S: Sparse) -> Sparse:
    """The same matrix with indices of 32 bits: spanning trees of SciPy before 1.17 take no others.

    >>> import scipy.sparse as sp
    >>> with_short_indices(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])).indices.dtype
    dtype('int32')
    """
    return sp.csr_array((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)


def _compressed_fault(matrix: Any) -> str | None:
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    blocks = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    shape = [size // block for size, block in zip(matrix.shape, blocks, strict=True)]
    rows, columns = shape[::-1] if matrix.format == "csc" else shape
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        return f"indices of {indices.dtype} and indptr of {indptr.dtype}, which must be whole numbers"
    if indptr.shape != (rows + 1,) or indices.ndim != 1 or len(indices) != len(data):
        return f"{indptr.size:,} indptr, {indices.size:,} indices and {len(data):,} values, which do not fit"
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > indices.size:
        return f"an indptr that does not grow from 0 to at most {indices.size:,}"
    return _range_fault(indices[: indptr[-1]], columns)


def _range_fault(indices: Any, size: int) -> str | None:
    if indices.dtype.kind not in "iu":
        return f"indices of {indices.dtype}, which must be whole numbers"
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        return f"indices {indices.min()}..{indices.max()}, and they must be 0..{size - 1}"
    return None


def as_floats(values: Any, what: str, need: str = "give real numbers") -> Floats:
    """An array of floats from real numbers; text, complex numbers and rows of different lengths are refused.

    >>> as_floats([1, 2.5], "X")
    array([1. , 2.5])
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and not _holds_text(array)):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: not all numbers, or rows of different lengths; {need}") from None
    kinds = {"c": "complex numbers", "M": "dates", "m": "times", "O": "text or dates"}
    raise InputError(f"{what}: {kinds.get(array.dtype.kind, 'text')} where numbers belong; {need}")


def _holds_text(array: Any) -> bool:
    """Also dates, which NumPy takes for numbers: a missing one for -2^63."""
    return any(isinstance(value, str | bytes | np.datetime64 | np.timedelta64) for value in array.flat)
