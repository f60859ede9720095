"""What to expect of the labels: accuracy, and precision and recall of every class, from held-out answers.

Every labelled node is held out once, with a share of the others, and answered by what the rest teach. A
temperature on those answers (`combine.scaled`) makes the probabilities right on average, a slope and a shift
a class (calibrate.py) right for each; the share of right answers is the accuracy to expect, with Wilson's
score interval, widened since they are not independent. On average the answers are never surer than that
accuracy allows (`presumed`), whatever a handful of held-out answers may suggest.

Of a class, *precision* is the share that is right among those called so, *recall* the share that is found,
*average precision* the mean over its nodes of the precision down to each, in the order of the probabilities.
To the held-out answers PRESUMED more are added that are as right as the probabilities of the unlabelled nodes
say, so that two of two are no certainty. Recall, like average precision, counts the labels of the class,
precision those called so; of fewer than LEAST labels nothing is said but how many would do.

Biases, all said in `Estimate.how`. The held-out answers come from fewer labels than the final ones, so the
estimate is a little low. The weights of the methods were chosen on the same answers: a little high. A class
with one labelled node cannot be judged and is left out. And labelled nodes must be like the others: if they
were picked for being easy, or by a learner, the estimate does not hold (`querist ask --audit` asks about
random nodes for that reason).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from querist.display import as_html
from querist.labelling import combine
from querist.labelling.combine import Scale
from querist.labelling.decisions.calibrate import calibration_error, cross_fitted, fitted
from querist.labelling.decisions.goals import GoalDecision, decide
from querist.labelling.folds import LabelFolds
from querist.stats import wilson
from querist.types import Bools, Floats

DEPENDENCE = 4.0
"""Of m held-out answers the interval counts `m / (1 + DEPENDENCE / sqrt(m))`; fixed on development sets."""

PRESUMED = 2.0
"""Answers as right as the probabilities say, added to those held out of a class."""

LEAST, WANTED = 5, 20
"""Labels of a class below which nothing is said of it, and those that say something worth having."""


class Share(NamedTuple):
    """A share to expect, and its bounds with 95 % confidence; NaN, 0 and 1 where nothing is known."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})" if self.is_known else "unknown"

    @property
    def is_known(self) -> bool:
        """Whether there were enough labels."""
        return bool(np.isfinite(self.value))


UNKNOWN = Share(float("nan"), 0.0, 1.0)


class ClassEstimate(NamedTuple):
    """What to expect of one class.

    `labels` are those given. `calibration_error` is that of its probability over all that were held out.
    `needed` labels in all, drawn at random, would hold WANTED of it; 0 where there are so many.
    """

    labels: int
    precision: Share
    recall: Share
    average_precision: Share
    calibration_error: float
    needed: int

    @property
    def f1(self) -> float:
        """Of the precision and recall to expect; NaN where they are not known."""
        both = self.precision.value + self.recall.value
        return 2 * self.precision.value * self.recall.value / both if both else 0.0


@dataclass(frozen=True)
class Estimate:
    """The accuracy to expect on unlabelled nodes; with several labels a node, of their likeliest class.

    `low` and `high` bound it with 95 % confidence (Wilson's score interval, widened); `how` says how it was
    made, and how it is biased. `majority` is the accuracy of calling every node what most labels are.
    `classes` (K of them) say what to expect of each class; `balanced_accuracy` is the mean of their recalls,
    `macro_f1` that of their F1, over those with LEAST labels.

    What was held out: `confidence` (m,) and `correct` (m,), the probability of the class that was said and
    whether it was right; `probabilities` (m, K) and `truth` (m, K) of every class, each label calibrated by
    those of the other folds.

    >>> print(Estimate(0.81, 0.76, 0.85, how="held out"))
    0.810 (0.760 to 0.850)
    """

    accuracy: float
    low: float
    high: float
    how: str
    temperature: float = 1.0
    confidence: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    correct: Bools = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)
    majority: float = float("nan")
    classes: tuple[ClassEstimate, ...] = ()
    probabilities: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    truth: Bools = field(default_factory=lambda: np.empty((0, 0), dtype=bool), repr=False)

    def __str__(self) -> str:
        if not np.isfinite(self.accuracy):
            return "unknown"
        return f"{self.accuracy:.3f} ({self.low:.3f} to {self.high:.3f})"

    def _repr_html_(self) -> str:
        return as_html(f"Expected accuracy {self}", [self.how])

    @property
    def balanced_accuracy(self) -> float:
        """NaN where no class has enough labels."""
        return _mean([own.recall.value for own in self.classes])

    @property
    def macro_f1(self) -> float:
        """NaN where no class has enough labels."""
        return _mean([own.f1 for own in self.classes])

    def precision_from(self, k: int, least: float, expected: float) -> Share:
        """The share of class k among nodes of a probability of `least` or more, whose mean is `expected`."""
        if k >= len(self.classes) or not self.classes[k].precision.is_known:
            return UNKNOWN
        called = self.probabilities[:, k] >= least
        return share_of(float(self.truth[called, k].sum()), float(called.sum()), expected)


