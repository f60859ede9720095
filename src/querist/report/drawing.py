"""A drawing of the graph, coloured by label: all of a small graph, a piece of a large one.

The piece grows from labelled nodes of every class, those with most neighbours, and every class has a share of
it. Next comes the node of a class that has the most edges into the piece already, so that what is shown hangs
together. Where nodes have many edges only a backbone is drawn: for each node the few edges whose ends share
most of their neighbours (Jaccard's index), which hold groups together; the others hide them.

Nodes start at their places in the Laplacian embedding (the order along each axis, not the value: eigenvectors
crowd), which puts what belongs together side by side, and forces then part them.
"""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.graph import Graph
from querist.report import Html
from querist.report.charts import colour_class
from querist.report.forces import settle
from querist.types import Codes, Floats, Sparse

SHOWN = 1000
FEW = 4
"""Edges a node that are drawn in a graph with many."""
ROUNDS = 120
SIZE = 1000


@dataclass(frozen=True)
class Drawing:
    """The drawing, and in words what it shows."""

    svg: Html
    caption: str


def draw(labelling: Any, ranks: Codes, seed: int = 0) -> Drawing:
    """Draw a `Labelling`; `ranks` (K,) says which colour a class has."""
    graph: Graph = labelling.graph
    rows = piece(graph, labelling.is_labelled, labelling.probabilities.argmax(axis=1), SHOWN)
    part = graph.subgraph(rows)
    bones = backbone(part.adjacency)
    svg = _svg(labelling, rows, bones, layout(Graph(bones), seed), ranks)
    whole, drawn = rows.size == graph.n_nodes, bones.nnz // 2
    of = (
        "All nodes"
        if whole
        else f"{rows.size:,} of {graph.n_nodes:,} nodes, around labelled ones of every class"
    )
    all_edges = part.n_edges
    edges = f"; of the {all_edges:,} edges between them the {drawn:,} between nodes most alike"
    return Drawing(
        svg,
        f"{of}{edges if drawn < all_edges else ''}. A ring marks a label that was given, a fainter colour "
        "a less certain one. Hover over a node for its name.",
    )


