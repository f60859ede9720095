"""The methods that `label` chooses among and combines: CANDIDATES by name.

A candidate looks at a `Ground` (the graph: what is computed once, without labels) and at labelled rows, and
gives logits for the nodes it is asked about. Three kinds:

- `Smoothed`: ridge regression on rows of `querist.assist.rows`, for several ranks and powers of the
  singular values, pooled by how each does on labels that are left out (closed form);
- `Walk`: personalised PageRank from each class's labelled nodes, scaled to the classes' shares;
- `Named`: a classifier of `querist.collective`, as GMNR on counts; for several labels a node MRGM.

Which views, ranks and powers there are was fixed on data sets and draws other than those of
`benchmarks/label_efficiency.py` (docs/assist.md names them).
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from querist.assist import combine
from querist.assist.combine import Link
from querist.assist.heads import Ridge, judgeable, ridge
from querist.assist.rows import SWEEPS, Rows, View, features, smoothed_rows
from querist.graph import Graph
from querist.labels import Labelling as Known
from querist.operator.threads import available
from querist.types import Codes, Floats, Sparse

RANKS, POWERS = (16, 35, 70, 150), (1.0, 0.5)
ETA = 0.1
"""How fast weights inside a candidate fall with the left-out loss."""

PACE = 1.5e9
"""Multiplications a second that plans count on."""

SMALL = 50_000
"""Most nodes of a graph whose views are computed side by side."""

SPACE = 4e8
"""Most numbers in the blocks of one decomposition."""


@dataclass
class Ground:
    """A graph, and what was computed of it without any label; shared by all candidates and folds."""

    graph: Graph
    rank: int = max(RANKS)
    progress: Callable[[float, str], None] = lambda fraction, text: None
    _rows: dict[View, Rows] = field(default_factory=dict)
    _features: dict[str, Sparse] = field(default_factory=dict)

    @property
    def has_attributes(self) -> bool:
        """Whether there are attributes to look at."""
        X = self.graph.attributes
        return X is not None and bool(X.count_nonzero() > 0)

    @property
    def has_counts(self) -> bool:
        """Whether the attributes can be read as counts."""
        return self.has_attributes and bool(self.graph.attributes.data.min() >= 0)  # type: ignore[union-attr]

    def look(self, views: Sequence[View]) -> None:
        """Compute several views side by side, where their blocks are small enough to share the memory."""
        for source in {view.source for view in views}:
            self._features.setdefault(source, features(self.graph, source))
        if self.graph.n_nodes <= SMALL and available() > 1:
            with ThreadPoolExecutor(available()) as pool:
                list(pool.map(self.rows, views))

    def rows(self, view: View) -> Rows:
        """Smoothed rows, computed when first asked for."""
        if view not in self._rows:
            if view.source not in self._features:
                self._features[view.source] = features(self.graph, view.source)
            X = self._features[view.source]
            self._rows[view] = smoothed_rows(self.graph, X, view, self.rank, progress=self.progress)
        return self._rows[view]


class Fitted(Protocol):
    """A candidate that saw its labels."""

    def logits(self, nodes: Codes | slice) -> Floats:
        """(m, K) for these rows."""

    def smoother(self, nodes: Any) -> Floats | None:
        """How much each labelled row weighed for these nodes, or None where the method cannot say."""


class Candidate(Protocol):
    """A method before it sees labels."""

    @property
    def what(self) -> str:
        """A phrase: "attributes averaged over neighbours"."""

    def suits(self, ground: Ground, link: Link) -> bool:
        """Whether it can be used here."""

    def cost(self, ground: Ground, classes: int) -> tuple[float, float]:
        """Multiplications once, and for every fit."""

    def fit(self, ground: Ground, seeds: Codes, Y: Floats, link: Link) -> Fitted:
        """Learn from the labelled rows `seeds` (m,) and their classes `Y` (m, K) 0/1."""


# -- smoothed rows -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Smoothed:
    """Ridge regression on smoothed, reduced features."""

    what: str
    view: View

    def suits(self, ground: Ground, link: Link) -> bool:
        """Needs its features, and room for the decomposition."""
        if self.view.source == "attributes" and not ground.has_attributes:
            return False
        return ground.graph.n_edges > 0 or self.view.steps == 0

    def cost(self, ground: Ground, classes: int) -> tuple[float, float]:
        """The smoothed products of the decomposition, `rank + 20` columns wide; a product a member."""
        graph, width = ground.graph, ground.rank + 20
        own = graph.attributes.nnz if self.view.source == "attributes" else graph.adjacency.nnz  # type: ignore[union-attr]
        step = (graph.adjacency.nnz + 2 * graph.n_nodes) * self.view.steps + own
        factor = 6.0 * graph.n_nodes * width**2 / 8  # dense products run faster than sparse ones
        return (2 * SWEEPS + 1) * step * width + factor, graph.n_nodes * 270.0 * classes / 8

    def fit(self, ground: Ground, seeds: Codes, Y: Floats, link: Link) -> "FittedRows":
        """A ridge regression a member; members weigh by their left-out loss."""
        rows, judged = ground.rows(self.view), judgeable(Y)
        most = rows.values.size
        ranks = sorted({min(rank, most, ground.rank) for rank in RANKS})
        own = Rows(rows.left[seeds], rows.values)
        members, losses = [], []
        for rank in ranks:
            for power in POWERS:
                found = ridge(own.take(rank, power), Y)
                scale = combine.voiced(found.left_out, Y, link, judged)
                members.append((rank, power, found, scale))
                scored = scale.of(found.left_out)[judged]
                losses.append(combine.loss(scored, Y[judged], link) if judged.any() else 0.0)
        return FittedRows(rows, tuple(members), combine.weights(losses, int(judged.sum()), ETA), seeds)


@dataclass(frozen=True)
class FittedRows:
    """Ridge regressions on the same rows cut at several ranks, pooled."""

    rows: Rows
    members: tuple[tuple[int, float, Ridge, combine.Scale], ...]
    shares: Floats
    seeds: Codes

    def logits(self, nodes: Codes | slice) -> Floats:
        """The pool of the members."""
        part = Rows(self.rows.left[nodes], self.rows.values)
        total: Any = 0.0
        for share, (rank, power, fitted, scale) in zip(self.shares, self.members, strict=True):
            if share > 1e-4:
                total = total + share * scale.of(fitted.answer(part.take(rank, power)))
        return np.asarray(total)

    def smoother(self, nodes: Any) -> Floats:
        """Of the heaviest member: its answers are `mean + weights @ (labels - mean)`."""
        rank, power, fitted, _ = self.members[int(self.shares.argmax())]
        part = Rows(self.rows.left[np.atleast_1d(nodes)], self.rows.values)
        found = part.take(rank, power) @ fitted.smoother
        return np.asarray(found if np.ndim(nodes) else found[0])


# -- walks and named classifiers ---------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Logits of all nodes, and nothing else."""

    L: Floats

    def logits(self, nodes: Codes | slice) -> Floats:
        """Rows of the table."""
        return np.asarray(self.L[nodes])

    def smoother(self, nodes: Any) -> None:
        """Not known."""


