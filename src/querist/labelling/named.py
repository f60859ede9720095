"""Methods that answer for all nodes at once: random walks, and the classifiers of `querist.collective`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from querist.graph import Graph
from querist.labelling import combine
from querist.labelling.combine import Link
from querist.labelling.ground import Ground
from querist.labels import Labelling as Known
from querist.types import Codes, Floats


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

    `F <- a P'F + (1 - a) F_0` with `P = D^-1 S`, columns of `F_0` summing to the classes' shares; computed as
    `G = D^-1/2 F`, whose matrix is symmetric.
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
        degrees = ground.graph.degrees
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
        start = np.zeros((ground.graph.n_nodes, Y.shape[1]))
        start[seeds] = root[seeds] * Y / max(1.0, float(Y.sum()))
        G, other = start, np.empty_like(start)
        for step in range(self.steps):
            np.copyto(other, start)
            ground.walks.combine(G, other, scale=-self.damping, shift=self.damping, previous=1 - self.damping)
            G, other = other, np.empty_like(start) if step == 0 else G
        # Divided by the degree, a visit count is a symmetric similarity: hubs are not favoured.
        F = root * G
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
        """A pass over the counts and up to thirty over the edges an iteration."""
        graph = ground.graph
        words = graph.attributes.nnz if self.counts and graph.attributes is not None else 0
        return 0.0, self.passes * len(self.settings) * classes * (4.0 * words + 30.0 * graph.adjacency.nnz)

    def fit(self, ground: Ground, seeds: Codes, Y: Floats, link: Link) -> Table:
        """The mean logits of the settings."""
        from querist.collective.catalogue import CLASSIFIERS

        graph = ground.counted if self.counts else ground.graph
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
