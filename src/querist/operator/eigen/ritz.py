"""The eigenpairs of an operator within the span of a block: Rayleigh-Ritz by way of Gram matrices.

A block X is made orthonormal by the eigen-decomposition (or the Cholesky factor) of `X'X`, which is small,
and not by reflections of X, which is large. All Gram matrices are summed in float64 whatever X is. The
operator's null vector v is left out of the span.
"""

from typing import Any, NamedTuple

import numpy as np

from querist.operator.space import BlockOperator, Space
from querist.types import Floats

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


def whitening(space: Space, X: Block, v: Block | None) -> tuple[Floats, Floats, float]:
    """Z and z such that `X Z - v z'` is orthonormal and orthogonal to v, and the condition met on the way.

    All from the Gram matrix: `X'X - (X'v)(X'v)'` is that of X without v. Directions that are null but for
    rounding are dropped.
    """
    G, along = space.gram(X, X), np.zeros(X.shape[1])
    whole = G.diagonal().copy()
    if v is not None:
        # Rounded to float32, v is not quite of unit length.
        along = space.gram(X, v[:, None])[:, 0] / np.sqrt(float(space.gram(v[:, None], v[:, None])[0, 0]))
        G -= np.outer(along, along)
    # A column that was v itself leaves only rounding behind.
    present = G.diagonal() > NULL[space.dtype] * whole
    scale = np.divide(1.0, np.sqrt(np.abs(G.diagonal())), out=np.zeros(whole.size), where=present)
    spread, turn = np.linalg.eigh(scale[:, None] * G * scale)
    keep = spread > NULL[space.dtype] * spread[-1]
    Z = space.agreed(scale[:, None] * turn[:, keep] / np.sqrt(spread[keep]))
    # Where there is nothing but v, no condition was met.
    return Z, along @ Z, float(space.agreed(spread[keep][0] / spread[-1] if keep.any() else 1.0))


def orthonormal(space: Space, X: Block, v: Block | None) -> Block:
    """An orthonormal basis of the span of X without v."""
    Z, z, _ = whitening(space, X, v)
    return space.rotated(X, Z, v, z)


def nearest_orthonormal(space: Space, X: Block, v: Block | None) -> Block:
    """The orthonormal block without v that lies nearest to X, itself nearly so, perhaps in a lower precision.

    It is `X (X'X)^-1/2` (Loewdin 1950): no column turns towards another by more than they overlapped.
    """
    G, along = space.gram(X, X), np.zeros(X.shape[1])
    if v is not None:
        along = space.gram(X, v[:, None])[:, 0]
        G -= np.outer(along, along)
    spread, turn = np.linalg.eigh(G)
    Z = space.agreed((turn / np.sqrt(spread)) @ turn.T)
    return space.rotated(X, Z, v, along @ Z)


def thin_qr(block: Block, space: Space) -> tuple[Block, Floats]:
    """(n, k) orthonormal Q and (k, k) upper triangular R with `QR` the block, by Cholesky of Gram matrices.

    One factorisation leaves an error of the block's condition, a second removes it (CholeskyQR2; Yamamoto et
    al., ETNA 44, 2015). A block that is singular, or nearly, is left to Householder's reflections, which hold
    it.

    >>> from querist.operator.local import LocalSpace
    >>> block = np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
    >>> Q, R = thin_qr(block, LocalSpace(3, block.dtype))
    >>> (Q @ R).round(12).tolist(), abs((Q.T @ Q).round(12)).tolist()
    ([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    Q, R = block, np.eye(block.shape[1])
    good = 10 * np.sqrt(block.shape[1]) * float(np.finfo(space.dtype).eps)
    for _ in range(3):
        G = space.gram(Q, Q)
        try:
            lower = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            break
        turn = np.linalg.inv(lower).T
        if np.abs(turn).max(initial=0.0) > np.finfo(space.dtype).max:  # singular in this precision
            break
        Q, R = space.rotated(Q, turn), lower.T @ R
        # The error that this pass met; it leaves about its square, or rounding.
        if np.abs(G - np.eye(len(G))).max() < np.sqrt(good):
            return Q, R.astype(space.dtype)
    return space.reflected(block)


def ritz(M: BlockOperator, X: Block, v: Block | None) -> Ritz:
    """The eigenpairs of M within the span of X without its null vector v; X may be overwritten by them."""
    space = M.space
    Z, z, condition = whitening(space, X, v)
    if condition < GOOD and space.dtype == np.float64:
        # What whitening leaves is an error of the condition; a second one removes it.
        X = space.rotated(X, Z, v, z)
        Z, z, condition = whitening(space, X, v)
    Y = M.matmat(X)
    # M v = 0, so the part along v does not enter.
    inner = Z.T @ space.gram(X, Y) @ Z
    values, turn = map(space.agreed, np.linalg.eigh((inner + inner.T) / 2))
    Z, z = Z @ turn, z @ turn
    if condition < GOOD:  # a turn that shrinks so much would leave more rounding in Y than there is residual
        X = space.rotated(X, Z, v, z)
        Y = M.matmat(X, out=Y if Y.shape == X.shape else None)
        return Ritz(values, X, space.residuals(Y, X, values))
    out, squares = space.turned(X, Y, Z, v, z, values)
    return Ritz(values, out, np.sqrt(squares))
