"""Generated graphs, labels and streams: plain values that print as the code that makes them again.

Every case is drawn from a `random.Random`. One of hypothesis shrinks a case that fails (`cases`); one with a
seed makes many cases fast (`python tests/fuzz --graphs 100000`).
"""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

import querist
from querist.embedding.kinds import known

Pair = tuple[int, int]

MARKUP = (
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "a\tb",
    "line\nbreak",
    "=1+1",
    "",
    " ",
    "\x00",
    "日本",
    "\u202e",
)
"""Ids that do harm where they are shown as they are."""

PARTS = ("empty", "path", "cycle", "star", "complete", "bipartite", "stars", "grid", "tree", "random")
WEIGHTS = {
    "one": (1.0,),
    "plain": (1.0, 0.5, 2.0, 3.25, 0.125),
    "spread": (1e-12, 1.0, 1e12, 1e-6, 1e6),
    "tiny": (1e-300, 1e-308, 1e-290, 3e-305),
    "huge": (1e300, 1e290, 1e307, 3e299),
    "wild": (1e-300, 1e300, 1.0, 1e-150, 1e150, 1e-50, 1e-16, 1e16),
    "subnormal": (5e-324, 1e-310, 1e-320, 2.5e-323),
    "signed": (1.0, -1.0, 0.5, -0.25),
}

POSITIVE = tuple(name for name in WEIGHTS if name != "signed")


def edges_of(kind: str, a: int, b: int, seed: int) -> tuple[int, list[Pair]]:
    """(nodes, edges) of a part of a graph."""
    if kind == "path":
        return a, [(i, i + 1) for i in range(a - 1)]
    if kind == "cycle":
        return a, [(i, (i + 1) % a) for i in range(a)]
    if kind == "star":
        return a + 1, [(0, i + 1) for i in range(a)]
    if kind == "complete":
        return a, [(i, j) for i in range(a) for j in range(i)]
    if kind == "bipartite":
        return a + b, [(i, a + j) for i in range(a) for j in range(b)]
    if kind == "stars":  # hubs in a row, each with b leaves
        leaves = [(hub, a + hub * b + leaf) for hub in range(a) for leaf in range(b)]
        return a + a * b, [(hub, hub + 1) for hub in range(a - 1)] + leaves
    if kind == "grid":
        across = [(i * b + j, i * b + j + 1) for i in range(a) for j in range(b - 1)]
        return a * b, across + [(i * b + j, i * b + j + b) for i in range(a - 1) for j in range(b)]
    rng = np.random.default_rng(seed)
    if kind == "tree":
        return a, [(i, int(rng.integers(i))) for i in range(1, a)]
    if kind == "random":
        return a, [(int(i), int(j)) for i, j in rng.integers(a, size=(a * b, 2))]
    return a, []


@dataclass(frozen=True)
class AttributeCase:
    """Attributes of the nodes: what they look like, how many columns."""

    kind: str
    columns: int
    seed: int = 0

    def made(self, n: int) -> Any:
        rng = np.random.default_rng(self.seed)
        A = rng.random((n, self.columns))
        if self.kind == "sparse":
            return sp.csr_array((A > 0.7).astype(float))
        if self.kind == "words":
            A = (A > 0.5).astype(float)
        elif self.kind == "zero rows":
            A[::2] = 0.0
        elif self.kind == "constant":
            A[:] = 1.0
        elif self.kind == "negative":
            A = -A
        elif self.kind == "huge":
            A *= 1e300
        elif self.kind == "tiny":
            A *= 1e-300
        elif self.kind in ("nan", "inf") and A.size:
            A[0, 0] = float(self.kind)
        return A


ATTRIBUTES = ("dense", "words", "sparse", "zero rows", "constant", "negative", "huge", "tiny")
REFUSED_ATTRIBUTES = ("nan", "inf")


