"""The tables of a graph on a cluster, how they become segments on disk, and what every verb does around it.

Edges, and perhaps labels (`node, label`) and attributes (`node, attribute, count`), each a folder of parquet
or CSV files. Ranks read them, find components, place rows where their neighbours are, and write segments
(store.py). A run that was stopped finds them there.
"""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import scipy.sparse as sp

from querist.cluster.components import components, largest
from querist.cluster.mpi import MPI, leader
from querist.cluster.partition import RankRows, cut_share, partitioned
from querist.cluster.reading import (
    Destination,
    Directory,
    EdgeColumns,
    codes_of,
    column_names,
    edge_table,
    ids_of,
    read_columns,
    read_rows,
    routed,
    table_files,
)
from querist.cluster.run import ranks_of
from querist.cluster.store import WHOLE, WORK, begun, read_about, write_rows
from querist.cluster.transport import Group
from querist.errors import InputError
from querist.graph_options import FileKeywords, FileOptions
from querist.tables.arrow import pa, pc
from querist.tables.names import named, node_and_label, node_column
from querist.types import Codes

WORDS = ("attribute", "word")
COUNTS = ("count", "value")


@dataclass(frozen=True)
class PartedTable:
    """Files of a table and the columns that are read: the node, a label or attribute, maybe a number."""

    files: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class GraphTables:
    """What a verb reads; `connect` keeps the largest component alone."""

    edges: tuple[str, ...]
    ends: EdgeColumns
    labels: PartedTable | None = None
    attributes: PartedTable | None = None
    connect: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """All that are read."""
        others = [table.files for table in (self.labels, self.attributes) if table is not None]
        return sum(others, self.edges)


def graph_tables(
    edges: str | Path,
    labels: str | Path | None = None,
    attributes: str | Path | None = None,
    *,
    connect: bool = False,
    **columns: Unpack[FileKeywords],
) -> GraphTables:
    """Files and columns, looked at before anything is started; columns of other tables are refused."""
    asked = FileOptions.resolve(None, columns)
    apart = {} if labels is not None else {"label_column": "labels"}
    apart |= {} if labels is not None or attributes is not None else {"id": "labels or attributes"}
    for name in asked.changed():
        if name not in FileOptions.on("cluster"):
            raise InputError(f"{name} does nothing on a cluster; leave it out")
        if name in apart:
            raise InputError(f"{name} names a column of a table of {apart[name]}; leave it out, or give one")
    files = table_files(edges)
    return GraphTables(
        files,
        edge_table(files[0], asked.source, asked.target, asked.weight),
        None if labels is None else _labels(labels, asked.id, asked.label_column),
        None if attributes is None else _attributes(attributes, asked.id),
        connect,
    )


def _labels(place: str | Path, id: str | None, label: str | None) -> PartedTable:
    files = table_files(place)
    return PartedTable(files, node_and_label(column_names(files[0]), Path(files[0]).name, label, id))


def _attributes(place: str | Path, id: str | None) -> PartedTable:
    files = table_files(place)
    columns = column_names(files[0])
    node = node_column(columns, Path(files[0]).name, id)
    word = named(columns, WORDS, but=(node,))
    if word is None:
        raise InputError(
            f"{files[0]}: attributes on a cluster are rows of node, attribute, count; there are "
            f"{', '.join(columns)}. Call the second one attribute"
        )
    count = named(columns, COUNTS, but=(node, word))
    return PartedTable(files, (node, word) if count is None else (node, word, count))


class Worked(NamedTuple):
    """What a verb did: `parts` are the ranks' answers, `about` what is known of the graph, `seconds` of
    reading and of solving."""

    place: Path
    parts: list[Any]
    about: Mapping[str, Any]
    seconds: Mapping[str, float]

    @property
    def numbers(self) -> dict[str, Any]:
        """What every verb says of its work; an edge counts once."""
        return {
            "out": str(self.place),
            "workers": len(self.parts),
            "cut": float(self.about["cut"]),
            "nodes": int(self.about["segments"][-1]),
            "edges": int(self.about["entries"]) // 2,
            "bytes": sum(part["bytes"] for part in self.parts),
            "seconds": self.seconds,
        }


