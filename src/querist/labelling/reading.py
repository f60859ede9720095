"""The graph to label, from a file of edges and perhaps a file of nodes, and what was done with them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.graph.entries import some
from querist.graph.files import GRAPHML, STANDARD_INPUT, node_file
from querist.graph.tables import TableFile, distinct_ids, frame_of, label_column, node_column
from querist.labelling.growth import NewNodes
from querist.labelling.nodes import Attributes, attributes_of

ODD = 0.01
"""Up to this share of ids that are no whole numbers among such that are is said aloud."""


@dataclass(frozen=True)
class Source:
    """A graph with its attributes, and in sentences how it came about.

    `labels` holds the labels that the table of nodes has, by node id; they are no attributes. `made` says how
    the table's columns became attributes, and `table` is the table, whose rows are the first nodes.
    """

    graph: Graph
    labels: dict[Hashable, Any]
    notes: tuple[str, ...]
    made: Attributes | None = None
    table: Any = None


def arrived(
    source: Source,
    edges: Sequence[str],
    nodes: Sequence[str | Path] = (),
    /,
    *,
    id: str | None = None,
    **columns: Any,
) -> Iterator[tuple[Graph | None, NewNodes | None]]:
    """(edges, nodes) to join one after the other: the nodes first, so that their edges find them.

    Attributes of new nodes are made as those of the first table: the same words, categories and scales. `id`
    is the column of the ids of nodes; `columns` are those of the edges, as `as_graph` has them.
    """
    tables = [node_file(Path(path).expanduser(), id) for path in nodes]
    tables += [node_file(Path(path).expanduser()) for path in edges if path.lower().endswith(GRAPHML)]
    for file in tables:
        yield None, _new_nodes(file, source, id)
    for path in edges:
        yield as_graph(path if path == STANDARD_INPUT else Path(path).expanduser(), **columns), None


def _new_nodes(file: TableFile, source: Source, id: str | None) -> NewNodes:
    names = file.table.column_names
    node = node_column(names, file.place.name, id)
    ids = distinct_ids(frame_of(file.table, file.place.name), node, file.place)
    return NewNodes(ids, None if source.made is None else source.made.of(file.table))


def read_source(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    id: str | None = None,
    label: str | None = None,
    elsewhere: bool = False,
    **columns: Any,
) -> Source:
    """Read edges (`as_graph` says which files), and attributes from a table of nodes where there is one.

    A GraphML file is its own table of nodes. Nodes that only one of the files knows are kept: a node without
    a row has no attributes, one without an edge hears nothing from others. `id` and `label` name columns of
    the table of nodes, which may lack the labels where they are read from `elsewhere`; `columns` are those of
    the edges, as `as_graph` has them.
    """
    path = edges if str(edges) == STANDARD_INPUT else Path(edges).expanduser()
    if nodes is None and str(path).lower().endswith(GRAPHML):
        nodes = path
    if nodes is None:
        return source_of(as_graph(path, labels=None if elsewhere else label, **columns))
    file = node_file(Path(nodes).expanduser(), id)
    if elsewhere and label not in file.table.column_names:
        label = None
    source = with_attributes(as_graph(path, nodes=file, id=id, labels=label, **columns), file, id, label)
    return replace(source, notes=(*source.notes, *_odd_ids(source.graph)))


def source_of(graph: Graph) -> Source:
    """A graph with the attributes and the labels that it holds."""
    held = () if graph.attributes is None else (f"attributes: {graph.attributes.shape[1]:,}, as they are",)
    return Source(graph, own_labels(graph), (*held, *_odd_ids(graph)))


def with_attributes(graph: Graph, file: TableFile, id: str | None = None, label: str | None = None) -> Source:
    """The graph, whose first nodes are the rows of the table, with the attributes that the table gives."""
    names = file.table.column_names
    node = node_column(names, file.place.name, id)
    usual = label_column(names, node)
    held = list(dict.fromkeys(name for name in (label, usual) if name is not None))
    found = attributes_of(file, [node, *held])
    rows, n = file.table.num_rows, graph.n_nodes
    alone = int((graph.degrees[:rows] == 0).sum())
    notes = [
        *(f"{name}: holds labels, so it is no attribute" for name in held),
        *(
            [f"{some(n - rows, 'node')} of the edges without a row, and so without attributes"]
            if n > rows
            else []
        ),
        *(
            [f"{some(alone, 'row')} for {'nodes' if alone > 1 else 'a node'} without an edge"]
            if alone
            else []
        ),
    ]
    labels = own_labels(graph)
    bare = replace(graph, codes=None, label_matrix=None, classes=())
    if found is None:
        said = (*notes, "the table of nodes gives no attributes")
        return Source(bare, labels, said, table=file.table)
    matrix = sp.csr_array(sp.vstack([found.matrix, sp.csr_array((n - rows, found.matrix.shape[1]))]))
    said = (*found.notes, *notes)
    return Source(replace(bare, attributes=matrix), labels, said, found, file.table)


def _odd_ids(graph: Graph) -> tuple[str, ...]:
    """A word about ids that nearly all are whole numbers: one that is not may be a slip."""
    nodes: Any = graph.nodes
    if not isinstance(nodes[0], str):
        return ()
    odd = [name for name in nodes if not name.isdecimal()]
    if not 0 < len(odd) <= ODD * len(nodes):
        return ()
    shown = ", ".join(map(repr, odd[:3])) + (", ..." if len(odd) > 3 else "")
    return (f"ids are text: {some(len(odd), 'id')} of {len(nodes):,} that are no whole numbers ({shown})",)


def check_weights(graph: Graph) -> None:
    """Refuse negative weights before the work and before anybody answers: no method could label then."""
    S = graph.adjacency
    if not S.nnz or S.data.min() >= 0:
        return
    assert graph.nodes is not None
    below = np.flatnonzero(S.data < 0)
    row = int(np.searchsorted(S.indptr, below[0], side="right")) - 1
    ends = f"{graph.nodes[row]!r} and {graph.nodes[S.indices[below[0]]]!r}"
    many, first = some(below.size // 2, "edge"), f"{S.data[below[0]]:g}"
    raise InputError(
        f"{many} with a negative weight, the first {first} between {ends}; "
        "labels spread along weights above 0: leave such edges out, or give them other weights"
    )


def own_labels(graph: Graph) -> dict[Hashable, Any]:
    """The labels that the graph came with, by node; sets where a node may have several."""
    nodes: Any = graph.nodes
    if graph.labels is not None:
        return {v: own for v, own in zip(nodes, graph.labels, strict=True) if own is not None}
    if graph.label_matrix is None:
        return {}
    Y = graph.label_matrix
    held = (Y.indices[Y.indptr[i] : Y.indptr[i + 1]] for i in range(graph.n_nodes))
    return {v: {graph.classes[k] for k in own} for v, own in zip(nodes, held, strict=True) if own.size}