class Judged(NamedTuple):
    """Probabilities (n, K) of all nodes, what they are called by, and what to expect."""

    probabilities: Floats
    decision: GoalDecision
    estimate: Estimate


def judge(
    folds: LabelFolds,
    tables: Sequence[Floats],
    L: Floats,
    *,
    goal: str,
    costs: Floats | None,
    by_class: bool,
) -> Judged:
    """Probabilities, decision and estimate from logits (n, K) of all nodes, and of each fold held out.

    `tables` hold the rows `folds.sample` with each fold held out; `by_class` says whether the labels were
    drawn at random, so that each class may be calibrated by them.
    """
    judged, link = folds.judged, folds.link
    free = np.ones(len(L), dtype=bool)
    free[folds.labelled] = False
    some = np.setdiff1d(folds.sample, folds.labelled)
    scale, held = _scaled(folds, tables, L[some if some.size else folds.sample])
    P, Y = combine.probabilities(scale.of(L), link), folds.Y[judged]
    H = combine.probabilities(scale.of(held), link)[judged]
    if by_class and len(Y):
        P = fitted(H, Y, link).of(P, link)
        H = cross_fitted(H, Y, folds.fold_of[judged], link)
    about = P[free] if free.any() else P
    decision = decide(goal, about, link, costs)
    return Judged(P, decision, estimated(folds, H, about, decision, 1 / scale.steepness))


def _scaled(folds: LabelFolds, tables: Sequence[Floats], final: Floats) -> tuple[Scale, Floats]:
    """The temperature, and the held-out logits (m, K) before it.

    `final` are the logits of some unlabelled nodes, which shall not be surer than the accuracy allows.
    """
    held, judged = folds.held_out(tables), folds.judged
    scale = combine.scaled(held, folds.Y, folds.link, judged)
    if folds.link == "softmax":
        correct = folds.Y[judged][np.arange(int(judged.sum())), held[judged].argmax(axis=1)] > 0
        most = combine.steepness_of(final, presumed(correct, final.shape[1]))
        scale = Scale(min(scale.steepness, most) if folds.n_folds else most)
    return scale, held


def presumed(correct: Bools, classes: int) -> float:
    """How sure to be on average: the share of right held-out answers, of which two more were half guessed.

    Four of four are no certainty, and where none could be held out something must be said.

    >>> presumed(np.ones(4, dtype=bool), classes=2), presumed(np.empty(0, dtype=bool), classes=2)
    (0.9166666666666666, 0.75)
    """
    return float((correct.sum() + 1 + 1 / classes) / (correct.size + 2))


