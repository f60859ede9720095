"""Filtered block Lanczos: its space against its definition, what it finds against exact solutions."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp

from querist.operator.eigen import chebyshev, krylov, solve
from querist.operator.eigen.filter import growth, origins
from querist.operator.local import LocalSpace
from querist.progress import silent
from querist.types import Floats


@pytest.fixture(autouse=True)
def for_few_pairs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "LEAST", 1)


def spider(legs: int, length: int) -> nx.Graph:
    made = nx.disjoint_union_all([nx.path_graph(length)] * legs)
    made.add_edges_from(("hub", length * leg) for leg in range(legs))
    return made


def problem(made: nx.Graph, count: int, tol: float, weighted: bool = False) -> solve.EigenProblem:
    S = nx.to_numpy_array(made)
    if weighted:
        W = np.triu(np.random.default_rng(0).uniform(0.2, 5, S.shape), 1)
        S = S * (W + W.T)
    u = np.sqrt(S.sum(axis=1))
    return solve.EigenProblem(sp.csr_array(S), u / np.linalg.norm(u), count, True, tol, 0, silent)


def space_of(given: solve.EigenProblem, dtype: Any, cut: float) -> krylov.KrylovSpace:
    M = given.operator(dtype)
    assert given.u is not None
    u = given.u.astype(dtype)
    return krylov.KrylovSpace(
        M,
        u,
        given.count,
        cut=cut,
        top=2.0,
        reach=240.0,
        random=np.random.default_rng(0),
        progress=given.progress,
    )


def rows_of(space: krylov.KrylovSpace) -> Floats:
    """The vectors of the space, one a row."""
    return np.asarray(space.vectors(np.eye(space.m), LocalSpace(space.M.n, np.dtype(np.float64)))).T


def laplacian_function(given: solve.EigenProblem, space: krylov.KrylovSpace) -> Floats:
    """p(L) by a dense decomposition."""
    values, vectors = np.linalg.eigh(given.here.matrix().toarray())
    places = (2 * values - 2.0 - space.cut) / (2.0 - space.cut)
    p = np.polynomial.chebyshev.Chebyshev.basis(space.degree)
    return np.asarray(vectors * (p(places) / p((-2.0 - space.cut) / (2.0 - space.cut))) @ vectors.T)


PARTS = nx.random_partition_graph([150] * 6, 0.06, 0.002, seed=1)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 3e-4), (np.float64, 1e-11)])
def test_the_space_is_orthonormal_and_its_matrix_is_the_filtered_operator(dtype: Any, close: float) -> None:
    given = problem(PARTS, 6, 2e-3)
    space = space_of(given, dtype, 0.3)
    p = laplacian_function(given, space)

    def check() -> None:
        V = rows_of(space)
        np.testing.assert_allclose(V @ V.T, np.eye(space.m), atol=close)
        inner = V @ p @ V.T
        inner[0] = inner[:, 0] = 0
        np.testing.assert_allclose(space.T[: space.m, : space.m], inner, atol=close)
        np.testing.assert_allclose(rows_of(space)[0], given.u, atol=close)

    for _ in range(4):
        space._grow()
        check()
    # p(L) V = V T + what leaves from the last block: the estimate of residuals rests on it.
    V = rows_of(space)
    outside = p @ V.T - V.T @ (V @ p @ V.T)
    assert np.abs(outside[:, : space.last.start]).max() < close
    np.testing.assert_allclose(
        np.linalg.norm(outside[:, space.last]), np.linalg.norm(space.leaving), atol=close
    )
    space._restart(12)
    assert space.m == 13
    check()
    space._grow()
    check()


def test_origins_undo_the_filter() -> None:
    cut, top, degree = 0.2, 2.0, 9
    values = np.array([0.0, 0.01, 0.1, 0.199])
    theta = np.cosh(degree * growth(values, cut, top)) / np.cosh(degree * growth(0.0, cut, top))
    np.testing.assert_allclose(origins(theta, degree, cut, top), values, atol=1e-12)
    assert origins(np.array([0.0]), degree, cut, top) == cut


def copies(count: int) -> nx.Graph:
    """Equal random graphs at one hub: all eigenvalues but a few are (count - 1)-fold."""
    one = nx.random_regular_graph(3, 60, seed=1)
    made = nx.disjoint_union_all([one] * count)
    made.add_edges_from(("hub", one.number_of_nodes() * copy) for copy in range(count))
    return made


# The graph, how many pairs, and whether the Lanczos method is enough by itself.
GRAPHS = {
    "parts": (PARTS, 6, True),
    "copies": (copies(22), 30, True),
    "spider": (spider(30, 40), 45, False),
    "tree": (nx.balanced_tree(3, 6), 30, False),
    "hypercube": (nx.hypercube_graph(10), 40, False),
    "bipartite": (nx.bipartite.random_graph(500, 700, 0.02, seed=2), 20, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("tol", [2e-3, 1e-7])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_pairs_are_those_of_the_dense_solution(
    monkeypatch: pytest.MonkeyPatch, name: str, tol: float, weighted: bool
) -> None:
    made, count, alone = GRAPHS[name]
    made = made.subgraph(max(nx.connected_components(made), key=len))
    given = problem(made, count, tol, weighted)
    assert krylov.worth(count, given.n)
    if alone:
        monkeypatch.setattr(chebyshev._Sweeps, "begin", None)
    exact, vectors = np.linalg.eigh(given.here.matrix().toarray())
    exact, vectors = exact[1:], vectors[:, 1:]
    found = solve.chebyshev_pairs(given)
    np.testing.assert_allclose(found.values, exact[:count], atol=tol)
    errors = given.operator(np.float64).matmat(found.vectors) - found.vectors * found.values
    assert np.linalg.norm(errors, axis=0).max() <= tol
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-9)
    gap = exact[count] - exact[count - 1]
    if gap > 20 * tol:
        sine = np.sin(sla.subspace_angles(vectors[:, :count], found.vectors).max())
        assert sine <= np.sqrt(count) * tol / (gap - 2 * tol)


def test_a_small_room_restarts_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(PARTS, 6, 1e-6)
    free = chebyshev.filtered_pairs(
        given.operator, given.u, 6, ceiling=2.0, tol=1e-6, seed=0, progress=given.progress
    )
    monkeypatch.setattr(krylov, "room_of", lambda count: 64)
    monkeypatch.setattr(krylov, "RESTARTS", 40)
    monkeypatch.setattr(chebyshev._Sweeps, "begin", None)
    tight = chebyshev.filtered_pairs(
        given.operator, given.u, 6, ceiling=2.0, tol=1e-6, seed=0, progress=given.progress
    )
    np.testing.assert_allclose(tight.values, free.values, atol=1e-9)


@pytest.mark.parametrize("tol", [0.1, 0.02])
def test_missed_copies_are_fetched(monkeypatch: pytest.MonkeyPatch, tol: float) -> None:
    # Two columns for eigenvalues that are 21-fold.
    monkeypatch.setattr(krylov, "width_of", lambda count: 2)
    monkeypatch.setattr(krylov, "RESTARTS", 30)
    monkeypatch.setattr(chebyshev._Sweeps, "begin", None)
    # From two of twelve starts a narrow block misses some, and the sweeps, not tried here, find them.
    given = replace(problem(copies(22), 30, tol), seed=1)
    exact = np.linalg.eigvalsh(given.here.matrix().toarray())[1:31]
    np.testing.assert_allclose(solve.chebyshev_pairs(given).values, exact, atol=tol**2)


@pytest.mark.parametrize("cut", [0.02, 1.9])
def test_a_poor_cut_is_repaired(monkeypatch: pytest.MonkeyPatch, cut: float) -> None:
    given = problem(PARTS, 6, 2e-3)
    monkeypatch.setattr(type(given.density), "quantile", lambda self, count: cut)
    exact = np.linalg.eigvalsh(given.here.matrix().toarray())[1:7]
    found = solve.chebyshev_pairs(given)
    np.testing.assert_allclose(found.values, exact, atol=2e-3)


@pytest.mark.parametrize("bridge", [1e-3, 1e-7])
def test_an_eigenvalue_below_float32_falls_to_the_sweeps(bridge: float) -> None:
    h = 300
    S = sla.block_diag(np.ones((h, h)), np.ones((h, h))) - np.eye(2 * h)
    S[0, h] = S[h, 0] = bridge
    u = np.sqrt(S.sum(axis=1))
    ask = solve.EigenProblem(sp.csr_array(S), u / np.linalg.norm(u), 6, True, 2e-3, 0, silent)
    assert krylov.worth(6, 2 * h)
    found = solve.chebyshev_pairs(ask)
    assert found.values[0] == pytest.approx(2 * bridge / (h * (h - 1)), rel=0.26)


@pytest.mark.parametrize(("marks", "longest"), [([], 0), ([1], 1), ([0, 1, 1, 0, 1], 2), ([0], 0)])
def test_longest_run(marks: list[int], longest: int) -> None:
    assert krylov.longest_run(np.array(marks, dtype=bool)) == longest