def piece(graph: Graph, labelled: Any, codes: Codes, most: int) -> Codes:
    """Rows to draw: all, or a piece with a share for every class; `codes` (n,) are the classes."""
    S, n = graph.adjacency, graph.n_nodes
    if n <= most:
        return np.arange(n)
    neighbours = np.diff(S.indptr)
    joined = np.flatnonzero(labelled & (neighbours > 0))
    starts = _starts(joined, codes, neighbours, max(8, most // 40))
    # A small class has a larger share of the drawing than of the graph, else it would not be seen.
    share = np.sqrt(np.bincount(codes, minlength=int(codes.max()) + 1))
    room = np.ceil(most * share / share.sum()).astype(np.int64)
    chosen, inside, links, ahead = list[int](), np.zeros(n, bool), np.zeros(n, np.int64), set[int]()

    def take(row: int) -> None:
        inside[row] = True
        chosen.append(row)
        ahead.discard(row)
        room[codes[row]] -= 1
        near = S.indices[S.indptr[row] : S.indptr[row + 1]][:200]
        links[near] += 1
        ahead.update(int(k) for k in near[:50] if not inside[k])

    for row in starts.tolist():
        take(row)
    while len(chosen) < most and ahead:
        at = np.fromiter(ahead, np.int64, len(ahead))
        # A hub has edges into anything: the share of its edges counts too. A full class waits.
        value = links[at] * np.sqrt(links[at] / neighbours[at]) * np.where(room[codes[at]] > 0, 1.0, 1e-6)
        for row in at[np.argsort(-value, kind="stable")[: min(10, most - len(chosen))]].tolist():
            take(row)
    rows = np.sort(np.array(chosen, dtype=np.int64))
    return rows[np.diff(S[rows][:, rows].indptr) > 0]


def backbone(S: Sparse, few: int = FEW) -> Sparse:
    """The edges that are among the `few` most alike of either end; all where nodes have no more on average.

    >>> from querist import as_graph
    >>> clique = as_graph([(i, j) for i in range(6) for j in range(i)])
    >>> backbone(clique.adjacency, 1).nnz // 2
    5
    """
    if S.nnz <= 2 * few * S.shape[0]:
        return S
    A = (S.toarray() != 0).astype(np.float32)
    near = A + np.eye(S.shape[0], dtype=np.float32)
    common = near @ near
    sizes = near.sum(axis=1)
    alike = np.where(A > 0, common / (sizes[:, None] + sizes[None, :] - common), 0.0)
    # Ties, of which a clique is full, go to the nearer row, so that a clique becomes a band and not a star.
    rows = np.arange(S.shape[0])
    alike -= 1e-6 * np.abs(rows[:, None] - rows[None, :]) / rows.size
    order = np.argsort(-np.where(A > 0, alike, -1.0), axis=1, kind="stable")[:, :few]
    kept = np.zeros(A.shape, dtype=bool)
    np.put_along_axis(kept, order, True, axis=1)
    return sp.csr_array(S.toarray() * ((kept | kept.T) & (A > 0)))


def _starts(seeds: Codes, codes: Codes, neighbours: Codes, count: int) -> Codes:
    """Labelled nodes of every class in turn, those with most neighbours first."""
    order = seeds[np.lexsort((-neighbours[seeds], codes[seeds]))]
    own = codes[order]
    first = np.searchsorted(own, own)
    turn = np.arange(order.size) - first
    return order[np.argsort(turn, kind="stable")][:count]


def layout(graph: Graph, seed: int = 0) -> Floats:
    """(n, 2) places in the square from -1 to 1."""
    n = graph.n_nodes
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    main = np.flatnonzero(graph.components == 0)
    if main.size > 5:
        X[main] = 0.05 * X[main] + _spectral_places(graph.subgraph(main))
    S = graph.adjacency
    heads = np.repeat(np.arange(n), np.diff(S.indptr))
    once = heads < S.indices
    mass = 1.0 + np.diff(S.indptr).astype(np.float64) ** 0.5
    # The area stays the same whatever the number of nodes and edges.
    push = 0.25 * max(1.0, S.nnz / max(n, 1)) / max(n, 1)
    settle(X, np.empty_like(X), mass, heads[once], S.indices[once].astype(np.int64), push, 0.4, ROUNDS)
    X -= (X.max(axis=0) + X.min(axis=0)) / 2
    return np.asarray(X / max(np.abs(X).max(), 1e-9))


def _spectral_places(graph: Graph) -> Floats:
    """Ranks along the first two eigenvectors of the normalised Laplacian, from -1 to 1."""
    from querist.embedding import embed

    rows = embed(graph, 3, cache=False, tol=1e-2).rows[:, :2] / np.sqrt(graph.degrees)[:, None]
    ranks = np.argsort(np.argsort(rows, axis=0, kind="stable"), axis=0)
    return np.asarray(2 * ranks / max(1, graph.n_nodes - 1) - 1)


def _svg(labelling: Any, rows: Codes, S: Sparse, X: Floats, ranks: Codes) -> Html:
    half, margin = SIZE / 2, 18
    P = half + (half - margin) * X
    heads = np.repeat(np.arange(rows.size), np.diff(S.indptr))
    ends = np.column_stack([heads, S.indices])[heads < S.indices]
    path = "".join(f"M{P[i, 0]:.0f} {P[i, 1]:.0f}L{P[j, 0]:.0f} {P[j, 1]:.0f}" for i, j in ends)
    size = float(np.clip(90 / np.sqrt(rows.size), 3.2, 9.0))
    # Labelled nodes last, so that they lie on top.
    order = np.argsort(labelling.is_labelled[rows], kind="stable").tolist()
    dots = "".join(_dot(labelling, int(rows[k]), P[k], size, ranks) for k in order)
    return Html(
        f'<svg role="img" aria-label="The graph, coloured by label." viewBox="0 0 {SIZE} {SIZE}">'
        f'<path d="{path}" stroke="var(--muted)" stroke-width="1" opacity=".28" fill="none"/>{dots}</svg>'
    )


def _dot(labelling: Any, row: int, place: Floats, size: float, ranks: Codes) -> str:
    """A node: its colour says the label, a ring that it was given, faintness how unsure it is."""
    known, reached = bool(labelling.is_labelled[row]), bool(labelling.reached[row])
    label, sure = labelling.labels[row], float(labelling.probability[row])
    name = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    said = "not reached" if not reached else f"{name}, given" if known else f"{name}, {sure:.0%}"
    rank = int(ranks[labelling.probabilities[row].argmax()])
    look = colour_class(rank) if reached else "none"
    if known:
        extra = ' stroke="var(--ink)" stroke-width="2.2"'
    else:
        extra = f' opacity="{0.35 + 0.65 * sure:.2f}"' if reached else ""
    r = 1.35 * size if known else size
    return (
        f'<circle class="{look}" cx="{place[0]:.0f}" cy="{place[1]:.0f}" r="{r:.1f}"'
        f"{extra}><title>{escape(f'{labelling.graph.nodes[row]}: {said}')}</title></circle>"
    )
