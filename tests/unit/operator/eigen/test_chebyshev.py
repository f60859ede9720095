"""The filtered iteration: its parts against closed forms, the whole against exact solutions."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from hypothesis import assume, given, settings, strategies as st

from querist.operator.eigen import chebyshev, ritz, solve
from querist.operator.local import LocalSpace
from querist.operator.value import Operator
from querist.progress import silent
from querist.types import Floats


def normalised(S: Floats) -> Floats:
    root = 1 / np.sqrt(np.abs(S).sum(axis=1))
    return np.asarray(np.eye(len(S)) - root[:, None] * S * root)


# -- parts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2, 3, 8, 21])
def test_the_filter_is_the_chebyshev_polynomial(degree: int) -> None:
    rng = np.random.default_rng(degree)
    S = np.triu(rng.random((30, 30)) < 0.3, 1).astype(float)
    L = normalised(S + S.T + np.eye(30)[::-1] * 0.1)
    values, vectors = np.linalg.eigh(L)
    cut, top = 0.4, 2.0

    def polynomial(t: Any) -> Any:
        return np.polynomial.chebyshev.chebval((2 * t - top - cut) / (top - cut), [0] * degree + [1])

    expected = (vectors * (polynomial(values) / polynomial(0.0))) @ vectors.T
    X = np.eye(30)
    found = chebyshev.filtered(Operator.symmetric(sp.csr_array(L)), X, degree, cut, top)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(X, np.eye(30))  # what was given is left alone


def test_growth_and_the_degree_that_is_needed() -> None:
    cut, top, value = 0.2, 2.0, 0.1
    rate = float(chebyshev.growth(value, cut, top))
    x = (2 * value - top - cut) / (top - cut)
    for degree in (3, 10):
        assert np.cosh(degree * rate) == pytest.approx(
            abs(np.polynomial.chebyshev.chebval(x, [0] * degree + [1]))
        )
    degree = chebyshev.needed_degree(np.array([value]), np.array([50.0]), cut, top)
    assert np.cosh((degree - 1) * rate) < 100 <= np.cosh(degree * rate) * (1 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ritz_takes_the_span_apart_and_leaves_the_null_vector_out(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    S = np.triu(rng.random((60, 60)) < 0.2, 1).astype(float)
    S += S.T + np.diag(np.ones(59), 1) + np.diag(np.ones(59), -1)
    L = normalised(S)
    values, vectors = np.linalg.eigh(L)
    u = vectors[:, 0]
    # A badly conditioned block with the null vector and a repeated column in it.
    X = vectors[:, :6] @ rng.standard_normal((6, 6)) * np.logspace(0, -3, 6)
    X = np.column_stack([X, X[:, 0], u]).astype(dtype)
    found = chebyshev.ritz(Operator.symmetric(sp.csr_array(L), dtype=dtype), X, u.astype(dtype))
    close = 1e-10 if dtype == np.float64 else 2e-3
    assert found.values.size == 5
    np.testing.assert_allclose(found.values, values[1:6], atol=close)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=close)
    np.testing.assert_allclose(u @ found.vectors, 0, atol=close)
    exact = np.linalg.norm(L @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, exact, atol=1e-6)


@pytest.mark.parametrize("null", [True, False])
def test_the_nearest_orthonormal_block_is_the_polar_factor(null: bool) -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((50, 6)))[0]
    v = Q[:, 0] if null else None
    X = (Q[:, 1:] + 1e-4 * rng.standard_normal((50, 5))).astype(np.float32)
    found = ritz.nearest_orthonormal(LocalSpace(50, np.dtype(np.float64)), X, v)
    rest = X.astype(float) if v is None else X - np.outer(v, v @ X)
    np.testing.assert_allclose(found, sla.polar(rest)[0], atol=1e-13)


def communities(n: int, size: int, degree: int, outside: float, seed: int = 0) -> Any:
    """A connected graph of communities of `size` nodes."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, n, n * degree // 2)
    near, far = i // size * size + rng.integers(0, size, i.size), rng.integers(0, n, i.size)
    j = np.where(rng.random(i.size) < outside, far, near)
    i, j = np.r_[i, np.arange(n)], np.r_[j, (np.arange(n) + 1) % n]
    S = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n)).tocsr()
    S = sp.csr_array(((S + S.T) > 0).astype(float))
    S.setdiag(0)
    S.eliminate_zeros()
    return sp.csr_array(S)


