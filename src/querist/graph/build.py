"""The lenient way to make a graph: `as_graph` takes what people have.

It recognises the source, reads it, cleans it, and says in one line what was
found and done. The constructor of `Graph` is strict.
"""

import logging
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError, shortened
from querist.graph.entries import arrange, merge
from querist.graph.foreign import from_igraph, from_networkx, from_pyg, library_of
from querist.graph.graph import Graph, attribute_matrix, not_on_labels
from querist.graph.sources import (
    check_sparing,
    from_array,
    from_edge_table,
    from_matrix,
    from_pairs,
    from_path,
)
from querist.graph_options import ArrayKind, GraphKeywords, GraphOptions
from querist.labels import Labels, encode, plain, tabulate
from querist.memory import ROW, check
from querist.options import lists_options
from querist.tables.formats import Entries, as_weights, check_range, some
from querist.tables.frames import frame_of, is_tabular, values_of
from querist.tables.names import named
from querist.tables.nodes import NodeTable, is_node_table, read_nodes
from querist.types import Sparse

_log = logging.getLogger("querist")

MOST_NODES = 2**30
"""More do not fit into memory, nor pairs of them into a number."""

READERS = {"networkx": from_networkx, "igraph": from_igraph, "torch_geometric": from_pyg}


@lists_options(GraphOptions)
def as_graph(
    edges: Any,
    /,
    options: GraphOptions | None = None,
    *,
    nodes: Any = None,
    weights: Any = None,
    labels: Any = None,
    attributes: Any = None,
    **keywords: Unpack[GraphKeywords],
) -> Graph:
    """A `Graph` from anything that holds one.

    Self-loops and zero weights are dropped. An edge that is given in one direction only keeps its weight.
    `graph.notes` counts each repair and the logger "querist" tells it in one
    line at level INFO.

    Parameters
    ----------
    edges : one of
        - a `Graph`;
        - an adjacency: scipy sparse, or a dense (n, n) array;
        - an integer edge array (m, 2), or (m, 3) with weights: row numbers 0..n-1;
        - a list of (node, node) or (node, node, weight) with ids of any hashable type;
        - a networkx or igraph graph, a PyG `Data`, of whose `y` only labels in `train_mask` are known;
        - an edge table of pandas, polars or Arrow, ids of any hashable type: columns
          `source, target` | `src, dst` | `from, to` | the first two, and perhaps
          `weight` | `value`;
        - a path: `.npz` (arrays `edges`, `labels`, ..., or scipy's `save_npz`),
          `.graphml`, or an edge table `.csv`, `.tsv`, `.jsonl`, `.parquet`; text may be
          packed (`.csv.gz`). "-" is the standard input.
    options : a `GraphOptions`; or give its fields by name, as in `as_graph(edges, parallel="sum")`
    weights : one number per edge, or the name of the column, edge attribute or array
    nodes : one of
        - how many nodes there are;
        - the id of every node, in order; for matrices and edge arrays these name the rows;
        - a node table (or its path): `node` | `id` | the first column, in order, perhaps
          `label` | `class`, and attributes. Nodes without an edge are added; nodes of the
          edges that are not in the table follow at the end. `graph.notes` says which
          columns were taken as what, and which were left out and why.
    labels : one value per node in the order of the nodes (a Series counts by position),
        a dict from node id to label, an (n, K) 0/1 matrix for several labels a node, or
        the name of the column, node attribute or array
    attributes : (n, k) matrix or data frame, one row a node; or the names of numeric columns
        of the node table, to be taken as they are. Where nothing is said, every column of
        the node table that says something becomes attributes: words, categories, counts and
        ranges (`querist.tables.attributes`), and so do the node attributes of networkx,
        igraph and GraphML. False for none

    >>> graph = as_graph([("ann", "bob"), ("bob", "cy"), ("cy", "cy")], labels={"ann": "cat"})
    >>> graph.nodes, graph.labels
    (('ann', 'bob', 'cy'), ['cat', None, None])
    >>> graph.describe()
    'graph: 3 nodes, 2 edges, 1 class, connected; 1 self-loop dropped'
    """
    asked = GraphOptions.resolve(options, keywords)
    values = (weights, nodes, labels, attributes)
    if isinstance(edges, Graph) and not asked.changed() and all(value is None for value in values):
        return edges
    table = _node_table(nodes, asked.id, labels, attributes)
    column = labels if isinstance(labels, str) and table is None else None
    found = _read(edges, asked, weights, column)

    own_labels = None if isinstance(labels, str) else _as_values(labels)
    own_attributes = None if _are_columns(attributes) else _as_attributes(attributes)
    if table is not None:
        found = _joined(found, table)
    else:
        found = _with_own_table(found, column, attributes)
        found = _counted(found, own_labels, own_attributes) if nodes is None else _placed(found, nodes)
    if found.n == 0:
        raise InputError("the graph has no nodes; give at least one edge, or nodes=")
    if found.n > MOST_NODES:
        raise InputError(f"{found.n:,} nodes; there may be at most {MOST_NODES:,}")
    size = f"a graph of {some(found.n, 'node')} and {some(found.heads.size, 'edge')}"
    check(ROW * max(found.n, found.heads.size), size)
    if own_labels is not None:
        found = replace(found, labels=own_labels, notes=not_on_labels(found.notes))
    if own_attributes is not None or attributes is False:
        found = replace(found, attributes=own_attributes, recipes=())

    if found.labels is None and asked.missing is not None:
        raise InputError(
            f"missing = {asked.missing!r} says which label means unlabelled, but there are no labels; leave "
            "it out, or pass labels="
        )

    adjacency, repairs = merge(found, asked.parallel)
    alone = 0 if table is None else int((np.diff(adjacency.indptr)[: len(table.ids)] == 0).sum())
    nodes_alone = f"{some(alone, 'row')} for {'nodes' if alone > 1 else 'a node'} without an edge"
    graph = Graph(
        adjacency,
        nodes=found.ids or (),
        attributes=found.attributes,
        name=asked.name or found.name,
        notes=tuple(dict.fromkeys((*found.notes, *[nodes_alone][: bool(alone)], *repairs))),
        recipes=found.recipes,
        known=_known_labels(found, asked.classes, asked.missing),
    )
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s", graph.describe())
    return graph


