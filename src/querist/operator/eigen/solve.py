"""The smallest eigenpairs of one connected component's Laplacian, its null vector left out.

Three solvers, one contract: `count` pairs `L v = lambda v` with growing `lambda` and orthonormal `v`, all
orthogonal to the known null vector `u`. We know from the graph whether a component has a null vector, so
null is never told from small by looking at an eigenvalue: `u` is deflated before solving.

- *dense*: LAPACK on `L + c u u'`, which moves the null vector to the far end of the spectrum.
- *chebyshev*: a filter with Lanczos (krylov.py) or subspace iteration (chebyshev.py) around it. The
  normalised Laplacian's solver: all of its spectrum lies in [0, 2]. The combinatorial one is as wide as its
  largest degree, and a filter needs a degree that grows with the root of that: it stands in where a factor
  would not fit.
- *shift-invert*: Lanczos (ARPACK) on `(L + s I)^-1` with one sparse factorisation. Exact whatever the
  spectrum, and quick while the factor stays sparse, which is counted beforehand (operator/solve.py).

LOBPCG with algebraic multigrid was tried for the combinatorial Laplacian: on PubMed it took far longer than
either, and it lost eigenpairs of a regular tree.

A later solver joins by meeting the contract and a line in `solvers_for`. Whatever was chosen is reported,
and residuals are measured by the caller.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from itertools import count as iter_count
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from querist.errors import QueristError
from querist.operator.backend import backend_of
from querist.operator.eigen.chebyshev import filtered_pairs, precision, precision_for, width_of
from querist.operator.eigen.filter import Density, density
from querist.operator.solve import factor_fits, factorise
from querist.operator.threads import one_blas_thread
from querist.operator.value import Operator
from querist.progress import Progress, silent
from querist.types import Codes, Floats, Sparse

DENSE = 1500
"""Components up to this size are solved densely."""

FACTOR_ENTRIES = 60_000_000
"""The most entries of a factor that is made, as counted beforehand (12 bytes each)."""

FACTOR_WORK = 1.5e11
"""Its most multiplications."""

FLAT = 0.01
"""With all wanted eigenvalues below it (a path, a mesh), a filter needs a high degree and a factor fills
little: shift-invert first."""

EXACT = 1e-6
"""Shift-invert works to this tolerance or a smaller one: it costs hardly more than a loose one."""

SHIFT = 1e-8
"""Distance of the shift below 0, in units of the mean degree: small against every eigenvalue wanted, large
enough to factorise. What it amplifies is the null vector, and that is projected out."""


RESTARTS = 60
"""ARPACK restarts before the next solver is tried."""

CHECK = 1e-3
"""Relative accuracy with which the largest eigenvalue left over is looked at."""

PASSES = 40
"""Times that missed copies of multiple eigenvalues are fetched before the solver gives up."""

RANDOM = "rng" in signature(spla.eigsh).parameters
"""Whether ARPACK takes the numbers that it draws when its space is exhausted, as of SciPy 1.17, from us."""


class EigenPairs(NamedTuple):
    """`values` (k,) growing, `vectors` (n, k) orthonormal, the name of the solver, and whether the last
    products were in float32: residuals are then no smaller than its rounding."""

    values: Floats
    vectors: Floats
    solver: str
    single: bool = False


@dataclass(frozen=True, eq=False)
class EigenProblem:
    """One component: adjacency over its mean degree, unit null vector or None, and what is wanted of it.

    Iterations run on the `device`, or in this process; factors are made in this process.
    """

    S: Sparse
    u: Floats | None
    count: int
    normalised: bool
    tol: float
    seed: int
    progress: Progress
    spare: int = 0
    device: str | None = None
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Nodes."""
        return int(self.S.shape[0])

    @cached_property
    def here(self) -> Operator:
        """As an operator of this process, in float64."""
        return Operator.laplacian(self.S, normalised=self.normalised)

    def operator(self, dtype: Any) -> Any:
        """As an operator where the iterations run, made once a precision."""
        kind = np.dtype(dtype)
        if kind not in self._made:
            self._made[kind] = (
                Operator.laplacian(self.S, normalised=self.normalised, dtype=kind)
                if self.device is None
                else self._on_device(kind)
            )
        return self._made[kind]

    def _on_device(self, kind: Any) -> Any:
        """The entries are there once, in the precision of the filter."""
        if not self._made:
            filter_kind = np.dtype(precision(self.tol, self.ceiling))
            made = backend_of(self.device).laplacian(self.S, normalised=self.normalised, dtype=filter_kind)
            self._made[filter_kind] = made
        return next(iter(self._made.values())).to(kind)

    @cached_property
    def density(self) -> Density:
        """How its spectrum is spread, in the complement of the null vector."""
        M = self.operator(np.float32)
        v = None if self.u is None else M.space.given(self.u)
        return density(M, v, np.random.default_rng(self.seed))

    @cached_property
    def ceiling(self) -> float:
        """No eigenvalue is larger: 2, or the largest sum of two degrees that share an edge."""
        if self.normalised:
            return 2.0
        degrees = np.asarray(abs(self.S).sum(axis=1)).ravel()
        ends = np.repeat(degrees, np.diff(self.S.indptr))
        return float((ends + degrees[self.S.indices]).max(initial=0.0))


