"""Edge tables and node tables: pandas, polars, Arrow, whatever narwhals knows.

Columns are found by name, in any case. An edge table has `source, target` (or
`src, dst`, or `from, to`, else its first two columns) and perhaps `weight` (or
`value`). A node table has `node` (or `id`, else its first column) and perhaps
`label` (or `class`).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph.entries import Found, as_weights, number
from querist.types import Floats

_ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
_WEIGHT = ("weight", "value")
_NODE = ("node", "id")
_LABEL = ("label", "class")


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
    endpoints: tuple[str, str] | None = None,
    where: str = "edge table",
    text: bool = False,
) -> Found:
    """Entries from two columns of ids and perhaps one of weights."""
    frame = frame_of(native, where)
    head, tail = edge_columns(frame.columns, endpoints, where)
    if weights is not None and weights not in frame.columns:
        raise InputError(
            f"{where}: no column {weights!r} for the weights; there are {_listing(frame.columns)}"
        )
    weight = weights if weights is not None else _named(frame.columns, _WEIGHT, but=(head, tail))
    (heads, tails), ids = number([_ids(frame, head, where), _ids(frame, tail, where)], where)
    notes = []
    if endpoints is None and (str(head).lower(), str(tail).lower()) not in _ENDS:
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
    where: str = "node table",
    text: bool = False,
) -> NodeTable:
    """Ids, and the labels and attributes asked for; `attributes=True` is every numeric column."""
    frame = frame_of(native, where)
    node = node_column(frame.columns, where)
    wanted = [] if isinstance(attributes, bool) else list(attributes)
    for name in [*wanted, *([] if label is None else [label])]:
        if name not in frame.columns:
            raise InputError(f"{where}: no column {name!r}; there are {_listing(frame.columns)}")
    label = label if label is not None else _named(frame.columns, _LABEL, but=(node,))
    if attributes is True:
        wanted = [
            c for c in frame.columns if c not in (node, label) and frame.get_column(c).dtype.is_numeric()
        ]
    ids = _ids(frame, node, where)
    ids = tuple(ids.tolist() if isinstance(ids, np.ndarray) else ids)
    if len(set(ids)) != len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise InputError(f"{where}: node {twice!r} has more than one row; keep one")
    return NodeTable(
        ids,
        None if label is None else _listed(frame.get_column(label)),
        np.column_stack([_numbers(frame, c, where) for c in wanted]) if wanted else None,
        text,
    )


# -- columns by name ----------------------------------------------------------


def edge_columns(
    columns: Sequence[str], endpoints: tuple[str, str] | None = None, where: str = "edge table"
) -> tuple[str, str]:
    """The two columns that hold the ends of the edges.

    >>> edge_columns(["weight", "From", "To"])
    ('From', 'To')
    """
    if endpoints is not None:
        head, tail = endpoints
        if head in columns and tail in columns:
            return head, tail
        raise InputError(f"{where}: no columns {head!r} and {tail!r}; there are {_listing(columns)}")
    for ends in _ENDS:
        found = [_named(columns, (end,)) for end in ends]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        if found != [None, None]:
            have, lack = (0, 1) if found[1] is None else (1, 0)
            raise InputError(
                f"{where}: column {found[have]!r} but no {ends[lack]!r}; there are {_listing(columns)}. "
                "Rename one, or pass endpoints=(column, column)"
            )
    if len(columns) < 2:
        raise InputError(
            f"{where}: {len(columns)} column ({_listing(columns)}); an edge table needs source and target"
        )
    return columns[0], columns[1]


def node_column(columns: Sequence[str], where: str = "node table") -> str:
    """The column that holds the ids of the nodes."""
    if not len(columns):
        raise InputError(f"{where}: no columns; a node table needs one named node")
    return _named(columns, _NODE) or columns[0]


def _named(columns: Sequence[str], names: Sequence[str], but: Sequence[str] = ()) -> str | None:
    """The first of the names that is a column, in any case."""
    lower = {str(c).lower(): c for c in reversed(columns) if c not in but}
    return next((lower[name] for name in names if name in lower), None)


def _listing(columns: Sequence[str]) -> str:
    return ", ".join(str(c) for c in columns)


# -- columns as values --------------------------------------------------------


def _ids(frame: Any, name: str, where: str) -> Any:
    """A column of ids: an integer array, or a list."""
    column = frame.get_column(name)
    _refuse_nulls(column, name, where)
    return column.to_numpy() if column.dtype.is_integer() else column.to_list()


def _numbers(frame: Any, name: str, where: str) -> Floats:
    import narwhals as nw

    column = frame.get_column(name)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise InputError(
            f"{where}: column {name!r} is {column.dtype}, not numbers; convert it or leave it out"
        )
    _refuse_nulls(column, name, where)
    return as_weights(column.cast(nw.Float64).to_numpy(), len(column), f"{where}, column {name!r}")


def _refuse_nulls(column: Any, name: str, where: str) -> None:
    if column.null_count():
        empty = column.is_null().to_list()
        raise InputError(
            f"{where}: column {name!r} is empty in {sum(empty)} of {len(empty)} rows, the first row "
            f"{empty.index(True)}; fill or drop those rows"
        )


def _listed(column: Any) -> list[Any]:
    return [None if null else v for v, null in zip(column.to_list(), column.is_null().to_list(), strict=True)]
