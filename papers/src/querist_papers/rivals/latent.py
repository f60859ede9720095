"""LNP, latent network propagation: label propagation on the network with latent links added.

Shi, Li and Yu (Collective prediction with latent graphs, CIKM 2011) join nodes by several kinds of linkages
and mix these into one latent graph: one that links training nodes of the same label and parts those of
different ones, found by quadratic programming; labels then propagate on it. mrgm15 (section 4.3) takes one
kind, semantic similarity: each node is linked to its nearest neighbour by attributes. So, with `S_0` the
network and `S_1` the links added,

    w = argmin_{w >= 0}  sum_{i,j labelled} (sum_m w_m S_m,ij - t_ij)^2 + |w - 1|^2,

with `t = 1` where two have the same label and 0 where not; and the harmonic solution on
`w_0 S_0 + w_1 S_1`. Guesses, since their abstract gives no formula: the squares, the pull towards equal
weights (which decides where no two labelled nodes are linked), cosine similarity, 0/1 links, and the harmonic
solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.sparse import csgraph

from querist.collective import Classifier, Inference, Problem
from querist.extend import Range, harmonic
from querist_papers.types import Codes, Floats, Sparse

BLOCK = 20_000_000
"""Similarities held at a time."""


@dataclass(eq=False, repr=False, kw_only=True)
class LNP(Classifier):
    """Label propagation over edges and similar attributes.

    Parameters
    ----------
    features : what makes nodes alike: their "attributes", or their "links"
    neighbours : links that each node gets to the nodes most like it; among equally similar nodes to the first
        ones, so that the answer may depend on the order of the nodes

    After `fit` also: `weights_` (2,) of the network and of the added links.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> model = LNP(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.97
    """

    features: Literal["attributes", "links"] = "attributes"
    neighbours: Annotated[int, Range(0)] = 1

    def infer(self, problem: Problem) -> Inference:
        """The harmonic solution on the latent graph."""
        seeds = np.flatnonzero(problem.seeds)
        kinds = (problem.graph.adjacency, similar_links(problem.features(self.features), self.neighbours))
        weights = mixing_weights(kinds, seeds, problem.known.indicator[seeds])
        latent: Any = sp.csr_array(weights[0] * kinds[0] + weights[1] * kinds[1])
        rough = bool(latent.nnz and latent.data.max() > 1e8 * latent.data.min())  # few digits may be left
        P = harmonic(latent, seeds, problem.rows[seeds], prior=problem.prior)
        _, component = csgraph.connected_components(latent, directed=False)
        reached = np.isin(component, component[seeds])
        return Inference(P, reached, rough=rough, details={"weights": weights})


def mixing_weights(kinds: Sequence[Sparse], seeds: Codes, indicator: Floats) -> Floats:
    """`w` of the module: (m,) how much each kind of link counts, from the labels (seeds, K) of the seeds."""
    among: list[Any] = [sp.coo_array(links[seeds][:, seeds]) for links in kinds]
    Q = np.eye(len(kinds)) + [[(first * second).sum() for second in among] for first in among]
    b = [1.0 + links.data @ (indicator[links.row] * indicator[links.col]).any(axis=1) for links in among]
    root = np.linalg.cholesky(Q)  # w'Qw - 2 b'w is |root' w - root^-1 b|^2 but for a constant
    return np.asarray(nnls(root.T, np.linalg.solve(root, b))[0])


def similar_links(X: Sparse, k: int) -> Sparse:
    """(n, n) symmetric: 1 between each node and the k nodes of largest cosine, equal ones by row number.

    Quadratic in the nodes, with bounded memory. A node without attributes gets no link.
    """
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    unit: Any = sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ X)
    n, k = X.shape[0], min(k, X.shape[0] - 1)
    heads, tails = [], []
    step = max(1, BLOCK // n)
    other = unit.T.tocsr()
    for first in range(0, n if k else 0, step):
        rows = np.arange(first, min(first + step, n))
        cosine = (unit[rows] @ other).toarray()
        cosine[np.arange(rows.size), rows] = -np.inf
        for _ in range(k):
            best = cosine.argmax(axis=1)
            kept = cosine[np.arange(rows.size), best] > 0
            heads.append(rows[kept])
            tails.append(best[kept])
            cosine[np.arange(rows.size), best] = -np.inf
    if not heads:
        return sp.csr_array((n, n))
    row, column = np.concatenate(heads), np.concatenate(tails)
    links: Any = sp.csr_array((np.ones(row.size), (row, column)), shape=(n, n))
    return sp.csr_array(links.maximum(links.T))
