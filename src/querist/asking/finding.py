"""Active search: questions that find as many nodes of one class as the budget allows.

The model is that of strategies.py. A node's score is the mean of its posterior, with the prior mean `PRIOR`:
the regression has `f_t` for the class and `h = sum_k f_k` for how much is known of the node at all, and

    z_i = PRIOR + f_ti - PRIOR h_i,

read as the probability of the class.

The next question is about the likeliest node. Looking further ahead (the efficient nonmyopic search of Jiang
et al. 2017) found no more.

What a question is told to be worth is the `Chance`: scores are turned into probabilities by the answers so
far, each of which was predicted before it was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from querist.asking.model import QuickModel
from querist.types import Floats

PRIOR = 0.1
"""Share of the class, before anything is known of a node."""
GREEDY = "greedy"
"""What a campaign that finds a class chooses by, unless at random."""
FIND_REASON = "the likeliest {} of all that nobody was asked about"


def target_scores(model: QuickModel, code: int) -> Floats:
    """(n,) z."""
    return np.asarray(PRIOR + model.scores[:, code] - PRIOR * model.scores.sum(axis=1))


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
