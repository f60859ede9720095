"""Harmonic solutions: labels that spread from the labelled nodes over the weights.

With weights `W`, degrees `D = diag(sum_j |W_ij|)`, `L = D - W`, labelled nodes `l`
with values `Y_l` and the others `u`:

    f_l = Y_l,   (L_uu + ridge I) f_u = W_ul Y_l + ridge prior.

`ridge = 0` is label propagation (LP, Gaussian fields): every unlabelled node is the
weighted mean of its neighbours. `ridge > 0` is the regularised harmonic solution
(RLP): every node is also tied to its prior, 0 unless given. bls19 (III-D) compares
itself with both; collective classification uses them as a baseline.

The system is solved in the scaled form `D^-1/2 (L_uu + ridge I) D^-1/2`, which has a
unit diagonal: weights of a narrow RBF kernel span hundreds of orders of magnitude. Sparse
weights go to the operator's solver (solve.py), dense ones to a Cholesky factor. A node
that no labelled node reaches keeps its prior, and `reached` says which ones. Negative
weights pull towards opposite values, since the degrees are absolute.

>>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
>>> harmonic(path, np.array([0, 2]), np.array([[0.0], [1.0]])).ravel()
array([0. , 0.5, 1. ])
"""

import warnings
from typing import Any, cast

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.errors import InputError, ResidualWarning
from querist.operator.value import Operator
from querist.types import Bools, Codes, Floats, Sparse

TOLERANCE = 1e-6
"""Relative residual that a solve must reach, and that is warned about above."""

ROUNDS = 3
"""Solves, each for what the last one left: together they reach rounding."""


def harmonic(
    weights: Floats | Sparse,
    labelled: Codes,
    targets: Floats,
    *,
    ridge: float = 0.0,
    prior: Floats | None = None,
) -> Floats:
    """(n, K) the harmonic solution: the targets at labelled nodes, means of neighbours elsewhere.

    Parameters
    ----------
    weights : (n, n) symmetric, sparse or dense (`graph.adjacency`, an RBF kernel matrix);
        the diagonal is ignored, since a self-loop changes no harmonic value
    labelled : (l,) distinct row numbers
    targets : (l, K) one-hot or +-1 columns; an (l,) vector gives an (n,) answer
    ridge : >= 0; 0 is LP, above 0 is RLP
    prior : (K,) what an unlabelled node is tied to by the ridge, and what a node that is
        not reached answers; 0 by default

    >>> import numpy as np
    >>> from querist import as_graph
    >>> path = as_graph([(0, 1), (1, 2), (2, 3)])
    >>> harmonic(path.adjacency, np.array([0, 3]), np.array([0.0, 3.0])).round(12)
    array([0., 1., 2., 3.])
    """
    W = _without_diagonal(weights)
    n = W.shape[0]
    Y = _checked_targets(labelled, targets, n)
    if not (ridge >= 0 and np.isfinite(ridge)):
        raise InputError(f"ridge = {ridge!r}; it must be 0 (label propagation) or a finite number above 0")
    start = np.zeros(Y.shape[1]) if prior is None else np.asarray(prior, dtype=np.float64).reshape(-1)
    if start.size != Y.shape[1]:
        raise InputError(f"prior has {start.size} values for {Y.shape[1]} columns of targets; give one each")
    f = np.tile(start, (n, 1))
    f[labelled] = Y
    unknown = reached(W, labelled)
    unknown[labelled] = False
    u = np.flatnonzero(unknown)
    if u.size:
        degrees = np.asarray(abs(W).sum(axis=1), dtype=np.float64).ravel()[u] + ridge
        W_u = W[u]
        f[u] = _solve(W_u[:, u], degrees, np.asarray(W_u[:, labelled] @ Y) + ridge * start)
    return f[:, 0] if np.ndim(targets) == 1 else f


