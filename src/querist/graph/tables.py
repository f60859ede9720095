"""Edge tables and node tables: pandas, polars, Arrow, whatever narwhals knows.

Columns are found by name, in any case. An edge table has `source, target` (or
`src, dst`, or `from, to`, else its first two columns) and perhaps `weight` (or
`value`). A node table has `node` (or `id`, else its first column) and perhaps
`label` (or `class`).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from querist.errors import InputError
from querist.graph.entries import Found, as_weights, number
from querist.types import Codes, Floats

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
_WEIGHT = ("weight", "value")
Ends: TypeAlias = tuple[str | None, str | None]
"""The names of the columns of an edge's two ends, where the user gives them."""
NODE = ("node", "id")
_LABEL = ("label", "class")


@dataclass(frozen=True)
class Place:
    """What a table is called in messages, and how one speaks of its rows, which count from 0.

    >>> Place("edge table").at(3)
    'edge table, row 3'
    """

    name: str
    rows: Callable[[int], str] = "row {}".format

    def __str__(self) -> str:
        return self.name

    def at(self, row: int) -> str:
        """The table and one of its rows."""
        return f"{self.name}, {self.rows(row)}"


@dataclass(frozen=True)
class TableFile:
    """An Arrow table that was read from a file; `text` says whether its ids were read from text."""

    table: Any
    place: Place
    text: bool


@dataclass(frozen=True)
class NodeTable:
    """What a node table says: ids in order, perhaps labels and (n, k) attributes."""

    ids: tuple[Hashable, ...]
    labels: list[Any] | None
    attributes: Floats | None
    text: bool


def frame_of(native: Any, where: str) -> Any:
    """The narwhals view of a data frame; lazy ones are collected."""
    import narwhals as nw

    try:
        frame = nw.from_native(native)
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise InputError(f"{where}: {error}") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def values_of(series: Any) -> Any:
    """A series of any library as a list with None for null; anything else as it is."""
    import narwhals as nw

    column = nw.from_native(series, allow_series=True, pass_through=True)
    if isinstance(column, nw.Series):
        return _listed(column)
    # An Arrow array has no narwhals view, and its items are not Python values.
    return column.to_pylist() if hasattr(column, "to_pylist") else column


def from_edge_table(
    native: Any,
    weights: str | None = None,
    ends: Ends = (None, None),
    where: Place = Place("edge table"),  # noqa: B008
    text: bool = False,
) -> Found:
    """Entries from two columns of ids and perhaps one of weights."""
    frame = frame_of(native, where.name)
    head, tail = edge_columns(frame.columns, *ends, where=where.name)
    if weights is not None and weights not in frame.columns:
        raise InputError(
            f"{where}: no column {weights!r} for the weights; there are {_listing(frame.columns)}"
        )
    weight = weights if weights is not None else _named(frame.columns, _WEIGHT, but=(head, tail))
    (heads, tails), ids = _numbered([_ids(frame, head, where), _ids(frame, tail, where)], where.name)
    notes = []
    if ends == (None, None) and (str(head).lower(), str(tail).lower()) not in ENDS:
        notes.append(f"edges taken from columns {head!r} and {tail!r}")
    unused = [c for c in frame.columns if c not in (head, tail, weight)]
    if unused:
        notes.append(f"columns not used: {_listing(unused)}")
    values = None if weight is None else _numbers(frame, weight, where)
    return Found(heads, tails, len(ids), values, ids, notes=tuple(notes), text=text)


def from_node_table(
    native: Any,
    label: str | None = None,
    attributes: Sequence[str] | bool = False,
    where: Place = Place("node table"),  # noqa: B008
    text: bool = False,
    id: str | None = None,
) -> NodeTable:
    """Ids, and the labels and attributes asked for; `attributes=True` is every numeric column."""
    frame = frame_of(native, where.name)
    node = node_column(frame.columns, where.name, id)
    wanted = [] if isinstance(attributes, bool) else list(attributes)
    for name in [*wanted, *([] if label is None else [label])]:
        if name not in frame.columns:
            raise InputError(f"{where}: no column {name!r}; there are {_listing(frame.columns)}")
    label = label if label is not None else label_column(frame.columns, node)
    if attributes is True:
        wanted = [
            c for c in frame.columns if c not in (node, label) and frame.get_column(c).dtype.is_numeric()
        ]
    ids = distinct_ids(frame, node, where)
    return NodeTable(
        ids,
        None if label is None else _listed(frame.get_column(label)),
        np.column_stack([_numbers(frame, c, where) for c in wanted]) if wanted else None,
        text,
    )


def distinct_ids(frame: Any, node: str, where: Place) -> tuple[Hashable, ...]:
    """The ids in a column, each once."""
    column = _ids(frame, node, where)
    ids = tuple(column.tolist() if isinstance(column, np.ndarray) else column.to_pylist())
    if len(set(ids)) != len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        first = ids.index(twice)
        second = ids.index(twice, first + 1)
        raise InputError(
            f"{where}: node {twice!r} has more than one row, {where.rows(first)} and {where.rows(second)}; "
            "keep one"
        )
    return ids


# -- columns by name ----------------------------------------------------------


