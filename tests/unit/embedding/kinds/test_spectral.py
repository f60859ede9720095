"""Shapes, null spaces, hard cases and what is said about them."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.errors import InputError, QueristError, ResidualWarning
from querist.graph.graph import Graph
from querist.operator.eigen import solve
from querist.types import Floats


def graph_of(edges: Any, n: int, weights: Any = None) -> Graph:
    i, j = np.asarray(edges, dtype=int).reshape(-1, 2).T
    w = np.ones(i.size) if weights is None else np.asarray(weights, dtype=float)
    return Graph(sp.csr_array(sp.coo_array((np.r_[w, w], (np.r_[i, j], np.r_[j, i])), shape=(n, n))))


def ring(n: int, first: int = 0) -> list[tuple[int, int]]:
    return [(first + i, first + (i + 1) % n) for i in range(n)]


# -- shape and constants -----------------------------------------------------------------------------


def test_rank_counts_the_columns_of_a_connected_graph() -> None:
    path = graph_of([(i, i + 1) for i in range(9)], 10)
    for constant in (0.0, 1.0):
        found = embed(path, 4, constant=constant)
        assert found.rows.shape == (10, 4)
        assert found.rows.flags.c_contiguous
        assert found.rows.dtype == np.float64
        assert found.eigenvalues.size == found.residuals.size == 4 - (constant != 0)
    np.testing.assert_array_equal(embed(path, 4, constant=3.0).rows[:, -1], 3.0)


def test_rows_are_exactly_zero_outside_their_component() -> None:
    # Two equal rings: every eigenvalue is there twice, which a solver of the whole matrix would mix.
    graph = graph_of(ring(8) + ring(8, 8), 16)
    rows = embed(graph, 7).rows
    assert rows.shape == (16, 8)
    for column in rows.T:
        assert not (column[:8].any() and column[8:].any())
    np.testing.assert_array_equal(rows[:, 6:], np.repeat(np.eye(2), 8, axis=0))


def test_many_components_share_one_constant_and_stay_apart_in_components() -> None:
    edges = ring(50) + [(i, i + 1) for i in range(50, 250, 2)]
    graph = graph_of(edges, 300)  # a ring, 100 pairs, 50 isolated nodes
    found = embed(graph, 6)
    assert found.rows.shape == (300, 5 + 6 + 1)
    assert (found.rows[:, 5:].sum(axis=1) == 1).all()
    assert found.rows[:, -1].sum() == 300 - 50 - 2 * 5
    assert "145 small components share one constant column" in found.report()
    np.testing.assert_array_equal(found.components, graph.components)
    assert embed(graph, 6, max_constants=151).rows.shape == (300, 5 + 151)


def test_a_balanced_signed_component_has_its_signature_and_an_unbalanced_one_nothing() -> None:
    balanced = [(0, 1), (1, 2), (0, 2)]
    graph = graph_of([*balanced, (3, 4), (4, 5), (3, 5)], 6, [1, -1, -1, 1, 1, -1])
    for normalised in (True, False):
        rows = embed(graph, 6, normalised=normalised, constant=2.0).rows
        assert rows.shape == (6, 5 + 1)  # 2 + 3 eigenvectors, one signature
        np.testing.assert_array_equal(rows[:, -1], [2, 2, -2, 0, 0, 0])


def test_without_any_null_vector_all_of_the_rank_is_eigenvectors() -> None:
    unbalanced = graph_of([(0, 1), (1, 2), (0, 2)], 3, [1, 1, -1])
    for rank in (1, 2, 3):
        assert embed(unbalanced, rank).eigenvalues.size == embed(unbalanced, rank).n_columns == rank


def test_isolated_nodes_and_a_graph_without_edges() -> None:
    lonely = embed(graph_of([], 3), 2)
    np.testing.assert_array_equal(lonely.rows, np.eye(3))
    assert "0 eigenvectors besides its constants" in lonely.report()
    np.testing.assert_array_equal(embed(graph_of([], 1), 1).rows, [[1.0]])
    assert embed(graph_of([], 3), 2, constant=0).rows.shape == (3, 0)
    assert embed(graph_of(ring(5), 6), 3).rows[5].tolist() == [0, 0, 0, 1]


def test_too_large_a_rank_and_other_bad_requests_are_refused() -> None:
    graph = graph_of(ring(5), 5)
    with pytest.raises(InputError, match="rank 6 for a graph of 5 nodes; pass a rank from 1 to 5"):
        embed(graph, 6)
    for bad in (
        {"rank": 0},
        {"rank": 2.5},
        {"rank": "3"},
        {"seed": -1},
        {"seed": 0.5},
        {"tol": np.inf},
        {"constant": np.nan},
        {"max_constants": 0},
        {"tol": 0.0},
        {"steps": -1},
        {"damping": 1.5},
    ):
        with pytest.raises(InputError):
            embed(graph, **{"rank": 3, **bad})  # type: ignore[arg-type]
    with pytest.raises(QueristError, match="did you mean 'spectral'"):
        embed(graph, 3, kind="spectrl")
    with pytest.raises(InputError, match="is no graph"):
        embed(object(), 2)
    with pytest.raises(InputError, match="add up to more than a double holds"):
        embed(graph_of(ring(3), 3, [1.7e308] * 3), 2)


def test_what_as_graph_takes_is_taken() -> None:
    pairs = ring(5)
    assert np.array_equal(embed(pairs, 3).rows, embed(graph_of(pairs, 5), 3).rows)


# -- known spectra and hard weights ------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_known_spectra_at_any_scale(weight: float) -> None:
    n = 12
    star = graph_of([(0, i) for i in range(1, n)], n, [weight] * (n - 1))
    complete = graph_of([(i, j) for i in range(n) for j in range(i)], n, [weight] * (n * (n - 1) // 2))
    path = graph_of([(i, i + 1) for i in range(n - 1)], n, [weight] * (n - 1))
    expected = {
        star: [1.0] * (n - 2) + [n],
        complete: [n] * (n - 1),
        path: 2 - 2 * np.cos(np.pi * np.arange(1, n) / n),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for graph, values in expected.items():
            found = embed(graph, n, normalised=False)
            np.testing.assert_allclose(found.eigenvalues, np.array(values) * weight, rtol=1e-9)
            assert np.isfinite(found.rows).all()
            # Measured in units of the degrees: squares of such weights would all be 0 or infinite.
            assert 0 < found.residual < 1e-12


def test_normalised_rows_do_not_depend_on_the_unit_of_weights() -> None:
    rng = np.random.default_rng(0)
    edges = np.argwhere(np.triu(rng.random((30, 30)) < 0.2, 1))
    weights = rng.uniform(0.5, 2, len(edges))
    here = embed(graph_of(edges, 30, weights), 8).rows
    there = embed(graph_of(edges, 30, weights * 1e12), 8).rows
    np.testing.assert_allclose(here @ here.T, there @ there.T, atol=1e-9)


def bridged(bridge: float, half: int = 20) -> Graph:
    """Two cliques and a bridge of any weight."""
    cliques = [(i + s, j + s) for s in (0, half) for i in range(half) for j in range(i)]
    return graph_of([*cliques, (0, half)], 2 * half, [1.0] * len(cliques) + [bridge])


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_eigenvalue_below_rounding_is_never_inverted(
    monkeypatch: pytest.MonkeyPatch, normalised: bool, sparse: bool
) -> None:
    if sparse:
        monkeypatch.setattr(solve, "DENSE", 10)
    with pytest.warns(ResidualWarning, match="1 eigenvalues are lost in rounding") as caught:
        rows = embed(bridged(1e-30), 5, normalised=normalised).rows
    assert isinstance(caught[0].message, ResidualWarning)
    assert caught[0].message.residual < 1e-12
    # The two cliques are told apart by a column of the constant's length, not one of length 1e15.
    np.testing.assert_allclose(np.abs(rows[:, 0]), 1.0, atol=1e-6)
    assert rows[0, 0] * rows[-1, 0] < 0
    assert np.abs(rows).max() < 2


def test_a_weak_bridge_above_rounding_is_inverted() -> None:
    found = embed(bridged(1e-6), 5, normalised=False)
    assert found.doubts == ()
    # For a weak bridge b between halves of size h, lambda_2 = 2 b / h.
    assert found.eigenvalues[0] == pytest.approx(2 * 1e-6 / 20, rel=1e-4)


def test_weights_over_many_orders_of_magnitude_stay_finite_and_are_doubted() -> None:
    rng = np.random.default_rng(1)
    edges = np.argwhere(np.triu(rng.random((40, 40)) < 0.2, 1))
    graph = graph_of(edges, 40, 10.0 ** rng.uniform(-12, 12, len(edges)))
    with pytest.warns(ResidualWarning):
        found = embed(graph, 30, normalised=False)
    assert np.isfinite(found.rows).all()


# -- what is said ------------------------------------------------------------------------------------


def test_a_cut_inside_a_multiple_eigenvalue_is_noted() -> None:
    graph = graph_of(ring(10), 10)  # eigenvalues come in pairs
    inside, outside = embed(graph, 4), embed(graph, 5)
    assert inside.eigengap < 1e-9
    assert "inside a multiple eigenvalue" in inside.report()
    assert outside.eigengap > 0.1
    assert "multiple" not in outside.report()


def test_a_residual_above_tol_is_a_warning_that_carries_it() -> None:
    with pytest.warns(ResidualWarning, match="above tol") as caught:
        found = embed(bridged(1.0), 6, tol=1e-18)
    assert isinstance(caught[0].message, ResidualWarning)
    assert caught[0].message.residual == found.residual > 0


def test_pairs_that_do_not_converge_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "DENSE", 10)

    def poor(problem: solve.EigenProblem) -> solve.EigenPairs:
        pairs = solve.dense_pairs(problem)
        return solve.EigenPairs(pairs.values[:2], pairs.vectors[:, :2], "poor")

    monkeypatch.setattr(solve, "shift_invert_pairs", poor)
    monkeypatch.setattr(solve, "chebyshev_pairs", poor)
    with pytest.warns(ResidualWarning, match="4 eigenpairs did not converge"):
        assert embed(bridged(1.0), 6).rows.shape == (40, 2 + 1)

    def failing(*arguments: Any) -> solve.EigenPairs:
        raise MemoryError

    monkeypatch.setattr(solve, "shift_invert_pairs", failing)
    monkeypatch.setattr(solve, "chebyshev_pairs", failing)
    with pytest.raises(QueristError, match="no eigenpair of a component of 40 nodes converged"):
        embed(bridged(1.0), 6)


def test_one_solver_stands_in_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any) -> solve.EigenPairs:
        raise MemoryError

    monkeypatch.setattr(solve, "DENSE", 10)
    monkeypatch.setattr(solve, "shift_invert_pairs", failing)
    assert "chebyshev" in embed(graph_of(ring(60), 60), 6).solver
    monkeypatch.undo()
    monkeypatch.setattr(solve, "DENSE", 10)
    monkeypatch.setattr(solve, "FACTOR_WORK", 0)  # what would not fit is not tried
    assert "chebyshev" in embed(bridged(1.0), 6, normalised=False).solver
    monkeypatch.setattr(solve, "FACTOR_WORK", 1e9)
    assert embed(bridged(1.0), 6, normalised=False).solver == "shift-invert"


@pytest.mark.parametrize("dense", [10, 1500])
def test_two_runs_agree_and_progress_grows(monkeypatch: pytest.MonkeyPatch, dense: int) -> None:
    monkeypatch.setattr(solve, "DENSE", dense)
    graph = graph_of(ring(90) + ring(60, 90) + ring(3, 150) + ring(3, 153), 156)
    seen: list[float] = []
    first = embed(graph, 12, progress=lambda fraction, text: seen.append(fraction))
    np.testing.assert_array_equal(first.rows, embed(graph, 12).rows)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    for column in first.rows.T:
        assert column[np.abs(column).argmax()] > 0 or np.isclose(column.max(), -column.min())


def test_an_embedding_is_a_plain_checked_value() -> None:
    rows: Floats = np.asfortranarray(np.ones((3, 2)))
    given = Embedding(rows, np.zeros(3))
    assert given.rows.flags.c_contiguous
    assert (given.n_nodes, given.n_columns, given.residual) == (3, 2, 0.0)
    with pytest.raises(InputError, match="finite"):
        Embedding(np.full((3, 2), np.nan), np.zeros(3))
    with pytest.raises(InputError, match="2 component numbers for 3 rows"):
        Embedding(rows, np.zeros(2))
