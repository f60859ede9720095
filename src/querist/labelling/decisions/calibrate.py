"""Probabilities that are right for every class: each has a slope and a shift of its own.

A temperature makes the likeliest classes right on average, and says nothing of a rare class, which is hardly
ever the likeliest. So after it, with held-out probabilities p and their labels,

    one label a node:  log q_k = a_k log p_k + b_k - log Z,     several:  logit q_k = a_k logit p_k + b_k,

of which the first is beta calibration with two classes (Kull et al. 2017) and diagonal Dirichlet calibration
with more (Kull et al. 2019). The a and b are those of the largest posterior: `log a_k` and `b_k` are Gaussian
around 0 with deviations SLOPE and SHIFT, so that a class of few labels stays nearly as it is, and one of many
goes where they say. With two classes q rises with p: the ranking stays.

Shifts follow the shares of the labels, so all this holds for labels that were drawn at random.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from querist.labelling import combine
from querist.labelling.combine import Link
from querist.types import Codes, Floats

SLOPE, SHIFT = 0.35, 0.7
"""Deviations of the prior; fixed on rare classes of cora, cora_ml, lastfm_asia and planted ones."""

LARGEST = 2.0
"""Most that the logarithm of a slope may be."""

ENOUGH_ENTRIES = 400_000
"""Held-out probabilities that tell two numbers a class; of more every second, third, ... label is taken."""


class ClassCalibration(NamedTuple):
    """`slope` (K,) above 0 and `shift` (K,) of the logits of each class."""

    slope: Floats
    shift: Floats

    def of(self, P: Floats, link: Link) -> Floats:
        """(n, K) calibrated probabilities; rows of zeros stay."""
        there = P.any(axis=1)
        Q = np.zeros_like(P)
        Q[there] = combine.probabilities(self.slope * _logits(P[there], link) + self.shift, link)
        return Q


def fitted(P: Floats, Y: Floats, link: Link) -> ClassCalibration:
    """The calibration of the largest posterior from held-out probabilities (m, K) and 0/1 labels (m, K).

    >>> P = np.tile([0.9, 0.1], (200, 1))  # of those said to be 10 % sure, half are right
    >>> Y = np.repeat(np.eye(2), 100, axis=0)
    >>> fitted(P, Y, "softmax").of(P[:1], "softmax").round(2).tolist()
    [[0.51, 0.49]]
    """
    from scipy.optimize import minimize

    K = P.shape[1]
    some = slice(None, None, max(1, P.size // ENOUGH_ENTRIES))
    weight = len(P) / max(1, len(P[some]))
    L, target = _logits(P[some], link), Y[some]
    if link == "softmax":
        target = target / np.maximum(target.sum(axis=1, keepdims=True), 1)

    def cost(both: Floats) -> tuple[float, Floats]:
        log_a, b = both[:K], both[K:]
        a = np.exp(log_a)
        logs = a * L + b
        missed = weight * (combine.probabilities(logs, link) - target)
        total = weight * len(L) * combine.loss(logs, Y[some], link) if len(L) else 0.0
        total += float(log_a @ log_a) / (2 * SLOPE**2) + float(b @ b) / (2 * SHIFT**2)
        slopes = a * np.einsum("ik,ik->k", missed, L) + log_a / SLOPE**2
        return total, np.concatenate([slopes, missed.sum(axis=0) + b / SHIFT**2])

    bounds = [(-LARGEST, LARGEST)] * K + [(None, None)] * K
    found = minimize(cost, np.zeros(2 * K), jac=True, method="L-BFGS-B", bounds=bounds).x
    return ClassCalibration(np.exp(found[:K]), found[K:])


def cross_fitted(P: Floats, Y: Floats, fold_of: Codes, link: Link) -> Floats:
    """(m, K) held-out probabilities, each calibrated by the labels of the other folds: as if it were new."""
    Q = np.zeros_like(P)
    for fold in np.unique(fold_of):
        out = fold_of == fold
        Q[out] = fitted(P[~out], Y[~out], link).of(P[out], link)
    return Q


def calibration_error(confidence: Floats, correct: Iterable[bool] | Floats, bins: int = 10) -> float:
    """The expected calibration error: the mean gap of confidence and accuracy over bins of equal width.

    >>> calibration_error(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
    0.05
    """
    where = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gap = np.bincount(where, confidence - np.asarray(correct), bins)
    return float(np.round(np.abs(gap).sum() / confidence.size, 12))


def _logits(P: Floats, link: Link) -> Floats:
    return combine.logits(P, link, floor=combine.TINY)
