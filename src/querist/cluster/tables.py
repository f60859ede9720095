"""The tables of a graph on a cluster, how they become segments on disk, and what every verb does around it.

Edges, and perhaps labels (`node, label`) and attributes (`node, attribute, count`), each a folder of parquet
or CSV files. Ranks read them, find components, place rows where their neighbours are, and write segments
(store.py). A run that was stopped finds them there.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from querist.cluster.mpi import MPI, leader
from querist.cluster.partition import cut_share, partitioned
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
from querist.cluster.shard import components, largest
from querist.cluster.store import WHOLE, WORK, begun, read_about, write_rows
from querist.cluster.transport import Group
from querist.errors import InputError
from querist.graph_options import FileKeywords, FileOptions
from querist.tables.arrow import pa, pc
from querist.tables.names import named, node_and_label, node_column
from querist.types import Codes, Floats

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


@dataclass(frozen=True, kw_only=True)
class Written:
    """What became of the work of a verb.

    Parameters
    ----------
    out : folder of the results, parquet files
    workers, cut : how many worked; the share of the entries between them
    nodes, edges : of the graph
    bytes : of the results
    seconds : reading and placing; solving
    """

    out: str
    workers: int
    cut: float
    nodes: int
    edges: int
    bytes: int
    seconds: Mapping[str, float]


def work_on(
    cluster: str,
    workers: int | None,
    out: str | Path,
    tables: GraphTables,
    work: Callable[..., Any],
    *settings: Any,
) -> tuple[list[Any], Mapping[str, Any], dict[str, Any]]:
    """`work(group, place, *settings)` on all workers, once the graph lies in `place / WORK`, which is removed
    at the end; where a run of the same was stopped, it is gone on with.

    The ranks' answers, what is known of the graph, and what every verb says of its work; an edge counts once.
    """
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
    return (
        parts,
        about,
        {
            "out": str(place),
            "workers": len(parts),
            "cut": float(about["cut"]),
            "nodes": int(about["segments"][-1]),
            "edges": int(about["entries"]) // 2,
            "bytes": sum(part["bytes"] for part in parts),
            "seconds": seconds,
        },
    )


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
        at, codes, _, classes, about["lost_labels"] = _named(group, directory, to, tables.labels)
        if len(classes) < 2:
            raise InputError(f"the labels name {len(classes)} class; at least two are needed")
        # The smallest class, where a node has several labels: the order of files must not matter.
        least = np.full(parted.names.size, len(classes))
        np.minimum.at(least, at, codes)
        about["classes"], beside["codes"] = classes, np.where(least < len(classes), least, -1)
    if tables.attributes is not None:
        at, codes, counts, words, about["lost_attributes"] = _named(group, directory, to, tables.attributes)
        if not words:
            raise InputError("the table of attributes is empty; leave it out")
        matrix = sp.csr_array((counts, (at, codes)), shape=(parted.names.size, len(words)))
        matrix.sum_duplicates()
        matrix.sort_indices()
        about["words"] = words
    write_rows(group, work, parted, ids_of(group, directory, to, parted), beside, about, matrix)


def _named(
    group: Group, directory: Directory, to: Destination, table: PartedTable
) -> tuple[Codes, Codes, Floats, list[Any], int]:
    """What a table says of nodes: own row, code of the name and number (1 without) of each of its rows; the
    names; and how many rows are of no node with edges."""
    found = read_columns(group, table.files, table.columns)
    node, name, *number = (found[column] for column in table.columns)
    codes, names = codes_of(group, name)
    numbers = np.asarray(pc.cast(number[0], pa.float64())) if number else np.ones(codes.size)
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InputError("counts of attributes must be finite numbers, 0 or more")
    given = codes >= 0
    both = np.column_stack([codes, numbers])[given]
    at, values, lost = routed(group, directory, to, directory.made.of(node)[given], both)
    return at, values[:, 0].astype(np.int64), values[:, 1], names, lost
