"""Bundled sets against other people's copies, brute force and exact counts."""

import networkx as nx
import numpy as np
import pytest

from querist import datasets
from querist.datasets import bundled
from querist.datasets.bundled import BUNDLED
from querist.errors import InputError
from querist.graph import Graph


def homophily(graph: Graph) -> float:
    ends = graph.adjacency.tocoo()
    return float(np.mean(graph.codes[ends.row] == graph.codes[ends.col]))


@pytest.mark.parametrize("name", BUNDLED)
def test_catalogue_counts_are_those_of_the_graph(name: str) -> None:
    graph, stated = datasets.load_graph(name), BUNDLED[name]
    attributes = 0 if graph.attributes is None else graph.attributes.shape[1]
    assert (graph.n_nodes, graph.n_edges, graph.n_classes, attributes) == (
        stated.nodes, stated.edges, stated.classes, stated.attributes,
    )  # fmt: skip
    assert graph.name == name
    assert graph.describe().startswith(f"{graph.name}: {stated.nodes:,} nodes, {stated.edges:,} edges")
    assert (np.bincount(graph.codes) > 0).all()


def test_karate_is_networkx_karate() -> None:
    ours, theirs = bundled.karate(), nx.karate_club_graph()
    np.testing.assert_array_equal(ours.adjacency.toarray(), nx.to_numpy_array(theirs, weight=None))
    assert ours.labels == [theirs.nodes[i]["club"] for i in range(34)]


def test_neighbour_graph_against_brute_force() -> None:
    k, n = 4, 60
    graph = datasets.two_moons(n=n, k=k, seed=3)
    X = graph.attributes.toarray()
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    scale = np.median(np.take_along_axis(distance, nearest, axis=1))
    expected = np.zeros((n, n))
    for i in range(n):
        for j in nearest[i]:
            expected[i, j] = expected[j, i] = np.exp(-((distance[i, j] / scale) ** 2))
    np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-9)


def test_ties_go_to_the_lower_row() -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    graph = bundled.digits()
    np.testing.assert_array_equal(graph.attributes.toarray(), X)
    assert graph.labels == y.tolist()
    # Pixels are integers, so squared distances are exact and ties are real.
    rows = np.arange(0, 1797, 37)
    squared = ((X[rows, None] - X[None]) ** 2).sum(axis=2)
    squared[np.arange(rows.size), rows] = np.inf
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :10]
    for row, others in zip(rows, nearest, strict=True):
        assert set(others) <= set(graph.adjacency[[row]].indices)
    assert homophily(graph) > 0.95


def test_two_moons_lie_on_their_circles() -> None:
    graph = datasets.two_moons(n=200, noise=0.0)
    X = graph.attributes.toarray()
    centre = np.array([[0.0, 0.0], [1.0, 0.5]])[graph.codes]
    np.testing.assert_allclose(np.linalg.norm(X - centre, axis=1), 1.0)
    assert np.bincount(graph.codes).tolist() == [100, 100]
    assert homophily(graph) == 1.0


@pytest.mark.parametrize("build", [datasets.two_moons, datasets.sbm])
def test_seed_decides(build) -> None:  # type: ignore[no-untyped-def]
    one, same, other = (build(seed=seed).adjacency for seed in (5, 5, 6))
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0


@pytest.mark.parametrize(("size", "links", "bridges"), [(2, None, 1), (6, None, 1), (12, 11, 3), (40, 1, 20)])
def test_three_clusters_cut(size: int, links: int | None, bridges: int) -> None:
    graph = datasets.three_clusters(size, links, bridges)
    member = np.eye(3)[graph.codes]
    between = member.T @ graph.adjacency @ member
    near = size // 2 if links is None else links
    inside = size * (size - 1)
    assert between.tolist() == [[inside, near, bridges], [near, inside, bridges], [bridges, bridges, inside]]
    assert set(graph.adjacency.data) == {1.0}


def test_block_model_densities() -> None:
    sizes, p_in, p_out = (150, 250, 1), 0.2, 0.03
    graph = datasets.sbm(sizes, p_in, p_out, seed=1)
    member = np.eye(3)[graph.codes]
    between = member.T @ graph.adjacency @ member
    for a in range(3):
        for b in range(a, 3):
            pairs = sizes[a] * (sizes[a] - 1) / 2 if a == b else sizes[a] * sizes[b]
            found = between[a, b] / (2 if a == b else 1)
            p = p_in if a == b else p_out
            assert abs(found - pairs * p) <= 4 * np.sqrt(pairs * p * (1 - p))


def test_block_model_limits_and_weights() -> None:
    cliques = datasets.sbm((4, 3), p_in=1.0, p_out=0.0)
    same = np.equal.outer(cliques.codes, cliques.codes) & ~np.eye(7, dtype=bool)
    np.testing.assert_array_equal(cliques.adjacency.toarray(), same.astype(float))
    complete = datasets.sbm((4, 3), p_in=1.0, p_out=1.0, weighted=True)
    assert complete.n_edges == 21
    assert complete.adjacency.data.min() >= 0.5 and complete.adjacency.data.max() < 1.5
    assert np.unique(complete.adjacency.data).size == 21


@pytest.mark.parametrize(
    "call",
    [
        lambda: datasets.three_clusters(1),
        lambda: datasets.three_clusters(6, links=6),
        lambda: datasets.three_clusters(6, bridges=4),
        lambda: datasets.sbm((3, 0)),
        lambda: datasets.sbm(p_in=1.5),
        lambda: datasets.two_moons(n=2),
        lambda: datasets.two_moons(noise=-1),
        lambda: datasets.two_moons(n=8, k=8),
    ],
)
def test_bad_parameters_are_refused_with_what_to_give(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="give"):
        call()


def test_digits_need_neighbours() -> None:
    with pytest.raises(InputError, match="k = 0; it must be a whole number, 1 or more"):
        bundled.digits(k=0)