def smallest_pairs(
    S: Sparse,
    null: Floats | None,
    count: int,
    *,
    normalised: bool,
    tol: float,
    seed: int,
    progress: Progress,
    spare: int = 0,
    device: str | None = None,
) -> EigenPairs:
    """Up to `count` smallest non-null pairs of the Laplacian of a connected component with adjacency S.

    `null` is its null vector of any length, or None where it has none (an unbalanced signed component).
    Fewer pairs come back when the component has fewer, or (said by the caller) when they did not converge.
    The last `spare` pairs need not be exact: they are there to be compared with. `device` is where iterations
    run (`querist.operator.device`), or this process.

    >>> from querist.progress import silent
    >>> path = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> keyword = dict(normalised=False, tol=1e-6, seed=0, progress=silent)
    >>> smallest_pairs(path, np.ones(3), 5, **keyword).values.round(9).tolist()
    [1.0, 3.0]
    """
    n = S.shape[0]
    count = min(count, n - (null is not None))
    if count <= 0:
        return EigenPairs(np.empty(0), np.empty((n, 0)), "none needed")
    # Units of the mean degree: tolerances and shift then mean the same for weights of 1e-12 and 1e12.
    scale = 1.0 if normalised else float(abs(S).sum() / n)
    unit = None if null is None else null / np.linalg.norm(null)
    scaled = S if normalised else sp.csr_array(S / scale)
    spare = min(spare, count - 1)
    problem = EigenProblem(scaled, unit, count, normalised, tol, seed, progress, spare, device)
    values, vectors, solver, single = _in_order(problem)
    if (np.diff(values) < 0).any():
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], vectors[:, order]
    return EigenPairs(values * scale, vectors, solver, single)


def _in_order(problem: EigenProblem) -> EigenPairs:
    """The pairs, by an order of the nodes that suits the caches."""
    if not problem.normalised or problem.device is not None or is_small(problem.n, problem.count):
        return _first_that_works(problem)
    S, order = by_degree(problem.S)
    u = None if problem.u is None else problem.u[order]
    found = _first_that_works(replace(problem, S=S, u=u, _made={}))
    return found._replace(vectors=found.vectors[np.argsort(order)])


def by_degree(S: Sparse) -> tuple[Sparse, Codes]:
    """The graph with its nodes by falling degree, and (n,) which node each of them was.

    A product reads a row of the block for every edge: rows that are read most then lie beside each other, and
    the processor can predict the lengths of neighbouring rows.

    >>> by_degree(sp.csr_array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]]))[1].tolist()
    [1, 0, 2]
    """
    order = np.argsort(-np.diff(S.indptr), kind="stable")
    rows = S[order]
    columns = np.argsort(order).astype(rows.indices.dtype)[rows.indices]
    return sp.csr_array((rows.data, columns, rows.indptr), shape=S.shape), order


def solvers_for(problem: EigenProblem) -> Iterator[Callable[[EigenProblem], EigenPairs]]:
    """The solvers to try, best first; the next is only asked for when one did not deliver."""
    if is_small(problem.n, problem.count):
        yield dense_pairs
        return
    first = problem.normalised and not _flat(problem)
    if first:
        yield chebyshev_pairs
    fits = factor_fits(problem.S, FACTOR_ENTRIES, FACTOR_WORK)
    if fits:
        yield shift_invert_pairs
    if not first:
        yield chebyshev_pairs
    if fits:
        yield from_another_start


def is_small(n: int, count: int) -> bool:
    """Whether a dense solution is the quickest, or the only one that gives so many pairs."""
    return n <= DENSE or count > n // 3


