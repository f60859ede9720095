"""What a stream learner accepts: vectors, labels, numbers. Checked once, here."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from querist import memory
from querist.budgeted.similarity import LINEAR
from querist.budgeted.step import StreamRows
from querist.errors import InputError
from querist.labels import UNLABELLED
from querist.matrices import as_floats, checked_sparse
from querist.parameters import Parameter, Range
from querist.types import Bools, Codes, Floats, Sparse

LARGEST = 1e150
"""Largest value whose square is finite with room to add."""

LONGEST = 1e12
"""Largest `|x|^2/lambda1` of the linear kernel: beyond it updates have no digits left."""


def writable(array: Any, dtype: Any = None) -> Any:
    """The array, C-ordered, copied if it is read-only.

    Read-only arrays are another type to the compiler: the loop would be compiled again for them.
    """
    return np.require(array, dtype, ["C", "W"])


def checked_vectors(X: Any, n_features: int | None) -> Floats | Sparse:
    """(n, d) finite float64 rows, C-ordered or CSR; the feature count must be the known one."""
    if sp.issparse(X):
        M: Any = sp.csr_array(checked_sparse(X, "vectors"), dtype=np.float64)
        M.sum_duplicates()
        M.data = writable(M.data, np.float64)
        values = M.data
    else:
        M = writable(as_floats(X, "vectors", "give an (n, d) array of numbers, a row an item"))
        values = M
    if M.ndim != 2 or M.shape[1] == 0:
        raise InputError(f"vectors have shape {M.shape}; give an (n, d) array, a row an item, with d >= 1")
    if not np.isfinite(values).all():
        raise InputError(f"row {_first_bad(M)} holds NaN or infinite values; remove or replace them")
    if n_features is not None and M.shape[1] != n_features:
        raise InputError(f"vectors have {M.shape[1]} features, the learner knows {n_features}; give as many")
    return M  # type: ignore[no-any-return]


def _first_bad(M: Any) -> int:
    if isinstance(M, np.ndarray):
        return int(np.argmin(np.isfinite(M).all(axis=1)))
    return int(M.indptr.searchsorted(np.argmin(np.isfinite(M.data)), side="right")) - 1


def checked_squares(M: Any) -> None:
    """Refuse values whose squares overflow."""
    values = M if isinstance(M, np.ndarray) else M.data
    if values.size and float(abs(values).max()) > LARGEST:
        raise InputError(f"a value is beyond {LARGEST:.0e}, its square overflows; scale the features")


def checked_scale(M: Any, kernel: int, lambda1: float) -> None:
    """Refuse values whose squares overflow where the kernel needs them."""
    dense = isinstance(M, np.ndarray)
    if not dense:
        checked_squares(M)
    if kernel == LINEAR and M.shape[0]:
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", M, M) if dense else M.multiply(M).sum(axis=1)
        worst = float(np.max(squares)) / lambda1
        if not worst <= LONGEST:
            raise InputError(
                f"the longest vector has |x|^2/lambda1 = {worst:.3g}, beyond {LONGEST:.0e}: no digits would "
                "be left. Scale the features, raise lambda1, or use the rbf kernel"
            )


def as_rows(M: Any) -> StreamRows:
    """The parts that the compiled loop reads."""
    if isinstance(M, np.ndarray):
        return StreamRows(M, np.empty(0, dtype=np.int64), np.arange(M.shape[1]), np.empty(0))
    indptr, indices = (writable(part, np.int64) for part in (M.indptr, M.indices))
    return StreamRows(np.empty((0, 0)), indptr, indices, M.data)


def checked_labels(labels: Any, n: int, n_classes: int) -> Codes:
    """(n,) class codes, -1 where unlabelled."""
    codes = np.asarray(labels)
    if codes.shape != (n,) or (codes.size and codes.dtype.kind not in "iub"):
        raise InputError(
            f"labels must be {n} class codes, one a row and -1 where unlabelled; got {codes.dtype} of shape "
            f"{codes.shape}"
        )
    codes = np.asarray(writable(codes, np.int64))
    if codes.size and (codes.min() < UNLABELLED or codes.max() >= n_classes):
        bad = codes[(codes < UNLABELLED) | (codes >= n_classes)][0]
        raise InputError(f"label code {bad} is outside the {n_classes} classes (0..{n_classes - 1}, or -1)")
    return codes


def checked_stream(
    X: Any, labels: Any, labelled: Any, n_classes: int, n_features: int | None = None
) -> tuple[Any, Codes]:
    """Vectors whose squares are finite, and the labels that may be seen.

    >>> checked_stream([[1.0], [2.0]], [0, 1], np.array([True, False]), 2)[1]
    array([ 0, -1])
    """
    M = checked_vectors(X, n_features)
    checked_squares(M)
    return M, masked(checked_labels(labels, M.shape[0], n_classes), labelled)


def masked(labels: Codes, labelled: Any) -> Codes:
    """The labels that may be seen: -1 where `labelled` is false."""
    if labelled is None:
        return labels
    mask: Bools = np.asarray(labelled)
    if mask.shape != labels.shape or mask.dtype != np.bool_:
        raise InputError(
            f"labelled must be {labels.size} booleans, one a row; got {mask.dtype}, {mask.shape}"
        )
    return np.where(mask, labels, UNLABELLED)


def checked_number(name: str, value: Any, *, zero: bool = False) -> float:
    """A finite float above 0, or from 0.

    >>> checked_number("fading", 0, zero=True)
    0.0
    """
    Parameter(name, float, None, Range(0) if zero else Range(gt=0)).check(value)
    return float(value)


def check_room(what: str, numbers: float, smaller: str) -> None:
    """Refuse arrays of so many numbers if they do not fit into the free memory.

    >>> check_room("1,000 centres", 1e3, "pool")
    """
    memory.check(8 * numbers, what, f"give a smaller {smaller}")
