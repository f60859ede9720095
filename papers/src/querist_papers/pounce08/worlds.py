"""Worlds of pounce08: graphs and points to be labelled node by node, drawn at random or built by hand.

A world has two classes, 0 and 1, an order in which its nodes are asked about, and a graph. Where the graph
comes from points, it is the exponential one, `exp(-a d)`, with the `a` that Theorem 8 asks for.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from querist import Graph, InputError, as_graph, datasets, from_points
from querist_papers.theory import pounce08
from querist_papers.theory.covers import distances
from querist_papers.types import Codes, Floats

WIDTH = 0.1
"""Half the width of a crescent of radius 1."""

BEYOND = 1.001
"""How far beyond the scale that Theorem 8 needs."""


class World(NamedTuple):
    """What a learner meets."""

    graph: Graph
    labels: Codes
    """(n,) 0 or 1, of every node."""
    order: Codes
    """The nodes to be predicted, as they come."""
    points: Floats | None = None
    """(n, 2) where the graph was made of points."""
    scale: float = 0.0
    """The `a` of the exponential graph."""


def random_graph(rng: np.random.Generator, *, nodes: int = 8, signed: bool = False) -> World:
    """3 to `nodes` nodes, connected, weights over two orders of magnitude, labels and order at random.

    A signed graph holds a triangle with one negative edge, which makes its Laplacian positive definite.
    Half of the time nodes come once each, half of the time they may come again.
    """
    n = int(rng.integers(3, nodes + 1))
    W = np.triu(np.where(rng.random((n, n)) < 0.4, 10 ** rng.uniform(-1, 1, (n, n)), 0.0), 1)
    for i in range(1, n):  # a random tree keeps it connected
        W[rng.integers(i), i] = 10 ** rng.uniform(-1, 1)
    if signed:
        W *= np.where(rng.random((n, n)) < 0.4, -1, 1)
        W[0, 1], W[0, 2], W[1, 2] = abs(W[0, 1]) or 1.0, abs(W[0, 2]) or 1.0, -(abs(W[1, 2]) or 1.0)
    order = rng.permutation(n) if rng.random() < 0.5 else rng.integers(0, n, 2 * n)
    return World(as_graph(W + W.T), rng.integers(0, 2, n), order)


def communities(rng: np.random.Generator, *, size: int = 30, blocks: int = 4, flipped: float = 0.0) -> World:
    """Blocks of a stochastic block model, half of them positive; a share of the labels is `flipped`."""
    drawn = datasets.sbm([size] * blocks, 0.5, 0.05, seed=int(rng.integers(2**31)))
    graph = drawn.largest_component()
    labels = graph.codes % 2 ^ (rng.random(graph.n_nodes) < flipped)
    return World(graph, labels, rng.permutation(graph.n_nodes))


def linked(size: int) -> int:
    """Edges between the first two cliques: three quarters of their nodes have one."""
    return 3 * size // 4


def clusters(rng: np.random.Generator, *, size: int = 12) -> World:
    """Three cliques, the third remote; the first, which has its many links cut, is positive (section 2.2)."""
    graph = datasets.three_clusters(size, links=linked(size))
    labels = (graph.codes == 0).astype(np.int64)
    return World(graph, labels, rng.permutation(graph.n_nodes))


def two_cliques(rng: np.random.Generator, *, size: int = 12) -> World:
    """Two cliques of opposite labels, joined by as many edges (section 2.2)."""
    W = np.kron(np.eye(2), np.ones((size, size))) - np.eye(2 * size)
    ends = np.arange(linked(size))
    W[ends, size + ends] = W[size + ends, ends] = 1.0
    return World(as_graph(W), np.repeat([0, 1], size), rng.permutation(2 * size))


def line(rng: np.random.Generator, *, n: int = 16, bisected: bool = False) -> World:
    """A path, cut once: at random and in random order, or bisected (section 6).

    Bisected, only the first node is positive, and the nodes come as a search for the cut between the ends
    would ask for them: first the ends, then again and again the one half way to the positive end.
    """
    labels = (np.arange(n) >= (1 if bisected else rng.integers(1, n))).astype(np.int64)
    order = rng.permutation(n)
    if bisected:
        halves = [0, *((n - 1) >> k for k in range((n - 1).bit_length()))]
        order = np.concatenate([halves, np.setdiff1d(order, halves)])
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return World(as_graph(edges.tolist()), labels, order)


def matched(rng: np.random.Generator, *, size: int = 12) -> World:
    """Two dense clusters of opposite labels in which the nearest node by path is always of the other one.

    Each cluster is complete bipartite, so that the nodes of a side are two steps apart; nodes of one side
    are matched with their twins in the other cluster, one step away. Nodes and their twins come in turn.
    Between twins the resistance is about half as much again as within a side, however large the clusters:
    `size` matched edges carry what one edge does not.
    """
    side = np.arange(size)
    W = np.zeros((4 * size, 4 * size))
    for start in (0, 2 * size):
        W[np.ix_(start + side, start + size + side)] = 1.0
    W[side, 2 * size + side] = 1.0
    shown = rng.permutation(size)
    order = np.column_stack([shown, 2 * size + shown]).ravel()
    return World(as_graph(W + W.T), np.repeat([0, 1], 2 * size), order)


def crescents(rng: np.random.Generator, *, n: int = 30) -> World:
    """`n` points on two crescents, evenly along them but for a little: the black points of Figure 1."""
    half = np.arange(n) // 2
    angle = np.pi * (half + rng.uniform(0.25, 0.75, n)) / ((n + 1) // 2)
    radius = 1 + rng.uniform(-WIDTH, WIDTH, n)
    labels = np.arange(n) % 2
    return _of_points(on_crescents(angle, radius, labels), labels, rng.permutation(n))


def crescent_space() -> tuple[Floats, Codes]:
    """The crescents themselves, as points close together, and their labels."""
    angle, radius = np.meshgrid(np.linspace(0, np.pi, 81), 1 + np.linspace(-WIDTH, WIDTH, 5))
    labels = np.repeat([0, 1], angle.size)
    return on_crescents(np.tile(angle.ravel(), 2), np.tile(radius.ravel(), 2), labels), labels


def crescent_outline(side: int) -> Floats:
    """(points, 2) the edge of a crescent: out along its outer rim, back along its inner one."""
    angle = np.linspace(0, np.pi, 81)
    there, back = np.full(angle.size, 1 + WIDTH), np.full(angle.size, 1 - WIDTH)
    labels = np.full(2 * angle.size, side)
    return on_crescents(np.concatenate([angle, angle[::-1]]), np.concatenate([there, back]), labels)


def on_crescents(angle: Floats, radius: Floats, labels: Codes) -> Floats:
    """(n, 2) points by the angle and radius in their half circle; that of class 1 is turned and shifted."""
    sign = 1 - 2 * labels
    return np.column_stack(
        [labels + sign * radius * np.cos(angle), 0.5 * labels + sign * radius * np.sin(angle)]
    )


def moons(rng: np.random.Generator, *, n: int = 200, noise: float = 0.05) -> World:
    """Two moons, a class each."""

    def draw() -> tuple[Floats, Codes]:
        drawn = datasets.two_moons(n=n, noise=noise, seed=int(rng.integers(2**31)))
        assert drawn.attributes is not None
        return drawn.attributes.toarray(), drawn.codes

    return _drawn_again(rng, draw)


def blobs(rng: np.random.Generator, *, n: int = 120, blobs: int = 6) -> World:
    """Discs of radius .3 on a grid of step 1, each of one random class."""

    def draw() -> tuple[Floats, Codes]:
        places = rng.choice(16, blobs, replace=False)
        member = rng.integers(0, blobs, n)
        classes = rng.permutation(np.arange(blobs) % 2)
        centre = np.column_stack([places % 4, places // 4])[member]
        angle, radius = rng.uniform(0, 2 * np.pi, n), 0.3 * np.sqrt(rng.random(n))
        points = centre + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        return points, classes[member]

    return _drawn_again(rng, draw)


def figure_4(rng: np.random.Generator, *, n: int = 20) -> World:
    """The points of Figure 4: n to be predicted, tied to their side by points that are never asked about.

    The paper counts 6n of them; there are 6n - 2.
    """
    positive = (rng.random(n) < 0.5).astype(np.int64)
    column, fine = np.arange(1.0, n + 1), np.arange(2.0, 2 * n + 1) / 2
    parts = (
        (column, np.full(n, 1.0), positive),
        (fine, np.zeros(2 * n - 1), np.ones(2 * n - 1, dtype=np.int64)),
        (fine, np.full(2 * n - 1, 2.0), np.zeros(2 * n - 1, dtype=np.int64)),
        (column, np.where(positive == 1, 0.5, 1.5), positive),
    )
    x, y, labels = (np.concatenate(values) for values in zip(*parts, strict=True))
    return _of_points(np.column_stack([x, y]), labels, rng.permutation(n))


def _drawn_again(rng: np.random.Generator, draw: Callable[[], tuple[Floats, Codes]]) -> World:
    """The first draw whose exponential graph can be written in numbers.

    Where labels come close to each other Theorem 8 wants an `a` so large that `exp(-a d)` of the nearest and
    of the farthest needed pair are too far apart for floating point. Such draws are left out.
    """
    for _ in range(100):
        points, labels = draw()
        with suppress(InputError):
            return _of_points(points, labels, rng.permutation(len(points)))
    raise InputError("a hundred draws had labels too near each other; set the classes further apart")


def _of_points(points: Floats, labels: Codes, order: Codes) -> World:
    a = BEYOND * pounce08.scale_needed(distances(points), labels)
    return World(from_points(points, kind="exponential", a=a), labels, order, points, a)


WORLDS: Mapping[str, Callable[..., World]] = {
    build.__name__: build
    for build in (
        random_graph,
        communities,
        clusters,
        two_cliques,
        line,
        matched,
        crescents,
        moons,
        blobs,
        figure_4,
    )
}
"""Builders by name: `WORLDS[name](rng, **settings)`."""
