"""Chebyshev-filtered subspace iteration for the lower end of a spectrum.

A block X of vectors is multiplied by a polynomial p(M) that is small on the unwanted interval [cut, top]
and grows as fast as a polynomial can below it: the Chebyshev polynomial of that interval. Its span turns to
the lowest eigenvectors, which a Rayleigh-Ritz step reads off (Zhou, Saad, Tiago and Chelikowsky 2006).

- The filter runs in float32 where the tolerance allows: it is bound by memory, and what it loses the next
  sweep repairs. So do the Rayleigh-Ritz steps and residuals, whose sums are float64, unless an eigenvalue is
  so small that rounding would show. The vectors that come out are orthonormal in float64.
- The cut comes from the spectral density (filter.py) before the first product, later from Ritz values. The
  first one lies high, with `sqrt(width n)` values below: a random block is nearly all unwanted, and what is
  wanted must first come out of that; a low cut separates too little to do it.
- The degree of a sweep is what the slowest wanted pair still needs, within what the precision can hold.
- Pairs that have arrived stay in the Rayleigh-Ritz step but are no longer filtered.
- The filter first serves a Lanczos method (krylov.py), which needs fewer products; the sweeps are there for
  what it cannot do. They can be interrupted, and go on from the block that they had.
- A block finds copies of multiple eigenvalues by itself, up to its width; where the cut falls inside one
  and the sweeps stall, the cut moves up.

A pair has arrived when `|Mv - lambda v| <= min(tol, lambda / 4)`: with the second, an eigenvalue lies within
a quarter of each one given, however small; rows divide by its root.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from querist.operator.eigen import krylov
from querist.operator.eigen.filter import Density, density, filtered, growth
from querist.operator.eigen.ritz import Ritz, nearest_orthonormal, orthonormal, ritz
from querist.operator.space import BlockOperator
from querist.progress import Progress
from querist.types import Floats

SWEEPS = 60
"""Filter sweeps before the solver gives up."""

PATIENCE = 3
"""Sweeps that gain little before float32 gives way to float64."""

COLUMNS = 16
"""Columns of a float32 block in a cache line."""

SINGLE = 2e-5
"""Tolerances from here on are reached by a float32 filter."""

REACH = {np.dtype(np.float32): 1e4, np.dtype(np.float64): 1e6}
"""How much more a sweep may amplify the lowest vector than the cut, so that rounding leaves the weakest."""

NEARLY, STRICTER = 0.95, 0.8
"""The part of its goal that a residual must reach before it is measured in float64, and how much less when it
was not enough there: a measurement costs as much as a product or two, another sweep many."""

Block = Any


class FilteredPairs(NamedTuple):
    """Pairs (growing), residuals, products with one vector, and whether all arrived.

    The vectors are a float64 block of the operator's space, or one of the sweeps' precision where that was
    asked for.
    """

    values: Floats
    vectors: Block
    residuals: Floats
    products: int
    arrived: bool


def width_of(count: int, size: int) -> int:
    """Columns of the block: the wanted ones and a fifth more, since the last ones arrive late.

    Rounded up to whole cache lines: see `empty_block`.
    """
    return min(size, -(-(count + max(12, count // 5)) // COLUMNS) * COLUMNS)


def filtered_pairs(
    make: Callable[[Any], BlockOperator],
    u: Block | None,
    count: int,
    *,
    ceiling: float,
    tol: float,
    seed: int,
    progress: Progress,
    start: Block | None = None,
    known: Density | None = None,
    spare: int = 0,
    keep: Callable[[Block], None] | None = None,
    exact: bool = True,
) -> FilteredPairs:
    """The `count` lowest pairs of a symmetric operator whose null vector is the unit vector `u`, or nothing.

    `make(dtype)` gives the operator in a precision, made once; no eigenvalue exceeds `ceiling`; `start` is
    (n, k), a guess of the lowest vectors; `known` the density, when it is known already; the last `spare`
    pairs are given as they are and need not arrive. `keep` is called with the block after every Rayleigh-Ritz
    step, for a later `start`; a Lanczos space would be too much to keep, so that there is none. Without
    `exact` what the sweeps found is taken in their own precision: a step in float64 takes more memory than
    all before it.
    """
    random = np.random.default_rng(seed)
    M = make(precision(tol, ceiling))
    v = None if u is None else M.space.given(u)
    seen = density(M, v, random) if known is None else known
    # The estimate could lie a little low; the ceiling cannot, and is as good where it is near.
    top = ceiling if ceiling <= 1.5 * seen.top else 1.05 * seen.top
    width = width_of(count, M.n - (u is not None))
    block = _Sweeps(M, v, top, width, count - spare, tol, progress, keep)
    numbers = float(block.width), krylov.beyond(count), float(np.sqrt(block.width * M.n))
    low, high, first = (min(seen.quantile(number), 0.9 * top) for number in numbers)
    if keep is None and krylov.worth(count, M.n):
        early = lanczos_pairs(
            make, M, u, count, cut=high, top=top, tol=tol, random=random, progress=progress, spare=spare
        )
        if early.arrived:
            return early
        # A copy may be missing among what it found: no place to start from.
        block.products = early.products
    block.begin(random, start, first if start is None else low)
    for number in range(SWEEPS):
        if number or block.late.any():
            block.sweep()
        if block.late.any():
            if block.stalls > PATIENCE and block.M.dtype == np.float32:
                # An eigenvalue so small that float32 cannot tell it from 0.
                block.promote(make(np.float64), u)
            continue
        if not exact:
            return FilteredPairs(*block.found(count), block.products, True)
        found = in_double(make, block.M, block.found(count), u, tol, top)
        if found.values.size < count:
            continue
        late = (found.residuals > goals(found.values, tol))[: count - spare]
        if not late.any():
            return FilteredPairs(*found, block.products, True)
        block.goal_factor *= STRICTER
    last = block.found(count)
    if exact:
        last = in_double(make, block.M, last, u, tol, top)
    return FilteredPairs(*last, block.products, False)


def lanczos_pairs(
    make: Callable[[Any], BlockOperator],
    M: BlockOperator,
    u: Block | None,
    count: int,
    *,
    cut: float,
    top: float,
    tol: float,
    random: np.random.Generator,
    progress: Progress,
    spare: int,
) -> FilteredPairs:
    """The pairs by filtered block Lanczos (krylov.py), checked in float64, as far as it comes."""
    v = None if u is None else M.space.given(u)
    reach = krylov.reach_of(tol, M.dtype)
    space = krylov.KrylovSpace(M, v, count, cut=cut, top=top, reach=reach, random=random, progress=progress)
    double, strict = M.space.in_double, 1.0
    while True:
        S = space.advance(partial(goals, tol=strict * tol), count - spare)
        if space.m - space.null < count:
            # Few different eigenvalues: the block ran into all that it holds of them before it had enough.
            nothing = np.empty(0)
            return FilteredPairs(nothing, double.empty(0), nothing, space.products, False)
        turn = space.largest(count)[1] if S is None else S
        found = in_double(make, M, ritz(M, space.vectors(turn, M.space), v), u, tol, top)
        whole = found.values.size == count and found.values[-1 - spare] < cut
        late = (found.residuals > goals(found.values, tol))[: count - spare]
        if S is None or not whole or not late.any() or strict < 0.1:
            return FilteredPairs(*found, space.products, whole and not late.any())
        strict /= 2


def in_double(
    make: Callable[[Any], BlockOperator],
    M: BlockOperator,
    found: Ritz,
    u: Block | None,
    tol: float,
    ceiling: float,
) -> Ritz:
    """The pairs that M gave in its own precision, with vectors orthonormal in float64.

    Values and residuals stay as they were measured, where the least goal is large against the rounding of M;
    else the pairs within the span are taken anew, by the operator in float64.
    """
    exact = M.space.in_double
    v = None if u is None else exact.given(u)
    if M.dtype == np.float32 and precision_for(found.values, tol, ceiling) == np.float32:
        return found._replace(vectors=nearest_orthonormal(exact, found.vectors, v))
    X = exact.empty(found.values.size)
    X[:] = found.vectors
    return ritz(make(np.float64), X, v)


def precision(tol: float, ceiling: float) -> type[np.floating[Any]]:
    """float32 where its rounding, relative to the largest eigenvalue, is small against the tolerance."""
    return np.float32 if tol >= SINGLE * ceiling else np.float64


def precision_for(values: Floats, tol: float, ceiling: float) -> type[np.floating[Any]]:
    """float32 where its rounding is small against the goals of all these values."""
    return precision(float(goals(values, tol).min(initial=tol)), ceiling)


def goals(values: Floats, tol: float) -> Floats:
    """(k,) the residual at which a pair has arrived; below 1e-12 there is only rounding."""
    return np.minimum(tol, np.maximum(values / 4, 1e-12))


class _Sweeps:
    """The block, and where the sweeps stand; the maths is in the functions below."""

    def __init__(
        self,
        M: BlockOperator,
        v: Block,
        top: float,
        width: int,
        count: int,
        tol: float,
        progress: Progress,
        keep: Callable[[Block], None] | None = None,
    ) -> None:
        self.keep = keep
        self.M, self.v, self.top, self.width, self.count, self.tol = M, v, top, width, count, tol
        self.ready, self.products, self.expected, self.stalls, self.lowest = 0, 0, 0, 0, 0.0
        self.progress = progress
        self.worst, self.goal_factor = np.inf, NEARLY
        self.late: Any = np.ones(count, dtype=bool)
        self.X: Block = None

    def begin(self, random: np.random.Generator, start: Block | None, cut: float) -> None:
        """A block in general position, filtered once unless there is a guess to start from, and judged."""
        self.random = random
        self.cut, self.degree = cut, most_degree(0.0, cut, self.top, self.M.dtype)
        space = self.M.space
        X = space.random(random, self.width)
        if start is not None:
            X[:, : start.shape[1]] = space.given(start[:, : self.width])
        # Most graphs take about three sweeps like the first.
        self.expected = 3 * self.degree * self.width
        X = orthonormal(space, X, self.v)
        if start is None:
            X = self._filtered(X, self.degree)
        self.judge(ritz(self.M, X, self.v))

    def promote(self, M: BlockOperator, u: Block | None) -> None:
        """Go on in float64."""
        self.M, self.v = M, None if u is None else M.space.given(u)
        self.X, self.stalls, self.worst = M.space.given(self.X), 0, np.inf

    def found(self, count: int) -> Ritz:
        """The pairs in the precision of the block."""
        return Ritz(self.values[:count], self.X[:, :count], self.errors[:count])

    def _filtered(self, X: Block, degree: int) -> Block:
        def each() -> None:
            self.products += X.shape[1]
            self.progress(0.95 * min(1.0, self.products / self.expected), "filtering")

        return filtered(self.M, X, degree, self.cut, self.top, each, lowest=self.lowest)

    def sweep(self) -> None:
        """Filter what is late, then Rayleigh-Ritz."""
        X, ready = self.X, self.ready
        degree = max(1, min(self.degree, most_degree(self.lowest, self.cut, self.top, self.M.dtype)))
        X[:, ready:] = self._filtered(X[:, ready:], degree)
        self.judge(ritz(self.M, X, self.v))

    def judge(self, found: Ritz) -> None:
        """Who is late, and from that the cut and degree of the next sweep."""
        self.values, self.X, self.errors = values, _, errors = self._whole(found)
        if self.keep is not None:
            self.keep(self.X)
        excess = (errors / goals(values, self.tol))[: self.count]
        self.late = excess > self.goal_factor
        if not self.late.any():
            return
        self.ready = int(np.argmax(self.late)) // COLUMNS * COLUMNS
        self.lowest = float(values[self.ready])
        before, self.worst = self.worst, float(excess.max())
        stalled = self.worst * expected_gain(before / self.goal_factor) > before
        self.stalls = self.stalls + 1 if stalled else max(0, self.stalls - 1)
        self.cut = next_cut(values, self.count, self.cut, self.top, self.stalls)
        late = values[: self.count][self.late]
        self.degree = needed_degree(late, excess[self.late] / self.goal_factor, self.cut, self.top)
        self.expected = self.products + self.degree * (self.width - self.ready)

    def _whole(self, found: Ritz) -> Ritz:
        """With fresh columns, late by any measure, in place of those that fell together."""
        lost = self.width - found.values.size
        if not lost:
            return found
        space = self.M.space
        fresh = space.random(self.random, lost)
        fresh /= space.given(np.sqrt(space.dots(fresh, fresh)))
        last = found.values[-1] if found.values.size else self.top
        return Ritz(
            np.append(found.values, np.full(lost, last)),
            space.beside(found.vectors, fresh),
            np.append(found.residuals, np.full(lost, self.top)),
        )


def needed_degree(values: Floats, excess: Floats, cut: float, top: float) -> int:
    """The degree that brings every residual, `excess` times its goal, below the goal with a margin of 2."""
    steps = np.arccosh(np.maximum(2 * excess, 1.0)) / growth(values, cut, top)
    return int(min(np.ceil(steps.max(initial=4.0)), 10_000))


def expected_gain(excess: float) -> float:
    """How many times smaller a sweep should make the worst residual, `excess` times its goal.

    A sweep with little left to gain has a low degree, and gains little without being stuck.
    """
    return float(min(3.0, np.sqrt(excess)))


def most_degree(lowest: float, cut: float, top: float, dtype: Any) -> int:
    """The degree beyond which the lowest vector of the block drowns the others in rounding.

    Nor may what rounding leaves of lower ones, null or arrived and no longer in the block, grow to its size.
    """
    reach, rounding = REACH[np.dtype(dtype)], float(np.finfo(dtype).eps)
    inside = np.arccosh(reach) / float(growth(lowest, cut, top))
    below = np.arccosh(0.1 / rounding) / float(growth(0.0, cut, top))
    return max(4, int(min(inside, below)))


def next_cut(values: Floats, count: int, cut: float, top: float, stalls: int) -> float:
    """Where the unwanted part begins, judged by the Ritz values of the whole block."""
    last, wanted = float(values[-1]), float(values[min(count, values.size) - 1])
    if last < cut or wanted > cut or stalls:
        # Ritz values lie above their eigenvalues, so the last one is a safe cut; a cut inside a multiple
        # eigenvalue separates nothing, so one that stalls twice moves on. Not at once: above what the block
        # can hold, a filter lets others through and gains less.
        cut = last + 0.2 * max(0, stalls - 1) * max(last - float(values[0]), 0.05 * top)
    return float(min(max(cut, 1e-6 * top), 0.9 * top))
