"""The Chebyshev polynomial of an interval, as a filter of vectors.

On [cut, top] the polynomial of degree m swings between -1 and 1; outside it grows as fast as a polynomial
of that degree can: at a value `t` below the cut it is `cosh(m acosh(x))`, x the distance of t from the
centre in units of half the interval. Scaled here to 1 at 0, so that everything in [cut, top] is small.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from querist.operator.space import BlockOperator
from querist.types import Floats

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
