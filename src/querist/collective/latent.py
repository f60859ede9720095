"""LNP: label propagation on a latent graph, the network with links between alike nodes added.

mrgm15 uses it as a rival and describes it in outline only (after Shi, Li and Yu 2011): every node is also
linked to its nearest neighbours by attribute similarity. What is built here: similarity is the cosine of the
attributes and the weight of the added link (added to an edge that is there already), `neighbours` of them
a node, in both directions; labels then spread by the harmonic solution.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.collective.classifier import Classifier
from querist.collective.problem import Features, Inference, Problem
from querist.errors import InputError
from querist.operator.harmonic import harmonic, reached
from querist.types import Sparse

BLOCK = 20_000_000
"""Similarities held at a time."""


@dataclass(eq=False, repr=False, kw_only=True)
class LNP(Classifier):
    """Label propagation over edges and similar attributes.

    Parameters
    ----------
    features : what makes nodes alike: their "attributes", or their "links"
    neighbours : links that each node gets to the nodes most like it
    weight : of an added link, times the cosine
    """

    features: Features = "attributes"
    neighbours: int = 1
    weight: float = 1.0

    def infer(self, problem: Problem) -> Inference:
        """The harmonic solution on the latent graph."""
        if self.neighbours < 0 or not self.weight >= 0:
            raise InputError(f"neighbours = {self.neighbours!r}, weight = {self.weight!r}; give 0 or more")
        seeds = np.flatnonzero(problem.seeds)
        similar = similar_links(problem.features(self.features), self.neighbours)
        latent: Any = sp.csr_array(problem.graph.adjacency + self.weight * similar)
        P = harmonic(latent, seeds, problem.rows[seeds], prior=problem.prior)
        return Inference(P, reached(latent, seeds))


def similar_links(X: Sparse, k: int) -> Sparse:
    """(n, n) symmetric: the cosine between each node and the k nodes most like it, equal ones by row number.

    Quadratic in the nodes, with bounded memory. A node without attributes gets no link.
    """
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    unit: Any = sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ X)
    n, k = X.shape[0], min(k, X.shape[0] - 1)
    heads, tails, values = [], [], []
    step = max(1, BLOCK // n)
    other = unit.T.tocsr()
    for first in range(0, n if k else 0, step):
        rows = np.arange(first, min(first + step, n))
        cosine = (unit[rows] @ other).toarray()
        cosine[np.arange(rows.size), rows] = -np.inf
        for _ in range(k):
            best = cosine.argmax(axis=1)
            found = cosine[np.arange(rows.size), best]
            kept = found > 0
            heads.append(rows[kept])
            tails.append(best[kept])
            values.append(found[kept])
            cosine[np.arange(rows.size), best] = -np.inf
    if not heads:
        return sp.csr_array((n, n))
    entries = (np.concatenate(values), (np.concatenate(heads), np.concatenate(tails)))
    links: Any = sp.csr_array(entries, shape=(n, n))
    return sp.csr_array(links.maximum(links.T))
