"""The smallest eigenpairs of one connected component's Laplacian, its null vector left out.

Three solvers, one contract: `count` pairs `L v = lambda v` with growing `lambda` and orthonormal `v`, all
orthogonal to the known null vector `u`. We know from the graph whether a component has a null vector, so
null is never told from small by looking at an eigenvalue: `u` is deflated before solving.

- *dense*: LAPACK on `L + c u u'`, which moves the null vector to the far end of the spectrum.
- *shift-invert*: Lanczos (ARPACK) on `(L + s I)^-1` with one sparse factorisation. Exact and quick while
  the factor stays sparse: citation and dependency graphs, paths, trees, meshes.
- *lanczos*: Lanczos on the flipped spectrum `I - L = D^-1/2 S D^-1/2`, normalised Laplacian only (the
  spectrum of the combinatorial one is as wide as its largest degree). For graphs whose factor fills in.

A later solver joins by meeting the contract and a line in `smallest_pairs`.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from querist.errors import QueristError
from querist.types import Floats, Sparse

DENSE = 1500
"""Components up to this size are solved densely."""

MEAN_DEGREE = 10.0
"""Above it, sparse factors of real graphs fill in and Lanczos on the flipped spectrum is quicker."""

SHIFT = 1e-8
"""Distance of the shift below 0, in units of the mean degree: small against every eigenvalue wanted, large
enough to factorise. What it amplifies is the null vector, and that is projected out."""

RESTARTS = 60
"""ARPACK restarts before the next solver is tried."""


CHECK = 1e-3
"""Relative accuracy with which the largest eigenvalue left over is looked at."""

PASSES = 40
"""Times that missed copies of multiple eigenvalues are fetched before the solver gives up."""


class Pairs(NamedTuple):
    """`values` (k,) growing, `vectors` (n, k) orthonormal, and the name of the solver."""

    values: Floats
    vectors: Floats
    solver: str


def smallest_pairs(
    L: Sparse,
    null: Floats | None,
    count: int,
    *,
    normalised: bool,
    tol: float,
    seed: int,
    tick: Callable[[float], None],
) -> Pairs:
    """Up to `count` smallest non-null pairs of a connected component.

    `null` is its null vector of any length, or None where it has none (an unbalanced signed component).
    Fewer pairs come back when the component has fewer, or (said by the caller) when they did not converge.
    `tick` is told the share of the work done, 0 to 1.

    >>> path = sp.csr_array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> keyword = dict(normalised=False, tol=1e-6, seed=0, tick=lambda share: None)
    >>> smallest_pairs(path, np.ones(3), 5, **keyword).values.round(9).tolist()
    [1.0, 3.0]
    """
    n = L.shape[0]
    count = min(count, n - (null is not None))
    if count <= 0:
        return Pairs(np.empty(0), np.empty((n, 0)), "none needed")
    # Units of the mean degree: tolerances and shift then mean the same for weights of 1e-12 and 1e12.
    scale = float(L.diagonal().mean())
    unit = None if null is None else null / np.linalg.norm(null)
    values, vectors, solver = _choose(sp.csr_array(L / scale), unit, count, normalised, tol, seed, tick)
    order = np.argsort(values, kind="stable")
    return Pairs(values[order] * scale, vectors[:, order], solver)


def _choose(
    L: Sparse,
    u: Floats | None,
    count: int,
    normalised: bool,
    tol: float,
    seed: int,
    tick: Callable[[float], None],
) -> Pairs:
    n = L.shape[0]
    if n <= DENSE or count > n // 3:
        return dense_pairs(L, u, count)
    # The solvers to try, best first. Whatever they give, the residuals are checked afterwards.
    solvers = [shift_invert_pairs]
    if normalised:
        filled = L.nnz - n > MEAN_DEGREE * n
        solvers.insert(0 if filled else 1, lanczos_pairs)
    found = Pairs(np.empty(0), np.empty((n, 0)), "none")
    for solver in solvers:
        try:
            latest = solver(L, u, count, tol, seed, tick)
        except (MemoryError, RuntimeError):  # the factor did not fit, or ARPACK broke down
            continue
        if latest.values.size > found.values.size:
            found = latest
        if found.values.size == count:
            break
    if not found.values.size:
        raise QueristError(
            f"no eigenpair of a component of {n:,} nodes converged; "
            f"raise tol (now {tol:g}), lower the rank, or use normalised=True"
        )
    return found


def dense_pairs(L: Sparse, u: Floats | None, count: int) -> Pairs:
    """LAPACK on the dense matrix, its null vector moved above the spectrum (`lambda_max <= 2 max degree`)."""
    M = np.asarray(L.toarray())
    if u is not None:
        M += (3.0 * M.diagonal().max()) * np.outer(u, u)
    values, vectors = sla.eigh(M, subset_by_index=(0, count - 1), overwrite_a=True, check_finite=False)
    return Pairs(values, vectors, "dense")


def shift_invert_pairs(
    L: Sparse, u: Floats | None, count: int, tol: float, seed: int, tick: Callable[[float], None]
) -> Pairs:
    """Lanczos on `(L + s I)^-1`: `lambda = 1/theta - s`."""
    n = L.shape[0]
    shifted = sp.csc_array(L + SHIFT * sp.eye_array(n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spla.MatrixRankWarning)
        # Symmetric positive definite: pivots stay on the diagonal and the ordering may use the symmetry.
        factor = spla.splu(
            shifted,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    # A residual rho of the inverse is one of up to |L| rho of L: be as much stricter.
    strict = tol / (2 * float(L.diagonal().max()))
    theta, vectors = _lanczos(factor.solve, u, n, count, strict, seed, tick)
    return Pairs(1 / theta - SHIFT, vectors, "shift-invert")


def lanczos_pairs(
    L: Sparse, u: Floats | None, count: int, tol: float, seed: int, tick: Callable[[float], None]
) -> Pairs:
    """Lanczos on the flipped spectrum of the normalised Laplacian: `lambda = 1 - theta`."""

    def flipped(x: Floats) -> Floats:
        # + 1 keeps wanted values positive and away from 0, where deflation puts the null vector.
        return 2 * x - L @ x

    theta, vectors = _lanczos(flipped, u, L.shape[0], count, tol, seed, tick)
    return Pairs(2 - theta, vectors, "lanczos")


def _lanczos(
    apply: Callable[[Floats], Floats],
    u: Floats | None,
    n: int,
    count: int,
    tol: float,
    seed: int,
    tick: Callable[[float], None],
) -> tuple[Floats, Floats]:
    """The `count` largest eigenpairs of a positive semi-definite operator, orthogonal to `u`.

    Lanczos from one start can miss copies of a multiple eigenvalue, and no residual shows it: on regular
    trees, grids and hypercubes it does. So what was found is deflated and the largest eigenvalue of the
    rest is looked at; while it lies above the smallest one found, the missed pairs are fetched.
    Only pairs that no missed one can precede come back, be they fewer than `count`.
    """
    known = np.empty((n, 0)) if u is None else u[:, None]
    random = np.random.default_rng(seed)
    theta, vectors = _arpack(apply, known, random, count, tol, _Clock(count, tick))
    if theta.size < count:
        return theta, vectors
    for _ in range(PASSES):
        silent = _Clock(count, lambda share: None)
        known = vectors if u is None else np.column_stack([vectors, u])
        rest = _arpack(apply, known, random, 1, CHECK, silent)[0]
        if not rest.size or rest[0] <= theta.min() * (1 + CHECK / 10):
            return theta, vectors
        further = _arpack(apply, known, random, max(1, count // 4), tol, silent)[1]
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

    def __init__(self, count: int, tick: Callable[[float], None]) -> None:
        self.products, self.usual, self.tick = 0, 4.0 * count + 100, tick

    def __call__(self) -> None:
        self.products += 1
        if self.products % 25 == 0:
            self.tick(1 - 0.5 ** (self.products / self.usual))


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
    try:
        theta, vectors = spla.eigsh(
            operator, k=count, which="LA", v0=start, ncv=basis, maxiter=RESTARTS, tol=accuracy
        )
    except spla.ArpackNoConvergence as stopped:
        theta, vectors = stopped.eigenvalues, stopped.eigenvectors
    return np.asarray(theta), np.asarray(vectors)
