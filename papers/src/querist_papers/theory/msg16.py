"""Bounds of msg16 for CMOG (Theorem 1), CMOG on selected labels (Theorem 3) and MSG (Theorem 5).

For any U, with the hinge loss `l_t(U) = [1 - (U.m_t of the true class - the best other)]_+`, `A` the matrix
of the learned rounds, `Delta` the margin, `Theta = Delta^2/2 + 2 Delta - K r/(1+r)`, and D the rounds with
Theta < 0:

    1:  M    <= sum_t l_t(U) + h/2 tr(U'AU) + 1/h sum_M r/(1+r)      for every h > 0,
    3:  E[M] <= E[ sum_t l_t(U) + h/2 tr(U'AU) + 1/(2h) sum_{M,D} K r/(1+r) ],
    5:  E[M] <= E[ sum of l_t(U) over learned rounds + h/2 tr(U'AU) + 1/h sum_D K r/(1+r) - V ],

V the rounds learned without a mistake. In 3 and 5, h is the learner's own. (1 and 3 hold with the losses of
learned rounds alone, but then U = 0 makes 1 say M <= M.)

They hold for scores under A_t and for targets +1 (true) and -1 (best other). Lemma 2, from which they follow,
is printed for scores under A_{t-1}; what holds is an increment of `|y - f0|^2/(1+r)`, which is
`|y - f|^2 - |y|^2 r/(1+r) + r |f|^2` for `f = f0/(1+r)`. Expectations enter 3 and 5 only by
`E[Q_t (Theta_t + 2h)] = 2h`, so in every single run they hold with a mistake in a drawn question counted
`(Theta_t + 2h)/(2h)` times and a mistake that was not asked about not at all. That count has the mean of M,
and is the `sure` of the bounds here.

The value is taken at U = c U_ridge, with the c (and in Theorem 1 the h) that makes it least.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from querist.online import Trace
from querist_papers.theory.bounds import Bound
from querist_papers.types import Bools, Codes, Floats


class Comparator(NamedTuple):
    """A direction U: its margins in the rounds that are summed, and its `tr(U'AU)`."""

    margins: Floats
    norm: float


def thetas(trace: Trace, n_classes: int) -> Floats:
    """(rounds,) `Theta_t` of a run (msg16, eq. 10)."""
    return trace.margin**2 / 2 + 2 * trace.margin - n_classes * uncertainty(trace)


def uncertainty(trace: Trace) -> Floats:
    """(rounds,) `r/(1+r)`."""
    return np.asarray(trace.variance / (1 + trace.variance))


def comparators(
    rows: Floats, trace: Trace, labels: Codes, gamma: float, n_classes: int, summed: Bools
) -> list[Comparator]:
    """Ridge solutions on the learned rounds and on all rounds, as directions to compare with."""
    m, truth, learned = rows[trace.row], labels[trace.row], trace.updated
    d = rows.shape[1]
    A = gamma * np.eye(d) + m[learned].T @ m[learned]
    everywhere = np.ones(truth.size, dtype=np.bool_)
    found = []
    for chosen in (learned, everywhere):
        x = m[chosen]
        targets = np.eye(n_classes)[truth[chosen]] - 1 / n_classes
        U = np.linalg.solve(gamma * np.eye(d) + x.T @ x, x.T @ targets)
        f = m[summed] @ U
        own = (np.arange(len(f)), truth[summed])
        right = f[own]
        f[own] = -np.inf
        found.append(
            Comparator(right - f.max(axis=1, initial=-np.inf), float(np.einsum("ij,ij->", U, A @ U)))
        )
    return found


def hinge(margins: Floats, c: Floats) -> Floats:
    """`sum_t [1 - c p_t]_+` for every scale c."""
    return np.asarray(np.maximum(0.0, 1 - np.outer(c, margins)).sum(axis=1))


def scales(margins: Floats) -> Floats:
    """Scales to try: 0, and the corners of the hinge (thinned to a few hundred)."""
    corners = np.sort(1 / margins[margins > 0])
    if corners.size > 500:
        corners = corners[np.linspace(0, corners.size - 1, 500).astype(np.int64)]
    return np.concatenate([[0.0], corners])


def _least(
    found: list[Comparator], penalty: Callable[[Floats, float], Floats], more: ArrayLike = ()
) -> tuple[float, float, float, float]:
    """The least sum of hinge loss and penalty over scales c of some U: the sum, the loss, c, `tr(U'AU)`."""
    best = (np.inf, 0.0, 0.0, 0.0)
    for U in found:
        c = np.append(scales(U.margins), more)
        loss = hinge(U.margins, c)
        values = loss + penalty(c, U.norm)
        k = int(values.argmin())
        if values[k] < best[0]:
            best = (float(values[k]), float(loss[k]), float(c[k]), U.norm)
    return best


def theorem_1(
    rows: Floats, trace: Trace, labels: Codes, gamma: float, n_classes: int, rival: bool = True
) -> Bound:
    """The bound on CMOG's mistakes."""
    doubt = float(uncertainty(trace)[trace.updated].sum())
    found = comparators(rows, trace, labels, gamma, n_classes, np.ones(len(trace), dtype=np.bool_))
    # h c^2 N/2 + S/h is least at h = sqrt(2S/N)/c, where it is c sqrt(2 N S).
    best, loss, c, norm = _least(found, lambda c, norm: c * np.sqrt(2 * norm * doubt))
    spread = float(c * np.sqrt(norm * doubt / 2))
    return Bound(
        source="msg16, Theorem 1",
        what="mistakes",
        value=best,
        observed=float(trace.mistaken.sum()),
        terms={
            "hinge loss of U": loss,
            "h/2 tr(U'AU)": spread,
            "1/h sum of r/(1+r)": spread,
            "h": float(np.sqrt(2 * doubt / norm) / c) if c > 0 else np.inf,
            "sum of r/(1+r)": doubt,
        },
        assumptions={
            "mistakes are learned, and nothing else": bool(np.array_equal(trace.mistaken, trace.updated)),
            "targets are true against rival": rival,
        },
        note="at the best h, and the best multiple of a ridge solution for U",
    )


