"""Sets that come with the package: built from a few facts or a seed, nothing to fetch.

Points become a graph by their k nearest neighbours, with heat-kernel weights
(`querist.from_points`).
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.datasets.registry import Row
from querist.errors import InputError
from querist.graph import Graph, from_points
from querist.labels import Labels
from querist.registry import Registry
from querist.types import Codes, Floats

# Zachary (1977), members 0..33: for each member the friends with a higher number.
_KARATE = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30), 2: (3, 7, 8, 9, 13, 27, 28, 32), 3: (7, 12, 13),
    4: (6, 10), 5: (6, 10, 16), 6: (16,), 8: (30, 32, 33), 9: (33,), 13: (33,), 14: (32, 33),
    15: (32, 33), 18: (32, 33), 19: (33,), 20: (32, 33), 22: (32, 33), 23: (25, 27, 29, 32, 33),
    24: (25, 27, 31), 25: (31,), 26: (29, 33), 27: (33,), 28: (31, 33), 29: (32, 33),
    30: (32, 33), 31: (32, 33), 32: (33,),
}  # fmt: skip
_OFFICERS = (9, 14, 15, 18, 20, *range(22, 34))


def karate() -> Graph:
    """Zachary's karate club, unweighted; the label is the club a member joined after the split.

    >>> karate().describe()
    'karate: 34 nodes, 78 edges, 2 classes, connected'
    """
    edges = np.array([(i, j) for i, friends in _KARATE.items() for j in friends])
    codes = np.zeros(34, dtype=np.int64)
    codes[list(_OFFICERS)] = 1
    return _graph("karate", edges, codes, ("Mr. Hi", "Officer"))


def digits(k: int = 10) -> Graph:
    """The 1,797 handwritten digits of scikit-learn as a k-nearest-neighbour graph.

    Attributes are the 64 pixels (0..16).

    >>> graph = digits()
    >>> graph.n_nodes, graph.n_classes
    (1797, 10)
    """
    from sklearn.datasets import load_digits

    pixels, target = load_digits(return_X_y=True)
    return from_points(pixels, k=k, labels=target, classes=tuple(range(10)), name="digits")


def messages(k: int = 5) -> Graph:
    """120 short messages to a town's office, written for this library, each joined to the k most like it.

    The label is what a message is about: roads, waste, parks, water or noise. Attributes are counts of words;
    likeness is the cosine of their tf-idf weights. `table_of("messages")` has titles and texts.

    >>> messages().describe(notes=False)
    'messages: 120 nodes, 399 edges, 623 attributes, 5 classes, connected'
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    rows = _messages()
    counts = CountVectorizer(stop_words="english").fit_transform(
        [f"{row['title']} {row['text']}" for row in rows]
    )
    graph = from_points(
        TfidfTransformer().fit_transform(counts),
        k=k,
        labels=[row["topic"] for row in rows],
        classes=("roads", "waste", "parks", "water", "noise"),
        nodes=[row["node"] for row in rows],
        name="messages",
    )
    return replace(graph, attributes=sp.csr_array(counts, dtype=np.float64))


def _messages() -> list[dict[str, str]]:
    """The rows of the file, in an order that tells nothing of their topics."""
    text = files("querist.datasets").joinpath("messages.tsv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    return [{"node": f"m{place + 1:03}", **rows[i]} for place, i in enumerate(order)]


def table_of(name: str) -> dict[str, list[Any]] | None:
    """What people can read of the nodes of a bundled set, by column; None where there is nothing to read.

    >>> sorted(table_of("messages")), table_of("karate") is None
    (['node', 'text', 'title'], True)
    """
    if name == "messages":
        return {column: [row[column] for row in _messages()] for column in ("node", "title", "text")}
    if name == "digits":
        from sklearn.datasets import load_digits

        pixels = load_digits().data
        columns = {f"pixel {j}": column.tolist() for j, column in enumerate(pixels.T)}
        return {"node": list(range(len(pixels))), **columns}
    return None


def two_moons(n: int = 400, noise: float = 0.1, k: int = 10, seed: int = 0) -> Graph:
    """Two interleaved half circles of radius 1, as a k-nearest-neighbour graph.

    `noise` is the standard deviation of the Gaussian added to both coordinates; nodes
    come in random order and the coordinates are the attributes.

    >>> graph = two_moons(40)
    >>> graph.n_nodes, graph.attributes.shape
    (40, (40, 2))
    """
    if n < 4 or noise < 0:
        raise InputError(f"two_moons(n={n}, noise={noise}): give n >= 4 and noise >= 0")
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 2)
    angle = rng.uniform(0, np.pi, n)
    sign = 1 - 2 * codes
    points = np.column_stack([codes + sign * np.cos(angle), 0.5 * codes + sign * np.sin(angle)])
    points += rng.normal(0, noise, points.shape)
    return from_points(points, k=k, labels=codes, classes=(0, 1), name="two_moons")


