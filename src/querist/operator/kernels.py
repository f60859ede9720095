"""The product of a sparse matrix with a block of vectors, compiled, a range of rows at a time.

Every heavy computation of the project is this one loop. It is bound by memory: each non-zero brings in a
row of the block. So a row is summed in registers (lanes.py), with what its callers would otherwise make
further passes for. A row is always summed in the same order by one thread: the result does not depend on how
many there are.
"""

from typing import Any

from querist.compiled import compiled
from querist.operator.lanes import combine


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
    combine(
        indptr, indices, values, centre, X, Z, out, scale, scale * sign, shift, previous, first, last
    )  # fmt: skip


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
