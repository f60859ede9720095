"""The product of a sparse matrix with a block of vectors, compiled, a range of rows at a time.

Every heavy computation of the project is this one loop. It is bound by memory: each non-zero brings in a
row of the block. So a row is summed in registers (lanes.py), with what its callers would otherwise make
further passes for. A row is always summed in the same order by one thread: the result does not depend on how
many there are.
"""

from typing import Any

from querist.compiled import compiled
from querist.operator.lanes import LINE, columns_pass

_lines_8, _lines_4, _lines_3, _lines_2, _line = (columns_pass(LINE, parts) for parts in (8, 4, 3, 2, 1))
_half, _quarter = columns_pass(LINE // 2), columns_pass(LINE // 4)
_three, _two, _one = (columns_pass(1, parts) for parts in (3, 2, 1))


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
    w, lanes, k, K = scale * sign, LINE // X.itemsize, 0, X.shape[1]
    while k < K:
        left = K - k
        if left >= 8 * lanes:
            _lines_8(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 8 * lanes
        elif left >= 4 * lanes:
            _lines_4(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 4 * lanes
        elif left >= 3 * lanes:
            _lines_3(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 3 * lanes
        elif left >= 2 * lanes:
            _lines_2(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 2 * lanes
        elif left >= lanes:
            _line(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += lanes
        elif left >= lanes // 2:
            _half(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += lanes // 2
        elif left >= lanes // 4:
            _quarter(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += lanes // 4
        elif left >= 3:
            _three(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 3
        elif left >= 2:
            _two(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 2
        else:
            _one(indptr, indices, values, centre, X, Z, out, k, scale, w, shift, previous, first, last)
            k += 1


@compiled
def degree_rows(indptr: Any, values: Any, degrees: Any, first: int, last: int) -> None:
    """`degrees_i = sum_j |V_ij|` in rows first to last - 1."""
    for i in range(first, last):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += abs(values[p])
        degrees[i] = total


@compiled
def scale_entries(indptr: Any, indices: Any, values: Any, r: Any, out: Any, first: int, last: int) -> None:
    """`out_ij = r_i V_ij r_j` on the pattern of V, which may be another dtype, in rows first to last - 1."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = r[i] * values[p] * r[indices[p]]
