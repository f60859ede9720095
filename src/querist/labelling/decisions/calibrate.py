"""Probabilities that are right for every class: each has a slope and a shift of its own.

A temperature makes the likeliest classes right on average, and says nothing of a rare class, which is hardly
ever the likeliest. So after it, with held-out probabilities p, their labels, and s the mean of p,

    one label a node:  log q_k = log s_k + a_k log(p_k / s_k) + b_k - log Z,
    several:           logit q_k = logit s_k + a_k (logit p_k - logit s_k) + b_k.

The first is beta calibration with two classes (Kull et al. 2017) and diagonal Dirichlet calibration with more
(Kull et al. 2019). A slope turns about the mean, so that it leaves the size of the class alone. The a and b
are those of the largest posterior: `log a_k` and `b_k` have Student's distribution of TAIL degrees around 0
with scales SLOPE and SHIFT. A class of few labels stays nearly as it is, and one whose labels say so with
one voice goes where they say, however far: a rare class may be ranked well by probabilities that are all
alike. With two classes q rises with p: the ranking stays.

Shifts follow the shares of the labels, so all this holds for labels that were drawn at random.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from querist.labelling import combine
from querist.types import Codes, Floats

SLOPE, SHIFT, TAIL = 0.35, 0.7, 4
"""Scales of the prior, and its degrees of freedom; fixed on rare classes of cora, cora_ml, lastfm_asia,
amazon_photo and planted ones."""

LARGEST = 4.0
"""Most that the logarithm of a slope may be."""

ENOUGH_ENTRIES = 200_000
"""Held-out probabilities that tell two numbers a class; of more every second, third, ... label is taken."""


class ClassCalibration(NamedTuple):
    """`slope` (K,) above 0, `shift` (K,) and `centre` (K,), the logits of the mean, of each class."""

    slope: Floats
    shift: Floats
    centre: Floats

    def of(self, P: Floats, multilabel: bool) -> Floats:
        """(n, K) calibrated probabilities; rows of zeros stay."""
        there = P.any(axis=1)
        Q = np.zeros_like(P)
        L = self.slope * (_logits(P[there], multilabel) - self.centre) + self.centre + self.shift
        Q[there] = combine.probabilities(L, multilabel)
        return Q


def fitted(P: Floats, Y: Floats, multilabel: bool) -> ClassCalibration:
    """The calibration of the largest posterior from held-out probabilities (m, K) and 0/1 labels (m, K).

    >>> P = np.tile([0.9, 0.1], (200, 1))  # of those said to be 10 % sure, half are right
    >>> Y = np.repeat(np.eye(2), 100, axis=0)
    >>> fitted(P, Y, multilabel=False).of(P[:1], multilabel=False).round(2).tolist()
    [[0.51, 0.49]]
    """
    from scipy.optimize import minimize

    K = P.shape[1]
    some = slice(None, None, max(1, P.size // ENOUGH_ENTRIES))
    weight = len(P) / max(1, len(P[some]))
    centre = _logits(P.mean(axis=0, keepdims=True), multilabel)[0]
    L, target = _logits(P[some], multilabel) - centre, Y[some]
    if not multilabel:
        target = target / np.maximum(target.sum(axis=1, keepdims=True), 1)
    scales = np.repeat([SLOPE, SHIFT], K)

    def cost(both: Floats) -> tuple[float, Floats]:
        a, away = np.exp(both[:K]), both / scales
        logs = a * L + centre + both[K:]
        missed = weight * (combine.probabilities(logs, multilabel) - target)
        total = weight * len(L) * combine.loss(logs, Y[some], multilabel)
        total += (TAIL + 1) / 2 * float(np.log1p(away**2 / TAIL).sum())
        slopes = np.concatenate([a * np.einsum("ik,ik->k", missed, L), missed.sum(axis=0)])
        return total, slopes + (TAIL + 1) * away / (TAIL + away**2) / scales

    bounds = [(-LARGEST, LARGEST)] * K + [(None, None)] * K
    found = minimize(cost, np.zeros(2 * K), jac=True, method="L-BFGS-B", bounds=bounds).x
    return ClassCalibration(np.exp(found[:K]), found[K:], centre)


def cross_fitted(P: Floats, Y: Floats, fold_of: Codes, multilabel: bool) -> Floats:
    """(m, K) held-out probabilities, each calibrated by the labels of the other folds: as if it were new."""
    Q = np.zeros_like(P)
    for fold in np.unique(fold_of):
        out = fold_of == fold
        Q[out] = fitted(P[~out], Y[~out], multilabel).of(P[out], multilabel)
    return Q


def calibration_error(confidence: Floats, correct: Iterable[bool] | Floats, bins: int = 10) -> float:
    """The expected calibration error: the mean gap of confidence and accuracy over bins of equal width.

    >>> calibration_error(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
    0.05
    """
    where = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gap = np.bincount(where, confidence - np.asarray(correct), bins)
    return float(np.round(np.abs(gap).sum() / confidence.size, 12))


def _logits(P: Floats, multilabel: bool) -> Floats:
    return combine.logits(P, multilabel, floor=combine.TINY)
