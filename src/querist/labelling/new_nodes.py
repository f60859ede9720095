"""Nodes that come after the others were labelled: what their neighbours and attributes say of them.

A labelling has probabilities P for all the nodes it was found on, far more than the labels it was found from.
So a small model is fitted to all of them, once, and asked about a new node in no time. Its logits are a
weighted sum of four tables, of which a node has those that its edges and attributes allow:

- the logits of the mean of its neighbours' probabilities, and the mean of their logits; a neighbour counts by
  the weight of the edge over the root of its degree, since who is joined to many says less;
- ridge regression of P on the attributes (tf-idf rows x of length one): `x W`, with W from a few steps of
  conjugate gradients. Half of the nodes teach one W, half another; a node that was taught from is answered
  by the other half, so that what is learned of the weights holds for nodes that were not there, and a new one
  by the mean of both;
- the logits of the classes' mean probabilities.

The weights are those of least log-loss against P itself, which is calibrated, and so are the answers. They
are fitted for nodes with edges and attributes, with edges alone and with attributes alone. A new node whose
neighbours are new is answered from their answers; one that has neither a neighbour that was reached nor an
attribute that a reached node has is not reached.

The constants were fixed on other data sets than those of `benchmarks/label_new.py`, which prints how it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from querist.embedding.kinds.diffusion import weighted
from querist.graph import Graph
from querist.labelling import combine
from querist.types import Bools, Codes, Floats, Sparse

FLOOR = 1e-3
"""No probability is taken to be nearer to 0 when logits are made of it."""
STRENGTH, STEPS = 1.0, 5
"""Of the ridge regression, whose rows have length one, and of the conjugate gradients."""
WORK = 1e9
"""Products that the regression may take; in larger data it is taught by a part of the nodes."""
SAMPLE = 1000
"""Nodes to which the weights are fitted."""
FEW = 50
"""With fewer unlabelled nodes than that, those whose labels were given are fitted to as well."""
PASSES = 3
"""Times at least that new nodes which are joined to each other are answered."""


@dataclass(frozen=True, eq=False)
class NewNodeModel:
    """Fitted to a labelling; `answers` labels the nodes that follow at the end of a larger graph.

    It knows what labels were found on: a graph, its (n, K) probabilities, who was reached, whose label was
    given; `weight` is the sum of the degrees that the graph had then.
    """

    graph: Graph
    P: Floats
    reached: Bools
    given: Bools
    multilabel: bool
    weight: float
    _weights: dict[tuple[bool, bool], Floats] = field(default_factory=dict)

    def answers(self, graph: Graph, P: Floats, reached: Bools) -> tuple[Floats, Bools]:
        """(m, K) probabilities of the last m nodes of `graph`, 0 where not reached, and (m,) who is.

        The first nodes are those of `P` (n, K) and `reached` (n,), which may be more than were fitted to.
        """
        n = len(P)
        new = np.arange(n, graph.n_nodes)
        P = np.vstack([P, np.zeros((new.size, P.shape[1]))])
        reached = np.concatenate([reached, np.zeros(new.size, dtype=bool)])
        if not new.size:
            return P[n:], reached[n:]
        S = abs(graph.adjacency[new])
        among_new = bool((S.indices >= n).any())
        own, described = self._own(graph.attributes, new)
        more, passes = True, 0
        while more or (among_new and passes < PASSES):
            links, near = _of_neighbours(S, graph.degrees, P, reached, self.multilabel)
            now = np.zeros_like(own)
            for kinds in {*zip(near.tolist(), described.tolist(), strict=True)} - {(False, False)}:
                which = (near == kinds[0]) & (described == kinds[1])
                tables = [*(links if kinds[0] else ()), *([own] if kinds[1] else []), self._prior]
                L = np.tensordot(self._weights_of(kinds), [np.broadcast_to(t, own.shape) for t in tables], 1)
                now[which] = combine.probabilities(L[which], self.multilabel)
            found = near | described
            more = bool((found != reached[n:]).any()) and among_new
            P[n:], reached[n:], passes = now, found, passes + 1
        return P[n:], reached[n:]

    # -- what is fitted ------------------------------------------------------------------------

    @cached_property
    def _sample(self) -> Codes:
        """Rows to which the weights are fitted: unlabelled, while there are enough."""
        free = np.flatnonzero(self.reached & ~self.given)
        rows = free if free.size >= FEW else np.flatnonzero(self.reached)
        return np.sort(np.random.default_rng(0).permutation(rows)[:SAMPLE])

    @cached_property
    def _prior(self) -> Floats:
        """(1, K) the logits of the classes' mean probabilities."""
        mean = self.P[self.reached].mean(axis=0, keepdims=True)
        return _logits(mean, self.multilabel)

    @cached_property
    def _regression(self) -> "CrossedRidge | None":
        X = self.graph.attributes
        if X is None or not X[np.flatnonzero(self.reached)].nnz:
            return None
        return CrossedRidge.fit(X, self.P, np.flatnonzero(self.reached))

    def _own(self, attributes: Sparse | None, rows: Codes, *, taught: bool = False) -> tuple[Floats, Bools]:
        """(m, K) what the attributes of rows say, and (m,) who has any; `taught`: they are rows of the basis,
        and answered without what they taught."""
        if self._regression is None or attributes is None:
            return np.zeros((rows.size, self.P.shape[1])), np.zeros(rows.size, dtype=bool)
        scores, described = self._regression.scores(attributes[rows], rows if taught else None)
        return _centred(scores, self.multilabel), described

    @cached_property
    def _tables(self) -> tuple[list[Floats], Bools, Floats, Bools]:
        """What the neighbours and the attributes of the sample say, and who of it has any."""
        rows = self._sample
        S = abs(self.graph.adjacency[rows])
        links, near = _of_neighbours(S, self.graph.degrees, self.P, self.reached, self.multilabel)
        return links, near, *self._own(self.graph.attributes, rows, taught=True)

    def _weights_of(self, kinds: tuple[bool, bool]) -> Floats:
        """The weights of the tables of a node with (edges, attributes)."""
        if kinds not in self._weights:
            links, near, own, described = self._tables
            such = (near | (not kinds[0])) & (described | (not kinds[1]))
            if such.sum() < FEW:
                such[:] = True
            tables = [*(links if kinds[0] else ()), *([own] if kinds[1] else []), self._prior]
            kept = [np.broadcast_to(table, own.shape)[such] for table in tables]
            self._weights[kinds] = _stacked(kept, self.P[self._sample][such], self.multilabel)
        return self._weights[kinds]


