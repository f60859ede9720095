"""The local classifier of the iterative methods: scikit-learn's logistic regression, as a linear map.

`logits = X W' + b` over all classes, also those without a labelled node (their probability is 0). Kept as
a map because the iterative methods change few of the columns of X from round to round: the rest of the
product is made once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.types import Codes, Floats

LONGEST = 1e5
"""Length of a row above which the solution of the solver depends on the order of the rows."""


@dataclass(frozen=True)
class Logistic:
    """`P(c|x) = softmax(W x + b)`."""

    W: Floats
    b: Floats

    def logits(self, X: Any) -> Floats:
        """(n, K)."""
        return np.asarray(X @ self.W.T + self.b)

    def probabilities(self, X: Any) -> Floats:
        """(n, K), rows sum to one."""
        return softmax(self.logits(X))


def fit_logistic(X: Any, codes: Codes, n_classes: int, C: float = 1.0) -> Logistic:
    """Minimises `sum of losses + |W|^2/(2C)`, the intercept free; the softmax form for two classes as well.

    For two classes scikit-learn has one vector `w = w_1 - w_0` and the penalty `|w|^2/(2C)`; the softmax form
    has `|w_0|^2 + |w_1|^2 = |w|^2/2`, hence twice the C.

    It is solved for `s W` on the rows `x/s` with `s^2 C`, which is the same problem; `s` is a power of two
    near the length of the longest row. Otherwise the solver stops early on rows of length 100, at a place
    that depends on their order.
    """
    from sklearn.linear_model import LogisticRegression

    W, b = np.zeros((n_classes, X.shape[1])), np.full(n_classes, -np.inf)
    present = np.unique(codes)
    if present.size == 1:
        b[present] = 0.0
        return Logistic(W, b)
    if X.shape[1] == 0:  # nothing to see: the classes' shares
        b[present] = np.log(np.bincount(codes)[present])
        return Logistic(W, b)
    longest = float(np.sqrt(X.multiply(X).sum(axis=1).max()))
    if longest > LONGEST:
        raise InputError(
            f"attributes or weighted counts of neighbours go up to {abs(X).max():.3g}; a logistic regression "
            f"takes {LONGEST:.0e} per node. Scale the attributes and divide the weights (or, for ica, pass "
            "neighbours='mean')"
        )
    s = 2.0 ** np.ceil(np.log2(longest)) if longest > 0 else 1.0
    model = LogisticRegression(
        C=s * s * (C if present.size > 2 else 2 * C), solver="newton-cg", tol=1e-7 / s, max_iter=1000
    )
    model.fit(X / s, codes)
    if present.size == 2:
        b[present] = 0.0
        W[present[1]], b[present[1]] = model.coef_[0] / s, model.intercept_[0]
    else:
        W[present], b[present] = model.coef_ / s, model.intercept_
    return Logistic(W, b)


def softmax(logits: Floats) -> Floats:
    """Rows of positive numbers that sum to one."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
