"""Bounds of sslgc13 in the form that holds, and as printed.

Corollary 5 as printed, with `(u.m - y)^2 <= gamma`, is

    |M| <= min_u 1/2 { sum_t (u.m_t - y_t)^2 + mu |u|^2 } + gamma d ln(1 + T B/(d mu)),

and false: gamma bounds the loss of u, while the proof needs it to bound that of the learner; and the halves
do not survive the step from squared losses to mistakes. What holds for a learner that learns its mistakes is

    |M| <= min_u { sum_M (u.m - y)^2 + mu |u|^2 } + gamma sum_M r/(1+r),

gamma bounding `(f0 - y)^2` on its mistakes: `sum_M (f0 - y)^2/(1+r)` *is* the minimum, every mistake has
`(f0 - y)^2 >= 1`, and `x = x/(1+r) + x r/(1+r)`. And `sum_M r/(1+r) <= ln det A_T/det A_0`.

The query bound as printed is `N_T <= T^kappa d ln(1 + N_T/(mu d))`. Eq. 26 sums the variances of all asked
rounds as if each were learned; SSLGC learns its mistakes only, and where it makes none the variance never
falls and it asks for ever: one node, one label, is a counterexample. What holds is its first step,

    N_T <= T^kappa sum over asked rounds of r/(1+r),

and, for a learner that learns every answer (BBQ), `N_T <= T^kappa ln det A_T/det A_0`.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from querist.theory.bounds import Bound
from querist.types import Bools, Codes, Floats


class Replay(NamedTuple):
    """What a binary learner with `A_0 = mu I` saw, round by round, and came to."""

    r: Floats
    """(rounds,) variance m'A^-1 m before the round."""
    f0: Floats
    """(rounds,) score before the round."""
    A: Floats
    """(d, d) at the end."""
    least: float
    """The least of `sum (u.m - y)^2 + mu |u|^2` over the learned rounds."""


def replay(rows: Floats, nodes: Codes, signs: Codes, learned: Bools, mu: float) -> Replay:
    """Variances and scores by fresh solves after every learned round: no recursion that could drift."""
    d = rows.shape[1]
    A, b = mu * np.eye(d), np.zeros(d)
    r, f0 = np.empty(nodes.size), np.empty(nodes.size)
    # Nothing changes up to and with the next learned round: solve for the stretch at once.
    ends = np.append(np.flatnonzero(learned) + 1, nodes.size).tolist()
    for start, end in pairwise([0, *ends]):
        m = rows[nodes[start:end]]
        solved = np.linalg.solve(A, np.column_stack([m.T, b]))
        r[start:end] = np.einsum("ij,ji->i", m, solved[:, :-1])
        f0[start:end] = m @ solved[:, -1]
        if end > start and learned[end - 1]:
            A += np.outer(m[-1], m[-1])
            b += signs[end - 1] * m[-1]
    least = float(learned.sum() - b @ np.linalg.solve(A, b))
    return Replay(r, f0, A, least)


def log_det_ratio(A: Floats, mu: float) -> float:
    """`ln det A / det(mu I)`."""
    return float(np.linalg.slogdet(A / mu)[1])


def corollary_5(
    rows: Floats, nodes: Codes, signs: Codes, mistaken: Bools, learned: Bools, asked: Bools, mu: float
) -> Bound:
    """The corrected mistake bound of one binary problem; arrays have one entry a round."""
    seen = replay(rows, nodes, signs, learned, mu)
    loss = (seen.f0 - signs)[learned] ** 2
    gamma = float(loss.max(initial=1.0))
    doubt = float((seen.r / (1 + seen.r))[learned].sum())
    return Bound(
        source="sslgc13, Corollary 5 (corrected)",
        what="mistakes",
        value=seen.least + gamma * doubt,
        observed=float(mistaken.sum()),
        terms={
            "loss and norm of the best u": seen.least,
            "gamma": gamma,
            "sum of r/(1+r)": doubt,
            "ln det A_T/det A_0": log_det_ratio(seen.A, mu),
        },
        assumptions={
            "mistakes are learned, and nothing else": bool(np.array_equal(mistaken, learned)),
        },
    )


def corollary_5_as_printed(rows: Floats, nodes: Codes, signs: Codes, mistaken: Bools, mu: float) -> Bound:
    """Corollary 5 as printed, which is false; at the better of u = 0 and the ridge solution."""
    m = rows[nodes]
    T, d = m.shape
    ridge = np.linalg.solve(m.T @ m + mu * np.eye(d), m.T @ signs)
    longest = float((m**2).sum(axis=1).max())
    growth = d * float(np.log1p(T * longest / (d * mu)))

    options = []
    for u in (np.zeros(d), ridge):
        loss = (m @ u - signs) ** 2
        options.append((float(loss.sum() + mu * u @ u) / 2, float(loss.max())))
    fit, gamma = min(options, key=lambda pair: pair[0] + pair[1] * growth)
    return Bound(
        source="sslgc13, Corollary 5 (as printed)",
        what="mistakes",
        value=fit + gamma * growth,
        observed=float(mistaken.sum()),
        terms={"half of loss and norm of u": fit, "gamma": gamma, "d ln(1 + TB/(d mu))": growth},
        assumptions={"the corollary is true": False},
    )


def query_bound(
    rows: Floats, nodes: Codes, signs: Codes, learned: Bools, asked: Bools, mu: float, kappa: float
) -> Bound:
    """The query bound of one binary problem, in the form that holds."""
    seen = replay(rows, nodes, signs, learned, mu)
    doubts = seen.r / (1 + seen.r)
    doubt = float(doubts[asked].sum())
    thresholds = np.arange(1.0, nodes.size + 1) ** -kappa
    grown = float(nodes.size) ** kappa
    return Bound(
        source="sslgc13, Theorem 7 (corrected)",
        what="questions",
        value=grown * doubt,
        observed=float(asked.sum()),
        terms={
            "T^kappa": grown,
            "sum of r/(1+r) over asked rounds": doubt,
            "ln det A_T/det A_0": log_det_ratio(seen.A, mu),
            "as printed": query_bound_as_printed(rows.shape[1], nodes.size, float(asked.sum()), mu, kappa),
        },
        assumptions={
            "it asked where r/(1+r) > t^-kappa": bool((doubts[asked] > thresholds[asked] - 1e-9).all()),
        },
    )


def query_bound_as_printed(d: int, T: int, asked: float, mu: float, kappa: float) -> float:
    """`T^kappa d ln(1 + N_T/(mu d))`, which is false."""
    return float(T**kappa * d * np.log1p(asked / (mu * d)))
