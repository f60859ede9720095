"""Answers that may be wrong: how reliable each person is, and what is believed of each node.

The one-coin model of Dawid and Skene (1979): person w answers with the true class with probability `a_w`,
else with any other, all equally likely. With the prior `p_i` of node i and its votes,

    q_ik = p_ik prod_votes (a_w if the vote is k else (1 - a_w) / (K - 1)) / their sum,
    a_w = (s (1 - noise) + sum over votes of q_i,vote) / (s + votes of w),

in turn (EM), s the weight of the prior in votes. The posterior q is what the model learns as a target.

The prior of a node is what the quick model believes of it without its own answers, so that one answer against
all its neighbourhood is doubted. Accuracies and targets are estimated anew after `FIRST` votes and whenever
they have grown by `GROWTH`: at fixed numbers, so a replay gives the same; and as the gaps grow with the
votes, all estimates together cost a few times the last one.

Where an answer is a set of classes every class is a vote of its own, yes or no, in the same model with K = 2:
the classes are decided one by one, and who gives whole sets right with probability a has each class right
with `a^(1/K)`. `noise` and what is said of people are about whole sets. A set that nobody gave, put together
from the votes of several, is in doubt however sure its classes are.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from querist.asking.answers import indicator, likeliest, sureness
from querist.asking.model import QuickModel
from querist.asking.options import NOISE
from querist.labels import Code
from querist.types import Codes, Floats

STRENGTH = 4.0
"""Votes that the prior of a person's accuracy counts for."""
DOUBT, VOTES = 0.8, 3
"""A node is in doubt below this belief, and asked about again up to so many votes."""
FIRST, GROWTH = 10, 1.25
CAUTION = 0.02
"""Share of a node's prior that is spread evenly: the quick model is surer than it is right."""
LEAST, MOST = 0.02, 0.995
"""An accuracy lies between; nobody is believed blindly."""
ROUNDS, SAME = 100, 1e-9


class Vote(NamedTuple):
    """An answer: about which row, which class or set, by whom (None: nobody said)."""

    row: int
    code: Code
    person: Hashable


@dataclass(frozen=True)
class Person:
    """What is believed of a person: `votes` answers, `accuracy` of them right, within `interval` (95 %).

    >>> ann = Person("ann", votes=12, accuracy=0.9, interval=(0.7, 0.97))
    >>> ann.name, ann.accuracy
    ('ann', 0.9)
    """

    name: Hashable
    votes: int
    accuracy: float
    interval: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """As summaries have it."""
        own = {"person": self.name, "answers": self.votes}
        return {**own, "accuracy": self.accuracy, "interval": list(self.interval)}


def posterior(prior: Floats, codes: Sequence[int], accuracy: Sequence[float]) -> Floats:
    """(K,) the classes of one node by its prior and the votes, each with its person's accuracy.

    >>> posterior(np.array([0.5, 0.5]), [1, 1, 0], [0.8, 0.8, 0.6]).round(3).tolist()
    [0.086, 0.914]
    """
    K = len(prior)
    q = prior.astype(np.float64)
    for code, a in zip(codes, accuracy, strict=True):
        wrong = (1 - a) / (K - 1)
        q = q * np.where(np.arange(K) == code, a, wrong)
    return np.asarray(q / q.sum())


def one_coin(
    prior: Floats,
    node: Codes,
    code: Codes,
    person: Codes,
    n_people: int,
    noise: float,
    strength: float = STRENGTH,
    most: float = MOST,
) -> tuple[Floats, Floats]:
    """(m, K) the posterior of every node, and (people,) accuracies, by EM.

    Parameters
    ----------
    prior : (m, K) of the nodes; node, code, person : (v,) of the votes
    noise : share of wrong answers, before any is seen; most : an accuracy is this at most
    """
    K = prior.shape[1]
    accuracy = np.full(n_people, 1 - noise)
    votes = np.bincount(person, minlength=n_people)
    logs = np.log(np.maximum(prior, 1e-300))
    for _ in range(ROUNDS):
        right, wrong = np.log(accuracy), np.log((1 - accuracy) / (K - 1))
        L = logs.copy()
        np.add.at(L, node, wrong[person][:, None])
        np.add.at(L, (node, code), (right - wrong)[person])
        L -= L.max(axis=1, keepdims=True)
        q = np.exp(L)
        q /= q.sum(axis=1, keepdims=True)
        agreed = np.bincount(person, weights=q[node, code], minlength=n_people)
        new = np.clip((strength * (1 - noise) + agreed) / (strength + votes), LEAST, most)
        moved, accuracy = float(np.abs(new - accuracy).max(initial=0.0)), new
        if moved < SAME:
            break
    return q, accuracy


