"""The graph to label, from a file of edges and perhaps a file of nodes, and what was done with them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.tables.files import is_file_name, node_file
from querist.tables.formats import some
from querist.tables.nodes import NodeTable, read_nodes

ODD = 0.01
"""Up to this share of ids that are no whole numbers among such that are is said aloud."""


@dataclass(frozen=True)
class Source:
    """A graph with its attributes; `graph.notes` says in sentences how it came about.

    `labels` holds the labels that the files have, by node id; the graph has none. `table` is the table of
    nodes, whose rows are the first nodes.
    """

    graph: Graph
    labels: dict[Hashable, Any]
    table: Any = None


def arrived(
    edges: Sequence[str],
    nodes: Sequence[str | Path] = (),
    /,
    *,
    id: str | None = None,
    **options: Any,
) -> Iterator[tuple[Graph | None, NodeTable | None]]:
    """(edges, nodes) to join one after the other: the nodes first, so that their edges find them.

    `options` go to `as_graph`.
    """
    whole = [path for path in edges if is_file_name(path, "nodes")]
    for path in (*nodes, *whole):
        yield None, read_nodes(path, id=None if path in whole else id, attributes=False)
    for path in edges:
        yield as_graph(path, attributes=False, **options), None


def read_source(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    id: str | None = None,
    label: str | None = None,
    elsewhere: bool = False,
    **options: Any,
) -> Source:
    """Read edges (`as_graph` says which files), and attributes from a table of nodes where there is one.

    A GraphML file is its own table of nodes. Nodes that only one of the files knows are kept: a node without
    a row has no attributes, one without an edge hears nothing from others. `id` and `label` name columns of
    the table of nodes, which may lack the labels where they are read from `elsewhere`; `options` go to
    `as_graph`.

    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\n")
    >>> read_source("edges.csv").graph.n_edges
    2
    """
    if nodes is None and is_file_name(str(edges), "nodes"):
        nodes = edges
    if nodes is None:
        return source_of(as_graph(edges, labels=None if elsewhere else label, **options))
    own = None if nodes == edges else id
    columns = node_file(Path(nodes).expanduser(), own, label)
    if elsewhere and label not in columns.table.column_names:
        label = None
    table = read_nodes(columns, id=own, label=label)
    return _bare(as_graph(edges, nodes=table, **options), (), table)


def source_of(graph: Graph) -> Source:
    """A graph with the attributes and the labels that it holds."""
    held = () if graph.attributes is None else (f"attributes: {graph.attributes.shape[1]:,}, as they are",)
    return _bare(graph, held)


def _bare(graph: Graph, notes: tuple[str, ...], table: NodeTable | None = None) -> Source:
    """The graph without its labels, and those beside it."""
    notes = (*graph.notes, *notes, *_odd_ids(graph))
    bare = replace(graph.without_labels(), notes=notes)
    if table is None:
        return Source(bare, own_labels(graph))
    return Source(bare, own_labels(graph), table.table)


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
    if graph.labels is not None:
        return {v: own for v, own in zip(graph.nodes, graph.labels, strict=True) if own is not None}
    if graph.label_matrix is None:
        return {}
    Y = graph.label_matrix
    held = (Y.indices[Y.indptr[i] : Y.indptr[i + 1]] for i in range(graph.n_nodes))
    return {v: {graph.classes[k] for k in own} for v, own in zip(graph.nodes, held, strict=True) if own.size}