# -- the source ---------------------------------------------------------------


def _read(edges: Any, asked: GraphOptions, weights: Any, labels: str | None) -> Entries:
    """Whatever the edges are in, as entries; `labels` names labels inside it."""
    ends = asked.source, asked.target
    named, library = weights if isinstance(weights, str) else None, library_of(edges)
    whole = isinstance(edges, str | os.PathLike | Graph) or is_tabular(edges) or library is not None
    if whole and asked.kind is not None:
        raise InputError(
            f"kind={asked.kind!r} says what an array or a list holds; leave it out for {type(edges).__name__}"
        )
    if isinstance(edges, str | os.PathLike):
        found = from_path(Path(edges).expanduser(), named, labels, ends)
    elif is_tabular(edges):
        found = from_edge_table(edges, named, ends)
    elif ends != (None, None):
        raise InputError(
            f"source and target name columns, but {type(edges).__name__} is no table; leave them out"
        )
    elif library is not None:
        found = READERS[library](edges, named, labels)
    elif named is not None:
        raise InputError(
            f"weights={named!r} names a column, but the source has none; give one number an edge"
        )
    else:
        found = _from_values(edges, asked.kind)
    if labels is not None and found.labels is None and found.table is None:
        raise InputError(f"labels={labels!r} names a column, but there is no node table; pass it as nodes=")
    if weights is None or named is not None:
        return found
    if found.matrix:
        raise InputError("a matrix and a Graph hold their own weights; leave out weights=")
    return replace(found, weights=as_weights(weights, found.heads.size, "weights"))


def _from_values(source: Any, kind: ArrayKind | None) -> Entries:
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


