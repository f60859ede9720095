"""Bounds of sslgc13 in the form that holds, and as printed.

**Theorem 4**, with `R_T` the sum over all rounds of half squared losses less those of any u, is printed as

    R_T <= mu cut(f) + gamma ln det A_T/det A_0,        gamma bounding (u.m - y)^2,

where Lemma 3 has put `2 cut(f)` for `|u|^2` (it is `4 cut(f)`). It is false: the proof needs gamma to bound
the loss of the *learner*, so where u fits all labels the printed right side goes to 0 with mu, and the first
round alone costs 1/2. And a learner of mistakes regrets only the rounds it learned. For every u there holds

    sum over learned of 1/2 (f0 - y)^2 - 1/2 (u.m - y)^2 <= mu/2 |u|^2 + gamma/2 sum over learned of r/(1+r),

gamma bounding `(f0 - y)^2` there, because `sum (f0 - y)^2/(1+r)` over the learned rounds *is*
`min_u { sum (u.m - y)^2 + mu |u|^2 }`, and `x = x/(1+r) + x r/(1+r)`. The sum is at most
`ln det A_T/det A_0`.

**Corollary 5** is printed, with the same gamma and B bounding |m|^2, as

    |M| <= min_u 1/2 { sum_t (u.m_t - y_t)^2 + mu |u|^2 } + gamma d ln(1 + T B/(d mu)),

and false for the same reason; besides, the halves do not survive the step from squared losses to mistakes.
What holds for a learner that learns its mistakes is

    |M| <= min_u { sum_M (u.m - y)^2 + mu |u|^2 } + gamma sum_M r/(1+r).

**Lemma 6 and Theorem 7** suppose labels drawn with `E[y] = Delta = u.m`, and bound the expected rounds whose
score is off by eps, and the regret. The proof takes what was learned for a fair sample. SSLGC learns its
mistakes only, and both are false for it: one node, always of one label, is off for ever. They hold for a
learner that learns every answer (BBQ) and scores with `A_t`, with `mu |u|^2` for `B |u|^2` and
`ln det A_T/det A_0` for `d ln(1 + N_T/(mu d))`, which supposes |m| <= 1.

**The query bound** as printed is `N_T <= T^kappa d ln(1 + N_T/(mu d))`. Eq. 26 sums the variances of all
asked rounds as if each were learned; where SSLGC makes no mistake the variance never falls, and it asks for
ever. What holds is its first step,

    N_T <= T^kappa sum over asked rounds of r/(1+r),

and, for a learner that learns every answer, `N_T <= T^kappa ln det A_T/det A_0`.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from querist_papers.theory.bounds import Bound
from querist_papers.types import Bools, Codes, Floats


class BinaryRun(NamedTuple):
    """One binary problem of a run; arrays with one entry a round."""

    nodes: Codes
    signs: Codes
    """The labels, +-1."""
    mistaken: Bools
    learned: Bools
    asked: Bools


class Replay(NamedTuple):
    """What a binary learner with `A_0 = mu I` saw, round by round, and came to."""

    r: Floats
    """(rounds,) variance m'A^-1 m before the round."""
    f0: Floats
    """(rounds,) score before the round."""
    A: Floats
    """(d, d) at the end."""
    w: Floats
    """(d,) at the end: the u that makes `sum (u.m - y)^2 + mu |u|^2` least over the learned rounds."""

    def uncertainty(self, where: Bools) -> float:
        """The sum of `r/(1+r)` over some rounds."""
        return float((self.r / (1 + self.r))[where].sum())


def replay(rows: Floats, run: BinaryRun, mu: float) -> Replay:
    """Variances and scores by fresh solves after every learned round: no recursion that could drift."""
    d, T = rows.shape[1], run.nodes.size
    A, b = mu * np.eye(d), np.zeros(d)
    r, f0 = np.empty(T), np.empty(T)
    # Nothing changes up to and with the next learned round: solve for the stretch at once.
    ends = np.append(np.flatnonzero(run.learned) + 1, T).tolist()
    for start, end in pairwise([0, *ends]):
        m = rows[run.nodes[start:end]]
        solved = np.linalg.solve(A, np.column_stack([m.T, b]))
        r[start:end] = np.einsum("ij,ji->i", m, solved[:, :-1])
        f0[start:end] = m @ solved[:, -1]
        if end > start and run.learned[end - 1]:
            A += np.outer(m[-1], m[-1])
            b += run.signs[end - 1] * m[-1]
    return Replay(r, f0, A, np.asarray(np.linalg.solve(A, b), dtype=np.float64))


def log_det_ratio(A: Floats, mu: float) -> float:
    """`ln det A / det(mu I)`."""
    return float(np.linalg.slogdet(A / mu)[1])


# -- Theorem 4 and Corollary 5 ---------------------------------------------------


