"""Block Lanczos with a filtered operator: the lower end of a spectrum from few products.

Subspace iteration forgets what the filter made of the block in the sweep before; Lanczos keeps it. From a
narrow random block Q the space `Q, p(M) Q, p(M)^2 Q, ...` is built, p a Chebyshev filter (filter.py), and
the wanted vectors are the largest of p(M) in it (polynomial filtered Lanczos: Fang and Saad, SIAM J. Sci.
Comput. 2012; restarts: Wu and Simon, SIAM J. Matrix Anal. 2000).

- A product costs little beside making its result orthogonal to the space, so the filter's degree is as
  high as rounding lets it be: fewer, better vectors.
- The known null vector v is the first of the space. What is found is orthogonal to it, and rounding has no
  chance to bring it back.
- `T = V'p(M)V` is summed as it is, not taken to be banded: restarts and fresh blocks need no special case.
- A block of b columns finds at most b copies of a multiple eigenvalue. Where b values lie so close together
  that they could be copies, a fresh random block joins the vectors found until nothing new turns up. Where
  that takes too long, as in graphs that are all copies, the caller has the wide block of chebyshev.py.

Ritz values of p(M) say nothing about values above the cut; the caller measures residuals with M itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from querist.operator.eigen.filter import filtered, growth, origins
from querist.operator.space import BlockOperator, Space
from querist.progress import Progress
from querist.types import Floats

LINE = 16
"""Columns of a float32 block in a cache line."""

LEAST = 48
"""For fewer pairs the sweeps of chebyshev.py, whose block is then narrow too, are as quick or quicker."""

REACH = 240.0, 1000.0
"""How much more the filter amplifies the null vector than the cut, at least and at most: with more, fewer
vectors are needed, and rounding shows earlier."""

RESTARTS = 2
"""Times that the space is made small again before the caller's next method is tried."""

COPIES = 0.05
"""Values nearer to each other than this times the tolerance could be copies of one."""

FAR = {30.0: 1, 100.0: 2}
"""Blocks that are taken in without a look, where errors exceed their goals by more."""

MISSING = 3
"""The same, where values are missing below the cut."""

PROBES = 3
"""Blocks with which a fresh start looks for copies that were missed."""

ROUNDING = 10
"""Directions that are smaller than this times the rounding are nothing but that."""

Block = Any


def width_of(count: int) -> int:
    """Columns of a block: about a sixth of those wanted, in whole cache lines.

    A product with more costs less a column, but then a larger space is needed.
    """
    return LINE * max(1, round(count / 100))


def room_of(count: int) -> int:
    """The most vectors that are kept."""
    return 4 * count + 4 * width_of(count)


def reach_of(tol: float, dtype: Any) -> float:
    """How far the filter may reach, so that what it makes of rounding stays small against the tolerance."""
    return float(np.clip(tol / (16 * np.finfo(dtype).eps), *REACH))


def beyond(count: int) -> float:
    """How many values the filter should let pass: near the cut it separates little, and the number of
    values below is an estimate."""
    return 1.5 * count + LINE


def worth(count: int, n: int) -> bool:
    """Whether the space stays small against the graph, and enough pairs are wanted to make up for it."""
    return count >= LEAST and 4 * room_of(count) <= n


