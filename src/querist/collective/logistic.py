"""The local classifier of the iterative methods: scikit-learn's logistic regression, as a linear map.

`logits = X W' + b` over all classes, also those without a labelled node (their probability is 0). Kept as
a map because the iterative methods change few of the columns of X from round to round: the rest of the
product is made once.

*Label regularisation* (Mann and McCallum 2007) lets it learn from unlabelled nodes as well: their mean
prediction is to be the classes' shares among the labels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.types import Codes, Floats


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
    model = LogisticRegression(
        C=C if present.size > 2 else 2 * C, solver="newton-cg", tol=1e-6, max_iter=1000
    )
    model.fit(X, codes)
    if present.size == 2:
        b[present] = 0.0
        W[present[1]], b[present[1]] = model.coef_[0], model.intercept_[0]
    else:
        W[present], b[present] = model.coef_, model.intercept_
    return Logistic(W, b)


def regularise_labels(start: Logistic, X: Any, indicator: Floats, C: float, weight: float) -> Logistic:
    """Trained on from `start` for its own objective `+ weight KL(p || q)`.

    `p` are the shares of the classes among the labelled nodes, whose rows of `indicator` are not zero, `q` is
    the mean prediction of the others. Classes without a labelled node keep probability 0.
    """
    from scipy.optimize import minimize

    seeds, present = indicator.any(axis=1), indicator.any(axis=0)
    if seeds.all() or present.sum() == 1:
        return start
    whole: Any = sp.csr_array(sp.hstack([X, sp.csr_array(np.ones((X.shape[0], 1)))]))
    own, others = whole[seeds], whole[~seeds]
    T = indicator[np.ix_(seeds, present)]
    p = T.mean(axis=0)

    def objective(flat: Floats) -> tuple[float, Floats]:
        V = flat.reshape(-1, p.size)
        P, Q = softmax(own @ V), softmax(others @ V)
        q = np.maximum(Q.mean(axis=0), np.finfo(float).tiny)
        slope = (weight / len(Q)) * Q * ((Q @ (p / q))[:, None] - p / q)
        gradient = own.T @ (P - T) + others.T @ slope
        gradient[:-1] += V[:-1] / C
        losses = -np.log(np.maximum(P[T > 0], np.finfo(float).tiny)).sum()
        return losses + (V[:-1] ** 2).sum() / (2 * C) + weight * (p @ np.log(p / q)), gradient.ravel()

    first = np.vstack([start.W[present].T, start.b[present]])
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", tol=1e-6)
    V = found.x.reshape(-1, p.size)
    W, b = start.W.copy(), start.b.copy()
    W[present], b[present] = V[:-1].T, V[-1]
    return Logistic(W, b)


def softmax(logits: Floats) -> Floats:
    """Rows of positive numbers that sum to one."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