def estimated(
    folds: LabelFolds, H: Floats, about: Floats, decision: GoalDecision, temperature: float = 1.0
) -> Estimate:
    """The estimate from held-out probabilities H (m, K); unknown where there are none.

    `about` (n, K) are the probabilities of the nodes that it is about.
    """
    Y = folds.Y[folds.judged] > 0
    shares = folds.Y.sum(axis=0) / max(1, len(folds.Y))
    majority = float(shares.max(initial=0.0))
    if not len(Y):
        how = "no class has two labelled nodes, so no label could be held out; the accuracy is not known"
        return Estimate(float("nan"), 0.0, 1.0, how, majority=majority)
    best = H.argmax(axis=1) if folds.link == "sigmoid" else decision.scores(H).argmax(axis=1)
    rows = np.arange(len(best))
    correct = Y[rows, best]
    low, high = wilson(_worth(correct.size) * float(correct.mean()), _worth(correct.size))
    how = (
        f"{folds.n_folds}-fold cross-validation on {correct.size} labels. A little low, since each answer "
        f"came from {1 - 1 / folds.n_folds:.0%} of the labels, and right only if the labelled nodes are like "
        "the others"
    )
    left_out = int((~folds.judged).sum())
    if left_out:
        nodes = "a node" if left_out == 1 else f"{left_out} nodes"
        how += f"; {nodes} alone in a class could not be judged"
    return Estimate(
        float(correct.mean()),
        low,
        high,
        how,
        temperature,
        H[rows, best],
        correct,
        majority,
        tuple(_by_class(H, Y, about, decision, folds.Y.sum(axis=0), len(folds.Y))),
        H,
        Y,
    )


def _by_class(
    H: Floats, Y: Bools, about: Floats, decision: GoalDecision, given: Floats, total: int
) -> list[ClassEstimate]:
    """What held-out probabilities (m, K) with their labels (m, K) say of each class.

    `given` (K,) of the `total` labels are of each, with those that could not be held out.
    """
    called, final = decision.said(H), decision.said(about)
    right = (called & Y).sum(axis=0)
    mass = about.sum(axis=0)
    found = np.where(final, about, 0.0).sum(axis=0)
    precise = np.where(final.any(axis=0), found / np.maximum(final.sum(axis=0), 1), mass / max(1, len(about)))
    recalled = found / np.maximum(mass, combine.TINY)
    estimates = []
    for k in range(Y.shape[1]):
        labels = int(given[k])
        needed = 0 if labels >= WANTED else needed_labels(labels / total)
        error = calibration_error(H[:, k], Y[:, k])
        precision = recall = ranking = UNKNOWN
        if labels >= LEAST:
            precision = share_of(float(right[k]), float(called[:, k].sum()), float(precise[k]))
            recall = share_of(float(right[k]), labels, float(recalled[k]))
            ranked = average_precision(Y[:, k], H[:, k])
            expected = average_precision(np.clip(about[:, k], 0.0, 1.0), about[:, k])
            ranking = share_of(ranked * labels, labels, expected)
        estimates.append(ClassEstimate(labels, precision, recall, ranking, error, needed))
    return estimates


def needed_labels(share: float) -> int:
    """How many labels drawn at random would hold WANTED of a class, to two digits; 0 where none is known.

    >>> needed_labels(0.021)
    960
    """
    if share <= 0:
        return 0
    exact = WANTED / share
    unit = 10 ** max(0, int(np.floor(np.log10(exact))) - 1)
    return int(np.ceil(exact / unit) * unit)


def share_of(right: float, count: float, expected: float) -> Share:
    """A share from so many right of a count that were held out, and from what is expected without them.

    >>> round(share_of(8, 10, 0.8).value, 3)
    0.8
    """
    total = count + PRESUMED
    value = (right + PRESUMED * expected) / total
    worth = _worth(total)
    low, high = wilson(worth * value, worth)
    return Share(value, low, high)


def _worth(count: float) -> float:
    """How many independent answers so many held-out ones are worth.

    They come from one another's labels, by weights that were chosen on them. The fewer there are, the more
    that matters.
    """
    return float(count / (1 + DEPENDENCE / np.sqrt(count)))


def average_precision(truth: Any, scores: Floats) -> float:
    """The mean over the nodes of a class of the precision down to each, in the order of the scores.

    `truth` (m,) may be probabilities. Equal scores are one step: all of them are called, or none. 0 where
    nothing is true.

    >>> average_precision(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.7])).__round__(3)
    0.833
    """
    order = np.argsort(-scores, kind="stable")
    hits, ends = np.cumsum(np.asarray(truth, dtype=np.float64)[order]), np.diff(scores[order]) != 0
    last = np.append(np.flatnonzero(ends), len(order) - 1)
    gained = np.diff(hits[last], prepend=0.0)
    return float((gained * hits[last] / (last + 1)).sum() / hits[-1]) if hits[-1] > 0 else 0.0


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