class KrylovSpace:
    """Orthonormal vectors `V` (n, m), `T = V'p(M)V` and the next block; `advance` makes it grow.

    `count` pairs of M are wanted, whose null vector is the unit vector `v`, or nothing. The filter is small
    on [cut, top], which holds all others. `progress` is told the share of the work done.
    """

    def __init__(
        self,
        M: BlockOperator,
        v: Block | None,
        count: int,
        *,
        cut: float,
        top: float,
        reach: float,
        random: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.M, self.count, self.cut, self.top = M, count, cut, top
        self.random, self.progress = random, progress
        self.degree = max(2, round(float(np.arccosh(reach)) / float(growth(0.0, cut, top))))
        # The most that the filter makes of anything above the cut.
        self.least = 1 / float(np.cosh(self.degree * growth(0.0, cut, top)))
        most = room_of(count)
        self.V = M.space.basis(most)
        self.T = np.zeros((most, most))
        self.null = int(v is not None)
        if v is not None:
            self.V.put(0, v)
        self.m, self.products, self.restarts, self.probes, self.loose = self.null, 0, 0, 0, 0
        self.before = np.full(count, np.inf)
        self.Q = self._fresh()
        # The part of p(M) applied to the last block that leaves the space: (rows, columns of the block).
        self.leaving, self.last = np.empty((0, 0)), slice(0, 0)

    def advance(self, goals: Callable[[Floats], Floats], needed: int) -> Floats | None:
        """(m, count) the wanted vectors in terms of V once the first `needed` seem to have arrived.

        `goals(values)` is the residual at which a pair has; None when they do not.
        """
        skip = 0
        while self.restarts <= RESTARTS:
            if self.m + self.Q.shape[1] > self.T.shape[0]:
                self._restart(min(self.count + self.Q.shape[1], self.m - self.null))
                self.restarts += 1
            if self.m + self.Q.shape[1] > self.T.shape[0]:
                return None
            self._grow()
            skip -= 1
            if self.m - self.null < self.count or skip >= 0:
                continue
            theta, S = self.largest(self.count)
            values = origins(theta, self.degree, self.cut, self.top)
            # What leaves the space lies above the cut, about the centre of the spectrum.
            distance = np.maximum(theta - self.least, self.least)
            errors = np.linalg.norm(self.leaving @ S[self.last], axis=0) / distance
            errors *= (self.top + self.cut) / 2 - values
            below = theta[:needed] > 1.1 * self.least
            allowed = goals(values)[:needed]
            excess = float((errors[:needed] / allowed)[below].max(initial=0.0))
            if excess > 1 or not below.any():
                far = max((blocks for least, blocks in FAR.items() if excess > least), default=0)
                skip = far if below.all() else MISSING
                continue
            if self._complete(values[:needed], bool(below.all()), COPIES * float(allowed.max())):
                return S
        return None

    def vectors(self, S: Floats, to: Space) -> Block:
        """(n, k) the columns `V S`, as a block of another precision."""
        return self.V.combined(self.m, S, to)

    def _grow(self) -> None:
        """Take the next block in, and from its product make the one after."""
        Q, first = self.Q, self.m
        self.m += Q.shape[1]
        self.last = slice(first, self.m)
        self.V.put(first, Q)
        W = filtered(self.M, Q, self.degree, self.cut, self.top, self._multiplied)
        size = self._size(W)
        H = self._remove(W)
        self.T[: self.m, self.last] = H
        self.T[self.last, : self.m] = H.T
        self.T[self.last, self.last] = (H[self.last] + H[self.last].T) / 2
        self.T[: self.null] = self.T[:, : self.null] = 0.0  # known: a pair of its own
        self.Q, self.leaving = self._orthonormal(W, size)
        if 2 * self.Q.shape[1] < width_of(self.count):
            # Few different eigenvalues, so many copies of each: a narrow block is not the way.
            self.restarts = RESTARTS + 1

    def _multiplied(self) -> None:
        self.products += self.Q.shape[1]
        # Most graphs need a space of about 5/2 vectors for each that is wanted.
        self.progress(0.95 * min(1.0, self.products / (2.5 * self.count * self.degree)), "filtering")

    def _size(self, W: Block) -> float:
        """What a column measures, in the mean."""
        return float(np.sqrt(self.M.space.dot(W, W) / W.shape[1]))

    def _remove(self, W: Block) -> Floats:
        """(m, b) the part of W within the space, which is taken out of W."""
        H = self.V.inner(self.m, W)
        self.V.subtract(self.m, W, H)
        return H

    def _orthonormal(self, W: Block, size: float) -> tuple[Block, Floats]:
        """W, with its part within the space taken out, as Q R with Q orthonormal.

        `size` is what a column measured before. What one pass leaves of the space grows from block to block;
        two blocks that are cleaned twice start it from rounding again, since T is banded but for rounding
        (periodic reorthogonalisation: Grcar 1981).
        """
        space, rounding = self.M.space, float(np.finfo(self.M.dtype).eps)
        spread, turn = np.linalg.eigh(space.gram(W, W))
        keep = spread > (ROUNDING * rounding * size) ** 2
        length = np.sqrt(spread[keep])
        Q = space.rotated(W, turn[:, keep] / length)
        rows = space.rotated(Q, np.ones((Q.shape[1], 1)))
        left = float(np.abs(self.V.inner(self.m, rows)).max(initial=0.0))
        self.loose = 2 if left > np.sqrt(rounding) / 8 else self.loose - 1
        if self.loose > 0:
            self._remove(Q)
            rest, again = np.linalg.eigh(space.gram(Q, Q))
            own = rest > 0.5  # the others were rounding
            Q = space.rotated(Q, again[:, own] / np.sqrt(rest[own]))
        return Q, (turn[:, keep] * length).T

    def _fresh(self, Q: Block | None = None) -> Block:
        """A random block, orthonormal to the space and to Q."""
        width = width_of(self.count)
        W = self.M.space.random(self.random, width)
        size = self._size(W)
        for _ in "ab":
            self._remove(W)
            if Q is not None:
                self.M.space.remove(W, Q)
        return self._orthonormal(W, size)[0]

    def largest(self, count: int) -> tuple[Floats, Floats]:
        """The largest pairs of T, falling."""
        # All of them: LAPACK finds a part by another method, which takes longer and can fail.
        theta, S = np.linalg.eigh(self.T[: self.m, : self.m])
        return theta[: -count - 1 : -1], S[:, : -count - 1 : -1]

    def _restart(self, keep: int) -> None:
        """Keep the best vectors of the space only."""
        theta, S = self.largest(keep)
        self.V.turn(self.null, self.m, S)
        self.m = self.null + keep
        self.T[:] = 0.0
        np.fill_diagonal(self.T[self.null : self.m, self.null : self.m], theta)

    def _complete(self, values: Floats, whole: bool, near: float) -> bool:
        """Whether no copy of a multiple eigenvalue can be missing; if one can, a fresh block looks for it.

        `whole` says that as many lie below the cut as are wanted.
        """
        if whole and longest_run(np.diff(values) <= near) + 1 < width_of(self.count):
            return True
        self.probes = max(0, self.probes - 1)
        if self.probes:
            return False
        same = bool((np.abs(values - self.before[: values.size]) <= near).all())
        if same and whole:
            return True
        if same:  # there are no more: the cut is too low
            self.restarts = RESTARTS + 1
            return False
        self.before[: values.size], self.probes = values, PROBES
        self.restarts += 1
        self._restart(min(self.count, self.m - self.null))
        self.Q = self.M.space.beside(self.Q, self._fresh(self.Q))
        return False


def longest_run(marks: Any) -> int:
    """The most neighbouring True values.

    >>> longest_run(np.array([True, False, True, True]))
    2
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(marks, dtype=np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))
