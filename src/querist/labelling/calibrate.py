"""What the probabilities are worth: calibration on held-out labels, and the accuracy to expect.

Every labelled node is held out once, with a share of the others, and answered by what the rest teach. A
temperature on those answers (`combine.scaled`) makes the probabilities right on average; the share of right
answers is the accuracy to expect, with Wilson's score interval, widened since they are not independent. On
average the answers are never surer than that accuracy allows (`presumed`), whatever a handful of held-out
answers may suggest.

Biases, all said in `Estimate.how`. The held-out answers come from fewer labels than the final ones, so the
estimate is a little low. The weights of the methods were chosen on the same answers: a little high. A class
with one labelled node cannot be judged and is left out. And labelled nodes must be like the others: if they
were picked for being easy, or by a learner, the estimate does not hold (`querist ask --audit` asks about
random nodes for that reason).
"""

from dataclasses import dataclass, field

import numpy as np

from querist.display import as_html
from querist.stats import wilson
from querist.types import Bools, Floats

DEPENDENCE = 4.0
"""Of m held-out answers the interval counts `m / (1 + DEPENDENCE / sqrt(m))`; fixed on development sets."""


@dataclass(frozen=True)
class Estimate:
    """The accuracy to expect on unlabelled nodes; with several labels a node, of their likeliest class.

    `low` and `high` bound it with 95 % confidence (Wilson's score interval, widened); `how` says how it was
    made, and how it is biased. `confidence` (m,) and `correct` (m,) are what was held out: the probability of
    the predicted class after calibration, and whether it was right; a reliability curve is drawn from them.
    """

    accuracy: float
    low: float
    high: float
    how: str
    temperature: float = 1.0
    confidence: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    correct: Bools = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)

    def __str__(self) -> str:
        if not np.isfinite(self.accuracy):
            return "unknown"
        return f"{self.accuracy:.3f} ({self.low:.3f} to {self.high:.3f})"

    def _repr_html_(self) -> str:
        return as_html(f"Expected accuracy {self}", [self.how])


def estimated(confidence: Floats, correct: Bools, folds: int, temperature: float, left_out: int) -> Estimate:
    """The estimate from held-out answers; unknown where there are none."""
    if not correct.size:
        how = "no class has two labelled nodes, so no label could be held out; the accuracy is not known"
        return Estimate(float("nan"), 0.0, 1.0, how)
    # Held-out answers are no independent draws: they come from one another's labels, by weights that were
    # chosen on them. The fewer there are, the more that matters.
    worth = correct.size / (1 + DEPENDENCE / np.sqrt(correct.size))
    low, high = wilson(worth * float(correct.mean()), worth)
    how = (
        f"{folds}-fold cross-validation on {correct.size} labels. A little low, since each answer came from "
        f"{1 - 1 / folds:.0%} of the labels, and right only if the labelled nodes are like the others"
    )
    if left_out:
        nodes = "a node" if left_out == 1 else f"{left_out} nodes"
        how += f"; {nodes} alone in a class could not be judged"
    return Estimate(float(correct.mean()), low, high, how, temperature, confidence, correct)


def presumed(correct: Bools, classes: int) -> float:
    """How sure to be on average: the share of right held-out answers, of which two more were half guessed.

    Four of four are no certainty, and where none could be held out something must be said.

    >>> presumed(np.ones(4, dtype=bool), classes=2), presumed(np.empty(0, dtype=bool), classes=2)
    (0.9166666666666666, 0.75)
    """
    return float((correct.sum() + 1 + 1 / classes) / (correct.size + 2))


def calibration_error(confidence: Floats, correct: Bools, bins: int = 10) -> float:
    """The expected calibration error: the mean gap of confidence and accuracy over bins of equal width.

    >>> calibration_error(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
    0.05
    """
    where = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gap = np.bincount(where, confidence - correct, bins)
    return float(np.round(np.abs(gap).sum() / confidence.size, 12))
