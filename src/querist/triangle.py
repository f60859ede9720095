"""A symmetric matrix as its lower triangle: what lies above the diagonal is never read.

A product reads every entry once, and an update writes half as much. Sums run
along vector lanes.
"""

from querist.compiled import compiled_lanes
from querist.types import Floats


@compiled_lanes
def dot(x: Floats, y: Floats, b: int) -> float:
    """`sum_i<b x_i y_i`."""
    total = 0.0
    for i in range(b):
        total += x[i] * y[i]
    return total


@compiled_lanes
def product(H: Floats, b: int, x: Floats, out: Floats) -> None:
    """`out = H x` from the lower triangle, four rows at a time: every entry is read once."""
    for i in range(b):
        out[i] = 0.0
    whole = b - b % 4
    for i in range(0, whole, 4):
        p, q, r, s = H[i], H[i + 1], H[i + 2], H[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(i):
            xj = x[j]
            out[j] += (p[j] * x0 + q[j] * x1) + (r[j] * x2 + s[j] * x3)
            s0 += p[j] * xj
            s1 += q[j] * xj
            s2 += r[j] * xj
            s3 += s[j] * xj
        out[i] += s0 + (p[i] * x0 + q[i] * x1) + (r[i] * x2 + s[i] * x3)
        out[i + 1] += s1 + (q[i] * x0 + q[i + 1] * x1) + (r[i + 1] * x2 + s[i + 1] * x3)
        out[i + 2] += s2 + (r[i] * x0 + r[i + 1] * x1) + (r[i + 2] * x2 + s[i + 2] * x3)
        out[i + 3] += s3 + (s[i] * x0 + s[i + 1] * x1) + (s[i + 2] * x2 + s[i + 3] * x3)
    for i in range(whole, b):
        p, x0, s0 = H[i], x[i], 0.0
        for j in range(i):
            out[j] += p[j] * x0
            s0 += p[j] * x[j]
        out[i] += s0 + p[i] * x0