class Opinions:
    """All votes, and what is believed by them; grows by `vote`, which also teaches the model."""

    multilabel = False
    """Whether a vote is a set."""

    def __init__(self, noise: float) -> None:
        self.noise = self._presumed = noise or NOISE
        self.votes: list[Vote] = []
        self.people: dict[Hashable, int] = {}
        self.accuracy: list[float] = []
        self.rows: dict[int, int] = {}
        """Where each voted row stands in `priors`, `targets` and `by_row`."""
        self.priors: list[Floats] = []
        self.targets: list[Floats] = []
        self.sure: list[float] = []
        """The belief in the likeliest class, or set, of each."""
        self.by_row: list[list[int]] = []
        self._next = FIRST

    def vote(self, model: QuickModel, cast: Vote) -> QuickModel:
        """One vote more: the model with the node's target."""
        if cast.person not in self.people:
            self.people[cast.person] = len(self.people)
            self.accuracy.append(1 - self._presumed)
        fresh = cast.row not in self.rows
        if fresh:
            self.rows[cast.row] = len(self.rows)
            self.priors.append(self._cautious(model.beliefs_at([cast.row])[0][0]))
            self.by_row.append([])
        at = self.rows[cast.row]
        self.by_row[at].append(len(self.votes))
        self.votes.append(cast)
        target = self._posterior(self.priors[at], [self.votes[v] for v in self.by_row[at]])
        if fresh:
            self.targets.append(target)
            self.sure.append(0.0)
            model = model.learn(cast.row, target)
        else:
            model = model.retarget([cast.row], (target - self.targets[at])[None])
            self.targets[at] = target
        self.sure[at] = self._sureness(at)
        if len(self.votes) >= self._next:
            self._next = int(np.ceil(GROWTH * self._next))
            model = self._estimate(model)
        return model

    def _estimate(self, model: QuickModel) -> QuickModel:
        """Accuracies and targets anew, from what the model says of each node without its own answers."""
        rows, before = list(self.rows), np.array(self.targets)
        prior = self._prior(model)
        q, accuracy = self._fitted(prior)
        self.accuracy, self.priors, self.targets = accuracy.tolist(), list(prior), list(q)
        self.sure = [self._sureness(at) for at in range(len(rows))]
        return model.retarget(rows, q - before)

    def _prior(self, model: QuickModel) -> Floats:
        return self._cautious(model.left_out(list(self.rows), np.array(self.targets)))

    def _cautious(self, prior: Floats) -> Floats:
        """(..., K) some of it spread evenly over the classes; of sets over yes and no."""
        return np.asarray((1 - CAUTION) * prior + CAUTION / (2 if self.multilabel else prior.shape[-1]))

    def _posterior(self, prior: Floats, own: Sequence[Vote]) -> Floats:
        return posterior(prior, [int(v.code) for v in own], [self._accuracy_of(v) for v in own])  # type: ignore[arg-type]

    def _accuracy_of(self, vote: Vote) -> float:
        return self.accuracy[self.people[vote.person]]

    def _fitted(self, prior: Floats) -> tuple[Floats, Floats]:
        node = np.array([self.rows[v.row] for v in self.votes])
        code = np.array([v.code for v in self.votes])
        person = np.array([self.people[v.person] for v in self.votes])
        return one_coin(prior, node, code, person, len(self.people), self.noise)

    def believed(self) -> dict[int, Code]:
        """The likeliest class, or set, of every node that has votes, by row."""
        return {row: likeliest(self.targets[at], self.multilabel) for row, at in self.rows.items()}

    def sure_of(self, row: int, votes: int) -> float:
        """The belief in the likeliest class, or set, of a row; 0 until so many votes about it are counted."""
        at = self.rows.get(row, len(self.sure))
        return self.sure[at] if at < len(self.sure) and len(self.by_row[at]) == votes else 0.0

    def _sureness(self, at: int) -> float:
        return float(sureness(self.targets[at], self.multilabel))

    def persons(self, model: QuickModel) -> list[Person]:
        """What is believed of everybody who answered, by all votes and the model as they are.

        The interval is that of the Beta distribution of the accuracy as if the classes were known.
        """
        from scipy.stats import beta

        if not self.votes:
            return []
        q, accuracy = self._fitted(self._prior(model))
        found = []
        for name, at in self.people.items():
            own = [v for v in self.votes if v.person == name]
            right = sum(self._right(q[self.rows[v.row]], v) for v in own)
            a, b = STRENGTH * (1 - self.noise) + right, STRENGTH * self.noise + len(own) - right
            low, high = (float(beta.ppf(share, a, b)) for share in (0.025, 0.975))
            # Of sets, the mean of the same distribution: classes were judged, not sets.
            mean = a / (a + b) if self.multilabel else float(accuracy[at])
            found.append(Person(name, len(own), mean, (low, high)))
        return found

    def _right(self, q: Floats, vote: Vote) -> float:
        """How likely a vote is right, by what is believed of its node."""
        return float(q[vote.code])


class SetOpinions(Opinions):
    """The same where a vote is a set of some of K classes: targets (K,) say how likely it has each."""

    multilabel = True

    def __init__(self, noise: float, n_classes: int) -> None:
        super().__init__(noise)
        self.n_classes = n_classes
        self._presumed = 1 - (1 - self.noise) ** (1 / n_classes)

    def _posterior(self, prior: Floats, own: Sequence[Vote]) -> Floats:
        signs = 2 * indicator([v.code for v in own], self.n_classes) - 1
        weights = logit([self._accuracy_of(v) for v in own])
        return np.asarray(expit(logit(prior) + weights @ signs))

    def _fitted(self, prior: Floats) -> tuple[Floats, Floats]:
        K = self.n_classes
        node = np.array([self.rows[v.row] for v in self.votes])[:, None] * K + np.arange(K)
        yes = indicator([v.code for v in self.votes], K).astype(np.int64)
        person = np.repeat([self.people[v.person] for v in self.votes], K)
        q, accuracy = one_coin(
            np.stack([1 - prior.ravel(), prior.ravel()], axis=1),
            node.ravel(),
            yes.ravel(),
            person,
            len(self.people),
            self._presumed,
            STRENGTH * K,
            MOST ** (1 / K),
        )
        return q[:, 1].reshape(-1, K), accuracy

    def _sureness(self, at: int) -> float:
        """As of classes; half of that for a set that nobody gave."""
        said = likeliest(self.targets[at], self.multilabel)
        given = any(self.votes[vote].code == said for vote in self.by_row[at])
        return super()._sureness(at) / (1 if given else 2)

    def _right(self, q: Floats, vote: Vote) -> float:
        has = indicator([vote.code], self.n_classes)[0] > 0
        return float(np.where(has, q, 1 - q).prod())
