"""Blocks in the memory of this process: NumPy arrays, worked on by its threads.

Rows are taken a few at a time, so that what is made of them stays in the cache and a float32 block needs no
float64 copy. The parts depend on the rows alone, so sums over them do not depend on the threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from querist.operator.lanes import LINE
from querist.operator.space import OrthonormalBasis, Space
from querist.operator.threads import over_parts
from querist.types import Floats

CHUNK = 4096
"""Rows worked on at a time."""

TURNED = 256
"""Rows of two blocks that are turned at a time: what is made of them stays in the cache."""

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
    own in `over` and adds up in `total`; that of a device works on blocks of its own.

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

        def part_of(rows: slice) -> Floats:
            a = X[rows].astype(np.float64, copy=False)
            b = a if Y is X else Y[rows].astype(np.float64, copy=False)
            return np.asarray(a.T @ b)

        return np.asarray(self.total(self.over(part_of, CHUNK), CHUNK, np.zeros((X.shape[1], Y.shape[1]))))

    def dot(self, X: Block, Y: Block) -> float:
        """In the block's precision."""
        return float(np.vdot(X, Y))

    def dots(self, X: Block, Y: Block) -> Floats:
        """At once."""
        return np.asarray(np.einsum("ij,ij->j", X, Y, dtype=np.float64, casting="same_kind"))

    def remove(self, W: Block, Q: Block) -> None:
        """At once, in the block's precision."""
        Q = Q[:, None] if Q.ndim == 1 else Q
        W -= Q @ (Q.T @ W)

    def rotated(self, X: Block, Z: Floats, v: Block | None = None, z: Any = 0.0) -> Block:
        """A new block, by parts."""
        out, Z, z = self.empty(Z.shape[1]), Z.astype(self.dtype), np.asarray(z, dtype=self.dtype)

        def fill(rows: slice) -> None:
            np.matmul(X[rows], Z, out=out[rows])
            if v is not None:
                out[rows] -= v[rows, None] * z

        self.over(fill, CHUNK)
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

        along = self.space.over(lambda part: self.V[:m, part] @ W[part], CHUNK)
        return np.asarray(self.space.total(along, CHUNK, np.zeros((m, W.shape[1]))))

    def subtract(self, m: int, W: Block, H: Floats) -> None:
        """By parts."""
        turn = H.astype(W.dtype)

        def subtract(part: slice) -> None:
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