def learning_bounds(rows: Floats, run: BinaryRun, mu: float) -> tuple[Bound, Bound]:
    """Theorem 4 and Corollary 5, corrected, of one binary problem, at the u for which they are tightest.

    Among the terms is what is printed: at the worst u of a few for Theorem 4, with the regret over all
    rounds, and at the best of them for Corollary 5.
    """
    seen, learned = replay(rows, run, mu), run.learned
    own = (seen.f0 - run.signs) ** 2
    theirs = (rows[run.nodes] @ seen.w - run.signs) ** 2
    norm, least = mu / 2 * float(seen.w @ seen.w), float(theirs[learned].sum() + mu * seen.w @ seen.w)
    loss, doubt, log_det = own[learned], seen.uncertainty(learned), log_det_ratio(seen.A, mu)
    shared = {"sum of r/(1+r)": doubt, "ln det A_T/det A_0": log_det}
    d, longest = rows.shape[1], float((rows[run.nodes] ** 2).sum(axis=1).max())
    growth = d * math.log1p(run.nodes.size * longest / (d * mu))
    some = _comparators(rows, run, mu)
    # `mu cut(f)` is read as `mu/2 |u|^2`, as Lemma 3 has it; where u is a labelling f it is half of that.
    regret, printed = max(
        ((own.sum() / 2 - half, size + most * log_det) for half, size, most in some),
        key=lambda sides: sides[0] - sides[1],
    )
    gamma, floor = float(loss.max(initial=0.0)), float(loss.max(initial=1.0))
    return Bound(
        source="sslgc13, Theorem 4 (corrected)",
        what="regret",
        value=norm + gamma / 2 * doubt,
        observed=float((own - theirs)[learned].sum()) / 2,
        terms={
            **{"mu/2 |u|^2": norm, "gamma": gamma},
            **shared,
            **{"regret over all rounds": float(regret), "as printed": printed},
        },
    ), Bound(
        source="sslgc13, Corollary 5 (corrected)",
        what="mistakes",
        value=least + floor * doubt,
        observed=float(run.mistaken.sum()),
        terms={
            **{"loss and norm of the best u": least, "gamma": floor},
            **shared,
            "as printed": min(half + size + most * growth for half, size, most in some),
        },
        assumptions={"mistakes are learned, and nothing else": np.array_equal(run.mistaken, learned)},
    )


def _comparators(rows: Floats, run: BinaryRun, mu: float) -> list[tuple[float, float, float]]:
    """Half the squared loss over all rounds, `mu/2 |u|^2`, largest loss: of 0, ridge and least squares."""
    m, found = rows[run.nodes], []
    ridge = np.linalg.solve(m.T @ m + mu * np.eye(m.shape[1]), m.T @ run.signs)
    for u in (np.zeros(m.shape[1]), ridge, np.linalg.lstsq(m, run.signs.astype(np.float64))[0]):
        loss = (m @ u - run.signs) ** 2
        found.append((float(loss.sum()) / 2, mu / 2 * float(u @ u), float(loss.max())))
    return found


# -- Lemma 6 and Theorem 7 -------------------------------------------------------


def lemma_6(eps: float, kappa: float, bias: float, log_det: float) -> float:
    """How many rounds are expected to have a score off by eps or more.

    Parameters
    ----------
    bias : `mu |u|^2`; `B |u|^2` as printed
    log_det : `ln det A_T/det A_0`; `d ln(1 + N_T/(mu d))` as printed
    """
    noisy, biased = 8 / eps**2, 4 * (bias + eps) / eps**2
    unasked = 2 * noisy ** (1 / kappa) + math.e * biased ** (1 / kappa)
    asked = (2 * noisy / math.e + biased) * log_det
    return float(math.factorial(math.ceil(1 / kappa)) * unasked + asked)


def theorem_7(margins: Floats, kappa: float, bias: float, log_det: float) -> float:
    """The expected regret, for labels drawn with `E[y] = margins` (rounds,): the least over eps.

    >>> round(theorem_7(np.full(100, 0.9), 1.0, 1.0, 0.0), 1)
    45.3
    """
    size = np.abs(margins)
    grid = np.unique(np.append(np.linspace(0.01, 0.99, 99), size[(size > 0) & (size < 1)])).tolist()
    return float(min(eps * (size < eps).sum() + lemma_6(eps, kappa, bias, log_det) for eps in grid))


def regret_7(scores: Floats, margins: Floats) -> float:
    """The regret of scores for labels drawn with `E[y] = margins`: a score of 0 errs in no round (eq. 21)."""
    wrong = np.where(scores == 0, 0.0, (1 - np.sign(scores) * margins) / 2)
    return float((wrong - (1 - np.abs(margins)) / 2).sum())


def query_bound(rows: Floats, run: BinaryRun, mu: float, kappa: float) -> Bound:
    """The query bound of one binary problem, in the form that holds."""
    seen, T = replay(rows, run, mu), run.nodes.size
    above = seen.r / (1 + seen.r) - np.arange(1.0, T + 1) ** -kappa
    grown, doubt = float(T) ** kappa, seen.uncertainty(run.asked)
    return Bound(
        source="sslgc13, Theorem 7 (corrected)",
        what="questions",
        value=grown * doubt,
        observed=float(run.asked.sum()),
        terms={
            "T^kappa": grown,
            "sum of r/(1+r) over asked rounds": doubt,
            "ln det A_T/det A_0": log_det_ratio(seen.A, mu),
            "as printed": query_bound_as_printed(rows.shape[1], T, float(run.asked.sum()), mu, kappa),
        },
        assumptions={"it asked where r/(1+r) > t^-kappa": bool((above[run.asked] > -1e-9).all())},
    )


def query_bound_as_printed(d: int, T: int, asked: float, mu: float, kappa: float) -> float:
    """`T^kappa d ln(1 + N_T/(mu d))`, which is false."""
    return float(T**kappa * d * np.log1p(asked / (mu * d)))
