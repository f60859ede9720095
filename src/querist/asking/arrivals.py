"""New nodes and edges during a campaign, as the body of an event.

It is what new edges and nodes add to a graph (see `growth.join`), small enough for a journal, so that
resuming needs nothing but the files the campaign was begun with: the ids of new nodes, [head, tail, weight]
of new or changed edges by row, [new node, column, value] of the attributes of new nodes, and the number of
columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.asking.store.events import Event
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.growth import join
from querist.types import Sparse

KIND = "growth"
"""Of the events that hold an arrival."""


def arrival(old: Graph, edges: Any = None, nodes: Any = None) -> dict[str, Any]:
    """What these edges and nodes, in any form that `growth.join` takes, add to a graph; empty if nothing."""
    n, new = old.n_nodes, join(old, edges, nodes)
    more = list(new.nodes[n:])
    odd = next((node for node in more if not isinstance(node, str | int | float)), None)
    if odd is not None:
        raise InputError(f"node {odd!r} is {type(odd).__name__}; a journal keeps strings and numbers as ids")
    S = new.adjacency
    fresh = _entries(sp.triu(S.multiply(_padded(old.adjacency, S.shape[0]) != S), format="csr"))
    X = new.attributes if more else None
    came = {
        "attributes": [] if X is None else _entries(X[n:]),
        "columns": 0 if X is None else int(X.shape[1]),
    }
    return {"nodes": more, "edges": fresh, **came} if more or fresh else {}


def joined(graph: Graph, came: Mapping[str, Any]) -> Graph:
    """The graph with what arrived."""
    old, columns, S = graph.n_nodes, came["columns"], graph.adjacency
    n = old + len(came["nodes"])
    S = _padded(S, n)
    if came["edges"]:  # in both directions, whatever stood in their places
        half = _matrix(came["edges"], S.shape)
        both: Any = half + half.T
        S = sp.csr_array(S - S.multiply(both != 0) + both)
    X = graph.attributes
    if X is not None or columns:
        columns = max(columns, 0 if X is None else X.shape[1])
        wide: Any = sp.csr_array((n, columns)) if X is None else _padded(X, n, columns)
        X = sp.csr_array(wide + _matrix(came["attributes"], (n, columns), old))
    return replace(graph, adjacency=S, nodes=(*graph.nodes, *came["nodes"]), attributes=X)


def grown(graph: Graph, events: Iterable[Event]) -> Graph:
    """The graph with all that arrived in these events."""
    for event in events:
        if event.kind == KIND:
            graph = joined(graph, event.body)
    return graph


def _entries(matrix: Any) -> list[list[Any]]:
    """[row, column, value], row by row."""
    own = matrix.tocoo()
    return [list(entry) for entry in zip(own.row.tolist(), own.col.tolist(), own.data.tolist(), strict=True)]


def _matrix(entries: list[list[Any]], shape: tuple[int, int], first: int = 0) -> Any:
    """The matrix with these entries, whose rows are counted from the `first`."""
    rows, columns, values = np.array(entries, dtype=np.float64).reshape(-1, 3).T
    return sp.csr_array((values, (rows.astype(np.int64) + first, columns.astype(np.int64))), shape=shape)


def _padded(matrix: Sparse, rows: int, columns: int | None = None) -> Sparse:
    out: Any = matrix.copy()
    out.resize((rows, rows if columns is None else columns))
    return sp.csr_array(out)