@dataclass(frozen=True)
class GraphCase:
    """A graph in parts: (kind, a, b, seed) each, further edges by row, weights taken in turn."""

    parts: tuple[tuple[str, int, int, int], ...] = ()
    extra: tuple[Pair, ...] = ()
    weights: tuple[float, ...] = (1.0,)
    ids: str = "rows"
    form: str = "edges"
    attributes: AttributeCase | None = None

    def edges(self) -> tuple[int, list[tuple[int, int, float]]]:
        """(nodes, edges) by row."""
        n, pairs = 0, []
        for part in self.parts:
            more, own = edges_of(*part)
            pairs += [(n + i, n + j) for i, j in own]
            n += more
        pairs += [(i % n, j % n) for i, j in self.extra if n]
        return n, [(i, j, self.weights[k % len(self.weights)]) for k, (i, j) in enumerate(pairs)]

    def names(self, n: int) -> list[Any]:
        """The id of every row."""
        if self.ids == "int":
            return [10**9 + 7 * i for i in range(n)]
        if self.ids == "str":
            return [f"n{i}" for i in range(n)]
        if self.ids == "tuple":
            return [(i, "x") for i in range(n)]
        if self.ids == "markup":
            return [MARKUP[i] if i < len(MARKUP) else f"{i}<b>" for i in range(n)]
        return list(range(n))

    def source(self) -> tuple[Any, dict[str, Any]]:
        """What is given to `as_graph`, and how."""
        n, edges = self.edges()
        names = self.names(n)
        options: dict[str, Any] = {}
        if self.attributes is not None:
            options["attributes"] = self.attributes.made(n)
        if self.form in ("networkx", "directed", "multigraph"):
            import networkx as nx

            kinds = {"networkx": nx.Graph, "directed": nx.DiGraph, "multigraph": nx.MultiGraph}
            graph = kinds[self.form]()
            graph.add_nodes_from(names)
            graph.add_weighted_edges_from((names[i], names[j], w) for i, j, w in edges)
            return graph, options
        if self.form == "matrix":
            rows, columns, weights = zip(*edges, strict=True) if edges else ((), (), ())
            matrix = sp.coo_array((np.array(weights, dtype=float), (rows, columns)), shape=(n, n))
            return matrix.tocsr(), options | ({} if self.ids == "rows" else {"nodes": names})
        return [(names[i], names[j], w) for i, j, w in edges], options | {"nodes": names}

    def made(self) -> querist.Graph:
        source, options = self.source()
        return querist.as_graph(source, **options)


def size(rnd: random.Random, largest: int = 40) -> int:
    """Mostly few."""
    return rnd.choice([1, 1, 2, 2, 3, 4, 5, 6, 8, 12, rnd.randint(1, largest)])


def graph_case(rnd: random.Random, large: bool = False, signed: bool = True) -> GraphCase:
    """Any graph; a large one is solved by other ways than a small one."""
    if large:
        parts = (large_part(rnd), *(part(rnd) for _ in range(rnd.choice([0, 0, 1, 3]))))
    else:
        parts = tuple(part(rnd) for _ in range(rnd.choice([1, 1, 1, 2, 3, 5])))
    joined = rnd.choice([0, 0, 0, 2, 6])
    palette = WEIGHTS[rnd.choice(["one", "one", *WEIGHTS] if signed else ["one", "one", *POSITIVE])]
    return GraphCase(
        parts,
        tuple((rnd.randrange(60), rnd.randrange(60)) for _ in range(joined)),
        tuple(rnd.choice(palette) for _ in range(rnd.randint(1, 5))),
        rnd.choice(["rows", "rows", "int", "str", "tuple", "markup"]),
        rnd.choice(["edges", "edges", "networkx", "directed", "multigraph", "matrix"]),
        attribute_case(rnd),
    )


def part(rnd: random.Random) -> tuple[str, int, int, int]:
    kind = rnd.choice(PARTS)
    a, b = size(rnd, 12 if kind in ("bipartite", "stars", "grid", "complete") else 40), rnd.randint(1, 4)
    return kind, a, b, rnd.randrange(100)


def large_part(rnd: random.Random) -> tuple[str, int, int, int]:
    return rnd.choice(
        [
            ("star", rnd.choice([1600, 3000]), 1, 0),
            ("bipartite", rnd.choice([2, 3, 40]), 1600, 0),
            ("stars", rnd.choice([3, 20, 60]), rnd.choice([30, 600]), 0),
            ("path", 2000, 1, 0),
            ("cycle", 1600, 1, 0),
            ("grid", 40, 45, 0),
            ("tree", 2500, 1, rnd.randrange(100)),
            ("random", 1700, rnd.choice([1, 3, 8]), rnd.randrange(100)),
            ("empty", 1700, 1, 0),
        ]
    )


def attribute_case(rnd: random.Random) -> AttributeCase | None:
    if rnd.random() < 0.5:
        return None
    kind = rnd.choice(REFUSED_ATTRIBUTES) if rnd.random() < 0.03 else rnd.choice(ATTRIBUTES)
    return AttributeCase(kind, rnd.choice([1, 2, 5, 20]), rnd.randrange(100))


