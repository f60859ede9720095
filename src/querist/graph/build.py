"""The lenient door into the house: `as_graph` takes what people have.

It recognises the source, reads it, cleans it, and says in one line what was
found and done. The strict door is the constructor of `Graph`.
"""

import logging
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.arrays import Kind, check_range, check_sparing, from_array, from_matrix, from_pairs
from querist.graph.entries import Found, Parallel, arrange, merge
from querist.graph.files import from_edge_table, from_path
from querist.graph.foreign import from_igraph, from_networkx, from_pyg, library_of
from querist.graph.graph import Graph
from querist.graph.values import are_columns, as_attributes, as_values, by_node, label_fields
from querist.labels import plain
from querist.tables.formats import some
from querist.tables.frames import as_weights, is_tabular
from querist.tables.names import Ends, named
from querist.tables.nodes import NodeTable, is_node_table, read_nodes
from querist.types import Sparse

_log = logging.getLogger("querist")

MOST_NODES = 2**30
"""More do not fit into memory, nor pairs of them into a number."""

READERS = {"networkx": from_networkx, "igraph": from_igraph, "torch_geometric": from_pyg}


def as_graph(
    edges: Any,
    /,
    *,
    kind: Kind | None = None,
    source: str | None = None,
    target: str | None = None,
    endpoints: tuple[str, str] | None = None,
    weights: Any = None,
    parallel: Parallel = "max",
    nodes: Any = None,
    id: str | None = None,
    labels: Any = None,
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
    attributes: Any = None,
    name: str | None = None,
) -> Graph:
    """A `Graph` from anything that holds one.

    Self-loops and zero weights are dropped. Where an edge is given more than
    once, in one direction or in both, the largest weight is kept (`parallel`
    says otherwise); an edge given in one direction only keeps its weight.
    `graph.notes` counts each repair and the logger "querist" tells it in one
    line at level INFO.

    Parameters
    ----------
    edges : one of
        - a `Graph`;
        - an adjacency: scipy sparse, or a dense (n, n) array;
        - an integer edge array (m, 2), or (m, 3) with weights: row numbers 0..n-1;
        - a list of (node, node) or (node, node, weight) with ids of any hashable type;
        - a networkx or igraph graph, a PyG `Data`;
        - an edge table of pandas, polars or Arrow, ids of any hashable type: columns
          `source, target` | `src, dst` | `from, to` | the first two, and perhaps
          `weight` | `value`;
        - a path: `.npz` (arrays `edges`, `labels`, ..., or scipy's `save_npz`),
          `.graphml`, or an edge table `.csv`, `.tsv`, `.parquet`; text may be packed
          (`.csv.gz`). "-" is the standard input.
    kind : "adjacency" or "edges", for an array that could be either. Without it a
        square array is an adjacency, except a (2, 2) array of integers that is not
        symmetric with an empty diagonal: that is two edges. A list is a list of edges.
    source, target : names of the two columns of an edge table, or of one of them
    endpoints : both of these names at once
    weights : one number an edge, or the name of the column, edge attribute or array
    parallel : the weight of an edge that is given more than once, in either direction: the
        largest ("max", the default), the "sum" (for payments, messages), or the "first".
        The two triangles of a matrix, and the directions of a list that gives every edge
        both ways alike, are one edge and are never summed
    nodes : one of
        - how many nodes there are;
        - the id of every node, in order; for matrices and edge arrays these name the rows;
        - a node table (or its path): `node` | `id` | the first column, in order, perhaps
          `label` | `class`, and attributes. Nodes without an edge are added; nodes of the
          edges that are not in the table follow at the end. `graph.notes` says which
          columns were taken as what, and which were left out and why.
    id : the name of the node table's column that holds the ids
    labels : one value a node in the order of the nodes (a Series counts by position),
        a dict from node id to label, an (n, K) 0/1 matrix for several labels a node, or
        the name of the column, node attribute or array
    classes : the classes in the order of their codes; those that occur, by default
    missing : the value that means "unlabelled"; None and NaN always do
    attributes : (n, k) matrix or data frame, one row a node; or the names of numeric columns
        of the node table, to be taken as they are. Where nothing is said, every column of
        the node table that says something becomes attributes: words, categories, counts and
        ranges (`querist.tables.attributes`), and so do the node attributes of networkx,
        igraph and GraphML. False for none
    name : shown in tables and messages

    >>> graph = as_graph([("ann", "bob"), ("bob", "cy"), ("cy", "cy")], labels={"ann": "cat"})
    >>> graph.nodes, graph.labels
    (('ann', 'bob', 'cy'), ['cat', None, None])
    >>> graph.describe()
    'graph: 3 nodes, 2 edges, 1 class, connected; 1 self-loop dropped'
    """
    ends = _ends(kind, source, target, endpoints)
    options = (weights, nodes, id, labels, classes, missing, attributes, name)
    if isinstance(edges, Graph) and all(option is None for option in options):
        return edges
    table = _node_table(nodes, id, labels, attributes)
    column = labels if isinstance(labels, str) and table is None else None
    found = _read(edges, kind, weights, ends, column)

    own_labels = None if isinstance(labels, str) else as_values(labels)
    own_attributes = None if are_columns(attributes) else as_attributes(attributes)
    if table is not None:
        found = _joined(found, table)
    else:
        found = _with_own_table(found, column, attributes)
        found = _counted(found, own_labels, own_attributes) if nodes is None else _placed(found, nodes)
    if found.n == 0:
        raise InputError("the graph has no nodes; give at least one edge, or nodes=")
    if found.n > MOST_NODES:
        raise InputError(f"{found.n:,} nodes; there may be at most {MOST_NODES:,}")
    if own_labels is not None:
        found = replace(found, labels=by_node(own_labels, found), classes=None)
    if own_attributes is not None or attributes is False:
        found = replace(found, attributes=own_attributes, recipes=())

    adjacency, repairs = merge(found, parallel)
    alone = () if table is None else _alone(adjacency, len(table.ids))
    graph = Graph(
        adjacency,
        nodes=found.ids or (),
        attributes=as_attributes(found.attributes),
        name=name or found.name,
        notes=tuple(dict.fromkeys((*found.notes, *alone, *repairs))),
        recipes=found.recipes,
        **label_fields(found, classes, missing),
    )
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s", graph.describe())
    return graph


