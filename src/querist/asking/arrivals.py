"""New nodes and edges during a campaign, as an event.

An `Arrival` is the difference between a graph and the same graph with more in it (`growth.join` makes that),
small enough for a journal, so that resuming needs nothing but the files the campaign was begun with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from querist.asking.journal import Event
from querist.errors import InputError
from querist.graph import Graph
from querist.types import Sparse

KIND = "growth"
"""Of the events that hold an arrival."""


@dataclass(frozen=True)
class Arrival:
    """Ids of the new nodes, (head, tail, weight) of new or changed edges by row, attributes of the new nodes.

    `attributes` has (new node, column, value) and `columns` says how many columns there are, 0 for none.
    """

    nodes: tuple[Any, ...]
    edges: tuple[tuple[int, int, float], ...]
    attributes: tuple[tuple[int, int, float], ...] = ()
    columns: int = 0

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges)

    def body(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return {
            "nodes": list(self.nodes),
            "edges": [list(edge) for edge in self.edges],
            "attributes": [list(entry) for entry in self.attributes],
            "columns": self.columns,
        }

    @staticmethod
    def of(body: Mapping[str, Any]) -> "Arrival":
        """From the journal."""
        return Arrival(
            tuple(body["nodes"]),
            tuple((i, j, w) for i, j, w in body["edges"]),
            tuple((i, j, v) for i, j, v in body["attributes"]),
            body["columns"],
        )


def arrival(old: Graph, new: Graph) -> Arrival:
    """What `new` has more than `old`; its first nodes are those of `old`."""
    n = old.n_nodes
    assert old.nodes is not None
    assert new.nodes is not None
    if new.n_nodes < n or tuple(new.nodes[:n]) != tuple(old.nodes):
        raise InputError("a graph that grows keeps its nodes, in order; new ones follow at the end")
    more = tuple(new.nodes[n:])
    odd = next((node for node in more if not isinstance(node, str | int | float)), None)
    if odd is not None:
        raise InputError(f"node {odd!r} is {type(odd).__name__}; a journal keeps strings and numbers as ids")
    heads, tails, weights = _changed(old.adjacency, new.adjacency)
    edges = tuple(zip(heads.tolist(), tails.tolist(), weights.tolist(), strict=True))
    if new.attributes is None or not more:
        return Arrival(more, edges)
    own: Any = new.attributes[n:].tocoo()
    entries = tuple(zip(own.row.tolist(), own.col.tolist(), own.data.tolist(), strict=True))
    return Arrival(more, edges, entries, int(new.attributes.shape[1]))


def joined(graph: Graph, came: Arrival) -> Graph:
    """The graph with what arrived."""
    n = graph.n_nodes + len(came.nodes)
    S = _with_edges(_padded(graph.adjacency, n), came.edges)
    attributes = graph.attributes
    if attributes is not None or came.columns:
        columns = max(came.columns, 0 if attributes is None else attributes.shape[1])
        wide: Any = sp.csr_array((n, columns)) if attributes is None else _padded(attributes, n, columns)
        if came.attributes:
            rows, cols, values = (np.array(part) for part in zip(*came.attributes, strict=True))
            wide = wide + sp.csr_array((values, (rows + graph.n_nodes, cols)), shape=(n, columns))
        attributes = sp.csr_array(wide)
    assert graph.nodes is not None
    return replace(graph, adjacency=S, nodes=(*graph.nodes, *came.nodes), attributes=attributes)


def grown(graph: Graph, events: Iterable[Event]) -> Graph:
    """The graph with all that arrived in these events."""
    for event in events:
        if event.kind == KIND:
            graph = joined(graph, Arrival.of(event.body))
    return graph


def _changed(old: Sparse, new: Sparse) -> tuple[Any, Any, Any]:
    """Rows, columns and new weights of the upper triangle where `new` differs from the smaller `old`."""
    n = new.shape[0]
    before, after = (_upper(matrix) for matrix in (_padded(old, n), new))
    if not np.isin(before.keys, after.keys).all():
        raise InputError("a graph that grows keeps its edges; begin anew without them")
    was = np.zeros(after.keys.size)
    was[np.isin(after.keys, before.keys)] = before.weights
    there = was != after.weights
    return after.keys[there] // n, after.keys[there] % n, after.weights[there]


class _Upper(NamedTuple):
    keys: Any
    weights: Any


def _upper(S: Sparse) -> _Upper:
    """`row * n + column`, growing, and weight of the entries above the diagonal."""
    entries: Any = sp.triu(S, format="coo")
    keys = entries.row.astype(np.int64) * S.shape[0] + entries.col
    order = np.argsort(keys)
    return _Upper(keys[order], entries.data[order])


def _with_edges(S: Sparse, edges: Sequence[tuple[int, int, float]]) -> Sparse:
    """The same matrix with these weights, in both directions, whatever stood in their places."""
    if not edges:
        return S
    heads, tails, weights = (np.array(part) for part in zip(*edges, strict=True))
    rows, columns = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    n, old = S.shape[0], S.tocoo()
    kept = ~np.isin(old.row.astype(np.int64) * n + old.col, rows.astype(np.int64) * n + columns)
    entries = np.concatenate([old.data[kept], weights, weights])
    where = np.concatenate([old.row[kept], rows]), np.concatenate([old.col[kept], columns])
    return sp.csr_array((entries, where), shape=S.shape)


def _padded(matrix: Sparse, rows: int, columns: int | None = None) -> Sparse:
    out: Any = matrix.copy()
    out.resize((rows, rows if columns is None else columns))
    return sp.csr_array(out)
