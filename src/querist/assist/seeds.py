"""A file of known labels: a row names a node and its label.

Columns are `node` (or `id`, else the first) and `label` (or `class`, else the other of two). Labels are
text, or integers where every one is the plain form of one; an empty one is no label. A file without a
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
from querist.labels import class_order, is_missing


@dataclass(frozen=True)
class Seeds:
    """Labels by node id, each a value or, with several labels a node, a set; and what was found, in words."""

    labels: Mapping[Hashable, Any]
    classes: tuple[Hashable, ...]
    notes: tuple[str, ...]


def read_seeds(
    path: str | Path, graph: Graph, *, multi_label: bool = False, label: str | None = None
) -> Seeds:
    """The labels in a file for nodes of this graph; `label` names the column that holds them."""
    file = Path(path).expanduser()
    known = {str(node) for node in graph.row_of}
    table = read_table(
        file,
        lambda columns: _columns(columns, label, file.name),
        lambda table, names: label is None and names[0].lower() not in NODE and names[0] in known,
    )
    return seeds_of(table, graph, multi_label=multi_label, label=label)


def seeds_of(file: TableFile, graph: Graph, *, multi_label: bool = False, label: str | None = None) -> Seeds:
    """The labels in a table."""
    node, value = _columns(file.table.column_names, label, file.place.name)
    given = file.table[node].to_pylist()
    # On their own: ids may be words where labels are numbers.
    values = (plain_integers(file.table, [value]) if file.text else file.table)[value].to_pylist()
    ids = _known_ids(given, graph, file.place)
    labels: dict[Hashable, Any] = {}
    first: dict[Hashable, int] = {}
    empty = repeated = 0
    for row, (name, own) in enumerate(zip(ids, values, strict=True)):
        if is_missing(own):
            empty += 1
        elif name not in labels:
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
    if len(classes) < 2:
        only = f"only the class {classes[0]!r}" if classes else "no label"
        raise InputError(f"{file.place}: {only}; label nodes of at least 2 classes")
    notes = [
        f"{some(len(labels), 'labelled node')}, {some(len(classes), 'class', 'es')}",
        *([f"{some(empty, 'row')} without a label, not used"] if empty else []),
        *([f"{some(repeated, 'row')} that repeat another"] if repeated else []),
    ]
    return Seeds(labels, classes, tuple(notes))


def _columns(columns: Sequence[str], label: str | None, where: str) -> tuple[str, str]:
    """The columns of the node and of its label."""
    node = node_column(columns, where)
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


def _known_ids(given: Sequence[Any], graph: Graph, place: Place) -> list[Hashable]:
    """The ids as the graph has them: 7 in one file is "7" in another."""
    rows = graph.row_of
    if all(name in rows for name in given):
        return list(given)
    by_text = {str(node): node for node in rows}
    found = [name if name in rows else by_text.get(str(name)) for name in given]
    unknown = [row for row, name in enumerate(found) if name is None]
    if unknown:
        name, like = given[unknown[0]], next(iter(rows))
        what = (
            "no node" if name is None else f"node {name!r} is not in the graph (its nodes are like {like!r})"
        )
        more = f", and {some(len(unknown) - 1, 'more row')} like it" if len(unknown) > 1 else ""
        raise InputError(f"{place.at(unknown[0])}: {what}{more}; mend the id, or add the node to the edges")
    return [name for name in found if name is not None]


def _twice(name: Hashable, one: tuple[int, Any], other: tuple[int, Any], place: Place) -> str:
    return (
        f"{place}: node {name!r} is {one[1]!r} in {place.rows(one[0])} and {other[1]!r} in "
        f"{place.rows(other[0])}; keep one, or allow several labels a node (--multi-label)"
    )
