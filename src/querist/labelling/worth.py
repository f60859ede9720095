"""The most valuable node anywhere: what an answer at each node would be worth, before it is given.

The model is a Gaussian one. Node i has the row `m_i` and one score a class, `f_ik = m_i . w_k`, with weights
`w_k` of covariance P given the answers so far; an answer is a score plus noise of variance 1. Two nodes have
the covariance `c_ui = m_u . P m_i`, a node the variance `r_i = c_ii`. Whatever the answer at i, it takes
`c_ui^2 / (1 + r_i)` off the variance at u. The rules, each (n,) and larger where asking is worth more:

- `margin_uncertainty`: minus the Theta of msg16, Definition 2; it looks at node i alone;
- `variance_reduction`: `sum_u c_ui^2 / (1 + r_i)` (V-optimality: Ji and Han 2012);
- `sigma_optimality`: `(sum_u c_ui)^2 / (1 + r_i)` (Ma, Garnett and Schneider 2013), how much the variance of
  the sum over all nodes falls;
- `ambiguous_correlation`: `a_i sum_u a_u c_ui^2 / ((1 + r_i) (1 + r_u))`, the squared correlation of an
  answer at i with one at u, times the ambiguity a of both. Ours. What decides nothing is left alone; and a
  node counts at most once however large its variance is, so a part of the graph weighs by the nodes it holds.
  Without `1 + r_u` small components of which nothing is known, whose variance is largest, would come first.

With `G = sum_u m_u m_u'`, its terms weighted, the sums are quadratic forms `m_i' (P G P) m_i`: (n, d, d) work
for all nodes.
"""

import numpy as np

from querist.types import Bools, Floats

TIE = 1e-9
"""Values whose relative difference is smaller are equal; the lower row is asked. Twins in a graph have equal
values but for rounding, which must not choose."""


def ambiguity(probabilities: Floats) -> Floats:
    """(n,) `1 - (p_1 - p_2)`, the two largest of each row of (n, K): 1 where two classes are level.

    >>> ambiguity(np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])).round(3).tolist()
    [1.0, 0.2]
    """
    return 1.0 - margins(probabilities)


def margins(scores: Floats) -> Floats:
    """(n,) the largest score of each row less the second largest."""
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def margin_uncertainty(scores: Floats, r: Floats) -> Floats:
    """`-Theta = K r/(1+r) - 2 D - D^2/2`, D the margin of the scores `f/(1+r)` (msg16, Definition 2)."""
    margin = margins(scores) / (1 + r)
    return np.asarray(scores.shape[1] * r / (1 + r) - 2 * margin - margin**2 / 2)


def variance_reduction(rows: Floats, P: Floats, r: Floats) -> Floats:
    """`sum_u c_ui^2 / (1 + r_i)` over all nodes u."""
    return _forms(rows, P @ (rows.T @ rows) @ P) / (1 + r)


def sigma_optimality(rows: Floats, P: Floats, r: Floats) -> Floats:
    """`(sum_u c_ui)^2 / (1 + r_i)` over all nodes u."""
    return np.asarray((rows @ (P @ rows.sum(axis=0))) ** 2 / (1 + r))


def ambiguous_correlation(rows: Floats, P: Floats, r: Floats, a: Floats) -> Floats:
    """`a_i sum_u a_u c_ui^2 / ((1 + r_i) (1 + r_u))` over all nodes u."""
    weight = a / (1 + r)
    return weight * _forms(rows, P @ (rows.T @ (rows * weight[:, None])) @ P)


def _forms(rows: Floats, Q: Floats) -> Floats:
    """(n,) `m_i' Q m_i`."""
    return np.asarray(np.einsum("ij,ij->i", rows @ Q, rows))


def best(values: Floats, free: Bools) -> int | None:
    """The row of the largest value among the free nodes; of equals the lowest. None when none is free.

    >>> best(np.array([1.0, 3.0, 3.0 + 1e-12, 5.0]), np.array([True, True, True, False]))
    1
    """
    if not free.any():
        return None
    among = np.where(free, values, -np.inf)
    top = among.max()
    return int(np.argmax(among >= top - TIE * abs(top)))
