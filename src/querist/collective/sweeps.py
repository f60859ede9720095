"""Jacobi sweeps over a network, fused: one pass reads a neighbour once and writes a row once.

For `A Y = B` with `A = diag(rho) + lam L`, and `c` at least the diagonal of `A`:

    r_i = B_i - A_ii Y_i + lam sum_j S_ij Y_j,     out_i = Y_i + r_i / c_i.

`out_i` is an average of a node's counts and its neighbours: rows that start on the simplex stay there. The
residual of `Y` comes with the pass, so no further one is needed to know when to stop. On a network that is
larger than the caches a solver's time is its passes over the block; conjugate gradients take fewer steps
but a dozen passes in each, so where a sweep shrinks the residual well, sweeps win.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from querist.compiled import compiled
from querist.operator.kernels import combine_rows
from querist.operator.threads import each
from querist.types import Floats

BLOCK = 100_000
"""Fewest non-zeros in a block of rows. Blocks depend on the data alone, so that sums do too, whatever the
cores."""

MOST_BLOCKS = 8

TILE = 32
"""Rows whose residuals stay in the nearest cache until they are used."""


def blocks_of(indptr: Any) -> list[tuple[int, int]]:
    """Ranges of rows with about equally many non-zeros, for as many threads."""
    total = int(indptr[-1])
    blocks = min(MOST_BLOCKS, max(1, total // BLOCK))
    goals = np.linspace(0, total, blocks + 1)[1:-1]
    return list(pairwise([0, *np.searchsorted(indptr, goals).tolist(), indptr.size - 1]))


@compiled
def sweep_rows(
    indptr: Any,
    indices: Any,
    weights: Any,
    centre: Any,
    step: Any,
    factors: Any,
    B: Any,
    Y: Any,
    out: Any,
    squares: Any,
    first: int,
    last: int,
) -> None:
    """Rows first..last-1 of a sweep; `squares` (K,) gets the residual's sums of squares, by column.

    `centre` (n,) is the diagonal of `A`, `step` (n,) is `1/c`, `factors` are those with which `combine_rows`
    gives the residual.
    """
    K, (scale, sign, shift, previous) = Y.shape[1], factors
    for k in range(K):
        squares[k] = 0.0
    for begin in range(first, last, TILE):
        end = min(begin + TILE, last)
        combine_rows(indptr, indices, weights, centre, Y, B, out, scale, sign, shift, previous, begin, end)
        for i in range(begin, end):
            for k in range(K):
                r = out[i, k]
                squares[k] += r * r
                out[i, k] = Y[i, k] + step[i] * r


@dataclass(frozen=True)
class Sweeper:
    """Sweeps over one CSR network, whose weights have the dtype of the blocks."""

    indptr: Any
    indices: Any
    weights: Any

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows."""
        return blocks_of(self.indptr)

    def sweep(self, centre: Floats, step: Floats, lam: float, B: Floats, Y: Floats, out: Floats) -> Floats:
        """Fill `out`; (K,) the lengths of the columns of the residual of `Y`."""
        factors = tuple(Y.dtype.type(factor) for factor in (-1, -lam, 0, 1))  # -(C - lam S) Y + B

        def work(rows: tuple[int, int]) -> Floats:
            squares = np.empty(Y.shape[1])
            network = (self.indptr, self.indices, self.weights)
            sweep_rows(*network, centre, step, factors, B, Y, out, squares, *rows)
            return squares

        return np.asarray(np.sqrt(sum(each(work, self.blocks))))
