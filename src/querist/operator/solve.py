"""Symmetric positive definite systems `(diag(q) + w M) X = B`, all right-hand sides at once.

Two ways, chosen by what a factor would cost, and said:

- *factor*: one sparse factorisation, kept for later calls with the same `q` and `w`. Right for small
  graphs, and for large ones that are nearly trees; on random-like graphs it fills in, which is counted
  beforehand.
- *cg*: conjugate gradients with the diagonal as preconditioner, every column with its own step lengths and
  all sharing one pass over the matrix, started from `x0`. A column that has arrived stands still.

The residual is always measured on the solution that is handed out.

What a factor costs is counted by symbolic Cholesky: row i of the factor has an entry in column k exactly
when k lies on a path from a neighbour of i up the elimination tree (Liu 1990). Counting those paths takes as
many steps as the factor has entries, so counting stops as soon as a limit is passed. The orderings here are
cheap ones (rising degree, and Cuthill-McKee); SuperLU's minimum degree does about as well or better.
"""

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from querist.compiled import compiled
from querist.errors import ResidualWarning, SingularError
from querist.operator.space import Space

if TYPE_CHECKING:
    from querist.operator.value import Operator

METHODS = ("auto", "factor", "cg")

FACTOR_ENTRIES = 20_000_000
FACTOR_WORK = 2e8
"""Factors up to this many entries and multiplications, as counted here, are cheaper than steps."""

ITERATIONS = 500
"""Conjugate gradient steps before the factorisation is tried instead."""

Block = NDArray[Any]


class Solution(NamedTuple):
    """How a system was solved: method, steps taken, largest relative residual.

    >>> Solution("cg", iterations=12, residual=1e-9).iterations
    12
    """

    method: str
    iterations: int
    residual: float


def cheap(operator: "Operator") -> bool:
    """Whether a factor costs less than steps would."""
    return factor_fits(operator, min(FACTOR_ENTRIES, 400 * operator.n), FACTOR_WORK)


def factor_fits(matrix: Any, entries: int, work: float) -> bool:
    """Whether a factor of a symmetric CSR pattern, in one of two orderings, has at most so many entries below
    the diagonal and takes at most so many multiplications.

    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> factor_fits(path, 2, 2.0), factor_fits(path, 1, 2.0)  # no fill
    (True, False)
    """
    import scipy.sparse as sp
    from scipy.sparse import csgraph

    indptr, indices, n = (
        np.asarray(matrix.indptr, dtype=np.int64),
        np.asarray(matrix.indices),
        matrix.indptr.size - 1,
    )
    ones = np.broadcast_to(np.int8(1), indices.shape)
    pattern: Any = sp.csr_array((ones, matrix.indices, matrix.indptr), (n, n))
    rising = np.argsort(np.diff(indptr), kind="stable")
    for order in (rising, csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64)):
        place, parent, mark, counts = np.full((4, n), -1)
        place[order] = np.arange(n)
        total = count_fill(indptr, indices, order, place, parent, mark, counts, entries)
        if total <= entries and (counts.astype(np.float64) ** 2).sum() <= work:
            return True
    return False


@compiled
def count_fill(
    indptr: Any, indices: Any, order: Any, place: Any, parent: Any, mark: Any, counts: Any, limit: int
) -> int:
    """Entries of the factor in this order, stopping beyond `limit`; `counts` gets those of every column."""
    total = 0
    for i in range(order.size):
        parent[i] = -1
        mark[i] = i
        counts[i] = 0
        node = order[i]
        for p in range(indptr[node], indptr[node + 1]):
            k = place[indices[p]]
            if k >= i:
                continue
            while mark[k] != i:
                if parent[k] < 0:
                    parent[k] = i
                counts[k] += 1
                total += 1
                mark[k] = i
                k = parent[k]
        if total > limit:
            return total
    return total


def doubt(residual: float, tol: float) -> None:
    """Warn of a solution that is not right to the tolerance."""
    if not residual <= tol:
        message = f"the linear system was solved to {residual:.1e}, above tol {tol:.0e}"
        warnings.warn(ResidualWarning(f"{message}; raise tol or the diagonal", residual), stacklevel=3)


def factorise(operator: "Operator", q: Block, weight: float) -> Any:
    """The sparse factor of `diag(q) + w M` in float64; its `solve` takes a block."""
    import scipy.sparse as sp
    import scipy.sparse.linalg as spla

    A = sp.diags_array(q.astype(np.float64)) + weight * operator.matrix().astype(np.float64)
    # Symmetric positive definite: pivots stay on the diagonal and the ordering may use the symmetry.
    options = {"SymmetricMode": True}
    try:
        return spla.splu(sp.csc_array(A), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError as problem:
        raise SingularError(f"the linear system is singular in doubles ({problem})") from None


def conjugate_gradients(
    operator: Any, B: Any, q: Any, weight: float, x0: Any | None, tol: float
) -> tuple[Any, int, float]:
    """X, the steps taken and the largest relative residual, measured anew at the end.

    Column j has its own `alpha_j = r.z / p.A p` and `beta_j`; with the preconditioner `z = r / diag(A)`. B,
    q (n,) and x0 live where the operator does.
    """
    space = operator.space
    diagonal = q + weight * operator.diagonal()
    diagonal[~(diagonal > 0)] = 1.0
    inverse = space.given(1 / diagonal)[:, None]
    X, R, Z, AP = (space.empty(B.shape[1]) for _ in range(4))
    R[:] = B
    X[:] = 0.0 if x0 is None else x0
    if x0 is not None:
        R -= apply(operator, X, q, weight, AP)
    P = R * inverse
    Z[:] = P
    goal = (tol * lengths(space, B)) ** 2
    rz = space.dots(R, Z)
    step = 0
    while step < ITERATIONS:
        moving = space.dots(R, R) > goal / 2
        if not moving.any():
            break
        apply(operator, P, q, weight, AP)
        curvature = space.dots(P, AP)
        moving &= curvature > 0
        if not moving.any():
            break
        alpha = _ratio(rz, curvature, moving)
        X += P * space.given(alpha)
        R -= AP * space.given(alpha)
        Z[:] = R
        Z *= inverse
        latest = space.dots(R, Z)
        P = P * space.given(_ratio(latest, rz, moving))
        P += Z
        rz = latest
        step += 1
    return X, step, relative_residual(operator, B, X, q, weight)


def apply(operator: Any, X: Any, q: Any, weight: float, out: Any) -> Any:
    """`(diag(q) + w M) X`."""
    operator.combine(X, out, scale=weight)
    out += X * q[:, None]
    return out


def lengths(space: Space, B: Any) -> NDArray[np.float64]:
    """(k,) column lengths; 1 for a column of zeros."""
    size = np.sqrt(space.dots(B, B))
    return np.where(size > 0, size, 1.0)


def relative_residual(operator: Any, B: Any, X: Any, q: Any, weight: float) -> float:
    """The largest `|B - A X| / |B|` of a column."""
    space = operator.space
    R = B - apply(operator, X, q, weight, space.empty(B.shape[1]))
    return float((np.sqrt(space.dots(R, R)) / lengths(space, B)).max(initial=0.0))


def _ratio(a: Any, b: Any, where: Any) -> Any:
    return np.divide(a, b, out=np.zeros_like(a), where=where & (b > 0))
