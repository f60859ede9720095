"""From rows to classes: ridge regression that chooses its strength by leaving each label out, and its kin.

Pure functions on arrays. Letters: `Z` (n, d) a row a node, `z` those of the m labelled ones, `Y` (m, K) 0/1.

`ridge` fits `Y - mean` on z. With the thin singular value decomposition `z = U diag(d) V'` and `c` the
mean squared length of a labelled row, the answer at a labelled node that is left out has the closed form

    f_i = (H Y - h_i y_i) / (1 - h_i),   H = U diag(d^2 / (d^2 + lam c)) U',   h = diag H,

so that all strengths are judged without fitting again. A strength is good when the squared error of the
left-out answers is small and their accuracy high (half a point of squared error a point of accuracy).

`discriminant` is linear discriminant analysis whose means and shared covariance come from all n nodes, each
divided among the classes by its present probabilities: one step of self-training (refine.py). More steps
drift away from the labels (they lowered the accuracy on every development set), so one is taken.
"""

from typing import Any, NamedTuple

import numpy as np

from querist.operator.backend import HERE, Backend
from querist.types import Bools, Floats

STRENGTHS = 10.0 ** np.arange(-4, 2.01, 0.5)
SHRINKAGE = 1e-3
JUDGES = 500
"""Left-out labels that judge a strength; of more every second, third, ... is taken."""


class RidgeFit(NamedTuple):
    """`coefficients` (d, K) and `mean` (K,): the answer at a row is `row @ coefficients + mean`.

    `left_out` (m, K) are the answers at the labelled nodes without their own label. `smoother` (d, m) gives
    the answers as weights of the labels: `row @ smoother` is a weight a labelled node.
    """

    coefficients: Floats
    mean: Floats
    left_out: Floats
    smoother: Floats
    strength: float

    def answer(self, Z: Floats) -> Floats:
        """(n, K)."""
        return np.asarray(Z @ self.coefficients + self.mean)


def ridge(z: Floats, Y: Floats) -> RidgeFit:
    """The ridge regression of the classes on the labelled rows, its strength chosen by leaving one out.

    >>> rows = np.array([[1.0, 0.1], [0.9, 0.0], [0.0, 1.0], [0.1, 0.8]])
    >>> fitted = ridge(rows, np.repeat(np.eye(2), 2, axis=0))
    >>> fitted.answer(np.array([[1.0, 0.0]])).argmax(), fitted.left_out.argmax(axis=1).tolist()
    (np.int64(0), [0, 0, 1, 1])
    """
    U, d, V = _thin(z)
    scale = float(np.mean(np.einsum("ij,ij->i", z, z))) or 1.0
    mean = Y.mean(axis=0)
    centred = Y - mean
    inside = U.T @ centred

    def left_out(strength: float, rows: slice) -> Floats:
        kept = d**2 / (d**2 + strength * scale)
        h = U[rows] ** 2 @ kept
        own = h[:, None] * centred[rows]
        return np.asarray(
            (U[rows] @ (kept[:, None] * inside) - own) / np.maximum(1 - h, 1e-9)[:, None] + mean
        )

    some = slice(None, None, -(-len(Y) // JUDGES))

    def merit(strength: float) -> float:
        out = left_out(strength, some)
        return float(np.mean(np.sum((out - Y[some]) ** 2, axis=1)) - 0.5 * is_right(out, Y[some]).mean())

    strength = float(min(STRENGTHS, key=merit))
    solve = V * (d / (d**2 + strength * scale))
    return RidgeFit(solve @ inside, mean, left_out(strength, slice(None)), solve @ U.T, strength)


def _thin(z: Floats) -> tuple[Floats, Floats, Floats]:
    """`U, d, V` of the thin singular value decomposition, through the smaller Gram matrix.

    Directions below 1e-7 of the largest drown in rounding, and in any strength, and are left out.
    """
    wide = len(z) < z.shape[1]
    squares, vectors = np.linalg.eigh(z @ z.T if wide else z.T @ z)
    good = squares > 1e-14 * max(float(squares[-1]), 1e-300)
    d, vectors = np.sqrt(squares[good]), vectors[:, good]
    other = (z.T @ vectors if wide else z @ vectors) / d
    return (vectors, d, other) if wide else (other, d, vectors)


def discriminant(Z: Any, P: Any, backend: Backend = HERE) -> Any:
    """(n, K) linear discriminant scores, the moments weighted by the probabilities `P` (n, K).

    Divided by `sqrt(d)`: the columns are far from independent, and undamped scores are all 0 or 1.
    """
    (n, d), space = Z.shape, backend.space(len(Z))
    total = np.maximum(backend.array(P.sum(axis=0)), 1e-9)
    means = space.gram(P, Z) / total[:, None]
    apart = P @ backend.given(means)
    apart -= Z
    C = space.gram(apart, apart) / n
    C += np.eye(d) * (SHRINKAGE * np.trace(C) / d + 1e-12)
    pulled = np.linalg.solve(C, means.T)
    level = np.log(total / total.sum()) - 0.5 * np.einsum("kd,dk->k", means, pulled)
    scores = Z @ backend.given(pulled)
    scores += backend.given(level)
    return scores / np.sqrt(d)


def is_right(scores: Floats, Y: Floats) -> Bools:
    """(n,) whether the best-scored class of a row is one of its own."""
    return np.asarray(Y[np.arange(len(Y)), scores.argmax(axis=1)] > 0)


def unit_rows(Z: Floats) -> Floats:
    """Rows of length one; a row of zeros stays."""
    return np.ascontiguousarray(Z / row_lengths(Z))


def row_lengths(Z: Any) -> Any:
    """(n, 1) the lengths of rows; 1 for a row of zeros."""
    length = (Z * Z).sum(axis=1, keepdims=True) ** 0.5
    return length + (length == 0)


def squared_distances(X: Floats, Y: Floats) -> Floats:
    """(n, m) `|x_i - y_j|^2`, through the inner products.

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])).tolist()
    [[0.0], [25.0]]
    """
    found = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Y, Y)
    found -= 2 * X @ Y.T
    return np.asarray(np.maximum(found, 0.0, out=found))


def judgeable(Y: Floats) -> Bools:
    """(m,) labels that can be judged when held out: another labelled node has one of their classes."""
    return np.asarray((Y * (Y.sum(axis=0) > 1)).any(axis=1))
