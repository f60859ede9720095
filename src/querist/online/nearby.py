"""The nearest remembered node, exactly: the rule, the scan, and the screen that spares most of the scan.

**The rule.** Of the remembered nodes within one part in 1e10 (`TIE`) of the smallest squared distance the
earliest is taken: rounding must not choose between equals.

**The scan** measures them all: d operations for each of m remembered rows, from memory, one node at a time.

**The screen** takes many nodes at once. With rows x', y' from which the mean row is taken, `S = |x'|^2 +
|y'|^2` and `D = |x' - y'|^2 = S - 2 x'.y'`, a matrix product in single precision (unit roundoff u = 2^-24)
gives all D of a block of nodes. Rows rounded to single precision and sums of d terms in any order are off by
at most `(d + 3) u 2|x'||y'| <= (d + 3) u S`, the norms and the two sums after it by `5 u S`, and what the
scan itself rounds, in double precision, is less than `u S`. So with `c = 1.01 (d + 16) u`

    low = (1 - c) S - 2 x'.y'  <=  the distance that the scan would measure.

The node of the smallest `low` is measured as the scan does it, at D0. Only nodes with `low <= D0/(1 - TIE)`
can be as near; they are measured too, and the rule is applied to them. So the screen finds the scan's node
and the scan's distance to the last bit, whatever the product was worth.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from querist.compiled import compiled
from querist.types import Codes, Floats

Singles: TypeAlias = NDArray[np.float32]

TIE = 1e-10
"""Distances closer than this part of them, and scores closer than this, are equal."""

UNIT = 2.0**-24
"""Unit roundoff of single precision."""

UNDERFLOW = 1e-30
"""More than all that is lost to underflow, where the longest row has about length 1."""

WIDEST = 100_000
"""Columns beyond which `c` would no longer bound the error."""

BLOCK = 128
"""Nodes screened together."""

FEW = 128
"""Remembered nodes up to which a scan is as quick."""

ROOM = 2**24
"""The most entries of a product (64 MiB): more remembered nodes make shorter blocks."""


class View(NamedTuple):
    """A block of nodes before the rows that were remembered when it began."""

    product: Singles
    """(block, m) `-2 x'.y'`."""
    base: Singles
    """(block,) `(1 - c) |x'|^2`."""
    held: Singles
    """(m,) `(1 - c) |y'|^2`."""
    low: Singles
    """(n,) working room: lower bounds of one node's distances, each written at the node remembered."""
    close: Codes
    """(n,) working room: those that may be nearest."""
    factors: Floats
    """(2,) `1 - c`; and what turns squared distances of the rows into those of the product."""
    turn: Codes
    """(n,) where in the block a node of it is."""


# -- the rule and the scan ---------------------------------------------------------