def _from_graph(graph: Graph) -> Entries:
    """A graph taken apart, so that new labels, attributes or nodes go the common way."""
    entries = sp.triu(graph.adjacency, format="coo")
    return Entries(
        entries.row.astype(np.int64),
        entries.col.astype(np.int64),
        graph.n_nodes,
        entries.data,
        tuple(graph.nodes),
        directed=False,
        matrix=True,
        attributes=graph.attributes,
        labels=graph.known,
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
    return cast(Sequence[str] | bool, attributes) if _are_columns(attributes) else False


def _with_own_table(found: Entries, label: str | None, attributes: Any) -> Entries:
    """A graph of another library, or a file of a whole graph, with what it knows of its nodes."""
    wanted = _wanted(attributes)
    if found.table is None:
        if _are_columns(attributes) and attributes is not False:
            raise InputError(
                f"attributes={attributes!r} names columns, but there is no node table; pass it as nodes="
            )
        return found
    names = found.table.table.column_names
    own = None if label is None else label if label in names else named(names, (label.lower(),)) or label
    table = read_nodes(found.table, id="node", label=own, attributes=wanted)
    labels = table.labels if found.labels is None else found.labels
    if found.labels is None and not own and labels is not None and len(labels) > 2 and None not in labels:
        # Every node has a label of its own, as drawing programs give them: those are names.
        labels = None if len(set(map(str, labels))) == len(labels) else labels
    if wanted is False:
        return replace(found, labels=labels)
    notes = (*found.notes, *table.notes)
    return replace(found, labels=labels, attributes=table.matrix, notes=notes, recipes=table.recipes)


def _joined(found: Entries, table: NodeTable) -> Entries:
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
        joined = replace(joined, labels=[*table.labels, *[None] * extra])
    if table.matrix is not None:
        below = sp.csr_array((extra, table.matrix.shape[1]))
        wide = sp.vstack([sp.csr_array(table.matrix), below], format="csr")
        joined = replace(joined, attributes=wide, recipes=table.recipes)
    return joined


def _placed(found: Entries, nodes: Any) -> Entries:
    """As many nodes, or these nodes, as the user says."""
    if isinstance(nodes, int | np.integer) and not 0 <= nodes <= MOST_NODES:
        raise InputError(f"nodes = {shortened(nodes)}; give 1 to {MOST_NODES:,}")
    given = range(int(nodes)) if isinstance(nodes, int | np.integer) else _as_values(nodes)
    ids = tuple(plain(v) for v in given)
    if found.ids is not None:
        return arrange(found, ids, complete=True, where="nodes")
    if found.fixed and len(ids) != found.n:
        raise InputError(f"nodes: {len(ids)} ids for {found.n} nodes; give one id a node")
    check_range(found, len(ids), "nodes")
    return replace(found, ids=ids, n=len(ids), fixed=True)


def _counted(found: Entries, labels: Any, attributes: Sparse | None) -> Entries:
    """Edges alone do not tell of isolated nodes at the end; labels and attributes do."""
    if found.fixed:
        return found
    sizes = [] if attributes is None else [attributes.shape[0]]
    if labels is not None and not isinstance(labels, Mapping):
        sizes.append(labels.shape[0] if hasattr(labels, "shape") else len(labels))
    if found.n > max(sizes, default=0):
        check_sparing(found.n, found.heads.size, "edges")
    return replace(found, n=max(found.n, *sizes, 0), fixed=True)


# -- labels and attributes ----------------------------------------------------


def _as_values(given: Any) -> Any:
    """A list of plain values; dicts and (n, K) matrices as they are."""
    if given is None or isinstance(given, Mapping) or sp.issparse(given):
        return given
    values = values_of(given) if is_tabular(given) else given
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        return array if array.ndim == 2 and array.shape[1] > 1 else array.ravel().tolist()
    if not isinstance(values, Iterable):
        raise InputError(f"{type(given).__name__} where a list of values, one a node, is needed")
    return list(values)


def _known_labels(found: Entries, classes: Sequence[Hashable] | None, missing: Hashable) -> Labels | None:
    """The labels that the nodes came with; -1 is a class here unless it is `missing`."""
    labels, several = found.labels, None
    if labels is None:
        return None if classes is None else encode([None] * found.n, classes)
    if isinstance(labels, Labels):
        if classes is None and (missing is None or labels.multilabel):
            return labels
        several, classes = labels.multilabel or None, labels.classes if classes is None else classes
        labels = labels.names()
    nodes = range(found.n) if found.ids is None else found.ids
    unlabelled = float("nan") if missing is None else missing
    return tabulate(labels, nodes, classes, unlabelled, multilabel=several)


def _are_columns(attributes: Any) -> bool:
    """Whether attributes are asked for by the names of columns, as all of them or as none."""
    return isinstance(attributes, bool) or (
        isinstance(attributes, list | tuple)
        and bool(attributes)
        and all(isinstance(c, str) for c in attributes)
    )


def _as_attributes(attributes: Any) -> Sparse | None:
    """(n, k) attributes as CSR; a data frame gives all its columns."""
    if attributes is None:
        return None
    values = frame_of(attributes, "attributes").to_numpy() if is_tabular(attributes) else attributes
    return attribute_matrix(values)
