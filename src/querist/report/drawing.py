"""A drawing of the graph, coloured by label: all of a small graph, a piece of a large one.

The piece grows from labelled nodes of every class, those with most neighbours, and every class has a share of
it. Next comes the node of a class that has the most edges into the piece already, so that what is shown hangs
together. Where nodes have many edges only a backbone is drawn: for each node the few edges whose ends share
most of their neighbours (Jaccard's index), which hold groups together; the others hide them.

Nodes start at their places in the Laplacian embedding (the order along each axis, not the value: eigenvectors
crowd), which puts what belongs together side by side, and forces then part them.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from querist.compiled import compiled
from querist.lazy import needing
from querist.report.charts import class_colour
from querist.report.figures import CLASS_COLOURS, INK, LINE, MUTED, PAPER
from querist.report.page import part
from querist.types import Bools, Codes, Floats, Sparse

with needing("report", "a drawing"):
    from markupsafe import Markup

SHOWN = 1000
FEW = 4
"""Edges a node that are drawn in a graph with many."""
ROUNDS = 120
SIZE = 1000


def draw(
    S: Sparse,
    codes: Codes,
    ranks: Codes,
    *,
    labelled: Bools,
    reached: Bools,
    sure: Floats,
    said: Callable[[int], str],
) -> tuple[Markup, str]:
    """A drawing of a graph with weights S (n, n) whose nodes have the classes `codes` (n,), and in words what
    it shows.

    ranks : (K,) which colour a class has
    labelled, reached : (n,) whether the class was given, and whether there is one at all
    sure : (n,) its probability
    said : what a row is and what was found, in words
    """
    rows, places, ends, caption = arranged(S, codes, labelled)
    half, margin = SIZE / 2, 18
    P = half + (half - margin) * places
    path = "".join(f"M{P[i, 0]:.0f} {P[i, 1]:.0f}L{P[j, 0]:.0f} {P[j, 1]:.0f}" for i, j in ends)
    size = float(np.clip(90 / np.sqrt(rows.size), 3.2, 9.0))
    dots = [
        {
            "look": class_look(int(ranks[codes[row]])) if reached[row] else "none",
            "place": P[k],
            "radius": 1.35 * size if labelled[row] else size,
            "given": bool(labelled[row]),
            "opacity": 0.35 + 0.65 * float(sure[row]) if reached[row] else 1.0,
            "said": said(row),
        }
        # Labelled nodes last, so that they lie on top.
        for k in np.argsort(labelled[rows], kind="stable")
        for row in [int(rows[k])]
    ]
    return part("drawing", SIZE, path, dots), f"{caption} Hover over a node for its name."


def draw_on(
    axes: Any,
    S: Sparse,
    codes: Codes,
    ranks: Codes,
    *,
    labelled: Bools,
    reached: Bools,
    sure: Floats,
) -> str:
    """The same drawing on matplotlib axes; returns in words what it shows."""
    from matplotlib.collections import LineCollection

    rows, P, ends, caption = arranged(S, codes, labelled)
    axes.add_collection(LineCollection(list(P[ends]), colors=MUTED, linewidths=0.5, alpha=0.3, zorder=1))
    given = labelled[rows]
    colours = [class_colour(int(ranks[codes[row]])) if reached[row] else PAPER for row in rows]
    axes.scatter(
        *P.T,
        s=np.clip(6000 / rows.size, 8, 70) * np.where(given, 1.8, 1.0),
        c=colours,
        alpha=np.where(reached[rows], 0.35 + 0.65 * sure[rows], 1.0),
        edgecolors=[INK if labelled[row] else LINE if reached[row] else MUTED for row in rows],
        linewidths=np.where(given, 1.2, 0.4),
        zorder=2,
    )
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return caption


def arranged(S: Sparse, codes: Codes, labelled: Bools) -> tuple[Codes, Floats, Codes, str]:
    """(m,) the rows that are drawn, (m, 2) their places from -1 to 1, the edges between them as pairs of
    places, and in words what is shown."""
    n = S.shape[0]
    rows = piece(S, labelled, codes, SHOWN)
    whole = S[rows][:, rows]
    bones = backbone(whole)
    heads = np.repeat(np.arange(rows.size), np.diff(bones.indptr))
    ends = np.column_stack([heads, bones.indices])[heads < bones.indices]
    of = (
        "All nodes"
        if rows.size == n
        else f"{rows.size:,} of {n:,} nodes, around labelled ones of every class"
    )
    drawn, edges = bones.nnz // 2, whole.nnz // 2
    fewer = f"; of the {edges:,} edges between them the {drawn:,} between nodes most alike"
    caption = (
        f"{of}{fewer if drawn < edges else ''}. A ring marks a label that was given, a fainter colour "
        "a less certain one."
    )
    return rows, layout(bones), ends, caption


def class_look(rank: int) -> str:
    """What the style sheet calls a class by its rank in size."""
    return f"c{rank}" if rank < len(CLASS_COLOURS) else "other"


def piece(S: Sparse, labelled: Bools, codes: Codes, most: int) -> Codes:
    """Rows to draw: all, or a piece with a share for every class; `codes` (n,) are the classes."""
    n = S.shape[0]
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


def layout(S: Sparse) -> Floats:
    """(n, 2) places in the square from -1 to 1."""
    n = S.shape[0]
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    _, component = connected_components(S, directed=False)
    main = np.flatnonzero(component == np.bincount(component).argmax())
    if main.size > 5:
        X[main] = 0.05 * X[main] + _spectral_places(S[main][:, main])
    heads = np.repeat(np.arange(n), np.diff(S.indptr))
    once = heads < S.indices
    mass = 1.0 + np.diff(S.indptr).astype(np.float64) ** 0.5
    # The area stays the same whatever the number of nodes and edges.
    push = 0.25 * max(1.0, S.nnz / max(n, 1)) / max(n, 1)
    Z = X.view(np.complex128)[:, 0]
    settle(Z, np.empty_like(Z), mass, heads[once], S.indices[once].astype(np.int64), push, 0.4, ROUNDS)
    X -= (X.max(axis=0) + X.min(axis=0)) / 2
    return np.asarray(X / max(np.abs(X).max(), 1e-9))


def _spectral_places(S: Sparse) -> Floats:
    """Ranks along the first two eigenvectors of the normalised Laplacian, from -1 to 1."""
    A = S.toarray()
    root = np.sqrt(np.abs(A).sum(axis=1))
    # A drawing has few nodes, so that a dense solver will do. The first eigenvector tells nothing.
    _, vectors = eigh(np.eye(len(A)) - A / np.outer(root, root), subset_by_index=[1, 2])
    ranks = np.argsort(np.argsort(vectors / root[:, None], axis=0, kind="stable"), axis=0)
    return np.asarray(2 * ranks / max(1, len(A) - 1) - 1)


@compiled
def settle(X: Any, F: Any, mass: Any, heads: Any, tails: Any, push: float, pull: float, rounds: int) -> None:
    """Move the points X (n,) in place, places as complex numbers; F (n,) is room.

    ForceAtlas2 (Jacomy, Venturini, Heymann and Bastian 2014): the push of j on i is
    `push mass_i mass_j / distance`, an edge pulls by `distance`, and all fall to the middle by
    `pull mass`. A step is at most a temperature that falls to 0.
    """
    n = X.size
    for t in range(rounds):
        for i in range(n):
            F[i] = -pull * mass[i] * X[i]
        for i in range(n):
            for j in range(i):
                d = X[i] - X[j]
                force = push * mass[i] * mass[j] / (d.real * d.real + d.imag * d.imag + 1e-6)
                F[i] += force * d
                F[j] -= force * d
        for e in range(heads.size):
            d = X[heads[e]] - X[tails[e]]
            F[heads[e]] -= d
            F[tails[e]] += d
        most = 0.15 * (1 - t / rounds) ** 2 + 1e-4
        for i in range(n):
            # Heavy nodes move less: they would swing.
            x, y = F[i].real / mass[i], F[i].imag / mass[i]
            length = sqrt(x * x + y * y)
            if length > most:
                x, y = x * most / length, y * most / length
            X[i] += complex(x, y)
