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
        if not residual <= tol:
            message = f"the linear system was solved to {residual:.1e}, above tol {tol:.0e}"
            warnings.warn(ResidualWarning(f"{message}; raise tol or the diagonal", residual), stacklevel=3)
        return X, Solution(chosen, steps, residual, time.perf_counter() - started)

    def _cheap(self, operator: "Operator", key: bytes) -> bool:
        """Whether there is a factor already, or one costs little; counted once."""
        if key == self.key:
            return True
        if self.cost is None:
            self.cost = fill(operator, min(FACTOR_ENTRIES, 400 * operator.n))
        return self.cost.known and self.cost.work <= FACTOR_WORK


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
    operator: "Operator", B: Block, q: Block, weight: float, x0: Block | None, tol: float
) -> tuple[Block, int, float]:
    """X, the steps taken and the largest relative residual, measured anew at the end.

    Column j has its own `alpha_j = r.z / p.A p` and `beta_j`; with the preconditioner `z = r / diag(A)`.
    """
    number = operator.dtype.type
    centre = q + number(weight) * operator.diagonal()
    inverse = (1 / np.where(centre > 0, centre, 1)).astype(operator.dtype)[:, None]
    X = np.zeros_like(B) if x0 is None else x0.copy()
    AP = np.empty_like(B)
    R = B - apply(operator, X, q, weight, AP) if x0 is not None else B.copy()
    Z = R * inverse
    P = Z.copy()
    goal = (tol * lengths(B)) ** 2
    rz = dots(R, Z)
    step = 0
    while step < ITERATIONS:
        moving = dots(R, R) > goal / 2
        if not moving.any():
            break
        apply(operator, P, q, weight, AP)
        curvature = dots(P, AP)
        moving &= curvature > 0
        if not moving.any():
            break
        alpha = _ratio(rz, curvature, moving).astype(operator.dtype)
        X += P * alpha
        R -= AP * alpha
        np.multiply(R, inverse, out=Z)
        latest = dots(R, Z)
        P *= _ratio(latest, rz, moving).astype(operator.dtype)
        P += Z
        rz = latest
        step += 1
    return X, step, relative_residual(operator, B, X, q, weight)


def apply(operator: "Operator", X: Block, q: Block, weight: float, out: Block) -> Block:
    """`(diag(q) + w M) X`."""
    operator.combine(X, out, scale=weight)
    out += X * q[:, None]
    return out


def dots(A: Block, B: Block) -> NDArray[np.float64]:
    """(k,) inner products of columns, summed in float64."""
    return np.asarray(np.einsum("ij,ij->j", A, B, dtype=np.float64, casting="same_kind"))


def lengths(B: Block) -> NDArray[np.float64]:
    """(k,) column lengths; 1 for a column of zeros."""
    size = np.sqrt(dots(B, B))
    return np.where(size > 0, size, 1.0)


def relative_residual(operator: "Operator", B: Block, X: Block, q: Block, weight: float) -> float:
    """The largest `|B - A X| / |B|` of a column."""
    R = B - apply(operator, X, q, weight, np.empty_like(B))
    return float((np.sqrt(dots(R, R)) / lengths(B)).max(initial=0.0))


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
