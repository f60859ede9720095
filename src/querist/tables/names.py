"""Which column holds what, by its name in any case: the one list of names that everything uses.

An edge table has `source, target` (or `src, dst`, or `from, to`, else its first two columns) and perhaps
`weight` (or `value`). A node table has `node` (or `id`, else its first column) and perhaps `label` (or
`class`); people know its nodes by `name`, `title` or `subject`. A table of vectors has its labels in `label`,
`class`, `target` or `y`, else in its last column.
Whoever names a column is taken at their word.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from querist.errors import InputError
from querist.labels import NODE
from querist.tables.formats import some

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
WEIGHT = ("weight", "value")
LABEL = ("label", "class")
NAME = ("name", "title", "subject")
VECTOR_LABEL = (*LABEL, "target", "y")
COLUMNS = 12
"""Columns of a node shown at first. If a table has more, its zeros are left out."""

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

    The other is then the one with a usual name, else the first that is left.

    >>> edge_columns(["weight", "From", "To"])
    ('From', 'To')
    """
    given = source, target
    absent = [name for name in given if name is not None and name not in columns]
    if absent:
        which = f"columns {source!r} and {target!r}" if source and target else f"column {absent[0]!r}"
        raise InputError(f"{where}: no {which}; there are {listing(columns)}")
    if source is not None and source == target:
        raise InputError(f"{where}: source and target are both {source!r}; name two columns")
    for pair in ENDS if given == (None, None) else ():
        found = [named(columns, (end,)) for end in pair]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        if found != [None, None]:
            have, lack = (0, 1) if found[1] is None else (1, 0)
            raise InputError(
                f"{where}: column {found[have]!r} but no {pair[lack]!r}; there are {listing(columns)}. "
                "Rename one, or name the columns with source= and target="
            )
    left, ends = [name for name in columns if name not in given], list[str | None]()
    for own, usual in zip(given, zip(*ENDS, strict=True), strict=True):
        if own is None and left:
            left.remove(own := named(left, usual) or left[0])
        ends.append(own)
    source, target = ends
    if source is None or target is None:
        raise InputError(
            f"{where}: {some(len(columns), 'column')} ({listing(columns)}); an edge table needs source and "
            "target"
        )
    return source, target


def node_column(columns: Sequence[str], where: str = "node table", name: str | None = None) -> str:
    """The column that holds the ids of the nodes: the one of this name, where one is given."""
    if not len(columns):
        raise InputError(f"{where}: no columns; a node table needs one named node")
    if name is not None:
        if name not in columns:
            raise InputError(f"{where}: no column {name!r} for the ids; there are {listing(columns)}")
        return name
    return named(columns, NODE) or columns[0]


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
    value = named(columns, LABEL, but=(node,))
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


@dataclass(frozen=True)
class NodeTexts:
    """What a table says of the first nodes: their names and their rows."""

    table: Any = None
    node: str | None = None
    name: str | None = None

    @staticmethod
    def of(table: Any, node: str | None = None, name: str | None = None) -> "NodeTexts":
        """`node` is the column of the ids, `name` the one that nodes are shown by, unless of a usual name."""
        if table is None:
            if name is not None:
                raise InputError(f"--name-column {name}: there is no table of nodes; give one as --nodes")
            return NodeTexts()
        columns = table.column_names
        if name is not None and name not in columns:
            raise InputError(f"--name-column {name}: no such column; there are {listing(columns)}")
        ids = node_column(columns, name=node if node in columns else None)
        return NodeTexts(table, ids, name or named(columns, NAME, but=(ids,)))

    def name_of(self, row: int) -> str:
        """What a node is called; nothing if it has no name."""
        return self._text(self.name, row)

    def called(self, row: int, node: Hashable) -> str:
        """A node by its id and, if that is another, its name."""
        name = self.name_of(row)
        return str(node) if name in ("", str(node)) else f"{node}, {name}"

    def values(self, row: int) -> list[tuple[str, str]]:
        """A node's row but for its id, name and what is empty; of a wide table also but for zeros."""
        if self.table is None:
            return []
        left_out = {self.node, self.name}
        names = [name for name in self.table.column_names if name not in left_out]
        found = [(name, self._text(name, row)) for name in names]
        wide = len(names) > COLUMNS
        return [(name, text) for name, text in found if text and not (wide and text in ("0", "0.0", "False"))]

    def _text(self, column: str | None, row: int) -> str:
        if column is None or row >= self.table.num_rows:
            return ""
        value = self.table[column][row].as_py()
        return "" if value is None or value != value else " ".join(str(value).split())  # noqa: PLR0124