def reached(weights: Floats | Sparse, labelled: Codes) -> Bools:
    """(n,) whether a path of non-zero weights leads from a labelled node to this one.

    >>> reached(np.diag([1.0], 1) + np.diag([1.0], -1), np.array([0])).tolist()
    [True, True]
    """
    _, component = csgraph.connected_components(sp.csr_array(cast(Any, weights)), directed=False)
    return np.isin(component, component[labelled])


def _without_diagonal(weights: Any) -> Any:
    """A float copy with a zero diagonal, refused unless square, finite and symmetric."""
    sparse = sp.issparse(weights)
    W: Any = (sp.csr_array if sparse else np.array)(weights, dtype=np.float64, copy=True)
    if W.ndim != 2 or W.shape[0] != W.shape[1] or W.shape[0] == 0:
        raise InputError(f"weights have shape {W.shape}; they must be square, with at least one node")
    if sparse:
        W.setdiag(0.0)
        W.eliminate_zeros()
    else:
        np.fill_diagonal(W, 0.0)
    values = W.data if sparse else W
    if not np.isfinite(values).all():
        raise InputError("weights hold NaN or infinite values; remove or replace them")
    if abs(W - W.T).max() > 1e-9 * abs(values).max(initial=0.0):
        raise InputError("weights are not symmetric; give max(W, W'), or a graph's adjacency")
    return W


def _checked_targets(labelled: Codes, targets: Floats, n: int) -> Floats:
    rows = np.asarray(labelled)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() >= n)):
        raise InputError(f"labelled must be row numbers 0..{n - 1}; got {rows.dtype} of shape {rows.shape}")
    if rows.size == 0:
        raise InputError("no node is labelled; label at least one")
    if np.unique(rows).size != rows.size:
        raise InputError("a node is labelled twice; name each labelled row once")
    Y = np.asarray(targets, dtype=np.float64)
    if Y.ndim not in (1, 2) or Y.shape[0] != rows.size or not np.isfinite(Y).all():
        raise InputError(
            f"targets have shape {Y.shape} for {rows.size} labelled nodes; give a finite row each"
        )
    return Y[:, None] if Y.ndim == 1 else Y


def _solve(W_uu: Any, degrees: Floats, right: Floats) -> Floats:
    """`(diag(degrees) - W_uu) f = right`, scaled to a unit diagonal."""
    scale = 1 / np.sqrt(degrees)
    b = scale[:, None] * right
    if not sp.issparse(W_uu):
        return np.asarray(scale[:, None] * _dense(np.eye(degrees.size) - scale[:, None] * W_uu * scale, b))
    S: Any = sp.diags_array(scale)
    return np.asarray(scale[:, None] * _refined(Operator.symmetric(sp.csr_array(-(S @ W_uu @ S))), b))


def _refined(operator: Operator, b: Floats) -> Floats:
    """x with `x + M x = b`, to rounding however ill-conditioned: a solve, then solves for its residual."""
    size = np.abs(b).max(axis=0)
    size[size == 0] = 1.0  # squares of a column far from 1 would overflow or vanish
    b = b / size
    x, residual = np.zeros_like(b), b
    for _ in range(ROUNDS):
        x += operator.solve(residual, diagonal=1.0, tol=TOLERANCE)[0]
        residual = b - x - operator.matmat(x)
    return np.asarray(x * size)


def _dense(A: Floats, b: Floats) -> Floats:
    try:
        x = np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(A, lower=True), b))
    except np.linalg.LinAlgError:
        # Camps joined by weights below the rounding error: singular in floating point.
        x = np.asarray(scipy.linalg.lstsq(A, b)[0])
    residual = float(np.linalg.norm(A @ x - b) / max(np.linalg.norm(b), np.finfo(float).tiny))
    if residual > TOLERANCE:
        warnings.warn(
            ResidualWarning(f"the harmonic solution has a relative residual of {residual:.1e}", residual),
            stacklevel=4,
        )
    return x
