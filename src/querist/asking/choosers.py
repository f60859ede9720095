"""Ways to choose the next question: by a strategy (strategies.py), to find a class, at random.

A chooser is called with the model, the nodes that may be asked about (n,), the turns so far, and how many
questions are wanted for the work of one. It remembers nothing, and returns none if there is none to ask.

Active search finds as many nodes of one class as the budget allows. A node's score is the mean of its
posterior, with the prior mean `PRIOR`: the regression has `f_t` for the class and `h = sum_k f_k` for how
much is known of the node at all, and

    z_i = PRIOR + f_ti - PRIOR h_i,

read as the probability of the class. The next question is about the likeliest node. Looking further ahead
(the efficient nonmyopic search of Jiang et al. 2017) found no more. What a question is told to be worth is
the `Chance`: scores are turned into probabilities by the answers so far, each of which was predicted before
it was given.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from querist.asking.model import QuickModel
from querist.asking.options import GREEDY
from querist.asking.specification import CampaignSpec
from querist.asking.strategies import STRATEGIES, Strategy
from querist.asking.turns import Turn
from querist.labelling.suggest import best
from querist.types import Bools, Floats

PRIOR = 0.1
"""Share of the class, before anything is known of a node."""
FIND_REASON = "the likeliest {} of all that nobody was asked about"


@dataclass(frozen=True)
class Pick:
    """The next question: which node, why in words, whether of the audit.

    `again`: it was answered before. `chance`: of the class that is looked for. `gain`: the accuracy that its
    answer is expected to gain, where somebody worked it out.
    """

    row: int
    reason: str
    value: float = 0.0
    audit: bool = False
    again: bool = False
    chance: float | None = None
    gain: float | None = None


Chooser: TypeAlias = Callable[[QuickModel, Bools, Iterable[Turn], int], list[Pick]]


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


def chooser_of(specification: CampaignSpec, order: Sequence[int]) -> Chooser:
    """The chooser of a campaign; `order` holds the nodes that it may ask about, at random."""
    if specification.strategy == GREEDY:
        return partial(_likeliest, specification.classes.index(specification.find), specification.find)
    if specification.strategy in STRATEGIES:
        return partial(most_valuable, STRATEGIES[specification.strategy])
    return partial(_at_random, order)


def most_valuable(
    strategy: Strategy, model: QuickModel, free: Bools, turns: Iterable[Turn] = (), count: int = 1
) -> list[Pick]:
    """The free nodes of the largest values by a strategy."""
    values, free, found = strategy(model), free.copy(), list[Pick]()
    while len(found) < count and (row := best(values, free)) is not None:
        found.append(Pick(row, strategy.reason, float(values[row])))
        free[row] = False
    return found


def _likeliest(
    code: int, name: Hashable, model: QuickModel, free: Bools, turns: Iterable[Turn], count: int
) -> list[Pick]:
    """The free node of the largest score of a class; its chance is what the answers so far make of that."""
    scores = target_scores(model, code)
    row = best(scores, free)
    if row is None:
        return []
    z = float(scores[row])
    chance = Chance.learned(*tried(turns, code))
    return [Pick(row, FIND_REASON.format(name), z, chance=float(chance.of(z)))]


def tried(turns: Iterable[Turn], code: int) -> tuple[list[float], list[bool]]:
    """Scores of a class that questions had when they were chosen, and whether the answer was that class."""
    done = [turn for turn in turns if turn.outcome == "answer" and turn.about.get("chance") is not None]
    return [turn.about["value"] for turn in done], [turn.code == code for turn in done]


def _at_random(
    order: Sequence[int], model: QuickModel, free: Bools, turns: Iterable[Turn], count: int
) -> list[Pick]:
    """The first free nodes of the order."""
    return [Pick(row, "drawn at random") for row in islice((row for row in order if free[row]), count)]