@dataclass(frozen=True)
class Walk:
    """Random walks that restart at the labelled nodes of a class; a class counts by its share of the labels.

    `F <- a P'F + (1 - a) F_0` with `P = D^-1 S`, columns of `F_0` summing to the classes' shares.
    """

    what: str = "random walks from the labelled nodes"
    damping: float = 0.9
    steps: int = 20

    def suits(self, ground: Ground, link: Link) -> bool:
        """Needs edges."""
        return ground.graph.n_edges > 0

    def cost(self, ground: Ground, classes: int) -> tuple[float, float]:
        """A product with the adjacency a step."""
        return 0.0, float(self.steps * (ground.graph.adjacency.nnz + ground.graph.n_nodes) * classes)

    def fit(self, ground: Ground, seeds: Codes, Y: Floats, link: Link) -> Table:
        """Logits of the walks' shares; nodes that no walk visits lean to no class but the larger ones."""
        S = abs(ground.graph.adjacency)
        degrees = np.asarray(S.sum(axis=1)).ravel()
        start = np.zeros((ground.graph.n_nodes, Y.shape[1]))
        start[seeds] = Y / max(1.0, float(Y.sum()))
        F, back = start, 1 / np.where(degrees > 0, degrees, 1.0)
        for _ in range(self.steps):
            F = self.damping * (S @ (back[:, None] * F)) + (1 - self.damping) * start
        # Divided by the degree, a visit count is a symmetric similarity: hubs are not favoured.
        F = F * back[:, None]
        typical = float(F[F > 0].mean()) if (F > 0).any() else 1.0
        F = F + 1e-2 * typical * Y.mean(axis=0)
        if link == "softmax":
            return Table(np.log(np.maximum(F, 1e-300)))
        # Of several classes each is asked for by itself: its walks against all walks.
        all_walks = F.sum(axis=1, keepdims=True) / max(1.0, float(Y.sum(axis=1).mean()))
        return Table(combine.logits(F / np.maximum(all_walks, 1e-300), link, 1e-4))