def _logits(P: Floats, multilabel: bool) -> Floats:
    return _centred(combine.logits(P, multilabel, FLOOR), multilabel)


def _centred(L: Floats, multilabel: bool) -> Floats:
    """What all classes have in common says nothing where a node has one of them."""
    return L if multilabel else L - L.mean(axis=1, keepdims=True)


def _of_neighbours(
    S: Sparse, degrees: Floats, P: Floats, reached: Bools, multilabel: bool
) -> tuple[list[Floats], Bools]:
    """The two tables (m, K) of the neighbours, for rows S (m, n) of the adjacency, and (m,) who has any."""
    counts = reached / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    weight = np.asarray(S @ counts)
    near = weight > 0
    safe = np.where(near, weight, 1.0)[:, None]
    mean = np.asarray(S @ (counts[:, None] * P)) / safe
    logits = np.asarray(S @ (counts[:, None] * _logits(P, multilabel))) / safe
    return [np.where(near[:, None], _logits(mean, multilabel), 0.0), logits], near


def _stacked(tables: Sequence[Floats], P: Floats, multilabel: bool) -> Floats:
    """The weights, 0 or more, with which a sum of logits has the least log-loss against P (m, K)."""
    spread = np.array([float(np.std(table)) or 1.0 for table in tables])
    T = [table / own for table, own in zip(tables, spread, strict=True)]
    even = np.full(len(T), 1 / len(T))
    return np.asarray(combine.stacked(T, P, even, multilabel, deviation=np.inf) / spread)


@dataclass(frozen=True)
class CrossedRidge:
    """Ridge regression on attributes, taught by two halves: `W` (2, columns, K), and `half` (n,) of each row,
    -1 for those that taught neither. `idf` (columns,) weighs counts; None where attributes are no counts."""

    W: Floats
    half: Codes
    seen: Bools
    idf: Floats | None

    @staticmethod
    def fit(X: Sparse, P: Floats, rows: Codes) -> "CrossedRidge":
        """From the probabilities of these rows."""
        count = np.bincount(X[rows].indices, minlength=X.shape[1])
        idf = None if X.data.min() < 0 else 1 + np.log((1 + rows.size) / (1 + count))
        most = WORK / max(1.0, 4.0 * STEPS * P.shape[1] * X.nnz / X.shape[0])
        taught = np.random.default_rng(0).permutation(rows)[: max(SAMPLE, int(most))]
        half = np.full(X.shape[0], -1)
        half[taught] = np.arange(taught.size) % 2
        Y = P - P[rows].mean(axis=0)
        W = [_conjugate_gradients(_weighted(X[half == k], idf), Y[half == k]) for k in (0, 1)]
        return CrossedRidge(np.stack(W), half, count > 0, idf)

    def scores(self, X: Sparse, taught: Codes | None = None) -> tuple[Floats, Bools]:
        """(m, K) of attributes X (m, columns), and (m,) whether any is known; `taught` are their rows."""
        by = np.stack([np.asarray(_weighted(X, self.idf) @ W) for W in self.W])
        pattern = abs(X).sign()
        known = np.asarray(pattern @ self.seen.astype(np.float64)) > 0
        if taught is None:
            return np.asarray(by.mean(axis=0)), known
        half = self.half[taught][:, None]
        return np.where(half < 0, by.mean(axis=0), np.where(half == 0, by[1], by[0])), known


def _weighted(X: Sparse, idf: Floats | None) -> Sparse:
    """Rows of length one: tf-idf of counts, which count by their logarithm; others as they are."""
    if idf is not None:
        X = X.copy()
        X.data = np.sign(X.data) * np.log1p(np.abs(X.data)) * idf[X.indices]
    return weighted(X, "unit")


def _conjugate_gradients(A: Sparse, Y: Floats) -> Floats:
    """(columns, K) towards the solution of `(A'A + STRENGTH I) W = A'Y`, STEPS steps from 0."""
    back: Any = A.T.tocsr()
    rest = np.asarray(back @ Y)
    W, along, size = np.zeros_like(rest), rest, np.sum(rest**2, axis=0)
    for _ in range(STEPS):
        image = np.asarray(back @ np.asarray(A @ along)) + STRENGTH * along
        step = size / np.maximum(np.sum(along * image, axis=0), combine.TINY)
        W, rest = W + step * along, rest - step * image
        before, size = size, np.sum(rest**2, axis=0)
        along = rest + size / np.maximum(before, combine.TINY) * along
    return W
