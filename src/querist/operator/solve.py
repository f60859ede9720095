"""Symmetric positive definite systems `(diag(q) + w M) X = B`, all right-hand sides at once.

Two ways, chosen by what a factor would cost, and said:

- *factor*: one sparse factorisation, kept for later calls with the same `q` and `w`. Right for small
  graphs, and for large ones that are nearly trees; on random-like graphs it fills in, which is counted
  beforehand (fill.py).
- *cg*: conjugate gradients with the diagonal as preconditioner, every column with its own step lengths and
  all sharing one pass over the matrix, started from `x0`. A column that has arrived stands still.

The residual is always measured on the solution that is handed out.
"""

import hashlib
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from querist.errors import InputError, ResidualWarning, SingularError, check_name
from querist.operator.fill import Fill, fill
from querist.operator.space import Space

if TYPE_CHECKING:
    from querist.operator.value import Operator

METHODS = ("auto", "factor", "cg")

FACTOR_ENTRIES = 20_000_000
FACTOR_WORK = 2e8
"""Factors up to this many entries and multiplications, by the estimate of fill.py, are cheaper than steps."""

ITERATIONS = 500
"""Conjugate gradient steps before the factorisation is tried instead."""

Block = NDArray[Any]


class Solution(NamedTuple):
    """How a system was solved: method, steps taken, largest relative residual, seconds.

    >>> Solution("cg", iterations=12, residual=1e-9, seconds=0.01).iterations
    12
    """

    method: str
    iterations: int
    residual: float
    seconds: float


@dataclass
class Solver:
    """Solves for one operator and keeps its latest factor."""

    key: bytes = b""
    factor: Any = None
    cost: Fill | None = None

    def __call__(
        self,
        operator: "Operator",
        B: Block,
        diagonal: Block | float,
        weight: float,
        x0: Block | None,
        tol: float,
        method: str,
    ) -> tuple[Block, Solution]:
        """Check, choose, solve, measure."""
        started = time.perf_counter()
        if np.ndim(B) == 1:
            guess = None if x0 is None else np.asarray(x0)[:, None]
            X, how = self(operator, np.asarray(B)[:, None], diagonal, weight, guess, tol, method)
            return X[:, 0], how
        q = checked_diagonal(operator, diagonal, weight)
        B, x0 = _checked_block(operator, B, "B"), None if x0 is None else _checked_block(operator, x0, "x0")
        if x0 is not None and x0.shape != B.shape:
            raise InputError(f"x0 of shape {x0.shape} for B of shape {B.shape}; give one guess a column")
        check_name("method", method, METHODS)
        key = hashlib.sha256(q.tobytes() + repr(weight).encode()).digest()
        chosen = ("factor" if self._cheap(operator, key) else "cg") if method == "auto" else method
        steps = 0
        if chosen == "cg":
            X, steps, residual = conjugate_gradients(operator, B, q, weight, x0, tol)
        if chosen == "factor" or (method == "auto" and residual > tol):
            chosen = "factor" if chosen == "factor" else "cg, then factor"
            if key != self.key:
                self.factor, self.key = factorise(operator, q, weight), key
            X = self.factor.solve(B.astype(np.float64)).astype(B.dtype)
            residual = relative_residual(operator, B, X, q, weight)
        doubt(residual, tol)
        return X, Solution(chosen, steps, residual, time.perf_counter() - started)

    def _cheap(self, operator: "Operator", key: bytes) -> bool:
        """Whether there is a factor already, or one costs little; counted once."""
        if key == self.key:
            return True
        if self.cost is None:
            self.cost = fill(operator, min(FACTOR_ENTRIES, 400 * operator.n))
        return self.cost.known and self.cost.work <= FACTOR_WORK


def doubt(residual: float, tol: float) -> None:
    """Warn of a solution that is not right to the tolerance."""
    if not residual <= tol:
        message = f"the linear system was solved to {residual:.1e}, above tol {tol:.0e}"
        warnings.warn(ResidualWarning(f"{message}; raise tol or the diagonal", residual), stacklevel=4)


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


def checked_diagonal(operator: "Operator", diagonal: Block | float, weight: float) -> Block:
    """(n,) q in the operator's dtype, such that the system has one solution."""
    q = np.ascontiguousarray(np.broadcast_to(np.asarray(diagonal), (operator.n,)), dtype=operator.dtype)
    if not np.isfinite(q).all() or (q < 0).any():
        raise InputError("the diagonal of the system must be finite and not negative")
    if not (np.isfinite(weight) and weight >= 0):
        raise InputError(f"weight {weight} of the Laplacian must be a finite number, 0 or more")
    if operator.sign < 0 and (q == 0).any() and (operator.values >= 0).all():
        from scipy.sparse import csgraph

        part: Any = np.arange(operator.n)
        if weight > 0:
            part = csgraph.connected_components(operator.matrix(), directed=False)[1]
        bare = np.bincount(part, weights=q > 0) == 0
        if bare.any():
            raise InputError(
                f"the diagonal is 0 all over {int(bare.sum()):,} components: the system is singular there; "
                "give it a positive value somewhere in each, or leave those nodes out"
            )
    return q


def _checked_block(operator: "Operator", block: Block, name: str) -> Block:
    array = np.ascontiguousarray(block, dtype=operator.dtype)
    if array.ndim != 2 or array.shape[0] != operator.n:
        raise InputError(f"{name} of shape {array.shape} for {operator.n:,} nodes; give one row a node")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinite values; remove or replace them")
    return array