@compiled
def squared_distance(x: Floats, y: Floats) -> float:
    """`|x - y|^2` in four interleaved sums."""
    s0 = s1 = s2 = s3 = 0.0
    whole = x.size - x.size % 4
    for i in range(0, whole, 4):
        d0, d1, d2, d3 = x[i] - y[i], x[i + 1] - y[i + 1], x[i + 2] - y[i + 2], x[i + 3] - y[i + 3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    for i in range(whole, x.size):
        s0 += (x[i] - y[i]) * (x[i] - y[i])
    return (s0 + s1) + (s2 + s3)


@compiled
def nearest(known: Codes, size: int, distance: Floats) -> int:
    """Of the first `size` known nodes the nearest, the earliest of equals; -1 if there is none."""
    least = np.inf
    for s in range(size):
        least = min(least, distance[known[s]])
    for s in range(size):
        if distance[known[s]] * (1.0 - TIE) <= least:
            return int(known[s])
    return -1


@compiled
def measure(rows: Floats, node: int, met: Codes, size: int, out: Floats) -> None:
    """Squared distances from a node's row to those of `met[:size]`, each written at its node."""
    x = rows[node]
    for s in range(size):
        out[met[s]] = squared_distance(x, rows[met[s]])


# -- the screen --------------------------------------------------------------------


@compiled
def bound_distances(view: View, i: int, rows: Floats, node: int, met: Codes, size: int) -> None:
    """Lower bounds of the distances from a node, the i-th of the block, to `met[:size]`.

    Nodes that were met since the block began are not in the product: they are measured.
    """
    product, low = view.product[i], view.low
    for s in range(product.size):
        low[met[s]] = product[s] + (view.base[i] + view.held[s])
    factor = view.factors[0] * view.factors[1]
    for s in range(product.size, size):
        low[met[s]] = factor * squared_distance(rows[node], rows[met[s]])


@compiled
def nearest_screened(view: View, rows: Floats, node: int, known: Codes, size: int, out: Floats) -> int:
    """As `nearest`; distances are measured, into `out`, only where the bounds leave a doubt."""
    if size == 0:
        return -1
    x, low = rows[node], view.low
    first, least = known[0], low[known[0]]
    for s in range(1, size):
        if low[known[s]] < least:
            first = known[s]
            least = low[first]
    limit = squared_distance(x, rows[first]) / (1.0 - TIE) * view.factors[1] + UNDERFLOW
    count = 0
    for s in range(size):
        j = known[s]
        if low[j] <= limit:
            out[j] = squared_distance(x, rows[j])
            view.close[count] = j
            count += 1
    return nearest(view.close, count, out)


class Screening:
    """Blocks of nodes before all that is remembered, while more and more is.

    Beside the rows it takes half as much memory again for those remembered, and `4 ROOM` bytes at most.
    """

    def __init__(self, rows: Floats) -> None:
        n, d = rows.shape
        self._rows, self._centre = rows, rows.mean(axis=0)
        reach = np.maximum(rows.max(axis=0) - self._centre, self._centre - rows.min(axis=0)).max()
        longest = np.sqrt(d) * max(reach, 2.0**-500)
        # A power of 2 changes no digit, and makes the longest row about 1 long at most.
        self._scale = 2.0 ** -np.clip(np.ceil(np.log2(longest)), -500, 500)
        self._factors = np.array([1.0 - 1.01 * (d + 16) * UNIT, self._scale**2])
        self._held, self._norms = np.empty((n, d), dtype=np.float32), np.empty(n, dtype=np.float32)
        self._size = 0
        self._product = np.empty(max(min(ROOM, BLOCK * n), n), dtype=np.float32)
        self._low, self._close = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
        self._turn = np.zeros(n, dtype=np.int64)

    def block(self, nodes: Codes, met: Codes) -> View:
        """These nodes before those met so far, in the order in which they were met."""
        m, new = met.size, slice(self._size, met.size)
        self._held[new], self._norms[new] = self._shifted(met[new])
        self._size = m
        x, base = self._shifted(nodes)
        product = self._product[: nodes.size * m].reshape(nodes.size, m)
        np.matmul(-2 * x, self._held[:m].T, out=product)
        self._turn[nodes] = np.arange(nodes.size)
        return View(product, base, self._norms[:m], self._low, self._close, self._factors, self._turn)

    def _shifted(self, nodes: Codes) -> tuple[Singles, Singles]:
        """Rows without their mean, and `(1 - c)` times their squared lengths."""
        x = self._scale * (self._rows[nodes] - self._centre)
        norms = self._factors[0] * np.einsum("ij,ij->i", x, x)
        return x.astype(np.float32), norms.astype(np.float32)


def fits(rows: Floats, lengths: Floats) -> bool:
    """Whether the bounds hold for rows of these squared lengths."""
    return rows.shape[1] <= WIDEST and bool(np.isfinite(lengths).all())


def block_length(met: int) -> int:
    """Nodes to screen together before so many remembered ones."""
    return max(1, min(BLOCK, ROOM // max(met, 1)))


def unscreened() -> View:
    """A view of nothing: every node is scanned."""
    nothing, no_nodes = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
    return View(nothing.reshape(0, 0), nothing, nothing, nothing, no_nodes, np.ones(2), no_nodes)
