"""How many eigenvalues lie below: the spectral density of an operator, by a random block.

A Lanczos run from a random unit vector x gives the Gauss quadrature of `x' 1(M <= t) x`, and n times that
estimates the number of eigenvalues below t (stochastic Lanczos quadrature; Lin, Saad and Yang, SIAM Review
2016, section 3.2). It tells a filter where to cut before any eigenvector is known, and whether a filter is
a good idea at all. On small graphs, where one vector is too random, several columns are taken as one long
vector under `I (x) M`: its measure is the mean of theirs.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from querist.operator.space import BlockOperator
from querist.types import Floats

STEPS = 32

LENGTH = 100_000
"""Random numbers to start from; large graphs have as many in one vector."""


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
