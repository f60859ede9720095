"""The products of a recursion, with rows of neighbours in half precision.

Every non-zero of a matrix brings in a row of the block, and that is most of the time of a product. Rounded to
half precision it is half of the bytes. A rounded entry is off by up to 1/2048 of itself, but these errors are
independent, and a row averages those of its neighbours: with twenty neighbours a node, products of the
normalised Laplacian are off by about 4e-5 of their length. All else, the sums too, is single precision.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from querist.operator.kernels import combine_rounded_rows, round_rows
from querist.operator.lanes import halves_are_quick
from querist.operator.local import empty_block
from querist.operator.threads import over_rows

Block = NDArray[Any]

BEYOND_CACHES = 1 << 24
"""Bytes of a block in single precision from which rows of half precision are quicker; smaller ones lie in the
caches."""


def is_large(n: int, k: int) -> bool:
    """Whether an (n, k) block in single precision lies outside of the caches."""
    return 4 * n * k >= BEYOND_CACHES


def pays(n: int, k: int) -> bool:
    """Whether products with (n, k) blocks are quicker rounded: of large ones, by instructions that turn half
    precision to single."""
    return is_large(n, k) and halves_are_quick()


class RoundedProducts:
    """`out <- scale M X + shift X + previous out`, one after the other: X is what was given, then always the
    last `out`. Columns have a length of 1 or less, and stay so.

    `matrix` holds row pointers, indices, values and centre of `M = diag(centre) + sign V` in float32, and
    `bounds` cut its rows for threads. V may have more columns than rows, `room` in all: before a product
    `fill(halves)` brings in the rows that lie elsewhere.
    """

    def __init__(
        self,
        matrix: tuple[Any, ...],
        sign: int,
        bounds: list[int],
        X: Block,
        room: int | None = None,
        fill: Callable[[Block], None] = lambda halves: None,
    ) -> None:
        self.matrix, self.sign, self.bounds, self.fill = matrix, np.float32(sign), bounds, fill
        shape = (room or X.shape[0]), X.shape[1]
        self.halves, self.following = (empty_block(shape, np.uint16) for _ in "ab")
        over_rows(round_rows, (X, self.halves), bounds, X.size)

    def __call__(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """The next product."""
        self.fill(self.halves)
        factors = np.float32(scale), self.sign, np.float32(shift), np.float32(previous)
        arrays = *self.matrix, self.halves, self.following, X, out, out
        work = (self.matrix[2].size + X.shape[0]) * X.shape[1]
        over_rows(combine_rounded_rows, (*arrays, *factors), self.bounds, work)
        self.halves, self.following = self.following, self.halves
        return out
