"""A table of nodes: their ids in order, perhaps labels, and the attributes that its other columns give.

The same for a file, a data frame of any library, and the nodes of another library's graph: columns become
words, categories, counts or ranges as `attributes.py` says, and the notes tell of every column.
"""

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError, shortened
from querist.labels import NODE
from querist.tables.arrow import pa, pc
from querist.tables.attributes import attributes_of
from querist.tables.columns import Recipe
from querist.tables.decimals import with_points
from querist.tables.files import node_file
from querist.tables.formats import Columns, Origin, some
from querist.tables.frames import columns_of_frame, filled, frame_of, is_tabular, listed, numbers_in
from querist.tables.names import LABEL, listing, named, node_column


@dataclass(frozen=True)
class NodeTable:
    """What a table says of nodes.

    ids : in the order of the rows
    labels : a value a row, None where there is none; or None where the table has no labels
    matrix : (n, m) attributes, or None
    notes : what was taken, and what was left out and why, in sentences
    text : whether ids were read from text, where 7 and "7" look alike
    table : the Arrow table
    recipes : how the columns became attributes; none where they were asked for as they are

    >>> from querist.tables.nodes import read_nodes
    >>> _ = Path("nodes.csv").write_text("node,age\\nann,30\\nbob,40\\n")
    >>> read_nodes(Path("nodes.csv")).ids
    ('ann', 'bob')
    """

    ids: tuple[Hashable, ...]
    labels: list[Any] | None
    matrix: Any
    notes: tuple[str, ...]
    text: bool
    table: Any
    recipes: tuple[Recipe, ...] = ()


def is_node_table(nodes: Any) -> bool:
    """Whether nodes are given as a table: a path, a data frame, or what was read already."""
    if isinstance(nodes, str | os.PathLike | Columns | NodeTable):
        return True
    return is_tabular(nodes) and hasattr(nodes, "columns")


def read_nodes(
    nodes: Any,
    *,
    id: str | None = None,
    label: str | None = None,
    attributes: Sequence[str] | bool = True,
) -> NodeTable:
    """The nodes in a file or a data frame.

    Parameters
    ----------
    nodes : a path, a data frame of pandas, polars or Arrow, or `Columns`
    id, label : the columns that hold the ids and the labels; found by their names otherwise
    attributes : True to make what can be made of every other column; the names of columns that are numbers,
        to be taken as they are; False for none

    >>> import pyarrow as pa
    >>> table = read_nodes(pa.table({"id": [7, 8, 9], "kind": ["a", "b", "a"], "label": ["x", None, "y"]}))
    >>> table.ids, table.labels, table.matrix.toarray().tolist()
    ((7, 8, 9), ['x', None, 'y'], [[1.0], [0.0], [1.0]])
    >>> table.notes
    ('kind: 1 categories, 0 or 1 each', 'label: holds labels, so it is no attribute')
    """
    if isinstance(nodes, NodeTable):
        return nodes
    if isinstance(nodes, str | os.PathLike):
        columns = node_file(Path(nodes).expanduser(), id, label)
    else:
        index: Any = getattr(nodes, "index", None)
        if getattr(index, "nlevels", 1) > 1:
            raise InputError("node table: an index of several levels; call reset_index() and name the ids")
        if (name := getattr(index, "name", None)) is not None and name not in list(nodes.columns):
            nodes = nodes.reset_index()  # a named index of pandas holds the ids
        elif name is not None and id is None and named(nodes.columns, NODE) is None:
            if list(index) != list(nodes[name]):
                raise InputError(
                    f"node table: the index and the column {name!r} differ; rename one, or pass id="
                )
            id = str(name)
        columns = nodes if isinstance(nodes, Columns) else columns_of_frame(nodes, "node table")
    names = columns.table.column_names
    node = node_column(names, columns.origin.name, id)
    columns = _without_repeats(columns, node)
    usual = named(names, LABEL, but=(node,))
    if not columns.text:
        columns = with_points(columns, [name for name in names if name not in (node, label, usual)])
    table, where = columns.table, columns.origin
    wanted = [] if isinstance(attributes, bool) else list(attributes)
    for name in [*wanted, *([] if label is None else [label])]:
        if name not in names:
            raise InputError(f"{where}: no column {name!r}; there are {listing(names)}")
    frame = frame_of(table, where.name)
    chosen = label if label is not None else usual
    ids = tuple(listed(filled(frame, node, where)))
    labels = None if chosen is None else listed(frame.get_column(chosen))
    if attributes is not True:
        matrix = np.column_stack([numbers_in(frame, c, where) for c in wanted]) if wanted else None
        return NodeTable(ids, labels, matrix, columns.notes, columns.text, table)
    # What is named like labels is none of the attributes even where another column holds the labels.
    aside = [name for name in dict.fromkeys((chosen, usual)) if name is not None]
    made = attributes_of(columns, [node, *aside])
    others = len(names) > 1 + len(aside)
    spoken = (
        *columns.notes,
        *made.notes,
        *(f"{name}: holds labels, so it is no attribute" for name in aside),
        *(("the table of nodes gives no attributes",) if made.matrix is None and others else ()),
    )
    return NodeTable(ids, labels, made.matrix, spoken, columns.text, table, made.recipes)


def _without_repeats(columns: Columns, node: str) -> Columns:
    """The table without rows that repeat an earlier row in every column, which a note counts.

    Rows that differ may not have the same id.
    """
    ids, where = columns.table[node], columns.origin
    if pa.types.is_nested(ids.type):
        shown = shortened(next(iter(ids.to_pylist()), None))
        raise InputError(f"{where}: node id {shown} is not hashable; use strings, numbers or tuples")
    if len(pc.unique(ids)) == len(ids):
        return columns
    names = ids.to_pylist()
    often = Counter(names)
    repeated = [row for row, name in enumerate(names) if name is not None and often[name] > 1]
    first, dropped = dict[Hashable, tuple[int, str]](), list[int]()
    for row, values in zip(repeated, map(repr, columns.table.take(repeated).to_pylist()), strict=True):
        before, same = first.setdefault(names[row], (row, values))
        if same != values:
            raise InputError(
                f"{where}: node {names[row]!r} has two rows that differ, {where.rows(before)} and "
                f"{where.rows(row)}; keep one"
            )
        dropped += [row] if before != row else []
    kept = np.delete(np.arange(len(ids)), dropped)
    notes = (f"{some(len(dropped), 'exact repeat')} of an earlier row dropped",) if dropped else ()
    below = Origin(where.name, lambda row: where.rows(int(kept[row])))
    return replace(columns, table=columns.table.take(kept), origin=below, notes=(*columns.notes, *notes))
