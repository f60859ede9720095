"""Rows for nodes that were not there, and rows after edges were added.

**A new node** gets its row from those of its neighbours, by the rule of its kind of embedding (`Kind.row`).
Neighbours in smaller components than the largest do not count: they have nothing to say about it. A node
without neighbours has the row 0 and a component of its own: it is "not reached". A node that was added, or
was isolated, is placed anew when a later one joins it.

**A graph that has grown** has other eigenvectors, and what the extension says of them goes stale. `follow`
places a node that arrives, and makes all rows anew once more than `STALE` of the weight came after they were
computed. It does not start from the old ones: that took up to three times as long as starting from none. What
extended rows lack is the effect of the new edges on all the others; placing the new rows again among
themselves hardly helps (benchmarks/embedding.py prints what extension alone and following cost).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import scipy.sparse as sp

from querist.embedding.kinds import FollowKeywords, Kind, known
from querist.embedding.value import STALE, Embedding
from querist.errors import InputError
from querist.graph.graph import Graph

Edges = Iterable[int] | Mapping[int, float]


def extend(embedding: Embedding, nodes: Sequence[Edges]) -> Embedding:
    """The embedding with a row more for every new node; `Embedding.extend` describes `nodes`."""
    grown = _Grown(embedding, _kind_of(embedding), len(nodes))
    for node, edges in enumerate(nodes, start=embedding.n_nodes):
        grown.add(node, as_edges(edges, node))
    local, n = embedding.local, len(grown.rows)
    if local is not None:
        # What a new node's row lacks is not known: nothing is added for it.
        indptr = np.pad(local.indptr, (0, len(nodes)), mode="edge")
        local = sp.csr_array((local.data, local.indices, indptr), shape=(n, n))
    share = grown.weight / max(grown.weight + embedding.degrees.sum(), np.finfo(float).tiny)
    note = f"{len(nodes):,} rows extended from edges, with {share:.1%} of all weight; embed() recomputes"
    return replace(
        embedding,
        rows=grown.rows,
        components=grown.components,
        degrees=grown.degrees,
        known_edges=grown.known,
        nodes=None,
        local=local,
        notes=(*embedding.notes, note),
    )


def _kind_of(embedding: Embedding) -> Kind:
    kind = known().get(embedding.kind)
    if kind is None or embedding.degrees.size != embedding.n_nodes:
        raise InputError("this embedding does not know its graph; make it with querist.embed()")
    return kind


def as_edges(edges: Edges, node: int) -> dict[int, float]:
    """Row numbers of a new node's neighbours and the weights, checked."""
    pairs = dict(edges if isinstance(edges, Mapping) else dict.fromkeys(edges, 1.0))
    for neighbour, weight in pairs.items():
        if not 0 <= neighbour < node:
            raise InputError(
                f"new node {node} names neighbour {neighbour}; give row numbers from 0 to {node - 1}"
            )
        if not np.isfinite(weight):
            raise InputError(f"new node {node} has weight {weight}; give finite weights")
    return {int(neighbour): float(weight) for neighbour, weight in pairs.items() if weight != 0}


class _Grown:
    """Rows while nodes are added. `known` has the edges of the nodes all of whose edges are known: those
    that were added, and those that had none before."""

    def __init__(self, old: Embedding, kind: Kind, more: int) -> None:
        self.old, self.kind = old, kind
        self.rows = np.vstack([old.rows, np.zeros((more, old.n_columns))])
        self.degrees = np.concatenate([old.degrees, np.zeros(more)])
        self.fresh = int(old.components.max(initial=-1)) + 1
        self.components = np.concatenate([old.components, self.fresh + np.arange(more)])
        self.known = {node: dict(edges) for node, edges in old.known_edges.items()}
        self.known |= {int(node): {} for node in np.flatnonzero(old.degrees == 0) if node not in self.known}
        self.weight = 0.0

    def add(self, node: int, edges: dict[int, float]) -> None:
        """A node, placed by its neighbours; then those of them that only added nodes hold, by it."""
        self.known[node] = edges
        self.weight += 2 * sum(map(abs, edges.values()))
        for neighbour in edges.keys() & self.known.keys():
            self.known[neighbour][node] = edges[neighbour]
        self.place(node)
        for neighbour in edges:
            if neighbour in self.known:
                self.place(neighbour)

    def place(self, node: int) -> None:
        """The row by its neighbours in the largest component among theirs (the lowest number)."""
        edges = self.known[node]
        if not edges:
            return
        neighbours, weights = np.array(list(edges)), np.array(list(edges.values()))
        home = self.components[neighbours].min()
        there = self.components[neighbours] == home
        near = neighbours[there]
        self.degrees[node] = np.abs(weights).sum()
        # An isolated neighbour that was never placed has no degree yet, and nothing to say.
        degrees = np.where(self.degrees[near] > 0, self.degrees[near], 1.0)
        self.rows[node] = self.kind.row(self.old, self.rows[near], degrees, weights[there])
        self.components[node] = home


def follow(
    embedding: Embedding, graph: Graph, *, stale: float = STALE, **options: Unpack[FollowKeywords]
) -> Embedding:
    """Rows for `graph`, whose first nodes are those of `embedding`: extended, or made anew when stale.

    Rows that are made anew have the settings of the old ones but for `options`, which are those of `embed`.
    """
    _kind_of(embedding)
    if graph.n_nodes < embedding.n_nodes:
        raise InputError(
            f"a graph of {graph.n_nodes:,} nodes for an embedding of {embedding.n_nodes:,}; "
            "nodes may be added at the end, not taken away"
        )
    made = float(embedding.degrees.sum() - embedding.degrees[list(embedding.known_edges)].sum())
    now = float(graph.degrees.sum())
    if now - made <= stale * now:
        return replace(extend(embedding, edges_of(graph, embedding.n_nodes)), nodes=graph.own_ids)
    from querist.embedding.make import embed

    given = {"cache": False, **embedding.settings, **options}
    found = embed(graph, embedding.rank, kind=embedding.kind, **given)
    return replace(found, notes=(*found.notes, f"made anew, since {1 - made / now:.1%} of the weight is new"))


def edges_of(graph: Graph, first: int) -> list[Edges]:
    """For every node from `first` on, its edges to earlier nodes."""
    S, edges = graph.adjacency, list[Edges]()
    for node in range(first, graph.n_nodes):
        entries = slice(S.indptr[node], S.indptr[node + 1])
        earlier = S.indices[entries] < node
        edges.append(
            dict(zip(S.indices[entries][earlier].tolist(), S.data[entries][earlier].tolist(), strict=True))
        )
    return edges
