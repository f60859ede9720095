"""ReSSL: micro-clusters that vote by their reliability (Shao, Huang, Yang and Luo, ICDM 2016).

bls19 only names "Reliable semi-supervised learning" and takes "the values suggested". The paper was not to be
had; its method is taken from a public implementation in Java (package StreamClustering.ReSSL, 2018), whose
code is not copied. It says:

- A first batch is clustered by k-means. A micro-cluster has a centre, a radius r (root mean square distance
  to the centre), a diameter D (root mean square distance between two of its items), and of its labelled items
  the class shares p, their entropy h and a centre each. P and H are shares and entropy of all labels.
- Its reliability is `R = (H - h)/H exp(sum_c (p_c - P_c)/P_c)`: pure clusters and those of rare classes.
- The nearest micro-clusters vote for class c with `R p_c/(distance to the centre of class c)`; the nearest
  alone where its R is above their mean by tau deviations.
- An item joins the nearest micro-cluster within r; beyond D it is set aside; between, it joins if the border
  of the next one is farther by r/2, else it starts a micro-cluster, and the one of least weight makes room.
  Weights gain 1 with an item and fade by `exp(-fading)`.

Where that code departs from its own intent (class centres that are sums, an index of a class for a cluster),
the intent is taken. The most micro-clusters, the first clusters and the fading are those of the authors'
later stream version (Din et al., "Online reliable semi-supervised learning on evolving data streams", 2020,
its public Matlab code). What is a guess: 5 neighbours, tau = 1, a first batch of 200 (theirs is 1,000, and
not judged), no negative R, the commonest class as the answer where there are no clusters or no votes,
and that an item that was set aside is not used again. Nothing was chosen by looking at the published column.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from querist.budgeted import Stream
from querist.extend import check_room, checked_count, checked_number, checked_stream, compiled, compiled_lanes
from querist_papers.rivals.clustered import dense, k_means
from querist_papers.types import Bools, Codes, Floats


class MicroClusters(NamedTuple):
    """m micro-clusters in arrays with room for more."""

    centres: Floats  # (room, d)
    sizes: Floats  # (room,): items
    spreads: Floats  # (room,): sum of squared distances to the centre
    weights: Floats  # (room,): at the time `last`
    last: Floats  # (room,)
    labels: Floats  # (room, classes): counts
    means: Floats  # (room, classes, d): centres of the labelled items
    overall: Floats  # (classes,): counts of all labels
    counts: Codes  # (2,): m, and items that joined
    far: Floats  # scratch: (room,)
    order: Codes  # (neighbours,)
    trust: Floats  # (neighbours,)
    votes: Floats  # (classes,)


@compiled_lanes
def distance(a: Floats, b: Floats) -> float:
    """`|a - b|`."""
    total = 0.0
    for i in range(a.size):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return math.sqrt(total)


@compiled
def find_nearest(state: MicroClusters, x: Floats) -> int:
    """The nearest micro-clusters, nearest first, in `order`; how many there are."""
    count, order, far = 0, state.order, state.far
    for c in range(state.counts[0]):
        far[c] = distance(x, state.centres[c])
        at = min(count, order.size)
        while at > 0 and far[order[at - 1]] > far[c]:
            if at < order.size:
                order[at] = order[at - 1]
            at -= 1
        if at < order.size:
            order[at] = c
            count = min(count + 1, order.size)
    return count


@compiled
def entropy(counts: Floats) -> float:
    """Of the shares of these counts."""
    total, found = counts.sum(), 0.0
    for count in counts:
        if count > 0:
            found -= count / total * math.log(count / total)
    return found


@compiled
def reliability(labels: Floats, overall: Floats) -> float:
    """R from the label counts of a micro-cluster and of all; 1 while there is one class.

    0 without labels, or where they are more mixed than all are.
    """
    own, everything, H = labels.sum(), overall.sum(), entropy(overall)
    if own == 0:
        return 0.0
    if H == 0:
        return 1.0
    rarity = 0.0
    for k in range(labels.size):
        if overall[k] > 0:
            P = overall[k] / everything
            rarity += (labels[k] / own - P) / P
    # Beyond 700 the exponential overflows.
    return max(H - entropy(labels), 0.0) / H * math.exp(min(rarity, 700.0))


@compiled
def vote(state: MicroClusters, x: Floats, n: int) -> int:
    """The class that the n nearest micro-clusters vote for, else the commonest so far, else -1."""
    mean, square, votes = 0.0, 0.0, state.votes
    for i in range(n):
        state.trust[i] = reliability(state.labels[state.order[i]], state.overall)
        mean += state.trust[i] / n
    for i in range(n):
        square += (state.trust[i] - mean) * (state.trust[i] - mean) / n
    alone = n > 0 and state.trust[0] > mean + math.sqrt(square)
    votes[:] = 0.0
    for i in range(1 if alone else n):
        c = state.order[i]
        own = state.labels[c].sum()
        for k in range(votes.size):
            if state.labels[c, k] > 0:
                near = max(distance(x, state.means[c, k]), 1e-12)
                votes[k] += state.trust[i] * state.labels[c, k] / own / near
    best, commonest = np.argmax(votes), np.argmax(state.overall)
    if votes[best] > 0:
        return int(best)
    return int(commonest) if state.overall[commonest] > 0 else -1


@compiled
def join(state: MicroClusters, c: int, x: Floats, label: int, fading: float) -> None:
    """Item x becomes a part of micro-cluster c."""
    t = state.counts[1]
    state.weights[c] = state.weights[c] * math.exp(-fading * (t - state.last[c])) + 1.0
    state.last[c] = t
    state.counts[1] += 1
    state.sizes[c] += 1.0
    far = distance(x, state.centres[c])
    state.spreads[c] += far * far * (state.sizes[c] - 1.0) / state.sizes[c]
    for i in range(x.size):
        state.centres[c, i] += (x[i] - state.centres[c, i]) / state.sizes[c]
    if label >= 0:
        state.labels[c, label] += 1.0
        for i in range(x.size):
            state.means[c, label, i] += (x[i] - state.means[c, label, i]) / state.labels[c, label]


@compiled
def begin(state: MicroClusters, fading: float) -> int:
    """An empty micro-cluster: a new one, or that of least weight."""
    c = state.counts[0]
    if c == state.sizes.size:
        c, least, t = 0, math.inf, state.counts[1]
        for other in range(state.sizes.size):
            weight = state.weights[other] * math.exp(-fading * (t - state.last[other]))
            if weight < least:
                c, least = other, weight
    else:
        state.counts[0] += 1
    state.sizes[c] = state.spreads[c] = state.weights[c] = 0.0
    state.centres[c], state.labels[c], state.means[c] = 0.0, 0.0, 0.0
    return int(c)


@compiled
def place(state: MicroClusters, x: Floats, label: int, n: int, fading: float) -> bool:
    """Let x join, start a micro-cluster, or be set aside; whether it was used."""
    first = state.order[0]
    radius = math.sqrt(state.spreads[first] / state.sizes[first])
    gap = state.far[first] - radius
    if gap >= 0:
        if state.sizes[first] > 1:
            diameter = math.sqrt(2.0 * state.spreads[first] / (state.sizes[first] - 1.0))
            if state.far[first] > diameter:
                return False
        clear = n < 2
        if not clear:
            second = state.order[1]
            border = state.far[second] - math.sqrt(state.spreads[second] / state.sizes[second])
            clear = border - gap >= 0.5 * radius
        if not clear:
            first = begin(state, fading)
    join(state, first, x, label, fading)
    return True


@compiled
def run(
    state: MicroClusters, X: Floats, codes: Codes, fading: float, predicted: Codes, actions: Codes
) -> None:
    """Predict every row, then place it; without micro-clusters, only count its label."""
    for t in range(codes.size):
        n = find_nearest(state, X[t])
        predicted[t] = vote(state, X[t], n)
        if n > 0 and place(state, X[t], codes[t], n, fading):
            actions[t] = 1
        if codes[t] >= 0:
            state.overall[codes[t]] += 1.0


class ReSSL:
    """ReSSL: micro-clusters that vote by their reliability; no randomness, whatever the seed.

    The module says what its sources say and what is a guess.

    Parameters
    ----------
    first : items that the first micro-clusters are made of
    clusters : how many those are
    most : micro-clusters kept
    neighbours : how many vote
    fading : >= 0; how fast weights are forgotten

    >>> import numpy as np
    >>> X = np.repeat([[0.0, 1.0], [5.0, 0.0]], 30, axis=0)
    >>> ReSSL(2, first=40, clusters=2).run(X, np.repeat([0, 1], 30)).predicted[-3:]
    array([1, 1, 1])
    """

    def __init__(
        self,
        n_classes: int,
        *,
        first: int = 200,
        clusters: int = 50,
        most: int = 1000,
        neighbours: int = 5,
        fading: float = 2e-6,
        seed: int = 0,
    ) -> None:
        self.n_classes = checked_count("n_classes", n_classes, 2)
        self.first = checked_count("first", first, 1)
        self.clusters = min(checked_count("clusters", clusters, 1), self.first)
        self.most = checked_count("most", most, self.clusters)
        self.neighbours = checked_count("neighbours", neighbours, 1)
        self.fading = checked_number("fading", fading, zero=True)
        self.state: MicroClusters | None = None
        self.waiting: list[tuple[Floats, int]] = []

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then let it join the micro-clusters."""
        known = None if self.state is None else self.state.centres.shape[1]
        M, codes = checked_stream(X, labels, labelled, self.n_classes, known)
        if self.state is None:
            self.state = self._empty(M.shape[1])
        done, at = Stream.blank(codes.size), 0
        while at < codes.size:
            begun = self.state.counts[0] > 0
            stop = min(codes.size, at + (4096 if begun else self.first - len(self.waiting)))
            part = slice(at, stop)
            rows = dense(M[part])
            run(self.state, rows, codes[part], self.fading, done.predicted[part], done.actions[part])
            if not begun:
                self.waiting += zip(rows.copy(), codes[part].tolist(), strict=True)
                if len(self.waiting) == self.first:
                    self._begin()
            at = stop
        return done

    def _empty(self, d: int) -> MicroClusters:
        room, classes, near = self.most, self.n_classes, self.neighbours
        numbers = room * (d + classes * (d + 1.0) + 5) + 2 * near
        check_room(f"{room:,} micro-clusters and {near:,} neighbours", numbers, "most or neighbours")
        return MicroClusters(
            centres=np.zeros((room, d)),
            sizes=np.zeros(room),
            spreads=np.zeros(room),
            weights=np.zeros(room),
            last=np.zeros(room),
            labels=np.zeros((room, classes)),
            means=np.zeros((room, classes, d)),
            overall=np.zeros(classes),
            counts=np.zeros(2, dtype=np.int64),
            far=np.zeros(room),
            order=np.zeros(near, dtype=np.int64),
            trust=np.zeros(near),
            votes=np.zeros(classes),
        )

    def _begin(self) -> None:
        """The first micro-clusters, by k-means from the first rows: the order of a stream is no matter."""
        assert self.state is not None
        rows = np.array([row for row, _ in self.waiting])
        _, member = k_means(rows, rows[: self.clusters])
        for c in np.unique(member):
            slot = begin(self.state, self.fading)
            for t in np.flatnonzero(member == c):
                join(self.state, slot, rows[t], self.waiting[t][1], self.fading)
        self.waiting = []
