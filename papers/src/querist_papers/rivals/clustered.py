"""SPASC: a pool of cluster-based classifiers, one for each concept met (Hosseini, Gholipour and Beigy 2016).

bls19 only names it. From the abstract of "An ensemble of cluster-based classifiers for semi-supervised
classification of non-stationary data streams" (Knowledge and Information Systems 46): the stream comes in
batches; a batch is classified first, then some of its items are labelled, and the partly labelled batch
updates the pool; each classifier of the pool stands for one concept, which may return. From the abstract of
its supervised forerunner, "Using a classifier pool in accuracy based tracking of recurring concepts in data
stream classification" (Evolving Systems, 2013): all classifiers vote with weights, and a batch updates the
pool by a heuristic or by Bayes' rule. The papers themselves were not to be had.

What is a guess: a classifier is a k-means clustering, started from labelled items, with smoothed label
counts; the weight is the accuracy on the last batch (heuristic), or the weight times the likelihood of its
labels, mixed with a share `restart` of the uniform distribution so that a concept can return (Bayesian); the
batch belongs to the classifier that fits its labels best, unless saying what is commonest in the batch would
fit better and the pool has room: then it starts a classifier of its own; a classifier takes in a batch by
running means of its clusters and their label counts. Nothing was chosen by looking at the published column.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from querist import InputError
from querist.budgeted import Stream
from querist.extend import checked_count, checked_number, checked_stream
from querist_papers.types import Bools, Codes, Floats

WeightName: TypeAlias = Literal["heuristic", "bayesian"]


def dense(M: Any) -> Floats:
    """The rows as an array."""
    return np.asarray(M if isinstance(M, np.ndarray) else M.toarray(), dtype=np.float64)


def distances(A: Floats, B: Floats) -> Floats:
    """(n, m) squared distances."""
    squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.asarray(np.maximum(squares, 0.0))


def sums_of(member: Codes, count: int, values: Floats) -> Floats:
    """(count, d) the sum of the rows of every cluster."""
    belongs = np.zeros((count, member.size))
    belongs[member, np.arange(member.size)] = 1.0
    return np.asarray(belongs @ values)


def k_means(X: Floats, centres: Floats, rounds: int = 10) -> tuple[Floats, Codes]:
    """Centres and the cluster of every row, from the centres given."""
    member = distances(X, centres).argmin(axis=1)
    for _ in range(rounds):
        counts = np.bincount(member, minlength=centres.shape[0])[:, None]
        centres = np.where(counts > 0, sums_of(member, counts.size, X) / np.maximum(counts, 1), centres)
        moved = distances(X, centres).argmin(axis=1)
        if (moved == member).all():
            break
        member = moved
    return centres, member


class SPASC:
    """SPASC: a pool of clusterings of batches, weighted by their labelled items.

    The module says what is a guess.

    Parameters
    ----------
    weights : "heuristic" or "bayesian"
    chunk : items of a batch
    clusters : clusters of a classifier
    pool : most classifiers kept
    restart : share of the uniform distribution mixed into the weights (bayesian)

    >>> import numpy as np
    >>> X = np.tile([[0.0, 1.0], [5.0, 0.0]], (30, 1))
    >>> SPASC(2, chunk=20, clusters=2).run(X, np.tile([0, 1], 30)).predicted[-4:]
    array([0, 1, 0, 1])
    """

    def __init__(
        self,
        n_classes: int,
        *,
        weights: WeightName = "heuristic",
        chunk: int = 100,
        clusters: int = 10,
        pool: int = 10,
        restart: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.n_classes = checked_count("n_classes", n_classes, 2)
        self.chunk = checked_count("chunk", chunk, 2)
        self.clusters = checked_count("clusters", clusters, 1)
        self.most = checked_count("pool", pool, 1)
        self.restart = checked_number("restart", restart)
        if weights not in ("heuristic", "bayesian"):
            raise InputError(f"weights = {weights!r}; it must be heuristic or bayesian")
        self.bayesian = weights == "bayesian"
        self.rng = np.random.default_rng(checked_count("seed", seed, 0))
        self.weights = np.empty(0)
        k = min(self.clusters, self.chunk)
        self.centres = np.empty((0, k, 0))
        self.items, self.labels = np.empty((0, k)), np.empty((0, k, n_classes))
        self.rows, self.codes = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row; a batch is learned when it is full."""
        M, codes = checked_stream(X, labels, labelled, self.n_classes, self.rows.shape[1] or None)
        if self.rows.shape[1] == 0:
            self.rows, self.centres = np.empty((0, M.shape[1])), np.empty((*self.items.shape, M.shape[1]))
        done, at = Stream.blank(codes.size), 0
        while at < codes.size:
            stop = min(codes.size, at + self.chunk - self.codes.size)
            rows = dense(M[at:stop])
            if self.weights.size:
                chances, _ = self._chances(rows)
                done.predicted[at:stop] = np.einsum("m,nmk->nk", self.weights, chances).argmax(axis=1)
            self.rows = np.concatenate([self.rows, rows])
            self.codes = np.append(self.codes, codes[at:stop])
            if self.codes.size == self.chunk:
                self._learn()
                self.rows, self.codes = self.rows[:0], self.codes[:0]
                done.actions[stop - 1] = 1
            at = stop
        return done

    def _chances(self, rows: Floats) -> tuple[Floats, Codes]:
        """(n, m, classes) what every classifier gives a row, from its nearest cluster; which that is, (n, m).

        Label counts of a cluster are smoothed by one item that is like all of the classifier's.
        """
        m, k, d = self.centres.shape
        nearest = distances(rows, self.centres.reshape(m * k, d)).reshape(-1, m, k).argmin(axis=2)
        overall = self.labels.sum(axis=1, keepdims=True) + 1.0
        smoothed = self.labels + overall / overall.sum(axis=2, keepdims=True)
        smoothed /= smoothed.sum(axis=2, keepdims=True)
        return smoothed[np.arange(m), nearest], nearest

    def _learn(self) -> None:
        """The pool is weighed by the labels of a batch; the classifier it belongs to takes it in."""
        rows, codes, m = self.rows, self.codes, self.weights.size
        seen = np.flatnonzero(codes >= 0)
        Y = np.zeros((codes.size, self.n_classes))
        Y[seen, codes[seen]] = 1.0
        if m:
            chances, nearest = self._chances(rows)
            owner, full = int(self.weights.argmax()), m == self.most
            if seen.size:
                fits = self._fits(chances[seen], codes[seen])
                self._weigh(fits)
                owner = int(fits.argmax())
                commonest = np.tile((Y.sum(axis=0) + 1) / (seen.size + self.n_classes), (seen.size, 1, 1))
                full = full or fits[owner] >= self._fits(commonest, codes[seen])[0]
            if full or not seen.size:
                self._take(owner, rows, Y, nearest[:, owner])
                return
        first = np.concatenate([self.rng.permutation(seen), self.rng.permutation(np.flatnonzero(codes < 0))])
        centres, member = k_means(rows, rows[first[: self.centres.shape[1]]])
        self.centres = np.concatenate([self.centres, centres[None]])
        self.items = np.concatenate([self.items, np.zeros((1, self.items.shape[1]))])
        self.labels = np.concatenate([self.labels, np.zeros((1, *self.labels.shape[1:]))])
        self.weights = np.append(self.weights, self.weights.mean() if m else 1.0)
        self._take(m, rows, Y, member)

    def _take(self, c: int, rows: Floats, Y: Floats, member: Codes) -> None:
        """Classifier c takes in a batch: centres move to running means, labels are counted."""
        k = self.items.shape[1]
        more = np.bincount(member, minlength=k)
        self.labels[c] += sums_of(member, k, Y)
        self.items[c] += more
        moved = sums_of(member, k, rows) - more[:, None] * self.centres[c]
        self.centres[c] += moved / np.maximum(self.items[c], 1.0)[:, None]

    def _fits(self, chances: Floats, codes: Codes) -> Floats:
        """(m,) the accuracy on labelled items, or the logarithm of their likelihood."""
        if self.bayesian:
            return np.asarray(np.log(chances[np.arange(codes.size), :, codes]).sum(axis=0))
        return np.asarray(np.mean(chances.argmax(axis=2) == codes[:, None], axis=0))

    def _weigh(self, fits: Floats) -> None:
        if not self.bayesian:
            self.weights = np.maximum(fits, 1e-6)
            return
        posterior = self.weights * np.exp(fits - fits.max())
        posterior /= posterior.sum()
        self.weights = (1 - self.restart) * posterior + self.restart / posterior.size
