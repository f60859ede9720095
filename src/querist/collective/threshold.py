"""From scores to classes, where a node may have several (mrgm15, section 3.4).

*Maximum drop*: sort a node's scores, find the largest drop between neighbours in that
order (the first of equal ones), and cut at its midpoint `t`; a class is relevant when
its score is `>= t`. All scores equal: all classes are relevant. The paper also names the
*fixed* threshold; *top-k* takes the k best, equal scores by class code.
"""

from typing import Literal, TypeAlias

import numpy as np

from querist.errors import InputError
from querist.parameters import is_finite
from querist.types import Bools, Floats

Threshold: TypeAlias = Literal["max_drop"] | float


def decide(scores: Floats, threshold: Threshold = "max_drop", top_k: int | None = None) -> Bools:
    """(n, K) which classes each node gets; `top_k`, where given, is used instead of the threshold."""
    if top_k is not None:
        return take_top(scores, top_k)
    if threshold == "max_drop":
        return np.asarray(scores >= drop_thresholds(scores)[:, None])
    if not is_finite(threshold):
        raise InputError(f"threshold = {threshold!r}; it must be 'max_drop' or a number, as 0.5")
    return np.asarray(scores >= threshold)


def drop_thresholds(scores: Floats) -> Floats:
    """(n,) the midpoint of each row's largest drop.

    >>> drop_thresholds(np.array([[0.95, 0.05, 0.25, 0.15, 0.1, 0.98, 0.01]])).round(3)
    array([0.6])
    """
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0])
    ordered = -np.sort(-scores, axis=1)
    rows, at = np.arange(len(scores)), np.argmax(ordered[:, :-1] - ordered[:, 1:], axis=1)
    return np.asarray((ordered[rows, at] + ordered[rows, at + 1]) / 2)


def take_top(scores: Floats, k: int) -> Bools:
    """(n, K) the k best classes of each row."""
    if not 1 <= k <= scores.shape[1]:
        raise InputError(f"top_k = {k}; it must lie between 1 and the number of classes, {scores.shape[1]}")
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, best, True, axis=1)
    return chosen
