"""The inverse of a regularised Gram matrix, kept exact while vectors come and go.

`H = (K + D)^-1` of the `b` vectors in the budget, as its lower triangle; what lies
above the diagonal is never read. With `k` the kernel of a new vector with them,
`a = H k` and `s = k(x,x) + d_x - k'a`:

- grow (bls19 eq. 8):  `H <- [H + a a'/s, -a/s; -a'/s, 1/s]`
- drop any i:          `H <- H - h_i h_i'/h_ii`, without row and column i
- replace i:           both at once, in place, in the same pass that the next replacement multiplies by H

Each is O(b^2). The paper moves row i to the front by permutations before it drops it
(P_i and Q_i, whose sizes are misprinted); the formula needs no permutation.
"""

import numpy as np
import scipy.linalg

from querist.compiled import compiled, compiled_inside, compiled_lanes
from querist.errors import InputError
from querist.triangle import dot, product
from querist.types import Floats


def inverted(K: Floats, diagonal: Floats, what: str = "this", name: str = "it") -> Floats:
    """`(K + diag)^-1` by Cholesky; its lower triangle, and above it nothing of use.

    `what` is on the diagonal, and `name` is to be raised where that is not enough.
    """
    A = K.copy()
    A.flat[:: A.shape[0] + 1] += diagonal
    factor, info = scipy.linalg.lapack.dpotrf(A.T, lower=False, clean=False, overwrite_a=True)
    found = factor
    if info == 0:
        found, info = scipy.linalg.lapack.dpotri(factor, lower=False, overwrite_c=True)
    # LAPACK goes by columns: its upper triangle is our lower one. The largest entry is on the diagonal.
    lower = found.T
    if info != 0 or not np.isfinite(np.diagonal(lower)).all():
        raise indefinite(what, name)
    return np.asarray(lower)


def indefinite(what: str, name: str) -> InputError:
    """What to say of a kernel matrix that has no inverse."""
    return InputError(
        f"the kernel matrix with {what} on its diagonal is not positive definite; raise {name}, scale the "
        "features, or use a positive definite kernel"
    )


@compiled_inside
def column(H: Floats, b: int, i: int, h: Floats) -> None:
    """`h = H[:, i]`, half of it from the row."""
    for j in range(i):
        h[j] = H[i, j]
    for j in range(i, b):
        h[j] = H[j, i]


@compiled
def add_squares(H: Floats, b: int, h: Floats, ch: float, v: Floats, cv: float) -> None:
    """`H += ch h h' + cv v v'` on the lower triangle."""
    for i in range(b):
        p, h0, v0 = H[i], h[i] * ch, v[i] * cv
        for j in range(i + 1):
            p[j] += h0 * h[j] + v0 * v[j]


@compiled
def grow(H: Floats, b: int, a: Floats, s: float) -> None:
    """Append a vector with `a = H k` and Schur complement `s`; the budget is then b + 1."""
    add_squares(H, b, a, 1.0 / s, a, 0.0)
    for j in range(b):
        H[b, j] = -a[j] / s
    H[b, b] = 1.0 / s


# -- replacing, a pass at a time -------------------------------------------------
#
# A replacement needs a product with H and then changes all of H: two passes. The change can wait for
# the product of the next replacement, so that one pass does both. What waits is `h, v` and
# `owed = (ch, cv, slot, s)`: `H + ch h h' + cv v v'`, with row `slot` to be written exactly; ch = 0
# where nothing waits.


