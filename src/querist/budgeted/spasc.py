"""SPASC: a pool of cluster-based classifiers, one for each concept met (Hosseini et al. 2016).

bls19 only names it. What is taken from its authors' description: items come in chunks; a
semi-supervised clustering of a chunk becomes a classifier (its clusters and the labels in
them); a pool keeps the classifiers; a vote predicts, with weights that are updated by the
labelled items, heuristically or by Bayes' rule; a chunk that a classifier of the pool already
explains refreshes it, another becomes a new one.

What is a guess: k-means started from labelled items; Laplace-smoothed label counts; the
heuristic weight multiplied by `decay` at a mistake; the Bayesian weights mixed with a share
`restart` of the uniform distribution, so that a concept can return; the chunk "explained" when
its labelled items are predicted at least as well as by its own new clusters; the classifier of
least weight making room. So the published column is a comparison, not a reproduction.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from querist.budgeted import checks
from querist.budgeted.learner import Stream
from querist.errors import InputError
from querist.types import Bools, Codes, Floats

WeightName: TypeAlias = Literal["heuristic", "bayesian"]


def distances(A: Floats, B: Floats) -> Floats:
    """(n, m) squared distances."""
    squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.asarray(np.maximum(squares, 0.0))


def k_means(X: Floats, centres: Floats, rounds: int = 10) -> tuple[Floats, Codes]:
    """Centres and the cluster of every row, from the centres given."""
    member = distances(X, centres).argmin(axis=1)
    for _ in range(rounds):
        counts = np.bincount(member, minlength=centres.shape[0])
        sums = np.zeros_like(centres)
        np.add.at(sums, member, X)
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        moved = distances(X, centres).argmin(axis=1)
        if (moved == member).all():
            break
        member = moved
    return centres, member


class SPASC:
    """Stream classification by a pool of clusterings; see the module for what is a guess.

    Parameters
    ----------
    weights : "heuristic" or "bayesian"
    chunk : items a clustering is made of
    clusters : clusters a clustering has
    pool : most classifiers kept
    decay : factor on the weight of a classifier that errs (heuristic)
    restart : share of the uniform distribution mixed into the weights (bayesian)
    """

    def __init__(
        self,
        n_classes: int,
        *,
        weights: WeightName = "heuristic",
        chunk: int = 100,
        clusters: int = 10,
        pool: int = 10,
        decay: float = 0.9,
        restart: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.n_classes = checks.checked_count("n_classes", n_classes, 2)
        self.chunk = checks.checked_count("chunk", chunk, 2)
        self.clusters = checks.checked_count("clusters", clusters, 1)
        self.pool = checks.checked_count("pool", pool, 1)
        self.decay = checks.checked_number("decay", decay)
        self.restart = checks.checked_number("restart", restart)
        if weights not in ("heuristic", "bayesian"):
            raise InputError(f"weights = {weights!r}; it must be heuristic or bayesian")
        self.bayesian = weights == "bayesian"
        self.rng = np.random.default_rng(seed)
        self.centres: list[Floats] = []
        self.chances: list[Floats] = []
        self.weights = np.empty(0)
        self.waiting: list[Floats] = []
        self.waiting_codes: list[int] = []

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row; its label weighs the pool at once, its chunk is clustered when full."""
        known = self.waiting[0].size if self.waiting else self.centres[0].shape[1] if self.centres else None
        M = checks.checked_vectors(X, known)
        checks.checked_squares(M)
        codes = checks.masked(checks.checked_labels(labels, M.shape[0], self.n_classes), labelled)
        predicted, actions = np.full(codes.size, -1), np.zeros(codes.size, dtype=np.int64)
        at = 0
        while at < codes.size:
            stop = min(codes.size, at + self.chunk - len(self.waiting))
            rows = M[at:stop] if isinstance(M, np.ndarray) else M[at:stop].toarray()
            predicted[at:stop] = self._vote(rows, codes[at:stop])
            self.waiting.extend(rows)
            self.waiting_codes.extend(codes[at:stop].tolist())
            if len(self.waiting) == self.chunk:
                self._cluster(np.array(self.waiting), np.array(self.waiting_codes))
                self.waiting, self.waiting_codes = [], []
                actions[stop - 1] = 1
            at = stop
        return Stream(predicted, actions)

    def _chance(self, c: int, rows: Floats) -> Floats:
        """(n, K) class chances of classifier c: those of the nearest cluster."""
        return np.asarray(self.chances[c][distances(rows, self.centres[c]).argmin(axis=1)])

    def _vote(self, rows: Floats, codes: Codes) -> Codes:
        if not self.centres:
            return np.full(codes.size, -1)
        probabilities = np.stack([self._chance(c, rows) for c in range(len(self.centres))])
        found = np.empty(codes.size, dtype=np.int64)
        for t in range(codes.size):
            found[t] = np.argmax(self.weights @ probabilities[:, t])
            if codes[t] >= 0:
                self._weigh(probabilities[:, t], codes[t])
        return found

    def _weigh(self, probabilities: Floats, label: int) -> None:
        if self.bayesian:
            self.weights = self.weights * probabilities[:, label]
        else:
            self.weights = np.where(
                probabilities.argmax(axis=1) == label, self.weights, self.weights * self.decay
            )
        self.weights /= self.weights.sum()
        if self.bayesian:
            self.weights = (1 - self.restart) * self.weights + self.restart / self.weights.size
        else:
            self.weights = np.maximum(self.weights, 1e-6)

    def _cluster(self, rows: Floats, codes: Codes) -> None:
        """A clustering of a full chunk joins the pool, or refreshes the classifier that explains it."""
        labelled = np.flatnonzero(codes >= 0)
        others = self.rng.permutation(np.flatnonzero(codes < 0))
        first = np.concatenate([self.rng.permutation(labelled), others])[: self.clusters]
        centres, member = k_means(rows, rows[first])
        counts = np.zeros((centres.shape[0], self.n_classes))
        np.add.at(counts, (member[labelled], codes[labelled]), 1.0)
        prior = np.bincount(codes[labelled], minlength=self.n_classes) + 1.0
        chances = counts + prior / prior.sum()
        chances /= chances.sum(axis=1, keepdims=True)
        own = self._score(chances[member[labelled]], codes[labelled])
        olds = [
            self._score(self._chance(c, rows[labelled]), codes[labelled]) for c in range(len(self.centres))
        ]
        if olds and max(olds) >= own:
            chosen = int(np.argmax(olds))
        elif len(self.centres) < self.pool:
            chosen = len(self.centres)
            self.centres.append(centres)
            self.chances.append(chances)
            self.weights = np.append(self.weights, self.weights.mean() if self.weights.size else 1.0)
        else:
            chosen = int(np.argmin(self.weights))
        self.centres[chosen], self.chances[chosen] = centres, chances

    @staticmethod
    def _score(chances: Floats, codes: Codes) -> float:
        return float(np.mean(chances.argmax(axis=1) == codes)) if codes.size else 0.0