LABELS: tuple[tuple[Any, ...], ...] = (
    (0, 1), (0, 1, 2), ("a", "b"), ("a",), tuple(range(9)), (True, False), ("<i>", ""), (1, "1"),
    ((1, 2), (3,)),
)  # fmt: skip


@dataclass(frozen=True)
class LabelCase:
    """Labels of some nodes: which values, which share of the nodes, one of them rare or not."""

    values: tuple[Any, ...]
    share: float
    form: str = "dict"
    rare: bool = False
    seed: int = 0

    def rows(self, n: int) -> dict[int, Any]:
        """The label of every labelled row."""
        rng = np.random.default_rng(self.seed)
        chances = (
            np.ones(len(self.values)) if not self.rare else np.array([0.02] + [1.0] * (len(self.values) - 1))
        )
        codes = rng.choice(len(self.values), size=n, p=chances / chances.sum())
        count = round(self.share * n) or int(self.share > 0)
        return {int(i): self.values[codes[i]] for i in np.sort(rng.permutation(n)[:count])}

    def given(self, names: Any) -> Any:
        """The labels in the form in which they are given."""
        rows = self.rows(len(names))
        if self.form == "dict":
            return {names[i]: value for i, value in rows.items()}
        if self.form == "matrix" and len(self.values) > 1:
            found = np.zeros((len(names), len(self.values)))
            for i, value in rows.items():
                found[i, self.values.index(value)] = 1.0
            return found
        missing = float("nan") if self.form == "nan" else None
        return [rows.get(i, missing) for i in range(len(names))]


def label_case(rnd: random.Random) -> LabelCase:
    return LabelCase(
        rnd.choice(LABELS),
        0.0 if rnd.random() < 0.03 else rnd.choice([0.05, 0.3, 0.3, 0.6, 1.0]),
        rnd.choice(["dict", "dict", "list", "nan", "matrix"]),
        rnd.random() < 0.2,
        rnd.randrange(1000),
    )


@dataclass(frozen=True)
class StreamCase:
    """Rows that come one by one: what they look like, how many, which have labels."""

    kind: str
    n: int
    columns: int
    classes: int
    labelled: float
    seed: int = 0

    def made(self) -> tuple[Any, Any]:
        """(X, codes), -1 where unlabelled."""
        rng = np.random.default_rng(self.seed)
        X: Any = rng.normal(size=(self.n, self.columns))
        codes = np.where(rng.random(self.n) < self.labelled, rng.integers(0, self.classes, self.n), -1)
        if self.kind in ("nan", "inf") and X.size:
            X[-1, 0] = float(self.kind)
        factors = {"zero": 0.0, "huge": 1e300, "large": 1e149, "tiny": 1e-300}
        X = X * factors.get(self.kind, 1.0)
        if self.kind == "same":
            X[:] = X[:1]
        elif self.kind == "mixed":
            X[::2] *= 1e100
        elif self.kind == "sparse":
            X = sp.csr_array(np.where(X > 0.5, X, 0.0))
        elif self.kind == "float32":
            X = X.astype(np.float32)
        elif self.kind == "by columns":
            X = np.asfortranarray(X)
        elif self.kind == "read-only":
            X.flags.writeable = False
        return X, codes


STREAMS = (
    "plain", "zero", "huge", "large", "tiny", "nan", "inf", "same", "mixed", "sparse", "float32",
    "by columns", "read-only",
)  # fmt: skip


def stream_case(rnd: random.Random) -> StreamCase:
    return StreamCase(
        rnd.choice(STREAMS),
        rnd.choice([0, 1, 2, 5, 30, 120]),
        rnd.choice([1, 2, 3, 8, 90]),
        rnd.choice([2, 2, 3, 10]),
        rnd.choice([0.0, 0.1, 0.5, 1.0]),
        rnd.randrange(1000),
    )


@dataclass(frozen=True)
class Case:
    """What is tried: an operation, on what, how."""

    operation: str
    graph: GraphCase | None = None
    labels: LabelCase | None = None
    stream: StreamCase | None = None
    options: dict[str, Any] = field(default_factory=dict)


def case_of(operation: str, rnd: random.Random) -> Case:
    """A case of an operation."""
    if operation == "stream":
        return Case(operation, stream=stream_case(rnd), options=stream_options(rnd))
    options = OPTIONS[operation](rnd)
    graph = graph_case(
        rnd,
        large=operation == "embed" and rnd.random() < 0.01,
        signed=operation in ("embed", "online") or rnd.random() < 0.01,
    )
    if graph.attributes is None and options.get("kind") == "diffusion":
        graph = replace(graph, attributes=AttributeCase("words", 5))
    labels = label_case(rnd) if operation in ("collective", "label", "ask") else None
    return Case(operation, graph, labels, options=options)


