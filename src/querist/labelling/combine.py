"""Tables of logits: how they are scaled, judged, pooled and matched to the shares of the classes.

A table of logits (n, K) means probabilities: by a softmax if a node has one label; by a sigmoid per class if
it may have several (`multilabel`), for then every class is a question of its own.

- `scaled(L, Y)` fits `a L`, or `a L + b` if `multilabel`, to held-out labels by log-loss: a temperature.
  `scaled_with_prior` does so for a table that will be pooled, with a prior on a.
- `pooled` is the log-linear pool `sum_j w_j L_j`: a product of experts. `stacked` finds the weights `w >= 0`
  under which held-out labels are likeliest, with a Gaussian prior around those it starts from: few labels
  move them little, many decide. `weights` is the simpler rule for tables that are nearly the same, as of one
  regression at several ranks: `w_j ~ exp(-eta m (loss_j - least))` with m judged labels.
- `matched` adds a constant a class so that the mean probability of each class comes to given shares.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from querist.types import Bools, Floats

TINY = 1e-12
STEEPEST, FLATTEST = 60.0, 0.02

TYPICAL, FIRMNESS = 2.0, 0.3
"""The prior on the steepness of a member: in deviations of its logits what many labels give a useful one, and
the deviation of its logarithm."""

DEVIATION = 0.2
"""Of the prior on each weight of a stacked pool."""

ENOUGH_ENTRIES, FEWEST = 50_000, 300
"""Logits of held-out labels that tell one number, the steepness; and the labels that it takes at least."""

ENOUGH = 20_000
"""Rows whose means stand for those of all."""


class Scale(NamedTuple):
    """`steepness L + shift`, the shift a number or one a class."""

    steepness: float
    shift: Any = 0.0

    def of(self, L: Floats) -> Floats:
        """Scaled logits."""
        return np.asarray(self.steepness * L + self.shift)


def log_probabilities(L: Floats, multilabel: bool) -> Floats:
    """(n, K) logarithms of the probabilities that logits mean."""
    return np.asarray(-np.logaddexp(0.0, -L)) if multilabel else np.asarray(log_softmax(L, np))


def log_softmax(L: Any, xp: Any) -> Any:
    """(n, K) with the functions `xp` of a `Backend`."""
    L = L - xp.amax(L, axis=1, keepdims=True)
    return L - xp.log(xp.exp(L).sum(axis=1, keepdims=True))


def probabilities(L: Floats, multilabel: bool) -> Floats:
    """(n, K)."""
    return np.asarray(np.exp(log_probabilities(L, multilabel)))


def logits(P: Floats, multilabel: bool, floor: float = 1e-6) -> Floats:
    """Logits of probabilities; none is taken to be nearer to 0 (or 1) than `floor`."""
    kept = np.clip(P, floor, 1 - floor if multilabel else 1.0)
    return np.asarray(np.log(kept) - np.log1p(-kept) if multilabel else np.log(kept))


def loss(L: Floats, Y: Floats, multilabel: bool) -> float:
    """The mean log-loss of 0/1 labels (m, K): a sum over the classes if `multilabel`.

    >>> round(loss(np.zeros((1, 4)), np.eye(4)[:1], multilabel=False), 4)  # log 4
    1.3863
    """
    logs = log_probabilities(L, multilabel)
    if not multilabel:
        return float(-np.mean(np.sum(Y * logs, axis=1) / np.maximum(Y.sum(axis=1), 1)))
    return float(-np.mean(np.sum(Y * logs + (1 - Y) * (logs - L), axis=1)))


def scaled(L: Floats, Y: Floats, multilabel: bool, judged: Bools | None = None) -> Scale:
    """The temperature, and with several labels a node the shift, that fit held-out logits to their labels.

    Two pseudo-labels, one right and one wrong at the typical margin, keep the steepness of few or faultless
    labels finite.
    """
    return _fitted(
        L,
        Y,
        multilabel,
        judged,
        lambda log_a: float(np.logaddexp(0, np.exp(log_a)) + np.logaddexp(0, -np.exp(log_a))),
    )


def scaled_with_prior(L: Floats, Y: Floats, multilabel: bool, judged: Bools | None = None) -> Scale:
    """The same for one member of many: its steepness is TYPICAL until many labels say otherwise.

    A dozen held-out labels that happen to go wrong would take a good member's weight away, and what is left
    would be decided by the shares of the classes alone.
    """
    return _fitted(L, Y, multilabel, judged, lambda log_a: (log_a - np.log(TYPICAL)) ** 2 / (2 * FIRMNESS**2))


def scaled_ridge(left_out: Floats, mean: Floats, Y: Floats, multilabel: bool, judged: Bools) -> Scale:
    """The scale of a ridge regression whose answers are (m, K) where each label is left out.

    A strong ridge says little more than the classes' shares, but what it says beside them, how like a node is
    to the mean node of each class, is worth having. The shares come in last.
    """
    centre = 0.0 if multilabel else mean
    a, shift = scaled_with_prior(left_out - centre, Y, multilabel, judged)
    return Scale(a, shift - a * centre)


def _fitted(
    L: Floats, Y: Floats, multilabel: bool, judged: Bools | None, penalty: Callable[[float], float]
) -> Scale:
    """The scale of least log-loss and penalty, which is a function of log(steepness * deviation of L)."""
    from scipy.optimize import minimize_scalar

    if not multilabel:
        L = L - L.mean(axis=1, keepdims=True)  # what all classes have in common says nothing
    spread = float(np.std(L)) or 1.0
    L, Y = (L, Y) if judged is None else (L[judged], Y[judged])
    count = len(L)
    some = slice(None, None, max(1, -(-count // max(FEWEST, ENOUGH_ENTRIES // L.shape[1]))))
    L, Y = L[some], Y[some]

    def shift(a: float) -> float:
        return _level(a * L, float(Y.mean())) if multilabel and count else 0.0

    def cost(log_a: float) -> float:
        a = np.exp(log_a) / spread
        return (loss(a * L + shift(a), Y, multilabel) * count if count else 0.0) + penalty(log_a)

    found = minimize_scalar(cost, bounds=(np.log(FLATTEST), np.log(STEEPEST)), method="bounded")
    a = float(np.exp(found.x) / spread)
    return Scale(a, shift(a))


def steepness_of(L: Floats, confidence: float) -> float:
    """The steepness at which the likeliest classes of (n, K) logits have this probability on average.

    >>> L = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> round(float(probabilities(steepness_of(L, 0.8) * L, multilabel=False).max(axis=1).mean()), 6)
    0.8
    """
    L = L - L.max(axis=1, keepdims=True)
    spread = float(np.std(L)) or 1.0
    low, high = np.log(1e-6 / spread), np.log(1e3 / spread)
    for _ in range(40):
        middle = (low + high) / 2
        is_below = np.mean(1 / np.exp(np.exp(middle) * L).sum(axis=1)) < confidence
        low, high = (middle, high) if is_below else (low, middle)
    return float(np.exp((low + high) / 2))


def _level(L: Floats, share: float) -> float:
    """The shift at which the mean of `sigmoid(L + shift)` is `share`.

    >>> L = np.linspace(-3.0, 2.0, 50)
    >>> round(float(probabilities(L + _level(L, 0.2), multilabel=True).mean()), 9)
    0.2
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    share = min(max(share, TINY), 1 - TINY)
    low, high = -float(np.max(L)) - 40, -float(np.min(L)) + 40
    return float(brentq(lambda shift: float(expit(L + shift).mean()) - share, low, high, xtol=1e-9))


