"""Lanczos that misses no copy of a multiple eigenvalue.

ARPACK from one start finds one copy of each; no residual shows that others are missing. What was found is
deflated and the rest looked at until nothing is missing.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

from querist.progress import Progress, silent
from querist.types import Floats

RESTARTS = 60
"""ARPACK restarts before the next solver is tried."""

CHECK = 1e-3
"""Relative accuracy with which the largest eigenvalue left over is looked at."""

PASSES = 40
"""Times that missed copies of multiple eigenvalues are fetched before the solver gives up."""

RANDOM = "rng" in signature(spla.eigsh).parameters
"""Whether ARPACK takes the numbers that it draws when its space is exhausted, as of SciPy 1.17, from us."""


def largest_pairs(
    apply: Callable[[Floats], Floats],
    u: Floats | None,
    n: int,
    count: int,
    tol: float,
    seed: int,
    progress: Progress,
) -> tuple[Floats, Floats]:
    """The `count` largest eigenpairs of a positive semi-definite operator, orthogonal to `u`.

    Lanczos from one start can miss copies of a multiple eigenvalue, and no residual shows it: on regular
    trees, grids and hypercubes it does. So what was found is deflated and the largest eigenvalue of the
    rest is looked at; while it lies above the smallest one found, the missed pairs are fetched.
    Only pairs that no missed one can precede come back, be they fewer than `count`.
    """
    known = np.empty((n, 0)) if u is None else u[:, None]
    random = np.random.default_rng(seed)
    theta, vectors = _arpack(apply, known, random, count, tol, _Clock(count, progress))
    if theta.size < count:
        return theta, vectors
    for _ in range(PASSES):
        quiet = _Clock(count, silent)
        known = vectors if u is None else np.column_stack([vectors, u])
        rest = _arpack(apply, known, random, 1, CHECK, quiet)[0]
        if not rest.size or rest[0] <= theta.min() * (1 + CHECK / 10):
            return theta, vectors
        further = _arpack(apply, known, random, max(1, count // 4), tol, quiet)[1]
        theta, vectors = _ritz(apply, u, np.column_stack([vectors, further]))
        theta, vectors = theta[:count], vectors[:, :count]
    sure = theta >= rest[0]
    return theta[sure], vectors[:, sure]


def _ritz(apply: Callable[[Floats], Floats], u: Floats | None, span: Floats) -> tuple[Floats, Floats]:
    """The eigenpairs of the operator within a span of vectors, largest first, orthonormal to rounding."""
    if u is not None:
        span = span - np.outer(u, u @ span)
    basis = np.linalg.qr(span)[0]
    inner = basis.T @ np.column_stack([apply(column) for column in basis.T])
    theta, turn = np.linalg.eigh((inner + inner.T) / 2)
    return theta[::-1], basis @ turn[:, ::-1]


class _Clock:
    """Guesses how far ARPACK is from the number of products; it does not say itself."""

    def __init__(self, count: int, progress: Progress) -> None:
        self.products, self.usual, self.progress = 0, 4.0 * count + 100, progress

    def __call__(self) -> None:
        self.products += 1
        if self.products % 25 == 0:
            self.progress(1 - 0.5 ** (self.products / self.usual), "Lanczos")


def _arpack(
    apply: Callable[[Floats], Floats],
    known: Floats,
    random: np.random.Generator,
    count: int,
    tol: float,
    clock: _Clock,
) -> tuple[Floats, Floats]:
    """The largest pairs of `apply` that converge in the complement of the orthonormal `known` (n, j)."""
    n = int(known.shape[0])

    def project(x: Floats) -> Floats:
        return x - known @ (known.T @ x)

    def matvec(x: Any) -> Floats:
        clock()
        return project(apply(project(x.ravel())))

    operator: Any = spla.LinearOperator((n, n), matvec=matvec, dtype=np.float64)
    start = project(random.standard_normal(n))
    basis = min(n - 1, max(2 * count + 1, 40))
    accuracy = max(tol / 10, 1e-15)
    drawn: Any = {"rng": random} if RANDOM else {}
    try:
        theta, vectors = spla.eigsh(
            operator, k=count, which="LA", v0=start, ncv=basis, maxiter=RESTARTS, tol=accuracy, **drawn
        )
    except spla.ArpackNoConvergence as stopped:
        theta, vectors = stopped.eigenvalues, stopped.eigenvectors
    return np.asarray(theta), np.asarray(vectors)