def edge_columns(
    columns: Sequence[str], source: str | None = None, target: str | None = None, where: str = "edge table"
) -> tuple[str, str]:
    """The two columns that hold the ends of the edges; `source` and `target` name them, or one of them.

    >>> edge_columns(["weight", "From", "To"])
    ('From', 'To')
    """
    if source is not None or target is not None:
        return _ends_by_name(columns, source, target, where)
    for ends in ENDS:
        found = [_named(columns, (end,)) for end in ends]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        if found != [None, None]:
            have, lack = (0, 1) if found[1] is None else (1, 0)
            raise InputError(
                f"{where}: column {found[have]!r} but no {ends[lack]!r}; there are {_listing(columns)}. "
                "Rename one, or name the columns with source= and target= (or endpoints=)"
            )
    if len(columns) < 2:
        raise InputError(
            f"{where}: {len(columns)} column ({_listing(columns)}); an edge table needs source and target"
        )
    return columns[0], columns[1]


def _ends_by_name(
    columns: Sequence[str], source: str | None, target: str | None, where: str
) -> tuple[str, str]:
    """The columns that are named; beside one, the other by its usual name, else the first that is left."""
    absent = [name for name in (source, target) if name is not None and name not in columns]
    if absent:
        which = f"columns {source!r} and {target!r}" if source and target else f"column {absent[0]!r}"
        raise InputError(f"{where}: no {which}; there are {_listing(columns)}")
    if source == target:
        raise InputError(f"{where}: source and target are both {source!r}; name two columns")
    if source is not None and target is not None:
        return source, target
    own = source if source is not None else target
    usual = [ends[source is not None] for ends in ENDS]
    other = _named(columns, usual, but=(str(own),)) or next((c for c in columns if c != own), None)
    if other is None:
        raise InputError(f"{where}: no column beside {own!r}; an edge table needs source and target")
    return (source, other) if source is not None else (other, str(target))


def node_column(columns: Sequence[str], where: str = "node table", name: str | None = None) -> str:
    """The column that holds the ids of the nodes: the one of this name, where one is given."""
    if not len(columns):
        raise InputError(f"{where}: no columns; a node table needs one named node")
    if name is not None:
        if name not in columns:
            raise InputError(f"{where}: no column {name!r} for the ids; there are {_listing(columns)}")
        return name
    return _named(columns, NODE) or columns[0]


def label_column(columns: Sequence[str], node: str) -> str | None:
    """The column that holds labels, if one is named so."""
    return _named(columns, _LABEL, but=(node,))


def _named(columns: Sequence[str], names: Sequence[str], but: Sequence[str] = ()) -> str | None:
    """The first of the names that is a column, in any case."""
    lower = {str(c).lower(): c for c in reversed(columns) if c not in but}
    return next((lower[name] for name in names if name in lower), None)


def _listing(columns: Sequence[str]) -> str:
    return ", ".join(str(c) for c in columns)


# -- columns as values --------------------------------------------------------


def _ids(frame: Any, name: str, where: Place) -> Any:
    """A column of ids: an integer array; else an Arrow array of text, or a `_Listed` of anything."""
    import narwhals as nw

    column = frame.get_column(name)
    _refuse_nulls(column, name, where)
    if column.dtype.is_integer():
        return column.to_numpy()
    return column.to_arrow() if column.dtype == nw.String else _Listed(column.to_list())


class _Listed(list[Any]):
    """A list that answers to Arrow's name for it."""

    def to_pylist(self) -> list[Any]:
        return list(self)


def _numbered(columns: Sequence[Any], where: str) -> tuple[list[Codes], tuple[Hashable, ...]]:
    """Row numbers for the ids in every column, and the id of every row; text goes by way of Arrow."""
    import pyarrow as pa

    if any(isinstance(c, np.ndarray | list) for c in columns):
        return number([c if isinstance(c, np.ndarray) else c.to_pylist() for c in columns], where)
    whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    coded = pa.chunked_array([c.cast(pa.large_string()) for c in whole], pa.large_string())
    coded = coded.combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    row = np.empty(len(names), dtype=np.int64)
    row[order] = np.arange(len(names))
    rows = row[coded.indices.to_numpy(zero_copy_only=False)]
    return np.split(rows, [len(columns[0])]), tuple(names[k] for k in order)


def _numbers(frame: Any, name: str, where: Place) -> Floats:
    import narwhals as nw

    column = frame.get_column(name)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise InputError(
            f"{where}: column {name!r} is {column.dtype}, not numbers{_first_word(column, where)}; "
            "convert it or leave it out"
        )
    _refuse_nulls(column, name, where)
    values = column.cast(nw.Float64).to_numpy()
    bad = np.flatnonzero(~np.isfinite(values))
    row = f", {where.rows(int(bad[0]))}" if bad.size else ""
    return as_weights(values, len(column), f"{where}{row}, column {name!r}")


def _first_word(column: Any, where: Place) -> str:
    """Which row of a column of text is the first that is no number."""
    for row, value in enumerate(column.to_list()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f" ({where.rows(row)} holds {value!r})"
    return ""


def _refuse_nulls(column: Any, name: str, where: Place) -> None:
    if column.null_count():
        empty = np.flatnonzero(column.is_null().to_numpy())
        raise InputError(
            f"{where}: column {name!r} is empty in {empty.size} of {len(column)} rows, the first "
            f"{where.rows(int(empty[0]))}; fill or drop those rows"
        )


def _listed(column: Any) -> list[Any]:
    return [None if null else v for v, null in zip(column.to_list(), column.is_null().to_list(), strict=True)]