@dataclass(frozen=True)
class Named:
    """A classifier of `querist.CLASSIFIERS`, perhaps for several values of its parameters."""

    what: str
    name: str
    settings: tuple[Mapping[str, Any], ...] = (MappingProxyType({}),)
    counts: bool = False
    passes: float = 10.0

    def suits(self, ground: Ground, link: Link) -> bool:
        """Counts where it needs them."""
        return ground.has_counts if self.counts else True

    def cost(self, ground: Ground, classes: int) -> tuple[float, float]:
        """A pass over counts and edges an iteration."""
        graph = ground.graph
        words = graph.attributes.nnz if self.counts and graph.attributes is not None else 0
        return 0.0, self.passes * len(self.settings) * classes * (4.0 * words + 10.0 * graph.adjacency.nnz)

    def fit(self, ground: Ground, seeds: Codes, Y: Floats, link: Link) -> Table:
        """The mean logits of the settings."""
        from querist.collective.catalogue import CLASSIFIERS

        graph = _counted(ground) if self.counts else ground.graph
        kind = CLASSIFIERS["mrgm" if self.name == "gmnr" and link == "sigmoid" else self.name]
        indicator = np.zeros((graph.n_nodes, Y.shape[1]))
        indicator[seeds] = Y
        present = np.flatnonzero(Y.any(axis=0))
        known = Known(
            indicator[:, present], tuple(present.tolist()), "value" if link == "softmax" else "matrix"
        )
        total = np.zeros((graph.n_nodes, Y.shape[1]))
        for setting in self.settings:
            P = np.full(total.shape, 1e-6)
            P[:, present] = _answers(kind(**setting), graph, known)
            total += combine.logits(P, link)
        return Table(total / len(self.settings))


def _answers(classifier: Any, graph: Graph, known: Known) -> Floats:
    """Probabilities, the labelled rows not put back: a held-out judge looks at others only."""
    from querist.collective.problem import Problem

    problem = Problem(graph, known)
    if problem.multilabel and not classifier.knows_several():
        labels = known.indicator
        return np.asarray(classifier.fit(graph, labels).probabilities_)
    return np.asarray(classifier.infer(problem).P, dtype=np.float64)


def _counted(ground: Ground) -> Graph:
    """Attributes as counts for a generative model: damped where they count, 0/1 where they are fractions."""
    from dataclasses import replace

    cached: dict[str, Any] = ground.__dict__.setdefault("_counts", {})
    if "graph" not in cached:
        assert ground.graph.attributes is not None
        X = sp.csr_array(ground.graph.attributes, copy=True)
        whole = bool((X.data == np.round(X.data)).all())
        X.data = np.log1p(X.data) if whole else (X.data > 0).astype(np.float64)
        cached["graph"] = replace(ground.graph, attributes=X)
    return cached["graph"]  # type: ignore[no-any-return]


_GMNR: Sequence[Mapping[str, Any]] = [{"lam": lam, "objective": False} for lam in (1.0, 5.0)]

CANDIDATES: Mapping[str, Candidate] = MappingProxyType(
    {
        "smoothed": Smoothed("attributes smoothed over the graph", View("attributes", 10, 0.9)),
        "links": Smoothed("who is linked with whom", View("links", 10, 0.9)),
        "walks": Walk(),
        "own": Smoothed("the node's own attributes", View("attributes", 0, 0.0)),
        "nearby": Smoothed("attributes smoothed over near neighbours", View("attributes", 10, 0.7)),
        "two_steps": Smoothed("attributes averaged over two steps", View("attributes", 2, 1.0)),
        "counts": Named("a generative model of the counts (GMNR)", "gmnr", tuple(_GMNR), counts=True),
        "means": Smoothed(
            "attributes as means of the neighbourhood", View("attributes", 10, 0.9, by_row=True)
        ),
        "near_links": Smoothed("links within two steps", View("links", 2, 1.0)),
    }
)
"""In the order in which they are worth their time."""
