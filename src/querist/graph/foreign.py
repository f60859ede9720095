"""Graphs of other libraries, recognised by their type's name and never imported.

Whoever hands over a networkx graph has imported networkx already; whoever does
not should not pay for it. An object is asked only through its own methods.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph.entries import Found
from querist.tables.arrow import pa
from querist.tables.formats import Columns, Origin
from querist.tables.frames import arrow_array, as_weights
from querist.types import Codes, Floats

_GRAPHS = {("networkx", "Graph"), ("igraph", "Graph"), ("igraph", "GraphBase"), ("torch_geometric", "Data")}
_IGRAPH_IDS = ("name", "id", "_nx_name")
"""Vertex attributes that name a vertex, and say nothing of it."""


def library_of(source: Any) -> str | None:
    """The graph library an object comes from, subclasses included; None for none of ours.

    >>> library_of([(0, 1)]) is None
    True
    """
    for base in type(source).__mro__:
        library = base.__module__.partition(".")[0]
        if (library, base.__name__) in _GRAPHS:
            return library
    return None


def from_networkx(graph: Any, weights: str | None = None, labels: str | None = None) -> Found:
    """Any of the four networkx classes; an edge without the weight attribute weighs 1."""
    ids = tuple(graph)
    row = {node: k for k, node in enumerate(ids)}
    edges = list(graph.edges(data=weights or "weight", default=None))
    heads, tails, values = zip(*edges, strict=True) if edges else ((), (), ())
    weighted = any(v is not None for v in values)
    if weights is not None and edges and not weighted:
        raise InputError(f"networkx graph: no edge has the attribute {weights!r}; name one that is there")
    return Found(
        np.fromiter(map(row.__getitem__, heads), np.int64, len(edges)),
        np.fromiter(map(row.__getitem__, tails), np.int64, len(edges)),
        len(ids),
        as_weights([1.0 if v is None else v for v in values], len(edges), "networkx graph")
        if weighted
        else None,
        ids,
        directed=bool(graph.is_directed()),
        labels=None if labels is None else _networkx_labels(graph, labels),
        name=str(graph.name or "graph"),
        table=_own_table("networkx graph", ids, [known for _, known in graph.nodes(data=True)]),
    )


def _own_table(where: str, ids: Sequence[Any], known: Sequence[dict[str, Any]]) -> Columns | None:
    """What a graph knows of its nodes as a table: `node`, and a column an attribute; None where nothing."""
    names = list(dict.fromkeys(name for own in known for name in own))
    if not names:
        return None
    columns = {"node": pa.array(range(len(ids)))}
    columns |= {str(name): arrow_array([own.get(name) for own in known]) for name in names if name != "node"}
    return Columns(pa.table(columns), Origin(where, lambda row: f"node {ids[row]!r}"))


def _networkx_labels(graph: Any, name: str) -> list[Any]:
    values = [known.get(name) for _, known in graph.nodes(data=True)]
    if all(v is None for v in values):
        raise InputError(f"networkx graph: no node has the attribute {name!r}; name one that is there")
    return values


def from_igraph(graph: Any, weights: str | None = None, labels: str | None = None) -> Found:
    """An igraph graph; the vertex attribute `name` gives the ids."""
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    edge_attributes, node_attributes = graph.es.attributes(), graph.vs.attributes()
    for kind, name, known in (("edge", weights, edge_attributes), ("vertex", labels, node_attributes)):
        if name is not None and name not in known:
            raise InputError(
                f"igraph graph: no {kind} attribute {name!r}; there are {', '.join(known) or 'none'}"
            )
    weight = weights or ("weight" if "weight" in edge_attributes else None)
    return Found(
        ends[:, 0],
        ends[:, 1],
        int(graph.vcount()),
        None if weight is None else as_weights(graph.es[weight], len(ends), "igraph graph"),
        tuple(graph.vs["name"]) if "name" in node_attributes else None,
        directed=bool(graph.is_directed()),
        labels=None if labels is None else list(graph.vs[labels]),
        table=_own_table(
            "igraph graph",
            range(graph.vcount()),
            [{name: v for name, v in own.attributes().items() if name not in _IGRAPH_IDS} for own in graph.vs]
            if set(node_attributes) - set(_IGRAPH_IDS)
            else [],
        ),
    )


def from_pyg(data: Any, weights: str | None = None, labels: str | None = None) -> Found:
    """A PyG `Data`: `edge_index`, `edge_weight` or one-column `edge_attr`, `x`, `y`."""
    for name in (weights, labels):
        if name is not None and getattr(data, name, None) is None:
            raise InputError(f"PyG Data: no {name!r}; there are {', '.join(data.keys())}")
    if getattr(data, "edge_index", None) is None:
        raise InputError(
            "PyG Data without edge_index; give one (from adj_t: torch.stack(adj_t.t().coo()[:2]))"
        )
    ends = _array(data.edge_index).astype(np.int64)
    x, y = getattr(data, "x", None), getattr(data, labels or "y", None)
    n = int(data.num_nodes)
    values, notes = _pyg_weights(data, weights, ends.shape[1])
    # A y of another length belongs to the graph as a whole, not to its nodes.
    labels = None if y is None or len(y) != n else _array(y)
    return Found(
        _in_range(ends[0], n),
        _in_range(ends[1], n),
        n,
        values,
        attributes=None if x is None else _array(x).reshape(n, -1),
        labels=labels.ravel() if labels is not None and labels.size == n else labels,
        notes=notes,
    )


def _pyg_weights(data: Any, weights: str | None, m: int) -> tuple[Floats | None, tuple[str, ...]]:
    """Weights, and a note where edges have several attributes, which are no weight."""
    for name in (weights,) if weights else ("edge_weight", "edge_attr"):
        values = getattr(data, name, None)
        if values is not None:
            array = _array(values)
            if array.size != m and name == "edge_attr" and weights is None:
                return None, (f"edge_attr of shape {array.shape} not used",)
            return as_weights(array.reshape(-1), m, f"PyG Data, {name}"), ()
    return None, ()


def _in_range(rows: Codes, n: int) -> Codes:
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise InputError(
            f"PyG Data: edge_index holds {rows.min()}..{rows.max()} for {n} nodes; set num_nodes"
        )
    return rows


def _array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().cpu())