def numbered_case(operation: str, seed: int, number: int) -> Case:
    """The case of a number; those of `collective` are drawn as when it was called classify."""
    drawn = "classify" if operation == "collective" else operation
    return case_of(operation, random.Random(f"{drawn} {seed} {number}"))


def embed_options(rnd: random.Random) -> dict[str, Any]:
    drawn = {
        "rank": rnd.choice([None, 1, 2, 3, 5, 8]),
        "kind": rnd.choice(["spectral", "spectral", "diffusion", "pagerank"]),
        "normalised": rnd.random() < 0.5,
        "constant": rnd.choice([0, 1, 3, 1, 1e-300, 1e300]),
        "weighting": rnd.choice(["unit", "tfidf", "raw"]),
        "steps": rnd.choice([0, 1, 10]),
        "damping": rnd.choice([0, 0.5, 0.9, 1]),
        "max_constants": rnd.choice([None, None, 1, 5]),
        "seed": rnd.choice([0, 1, 2**40]),
    }
    own = known()[drawn["kind"]].options
    return {name: value for name, value in drawn.items() if name in own or name in ("rank", "kind", "seed")}


def online_options(rnd: random.Random) -> dict[str, Any]:
    return {
        "algorithm": rnd.choice(sorted(querist.ALGORITHMS)),
        "n_classes": rnd.choice([2, 2, 3, 5]),
        "rank": rnd.choice([1, 3, 8]),
        "normalised": rnd.random() < 0.7,
        "of_graph": rnd.random() < 0.5,
        "budget": rnd.choice([None, 0, 1, 3, 10]),
        "pace": rnd.choice([None, None, 1, 2]),
        "scheme": rnd.choice([None, "multiclass", "one-vs-rest"]),
        "order": rnd.choice(["once", "any", "none"]),
        "seed": rnd.choice([0, 5, 2**62]),
    }


def collective_options(rnd: random.Random) -> dict[str, Any]:
    return {
        "method": rnd.choice(sorted(querist.CLASSIFIERS)),
        "links": rnd.random() < 0.5,
    }


def label_options(rnd: random.Random) -> dict[str, Any]:
    return {
        "method": rnd.choice(["auto", "auto", "auto", *sorted(querist.CLASSIFIERS)]),
        "goal": rnd.choice(["accuracy", "accuracy", "balanced", "f1"]),
        "picked": rnd.random() < 0.3,
        "seed": rnd.choice([0, 1]),
    }


def ask_options(rnd: random.Random) -> dict[str, Any]:
    return {
        "budget": rnd.choice([0, 1, 3, 8, 20]),
        "strategy": rnd.choice(["pool", "pool", "random", "margin"]),
        "audit": rnd.choice([0, 0, 1, 2]),
        "repeats": rnd.choice([0, 0, 1]),
        "noise": rnd.choice([0, 0, 0.1]),
        "find": rnd.random() < 0.1,
        "stop": rnd.choice([None, None, 0.001, 1.0]),
        "silent": rnd.choice([0, 0, 3]),
        "seed": rnd.choice([0, 7]),
    }


def stream_options(rnd: random.Random) -> dict[str, Any]:
    name = rnd.choice(["bls", "bls", "bls", *sorted(querist.STREAMS)])
    if name != "bls":
        return {"name": name, "parameters": {}}
    return {
        "name": name,
        "parameters": {
            "maintenance": rnd.choice(["remove", "projection", "projection-persistent"]),
            "kernel": rnd.choice(["rbf", "linear"]),
            "width": rnd.choice([None, 1.0, 1e-300, 1e300]),
            "lambda1": rnd.choice([1.0, 1e-12, 1e12]),
            "budget_labelled": rnd.choice([1, 3, 20]),
            "budget_unlabelled": rnd.choice([0, 1, 20]),
            "epsilon": rnd.choice([0, 0.25, 10]),
        },
    }


OPTIONS = {
    "embed": embed_options,
    "online": online_options,
    "collective": collective_options,
    "label": label_options,
    "ask": ask_options,
}
OPERATIONS = (*OPTIONS, "stream")


def cases(operation: str) -> st.SearchStrategy[Case]:
    """Cases of an operation that hypothesis can shrink."""
    return st.randoms(use_true_random=False).map(lambda rnd: case_of(operation, rnd))
