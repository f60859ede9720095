"""Matrices, edge arrays and lists of pairs, read as they stand.

A matrix is an adjacency: entry (i, j) is an edge from row i to row j. An
integer edge array holds row numbers. A list of pairs or triples holds the
user's own ids.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.entries import Found, number
from querist.graph_options import ArrayKind
from querist.matrices import checked_sparse
from querist.tables.frames import as_weights
from querist.types import Codes

# An edge array whose largest row is beyond both bounds holds ids, not row numbers.
_MANY_ROWS = 10_000_000
_ROWS_PER_EDGE = 100


def from_matrix(matrix: Any, where: str = "adjacency") -> Found:
    """A square matrix, sparse or dense; repeated entries of a sparse one are its sum, as in scipy."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{where}: a matrix of shape {matrix.shape}; an adjacency is square, an edge array is (m, 2)"
        )
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{where}: a matrix of {matrix.dtype}; weights must be real numbers")
    if sp.issparse(matrix):
        given: Any = checked_sparse(matrix, where)
        if not hasattr(given, "indptr"):  # such a matrix takes no room for its empty rows, a graph does
            check_sparing(given.shape[0], given.nnz, where)
    elif matrix.dtype == np.float16:
        matrix = matrix.astype(np.float32)  # SciPy has no matrices of float16
    entries = sp.coo_array(matrix)
    entries.sum_duplicates()
    weights = as_weights(entries.data, entries.data.size, where)
    heads, tails = entries.row.astype(np.int64), entries.col.astype(np.int64)
    return Found(heads, tails, matrix.shape[0], weights, directed=True, matrix=True)


def from_array(array: Any, kind: ArrayKind | None = None, where: str = "edges") -> Found:
    """A dense array: an adjacency if it is square, an edge array if it is (m, 2) or (m, 3).

    Small arrays could be either; `kind` settles it. Without it (3, 3) is an
    adjacency, and so is (2, 2) unless it holds dates, or integers that are no
    undirected adjacency: then it is two edges.
    """
    if array.ndim != 2:
        raise InputError(f"{where}: an array of shape {array.shape}; give (n, n) weights or (m, 2) edges")
    rows, columns = array.shape
    if kind == "adjacency" or (kind is None and rows == columns and not _are_two_edges(array)):
        return from_matrix(array, where)
    if columns not in (2, 3):
        turned = "; transpose it: edges.T" if rows == 2 else ""
        raise InputError(
            f"{where}: an array of shape {array.shape}; give (n, n) weights or (m, 2) edges{turned}"
        )
    if array.dtype.kind not in "iuf":
        return from_pairs(array if array.dtype.kind in "mM" else array.tolist(), where)
    ends = _as_rows(array[:, :2], where)
    n = int(ends.max()) + 1 if ends.size else 0
    weights = as_weights(array[:, 2], rows, where) if columns == 3 else None
    return Found(ends[:, 0], ends[:, 1], n, weights, fixed=False)


def _are_two_edges(array: Any) -> bool:
    if array.dtype.kind in "mM":
        return True
    if array.shape != (2, 2) or array.dtype.kind not in "iu":
        return False
    return bool(array[0, 0] or array[1, 1] or array[0, 1] != array[1, 0])


def _as_rows(ends: Any, where: str) -> Codes:
    """(m, 2) integral row numbers >= 0."""
    if ends.dtype.kind == "f":
        # NaN fails the comparison too.
        bad = np.flatnonzero(~(ends == np.trunc(ends)).all(axis=1) | ~np.isfinite(ends).all(axis=1))
        if bad.size:
            raise InputError(
                f"{where}: edge {bad[0]} is {ends[bad[0]].tolist()}; an edge array holds whole row numbers. "
                "For ids of your own give a list of pairs or a data frame"
            )
    bad = np.flatnonzero((ends < 0).any(axis=1))
    if bad.size:
        raise InputError(f"{where}: edge {bad[0]} is {ends[bad[0]].tolist()}; row numbers start at 0")
    if ends.size and float(ends.max()) >= 2**62:
        raise InputError(
            f"{where}: an edge ends at {ends.max()}, which is no row number; for ids of your own give a list "
            "of pairs or a data frame"
        )
    return np.ascontiguousarray(ends, dtype=np.int64)


def check_range(found: Found, n: int, where: str) -> None:
    """Refuse an edge that ends outside the `n` rows."""
    outside = np.flatnonzero((found.heads >= n) | (found.tails >= n))
    if outside.size:
        k = outside[0]
        raise InputError(
            f"{where}: edge {k} is ({found.heads[k]}, {found.tails[k]}), but there are {n} nodes "
            f"(0..{n - 1}); mend the edge, pass nodes={found.n}, or give ids of your own as a list of pairs"
        )


def check_sparing(n: int, edges: int, where: str) -> None:
    """Refuse edges that name so few of their rows that these must be ids."""
    if n > max(_MANY_ROWS, _ROWS_PER_EDGE * edges):
        raise InputError(
            f"{where}: the largest row number is {n - 1:,} with only {edges:,} edges; "
            f"for ids of your own give a list of pairs or a data frame, else pass nodes={n}"
        )


def from_pairs(pairs: Iterable[Any], where: str = "edges") -> Found:
    """A list of (id, id) or (id, id, weight), ids of any hashable type.

    >>> from_pairs([("b", "a", 2.0), ("b", "c", 1.0)]).ids
    ('a', 'b', 'c')
    """
    rows = list(pairs)
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in rows]
    expected = lengths[0] if rows and lengths[0] in (2, 3) else 2
    if set(lengths) - {expected}:
        odd = next(row for row, length in zip(rows, lengths, strict=True) if length != expected)
        raise InputError(
            f"{where}: {odd!r} is not an edge; give (node, node) for all, or (node, node, weight) for all"
        )
    columns = list(zip(*rows, strict=True)) or [(), ()]
    (heads, tails), ids = number([_column(c) for c in columns[:2]], where)
    weights = as_weights(columns[2], len(rows), where) if len(columns) == 3 else None
    return Found(heads, tails, len(ids), weights, ids)


def _column(values: tuple[Any, ...]) -> Any:
    # Types are checked first: NumPy would turn (1, "a") into two strings.
    try:
        return np.array(values, dtype=np.int64) if set(map(type, values)) == {int} else values
    except OverflowError:
        return values
