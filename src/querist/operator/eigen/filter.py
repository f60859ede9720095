"""The Chebyshev polynomial of an interval, as a filter of vectors; and where it should cut.

On [cut, top] the polynomial of degree m swings between -1 and 1; outside it grows as fast as a polynomial
of that degree can: at a value `t` below the cut it is `cosh(m acosh(x))`, x the distance of t from the
centre in units of half the interval. Scaled here to 1 at 0, so that everything in [cut, top] is small.

Where to cut, and whether a filter is a good idea at all, the *spectral density* tells before any eigenvector
is known. A Lanczos run from a random unit vector x gives the Gauss quadrature of `x' 1(M <= t) x`, and n
times that estimates the number of eigenvalues below t (stochastic Lanczos quadrature; Lin, Saad and Yang,
SIAM Review 2016, section 3.2). On small graphs, where one vector is too random, several columns are taken as
one long vector under `I (x) M`: its measure is the mean of theirs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from querist.operator.space import BlockOperator
from querist.types import Floats

STEPS = 32

LENGTH = 100_000
"""Random numbers to start from; large graphs have as many in one vector."""

Block = Any


def filtered(
    M: BlockOperator,
    X: Block,
    degree: int,
    cut: float,
    top: float,
    each: Callable[[], None] = lambda: None,
    *,
    lowest: float = 0.0,
) -> Block:
    """`p(M) X`, p the Chebyshev polynomial of [cut, top] of this degree, scaled to p(lowest) = 1 (to
    p(cut), where that is lower).

    The scaled three-term recursion of Zhou and Saad (2007, alg. 3.1): no intermediate overflows.
    """
    centre, radius = (top + cut) / 2, (top - cut) / 2
    first = sigma = -radius / (centre - min(lowest, cut))
    given, X = X, M.space.empty(X.shape[1])
    X[:] = given  # overwritten below
    Y = M.combine(X, M.space.empty(X.shape[1]), scale=sigma / radius, shift=-centre * sigma / radius)
    for _ in range(degree - 1):
        following = 1 / (2 / first - sigma)
        scale = 2 * following / radius
        M.combine(Y, X, scale=scale, shift=-centre * scale, previous=-sigma * following)
        X, Y, sigma = Y, X, following
        each()
    each()
    return Y


def growth(values: Any, cut: float, top: float) -> Any:
    """The rate at which the filter amplifies an eigenvalue per degree: `acosh` of its place outside."""
    place = ((top + cut) / 2 - np.asarray(values)) / ((top - cut) / 2)
    return np.arccosh(np.maximum(place, 1 + 1e-6))


def origins(theta: Floats, degree: int, cut: float, top: float) -> Floats:
    """The values in [0, cut] that the filter takes to `theta`; the cut where it takes none there.

    >>> p = np.cosh(8 * growth(np.array([0.0, 0.05]), 0.1, 2.0))
    >>> origins(p / p[0], 8, 0.1, 2.0).round(9).tolist()
    [0.0, 0.05]
    """
    first = np.cosh(degree * growth(0.0, cut, top))
    place = np.cosh(np.arccosh(np.maximum(np.asarray(theta) * first, 1.0)) / degree)
    return np.asarray(np.clip((top + cut) / 2 - (top - cut) / 2 * place, 0.0, cut))


class Density(NamedTuple):
    """`nodes` (q,) growing, `counts` (q,) eigenvalues estimated up to each, `top` an upper bound of all."""

    nodes: Floats
    counts: Floats
    top: float

    def quantile(self, count: float) -> float:
        """Where about `count` eigenvalues lie below: between two nodes, counts are taken to grow
        exponentially, as they do at the edge of a spectrum."""
        place = np.log(np.maximum(self.counts, 1e-300))
        return float(np.interp(np.log(count), place, self.nodes))


def density(M: BlockOperator, u: Any, random: np.random.Generator) -> Density:
    """The spectral density of M in the complement of the unit vector `u` (or of nothing)."""
    alpha, beta = lanczos_run(M, u, random)
    theta, turn = map(M.space.agreed, sla.eigh_tridiagonal(alpha, beta[:-1]))
    weights = turn[0] ** 2 * (M.n - (u is not None))
    # Half of a node's own weight lies below it. The last residual bounds how far the largest Ritz value
    # may be from an eigenvalue.
    top = float(theta[-1] + beta[-1] * abs(turn[-1, -1]))
    return Density(theta.astype(np.float64), np.cumsum(weights) - weights / 2, top)


def lanczos_run(M: BlockOperator, u: Any, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Diagonal (steps,) and off-diagonal (steps,) of the tridiagonal matrix of one run."""
    space, columns = M.space, int(np.clip(LENGTH // M.n, 1, 8))
    V = space.random(random, columns)
    if u is not None:
        space.remove(V, u)
    V /= np.sqrt(space.dot(V, V))
    W, alpha, beta, size = space.empty(columns), list[float](), list[float](), 0.0
    for _ in range(min(STEPS, M.n)):
        M.combine(V, W, previous=-size)
        alpha.append(space.dot(V, W))
        W -= alpha[-1] * V
        if u is not None:
            space.remove(W, u)
        size = float(np.sqrt(space.dot(W, W)))
        beta.append(size)
        if size < 1e-4 * max(alpha):  # an exhausted Krylov space: all of the spectrum is known
            break
        W *= 1 / size
        V, W = W, V
    return np.array(alpha), np.array(beta)
