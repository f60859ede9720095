"""The linear algebra of a round, compiled: draws, rank-one updates, blocks of columns.

Pure functions of arrays; what they are for stands in kernels.py and loop.py.
A symmetric matrix is its lower triangle: what lies above the diagonal is neither
read nor written.
"""

import numpy as np

from querist.compiled import compiled
from querist.types import Bools, Codes, Floats

BLOCK = 64
"""Columns of a screened block."""


@compiled
def draw(seed: int, t: int) -> float:
    """The uniform draw of round t: a hash of (seed, t), so asking twice agrees."""
    z = np.uint64(seed) * np.uint64(0xD1B54A32D192ED03) + np.uint64(t) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@compiled
def fill_draws(seed: int, first: int, out: Floats) -> None:
    """The draws of rounds first, first + 1, ..."""
    for i in range(out.size):
        out[i] = draw(seed, first + i)


@compiled
def count(flags: Bools) -> int:
    """How many are set."""
    total = 0
    for flag in flags:
        total += flag
    return total


@compiled
def add_outer(W: Floats, y: Floats, g: Floats) -> None:
    """`W += y g'`."""
    for k in range(y.size):
        w, yk = W[k], y[k]
        for i in range(g.size):
            w[i] += yk * g[i]


@compiled
def subtract_square(P: Floats, s: Floats) -> None:
    """`P -= s s'` in the lower triangle."""
    for i in range(s.size):
        p, si = P[i], s[i]
        for j in range(i + 1):
            p[j] -= si * s[j]


@compiled
def gather_columns(rows: Floats, order: Codes, start: int, X: Floats) -> None:
    """The rows of a block as columns, eight at a time: whole cache lines are written."""
    last = order.size - 1
    for b in range(0, BLOCK, 8):
        at = start + b
        r0, r1 = rows[order[min(at, last)]], rows[order[min(at + 1, last)]]
        r2, r3 = rows[order[min(at + 2, last)]], rows[order[min(at + 3, last)]]
        r4, r5 = rows[order[min(at + 4, last)]], rows[order[min(at + 5, last)]]
        r6, r7 = rows[order[min(at + 6, last)]], rows[order[min(at + 7, last)]]
        for i in range(rows.shape[1]):
            x = X[i]
            x[b], x[b + 1], x[b + 2], x[b + 3] = r0[i], r1[i], r2[i], r3[i]
            x[b + 4], x[b + 5], x[b + 6], x[b + 7] = r4[i], r5[i], r6[i], r7[i]


@compiled
def project(X: Floats, w: Floats, out: Floats) -> None:
    """`out_b = sum_i w_i X_ib`: one weight vector against every column."""
    for b in range(BLOCK):
        out[b] = 0.0
    for i in range(w.size):
        x, wi = X[i], w[i]
        for b in range(BLOCK):
            out[b] += x[b] * wi


@compiled
def quadratic_forms(P: Floats, X: Floats, out: Floats, half: Floats) -> None:
    """`out_b = x_b' P x_b` for every column: `sum_i x_i (P_ii x_i + 2 sum_j<i P_ij x_j)`.

    The triangle is half the work of a product, and the loops along the block
    vectorise; tiles of four rows of P and four of X keep the loads down.
    """
    for b in range(BLOCK):
        out[b] = 0.0
    h0, h1, h2, h3 = half[0], half[1], half[2], half[3]
    d = P.shape[0]
    for i in range(0, d - 3, 4):
        p, q, s, t = P[i], P[i + 1], P[i + 2], P[i + 3]
        for b in range(BLOCK):
            h0[b] = 0.0
            h1[b] = 0.0
            h2[b] = 0.0
            h3[b] = 0.0
        for j in range(0, i, 4):
            x0, x1, x2, x3 = X[j], X[j + 1], X[j + 2], X[j + 3]
            p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
            q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
            s0, s1, s2, s3 = s[j], s[j + 1], s[j + 2], s[j + 3]
            t0, t1, t2, t3 = t[j], t[j + 1], t[j + 2], t[j + 3]
            for b in range(BLOCK):
                a0, a1, a2, a3 = x0[b], x1[b], x2[b], x3[b]
                h0[b] = (((h0[b] + p0 * a0) + p1 * a1) + p2 * a2) + p3 * a3
                h1[b] = (((h1[b] + q0 * a0) + q1 * a1) + q2 * a2) + q3 * a3
                h2[b] = (((h2[b] + s0 * a0) + s1 * a1) + s2 * a2) + s3 * a3
                h3[b] = (((h3[b] + t0 * a0) + t1 * a1) + t2 * a2) + t3 * a3
        w, x, y, z = X[i], X[i + 1], X[i + 2], X[i + 3]
        p0, q0, s0, t0 = p[i], q[i], s[i], t[i]
        q1, s1, t1 = q[i + 1], s[i + 1], t[i + 1]
        s2, t2 = s[i + 2], t[i + 2]
        t3 = t[i + 3]
        for b in range(BLOCK):
            a0, a1, a2, a3 = w[b], x[b], y[b], z[b]
            first = a0 * (p0 * a0 + 2.0 * h0[b])
            second = a1 * (q1 * a1 + 2.0 * (h1[b] + q0 * a0))
            third = a2 * (s2 * a2 + 2.0 * (h2[b] + s0 * a0 + s1 * a1))
            fourth = a3 * (t3 * a3 + 2.0 * (h3[b] + t0 * a0 + t1 * a1 + t2 * a2))
            out[b] += (first + second) + (third + fourth)
    for i in range(d - d % 4, d):
        x, p = X[i], P[i]
        project(X, p[:i], h0)
        for b in range(BLOCK):
            out[b] += x[b] * (p[i] * x[b] + 2.0 * h0[b])