# -- the source ---------------------------------------------------------------


def _ends(kind: Kind | None, source: str | None, target: str | None, endpoints: Any) -> Ends:
    """The columns of the ends of the edges; what contradicts itself or means nothing is refused."""
    if kind not in (None, "adjacency", "edges"):
        raise InputError(f"kind is {kind!r}; it must be 'adjacency' or 'edges'")
    if endpoints is not None and (source is not None or target is not None):
        raise InputError("endpoints= names source and target already; give one or the other")
    if endpoints is not None and (not isinstance(endpoints, tuple | list) or len(endpoints) != 2):
        raise InputError(f"endpoints is {endpoints!r}; name two columns, (source, target)")
    return tuple(endpoints) if endpoints else (source, target)


def _read(edges: Any, kind: Kind | None, weights: Any, ends: Ends, labels: str | None) -> Found:
    """Whatever the edges are in, as entries; `labels` names labels inside it."""
    named = weights if isinstance(weights, str) else None
    if isinstance(edges, str | os.PathLike):
        found = from_path(Path(edges).expanduser(), named, labels, ends)
    elif is_tabular(edges):
        found = from_edge_table(edges, named, ends)
    elif ends != (None, None):
        raise InputError(
            f"source and target name columns, but {type(edges).__name__} is no table; leave them out"
        )
    elif (library := library_of(edges)) is not None:
        found = READERS[library](edges, named, labels)
    elif named is not None:
        raise InputError(
            f"weights={named!r} names a column, but the source has none; give one number an edge"
        )
    else:
        found = _from_values(edges, kind)
    if labels is not None and found.labels is None:
        raise InputError(f"labels={labels!r} names a column, but there is no node table; pass it as nodes=")
    if weights is None or named is not None:
        return found
    if found.matrix:
        raise InputError("a matrix and a Graph hold their own weights; leave out weights=")
    return replace(found, weights=as_weights(weights, found.heads.size, "weights"))


def _from_values(source: Any, kind: Kind | None) -> Found:
    if isinstance(source, Graph):
        return _from_graph(source)
    if sp.issparse(source):
        return from_matrix(source)
    if hasattr(source, "__array__"):
        return from_array(np.asarray(source), kind)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return from_array(_as_matrix(source), kind) if kind == "adjacency" else from_pairs(source)
    raise InputError(
        f"{type(source).__name__} is no graph; give a matrix, an edge array, a list of pairs, an edge table, "
        "a networkx or igraph graph, a PyG Data, or a path"
    )


def _as_matrix(source: Iterable[Any]) -> Any:
    try:
        return np.array(list(source))
    except ValueError:
        raise InputError(
            "adjacency: rows of different lengths; an adjacency is square, a list of edges needs no kind="
        ) from None


def _from_graph(graph: Graph) -> Found:
    """A graph taken apart, so that new labels, attributes or nodes go the common way."""
    entries = sp.triu(graph.adjacency, format="coo")
    return Found(
        entries.row.astype(np.int64),
        entries.col.astype(np.int64),
        graph.n_nodes,
        entries.data,
        tuple(graph.nodes),
        directed=False,
        matrix=True,
        attributes=graph.attributes,
        labels=graph.labels if graph.label_matrix is None else graph.label_matrix,
        classes=graph.classes or None,
        name=graph.name,
        notes=graph.notes,
        recipes=graph.recipes,
    )