def weights(losses: Sequence[float], judged: int, eta: float) -> Floats:
    """(J,) weights of experts from their held-out losses, summing to one.

    >>> weights([0.5, 0.5, 1.5], judged=20, eta=0.1).round(3).tolist()
    [0.468, 0.468, 0.063]
    """
    behind = np.asarray(losses) - np.min(losses)
    w = np.exp(-eta * judged * behind)
    return np.asarray(w / w.sum())


def stacked(
    tables: Sequence[Floats],
    Y: Floats,
    prior: Floats,
    multilabel: bool,
    trust: float = 1.0,
    deviation: float | None = None,
) -> Floats:
    """(J,) weights `w >= 0` of the pool of J tables (m, K) that make the labels `Y` likeliest.

    The likelihood, to the power of `trust`, times a Gaussian around `prior` (J,), of deviation DEVIATION
    unless another is given; its logarithm is concave.

    >>> right, wrong = np.array([[2.0, 0.0], [0.0, 2.0]] * 20), np.array([[0.0, 1.0], [1.0, 0.0]] * 20)
    >>> Y = np.array([[1, 0], [0, 1]] * 20)
    >>> stacked([right, wrong], Y, np.array([0.5, 0.5]), multilabel=False).round(2).tolist()
    [0.99, 0.26]
    """
    from scipy.optimize import minimize

    T, deviation = np.stack(tables), deviation or DEVIATION
    target = Y if multilabel else Y / np.maximum(Y.sum(axis=1, keepdims=True), 1)

    def cost(w: Floats) -> tuple[float, Floats]:
        L = np.tensordot(w, T, axes=1)
        away = (w - prior) / deviation**2
        missed = probabilities(L, multilabel) - target
        return (
            trust * loss(L, Y, multilabel) * len(Y) + float(away @ (w - prior)) / 2,
            trust * np.tensordot(T, missed, axes=([1, 2], [0, 1])) + away,
        )

    found = minimize(cost, prior, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(prior))
    return np.asarray(found.x)


def pooled(tables: Sequence[Floats], w: Floats) -> Floats:
    """`sum_j w_j L_j`."""
    return np.asarray(sum(share * L for share, L in zip(w, tables, strict=True)))


def matched(L: Floats, shares: Floats, multilabel: bool, steps: int = 30, enough: int = ENOUGH) -> Floats:
    """(K,) what to add to the logits so that the classes' mean probabilities come to `shares` (K,)."""
    L = L[:: -(-len(L) // enough)]
    shift = np.zeros(L.shape[1])
    goal = np.log(np.maximum(shares, TINY))
    if multilabel:
        goal -= np.log(np.maximum(1 - shares, TINY))
    for _ in range(steps):
        now = np.clip(probabilities(L + shift, multilabel).mean(axis=0), TINY, 1 - TINY)
        here = np.log(now) - np.log1p(-now) if multilabel else np.log(now)
        shift += 0.5 * np.clip(goal - here, -4, 4)
    return shift
