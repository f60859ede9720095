"""ReSSL: micro-clusters with a reliability each (Shao et al. 2016, "Reliable semi-supervised learning").

bls19 only names it. What is taken from its authors' description: the stream is summarised by
micro-clusters; each has a label and a reliability, which grows when it predicts a labelled item
rightly and falls when it errs; the nearest reliable micro-clusters vote; unlabelled items are
absorbed and get the label of what they join; memory is bounded.

What is a guess: a micro-cluster absorbs an item within its radius (root mean square distance
to its centre, at least the mean of all); reliability starts at 1 for a labelled item and at the
winning share of the vote for an unlabelled one, is multiplied by `1 + rate` or `1 - rate`, and
fades by `fading` with every item; the least reliable makes room. So the published column is a
comparison, not a reproduction.
"""

from typing import Any

import numpy as np

from querist.budgeted import checks
from querist.budgeted.learner import Stream
from querist.compiled import compiled
from querist.types import Bools, Codes, Floats


@compiled
def nearest(centres: Floats, m: int, x: Floats, far: Floats, order: Codes) -> int:
    """The nearest micro-clusters, nearest first, in `order`; how many there are."""
    count = 0
    for c in range(m):
        total = 0.0
        for i in range(x.size):
            e = x[i] - centres[c, i]
            total += e * e
        far[c] = total
        at = min(count, order.size)
        while at > 0 and far[order[at - 1]] > total:
            if at < order.size:
                order[at] = order[at - 1]
            at -= 1
        if at < order.size:
            order[at] = c
            count = min(count + 1, order.size)
    return count


@compiled
def vote(
    labels: Codes, trust: Floats, last: Floats, t: int, fading: float, order: Codes, n: int, p: Floats
) -> int:
    """Class shares by faded reliability, in `p`; the winner, -1 where there is none."""
    total = 0.0
    for k in range(p.size):
        p[k] = 0.0
    for i in range(n):
        c = order[i]
        weight = trust[c] * fading ** (t - last[c])
        p[labels[c]] += weight
        total += weight
    if total == 0:
        return -1
    best = 0
    for k in range(p.size):
        p[k] /= total
        if p[k] > p[best]:
            best = k
    return best


@compiled
def run(
    X: Floats,
    codes: Codes,
    centres: Floats,
    sizes: Floats,
    spreads: Floats,
    labels: Codes,
    trust: Floats,
    last: Floats,
    counts: Codes,
    fading: float,
    rate: float,
    order: Codes,
    far: Floats,
    p: Floats,
    predicted: Codes,
    actions: Codes,
) -> None:
    """Predict every row, then let it join the micro-clusters."""
    room = labels.size
    for row in range(codes.size):
        x, m, t = X[row], counts[0], counts[1]
        counts[1] += 1
        n = nearest(centres, m, x, far, order)
        predicted[row] = vote(labels, trust, last, t, fading, order, n, p)
        label = codes[row] if codes[row] >= 0 else predicted[row]
        if label < 0:
            continue
        if codes[row] >= 0:
            for i in range(n):
                trust[order[i]] *= 1.0 + rate if labels[order[i]] == label else 1.0 - rate
                trust[order[i]] = min(trust[order[i]], 1e6)
        mean = 0.0
        for c in range(m):
            mean += spreads[c] / sizes[c]
        radius = max(mean / max(m, 1), spreads[order[0]] / sizes[order[0]]) if n > 0 else 0.0
        actions[row] = 1
        if n > 0 and labels[order[0]] == label and far[order[0]] <= radius:
            c = order[0]
            sizes[c] += 1.0
            spreads[c] += far[c] * (sizes[c] - 1.0) / sizes[c]
            for i in range(x.size):
                centres[c, i] += (x[i] - centres[c, i]) / sizes[c]
            last[c] = t
            continue
        if m < room:
            c = m
            counts[0] += 1
        else:
            c = 0
            for other in range(1, m):
                if trust[other] * fading ** (t - last[other]) < trust[c] * fading ** (t - last[c]):
                    c = other
        for i in range(x.size):
            centres[c, i] = x[i]
        sizes[c], spreads[c], labels[c], last[c] = 1.0, 0.0, label, t
        trust[c] = 1.0 if codes[row] >= 0 else p[label]


class ReSSL:
    """Reliable micro-clusters on a stream; see the module for what is a guess.

    Parameters
    ----------
    clusters : most micro-clusters kept
    neighbours : how many vote
    rate : in (0, 1); how fast reliability moves
    fading : in (0, 1]; what is left of a reliability after an item
    """

    def __init__(
        self,
        n_classes: int,
        *,
        clusters: int = 200,
        neighbours: int = 5,
        rate: float = 0.1,
        fading: float = 0.9999,
    ) -> None:
        self.n_classes = checks.checked_count("n_classes", n_classes, 2)
        self.clusters = checks.checked_count("clusters", clusters, 1)
        self.neighbours = min(checks.checked_count("neighbours", neighbours, 1), self.clusters)
        self.rate, self.fading = checks.checked_number("rate", rate), checks.checked_number("fading", fading)
        self.centres = np.empty((self.clusters, 0))
        self.sizes_, self.spreads = np.ones(self.clusters), np.zeros(self.clusters)
        self.labels, self.trust = np.zeros(self.clusters, dtype=np.int64), np.zeros(self.clusters)
        self.last, self.counts = np.zeros(self.clusters), np.zeros(2, dtype=np.int64)

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then let it join the micro-clusters."""
        M = checks.checked_vectors(X, self.centres.shape[1] or None)
        checks.checked_squares(M)
        codes = checks.masked(checks.checked_labels(labels, M.shape[0], self.n_classes), labelled)
        if self.centres.shape[1] == 0:
            self.centres = np.zeros((self.clusters, M.shape[1]))
        predicted, actions = np.full(codes.size, -1), np.zeros(codes.size, dtype=np.int64)
        order, far, p = (
            np.zeros(self.neighbours, dtype=np.int64),
            np.zeros(self.clusters),
            np.zeros(self.n_classes),
        )
        for at in range(0, codes.size, 4096):
            part = slice(at, at + 4096)
            rows = M[part] if isinstance(M, np.ndarray) else M[part].toarray()
            run(
                rows,
                codes[part],
                self.centres,
                self.sizes_,
                self.spreads,
                self.labels,
                self.trust,
                self.last,
                self.counts,
                self.fading,
                self.rate,
                order,
                far,
                p,
                predicted[part],
                actions[part],
            )
        return Stream(predicted, actions)