def three_clusters(size: int = 12, links: int | None = None, bridges: int = 1) -> Graph:
    """Three cliques, two near each other and one remote (pounce08, section 2.2).

    The first two cliques are joined by `links` edges (half of `size` by default: in
    proportion to it, and fewer than it); each of the two by `bridges` edges, however
    large the cliques, to the third. The label is the clique.

    >>> three_clusters(size=6).describe()
    'three_clusters: 18 nodes, 50 edges, 3 classes, connected'
    """
    links = size // 2 if links is None else links
    if size < 2 or not 0 < links < size or not 0 < bridges <= size // 2:
        raise InputError(
            f"three_clusters(size={size}, links={links}, bridges={bridges}): "
            "give size >= 2, 0 < links < size and 0 < bridges <= size / 2"
        )
    first, second, third = (range(c * size, (c + 1) * size) for c in range(3))
    edges = [pair for clique in (first, second, third) for pair in combinations(clique, 2)]
    edges += zip(first[:links], second[:links], strict=True)
    edges += zip(first[-bridges:], third[:bridges], strict=True)
    edges += zip(second[-bridges:], third[-bridges:], strict=True)
    codes = np.repeat(np.arange(3), size)
    return _graph("three_clusters", np.array(edges), codes, (0, 1, 2))


def sbm(
    sizes: Sequence[int] = (100, 100, 100),
    p_in: float = 0.1,
    p_out: float = 0.01,
    weighted: bool = False,
    seed: int = 0,
) -> Graph:
    """Independent edges: with probability `p_in` inside a block, `p_out` between blocks.

    The label is the block. `weighted` draws every weight uniformly from [0.5, 1.5).

    >>> graph = sbm((20, 20), p_in=0.5, p_out=0.02)
    >>> graph.n_nodes, graph.classes
    (40, (0, 1))
    """
    if len(sizes) == 0 or min(sizes) < 1 or not (0 <= p_in <= 1 and 0 <= p_out <= 1):
        raise InputError(
            f"sbm(sizes={tuple(sizes)}, p_in={p_in}, p_out={p_out}): "
            "give block sizes of at least 1 and probabilities between 0 and 1"
        )
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(sizes)])
    blocks = [
        _random_pairs(rng, int(start[a]), int(start[b]), sizes[a], sizes[b], p_in if a == b else p_out)
        for a in range(len(sizes))
        for b in range(a, len(sizes))
    ]
    edges = np.concatenate(blocks)
    weights = rng.uniform(0.5, 1.5, len(edges)) if weighted else None
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return _graph("sbm", edges, codes, tuple(range(len(sizes))), weights)


BUILT = (
    (digits, Row("digits", 1797, 12339, 10, 64, "handwritten digits, 10 nearest neighbours")),
    (messages, Row("messages", 120, 399, 5, 623, "short messages to a town's office, 5 most alike")),
    (karate, Row("karate", 34, 78, 2, 0, "Zachary's karate club, the two sides of the split")),
    (sbm, Row("sbm", 300, 1775, 3, 0, "stochastic block model, 3 blocks of 100")),
    (three_clusters, Row("three_clusters", 36, 206, 3, 0, "three cliques of 12, one remote (pounce08)")),
    (two_moons, Row("two_moons", 400, 2458, 2, 2, "two half circles, 10 nearest neighbours")),
)
BUILDERS: Registry[Callable[[], Graph]] = Registry(
    "data set", {entry.name: build for build, entry in BUILT}, "dataset"
)
"""What makes each, without arguments; a plugin adds such a function by `dataset.NAME`."""
BUNDLED = {entry.name: entry for _, entry in BUILT}
"""The counts of what the builders make by default."""


def _graph(
    name: str, edges: Codes, codes: Codes, classes: tuple[Any, ...], weights: Floats | None = None
) -> Graph:
    n = len(codes)
    half = sp.csr_array((np.ones(len(edges)) if weights is None else weights, tuple(edges.T)), shape=(n, n))
    return Graph(sp.csr_array(half + half.T), known=Labels(codes, classes), name=name)


def _random_pairs(rng: np.random.Generator, a: int, b: int, rows: int, columns: int, p: float) -> Codes:
    """Pairs (i, j) of two blocks that start at a and b, each kept with probability p."""
    inside = a == b
    total = rows * (rows - 1) // 2 if inside else rows * columns
    chosen = np.sort(rng.choice(total, size=rng.binomial(total, p), replace=False, shuffle=False))
    if not inside:
        return np.column_stack([a + chosen // columns, b + chosen % columns])
    # Pair number c of the strict lower triangle is (i, j) with c = i(i-1)/2 + j.
    i = ((1 + np.sqrt(1 + 8 * chosen.astype(np.float64))) // 2).astype(np.int64)
    i -= i * (i - 1) // 2 > chosen
    return np.column_stack([a + i, a + chosen - i * (i - 1) // 2])
