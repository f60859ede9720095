"""Ridge regression on smoothed rows, cut at several ranks and pooled."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.labelling import combine
from querist.labelling.combine import Link
from querist.labelling.ground import RANKS, Ground
from querist.labelling.heads import Ridge, judgeable, ridge
from querist.labelling.rows import SWEEPS, Rows, View
from querist.types import Codes, Floats

POWERS = (1.0, 0.5)
ETA = 0.1
"""How fast weights inside a candidate fall with the left-out loss."""


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
                # A strong ridge says little more than the classes' shares, but what it says beside them, how
                # like a node is to the mean node of each class, is worth hearing. The shares come in last.
                centre = found.mean if link == "softmax" else 0.0
                scale = combine.voiced(found.left_out - centre, Y, link, judged).from_centre(centre)
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
