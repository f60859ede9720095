"""Theorem 1 of bls19: the regret, the bound as printed, and the bound that its proof gives.

Round t has the loss `f_t(w) = lambda1 |w|^2 + c_t/2 (w.phi(x_t) - y_t)^2`: c = 1 for a labelled item, and
`c = lambda2/(1 + lambda2)`, y = 0 for an unlabelled one, whose label z is the best for w (eq. 6). With
`w_(t+1) = w_t - eta_t grad_t - Delta_t`, `E_t = Delta_t/eta_t` and all w within U, the theorem says

    mean_t f_t(w_t) - f_t(w*)  <=  ((2 lambda1 + 1) U - 2)^2/2 mean(eta) + 2 U mean|E|.

The proof bounds `|grad_t + E_t|` by `(2 lambda1 + 1) U + 2` and so has + 2 where the theorem prints - 2. As
printed it is false: for U = 2/(2 lambda1 + 1) and E = 0 it is 0, whatever the regret. BLS solves its system
anew and takes no gradient steps; the paper reads eta_t off a run as the step that comes nearest to
`w_t - w_(t+1)`, which is `grad.(w_t - w_(t+1))/|grad|^2` (the square is missing in print). The proof needs
eta_t > 0, |E_t| <= 1, `1/eta_1 <= lambda1` and `1/eta_t - 1/eta_(t-1) <= lambda1`. The bound does not fall
with T.
"""

from dataclasses import dataclass

import numpy as np

from querist_papers.types import Floats


@dataclass(frozen=True)
class Regret:
    """What Theorem 1 speaks of, measured on a run."""

    regret: float
    printed: float
    corrected: float
    step: float
    error: float
    radius: float
    within: float
    """Share of the rounds that meet what the proof assumes of them."""


def bounds(lambda1: float, U: float, step: float, error: float) -> tuple[float, float]:
    """Theorem 1 from the mean step and the mean error: as printed, and as proved.

    >>> bounds(0.5, 1.0, 0.1, 0.0)
    (0.0, 0.8)
    """
    printed, corrected = (
        ((2 * lambda1 + 1) * U + sign * 2) ** 2 / 2 * step + 2 * U * error for sign in (-1, 1)
    )
    return printed, corrected


def measured(K: Floats, A: Floats, y: Floats, c: Floats, lambda1: float) -> Regret:
    """From the kernel matrix (T, T), the coefficients of w_1 to w_(T+1) (T + 1, T), targets and weights (T,).

    w* is the minimiser of the sum of the losses: no fixed w makes the regret larger. U is the largest norm.
    """
    T = y.size
    W = A[:T]
    f = np.einsum("ts,ts->t", W, K)
    best = np.linalg.solve(K + np.diag(2 * lambda1 * T / c), y)
    norms = np.einsum("ts,ts->t", A @ K, A)
    size = float(best @ K @ best)
    losses = lambda1 * (norms[:T] - size) + c / 2 * ((f - y) ** 2 - (K @ best - y) ** 2)
    G = 2 * lambda1 * W
    G[np.arange(T), np.arange(T)] += c * (f - y)
    moved = W - A[1:]
    KG = G @ K
    squares = np.einsum("ts,ts->t", KG, G)
    eta = np.einsum("ts,ts->t", KG, moved) / np.maximum(squares, 1e-300)
    rest = moved - eta[:, None] * G
    lost = np.sqrt(np.maximum(np.einsum("ts,ts->t", rest @ K, rest), 0.0))
    forward = eta > 1e-12
    E = np.where(forward, lost / np.where(forward, eta, 1.0), 0.0)
    inverse = np.where(forward, 1 / np.where(forward, eta, 1.0), np.inf)
    with np.errstate(invalid="ignore"):
        slowing = np.diff(inverse, prepend=0.0) <= lambda1
    U = float(np.sqrt(max(norms.max(), size)))
    step, error = float(np.maximum(eta, 0.0).mean()), float(E.mean())
    within = float((forward & (E <= 1) & slowing).mean())
    return Regret(float(losses.mean()), *bounds(lambda1, U, step, error), step, error, U, within)


def descent(lambda1: float, rounds: int = 500) -> Regret:
    """Gradient descent on one item, phi = y = 1, from the far end of [-U, U], where it is held by projection.

    U = 2/(2 lambda1 + 1), so that the printed bound is 0; the steps `eta_t = 1/(lambda1 t)` are what the
    proof asks for, and nothing is lost to a budget.
    """
    U, eta = 2 / (2 * lambda1 + 1), 1 / (lambda1 * np.arange(1, rounds + 1))
    w, losses = -U, np.empty(rounds)
    for t in range(rounds):
        losses[t] = lambda1 * w**2 + (w - 1) ** 2 / 2
        w = np.clip(w - eta[t] * ((2 * lambda1 + 1) * w - 1), -U, U)
    best = lambda1 * (U / 2) ** 2 + (U / 2 - 1) ** 2 / 2
    step = float(eta.mean())
    return Regret(float(losses.mean() - best), *bounds(lambda1, U, step, 0.0), step, 0.0, U, 1.0)
