"""Tables of edges and files of whole graphs -> entries between numbered nodes."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph.arrays import check_range, from_array, from_matrix
from querist.graph.entries import Found, number
from querist.labels import NODE
from querist.tables.arrow import pa
from querist.tables.decimals import DECIMAL
from querist.tables.files import STANDARD_INPUT, read_edges, standard_input
from querist.tables.formats import Elements, Origin, stem
from querist.tables.frames import as_weights, frame_of, ids_in, numbers_in
from querist.tables.names import ENDS, WEIGHT, Ends, edge_columns, listing, named
from querist.types import Codes


def from_path(
    path: Path,
    weights: str | None = None,
    labels: str | None = None,
    ends: Ends = (None, None),
) -> Found:
    """The edges in a file, by its extension; `-` is the standard input."""
    if str(path) == STANDARD_INPUT:
        with standard_input() as copy:
            return replace(from_path(copy, weights, labels, ends), name="standard input")
    read = read_edges(path, *ends, weights, labels)
    if isinstance(read, Elements):
        return _from_elements(read, path)
    found = from_edge_table(read.table, weights, ends, read.origin, read.text)
    return replace(found, name=stem(path), notes=(*read.notes, *found.notes))


def _from_elements(read: Elements, path: Path) -> Found:
    if not isinstance(read.edges, np.ndarray):
        return from_matrix(read.edges, path.name)
    found = from_array(read.edges, "edges", path.name)
    n = found.n if read.n is None else read.n
    check_range(found, n, path.name)
    weights = None if read.weights is None else as_weights(read.weights, found.heads.size, path.name)
    fields = {name: getattr(read, name) for name in ("ids", "directed", "attributes", "labels", "notes")}
    fields |= {"name": stem(path), "text": read.nodes is not None, "table": read.nodes}
    return replace(found, n=n, weights=weights, fixed=read.n is not None, **fields)


def from_edge_table(
    native: Any,
    weights: str | None = None,
    ends: Ends = (None, None),
    where: Origin = Origin("edge table"),  # noqa: B008
    text: bool = False,
) -> Found:
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
    return Found(heads, tails, len(ids), values, ids, notes=tuple(notes), text=text)


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
