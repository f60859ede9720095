"""A graph that grows: new edges and nodes joined to it, and a labelling that keeps up.

Old nodes keep their rows; new ones follow in the order of their ids. An edge that is given again keeps the
largest weight, as everywhere (graph/entries.py).

A labelling answers for the new nodes (new_nodes.py) and leaves the old ones as they were. That is right while
little has changed; when the edges that came since labels were found carry more than a limit of all weight,
or labels come too, all labels are found from scratch on the graph as it is.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.graph.entries import merge, rearranged
from querist.labelling.labelling import NEW_WEIGHT, Labelling, label
from querist.labels import Labels, class_order, is_missing, plain, tabulate
from querist.progress import Progress
from querist.tables.attributes import by_recipes
from querist.tables.formats import Entries, some
from querist.tables.nodes import NodeTable, is_node_table, read_nodes
from querist.types import Sparse

Nodes = NodeTable | Mapping[Hashable, Any] | Iterable[Hashable]
NewNodes = tuple[Sequence[Hashable], Sparse | None]
"""Ids, and perhaps (n, m) attributes, of nodes that arrive."""


def join(graph: Graph, edges: Any = None, nodes: Nodes | None = None) -> Graph:
    """The graph with these edges and nodes too.

    Parameters
    ----------
    graph : as it was; its labels and attributes stay
    edges : whatever `as_graph` takes. Ids that the graph knows are its nodes (7 in a file is also "7"),
        others are new. A matrix or edge array names nodes by row number. None for no edges
    nodes : new nodes, whether they have an edge or not; a dict gives their attributes, a row each. Of a table
        (a data frame, a file) they are made as those of the graph were: the same words, categories and
        scales. A new node without any has zeros; one that the graph knows stays

    >>> small = as_graph([("a", "b"), ("b", "c")])
    >>> larger = join(small, [("c", "e"), ("e", "d")])
    >>> larger.nodes, larger.n_edges
    (('a', 'b', 'c', 'd', 'e'), 4)
    """
    more = None if edges is None or _is_empty(edges) else as_graph(edges)
    old, new = graph.nodes, () if more is None else more.nodes
    known = as_known(new, graph)
    came, X = _as_new(nodes, graph)
    fresh = class_order(v for v in (*known, *came) if v not in graph.row_of)
    ids = (*old, *fresh)
    row = {**graph.row_of, **{v: len(old) + k for k, v in enumerate(fresh)}}
    place = np.fromiter((row[v] for v in known), np.int64, len(known))
    between = sp.csr_array((0, 0)) if more is None else more.adjacency
    before, after = sp.triu(graph.adjacency, format="coo"), sp.triu(between, format="coo")
    adjacency, repairs = merge(
        Entries(
            np.concatenate([before.row, place[after.row]]).astype(np.int64),
            np.concatenate([before.col, place[after.col]]).astype(np.int64),
            len(ids),
            np.concatenate([before.data, after.data]),
            directed=False,
        )
    )
    added = adjacency.nnz // 2 - graph.n_edges
    said = f"{some(added, 'edge')} and {some(len(fresh), 'node')} joined"
    again = tuple(
        note.replace("duplicate edge", "edge given again") for note in repairs if "duplicate" in note
    )
    return replace(
        graph,
        adjacency=adjacency,
        nodes=ids,
        attributes=_grown_attributes(graph.attributes, fresh, came, X),
        known=None if graph.known is None else graph.known.grown(len(ids)),
        notes=(*graph.notes, said, *again),
    )


def as_known(ids: Sequence[Hashable], graph: Graph) -> list[Hashable]:
    """The ids as the graph has them, where it has them: digits in one file are text in another."""
    if all(v in graph.row_of for v in ids):
        return list(ids)
    first = next(iter(graph.row_of))
    if isinstance(first, str):
        return [v if v in graph.row_of or not isinstance(v, int) else str(v) for v in ids]
    by_text = {str(v): v for v in graph.row_of}
    return [v if v in graph.row_of else by_text.get(str(v), v) for v in ids]


def _is_empty(edges: Any) -> bool:
    """Whether a list, an array or a table holds nothing: no edges, where `as_graph` would miss a graph."""
    return (
        not isinstance(edges, Graph | str)
        and hasattr(edges, "__len__")
        and not sp.issparse(edges)
        and not len(edges)
    )


def _as_new(nodes: Nodes | None, graph: Graph) -> NewNodes:
    """New nodes in any form, by ids as the graph would have them."""
    came: NewNodes
    if nodes is None:
        return (), None
    if is_node_table(nodes):
        came = _of_table(read_nodes(nodes, attributes=False), graph)
    elif isinstance(nodes, Mapping):
        came = list(nodes), _stacked(nodes, graph) if nodes else None
    else:
        came = [plain(node) for node in cast(Iterable[Hashable], nodes)], None
        if not all(isinstance(node, Hashable) for node in came[0]):
            raise InputError(
                "new nodes are rows of values, which say no ids; give ids, or a dict from id to attributes"
            )
    ids = as_known(came[0], graph)
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise InputError(f"new node {twice!r} comes twice; list every node once")
    return ids, came[1]


def _of_table(table: NodeTable, graph: Graph) -> NewNodes:
    """The nodes of a table, with attributes as the graph has them."""
    if graph.recipes:
        return table.ids, by_recipes(graph.recipes, table.table)
    if graph.attributes is not None and table.table.num_columns > 1 + (table.labels is not None):
        raise InputError(
            "a table of new nodes has columns, but the attributes of the graph came "
            "as a matrix; give a dict from node to its row of attributes, or the ids alone"
        )
    return table.ids, None


def _stacked(nodes: Mapping[Hashable, Any], graph: Graph) -> Sparse:
    """(n, m) the rows of attributes that nodes are given with."""
    if graph.attributes is None:
        raise InputError("attributes for new nodes, but the graph has none; leave them out")
    width = graph.attributes.shape[1]
    rows = np.zeros((len(nodes), width))
    for k, (node, given) in enumerate(nodes.items()):
        try:
            own: Any = given.toarray() if sp.issparse(given) else given  # type: ignore[attr-defined]
            values = np.asarray(own, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise InputError(f"node {node!r}: attributes are not all numbers; give {width} numbers") from None
        if values.size != width:
            raise InputError(f"node {node!r}: {values.size} attributes where the graph has {width}")
        if not np.isfinite(values).all():
            raise InputError(f"node {node!r}: attributes hold NaN or infinite values; replace them")
        rows[k] = values
    return sp.csr_array(rows)


def _grown_attributes(
    attributes: Sparse | None, fresh: Sequence[Hashable], came: Sequence[Hashable], X: Sparse | None
) -> Sparse | None:
    """The attributes with a row for each fresh node: its row of X if it came with any, else zeros."""
    if attributes is None:
        return None
    at = {} if X is None else {node: k for k, node in enumerate(came)}
    came_from = np.array([at.get(node, -1) for node in fresh], dtype=np.int64)
    rows = rearranged(sp.csr_array((0, attributes.shape[1])) if X is None else X, came_from)
    return sp.csr_array(sp.vstack([attributes, rows], format="csr"))


# -- a labelling that keeps up ----------------------------------------------------------------------------


def label_joined(
    labelling: Labelling,
    graph: Graph,
    labels: Mapping[Hashable, Any] | None = None,
    limit: float = NEW_WEIGHT,
    progress: Progress | None = None,
) -> Labelling:
    """The labelling of its graph after edges and nodes were joined to it."""
    from querist.labelling.reading import check_weights

    check_weights(graph)
    n, count = labelling.graph.n_nodes, graph.n_nodes - labelling.graph.n_nodes
    weight = max(float(graph.degrees.sum()), 1e-300)
    share = float(np.clip(1 - labelling.new_nodes.weight / weight, 0.0, 1.0))  # of the weight that is new
    if share > limit or labels:
        known = _with_more(labelling.known, labels or {}, graph)
        multilabel = labelling.multilabel
        found = label(graph, known, multilabel=multilabel, progress=progress, **labelling.options)
        return replace(found, n_old=n)
    P, reached = labelling.new_nodes.answers(graph, labelling.probabilities, labelling.reached)
    said = (
        f"{some(count, 'new node')} labelled by neighbours and attributes; {share:.1%} of the weight is new."
    )
    return replace(
        labelling,
        graph=graph,
        probabilities=np.vstack([labelling.probabilities, P]),
        known=labelling.known.grown(graph.n_nodes),
        reached=np.concatenate([labelling.reached, reached]),
        choice=replace(labelling.choice, why=(*labelling.choice.why, said)),
        model=None,
        n_old=n,
    )


def _with_more(known: Labels, labels: Mapping[Hashable, Any], graph: Graph) -> Labels:
    """The labels of a graph that grew, with more that came later by node; new classes follow the old ones."""
    named = zip(as_known(list(labels), graph), map(plain, labels.values()), strict=True)
    there = {node: own for node, own in named if not is_missing(own)}
    sets = (own if known.multilabel and isinstance(own, set | frozenset) else {own} for own in there.values())
    classes = dict.fromkeys((*known.classes, *class_order(name for own in sets for name in own)))
    more = tabulate(there, graph.nodes, tuple(classes), multilabel=known.multilabel)
    given = {**known.by_row(), **more.by_row()}
    return Labels.of(given, graph.n_nodes, classes, known.multilabel)
