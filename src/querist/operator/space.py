"""Where blocks of vectors live: what an algorithm may ask for, whatever holds their rows.

An operator multiplies blocks (n, k) that live where it lives: in the memory of this process (local.py), in
that of a device, or a few rows in each of several processes. The algorithms are written once, against this
protocol. They hold blocks, vectors (n,) and small matrices of NumPy in float64, and do with blocks only this:

- take columns, `X[:, a:b]`, and write to them, `X[:, a:b] = Y`; ask for `X.shape`, whose first number is the
  rows that are held here;
- `X += Y`, `X -= a * Y`, `X *= a`, `X /= a` with blocks of one shape, plain numbers, and (k,) numbers that
  the space was `given`, one for each column;
- what the space does: random blocks, sums over rows, products with small matrices.

Sums over rows are taken over parts that do not depend on how many work at them, in a fixed order, and all
who hold rows get the same bits: they can decide alike.
"""

from typing import Any, Protocol

import numpy as np

from querist.types import Floats

Block = Any
"""(n, k) or (n,), of which a space knows what it is."""


class OrthonormalBasis(Protocol):
    """Room for vectors that are orthonormal, the first `m` of which are there; they are kept as they come.

    >>> from querist.operator.local import LocalSpace
    >>> basis: OrthonormalBasis = LocalSpace(3, np.dtype(np.float64)).basis(2)
    >>> basis.put(0, np.array([1.0, 0.0, 0.0]))
    >>> basis.inner(1, np.array([[2.0], [5.0], [0.0]]))
    array([[2.]])
    """

    def put(self, first: int, Q: Block) -> None:
        """The columns of Q, or the vector Q, become vectors `first`, `first + 1`, ..."""

    def inner(self, m: int, W: Block) -> Floats:
        """(m, k) the inner products `V'W` with the first m, summed in float64."""

    def subtract(self, m: int, W: Block, H: Floats) -> None:
        """`W -= V H`."""

    def combined(self, m: int, S: Floats, to: "Space") -> Block:
        """`V S`, as a block of another precision."""

    def turn(self, first: int, m: int, S: Floats) -> None:
        """Vectors from `first` on become `V S`, S (m, k)."""


class Space(Protocol):
    """Blocks of `n` rows in one precision, of which `rows` are held here.

    >>> from querist.operator.local import LocalSpace
    >>> space: Space = LocalSpace(3, np.dtype(np.float64))
    >>> space.n, space.dot(np.array([[3.0], [4.0]]), np.ones((2, 1)))
    (3, 7.0)
    """

    @property
    def n(self) -> int:
        """Rows of a block."""

    @property
    def rows(self) -> int:
        """Those that are held here: `X.shape[0]`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def in_double(self) -> "Space":
        """The same in float64."""

    def empty(self, k: int) -> Block:
        """An uninitialised block that a product may read without a copy."""

    def agreed(self, array: Any) -> Any:
        """What one of those who hold rows has computed from equal sums, the same for all: processors may
        differ in the last bits of a decomposition, and nobody may decide for himself."""

    def random(self, random: np.random.Generator, k: int) -> Block:
        """A block of normal numbers. All who hold rows have the same generator and leave it the same."""

    def given(self, rows: Any) -> Block:
        """A block or vector in this precision, from one in another or from NumPy's rows held here."""

    def array(self, X: Block) -> Any:
        """The rows held here as a NumPy array."""

    def beside(self, X: Block, Y: Block) -> Block:
        """The columns of X, then those of Y."""

    def gram(self, X: Block, Y: Block) -> Floats:
        """`X'Y`, summed in float64."""

    def dot(self, X: Block, Y: Block) -> float:
        """`sum_ij X_ij Y_ij`."""

    def dots(self, X: Block, Y: Block) -> Floats:
        """(k,) the inner products of the columns, summed in float64."""

    def remove(self, W: Block, Q: Block) -> None:
        """`W -= Q (Q'W)`, Q an orthonormal block or a unit vector."""

    def rotated(self, X: Block, Z: Floats, v: Block | None = None, z: Any = 0.0) -> Block:
        """`X Z - v z'`, multiplied in this precision, whatever that of X is."""

    def turned(
        self, X: Block, Y: Block, Z: Floats, v: Block | None, z: Floats, values: Floats
    ) -> tuple[Block, Floats]:
        """`X Z - v z'`, which may overwrite X, and the squared lengths of the columns of
        `Y Z - (X Z - v z') diag(values)`."""

    def residuals(self, Y: Block, X: Block, values: Floats) -> Floats:
        """(k,) `|Y - X diag(values)|` by column."""

    def reflected(self, X: Block) -> tuple[Block, Floats]:
        """Q and R with `QR = X` by Householder's reflections, for a block that is nearly singular."""

    def basis(self, most: int) -> OrthonormalBasis:
        """Room for so many vectors."""


class BlockOperator(Protocol):
    """A symmetric operator on the blocks of its space.

    >>> import scipy.sparse as sp
    >>> from querist.operator.value import Operator
    >>> path: BlockOperator = Operator.laplacian(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> path.n, path.space.n
    (2, 2)
    """

    @property
    def n(self) -> int:
        """Rows, and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of its space."""

    @property
    def space(self) -> Space:
        """Where its blocks live."""

    def matmat(self, X: Block, out: Block | None = None) -> Block:
        """`M X`."""

    def combine(
        self, X: Block, out: Block, *, scale: float = 1.0, shift: float = 0.0, previous: float = 0.0
    ) -> Block:
        """`out <- scale M X + shift X + previous out`."""
