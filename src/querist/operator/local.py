"""Blocks in the memory of this process: NumPy arrays, worked on by its threads.

Rows are taken a few at a time, so that what is made of them stays in the cache and a float32 block needs no
float64 copy. The parts depend on the rows alone, so sums over them do not depend on the threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from querist.operator import narrow
from querist.operator.lanes import LINE
from querist.operator.space import OrthonormalBasis, Space
from querist.operator.threads import over_parts
from querist.types import Floats

CHUNK = 4096
"""Rows worked on at a time."""

NARROW = 32
"""Columns up to which BLAS is the slower way to a Gram matrix."""

FEW = 8
"""Columns below which a loop over each is quicker than one over rows."""

TURNED = 256
"""Rows of two blocks that are turned at a time: what is made of them stays in the cache."""

NEAR = 1e-5
"""How little a turn must change a float32 block, so that the change may be multiplied in float32: what it
loses of a unit vector is then below 1e-12."""

Block = NDArray[Any]
T = TypeVar("T")


def empty_block(shape: tuple[int, int], dtype: DTypeLike) -> Block:
    """An uninitialised (n, k) block that starts on a cache line.

    With a k that fills whole lines, no row shares one with another: a random row then costs its own lines
    and no more.

    >>> empty_block((3, 8), np.float64).shape
    (3, 8)
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + LINE, dtype=np.uint8)
    first = -raw.ctypes.data % LINE
    return raw[first : first + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class LocalSpace:
    """Blocks of `n` rows, all here. A space with rows elsewhere too inherits it, takes parts of its
    own in `over` and adds up in `total`.

    >>> space = LocalSpace(3, np.dtype(np.float64))
    >>> space.gram(np.eye(3)[:, :2], np.ones((3, 1))).tolist()
    [[1.0], [1.0]]
    """

    n: int
    dtype: np.dtype[Any]

    @property
    def rows(self) -> int:
        """All of them."""
        return self.n

    @property
    def in_double(self) -> Self:
        """By another `dtype`."""
        return replace(self, dtype=np.dtype(np.float64))

    def over(self, work: Callable[[slice], T], chunk: int) -> list[T]:
        """`work(part)` for the rows held here, in parts of `chunk`: see `over_parts`."""
        return over_parts(work, self.rows, chunk)

    def agreed(self, array: Any) -> Any:
        """Itself."""
        return array

    def total(self, parts: Sequence[Any], chunk: int, nothing: Any) -> Any:
        """The sum of `parts`, one for `chunk` rows each, added to `nothing` in their order."""
        return np.asarray(sum(parts, nothing))

    def empty(self, k: int) -> Block:
        """On a cache line: see `empty_block`."""
        return empty_block((self.rows, k), self.dtype)

    def zeros(self, k: int) -> Block:
        """On a cache line."""
        X = self.empty(k)
        X[:] = 0
        return X

    def copy(self, X: Block) -> Block:
        """A new block."""
        return X.copy()

    def random(self, random: np.random.Generator, k: int) -> Block:
        """One stream for all rows."""
        return random.standard_normal((self.rows, k), dtype=self.dtype.type)

    def given(self, rows: Any) -> Block:
        """Itself where nothing is to be changed."""
        return np.asarray(rows).astype(self.dtype, copy=False)

    def array(self, X: Block) -> Block:
        """Itself."""
        return X

    def beside(self, X: Block, Y: Block) -> Block:
        """A new block."""
        return np.hstack([X, Y])

    def gram(self, X: Block, Y: Block) -> Floats:
        """By parts, each turned to float64 for itself."""
        shape = X.shape[1], Y.shape[1]

        def part_of(rows: slice) -> Floats:
            if quick:
                own = np.zeros(shape)
                narrow.add_gram(X, Y, own, rows.start, rows.stop)
                return own
            a = X[rows].astype(np.float64, copy=False)
            b = a if Y is X else Y[rows].astype(np.float64, copy=False)
            return np.asarray(a.T @ b)

        quick = max(shape) <= NARROW and narrow.fits(X) and narrow.fits(Y)
        return np.asarray(self.total(self.over(part_of, CHUNK), CHUNK, np.zeros(shape)))

    def dot(self, X: Block, Y: Block) -> float:
        """In the block's precision."""
        return float(np.vdot(X, Y))

    def dots(self, X: Block, Y: Block) -> Floats:
        """At once."""
        return np.asarray(np.einsum("ij,ij->j", X, Y, dtype=np.float64, casting="same_kind"))

    def norm(self, X: Block) -> float:
        """In the block's precision."""
        return float(np.linalg.norm(X))

    def times(self, X: Block, Z: Floats) -> Block:
        """By parts."""
        turn = Z.astype(X.dtype)
        out = np.empty((len(X), Z.shape[1]), dtype=X.dtype)
        self.over(lambda part: np.matmul(X[part], turn, out=out[part]), CHUNK)
        return out

    def scaled(self, X: Block, factors: Floats) -> Block:
        """In the block's precision."""
        return np.asarray(X * factors.astype(X.dtype, copy=False))

    def scale(self, X: Block, factors: Floats) -> None:
        """In the block's precision."""
        X *= factors.astype(X.dtype, copy=False)

    def scale_rows(self, X: Block, factors: Block, out: Block) -> None:
        """In one pass."""
        np.multiply(X, factors[:, None], out=out)

    def inverted(self, vector: Block) -> Block:
        """In the block's precision."""
        return np.asarray((1 / np.where(vector > 0, vector, 1)).astype(self.dtype))

    def divide(self, X: Block, by: Floats) -> None:
        """In the block's precision."""
        X /= by

    def lengths(self, X: Block) -> Floats:
        """In the block's precision."""
        return np.asarray(np.linalg.norm(X, axis=0))

    def normalise(self, X: Block) -> None:
        """In the block's precision."""
        X /= np.linalg.norm(X, axis=0)

    def row_sums(self, X: Block) -> Block:
        """By parts, in the block's precision."""
        out, ones = np.empty(len(X), dtype=X.dtype), np.ones(X.shape[1], dtype=X.dtype)
        self.over(lambda part: np.dot(X[part], ones, out=out[part]), CHUNK)
        return out

    def remove(self, W: Block, Q: Block) -> None:
        """At once, in the block's precision."""
        if Q.ndim == 2:
            W -= Q @ (Q.T @ W)
        elif W.shape[1] < FEW:
            for column, along in enumerate(Q @ W):  # a row is too short for a loop of its own
                W[:, column] -= along * Q
        else:
            W -= Q[:, None] * (Q @ W)

    def rotated(self, X: Block, Z: Floats, v: Block | None, z: Floats) -> Block:
        """A new block. A block of lower precision that hardly turns is multiplied in its own: see `NEAR`."""
        out, z = self.empty(Z.shape[1]), z.astype(self.dtype)
        change = Z - np.eye(*Z.shape)
        hardly = X.dtype != self.dtype and np.abs(change).sum(axis=0).max(initial=0.0) < NEAR
        Z = change.astype(X.dtype) if hardly else Z.astype(self.dtype)

        def fill(rows: slice) -> None:
            if hardly:
                out[rows] = X[rows, : Z.shape[1]]
                out[rows] += X[rows] @ Z
            else:
                np.matmul(X[rows], Z, out=out[rows])
            if v is not None:
                out[rows] -= v[rows, None] * z

        self.over(fill, TURNED if hardly else CHUNK)
        return out

    def turned(
        self, X: Block, Y: Block, Z: Floats, v: Block | None, z: Floats, values: Floats
    ) -> tuple[Block, Floats]:
        """In one pass, and in place where it fits: new memory costs as much as the multiplication."""
        out = X if Z.shape[1] == X.shape[1] else self.empty(Z.shape[1])
        Z, z, factors = (a.astype(X.dtype) for a in (Z, z, values))

        def fill(rows: slice) -> Floats:
            own = X[rows] @ Z
            if v is not None:
                own -= v[rows, None] * z
            out[rows] = own
            rest = Y[rows] @ Z
            rest -= own * factors
            return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

        parts = self.over(fill, TURNED)
        return out, np.asarray(self.total(parts, TURNED, np.zeros(values.size)))

    def residuals(self, Y: Block, X: Block, values: Floats) -> Floats:
        """By parts."""
        factors = values.astype(X.dtype)

        def squares(rows: slice) -> Floats:
            rest = Y[rows] - X[rows] * factors
            return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

        parts = self.over(squares, CHUNK)
        return np.asarray(np.sqrt(self.total(parts, CHUNK, np.zeros(values.size))))

    def reflected(self, X: Block) -> tuple[Block, Floats]:
        """By LAPACK."""
        found = np.linalg.qr(X)
        return found[0], found[1]

    def basis(self, most: int) -> OrthonormalBasis:
        """Rows of one array: a vector lies together."""
        return LocalBasis(self, np.empty((most, self.rows), dtype=self.dtype))


@dataclass(frozen=True, eq=False)
class LocalBasis:
    """Vectors as rows of `V` (most, rows)."""

    space: LocalSpace
    V: Block

    def put(self, first: int, Q: Block) -> None:
        """Turned round, by parts."""
        to = self.V[first : first + (Q.shape[1] if Q.ndim == 2 else 1)]

        def turn(part: slice) -> None:
            to[:, part] = Q[part].T

        self.space.over(turn, CHUNK)

    def inner(self, m: int, W: Block) -> Floats:
        """By parts: multiplied in the block's precision, added up in float64."""

        def products(part: slice) -> Block:
            if not narrow.fits(W):
                return np.asarray(self.V[:m, part] @ W[part])
            own = np.zeros((m, W.shape[1]), dtype=W.dtype)
            narrow.add_products(self.V, W, own, m, part.start, part.stop)
            return own

        along = self.space.over(products, CHUNK)
        return np.asarray(self.space.total(along, CHUNK, np.zeros((m, *W.shape[1:]))))

    def subtract(self, m: int, W: Block, H: Floats) -> None:
        """By parts."""
        turn = np.ascontiguousarray(H, dtype=W.dtype)

        def subtract(part: slice) -> None:
            if narrow.fits(W):
                narrow.subtract_products(self.V, turn, W, m, part.start, part.stop)
            else:
                W[part] -= self.V[:m, part].T @ turn

        self.space.over(subtract, CHUNK)

    def combined(self, m: int, S: Floats, to: Space) -> Block:
        """By parts, multiplied in the precision of the vectors."""
        out, turn = np.empty((self.V.shape[1], S.shape[1]), dtype=to.dtype), S.astype(self.V.dtype)

        def fill(part: slice) -> None:
            out[part] = self.V[:m, part].T @ turn

        self.space.over(fill, CHUNK)
        return out

    def turn(self, first: int, m: int, S: Floats) -> None:
        """By parts, in place."""
        turn = S.T.astype(self.V.dtype)

        def turned(part: slice) -> None:
            self.V[first : first + len(turn), part] = turn @ self.V[:m, part]

        self.space.over(turned, CHUNK)
