"""Kernels: how alike two vectors are, and how wide the RBF kernel is.

- linear `k(x, y) = x.y`
- RBF    `k(x, y) = exp(-|x - y|^2 / (2 sigma^2))`, with `sigma^2` ("width") the mean
  *unsquared* Euclidean distance between items: bls19 IV-A says so, and its tables
  follow it, although the units of the two do not match.

The vectors of a budget are the columns of an (d, capacity) array, so that one new
vector against all of them is a sum of rows: no reduction, any feature count, and a
sparse vector touches only its own features. Dense vectors are compared by differences;
sparse ones by `|x|^2 + |y|^2 - 2 x.y`, which may differ in the last digits.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from querist.compiled import compiled, compiled_fused, compiled_lanes
from querist.types import Codes, Floats

KernelName: TypeAlias = Literal["rbf", "linear"]
LINEAR, RBF = 0, 1
CODES = {"linear": LINEAR, "rbf": RBF}

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93145751953125e-1, 1.4286068203094172e-6
SHIFT, SMALLEST = 1.5 * 2.0**52, -708.0


@compiled
def add_squared_distances(X: Floats, b: int, x: Floats, k: Floats) -> None:
    """`k_j += |x - X_j|^2` for the first b columns, four features at a time."""
    whole = x.size - x.size % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        r0, r1, r2, r3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        for j in range(b):
            e0, e1, e2, e3 = x0 - r0[j], x1 - r1[j], x2 - r2[j], x3 - r3[j]
            k[j] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
    for i in range(whole, x.size):
        x0, r0 = x[i], X[i]
        for j in range(b):
            e0 = x0 - r0[j]
            k[j] += e0 * e0


@compiled
def inner_products(X: Floats, b: int, indices: Codes, values: Floats, k: Floats) -> None:
    """`k_j = x.X_j` for the first b columns, by the features that x has, four at a time."""
    for j in range(b):
        k[j] = 0.0
    whole = values.size - values.size % 4
    for n in range(0, whole, 4):
        v0, v1, v2, v3 = values[n], values[n + 1], values[n + 2], values[n + 3]
        r0, r1, r2, r3 = X[indices[n]], X[indices[n + 1]], X[indices[n + 2]], X[indices[n + 3]]
        for j in range(b):
            k[j] += (v0 * r0[j] + v1 * r1[j]) + (v2 * r2[j] + v3 * r3[j])
    for n in range(whole, values.size):
        v, row = values[n], X[indices[n]]
        for j in range(b):
            k[j] += v * row[j]


@compiled
def add_inner_products(X: Floats, b: int, x: Floats, k: Floats) -> None:
    """`k_j += x.X_j` for the first b columns."""
    for i in range(x.size):
        v, row = x[i], X[i]
        for j in range(b):
            k[j] += v * row[j]


@compiled_lanes
def squared_norm(values: Floats) -> float:
    """`|x|^2`."""
    total = 0.0
    for v in values:
        total += v * v
    return total


@compiled_fused
def decay(k: Floats, b: int, width: float) -> None:
    """`k_j <- exp(-k_j / (2 width))`, with no call inside the loop, so that it runs in vector lanes.

    `exp(x) = 2^n exp(r)` with `n = round(x / ln 2)` and `|r| <= ln(2)/2`, where the Taylor series of
    degree 13 is exact to rounding. ln 2 is taken in two parts, so that `n ln 2` keeps its digits;
    adding 1.5 x 2^52 leaves n in the low bits of a float, from where it moves into an exponent.
    """
    c = -0.5 / width
    for j in range(b):
        x = c * k[j]
        shifted = max(x, SMALLEST) * LOG2_E + SHIFT
        n = shifted - SHIFT
        r = (max(x, SMALLEST) - n * LN2_HIGH) - n * LN2_LOW
        e = 1 / 6227020800
        e = e * r + 1 / 479001600
        e = e * r + 1 / 39916800
        e = e * r + 1 / 3628800
        e = e * r + 1 / 362880
        e = e * r + 1 / 40320
        e = e * r + 1 / 5040
        e = e * r + 1 / 720
        e = e * r + 1 / 120
        e = e * r + 1 / 24
        e = e * r + 1 / 6
        e = e * r + 0.5
        e = (e * r) * r + r + 1.0
        exponent = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52)
        k[j] = e * exponent.view(np.float64) if x >= SMALLEST else 0.0


@compiled
def dense_row(code: int, width: float, X: Floats, b: int, x: Floats, k: Floats) -> float:
    """Fill `k` with the kernel of x and the budget; give `k(x, x)`."""
    for j in range(b):
        k[j] = 0.0
    if code == LINEAR:
        add_inner_products(X, b, x, k)
        return squared_norm(x)
    add_squared_distances(X, b, x, k)
    decay(k, b, width)
    return 1.0


@compiled
def gram_triangle(code: int, width: float, X: Floats, norms: Floats, b: int, K: Floats) -> None:
    """The lower triangle of the kernel of the first b columns with themselves; their squared norms are given.

    Values have the bits of `dense_row`.
    """
    for j in range(b):
        dense_row(code, width, X, j, X[:, j], K[j])
        K[j, j] = norms[j] if code == LINEAR else 1.0


@compiled
def sparse_row(
    code: int, width: float, X: Floats, norms: Floats, b: int, indices: Codes, values: Floats, k: Floats
) -> float:
    """`dense_row` for a vector given by its features and their values."""
    inner_products(X, b, indices, values, k)
    norm = squared_norm(values)
    if code == LINEAR:
        return norm
    for j in range(b):
        # Rounding can leave a tiny negative distance between equal vectors.
        k[j] = max(norm + norms[j] - 2.0 * k[j], 0.0)
    decay(k, b, width)
    return 1.0


def gram_of(kernel: KernelName, width: float) -> Callable[[Any, Any], Any]:
    """The kernel as a function of rows (n, d) and rows (m, d) that gives (n, m) values.

    >>> gram_of("linear", 1.0)(np.eye(2), np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if kernel == "linear":
        return lambda A, B: dense(A @ B.T)
    return lambda A, B: np.exp(-_squared_distances(A, B) / (2 * width))


def mean_distance(X: Any, pairs: int | None = None, seed: int = 0) -> float:
    """Mean Euclidean distance between rows: over all pairs, or over `pairs` sampled ones.

    1 where no two rows differ, so that it can be a width.

    >>> mean_distance(np.array([[0.0, 0.0], [3.0, 4.0]]))
    5.0
    """
    n = X.shape[0]
    if n < 2:
        return 1.0
    largest = float(abs(X).max())
    # Squares of large values overflow: measure in units of the largest.
    unit = largest if largest > 1e100 else 1.0
    if unit != 1.0:
        X = X / unit
    if pairs is None and n <= 1024:
        from scipy.spatial.distance import pdist

        # By differences: no digits are lost to a common offset.
        total = float(pdist(dense(X)).mean())
    elif pairs is None:
        blocks = (_squared_distances(X[i : i + 512], X) for i in range(0, n, 512))
        total = sum(float(np.sqrt(block).sum()) for block in blocks) / (n * (n - 1))
    else:
        rng = np.random.default_rng(seed)
        first = rng.integers(n, size=pairs)
        other = (first + rng.integers(1, n, size=pairs)) % n
        E: Any = X[first] - X[other]
        squares = np.einsum("ij,ij->i", E, E) if isinstance(E, np.ndarray) else E.multiply(E).sum(axis=1)
        total = float(np.sqrt(np.asarray(squares, dtype=np.float64)).mean())
    return total * unit if total > 0 else 1.0


def _squared_distances(A: Any, B: Any) -> Floats:
    """(n, m) `|a - b|^2`; dense rows by differences, so that a common offset costs no digits."""
    if not sp.issparse(A) and not sp.issparse(B):
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(A, B, "sqeuclidean"))
    a, b = (np.asarray(M.multiply(M).sum(axis=1)).ravel() for M in (sp.csr_array(A), sp.csr_array(B)))
    return np.maximum(a[:, None] + b - 2 * dense(sp.csr_array(A) @ sp.csr_array(B).T), 0.0)


def dense(M: Any) -> Floats:
    """The rows as an array."""
    return np.asarray(cast(Any, M).toarray() if sp.issparse(M) else M, dtype=np.float64)
