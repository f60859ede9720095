"""A file of known labels: a row names a node and its label.

Columns are `node` (or `id`, else the first) and `label` (or `class`, else the other of two). Labels are
text, or integers where every one is the plain form of one; an empty one, or NaN, is no label. Where a node
may have several, a field may hold them with `;` between them, and parquet lists of them. A file without a
header is told by its first line, which then names a node. Whatever is wrong is said by line.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.graph.entries import some
from querist.graph.files import read_table
from querist.graph.graph import Graph
from querist.graph.tables import NODE, Place, TableFile, label_column, node_column
from querist.graph.text import plain_integers
from querist.labels import UNLABELLED, class_order, implied_missing, is_missing

BETWEEN = ";"
EMPTY = ("na", "n/a", "none", "null", "unknown", "?", "-")
"""Classes that look like no label: they are taken at their word, which is said."""


@dataclass(frozen=True)
class Seeds:
    """Labels by node id, each a value or, with several labels a node, a set; and what was found, in words."""

    labels: Mapping[Hashable, Any]
    classes: tuple[Hashable, ...]
    notes: tuple[str, ...]


def read_seeds(
    path: str | Path,
    graph: Graph,
    *,
    multi_label: bool = False,
    label: str | None = None,
    id: str | None = None,
    least: int = 2,
    strangers: bool = False,
) -> Seeds:
    """The labels in a file for nodes of this graph.

    Parameters
    ----------
    label : the column that holds them
    id : the column that holds the ids, where the table has it
    least : classes that there must be
    strangers : whether labels of nodes that the graph has not are left out; otherwise they are refused
    """
    source = Path(path).expanduser()
    known = {str(node) for node in graph.row_of}
    file = read_table(
        source,
        lambda columns: _columns(columns, label, source.name, id),
        lambda table, names: (
            label is None and id is None and names[0].lower() not in NODE and names[0] in known
        ),
    )
    node, value = _columns(file.table.column_names, label, file.place.name, id)
    ids = _known_ids(file.table[node].to_pylist(), graph, file.place, strangers)
    labels: dict[Hashable, Any] = {}
    first: dict[Hashable, int] = {}
    empty = repeated = strange = 0
    found = _members(file, value, multi_label)
    marked = implied_missing((own for members in found for own in members), parameter=None) == UNLABELLED
    n_marked = sum(UNLABELLED in members for members in found) if marked else 0
    if marked:
        found = [[own for own in members if own != UNLABELLED] for members in found]
    for row, (name, members) in enumerate(zip(ids, found, strict=True)):
        strange += name is None
        empty += not members
        for own in members if name is not None else ():
            if name not in labels:
                labels[name], first[name] = ({own} if multi_label else own), row
            elif multi_label:
                repeated += own in labels[name]
                labels[name].add(own)
            elif labels[name] == own:
                repeated += 1
            else:
                raise InputError(_twice(name, (first[name], labels[name]), (row, own), file.place))
    sets = labels.values() if multi_label else ({own} for own in labels.values())
    classes = class_order(own for members in sets for own in members)
    if len(classes) < least:
        only = f"only the class {classes[0]!r}" if classes else "no label"
        raise InputError(f"{file.place}: {only}; label nodes of at least {some(least, 'class', 'es')}")
    notes = [
        f"{some(len(labels), 'labelled node')}, {some(len(classes), 'class', 'es')}",
        *([f"{some(empty - n_marked, 'row')} without a label, not used"] if empty > n_marked else []),
        *([f"{some(n_marked, 'row')} labelled -1, taken as unlabelled beside class numbers; write words if "
           "it is a class"] if n_marked else []),
        *([f"{some(repeated, 'label')} given more than once"] if repeated else []),
        *([f"{some(strange, 'row')} for other nodes, not used"] if strange else []),
        *(f"{own!r} is taken as a class; leave the field empty where there is no label" for own in classes
          if str(own).lower() in EMPTY),
    ]  # fmt: skip
    return Seeds(labels, classes, tuple(notes))


def _members(file: TableFile, column: str, multi_label: bool) -> list[Sequence[Any]]:
    """The labels in every row: one or none; of several a list, or in text what stands between `;`."""
    if not file.text:
        values = file.table[column].to_pylist()
        lists = any(isinstance(own, list) for own in values)
        if lists and not multi_label:
            raise InputError(
                f"{file.place}: column {column!r} holds lists; give one label a node, or allow several "
                "(--multi-label)"
            )
        return [own or () if isinstance(own, list) else () if is_missing(own) else (own,) for own in values]
    if multi_label and _holds(file.table[column], BETWEEN):
        texts = ("" if own is None else str(own) for own in file.table[column].to_pylist())
        return [[name for part in own.split(BETWEEN) if (name := part.strip())] for own in texts]
    # On their own: ids may be words where labels are numbers.
    values = plain_integers(file.table, [column])[column].to_pylist()
    return [() if own is None or str(own).lower() == "nan" else (own,) for own in values]


def _holds(column: Any, mark: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(column.cast(pa.string()), mark)).as_py())


def _columns(columns: Sequence[str], label: str | None, where: str, id: str | None = None) -> tuple[str, str]:
    """The columns of the node and of its label."""
    node = node_column(columns, where, id if id in columns else None)
    if label is not None:
        if label not in columns or label == node:
            raise InputError(
                f"{where}, line 1: no column {label!r} for the labels; there are {', '.join(columns)}"
            )
        return node, label
    value = label_column(columns, node)
    others = [column for column in columns if column != node]
    if value is None and len(others) == 1:
        value = others[0]
    if value is None:
        raise InputError(
            f"{where}, line 1: no column 'label'; there are {', '.join(columns)}. Give node and label, or "
            "name the column of the labels"
        )
    return node, value


def _known_ids(
    given: Sequence[Any], graph: Graph, place: Place, strangers: bool
) -> Sequence[Hashable | None]:
    """The ids as the graph has them: 7 in one file is "7" in another. None for a stranger."""
    rows = graph.row_of
    if all(name in rows for name in given):
        return given
    by_text = {str(node): node for node in rows}
    found = [name if name in rows else by_text.get(str(name)) for name in given]
    unknown = [row for row, name in enumerate(found) if name is None]
    if unknown and (not strangers or len(unknown) == len(found)):
        name, like = given[unknown[0]], next(iter(rows))
        what = (
            "no node" if name is None else f"node {name!r} is not in the graph (its nodes are like {like!r})"
        )
        more = f", and {some(len(unknown) - 1, 'more row')} like it" if len(unknown) > 1 else ""
        raise InputError(f"{place.at(unknown[0])}: {what}{more}; mend the id, or add the node to the edges")
    return found


def _twice(name: Hashable, one: tuple[int, Any], other: tuple[int, Any], place: Place) -> str:
    return (
        f"{place}: node {name!r} is {one[1]!r} in {place.rows(one[0])} and {other[1]!r} in "
        f"{place.rows(other[0])}; keep one, or allow several labels a node (--multi-label)"
    )
