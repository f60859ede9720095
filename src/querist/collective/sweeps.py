"""Jacobi sweeps over a network, fused: one pass reads a neighbour once and writes a row once.

For `A Y = B` with `A = diag(rho) + lam L`, and `c` at least the diagonal of `A`:

    r_i = B_i - A_ii Y_i + lam sum_j S_ij Y_j,     out_i = Y_i + r_i / c_i.

`out_i` is an average of a node's counts and its neighbours: rows that start on the simplex stay there. The
residual of `Y` comes with the pass, so no further one is needed to know when to stop. On a network that is
larger than the caches a solver's time is its passes over the block; conjugate gradients take fewer steps
but a dozen passes in each, so where a sweep shrinks the residual well, sweeps win.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from querist.compiled import compiled
from querist.types import Floats

AHEAD = 3
"""Rows whose neighbours are asked for before they are needed."""

BLOCK = 2_000_000
"""Non-zeros a block of rows. Blocks depend on the data alone, so that sums do too, whatever the cores."""

MOST_BLOCKS = 8


def blocks_of(indptr: Any) -> list[tuple[int, int]]:
    """Ranges of rows with about equally many non-zeros, for as many threads."""
    total = int(indptr[-1])
    blocks = min(MOST_BLOCKS, max(1, total // BLOCK))
    goals = np.linspace(0, total, blocks + 1)[1:-1]
    return list(pairwise([0, *np.searchsorted(indptr, goals).tolist(), indptr.size - 1]))


def each_block(work: Callable[[int], float], blocks: int) -> list[float]:
    """What `work` answers for every block, on as many threads as there are cores."""
    cores = min(os.cpu_count() or 1, blocks)
    if cores == 1:
        return [work(block) for block in range(blocks)]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, range(blocks)))


def _fetch(context: Any, block: Any, row: Any, column: Any) -> Any:
    """Ask for the cache line of `block[row, column]` and go on: a hint, which changes no value."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        strides = tools.unpack_tuple(builder, array.strides)
        word, byte, flag = strides[0].type, ir.IntType(8).as_pointer(), ir.IntType(32)
        wide = [a if a.type.width == word.width else builder.sext(a, word) for a in arguments[1:]]
        offset = builder.add(*(builder.mul(a, stride) for a, stride in zip(wide, strides, strict=True)))
        line = builder.gep(builder.bitcast(array.data, byte), [offset])
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        prefetch = tools.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [line, flag(0), flag(3), flag(1)])  # to read, often, as data
        return context.get_dummy_value()

    return types.void(block, row, column), code


tools: Any = cgutils
fetch: Any = intrinsic(_fetch)


@compiled
def fetch_row(indptr: Any, indices: Any, i: int, last: int, Y: Any) -> None:
    """Ask for the rows of the neighbours of node i, each of which may lie on two lines."""
    if i < last:
        for p in range(indptr[i], indptr[i + 1]):
            fetch(Y, indices[p], 0)
            fetch(Y, indices[p], Y.shape[1] - 1)


@compiled
def gather(indices: Any, weights: Any, first: int, last: int, Y: Any, row: Any) -> None:
    """`row_k = sum_p weights_p Y[indices_p, k]` over the entries first..last-1 of one node.

    Four classes at a time in registers: sums kept in memory would be checked for overlap with `Y` at every
    neighbour, which costs more than the sums. The neighbours' rows are in the nearest cache after the first
    four.
    """
    K, k = Y.shape[1], 0
    row[0] = 0.0
    nothing = row[0]  # of the dtype of the block
    while k + 4 <= K:
        a0, a1, a2, a3 = nothing, nothing, nothing, nothing
        for p in range(first, last):
            j, w = indices[p], weights[p]
            a0 += w * Y[j, k]
            a1 += w * Y[j, k + 1]
            a2 += w * Y[j, k + 2]
            a3 += w * Y[j, k + 3]
        row[k], row[k + 1], row[k + 2], row[k + 3] = a0, a1, a2, a3
        k += 4
    while k < K:
        a0 = nothing
        for p in range(first, last):
            a0 += weights[p] * Y[indices[p], k]
        row[k] = a0
        k += 1


@compiled
def sweep_rows(
    indptr: Any,
    indices: Any,
    weights: Any,
    first: int,
    last: int,
    centre: Any,
    step: Any,
    lam: Any,
    B: Any,
    Y: Any,
    out: Any,
    squares: Any,
) -> float:
    """Rows first..last-1 of a sweep; `squares` (K,) gets the residual's sums of squares, by column.

    `centre` (n,) is the diagonal of `A`, `step` (n,) is `1/c`.
    """
    K = Y.shape[1]
    for k in range(K):
        squares[k] = 0.0
    for i in range(first, last):
        fetch_row(indptr, indices, i + AHEAD, last, Y)
        gather(indices, weights, indptr[i], indptr[i + 1], Y, out[i])
        for k in range(K):
            own = Y[i, k]
            r = B[i, k] + lam * out[i, k] - centre[i] * own
            squares[k] += r * r
            out[i, k] = own + step[i] * r
    return 0.0


@compiled
def divergence_rows(
    indptr: Any, indices: Any, weights: Any, first: int, last: int, centre: Any, Y: Any, logs: Any, seen: Any
) -> float:
    """`sum_ij S_ij y_i . (logs_i - logs_j)` over the rows first..last-1: `tr Y'L logs`; `seen` is (K,)."""
    total = 0.0
    for i in range(first, last):
        fetch_row(indptr, indices, i + AHEAD, last, logs)
        gather(indices, weights, indptr[i], indptr[i + 1], logs, seen)
        for k in range(Y.shape[1]):
            total += Y[i, k] * (centre[i] * logs[i, k] - seen[k])
    return total


@dataclass(frozen=True)
class Sweeper:
    """Passes over one CSR network, whose weights have the dtype of the blocks; `degrees` (n,) likewise."""

    indptr: Any
    indices: Any
    weights: Any
    degrees: Floats

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows."""
        return blocks_of(self.indptr)

    def sweep(self, centre: Floats, step: Floats, lam: float, B: Floats, Y: Floats, out: Floats) -> Floats:
        """Fill `out`; (K,) the lengths of the columns of the residual of `Y`."""
        squares = np.empty((len(self.blocks), Y.shape[1]))

        def work(block: int) -> float:
            where = (self.indptr, self.indices, self.weights, *self.blocks[block])
            return sweep_rows(*where, centre, step, Y.dtype.type(lam), B, Y, out, squares[block])

        each_block(work, len(self.blocks))
        return np.asarray(np.sqrt(squares.sum(axis=0)))

    def divergence(self, Y: Floats, logs: Floats) -> float:
        """`tr Y'L logs`."""

        def work(block: int) -> float:
            where = (self.indptr, self.indices, self.weights, *self.blocks[block])
            return divergence_rows(*where, self.degrees, Y, logs, np.empty(Y.shape[1], dtype=Y.dtype))

        return float(sum(each_block(work, len(self.blocks))))