@pytest.mark.parametrize("outside", [0.3, 1e-3], ids=["goals of the tolerance", "eigenvalues near 0"])
def test_sweeps_in_single_precision_reach_their_goals(outside: float) -> None:
    S = communities(6000, 300, 12, outside)
    u = np.sqrt(S.sum(axis=1))
    ask = solve.EigenProblem(S, u / np.linalg.norm(u), 16, True, 2e-3, 0, silent, spare=1)
    found = solve.chebyshev_pairs(ask)
    L, V = Operator.laplacian(S, normalised=True).matrix(), found.vectors
    left = np.linalg.norm(L @ V - V * found.values, axis=0)
    assert V.shape[1] == 16 and (left <= chebyshev.goals(found.values, 2e-3))[:-1].all()
    np.testing.assert_allclose(V.T @ V, np.eye(16), atol=1e-12)
    np.testing.assert_allclose(u @ V, 0, atol=1e-9)


@pytest.mark.slow
def test_the_density_counts_eigenvalues() -> None:
    S = nx.to_scipy_sparse_array(nx.random_regular_graph(6, 3000, seed=1), dtype=float)
    L = Operator.laplacian(sp.csr_array(S), normalised=True, dtype=np.float32)
    values = np.linalg.eigvalsh(normalised(S.toarray()))[1:]
    seen = chebyshev.density(L, np.full(3000, 3000**-0.5, dtype=np.float32), np.random.default_rng(0))
    for count in (30, 100, 1000, 2500):
        assert abs((values < seen.quantile(count)).sum() - count) < 0.25 * count
    assert values[-1] <= seen.top < 1.1 * values[-1]


def test_the_density_of_a_star_ends_early() -> None:
    S = sp.csr_array(nx.to_scipy_sparse_array(nx.star_graph(50), dtype=float))
    seen = chebyshev.density(Operator.laplacian(S, normalised=True), None, np.random.default_rng(0))
    np.testing.assert_allclose(seen.nodes, [0, 1, 2], atol=1e-6)