# -- the nodes ----------------------------------------------------------------


def _node_table(nodes: Any, id: str | None, labels: Any, attributes: Any) -> NodeTable | None:
    """The node table, where `nodes` is one."""
    if is_node_table(nodes):
        label = labels if isinstance(labels, str) else None
        return read_nodes(nodes, id=id, label=label, attributes=_wanted(attributes))
    if id is not None:
        raise InputError(f"id={id!r} names a column, but there is no node table; pass it as nodes=")
    return None


def _wanted(attributes: Any) -> Sequence[str] | bool:
    """What `attributes` asks of a table of nodes; nothing where they are given themselves."""
    if attributes is None:
        return True
    return cast(Sequence[str] | bool, attributes) if are_columns(attributes) else False


def _with_own_table(found: Found, label: str | None, attributes: Any) -> Found:
    """A graph of another library, or a file of a whole graph, with what it knows of its nodes."""
    wanted = _wanted(attributes)
    if found.table is None:
        if are_columns(attributes) and attributes is not False:
            raise InputError(
                f"attributes={attributes!r} names columns, but there is no node table; pass it as nodes="
            )
        return found
    names = found.table.table.column_names
    own = None if label is None else label if label in names else named(names, (label.lower(),))
    table = read_nodes(found.table, id="node", label=own, attributes=wanted)
    labels = found.labels
    if labels is None and table.labels is not None and not _all_different(table.labels):
        labels = table.labels
    if wanted is False:
        return replace(found, labels=labels)
    notes = (*found.notes, *table.notes)
    return replace(found, labels=labels, attributes=table.matrix, notes=notes, recipes=table.recipes)


def _all_different(labels: Sequence[Any]) -> bool:
    """Whether every node has a label of its own, as drawing programs give them: those are names."""
    return len(labels) > 2 and None not in labels and len(set(map(str, labels))) == len(labels)


def _joined(found: Found, table: NodeTable) -> Found:
    """Nodes in the order of the table, with the labels and attributes it has."""
    ids = table.ids
    if ids and (old := found.ids):
        # Text that is all digits was read as integers; it meets names that are digits as the text it was.
        if found.text and isinstance(old[0], int) and isinstance(ids[0], str):
            found = replace(found, ids=tuple(map(str, old)))
        elif table.text and isinstance(ids[0], int) and isinstance(old[0], str):
            ids = tuple(map(str, ids))
    unlisted = "without a row, and so without attributes" if table.recipes else "not in the node table"
    found = replace(found, notes=(*found.notes, *table.notes))
    joined = arrange(found, ids, complete=False, where="node table", unlisted=unlisted)
    extra = joined.n - len(ids)
    if table.labels is not None:
        joined = replace(joined, labels=[*table.labels, *[None] * extra], classes=None)
    if table.matrix is not None:
        below = sp.csr_array((extra, table.matrix.shape[1]))
        wide = sp.vstack([sp.csr_array(table.matrix), below], format="csr")
        joined = replace(joined, attributes=wide, recipes=table.recipes)
    return joined


def _alone(adjacency: Sparse, rows: int) -> tuple[str, ...]:
    """A note on rows of the node table that are at no edge."""
    alone = int((np.diff(adjacency.indptr)[:rows] == 0).sum())
    return (
        (f"{some(alone, 'row')} for {'nodes' if alone > 1 else 'a node'} without an edge",) if alone else ()
    )


def _placed(found: Found, nodes: Any) -> Found:
    """As many nodes, or these nodes, as the user says."""
    if isinstance(nodes, int | np.integer) and not 0 <= nodes <= MOST_NODES:
        raise InputError(f"nodes = {nodes:,}; give 1 to {MOST_NODES:,}")
    given = range(int(nodes)) if isinstance(nodes, int | np.integer) else as_values(nodes)
    ids = tuple(plain(v) for v in given)
    if found.ids is not None:
        return arrange(found, ids, complete=True, where="nodes")
    if found.fixed and len(ids) != found.n:
        raise InputError(f"nodes: {len(ids)} ids for {found.n} nodes; give one id a node")
    check_range(found, len(ids), "nodes")
    return replace(found, ids=ids, n=len(ids), fixed=True)


def _counted(found: Found, labels: Any, attributes: Sparse | None) -> Found:
    """Edges alone do not tell of isolated nodes at the end; labels and attributes do."""
    if found.fixed:
        return found
    sizes = [] if attributes is None else [attributes.shape[0]]
    if labels is not None and not isinstance(labels, Mapping):
        sizes.append(labels.shape[0] if hasattr(labels, "shape") else len(labels))
    if found.n > max(sizes, default=0):
        check_sparing(found.n, found.heads.size, "edges")
    return replace(found, n=max(found.n, *sizes, 0), fixed=True)
