"""A graph that grows: new edges and nodes joined to it, an embedding and a labelling that keep up.

Old nodes keep their rows; new ones follow in the order of their ids. An edge that is given again keeps the
largest weight, as everywhere (graph/entries.py).

An embedding is extended to the new nodes (embedding/extend.py), which costs nothing, and is then as good as
its columns still span what the Laplacian L of the graph leaves in place. With V the extended eigenvectors,
made orthonormal, and U an orthonormal basis of `(I - L/c)^20 V`, c no less than the largest eigenvalue,

    drift = 1 - |V'U|_F^2 / k,

0 while V is invariant; smoothing takes out of V what does not belong there. It is a lower bound in practice:
what takes more than 20 steps to show, such as two eigenvectors that changed places at the cut, is not seen.
Above a limit the embedding is refreshed from where it stands or, where its rows are diffused attributes, made
anew; for those the drift is the share of the weight that is new.

A labelling answers for the new nodes (new_nodes.py) and leaves the old ones as they were. That is right while
little has changed; when the edges that came since labels were found carry more than a limit of all weight,
or labels come too, all labels are found from scratch on the graph as it is.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.embedding.extend import edges_of
from querist.embedding.kinds import kind_of
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.graph.entries import Found, merge
from querist.labelling.labelling import NEW_WEIGHT, Labelling, label
from querist.labels import UNLABELLED, class_order, is_missing, plain
from querist.operator import Operator
from querist.progress import Progress
from querist.tables.attributes import by_recipes
from querist.tables.formats import some
from querist.tables.nodes import NodeTable, is_node_table, read_nodes
from querist.types import Floats, Sparse

STEPS = 20
LIMIT = 0.03
"""Drift up to which extended rows are kept."""


@dataclass(frozen=True)
class NewNodes:
    """Ids, and perhaps (n, m) attributes, of nodes that arrive."""

    ids: Sequence[Hashable]
    attributes: Sparse | None = None


Nodes = NewNodes | NodeTable | Mapping[Hashable, Any] | Iterable[Hashable]


def join(graph: Graph, edges: Any = None, nodes: Nodes | None = None) -> Graph:
    """The graph with these edges and nodes too.

    Parameters
    ----------
    graph : as it was; its labels and attributes stay
    edges : whatever `as_graph` takes. Ids that the graph knows are its nodes (7 in a file is also "7"),
        others are new. A matrix or edge array names nodes by row number. None for no edges
    nodes : new nodes, whether they have an edge or not; a dict gives their attributes, a row each, and so
        does `NewNodes`. Of a table (a data frame, a file) they are made as those of the graph were: the same
        words, categories and scales. A new node without any has zeros; one that the graph knows stays

    >>> small = as_graph([("a", "b"), ("b", "c")])
    >>> larger = join(small, [("c", "e"), ("e", "d")])
    >>> larger.nodes, larger.n_edges
    (('a', 'b', 'c', 'd', 'e'), 4)
    """
    more = None if edges is None or _is_empty(edges) else as_graph(edges)
    old, new = graph.nodes, () if more is None else more.nodes
    known = as_known(new, graph)
    came = _as_new(nodes, graph)
    fresh = class_order(v for v in (*known, *came.ids) if v not in graph.row_of)
    ids = (*old, *fresh)
    row = {**graph.row_of, **{v: len(old) + k for k, v in enumerate(fresh)}}
    place = np.fromiter((row[v] for v in known), np.int64, len(known))
    between = sp.csr_array((0, 0)) if more is None else more.adjacency
    before, after = sp.triu(graph.adjacency, format="coo"), sp.triu(between, format="coo")
    adjacency, repairs = merge(
        Found(
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
        attributes=_grown_attributes(graph.attributes, fresh, came),
        codes=None
        if graph.codes is None
        else np.pad(graph.codes, (0, len(fresh)), constant_values=UNLABELLED),
        label_matrix=None if graph.label_matrix is None else _below(graph.label_matrix, len(fresh)),
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


def _below(matrix: Sparse, count: int) -> Sparse:
    return sp.csr_array(sp.vstack([matrix, sp.csr_array((count, matrix.shape[1]))], format="csr"))


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
    if nodes is None:
        return NewNodes(())
    if is_node_table(nodes):
        came = _of_table(read_nodes(nodes, attributes=False), graph)
    elif isinstance(nodes, NewNodes):
        came = nodes
    elif isinstance(nodes, Mapping):
        came = NewNodes(list(nodes), _stacked(nodes, graph)) if nodes else NewNodes(())
    else:
        came = NewNodes([plain(node) for node in cast(Iterable[Hashable], nodes)])
    ids, X = as_known(came.ids, graph), came.attributes
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise InputError(f"new node {twice!r} comes twice; list every node once")
    if X is not None and graph.attributes is not None:
        shape = len(ids), graph.attributes.shape[1]
        if X.shape != shape:
            raise InputError(
                f"attributes of new nodes of shape {X.shape}; {shape[0]} nodes in a graph with {shape[1]} "
                f"attributes need {shape}"
            )
    return NewNodes(ids, X)


def _of_table(table: NodeTable, graph: Graph) -> NewNodes:
    """The nodes of a table, with attributes as the graph has them."""
    if graph.recipes:
        return NewNodes(table.ids, by_recipes(graph.recipes, table.table))
    if graph.attributes is not None and table.table.num_columns > 1 + (table.labels is not None):
        raise InputError(
            "a table of new nodes has columns, but the attributes of the graph came "
            "as a matrix; give a dict from node to its row of attributes, or the ids alone"
        )
    return NewNodes(table.ids)


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


def _grown_attributes(attributes: Sparse | None, fresh: Sequence[Hashable], came: NewNodes) -> Sparse | None:
    if attributes is None or came.attributes is None:
        return None if attributes is None else _below(attributes, len(fresh))
    at = {node: k for k, node in enumerate(came.ids)}
    there = [(k, at[node]) for k, node in enumerate(fresh) if node in at]
    where, which = ([pair[end] for pair in there] for end in (0, 1))
    shape = len(fresh), len(came.ids)
    rows = sp.csr_array((np.ones(len(there)), (where, which)), shape=shape) @ came.attributes
    return sp.csr_array(sp.vstack([attributes, rows], format="csr"))


# -- an embedding that keeps up ---------------------------------------------------------------------------


def keep_up(embedding: Embedding, graph: Graph, *, limit: float = LIMIT, **options: Any) -> Embedding:
    """Rows for a graph whose first nodes are those of the embedding: extended, or refreshed beyond the limit.

    `options` go to `embed` where the rows must be made anew.

    >>> import querist
    >>> club = querist.load_graph("karate")
    >>> rows = querist.embed(club, 4, cache=False)
    >>> keep_up(rows, club).n_nodes
    34
    """
    grown = embedding.extend(edges_of(graph, embedding.n_nodes))
    turned = drift(grown, graph)
    if turned <= limit:
        return replace(grown, drift=turned)
    if kind_of(embedding.kind).refresh:
        return embedding.refresh(graph)
    note = f"made anew after a drift of {turned:.1%}"
    found = embed(graph, embedding.rank, kind=embedding.kind, normalised=embedding.normalised, **options)
    return replace(found, drift=turned, notes=(*found.notes, note))


def drift(embedding: Embedding, graph: Graph) -> float:
    """How far the columns of an embedding, made or extended, are from those of this graph: 0 to 1."""
    k = embedding.layout[0] if embedding.layout else 0
    if k == 0:
        return _new_weight(float(embedding.degrees[: graph.n_nodes].sum()), graph)
    V = np.linalg.qr(_orthogonal_to_constants(embedding, graph, k))[0]
    L = Operator.laplacian(graph.adjacency, normalised=embedding.normalised)
    top = 2.0 if embedding.normalised else 2 * float(graph.degrees.max())
    now, other = V, np.empty_like(V)
    for step in range(STEPS):
        L.combine(now, other, scale=-1 / top, shift=1.0)
        now, other = other, np.empty_like(V) if step == 0 else now
    U = np.linalg.qr(now)[0]
    return float(np.clip(1 - np.linalg.norm(V.T @ U) ** 2 / k, 0.0, 1.0))


def _orthogonal_to_constants(embedding: Embedding, graph: Graph, k: int) -> Floats:
    V = embedding.rows[:, :k] / np.maximum(np.linalg.norm(embedding.rows[:, :k], axis=0), 1e-300)
    null = np.sqrt(graph.degrees) if embedding.normalised else np.ones(graph.n_nodes)
    null = null / np.linalg.norm(null)
    return np.asarray(V - np.outer(null, null @ V))


def _new_weight(known: float, graph: Graph) -> float:
    """The share of the weight in the graph that came after its degrees had this sum."""
    return float(np.clip(1 - known / max(float(graph.degrees.sum()), 1e-300), 0.0, 1.0))


# -- a labelling that keeps up ----------------------------------------------------------------------------


def label_new(
    labelling: Labelling,
    edges: Any,
    nodes: Any,
    labels: Mapping[Hashable, Any] | None,
    limit: float,
    progress: Progress | None,
) -> Labelling:
    """The labelling of the graph with these edges and nodes too; `Labelling.label_new` describes them."""
    return label_joined(labelling, join(labelling.graph, edges, nodes), labels, limit, progress)


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
    share = _new_weight(labelling.new_nodes.basis.weight, graph)
    if share > limit or labels:
        more = _more(labels or {}, graph, labelling.multilabel)
        sets = more.values() if labelling.multilabel else [more.values()]
        found = label(
            graph,
            {**_given(labelling), **more},
            multilabel=labelling.multilabel,
            classes=tuple(dict.fromkeys((*labelling.classes, *class_order(v for own in sets for v in own)))),
            progress=progress,
            **labelling.options,
        )
        return replace(found, n_old=n)
    P, reached = labelling.new_nodes.answers(graph, labelling.probabilities, labelling.reached)
    given = labelling.given_codes
    rest = np.full((count, *given.shape[1:]), 0 if labelling.multilabel else UNLABELLED)
    said = (
        f"{some(count, 'new node')} labelled by neighbours and attributes; {share:.1%} of the weight is new."
    )
    return replace(
        labelling,
        graph=graph,
        probabilities=np.vstack([labelling.probabilities, P]),
        given_codes=np.concatenate([given, rest]),
        reached=np.concatenate([labelling.reached, reached]),
        choice=replace(labelling.choice, why=(*labelling.choice.why, said)),
        model=None,
        n_old=n,
    )


def _given(labelling: Labelling) -> dict[Hashable, Any]:
    """The labels that were given, by node."""
    names, classes = labelling.graph.nodes, labelling.classes
    rows = np.flatnonzero(labelling.is_labelled).tolist()
    if labelling.multilabel:
        return {names[i]: {classes[k] for k in np.flatnonzero(labelling.given_codes[i])} for i in rows}
    return {names[i]: classes[labelling.given_codes[i]] for i in rows}


def _more(labels: Mapping[Hashable, Any], graph: Graph, several: bool) -> dict[Hashable, Any]:
    """Labels that came later, by the ids of the graph; sets where a node may have several."""
    named = zip(as_known(list(labels), graph), map(plain, labels.values()), strict=True)
    there = {node: own for node, own in named if not is_missing(own)}
    if not several:
        return there
    return {node: own if isinstance(own, set | frozenset) else {own} for node, own in there.items()}