# -- principal angles to the exact solution ----------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Floats:
    """Connected graphs of 40 to 90 nodes: weighted or not, bipartite, star, path, or with equal parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(40, 90))
    kind = draw(st.sampled_from(["random", "bipartite", "star", "path", "equal parts", "regular"]))
    if kind == "random":
        S = (rng.random((n, n)) < draw(st.floats(0.03, 0.5))).astype(float)
    elif kind == "bipartite":
        S = (rng.random((n, n)) < 0.3).astype(float)
        S[: n // 2, : n // 2] = S[n // 2 :, n // 2 :] = 0
    elif kind == "equal parts":  # three copies joined at one node: every other eigenvalue is double
        part = np.triu(rng.random((n // 3, n // 3)) < 0.3, 1)
        S = sla.block_diag([[0]], part, part, part).astype(float)
        S[0, 1 :: n // 3] = 1
    else:
        made = {"star": nx.star_graph(n), "path": nx.path_graph(n), "regular": nx.cycle_graph(n)}
        S = nx.to_numpy_array(made[kind])
    S = np.triu(S, 1)
    if draw(st.booleans()) and kind not in ("equal parts", "star", "regular"):
        S *= rng.uniform(0.2, 5, S.shape)
    S = S + S.T
    _, part = sp.csgraph.connected_components(sp.csr_array(S))
    keep = part == np.bincount(part).argmax()
    assume(keep.sum() >= 30)
    return np.asarray(S[np.ix_(keep, keep)])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([2e-3, 1e-7]), st.integers(3, 12), st.booleans())
def test_principal_angles_to_the_dense_solution(S: Floats, tol: float, count: int, unit: bool) -> None:
    scaled = S if unit else S / S.sum(axis=1).mean()
    null = np.sqrt(S.sum(axis=1)) if unit else np.ones(len(S))
    u = null / np.linalg.norm(null)
    problem = solve.EigenProblem(sp.csr_array(scaled), u, count, unit, tol, 0, silent)
    values, vectors = np.linalg.eigh(problem.here.matrix().toarray())
    values, vectors = values[1:], vectors[:, 1:]
    gap = values[count] - values[count - 1]
    found = solve.chebyshev_pairs(problem)
    assert found.values.size == count
    # Each Ritz value has an eigenvalue within its residual, and none is skipped by more than that.
    np.testing.assert_allclose(found.values, values[:count], atol=2 * tol)
    errors = problem.operator(np.float64).matmat(found.vectors) - found.vectors * found.values
    assert np.linalg.norm(errors, axis=0).max() <= tol * (1 + 1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(u @ found.vectors, 0, atol=1e-7)
    if gap > 20 * tol:
        # Davis and Kahan: the sine of the largest angle is at most residual / gap.
        sine = np.sin(sla.subspace_angles(vectors[:, :count], found.vectors).max())
        assert sine <= np.sqrt(count) * tol / (gap - 2 * tol)


def test_a_warm_start_from_the_solution_needs_no_sweep() -> None:
    S = nx.to_numpy_array(nx.random_partition_graph([60, 60, 60], 0.3, 0.02, seed=0))
    u = np.sqrt(S.sum(axis=1))
    cold = solve.EigenProblem(sp.csr_array(S), u / np.linalg.norm(u), 8, True, 1e-6, 0, silent)
    first = chebyshev.filtered_pairs(
        cold.operator, cold.u, 8, ceiling=2.0, tol=1e-6, seed=0, progress=cold.progress
    )
    again = chebyshev.filtered_pairs(
        cold.operator, cold.u, 8, ceiling=2.0, tol=1e-6, seed=0, progress=cold.progress, start=first.vectors
    )
    assert first.products > again.products == 0
    np.testing.assert_allclose(again.values, first.values, atol=1e-10)


def test_what_does_not_arrive_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chebyshev, "SWEEPS", 0)
    S = nx.to_numpy_array(nx.path_graph(600))
    u = np.sqrt(S.sum(axis=1))
    ask = solve.EigenProblem(sp.csr_array(S), u / np.linalg.norm(u), 30, True, 1e-9, 0, silent)
    found = chebyshev.filtered_pairs(
        ask.operator, ask.u, 30, ceiling=2.0, tol=1e-9, seed=0, progress=ask.progress
    )
    assert not found.arrived
    assert found.residuals.max() > 1e-9
    assert solve.chebyshev_pairs(ask).values.size < 30


@pytest.mark.parametrize("bridge", [1e-3, 1e-6, 1e-9])
def test_an_eigenvalue_below_float32_is_still_right(bridge: float) -> None:
    # Two cliques h of weight 1 and a weak bridge b: lambda_2 is about 2 b / (h (h - 1)) when normalised.
    h = 40
    S = sla.block_diag(np.ones((h, h)), np.ones((h, h))) - np.eye(2 * h)
    S[0, h] = S[h, 0] = bridge
    u = np.sqrt(S.sum(axis=1))
    ask = solve.EigenProblem(sp.csr_array(S), u / np.linalg.norm(u), 6, True, 2e-3, 0, silent)
    found = solve.chebyshev_pairs(ask)
    assert found.values.size == 6
    assert found.values[0] == pytest.approx(2 * bridge / (h * (h - 1)), rel=0.26)
    np.testing.assert_allclose(np.abs(found.vectors[:, 0]), (2 * h) ** -0.5, rtol=0.01)


def test_sweeps_with_little_left_to_gain_stay_in_single_precision() -> None:
    # Eight communities; the wanted values end inside the bulk behind them, where a sweep gains little.
    n, rng = 4000, np.random.default_rng(0)
    i = rng.integers(0, n, 40_000)
    near, far = i // 500 * 500 + rng.integers(0, 500, i.size), rng.integers(0, n, i.size)
    j = np.where(rng.random(i.size) < 0.7, near, far)
    half = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n)).tocsr()
    S = sp.csr_array(((half + half.T) > 0).astype(float))
    S.setdiag(0)
    S.eliminate_zeros()
    u = np.sqrt(S.sum(axis=1))
    ask = solve.EigenProblem(S, u / np.linalg.norm(u), 20, True, 2e-3, 0, silent)
    steps: list[Any] = []

    class Watched:
        """The float64 operator, which no filter should need."""

        def __getattr__(self, name: str) -> Any:
            return getattr(ask.operator(np.float64), name)

        def combine(self, X: Any, out: Any, **factors: float) -> Any:
            steps.append(factors)
            return ask.operator(np.float64).combine(X, out, **factors)

    exact: Any = Watched()
    found = chebyshev.filtered_pairs(
        lambda dtype: exact if dtype == np.float64 else ask.operator(dtype),
        ask.u,
        20,
        ceiling=2.0,
        tol=2e-3,
        seed=0,
        progress=silent,
        spare=1,
    )
    assert found.arrived and not steps
    assert found.residuals[:-1].max() <= 2e-3


def test_pairs_in_single_precision_are_those_in_double_but_for_rounding() -> None:
    graph = nx.random_partition_graph([150] * 6, 0.2, 0.01, seed=2)
    S = sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
    made = {np.dtype(d): Operator.laplacian(S, normalised=True, dtype=d) for d in (np.float32, np.float64)}
    u = np.sqrt(np.asarray(S.sum(axis=1)).ravel() / S.sum())

    def pairs(exact: bool) -> chebyshev.FilteredPairs:
        return chebyshev.filtered_pairs(
            lambda dtype: made[np.dtype(dtype)], u, 8, ceiling=2.0, tol=2e-3, seed=0, progress=silent,
            keep=lambda X: None, exact=exact,
        )  # fmt: skip

    single, double = pairs(exact=False), pairs(exact=True)
    assert single.arrived
    assert single.vectors.dtype == np.float32
    np.testing.assert_allclose(single.values, double.values, atol=1e-6)
    V = single.vectors.astype(np.float64)
    measured = np.linalg.norm(made[np.dtype(np.float64)].matmat(V) - V * single.values, axis=0)
    np.testing.assert_allclose(single.residuals, measured, atol=1e-6)
    assert measured.max() <= 2e-3
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-5)
