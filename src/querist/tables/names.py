"""Which column holds what, by its name in any case: the one list of names that the whole house goes by.

An edge table has `source, target` (or `src, dst`, or `from, to`, else its first two columns) and perhaps
`weight` (or `value`). A node table has `node` (or `id`, else its first column) and perhaps `label` (or
`class`); people know its nodes by `name`, `title` or `subject`. A table of vectors has its labels in `label`,
`class`, `target` or `y`, else in its last column.
Whoever names a column is taken at their word.
"""

from collections.abc import Sequence
from typing import TypeAlias

from querist.errors import InputError
from querist.labels import NODE

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
WEIGHT = ("weight", "value")
LABEL = ("label", "class")
NAME = ("name", "title", "subject")
VECTOR_LABEL = (*LABEL, "target", "y")

Ends: TypeAlias = tuple[str | None, str | None]
"""The names of the columns of an edge's two ends, where the user gives them."""


def named(columns: Sequence[str], names: Sequence[str], but: Sequence[str] = ()) -> str | None:
    """The first of the names that is a column, in any case."""
    lower = {str(c).lower(): c for c in reversed(columns) if c not in but}
    return next((lower[name] for name in names if name in lower), None)


def listing(columns: Sequence[str]) -> str:
    """The columns, for a message."""
    return ", ".join(str(c) for c in columns)


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
        found = [named(columns, (end,)) for end in ends]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        if found != [None, None]:
            have, lack = (0, 1) if found[1] is None else (1, 0)
            raise InputError(
                f"{where}: column {found[have]!r} but no {ends[lack]!r}; there are {listing(columns)}. "
                "Rename one, or name the columns with source= and target= (or endpoints=)"
            )
    if len(columns) < 2:
        raise InputError(
            f"{where}: {len(columns)} column ({listing(columns)}); an edge table needs source and target"
        )
    return columns[0], columns[1]


def _ends_by_name(
    columns: Sequence[str], source: str | None, target: str | None, where: str
) -> tuple[str, str]:
    """The columns that are named; beside one, the other by its usual name, else the first that is left."""
    absent = [name for name in (source, target) if name is not None and name not in columns]
    if absent:
        which = f"columns {source!r} and {target!r}" if source and target else f"column {absent[0]!r}"
        raise InputError(f"{where}: no {which}; there are {listing(columns)}")
    if source == target:
        raise InputError(f"{where}: source and target are both {source!r}; name two columns")
    if source is not None and target is not None:
        return source, target
    own = source if source is not None else target
    usual = [ends[source is not None] for ends in ENDS]
    other = named(columns, usual, but=(str(own),)) or next((c for c in columns if c != own), None)
    if other is None:
        raise InputError(f"{where}: no column beside {own!r}; an edge table needs source and target")
    return (source, other) if source is not None else (other, str(target))


def node_column(columns: Sequence[str], where: str = "node table", name: str | None = None) -> str:
    """The column that holds the ids of the nodes: the one of this name, where one is given."""
    if not len(columns):
        raise InputError(f"{where}: no columns; a node table needs one named node")
    if name is not None:
        if name not in columns:
            raise InputError(f"{where}: no column {name!r} for the ids; there are {listing(columns)}")
        return name
    return named(columns, NODE) or columns[0]


def label_column(columns: Sequence[str], node: str) -> str | None:
    """The column of a node table that holds labels, if one is named so."""
    return named(columns, LABEL, but=(node,))


def node_and_label(
    columns: Sequence[str], where: str, label: str | None = None, id: str | None = None
) -> tuple[str, str]:
    """The columns of the node and of its label in a table of labels, where the other of two needs no name."""
    node = node_column(columns, where, id if id in columns else None)
    if label is not None:
        if label not in columns or label == node:
            raise InputError(
                f"{where}, line 1: no column {label!r} for the labels; there are {listing(columns)}"
            )
        return node, label
    value = label_column(columns, node)
    others = [column for column in columns if column != node]
    if value is None and len(others) == 1:
        value = others[0]
    if value is None:
        raise InputError(
            f"{where}, line 1: no column 'label'; there are {listing(columns)}. Give node and label, or "
            "name the column of the labels"
        )
    return node, value


def vector_label(columns: Sequence[str], label: str | None, where: str, needed: bool = True) -> str | None:
    """The column or key of a vector's label: the one asked for, else one of the usual names, else None."""
    if label is not None:
        if label not in columns and needed:
            raise InputError(f"{where}: no column {label!r}; its columns are {listing(columns)}")
        return label if label in columns else None
    return named(columns, VECTOR_LABEL)