@compiled_lanes
def add_squares_and_multiply(
    H: Floats, b: int, h: Floats, ch: float, v: Floats, cv: float, x: Floats, out: Floats
) -> None:
    """`H += ch h h' + cv v v'` and `out = H x`, in one pass over the lower triangle."""
    for i in range(b):
        out[i] = 0.0
    whole = b - b % 4
    for i in range(0, whole, 4):
        p, q, r, s = H[i], H[i + 1], H[i + 2], H[i + 3]
        h0, h1, h2, h3 = h[i] * ch, h[i + 1] * ch, h[i + 2] * ch, h[i + 3] * ch
        v0, v1, v2, v3 = v[i] * cv, v[i + 1] * cv, v[i + 2] * cv, v[i + 3] * cv
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(i):
            hj, vj, xj = h[j], v[j], x[j]
            pj = p[j] + (h0 * hj + v0 * vj)
            qj = q[j] + (h1 * hj + v1 * vj)
            rj = r[j] + (h2 * hj + v2 * vj)
            sj = s[j] + (h3 * hj + v3 * vj)
            p[j] = pj
            q[j] = qj
            r[j] = rj
            s[j] = sj
            out[j] += (pj * x0 + qj * x1) + (rj * x2 + sj * x3)
            s0 += pj * xj
            s1 += qj * xj
            s2 += rj * xj
            s3 += sj * xj
        p[i] += h0 * h[i] + v0 * v[i]
        for j in range(i, i + 2):
            q[j] += h1 * h[j] + v1 * v[j]
        for j in range(i, i + 3):
            r[j] += h2 * h[j] + v2 * v[j]
        for j in range(i, i + 4):
            s[j] += h3 * h[j] + v3 * v[j]
        out[i] += s0 + (p[i] * x0 + q[i] * x1) + (r[i] * x2 + s[i] * x3)
        out[i + 1] += s1 + (q[i] * x0 + q[i + 1] * x1) + (r[i + 1] * x2 + s[i + 1] * x3)
        out[i + 2] += s2 + (r[i] * x0 + r[i + 1] * x1) + (r[i + 2] * x2 + s[i + 2] * x3)
        out[i + 3] += s3 + (s[i] * x0 + s[i + 1] * x1) + (s[i + 2] * x2 + s[i + 3] * x3)
    for i in range(whole, b):
        p, h0, v0, x0, s0 = H[i], h[i] * ch, v[i] * cv, x[i], 0.0
        for j in range(i + 1):
            p[j] += h0 * h[j] + v0 * v[j]
        for j in range(i):
            out[j] += p[j] * x0
            s0 += p[j] * x[j]
        out[i] += s0 + p[i] * x0


@compiled_inside
def _write_slot(H: Floats, b: int, v: Floats, owed: Floats) -> None:
    """The row of the vector that came last; what the squares left there is right up to rounding only."""
    i, s = int(owed[2]), owed[3]
    for j in range(i):
        H[i, j] = -v[j] / s
    for j in range(i + 1, b):
        H[j, i] = -v[j] / s
    H[i, i] = 1.0 / s
    owed[0] = 0.0


@compiled
def settle(H: Floats, b: int, h: Floats, v: Floats, owed: Floats) -> None:
    """Make the change that waits, so that H is the inverse."""
    if owed[0] != 0:
        add_squares(H, b, h, owed[0], v, owed[1])
        _write_slot(H, b, v, owed)


@compiled
def without(
    H: Floats,
    b: int,
    i: int,
    k: Floats,
    h: Floats,
    a: Floats,
    waiting_h: Floats,
    waiting_v: Floats,
    owed: Floats,
) -> None:
    """`a = H_i k`, H_i being H without vector i, and `h = H[:, i]`; `k_i = 0` is given, `a_i` comes out 0."""
    if owed[0] != 0:
        add_squares_and_multiply(H, b, waiting_h, owed[0], waiting_v, owed[1], k, a)
        _write_slot(H, b, waiting_v, owed)
    else:
        product(H, b, k, a)
    column(H, b, i, h)
    share = dot(h, k, b) / h[i]
    for j in range(b):
        a[j] -= share * h[j]
    a[i] = 0.0


@compiled
def replace(
    b: int, i: int, h: Floats, a: Floats, s: float, waiting_h: Floats, waiting_v: Floats, owed: Floats
) -> None:
    """A new vector takes the place of vector i: `h` and `a` from `without`, `s` its Schur complement."""
    for j in range(b):
        waiting_h[j], waiting_v[j] = h[j], a[j]
    waiting_v[i] = -1.0
    owed[0], owed[1], owed[2], owed[3] = -1.0 / h[i], 1.0 / s, i, s
