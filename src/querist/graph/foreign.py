"""Graphs of other libraries, recognised by their type's name and never imported.

Whoever hands over a networkx graph has imported networkx already; whoever does
not should not pay for it. An object is asked only through its own methods.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from querist.errors import InputError, refuse
from querist.graph.graph import LABELS_READ
from querist.graph.sources import from_array
from querist.tables.arrow import pa
from querist.tables.formats import Columns, Entries, Origin, as_weights, check_range, some
from querist.tables.frames import arrow_array
from querist.types import Floats

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


def from_networkx(graph: Any, weights: str | None = None, labels: str | None = None) -> Entries:
    """Any of the four networkx classes; an edge without the weight attribute weighs 1."""
    ids = tuple(graph)
    row = {node: k for k, node in enumerate(ids)}
    edges = list(graph.edges(data=weights or "weight", default=None))
    heads, tails, values = zip(*edges, strict=True) if edges else ((), (), ())
    weighted = any(v is not None for v in values)
    attributes = [known for _, known in graph.nodes(data=True)]
    names = dict.fromkeys(name for known in attributes for name in known)
    columns = {name: [known.get(name) for known in attributes] for name in names}
    own = None if labels is None else columns.get(labels, [])
    no = "networkx graph: no {} has the attribute {!r}; name one that is there".format
    refuse(
        {
            no("edge", weights): weights is not None and bool(edges) and not weighted,
            no("node", labels): own is not None and all(v is None for v in own),
        }
    )
    return Entries(
        np.fromiter(map(row.__getitem__, heads), np.int64, len(edges)),
        np.fromiter(map(row.__getitem__, tails), np.int64, len(edges)),
        len(ids),
        as_weights([1.0 if v is None else v for v in values], len(edges), "networkx graph")
        if weighted
        else None,
        ids,
        directed=bool(graph.is_directed()),
        labels=own,
        name=str(graph.name or "graph"),
        table=_own_table("networkx graph", ids, columns),
    )


def _own_table(where: str, ids: Sequence[Any], known: dict[Any, list[Any]]) -> Columns | None:
    """What a graph knows of its nodes as a table: `node`, and a column an attribute; None where nothing."""
    if not known:
        return None
    columns = {str(name): arrow_array(own) for name, own in known.items() if name != "node"}
    table = pa.table({"node": pa.array(range(len(ids))), **columns})
    return Columns(table, Origin(where, lambda row: f"node {ids[row]!r}"))


def from_igraph(graph: Any, weights: str | None = None, labels: str | None = None) -> Entries:
    """An igraph graph; the vertex attribute `name` gives the ids."""
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    edge_attributes, node_attributes = graph.es.attributes(), graph.vs.attributes()
    for kind, name, known in (("edge", weights, edge_attributes), ("vertex", labels, node_attributes)):
        if name is not None and name not in known:
            raise InputError(
                f"igraph graph: no {kind} attribute {name!r}; there are {', '.join(known) or 'none'}"
            )
    columns = {name: graph.vs[name] for name in node_attributes if name not in _IGRAPH_IDS}
    weight = weights or ("weight" if "weight" in edge_attributes else None)
    return Entries(
        ends[:, 0],
        ends[:, 1],
        int(graph.vcount()),
        None if weight is None else as_weights(graph.es[weight], len(ends), "igraph graph"),
        tuple(graph.vs["name"]) if "name" in node_attributes else None,
        directed=bool(graph.is_directed()),
        labels=None if labels is None else list(graph.vs[labels]),
        table=_own_table("igraph graph", range(graph.vcount()), columns),
    )


def from_pyg(data: Any, weights: str | None = None, labels: str | None = None) -> Entries:
    """A PyG `Data`: `edge_index`, `edge_weight` or one-column `edge_attr`, `x`, `y` inside `train_mask`."""
    for name in (weights, labels):
        if name is not None and getattr(data, name, None) is None:
            raise InputError(f"PyG Data: no {name!r}; there are {', '.join(data.keys())}")
    if getattr(data, "edge_index", None) is None:
        raise InputError(
            "PyG Data without edge_index; give one (from adj_t: torch.stack(adj_t.t().coo()[:2]))"
        )
    read = from_array(_array(data.edge_index).T, "edges", "PyG Data, edge_index")
    x, y = getattr(data, "x", None), getattr(data, labels or "y", None)
    n = int(data.num_nodes)
    check_range(read, n, "PyG Data, edge_index")
    values, notes = _pyg_weights(data, weights, read.heads.size)
    # A y of another length belongs to the graph as a whole, not to its nodes.
    known, used = (None, ()) if y is None or len(y) != n else _pyg_labels(data, _array(y), n)
    return Entries(
        read.heads,
        read.tails,
        n,
        values,
        attributes=None if x is None else _array(x).reshape(n, -1),
        labels=known,
        notes=(*notes, *used),
    )


def _pyg_labels(data: Any, y: Any, n: int) -> tuple[Any, tuple[str, ...]]:
    """Labels, and a note if only those in `train_mask` are taken: the others are there to test with."""
    y = y.ravel() if y.size == n else y
    if getattr(data, "train_mask", None) is None:
        return y, ()
    mask = _array(data.train_mask)
    if mask.ndim not in (1, 2) or len(mask) != n or not mask.size or not np.isin(mask, (0, 1)).all():
        raise InputError(f"PyG Data: train_mask of shape {mask.shape}; give {n} values, True or False")
    train = mask.reshape(n, -1)[:, 0].astype(bool)
    split = "train_mask" if mask.size == n else f"the first of the {mask.shape[1]} columns of train_mask"
    count = some(int(train.sum()), "label") if train.any() else "and it is False everywhere"
    note = f"{LABELS_READ} {split} only, {count}; pass labels=data.y for all of them"
    return (np.where(train, y, None) if y.ndim == 1 else np.where(train[:, None], y, 0)), (note,)


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


def _array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().cpu())