def _flat(problem: EigenProblem) -> bool:
    """Whether the wanted eigenvalues crowd at 0."""
    return problem.density.quantile(width_of(problem.count, problem.n)) < FLAT


def _first_that_works(problem: EigenProblem) -> EigenPairs:
    found = EigenPairs(np.empty(0), np.empty((problem.n, 0)), "none")
    for solver in solvers_for(problem):
        try:
            latest = solver(problem)
        except (MemoryError, RuntimeError):  # the factor did not fit, or ARPACK broke down
            continue
        if latest.values.size > found.values.size:
            found = latest
        if found.values.size == problem.count:
            break
    if not found.values.size:
        raise QueristError(
            f"no eigenpair of a component of {problem.n:,} nodes converged; "
            f"raise tol (now {problem.tol:g}), lower the rank, or use normalised=True"
        )
    return found


def dense_pairs(problem: EigenProblem) -> EigenPairs:
    """LAPACK on the dense matrix, its null vector moved above the spectrum (`lambda_max <= 2 max degree`)."""
    M, u = np.asarray(problem.here.matrix().toarray()), problem.u
    if u is not None:
        M += (3.0 * M.diagonal().max()) * np.outer(u, u)
    last = problem.count - 1
    values, vectors = sla.eigh(M, subset_by_index=(0, last), overwrite_a=True, check_finite=False)
    return EigenPairs(values, vectors, "dense")


def chebyshev_pairs(problem: EigenProblem) -> EigenPairs:
    """Filtered iterations; only pairs that arrived, unless there is nothing better to come."""
    with one_blas_thread():  # the threads are ours
        found = filtered_pairs(
            problem.operator,
            problem.u,
            problem.count,
            ceiling=problem.ceiling,
            tol=problem.tol,
            seed=problem.seed,
            progress=problem.progress,
            known=problem.density,
            spare=problem.spare,
        )
    kind = np.dtype(precision(problem.tol, problem.ceiling))
    where = "" if problem.device is None else f" on {problem.device}"
    name = f"chebyshev{where}, {found.products / problem.count:.0f} products, {kind.name} filter"
    vectors = problem.operator(kind).space.array(found.vectors)
    single = precision_for(found.values, problem.tol, problem.ceiling) == np.float32
    if found.arrived:
        return EigenPairs(found.values, vectors, name, single)
    # One pair short is what makes the next solver try; what it cannot better is taken and doubted.
    short = max(1, problem.count - 1)
    return EigenPairs(found.values[:short], vectors[:, :short], name, single)


def shift_invert_pairs(problem: EigenProblem) -> EigenPairs:
    """Lanczos on `(L + s I)^-1`: `lambda = 1/theta - s`."""
    L, n = problem.here, problem.n
    factor = factorise(L, np.full(n, SHIFT), 1.0)
    # A residual rho of the inverse is one of up to |L| rho of L: be as much stricter.
    strict = min(problem.tol, EXACT) / (2 * float(L.diagonal().max()))
    theta, vectors = largest_pairs(
        factor.solve, problem.u, n, problem.count, strict, problem.seed, problem.progress
    )
    return EigenPairs(1 / theta - SHIFT, vectors, "shift-invert")


def from_another_start(problem: EigenProblem) -> EigenPairs:
    """Shift-invert once more: ARPACK can break down where many eigenvalues are equal, seldom twice."""
    return shift_invert_pairs(replace(problem, seed=problem.seed + 1))


# -- Lanczos that misses no copy of a multiple eigenvalue --------------------------------------------------


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
    theta, vectors = _arpack(apply, known, random, count, tol, progress)
    if theta.size < count:
        return theta, vectors
    for _ in range(PASSES):
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


def _arpack(
    apply: Callable[[Floats], Floats],
    known: Floats,
    random: np.random.Generator,
    count: int,
    tol: float,
    progress: Progress,
) -> tuple[Floats, Floats]:
    """The largest pairs of `apply` that converge in the complement of the orthonormal `known` (n, j)."""
    n, done = int(known.shape[0]), iter_count(1)

    def project(x: Floats) -> Floats:
        return x - known @ (known.T @ x)

    def matvec(x: Any) -> Floats:
        if (products := next(done)) % 25 == 0:  # ARPACK does not say how far it is: a guess
            progress(1 - 0.5 ** (products / (4.0 * count + 100)), "Lanczos")
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
