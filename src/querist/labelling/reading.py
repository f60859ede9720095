"""The graph to label and its labels, from files or a data set, and what was done with them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from querist.atomic import checked_path
from querist.codec import holds
from querist.datasets import load_graph, table_of
from querist.datasets.resolve import is_path
from querist.errors import InputError, refuse
from querist.graph import Graph, as_graph, from_points
from querist.graph.graph import ends_of
from querist.graph_options import FileOptions
from querist.labelling.growth import join
from querist.labelling.storage import KIND
from querist.labels import class_order, is_missing
from querist.progress import Progress, silent
from querist.tables.arrow import pa
from querist.tables.files import STANDARD_INPUT, is_file_name, node_file
from querist.tables.formats import Origin, some
from querist.tables.labels import Seeds, read_seeds
from querist.tables.nodes import NodeTable, read_nodes

FileName = str | PathLike[str]

OF_FILES = ("missing", "ignore_unknown")
"""Options of `label` that are about reading labels, which the files have too."""
NEIGHBOURS = 10
"""Nearest neighbours that each row of a table without edges is joined to."""


@dataclass(frozen=True)
class Source:
    """A graph with its attributes; `graph.notes` says in sentences how it came about.

    `labels` holds the labels that the files have, by node id; the graph has none. `table` is the table of
    nodes, whose rows are the first nodes.
    """

    graph: Graph
    labels: dict[Hashable, Any]
    table: Any = None


@dataclass(frozen=True)
class GraphFiles(FileOptions):
    """Where a graph is read from.

    Parameters
    ----------
    edges : the name of a data set, or a file of edges in any format that `as_graph` takes; "-" is the
        standard input. Without edges, the rows of `nodes` are joined to their nearest neighbours. For
        `from_files` also a saved labelling, to which `extend` and `extend_nodes` are new
    nodes : a table of the nodes, whose columns become attributes
    extend : further files of edges, perhaps to new nodes
    extend_nodes : further tables of nodes, with the columns of `nodes`

    and those of `FileOptions`. Between files the largest weight of an edge counts, so that a file may be
    given again.

    >>> _ = Path("payments.csv").write_text("payer,payee\\nann,bob\\nbob,cy\\n")
    >>> GraphFiles("payments.csv", source="payer", target="payee").read().graph.n_nodes
    3
    """

    edges: FileName | None = None
    nodes: FileName | None = None
    extend: Sequence[FileName] = ()
    extend_nodes: Sequence[FileName] = ()

    @classmethod
    def of(cls, graph: "GraphFiles | FileName", keywords: Mapping[str, Any]) -> "GraphFiles":
        """The files, or those of one name; with what `keywords` say of reading labels."""
        files = graph if isinstance(graph, GraphFiles) else cls(graph)
        return replace(files, **{name: keywords[name] for name in OF_FILES if name in keywords})

    def of_graph(self) -> dict[str, Any]:
        """The options of `as_graph`: tables of labels are read here."""
        return {name: own for name, own in super().of_graph().items() if name != "ignore_unknown"}

    @property
    def title(self) -> FileName:
        """The file or data set that the graph is named after."""
        named = self.edges if self.edges is not None else self.nodes
        if named is None:
            raise InputError(
                "no graph is given; give a data set, a file of edges, or a table of nodes (--nodes)"
            )
        return named

    @property
    def is_named(self) -> bool:
        """Whether `edges` is the name of a data set."""
        return self.edges is not None and not is_path(self.edges)

    @property
    def is_saved(self) -> bool:
        """Whether `edges` is a saved labelling."""
        return not self.is_named and self.edges not in (None, STANDARD_INPUT) and holds(self.paths[0], KIND)

    @property
    def paths(self) -> list[Path]:
        """Every file that is read, but for the standard input."""
        named = (None if self.is_named else self.edges, self.nodes, *self.extend, *self.extend_nodes)
        return [
            checked_path(file).expanduser()
            for file in named
            if file is not None and str(file) != STANDARD_INPUT
        ]

    def read(self, *, labels_elsewhere: bool = False, progress: Progress | None = None) -> Source:
        """The graph of `edges` and `nodes`; the nodes may lack `label_column` if labels are elsewhere.

        A GraphML file is its own table of nodes. Nodes that only one of the files knows are kept: a node
        without a row has no attributes, one without an edge hears nothing from others. Without edges, each
        row of the table is joined to its nearest neighbours (`from_points`).
        """
        self.check_options(labels_elsewhere)
        given, nodes = self.of_graph(), self.nodes
        if self.is_named:
            if labels_elsewhere:  # then these are about the table of labels
                given = {name: value for name, value in given.items() if name not in ("id", "labels")}
            given = ({} if nodes is None else {"nodes": nodes}) | given
            graph = load_graph(self.title, progress=progress or silent, **given)
            shown = table_of(str(self.title))
            return _source(graph, None, None if shown is None else pa.table(shown))
        id, label, missing = (given.pop(name, None) for name in ("id", "labels", "missing"))
        edges = None if self.edges is None else str(self.title)
        if nodes is None and is_file_name(str(edges), "nodes"):
            nodes, id = edges, None
        if nodes is None:
            return _source(as_graph(edges, labels=None if labels_elsewhere else label, **given), missing)
        columns = node_file(Path(nodes).expanduser(), id, label)
        if labels_elsewhere and label not in columns.table.column_names:
            label = None
        table = read_nodes(columns, id=id, label=label)
        if edges is None:
            graph = _neighbour_graph(table, columns.origin)
            return _source(replace(graph, notes=(*graph.notes, *table.notes)), missing, table.table, ())
        return _source(as_graph(edges, nodes=table, **given), missing, table.table, ())

    def check_options(self, labels_elsewhere: bool) -> None:
        """Refuse options about tables that are not given."""
        named, saved = self.is_named, self.is_saved
        for table, about, is_given in (
            (
                "file of edges",
                ("source", "target", "weight", "parallel"),
                named or self.extend or not (saved or self.edges is None),
            ),
            ("table of labels", ("ignore_unknown", "missing", "label_column"), labels_elsewhere or not saved),
            (
                "table of nodes or labels",
                ("id",),
                named or self.nodes or self.extend_nodes or labels_elsewhere,
            ),
        ):
            idle = [name for name in about if getattr(self, name) != getattr(type(self), name)]
            refuse(
                {f"{', '.join(idle)}: no {table} is given; leave it out, or give one": idle and not is_given}
            )

    def arrivals(self) -> list[tuple[Graph | None, NodeTable | None]]:
        """(edges, nodes) of the further files, to be joined one after the other: the nodes first, so that
        their edges find them."""
        given, edges = self.of_graph(), [str(file) for file in self.extend]
        id, *_ = (given.pop(name, None) for name in ("id", "labels", "missing"))
        nodes = [read_nodes(Path(file), id=id, attributes=False) for file in self.extend_nodes]
        nodes += [read_nodes(file, attributes=False) for file in edges if is_file_name(file, "nodes")]
        more = [as_graph(file, attributes=False, **given) for file in edges]
        return [*((None, table) for table in nodes), *((graph, None) for graph in more)]

    def extended(self, graph: Graph) -> Graph:
        """A graph with all that the further files hold."""
        for edges, nodes in self.arrivals():
            graph = join(graph, edges, nodes)
        return graph

    def read_labels(
        self,
        labels: FileName,
        graph: Graph,
        *,
        multilabel: bool = False,
        least: int = 2,
        ignore_unknown: bool = False,
    ) -> Seeds:
        """The labels in a table, or of a data set, for nodes of this graph (see `read_seeds`)."""
        ignore_unknown = ignore_unknown or self.ignore_unknown
        if not is_path(labels):
            return _named_seeds(str(labels), graph, least, ignore_unknown)
        return read_seeds(
            Path(labels),
            graph.row_of,
            multilabel=multilabel,
            label=self.label_column,
            id=self.id,
            missing=self.missing,
            least=least,
            ignore_unknown=ignore_unknown,
        )


def _named_seeds(name: str, graph: Graph, least: int, ignore_unknown: bool) -> Seeds:
    """The labels of a data set, for the nodes that the graph has."""
    labels = own_labels(load_graph(name))
    here = {node: own for node, own in labels.items() if node in graph.row_of}
    missing = next((node for node in labels if node not in graph.row_of), None)
    if missing is not None and not (ignore_unknown and here):
        raise InputError(f"{name}: node {missing!r} is not in the graph; give labels of its own nodes")
    classes = classes_in(here)
    if len(classes) < least:
        raise InputError(f"{name} has {some(len(classes), 'class', 'es')} of labels; at least {least} needed")
    strange = len(labels) - len(here)
    skipped = [f"{some(strange, 'label')} for nodes not in the graph, skipped"] if strange else []
    return Seeds(here, classes, (f"{some(len(here), 'labelled node')} of {name}", *skipped))


def classes_in(labels: Mapping[Hashable, Any]) -> tuple[Hashable, ...]:
    """The classes of labels by node, which may be sets."""
    sets = (own if isinstance(own, set) else {own} for own in labels.values())
    return class_order(value for own in sets for value in own)


def _neighbour_graph(table: NodeTable, where: Origin) -> Graph:
    """The rows of a table joined to their nearest neighbours; by angle if words or categories are counted."""
    if table.matrix is None or len(table.ids) < 2:
        raise InputError(
            f"{where}: no edges, and {some(len(table.ids), 'row')} without columns to compare them by; give "
            "edges, or a table of two nodes or more with attributes"
        )
    counted = any(recipe.make == "count" for recipe in table.recipes)
    return from_points(
        table.matrix,
        k=min(NEIGHBOURS, len(table.ids) - 1),
        metric="cosine" if counted else "euclidean",
        labels=table.labels,
        nodes=table.ids,
        name=Path(where.name).stem,
    )


def _source(
    graph: Graph, missing: Hashable = None, table: Any = None, notes: tuple[str, ...] | None = None
) -> Source:
    """The graph without its labels, and those beside it; `notes` on attributes that came as a matrix."""
    if notes is None:
        X = graph.attributes
        notes = () if X is None else (f"attributes: {X.shape[1]:,}, as they are",)
    bare = replace(graph.without_labels(), notes=(*graph.notes, *notes))
    return Source(bare, own_labels(graph, missing), table)


def check_weights(graph: Graph) -> None:
    """Refuse negative weights before the work and before anybody answers: no method could label then."""
    S = graph.adjacency
    if not S.nnz or S.data.min() >= 0:
        return
    below = np.flatnonzero(S.data < 0)
    many, first = some(below.size // 2, "edge"), f"{S.data[below[0]]:g}"
    raise InputError(
        f"{many} with a negative weight, the first {first} {ends_of(graph, below[0])}; "
        "labels spread along weights above 0: leave such edges out, or give them other weights"
    )


def own_labels(graph: Graph, missing: Hashable = None) -> dict[Hashable, Any]:
    """The labels that the graph came with, by node; sets if a node may have several. `missing` is none."""
    if graph.known is None:
        return {}
    made = set if graph.known.multilabel else lambda own: own
    named = zip(graph.nodes, graph.known.names(), strict=True)
    return {node: made(own) for node, own in named if not is_missing(own, missing)}