def selective(
    theorem: Literal[3, 5],
    rows: Floats,
    trace: Trace,
    labels: Codes,
    gamma: float,
    n_classes: int,
    h: float,
    rival: bool,
) -> Bound:
    """The bound on the mistakes of CMOG on selected labels (Theorem 3) or of MSG (Theorem 5)."""
    theta, unforced = thetas(trace, n_classes), trace.updated & ~trace.mistaken
    doubt = n_classes * float(uncertainty(trace)[trace.updated & (theta < 0)].sum())
    if theorem == 3:
        summed = np.ones(len(trace), dtype=np.bool_)
        extra, as_published = {"1/(2h) sum of K r/(1+r)": doubt / (2 * h)}, not unforced.any()
    else:  # a drawn question with Theta >= 0 is learned only if mistaken
        summed, as_published = trace.updated, not (unforced & (theta > 1e-9)).any()
        extra = {"1/h sum of K r/(1+r)": doubt / h, "learned without a mistake": -float(unforced.sum())}
    found = comparators(rows, trace, labels, gamma, n_classes, summed)
    best, loss, c, norm = _least(found, lambda c, norm: h / 2 * c**2 * norm, np.geomspace(1e-4, 1e4, 200))
    weights = (np.maximum(0.0, theta) + 2 * h) / (2 * h)
    return Bound(
        source=f"msg16, Theorem {theorem}",
        what="mistakes",
        value=best + sum(extra.values()),
        observed=float(trace.mistaken.sum()),
        terms={"hinge loss of U": loss, "h/2 tr(U'AU)": h / 2 * c**2 * norm} | extra | {"h": h},
        assumptions={
            "learns as published": bool(as_published),
            "every question it wished was asked": _free(trace, n_classes),
            "targets are true against rival": rival,
        },
        in_expectation=True,
        sure=float(weights[trace.updated & trace.mistaken].sum()),
        note="in expectation over its draws; sure is what this one run keeps below the value",
    )


def expected_questions(trace: Trace, n_classes: int, h: float) -> Bound:
    """`|D| + sum 2h/(2h + Theta_t)`: how many questions the draws of this run were to bring."""
    theta = np.maximum(0.0, thetas(trace, n_classes))
    return Bound(
        source="msg16, expected questions",
        what="questions",
        value=float((2 * h / (2 * h + theta)).sum()),
        observed=float(trace.questions),
        terms={"certain questions": float((thetas(trace, n_classes) < 0).sum()), "h": h},
        assumptions={"every question it wished was asked": _free(trace, n_classes)},
        in_expectation=True,
        note="an expectation, not a limit: one run falls on either side of it",
    )


def _free(trace: Trace, n_classes: int) -> bool:
    """No certain question was kept back by a budget."""
    return bool(trace.asked[thetas(trace, n_classes) < -1e-9].all())
