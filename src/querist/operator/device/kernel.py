"""The product of a sparse matrix with a block on a GPU, in Triton.

It is bound by memory: every entry of the matrix brings in a row of the block. A program has a few rows and
up to `WIDEST` columns; each of its threads holds four columns of one row, so that a row arrives in loads of
16 bytes, and asks for the rows of `AHEAD` entries before it adds the first.

A row with more than `LONG` entries would keep its program busy long after the others are done. Its entries
are cut in segments, each a row of its own in a further product, and added up in their order: the result is
the same at every call.

Where there is no Triton (torch on a CPU), torch's own product stands in (matrix.py). With
`TRITON_INTERPRET=1` Triton's interpreter runs the kernel on the CPU: tests do.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

import os
from typing import Any

import numpy as np
import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # torch on a CPU, or on a system that Triton is not built for
    triton = tl = None

LONG = 512
"""Entries of a row beyond which it is cut in segments."""

WIDEST = 64
"""Columns of a program."""

TILE, WARPS, AHEAD = 256, 2, 4
"""Numbers that a program holds, groups of 32 threads that work at it, entries that are asked for at a time.
Of those that benchmarks/device.py --sweep tries, these are at or near the best."""

FEW = 4
"""Rows of a program where Triton cannot compile one with more."""

Block = Any


def usable(device: Any) -> bool:
    """Whether the kernel can run there."""
    return triton is not None and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")


if triton is not None:

    @triton.jit
    def combine_kernel(
        first_of, last_of, indices, values, centre, X, out, n, K, stride,
        scale, scale_rest, weight, weight_rest, shift, shift_rest, previous, previous_rest,
        LONG: tl.constexpr, OWN: tl.constexpr, PREVIOUS: tl.constexpr, WEIGHTED: tl.constexpr,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr, AHEAD: tl.constexpr,
    ):  # fmt: skip
        """`out = (scale centre + shift) X + previous out + weight V X`; beyond `LONG` without V."""
        number = out.dtype.element_ty
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        here, inside = row < n, column < K
        first = tl.load(first_of + row, mask=here, other=0)
        last = tl.load(last_of + row, mask=here, other=0)
        last = tl.where(last - first > LONG, first, last)
        total = tl.zeros((ROWS, COLUMNS), dtype=number)
        steps = tl.max(last - first, axis=0)
        step = 0
        while step < steps:
            for ahead in tl.static_range(AHEAD):
                p = first + step + ahead
                there = p < last
                j = tl.load(indices + p, mask=there, other=0).to(tl.int64)
                x = tl.load(
                    X + j[:, None] * stride + column[None, :],
                    mask=there[:, None] & inside[None, :],
                    other=0.0,
                )
                if WEIGHTED:
                    x *= tl.load(values + p, mask=there, other=0.0).to(number)[:, None]
                total += x
            step += AHEAD
        nothing = tl.zeros((1,), dtype=number)
        total *= ((nothing + weight) + weight_rest)[:, None]
        whole = here[:, None] & inside[None, :]
        place = row[:, None] * stride + column[None, :]
        if OWN:
            own = (nothing + scale) + scale_rest
            own = own * tl.load(centre + row, mask=here, other=0.0).to(number)
            own += (nothing + shift) + shift_rest
            total += own[:, None] * tl.load(X + place, mask=whole, other=0.0)
        if PREVIOUS:
            before = (nothing + previous) + previous_rest
            total += before[:, None] * tl.load(out + place, mask=whole, other=0.0)
        tl.store(out + place, total, mask=whole)

    @triton.jit
    def add_kernel(rows, bounds, parts, out, K, stride, weight, weight_rest, COLUMNS: tl.constexpr):
        """`out[rows[i]] += weight sum of parts[bounds[i] : bounds[i + 1]]`, in their order."""
        i = tl.program_id(0)
        column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        inside = column < K
        last = tl.load(bounds + i + 1)
        part = tl.load(bounds + i)
        total = tl.zeros((COLUMNS,), dtype=out.dtype.element_ty)
        while part < last:
            total += tl.load(parts + part * K + column, mask=inside, other=0.0)
            part += 1
        place = out + tl.load(rows + i) * stride + column
        total = total * weight + total * weight_rest
        tl.store(place, tl.load(place, mask=inside, other=0.0) + total, mask=inside)


class LongRows:
    """Rows with more than `LONG` entries, and the segments their entries are cut in."""

    def __init__(self, indptr: Any, longest: int | None = None) -> None:
        self.longest = LONG if longest is None else longest
        lengths = indptr[1:] - indptr[:-1]
        self.rows = torch.nonzero(lengths > self.longest).ravel()
        if not len(self.rows):
            return
        starts, lengths = indptr[:-1][self.rows], lengths[self.rows]
        counts = (lengths + self.longest - 1) // self.longest
        self.bounds = torch.zeros(len(counts) + 1, dtype=torch.int64, device=indptr.device)
        self.bounds[1:] = torch.cumsum(counts, 0)
        owner = torch.repeat_interleave(torch.arange(len(counts), device=indptr.device), counts)
        within = torch.arange(len(owner), device=indptr.device) - self.bounds[owner]
        self.first = starts[owner] + within * self.longest
        self.last = torch.minimum(self.first + self.longest, starts[owner] + lengths[owner])


def columns_of(k: int) -> int:
    """Columns of a program, a power of two."""
    return min(WIDEST, max(4, 1 << (k - 1).bit_length()))


def halves(factor: float) -> tuple[float, float]:
    """A number as the sum of two, since a kernel gets numbers in float32."""
    high = float(np.float32(factor))
    return high, factor - high


def combine(
    indptr: Any,
    indices: Any,
    values: Any | None,
    centre: Any | None,
    X: Block,
    out: Block,
    long: LongRows,
    *,
    scale: float,
    weight: float,
    shift: float,
    previous: float,
) -> None:
    """`out <- (scale centre + shift) X + previous out + weight V X`, V with ones where `values` is None.

    X and out have one precision and share no memory; the rows of each lie side by side. With `previous` 0,
    out is not read. Without a centre V need not be square.
    """
    n, K = out.shape
    if not n or not K:
        return
    factors = scale, weight, shift, previous
    numbers = [half for factor in factors for half in halves(factor)]
    one = [half for factor in (0.0, 1.0, 0.0, 0.0) for half in halves(factor)]
    data, diagonal = (out if given is None else given for given in (values, centre))  # what is not read

    columns = columns_of(K)
    wide = triton.cdiv(K, columns)

    def by(rows: int) -> None:
        """With programs of so many rows, and of as many segments of long ones."""
        sizes = {"ROWS": rows, "COLUMNS": columns, "AHEAD": AHEAD, "num_warps": WARPS}
        alike = {"LONG": long.longest, "WEIGHTED": values is not None, **sizes}
        combine_kernel[(triton.cdiv(n, rows), wide)](
            indptr, indptr[1:], indices, data, diagonal, X, out, n, K, X.stride(0), *numbers,
            OWN=centre is not None, PREVIOUS=previous != 0, **alike,
        )  # fmt: skip
        if not len(long.rows):
            return
        parts = torch.empty((len(long.first), K), dtype=out.dtype, device=out.device)
        combine_kernel[(triton.cdiv(len(parts), rows), wide)](
            long.first, long.last, indices, data, diagonal, X, parts, len(parts), K, X.stride(0),
            *one, OWN=False, PREVIOUS=False, **alike,
        )  # fmt: skip
        add_kernel[(len(long.rows), wide)](
            long.rows, long.bounds, parts, out, K, out.stride(0), *halves(weight), COLUMNS=columns
        )

    try:
        by(TILE // columns)
    except RuntimeError:  # releases of Triton differ in the sizes that they can compile
        by(min(FEW, TILE // columns))
