"""New nodes and edges during a campaign, as an event.

An `Arrival` is the difference between a graph and the same graph with more in it (`growth.join` makes that),
small enough for a journal, so that resuming needs nothing but the files the campaign was begun with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.asking.store.events import Event
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
    if new.n_nodes < n or tuple(new.nodes[:n]) != tuple(old.nodes):
        raise InputError("a graph that grows keeps its nodes, in order; new ones follow at the end")
    more = tuple(new.nodes[n:])
    odd = next((node for node in more if not isinstance(node, str | int | float)), None)
    if odd is not None:
        raise InputError(f"node {odd!r} is {type(odd).__name__}; a journal keeps strings and numbers as ids")
    edges = _entries(_changed(old.adjacency, new.adjacency))
    if new.attributes is None or not more:
        return Arrival(more, edges)
    return Arrival(more, edges, _entries(new.attributes[n:]), int(new.attributes.shape[1]))


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
    return replace(graph, adjacency=S, nodes=(*graph.nodes, *came.nodes), attributes=attributes)


def grown(graph: Graph, events: Iterable[Event]) -> Graph:
    """The graph with all that arrived in these events."""
    for event in events:
        if event.kind == KIND:
            graph = joined(graph, Arrival.of(event.body))
    return graph


def _changed(old: Sparse, new: Any) -> Any:
    """The upper triangle of `new` where it differs from the smaller `old`."""
    before: Any = _padded(old, new.shape[0])
    if ((before != 0) > (new != 0)).nnz:
        raise InputError("a graph that grows keeps its edges; begin anew without them")
    return sp.triu(new.multiply(before != new), format="csr")


def _entries(matrix: Any) -> tuple[tuple[int, int, float], ...]:
    """(row, column, value), row by row."""
    own = matrix.tocoo()
    return tuple(zip(own.row.tolist(), own.col.tolist(), own.data.tolist(), strict=True))


def _with_edges(S: Sparse, edges: Sequence[tuple[int, int, float]]) -> Sparse:
    """The same matrix with these weights, in both directions, whatever stood in their places."""
    if not edges:
        return S
    heads, tails, weights = zip(*edges, strict=True)
    half = sp.csr_array((weights, (heads, tails)), shape=S.shape)
    came: Any = half + half.T
    return sp.csr_array(S - S.multiply(came != 0) + came)


def _padded(matrix: Sparse, rows: int, columns: int | None = None) -> Sparse:
    out: Any = matrix.copy()
    out.resize((rows, rows if columns is None else columns))
    return sp.csr_array(out)