def work_on(
    cluster: str,
    workers: int | None,
    out: str | Path,
    tables: GraphTables,
    work: Callable[..., Any],
    *settings: Any,
) -> Worked:
    """`work(group, place, *settings)` on all workers, once the graph lies in `place / WORK`, which is removed
    at the end; where a run of the same was stopped, it is gone on with."""
    if cluster == MPI:
        leader()  # of all processes only the first goes on from here
    place = begun(out, tables, (work.__name__, *settings))
    with ranks_of(cluster, workers) as on_all:
        began = time.perf_counter()
        on_all(prepare, place / WORK, tables)
        read = time.perf_counter()
        parts = on_all(work, place, *settings)
        seconds = {"reading": read - began, "solving": time.perf_counter() - read}
    about = read_about(place / WORK)
    shutil.rmtree(place / WORK)
    return Worked(place, parts, about, seconds)


def prepare(group: Group, work: Path, tables: GraphTables) -> None:
    """The graph of the tables as segments in `work`; nothing where it is there already."""
    if int(group.everyone(np.array(int((work / WHOLE).is_file())))[0]):
        return
    rows, directory = read_rows(group, tables.edges, tables.ends)
    names = rows.names
    shard = rows.shard(group)
    component = components(shard)
    kept, count = largest(shard, component)
    linked = np.diff(shard.indptr) > 0
    keep = kept if tables.connect else linked
    counts = np.array([keep.sum(), (linked & ~keep).sum()])
    nodes, left = np.sum(group.everyone(counts), axis=0).tolist()
    if nodes < 2:
        raise InputError("the graph has no edge between two nodes; give a table of edges")
    parted, fresh = partitioned(shard, names, keep)
    del shard, rows
    to = Destination(fresh, parted.bounds)
    about: dict[str, Any] = {
        "cut": cut_share(group, parted),
        "entries": int(np.sum(group.everyone(np.array(parted.columns.size)))),
        "components": count,
        "left_out": left,
    }
    beside: dict[str, Any] = {}
    matrix = None
    if tables.labels is not None:
        beside["codes"], classes, lost = _codes(group, directory, to, parted, tables.labels)
        about |= {"classes": list(classes), "lost_labels": lost}
    if tables.attributes is not None:
        matrix, words, lost = _counts(group, directory, to, parted, tables.attributes)
        about |= {"words": list(words), "lost_attributes": lost}
    write_rows(group, work, parted, ids_of(group, directory, to, parted), beside, about, matrix)


def _codes(
    group: Group, directory: Directory, to: Destination, rows: RankRows, table: PartedTable
) -> tuple[Codes, list[Any], int]:
    """(own,) class of every own row or -1, the classes, and how many labels are of no node with edges."""
    found = read_columns(group, table.files, table.columns)
    codes, classes = codes_of(group, None if found is None else found[table.columns[1]])
    if len(classes) < 2:
        raise InputError(f"the labels name {len(classes)} class; at least two are needed")
    keys = _keys(directory, found, table.columns[0])
    given = codes >= 0
    at, values, lost = routed(group, directory, to, keys[given], codes[given])
    own = np.full(rows.names.size, -1, dtype=np.int64)
    # The smallest class, where a node has several labels: the order of files must not matter.
    np.maximum.at(own, at, len(classes) - values)
    return np.where(own >= 0, len(classes) - own, -1), classes, lost


def _counts(
    group: Group, directory: Directory, to: Destination, rows: RankRows, table: PartedTable
) -> tuple[Any, Sequence[str], int]:
    """(own, words) counts of own rows, the words, and how many rows are of no node with edges."""
    found = read_columns(group, table.files, table.columns)
    codes, words = codes_of(group, None if found is None else found[table.columns[1]])
    if not words:
        raise InputError("the table of attributes is empty; leave it out")
    keys = _keys(directory, found, table.columns[0])
    counts = np.ones(codes.size)
    if len(table.columns) > 2 and found is not None:
        counts = np.asarray(pc.cast(found[table.columns[2]], pa.float64()), dtype=np.float64)
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise InputError("counts of attributes must be finite numbers, 0 or more")
    given = codes >= 0
    both = np.column_stack([codes[given].astype(np.float64), counts[given]])
    at, values, lost = routed(group, directory, to, keys[given], both)
    matrix = sp.csr_array(
        (values[:, 1], (at, values[:, 0].astype(np.int64))), shape=(rows.names.size, len(words))
    )
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix, words, lost


def _keys(directory: Directory, found: Any, column: str) -> Any:
    if found is None:
        return np.empty(0, dtype=directory.made.dtype)
    return directory.made.of(found[column])
