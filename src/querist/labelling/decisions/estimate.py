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
with one labelled node cannot be judged and is left out. And labelled nodes must be like the others.

Actively selected labels are not: a learner asks about nodes that are hard to label, and far fewer of them are
right when they are held out than of the other nodes. They still tell the temperature, but no accuracy, and
nothing of the classes: these stay unknown, and the mean probability is not bounded by them. An audit measures
the accuracy (asking/results.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from querist.codec import Field
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

SELECTED = (
    "the labels were actively selected, not drawn at random, so held-out labels would give a wrong accuracy. "
    "Measure it with random questions: audit=40 of querist.ask, or querist ask --audit 40"
)
"""Why there is no estimate from labels that were actively selected, and what to do."""

LEAST, WANTED = 5, 20
"""Labels of a class below which nothing is said of it, and those that say something worth having."""


FEWEST_ANSWERS = 50
"""Held-out answers from which on the accuracy is one number beside its interval. With fewer it is NaN and the
interval stands alone: the number was off by 12 to 36 points on average (six data sets, 8 to 50 labels)."""


WIDEST = 1 / 3
"""A wider interval stands alone: so wide is that of FEWEST_ANSWERS answers of which half are right."""


class Share(NamedTuple):
    """A share to expect, and its bounds with 95 % confidence; NaN, 0 and 1 where nothing is known.

    >>> print(Share(0.9, 0.8, 0.95), "or", Share(0.9, 0.6, 0.98))
    0.90 (0.80\u20130.95) or 0.60\u20130.98
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if not self.is_known:
            return "unknown"
        interval = f"{self.low:.2f}\u2013{self.high:.2f}"
        return f"{self.value:.2f} ({interval})" if self.is_narrow else interval

    @property
    def is_narrow(self) -> bool:
        """Whether the value says something: with few labels it is far off, and only the interval is shown."""
        return self.high - self.low <= WIDEST

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

    `low` and `high` bound it with 95 % confidence (Wilson's score interval, widened); it is NaN if fewer than
    FEWEST_ANSWERS labels were held out. `how` says how it was made, and how it is biased, or why it is
    unknown. `majority` is the accuracy of calling every node what most labels are.
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
    confidence: Annotated[Floats, Field("held")] = field(default_factory=lambda: np.empty(0), repr=False)
    correct: Annotated[Bools, Field("held")] = field(
        default_factory=lambda: np.empty(0, dtype=bool), repr=False
    )
    majority: float = float("nan")
    classes: tuple[ClassEstimate, ...] = ()
    probabilities: Annotated[Floats, Field("judged columns")] = field(
        default_factory=lambda: np.empty((0, 0)), repr=False
    )
    truth: Annotated[Bools, Field("judged columns")] = field(
        default_factory=lambda: np.empty((0, 0), dtype=bool), repr=False
    )

    def __str__(self) -> str:
        if not self.is_known:
            return "unknown"
        if not np.isfinite(self.accuracy):
            return f"{self.low:.3f} to {self.high:.3f} (95 % interval)"
        return f"{self.accuracy:.3f} ({self.low:.3f} to {self.high:.3f})"

    def _repr_html_(self) -> str:
        return as_html(f"Expected accuracy {self}", [self.how])

    @property
    def is_known(self) -> bool:
        """Whether there is an interval at all."""
        return self.low > 0 or self.high < 1

    @property
    def balanced_accuracy(self) -> float:
        """NaN if the accuracy is, or if no class has enough labels."""
        return _mean([own.recall.value for own in self.classes if np.isfinite(self.accuracy)])

    @property
    def macro_f1(self) -> float:
        """NaN if the accuracy is, or if no class has enough labels."""
        return _mean([own.f1 for own in self.classes if np.isfinite(self.accuracy)])

    def precision_from(self, k: int, least: float, expected: float) -> Share:
        """The share of class k among nodes of a probability of `least` or more, whose mean is `expected`."""
        if k >= len(self.classes) or not self.classes[k].precision.is_known:
            return UNKNOWN
        called = self.probabilities[:, k] >= least
        return share_of(float(self.truth[called, k].sum()), float(called.sum()), expected)


def judge(
    folds: LabelFolds,
    tables: Sequence[Floats],
    L: Floats,
    *,
    goal: str,
    costs: Floats | None,
    by_class: bool,
    picked: bool = False,
) -> tuple[Floats, GoalDecision, Estimate]:
    """Probabilities (n, K), decision and estimate from logits (n, K) of all nodes, and of each fold held out.

    `tables` hold the rows `folds.sample` with each fold held out; `by_class` says whether the labels were
    drawn at random, so that each class may be calibrated by them; `picked` whether they were actively
    selected, so that no accuracy follows from them.
    """
    judged, multilabel = folds.judged, folds.multilabel
    free = np.ones(len(L), dtype=bool)
    free[folds.labelled] = False
    some = np.setdiff1d(folds.sample, folds.labelled)
    scale, held = _scaled(folds, tables, L[some if some.size else folds.sample], picked)
    P, Y = combine.probabilities(scale.of(L), multilabel), folds.Y[judged]
    H = combine.probabilities(scale.of(held), multilabel)[judged]
    if by_class and len(Y):
        P = fitted(H, Y, multilabel).of(P, multilabel)
        H = cross_fitted(H, Y, folds.fold_of[judged], multilabel)
    about = P[free] if free.any() else P
    decision = decide(goal, about, multilabel, costs)
    return P, decision, estimated(folds, H, about, decision, 1 / scale.steepness, picked)


def _scaled(folds: LabelFolds, tables: Sequence[Floats], final: Floats, picked: bool) -> tuple[Scale, Floats]:
    """The temperature, and the held-out logits (m, K) before it.

    `final` are the logits of some unlabelled nodes, which shall not be surer than the accuracy allows. Labels
    that were picked are harder than those nodes: then the bound is as if all of them were right.
    """
    held, judged = folds.held_out(tables), folds.judged
    scale = combine.scaled(held, folds.Y, folds.multilabel, judged)
    if not folds.multilabel:
        correct = folds.Y[judged][np.arange(int(judged.sum())), held[judged].argmax(axis=1)] > 0
        correct |= picked
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
    folds: LabelFolds,
    H: Floats,
    about: Floats,
    decision: GoalDecision,
    temperature: float = 1.0,
    picked: bool = False,
) -> Estimate:
    """The estimate from held-out probabilities H (m, K); unknown if there are none, or if they were picked.

    `about` (n, K) are the probabilities of the nodes that it is about.
    """
    Y = folds.Y[folds.judged] > 0
    shares = folds.Y.sum(axis=0) / max(1, len(folds.Y))
    majority = float(shares.max(initial=0.0))
    if picked or not len(Y):
        alone = "no class has two labelled nodes, so no label could be held out; the accuracy is not known"
        nan = float("nan")
        return Estimate(
            nan, 0.0, 1.0, SELECTED if picked else alone, temperature, majority=nan if picked else majority
        )
    best = H.argmax(axis=1) if folds.multilabel else decision.scores(H).argmax(axis=1)
    rows = np.arange(len(best))
    correct = Y[rows, best]
    low, high = wilson(_worth(correct.size) * float(correct.mean()), _worth(correct.size))
    how = (
        f"{folds.n_folds}-fold cross-validation on {correct.size} labels. A little low, since each answer "
        f"came from {1 - 1 / folds.n_folds:.0%} of the labels, and right only if the labelled nodes are like "
        "the others"
    )
    if correct.size < FEWEST_ANSWERS:
        how += f"; only an interval, since fewer than {FEWEST_ANSWERS} labels give no reliable single number"
    left_out = int((~folds.judged).sum())
    if left_out:
        nodes = "a node" if left_out == 1 else f"{left_out} nodes"
        how += f"; {nodes} alone in a class could not be judged"
    return Estimate(
        point_estimate(correct),
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


def point_estimate(correct: Bools) -> float:
    """The share of right answers; NaN for fewer than FEWEST_ANSWERS."""
    return float(correct.mean()) if correct.size >= FEWEST_ANSWERS else float("nan")


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
