"""The product of a sparse matrix with a block of vectors, compiled, a range of rows at a time.

Every heavy computation of the project is this one loop. It is bound by memory: each non-zero brings in a
row of the block. So it takes four neighbours in one pass over the row that it writes, and adds what its
callers would otherwise make further passes for. A row is always summed in the same order by one thread:
the result does not depend on how many there are.
"""

from typing import Any

from querist.compiled import compiled


@compiled
def combine_rows(
    indptr: Any,
    indices: Any,
    values: Any,
    centre: Any,
    X: Any,
    Z: Any,
    out: Any,
    scale: Any,
    sign: Any,
    shift: Any,
    previous: Any,
    first: int,
    last: int,
) -> None:
    """`out = scale (C + sign V) X + shift X + previous Z` in rows first to last - 1.

    V is (n, n) CSR, C = diag(centre), X, Z and out are (n, k). `out` may be Z, never X. With `previous` 0,
    Z is not read.
    """
    k, w = X.shape[1], scale * sign
    for i in range(first, last):
        row, own, a = out[i], X[i], scale * centre[i] + shift
        if previous != 0:
            before = Z[i]
            for c in range(k):
                row[c] = a * own[c] + previous * before[c]
        else:
            for c in range(k):
                row[c] = a * own[c]
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            x0, x1, x2, x3 = X[indices[p]], X[indices[p + 1]], X[indices[p + 2]], X[indices[p + 3]]
            v0, v1, v2, v3 = w * values[p], w * values[p + 1], w * values[p + 2], w * values[p + 3]
            for c in range(k):
                row[c] += (v0 * x0[c] + v1 * x1[c]) + (v2 * x2[c] + v3 * x3[c])
            p += 4
        while p < end:
            x0, v0 = X[indices[p]], w * values[p]
            for c in range(k):
                row[c] += v0 * x0[c]
            p += 1


@compiled
def degree_rows(indptr: Any, values: Any, degrees: Any) -> None:
    """`degrees_i = sum_j |V_ij|`."""
    for i in range(degrees.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += abs(values[p])
        degrees[i] = total


@compiled
def scale_entries(indptr: Any, indices: Any, values: Any, r: Any, out: Any) -> None:
    """`out_ij = r_i V_ij r_j` on the pattern of V, which may be another dtype."""
    for i in range(r.size):
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = r[i] * values[p] * r[indices[p]]
