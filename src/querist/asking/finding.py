"""Active search: questions that find as many nodes of one class as the budget allows.

The model is that of rules.py. A node's score is the mean of its posterior, with the prior mean `PRIOR`: the
regression has `f_t` for the class and `h = sum_k f_k` for how much is known of the node at all, and

    z_i = PRIOR + f_ti - PRIOR h_i,

read as the probability of the class. What an answer does to the scores depends on
whether it is the class, not on which other it is: so what comes after it is known for both outcomes.

- `greedy` asks about the likeliest node.
- `ahead` adds what the answer is expected to do for the questions that follow (the efficient nonmyopic search
  of Jiang et al. 2017): with `S_y` the sum of the k largest probabilities that are left after answer y,
  `p_i + DISCOUNT (p_i S_1 + (1 - p_i) S_0)`, among the `CANDIDATES` likeliest nodes.

What a question is told to be worth is the `Chance`: scores are turned into probabilities by the answers so
far, each of which was predicted before it was given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from querist.asking.model import QuickModel
from querist.labelling.suggest import best
from querist.registry import Registry
from querist.types import Bools, Codes, Floats

PRIOR = 0.1
"""Share of the class, before anything is known of a node."""
CANDIDATES, HORIZON, DISCOUNT = 20, 50, 0.5
"""Nodes that are looked at; questions to come that count, and by how much: beyond, the model knows little."""
POOL = 500
"""Most likely nodes among which those of the horizon are looked for."""
LEAST = 0.01
"""A score is a probability between this and one less this."""


@dataclass(frozen=True)
class FindRule:
    """A way to find; `reason` is said beside its questions, with the class put in."""

    name: str
    pick: Callable[[QuickModel, int, Bools, int], int | None]
    reason: str

    def __call__(self, model: QuickModel, code: int, free: Bools, left: int) -> int | None:
        """The row to ask about of the free ones, `left` answers to come; None when none is free."""
        return self.pick(model, code, free, left)


FINDERS: Registry[FindRule] = Registry("rule of finding")
"""How the nodes of one class are looked for (`ask(..., find=...)`), by name.

>>> sorted(FINDERS)
['ahead', 'greedy']
"""
DEFAULT = "greedy"
"""Looking ahead found no more on the problems of benchmarks/finding.py (docs/ask.md)."""


def find_rule(name: str, reason: str) -> Callable[..., Callable[[QuickModel, int, Bools, int], int | None]]:
    """Register a rule."""

    def register(
        pick: Callable[[QuickModel, int, Bools, int], int | None],
    ) -> Callable[[QuickModel, int, Bools, int], int | None]:
        FINDERS[name] = FindRule(name, pick, reason)
        return pick

    return register


@find_rule("ahead", "likely {}, or an answer here shows where more are")
def look_ahead(model: QuickModel, code: int, free: Bools, left: int) -> int | None:
    """The most finds expected of this question and of those after it."""
    z = target_scores(model, code)
    k = min(left - 1, HORIZON)
    rows = likeliest(z, free, POOL + CANDIDATES)
    if k < 1 or rows.size < 2:
        return best(z, free)
    some = rows[:CANDIDATES]
    p, S = as_chance(z[some]), future_finds(model, code, z, some, rows, k)
    values = np.full(z.shape, -np.inf)
    values[some] = p + DISCOUNT * (p * S[1] + (1 - p) * S[0])
    among = np.zeros_like(free)
    among[some] = True
    return best(values, among)


@find_rule("greedy", "the likeliest {} of all that nobody was asked about")
def likeliest_next(model: QuickModel, code: int, free: Bools, left: int) -> int | None:
    """The largest probability."""
    return best(target_scores(model, code), free)


def target_scores(model: QuickModel, code: int) -> Floats:
    """(n,) z."""
    return np.asarray(PRIOR + model.scores[:, code] - PRIOR * model.scores.sum(axis=1))


def as_chance(z: Floats) -> Floats:
    """A score as a probability."""
    return np.clip(z, LEAST, 1 - LEAST)


def likeliest(z: Floats, free: Bools, count: int) -> Codes:
    """Up to `count` free rows by falling score; of equals the lowest first."""
    rows = np.flatnonzero(free)
    if rows.size > count:
        rows = rows[z[rows] >= np.partition(z[rows], rows.size - count)[rows.size - count]]
    return rows[np.argsort(-z[rows], kind="stable")][:count]


def future_finds(model: QuickModel, code: int, z: Floats, some: Codes, pool: Codes, k: int) -> Floats:
    """(2, candidates) the sum of the k largest probabilities in the pool after each candidate's answer.

    Row 0 is for an answer that is not the class, row 1 for one that is. `some` are the first of the `pool`.
    """
    change = np.zeros((2, pool.size, some.size))
    for m in model.regressions:
        share = m.rows[pool] @ (m.ridge.P @ m.rows[some].T) / (1 + m.ridge.r_at(some))
        scores = m.scores_at(some)
        missed = -scores[:, code] - PRIOR * (1 - scores.sum(axis=1))
        change += share * np.stack([missed, missed + 1])[:, None, :]
    p = as_chance(z[pool][:, None] + change / len(model.regressions))
    itself = np.arange(some.size)
    p[:, itself, itself] = 0.0
    k = min(k, pool.size - 1)
    return np.asarray(np.partition(p, pool.size - k, axis=1)[:, pool.size - k :].sum(axis=1))


@dataclass(frozen=True)
class Chance:
    """The probability of the class by its score, `1 / (1 + exp(-(level + slope (z - 1/2))))`."""

    level: float = 0.0
    slope: float = 6.0

    @staticmethod
    def learned(scores: Sequence[float], found: Sequence[bool]) -> "Chance":
        """The likeliest after questions with these scores, of which these were the class.

        Normal priors around the defaults, of deviation 1 and 2: no few answers overrule them.

        >>> Chance.learned([0.5] * 40, [False] * 30 + [True] * 10).of(0.5).round(2).item()
        0.27
        """
        x, y = np.asarray(scores, dtype=np.float64) - 0.5, np.asarray(found, dtype=np.float64)
        X = np.column_stack([np.ones_like(x), x])
        prior, weight = np.array([Chance.level, Chance.slope]), np.diag([1.0, 0.25])
        w = prior
        for _ in range(50):
            p = expit(X @ w)
            gradient = X.T @ (y - p) - weight @ (w - prior)
            step = np.linalg.solve(X.T @ (X * (p * (1 - p))[:, None]) + weight, gradient)
            w = w + step
            if np.abs(step).max() < 1e-9:
                break
        return Chance(float(w[0]), float(w[1]))

    def of(self, z: float | Floats) -> Floats:
        """Of a score, or of many."""
        return np.asarray(expit(self.level + self.slope * (np.asarray(z) - 0.5)))
