"""The eigenpairs of an operator within the span of a block: Rayleigh-Ritz by way of Gram matrices.

A block X is made orthonormal by the eigen-decomposition (or the Cholesky factor) of `X'X`, which is small,
and not by reflections of X, which is large. All Gram matrices are summed in float64 whatever X is, a few rows
at a time, so a float32 block costs no float64 copy. The operator's null vector v is left out of the span.
"""

from typing import Any, NamedTuple

import numpy as np

from querist.operator import Operator, empty_block
from querist.operator.threads import over_parts
from querist.types import Floats

CHUNK = 4096
"""Rows turned to float64 at a time."""

TURNED = 256
"""Rows of two blocks that are turned at a time: what is made of them stays in the cache."""

NULL = {np.dtype(np.float32): 1e-9, np.dtype(np.float64): 1e-13}
"""Eigenvalues of a Gram matrix, relative to its largest, that are rounding; a filter must stay above."""

GOOD = 1e-2
"""Condition of a Gram matrix from which its basis is nearly orthonormal."""

Block = Any


class Ritz(NamedTuple):
    """Ritz values (growing), vectors and residuals."""

    values: Floats
    vectors: Block
    residuals: Floats


def gram(A: Block, B: Block) -> Floats:
    """`A'B` summed in float64, a few rows at a time."""

    def part_of(rows: slice) -> Floats:
        a = A[rows].astype(np.float64, copy=False)
        b = a if B is A else B[rows].astype(np.float64, copy=False)
        return np.asarray(a.T @ b)

    nothing = np.zeros((A.shape[1], B.shape[1]))
    return np.asarray(sum(over_parts(part_of, A.shape[0], CHUNK), nothing))


def whitening(X: Block, v: Block | None) -> tuple[Floats, Floats, float]:
    """Z and z such that `X Z - v z'` is orthonormal and orthogonal to v, and the condition met on the way.

    All from the Gram matrix: `X'X - (X'v)(X'v)'` is that of X without v. Directions that are null but for
    rounding are dropped.
    """
    G, along = gram(X, X), np.zeros(X.shape[1])
    whole = G.diagonal().copy()
    if v is not None:
        # Rounded to float32, v is not quite of unit length.
        along = gram(X, v[:, None])[:, 0] / np.sqrt(float(gram(v[:, None], v[:, None])[0, 0]))
        G -= np.outer(along, along)
    # A column that was v itself leaves only rounding behind.
    present = G.diagonal() > NULL[X.dtype] * whole
    scale = np.divide(1.0, np.sqrt(np.abs(G.diagonal())), out=np.zeros(whole.size), where=present)
    spread, turn = np.linalg.eigh(scale[:, None] * G * scale)
    keep = spread > NULL[X.dtype] * spread[-1]
    Z = scale[:, None] * turn[:, keep] / np.sqrt(spread[keep])
    # Where there is nothing but v, no condition was met.
    return Z, along @ Z, float(spread[keep][0] / spread[-1]) if keep.any() else 1.0


def rotated(X: Block, Z: Floats, v: Block | None, z: Floats) -> Block:
    """`X Z - v z'`, a few rows at a time."""
    out = empty_block((X.shape[0], Z.shape[1]), X.dtype)
    Z, z = Z.astype(X.dtype), z.astype(X.dtype)

    def fill(rows: slice) -> None:
        np.matmul(X[rows], Z, out=out[rows])
        if v is not None:
            out[rows] -= v[rows, None] * z

    over_parts(fill, X.shape[0], CHUNK)
    return out


def orthonormal(X: Block, v: Block | None) -> Block:
    """An orthonormal basis of the span of X without v."""
    Z, z, _ = whitening(X, v)
    return rotated(X, Z, v, z)


def thin_qr(block: Floats, passes: int = 3) -> tuple[Floats, Floats]:
    """(n, k) orthonormal Q and (k, k) upper triangular R with `QR` the block, by Cholesky of Gram matrices.

    One factorisation leaves an error of the block's condition, a second removes it (CholeskyQR2; Yamamoto et
    al., ETNA 44, 2015). Gram matrices are summed in float64 on all threads, without the interpreter's lock. A
    block that is singular, or nearly, is left to Householder's reflections, which hold it.

    >>> Q, R = thin_qr(np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]))
    >>> (Q @ R).round(12).tolist(), abs((Q.T @ Q).round(12)).tolist()
    ([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    Q, R = block, np.eye(block.shape[1])
    good = 10 * np.sqrt(block.shape[1]) * float(np.finfo(block.dtype).eps)
    for _ in range(passes):
        G = gram(Q, Q)
        try:
            lower = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            break
        Q, R = rotated(Q, np.linalg.inv(lower).T, None, np.zeros(0)), lower.T @ R
        # The error that this pass met; it leaves about its square, or rounding.
        if np.abs(G - np.eye(len(G))).max() < np.sqrt(good):
            return Q, R.astype(block.dtype)
    found = np.linalg.qr(block)
    return found[0], found[1]


def ritz(M: Operator, X: Block, v: Block | None) -> Ritz:
    """The eigenpairs of M within the span of X without its null vector v; X may be overwritten by them."""
    Z, z, condition = whitening(X, v)
    if condition < GOOD and X.dtype == np.float64:
        # What whitening leaves is an error of the condition; a second one removes it.
        X = rotated(X, Z, v, z)
        Z, z, condition = whitening(X, v)
    Y = M.matmat(X)
    # M v = 0, so the part along v does not enter.
    inner = Z.T @ gram(X, Y) @ Z
    values, turn = np.linalg.eigh((inner + inner.T) / 2)
    Z, z = Z @ turn, z @ turn
    if condition < GOOD:  # a turn that shrinks so much would leave more rounding in Y than there is residual
        X = rotated(X, Z, v, z)
        return Ritz(values, X, residual_norms(M.matmat(X, out=Y if Y.shape == X.shape else None), X, values))
    out, squares = _turned(X, Y, Z, v, z, values)
    return Ritz(values, out, np.sqrt(squares))


def _turned(
    X: Block, Y: Block, Z: Floats, v: Block | None, z: Floats, values: Floats
) -> tuple[Block, Floats]:
    """`X Z - v z'`, and the squared lengths of `Y Z - (X Z - v z') diag(values)`, in one pass.

    In place where it fits: new memory costs as much as the multiplication.
    """
    out = X if Z.shape[1] == X.shape[1] else empty_block((X.shape[0], Z.shape[1]), X.dtype)
    Z, z, factors = (a.astype(X.dtype) for a in (Z, z, values))

    def fill(rows: slice) -> Floats:
        own = X[rows] @ Z
        if v is not None:
            own -= v[rows, None] * z
        out[rows] = own
        rest = Y[rows] @ Z
        rest -= own * factors
        return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

    parts = over_parts(fill, X.shape[0], TURNED)
    return out, np.asarray(sum(parts, np.zeros(values.size)))


def residual_norms(Y: Block, X: Block, values: Floats) -> Floats:
    """(k,) `|Y - X diag(values)|` by column."""
    factors = values.astype(X.dtype)

    def squares(rows: slice) -> Floats:
        rest = Y[rows] - X[rows] * factors
        return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

    return np.sqrt(sum(over_parts(squares, X.shape[0], CHUNK), np.zeros(values.size)))
