"""What holds edges -> entries between numbered nodes: matrices, arrays, lists of pairs, tables and files.

A matrix is an adjacency: entry (i, j) is an edge from row i to row j. An
integer edge array holds row numbers. A list of pairs or triples, or a table,
holds the user's own ids.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.entries import number
from querist.graph_options import ArrayKind
from querist.labels import NODE
from querist.matrices import checked_sparse
from querist.tables.arrow import pa
from querist.tables.decimals import DECIMAL
from querist.tables.files import STANDARD_INPUT, read_edges, standard_input
from querist.tables.formats import Columns, Entries, Origin, as_rows, as_weights, stem
from querist.tables.frames import frame_of, ids_in, numbers_in
from querist.tables.names import ENDS, WEIGHT, Ends, edge_columns, listing, named
from querist.types import Codes

# An edge array whose largest row is beyond both bounds holds ids, not row numbers.
_MANY_ROWS = 10_000_000
_ROWS_PER_EDGE = 100


def from_matrix(matrix: Any, where: str = "adjacency") -> Entries:
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
    return Entries(heads, tails, matrix.shape[0], weights, directed=True, matrix=True)


def from_array(array: Any, kind: ArrayKind | None = None, where: str = "edges") -> Entries:
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
    ends = as_rows(array[:, :2], where)
    n = int(ends.max()) + 1 if ends.size else 0
    weights = as_weights(array[:, 2], rows, where) if columns == 3 else None
    return Entries(ends[:, 0], ends[:, 1], n, weights, fixed=False)


def _are_two_edges(array: Any) -> bool:
    if array.dtype.kind in "mM":
        return True
    if array.shape != (2, 2) or array.dtype.kind not in "iu":
        return False
    return bool(array[0, 0] or array[1, 1] or array[0, 1] != array[1, 0])


def check_sparing(n: int, edges: int, where: str) -> None:
    """Refuse edges that name so few of their rows that these must be ids."""
    if n > max(_MANY_ROWS, _ROWS_PER_EDGE * edges):
        raise InputError(
            f"{where}: the largest row number is {n - 1:,} with only {edges:,} edges; "
            f"for ids of your own give a list of pairs or a data frame, else pass nodes={n}"
        )


def from_pairs(pairs: Iterable[Any], where: str = "edges") -> Entries:
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
    return Entries(heads, tails, len(ids), weights, ids)


def _column(values: tuple[Any, ...]) -> Any:
    # Types are checked first: NumPy would turn (1, "a") into two strings.
    try:
        return np.array(values, dtype=np.int64) if set(map(type, values)) == {int} else values
    except OverflowError:
        return values


def from_path(
    path: Path,
    weights: str | None = None,
    labels: str | None = None,
    ends: Ends = (None, None),
) -> Entries:
    """The edges in a file, by its extension; `-` is the standard input."""
    if str(path) == STANDARD_INPUT:
        with standard_input() as copy:
            return replace(from_path(copy, weights, labels, ends), name="standard input")
    read = read_edges(path, *ends, weights, labels)
    if isinstance(read, Entries):
        return read
    if not isinstance(read, Columns):
        return from_matrix(read, path.name)
    found = from_edge_table(read.table, weights, ends, read.origin, read.text)
    return replace(found, name=stem(path), notes=(*read.notes, *found.notes))


def from_edge_table(
    native: Any,
    weights: str | None = None,
    ends: Ends = (None, None),
    where: Origin = Origin("edge table"),  # noqa: B008
    text: bool = False,
) -> Entries:
    """Entries from two columns of ids and perhaps one of weights."""
    frame = frame_of(native, where.name)
    head, tail = edge_columns(frame.columns, *ends, where=where.name)
    if weights is not None and weights not in frame.columns:
        raise InputError(
            f"{where}: no column {weights!r} for the weights; there are {listing(frame.columns)}"
        )
    weight = weights if weights is not None else named(frame.columns, WEIGHT, but=(head, tail))
    (heads, tails), ids = _numbered([ids_in(frame, head, where), ids_in(frame, tail, where)], where.name)
    notes = []
    if ends == (None, None) and (str(head).lower(), str(tail).lower()) not in ENDS:
        notes.append(f"edges taken from columns {head!r} and {tail!r}")
        if str(head).lower() in NODE or (
            np.bincount(heads).max(initial=0) == 1
            and any(DECIMAL.fullmatch(str(ids[k])) for k in tails[:100])
        ):
            notes.append(f"{where} was read as edges; if its rows are nodes, give it as the table of nodes")
    unused = [c for c in frame.columns if c not in (head, tail, weight)]
    if unused:
        notes.append(f"columns not used: {listing(unused)}")
    values = None if weight is None else numbers_in(frame, weight, where, "weight")
    return Entries(heads, tails, len(ids), values, ids, notes=tuple(notes), text=text)


def _numbered(columns: Sequence[Any], where: str) -> tuple[list[Codes], tuple[Hashable, ...]]:
    """Row numbers for the ids in every column, and the id of every row; text goes by way of Arrow."""
    if any(isinstance(c, np.ndarray | list) for c in columns):
        return number([c if isinstance(c, np.ndarray | list) else c.to_pylist() for c in columns], where)
    whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    coded = pa.chunked_array([c.cast(pa.large_string()) for c in whole], pa.large_string())
    coded = coded.combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rows = np.argsort(order)[coded.indices.to_numpy(zero_copy_only=False)]
    return np.split(rows, [len(columns[0])]), tuple(names[k] for k in order)
