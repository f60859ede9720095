"""Graphs with few different eigenvalues, each many times: stars, twins, copies at a hub."""

import warnings
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.graph.graph import Graph
from querist.operator.eigen import solve
from querist.operator.eigen.ritz import ritz
from querist.operator.value import Operator
from querist.progress import silent
from querist.types import Floats


def graph_of(made: nx.Graph) -> Graph:
    return Graph(sp.csr_array(nx.to_scipy_sparse_array(made, dtype=float)))


def stars_in_a_row(hubs: int, leaves: int) -> nx.Graph:
    """A path of hubs, each with leaves."""
    return nx.corona_product(nx.path_graph(hubs), nx.empty_graph(leaves))


def windmill(blades: int, size: int) -> nx.Graph:
    """Cliques of a size that share one node."""
    made = nx.disjoint_union_all([nx.complete_graph(size - 1)] * blades)
    made.add_edges_from([("hub", node) for node in list(made)])
    return made


def with_weights(made: nx.Graph, values: list[float]) -> nx.Graph:
    drawn = np.random.default_rng(0).choice(values, made.number_of_edges())
    for (_, _, data), weight in zip(made.edges(data=True), drawn, strict=True):
        data["weight"] = float(weight)
    return made


def each_as_twins(base: nx.Graph, size: int) -> nx.Graph:
    """Every node replaced by as many twins."""
    return nx.lexicographic_product(base, nx.empty_graph(size))


# All a little larger than what is solved densely.
GRAPHS: dict[str, Callable[[], nx.Graph]] = {
    "star": lambda: nx.star_graph(1550),
    "star, weighted": lambda: with_weights(nx.star_graph(1550), [0.1, 1.0, 3.0]),
    "star, signed": lambda: with_weights(nx.star_graph(1550), [1.0, -1.0]),
    "bipartite": lambda: nx.complete_bipartite_graph(3, 1550),
    "bipartite, signed": lambda: with_weights(nx.complete_bipartite_graph(3, 1550), [1.0, -1.0]),
    "double star": lambda: stars_in_a_row(2, 775),
    "chain of stars": lambda: stars_in_a_row(3, 520),
    "caterpillar": lambda: stars_in_a_row(20, 75),
    "friendship": lambda: windmill(775, 3),
    "windmill": lambda: windmill(320, 6),
    "twins on a ring": lambda: each_as_twins(nx.cycle_graph(12), 130),
    "complete": lambda: nx.complete_graph(1510),
    "multipartite": lambda: nx.complete_multipartite_graph(5, 6, 1500),
    "star and components": lambda: nx.disjoint_union_all(
        [nx.star_graph(1550), *[nx.star_graph(5)] * 8, nx.path_graph(2), nx.empty_graph(3)]
    ),
}


def laplacian(graph: Graph, normalised: bool) -> Floats:
    """Dense, from its definition."""
    S = graph.adjacency.toarray()
    degrees = np.abs(S).sum(axis=1)
    if normalised:
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
        S, degrees = root[:, None] * S * root, (degrees > 0) * 1.0
    return np.asarray(np.diag(degrees) - S)


def unscaled(found: Embedding) -> Floats:
    """(n, k) the eigenvectors of an embedding."""
    assert np.isfinite(found.rows).all()
    return np.asarray(found.rows[:, : found.eigenvalues.size] * np.sqrt(found.eigenvalues))


def without_doubt(graph: Graph, rank: int, *, normalised: bool, tol: float = 2e-3) -> Embedding:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return embed(graph, rank, normalised=normalised, tol=tol, cache=False)


@pytest.mark.slow
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_pairs_are_those_of_the_dense_solution(name: str, normalised: bool) -> None:
    graph = graph_of(GRAPHS[name]())
    L = laplacian(graph, normalised)
    exact = np.linalg.eigvalsh(L)
    unit = 1.0 if normalised else float(L.diagonal().mean())
    for rank in (2, 10, 64, 100):
        found = without_doubt(graph, rank, normalised=normalised)
        constants = found.n_columns - found.eigenvalues.size
        assert found.eigenvalues.size == rank - (constants > 0)
        nulls = int((exact < 1e-9).sum())  # none of these graphs has a small eigenvalue that is not 0
        np.testing.assert_allclose(
            found.eigenvalues / unit, exact[nulls:][: found.eigenvalues.size] / unit, atol=2e-3
        )
        vectors = unscaled(found)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-8)
        errors = L @ vectors - vectors * found.eigenvalues
        assert np.linalg.norm(errors, axis=0).max() <= 2e-3 * unit


