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

A labelling has probabilities, rows that vary smoothly over the graph as diffused attributes do, so
`Embedding.extend` places a new node: at the weighted mean of its neighbours' probabilities. Old nodes stay as
they were. That is right while little has changed; when the new edges carry more than a limit of all weight,
labels are found from scratch on the graph as it is.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.embedding.extend import edges_of
from querist.embedding.kinds import kind_of
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.graph.entries import Found, merge
from querist.labelling.labelling import Labelling, label
from querist.labels import UNLABELLED, class_order
from querist.operator import Operator
from querist.tables.formats import some
from querist.types import Floats, Sparse

STEPS = 20
LIMIT = 0.03
"""Drift up to which extended rows are kept."""
NEW_WEIGHT = 0.05
"""Share of the weight that may be new before labels are found from scratch."""


@dataclass(frozen=True)
class NewNodes:
    """Ids, and perhaps (n, m) attributes, of nodes that arrive."""

    ids: Sequence[Hashable]
    attributes: Sparse | None = None


Nodes = NewNodes | Mapping[Hashable, Any] | Iterable[Hashable]


def join(graph: Graph, edges: Any = None, nodes: Nodes | None = None) -> Graph:
    """The graph with these edges and nodes too.

    Parameters
    ----------
    graph : as it was; its labels and attributes stay
    edges : whatever `as_graph` takes. Ids that the graph knows are its nodes (7 in a file is also "7"),
        others are new. A matrix or edge array names nodes by row number. None for no edges
    nodes : new nodes, whether they have an edge or not; a dict gives their attributes, a row each, and so
        does `NewNodes`. A new node without any has zeros; one that the graph knows stays as it is

    >>> small = as_graph([("a", "b"), ("b", "c")])
    >>> larger = join(small, [("c", "e"), ("e", "d")])
    >>> larger.nodes, larger.n_edges
    (('a', 'b', 'c', 'd', 'e'), 4)
    """
    more = None if edges is None else as_graph(edges)
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


def _as_new(nodes: Nodes | None, graph: Graph) -> NewNodes:
    """New nodes in any form, by ids as the graph would have them."""
    if nodes is None:
        return NewNodes(())
    if isinstance(nodes, NewNodes):
        return NewNodes(as_known(nodes.ids, graph), nodes.attributes)
    if not isinstance(nodes, Mapping):
        return NewNodes(as_known(list(nodes), graph))
    if not nodes:
        return NewNodes(())
    if graph.attributes is None:
        raise InputError("attributes for new nodes, but the graph has none; leave them out")
    width = graph.attributes.shape[1]
    rows = np.zeros((len(nodes), width))
    for k, (node, given) in enumerate(nodes.items()):
        values = np.asarray(given, dtype=np.float64).ravel()
        if values.size != width:
            raise InputError(f"node {node!r}: {values.size} attributes where the graph has {width}")
        rows[k] = values
    return NewNodes(as_known(list(nodes), graph), sp.csr_array(rows))


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
        return _new_weight(embedding.degrees[: graph.n_nodes], graph)
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


def _new_weight(known: Floats, graph: Graph) -> float:
    """The share of the weight in the graph that came after its first nodes had these degrees."""
    return float(np.clip(1 - known.sum() / max(float(graph.degrees.sum()), 1e-300), 0.0, 1.0))


# -- a labelling that keeps up ----------------------------------------------------------------------------


def extend(
    labelling: Labelling,
    edges: Any,
    nodes: Mapping[Hashable, Any] | Iterable[Hashable] | None = None,
    *,
    limit: float = NEW_WEIGHT,
    **options: Any,
) -> Labelling:
    """The labelling of the graph with these edges too; `join` describes `edges` and `nodes`.

    `options` go to `label` where the labels must be found anew.

    >>> from querist.datasets import load
    >>> karate = load("karate")
    >>> known = label(karate, {node: karate.labels[node] for node in (0, 1, 2, 31, 32, 33)})
    >>> extend(known, [(33, "new"), (32, "new"), ("new", "newer")]).labels[-2:]
    ['Officer', 'Officer']
    """
    graph = join(labelling.graph, edges, nodes)
    share = _new_weight(labelling.graph.degrees, graph)
    if share > limit:
        return label(graph, _given(labelling), multilabel=labelling.multilabel, **options)
    n, count = labelling.graph.n_nodes, graph.n_nodes - labelling.graph.n_nodes
    P, given, unlabelled = labelling.probabilities, labelling.given_codes, 0 if labelling.multilabel else -1
    grown = Embedding(
        P,
        np.where(labelling.reached, 0, 1 + np.arange(n)),
        kind="diffusion",
        rank=P.shape[1],
        layout=(0, 0, P.shape[1]),
        degrees=labelling.graph.degrees,
    ).extend(edges_of(graph, n))
    rows = np.vstack([P, _proper(grown.rows[n:], labelling.multilabel)])
    reached = np.concatenate([labelling.reached, grown.rows[n:].any(axis=1)])
    said = (
        f"{some(count, 'new node')} stand at the mean of their neighbours; {share:.1%} of the weight is new."
    )
    return replace(
        labelling,
        graph=graph,
        probabilities=rows,
        given_codes=np.concatenate([given, np.full((count, *given.shape[1:]), unlabelled)]),
        reached=reached,
        choice=replace(labelling.choice, why=(*labelling.choice.why, said)),
        model=None,
    )


def _proper(rows: Floats, several: bool) -> Floats:
    """Rows that add up to one, where they have to; a neighbour that is not reached said nothing."""
    if several:
        return rows
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(total > 0, total, 1.0))


def _given(labelling: Labelling) -> dict[Hashable, Any]:
    """The labels that were given, by node."""
    names, classes = labelling.graph.nodes, labelling.classes
    rows = np.flatnonzero(labelling.is_labelled).tolist()
    if labelling.multilabel:
        return {names[i]: {classes[k] for k in np.flatnonzero(labelling.given_codes[i])} for i in rows}
    return {names[i]: classes[labelling.given_codes[i]] for i in rows}
