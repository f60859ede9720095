"""The graph to label, from a file of edges and perhaps a file of nodes, and what was done with them."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from querist.assist.nodes import attributes_of
from querist.graph import Graph, as_graph
from querist.graph.entries import some
from querist.graph.files import GRAPHML, STANDARD_INPUT, node_file
from querist.graph.tables import TableFile, label_column, node_column


@dataclass(frozen=True)
class Source:
    """A graph with its attributes, and in sentences how it came about.

    `labels` holds the labels that the table of nodes has, by node id; they are no attributes.
    """

    graph: Graph
    labels: dict[Hashable, Any]
    notes: tuple[str, ...]


def read_source(edges: str | Path, nodes: str | Path | None = None) -> Source:
    """Read edges (`as_graph` says which files), and attributes from a table of nodes where there is one.

    A GraphML file is its own table of nodes. Nodes that only one of the files knows are kept: a node without
    a row has no attributes, one without an edge hears nothing from others.
    """
    path = edges if str(edges) == STANDARD_INPUT else Path(edges).expanduser()
    if nodes is None and str(path).lower().endswith(GRAPHML):
        nodes = path
    if nodes is None:
        graph = as_graph(path)
        held = (
            () if graph.attributes is None else (f"attributes: {graph.attributes.shape[1]:,}, as they are",)
        )
        return Source(graph, _own_labels(graph), held)
    file = node_file(Path(nodes).expanduser())
    graph = as_graph(path, nodes=file)
    return with_attributes(graph, file)


def with_attributes(graph: Graph, file: TableFile) -> Source:
    """The graph, whose first nodes are the rows of the table, with the attributes that the table gives."""
    names = file.table.column_names
    node = node_column(names, file.place.name)
    label = label_column(names, node)
    found = attributes_of(file, [node, *([] if label is None else [label])])
    rows, n = file.table.num_rows, graph.n_nodes
    alone = int((graph.degrees[:rows] == 0).sum())
    notes = [
        *([f"{label}: holds labels, so it is no attribute"] if label is not None else []),
        *([f"{some(n - rows, 'node')} of the edges have no row and no attributes"] if n > rows else []),
        *([f"{some(alone, 'row')} name nodes without an edge"] if alone else []),
    ]
    labels = _own_labels(graph)
    bare = replace(graph, codes=None, label_matrix=None, classes=())
    if found is None:
        return Source(bare, labels, (*notes, "the table of nodes gives no attributes"))
    matrix = sp.csr_array(sp.vstack([found.matrix, sp.csr_array((n - rows, found.matrix.shape[1]))]))
    return Source(replace(bare, attributes=matrix), labels, (*found.notes, *notes))


def _own_labels(graph: Graph) -> dict[Hashable, Any]:
    """The labels that the graph came with, by node; sets where a node may have several."""
    nodes: Any = graph.nodes
    if graph.labels is not None:
        return {v: own for v, own in zip(nodes, graph.labels, strict=True) if own is not None}
    if graph.label_matrix is None:
        return {}
    Y = graph.label_matrix
    held = (Y.indices[Y.indptr[i] : Y.indptr[i + 1]] for i in range(graph.n_nodes))
    return {v: {graph.classes[k] for k in own} for v, own in zip(nodes, held, strict=True) if own.size}