@pytest.mark.slow
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("rank", [2, 10, 64, 100])
@pytest.mark.parametrize("tol", [2e-3, 1e-6])
def test_a_large_star_has_one_eigenvalue_besides_its_last(normalised: bool, rank: int, tol: float) -> None:
    found = without_doubt(graph_of(nx.star_graph(3000)), rank, normalised=normalised, tol=tol)
    np.testing.assert_allclose(found.eigenvalues, np.ones(rank - 1), atol=tol)
    vectors = unscaled(found)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank - 1), atol=1e-8)
    # By hand: eigenvectors of 1 are 0 at the hub, and sum to 0.
    assert np.abs(vectors[0]).max() <= tol
    assert np.abs(vectors.sum(axis=0)).max() <= 60 * tol
    assert found.eigengap < 1e-6
    assert "inside a multiple eigenvalue" in found.report()


@pytest.mark.slow
@pytest.mark.parametrize("made", [stars_in_a_row(3, 1000), stars_in_a_row(30, 100), windmill(1500, 3)])
@pytest.mark.parametrize("rank", [64, 100])
def test_large_ones_keep_their_residuals(made: nx.Graph, rank: int) -> None:
    graph = graph_of(made)
    found = without_doubt(graph, rank, normalised=True)
    vectors = unscaled(found)
    L = Operator.laplacian(graph.adjacency, normalised=True)
    errors = L.matmat(vectors) - vectors * found.eigenvalues
    assert np.linalg.norm(errors, axis=0).max() <= 2e-3
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank - 1), atol=1e-8)


def test_all_pairs_of_a_graph_of_few_eigenvalues_are_given() -> None:
    graph = graph_of(nx.star_graph(1550))
    found = without_doubt(graph, 1551, normalised=True)
    np.testing.assert_allclose(found.eigenvalues, [1.0] * 1549 + [2.0], atol=1e-9)


def test_a_span_of_the_null_vector_alone_holds_no_pair() -> None:
    S = sp.csr_array(nx.to_scipy_sparse_array(nx.complete_graph(30), dtype=float))
    null = np.full(30, 30**-0.5)
    found = ritz(Operator.laplacian(S, normalised=True), null[:, None].copy(), null)
    assert found.values.size == found.residuals.size == 0
    assert found.vectors.shape == (30, 0)


@pytest.mark.skipif(not solve.RANDOM, reason="this SciPy draws by itself")
def test_an_exhausted_space_goes_on_with_numbers_of_the_seed() -> None:
    diagonal = np.tile([1.0, 2.0, 3.0], 20)
    for seed in range(10):
        first, second = (
            solve.largest_pairs(lambda x: diagonal * x, None, 60, 8, 1e-8, seed, silent) for _ in "ab"
        )
        np.testing.assert_allclose(first[0], 3.0)
        np.testing.assert_array_equal(first[1], second[1])


def test_a_breakdown_is_met_with_another_start(monkeypatch: pytest.MonkeyPatch) -> None:
    right = solve.shift_invert_pairs

    def breaks_down_once(problem: solve.EigenProblem) -> solve.EigenPairs:
        if problem.seed == 5:
            raise RuntimeError("no shifts could be applied")
        return right(problem)

    def poor(problem: solve.EigenProblem) -> solve.EigenPairs:
        return solve.EigenPairs(np.ones(1), np.eye(problem.n, 1), "poor")

    monkeypatch.setattr(solve, "shift_invert_pairs", breaks_down_once)
    monkeypatch.setattr(solve, "chebyshev_pairs", poor)
    found = embed(graph_of(nx.star_graph(1550)), 10, normalised=False, seed=5, cache=False)
    assert found.solver == "shift-invert"
    assert found.residual < 1e-9
