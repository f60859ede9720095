"""Graphs from points: who is joined, how strongly, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

import querist
from querist import InputError, from_points
from querist.graph.neighbours import nearest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
D = cdist(X, X)


def joined(graph: querist.Graph) -> np.ndarray:
    return graph.adjacency.toarray() > 0


@pytest.mark.parametrize("mutual", [False, True])
def test_nearest_neighbours_are_scikit_learns(mutual: bool) -> None:
    theirs = kneighbors_graph(X, 5).toarray() > 0
    expected = theirs & theirs.T if mutual else theirs | theirs.T
    graph = from_points(X, k=5, weight="unit", mutual=mutual)
    np.testing.assert_array_equal(joined(graph), expected)
    assert set(graph.adjacency.data) == {1.0}
    np.testing.assert_array_equal(graph.attributes.toarray(), X)


def test_epsilon_ball_is_scikit_learns() -> None:
    theirs = radius_neighbors_graph(X, 0.9).toarray() > 0
    graph = from_points(X, kind="epsilon", epsilon=0.9, weight="unit")
    np.testing.assert_array_equal(joined(graph), theirs)
    assert "within 0.9" in graph.notes[0]


def test_a_pair_at_epsilon_is_joined() -> None:
    assert joined(from_points([[0.0], [1.0], [3.0]], kind="epsilon", epsilon=1.0)).sum() == 2


OFF = ~np.eye(60, dtype=bool)


@pytest.mark.parametrize(
    ("bandwidth", "scale"),
    [
        (0.7, 0.7),
        ("median", np.median(D[OFF])),
        ("mean", np.mean(D[OFF])),
        ("max", np.max(D)),
        ("local", np.sqrt(np.outer(D.max(axis=1), D.max(axis=1)))),
    ],
)
def test_heat_kernel_and_its_bandwidths(bandwidth: str | float, scale: float | np.ndarray) -> None:
    graph = from_points(X, kind="heat", bandwidth=bandwidth)
    np.testing.assert_allclose(
        graph.adjacency.toarray(), np.where(OFF, np.exp(-((D / scale) ** 2)), 0), rtol=1e-9
    )


@pytest.mark.parametrize("bandwidth", ["median", "mean", "max", "local"])
def test_bandwidths_of_neighbours(bandwidth: str) -> None:
    k = 4
    lists = np.sort(np.where(OFF, D, np.inf), axis=1)[:, :k]
    if bandwidth == "local":
        scale = np.sqrt(np.outer(lists[:, -1], lists[:, -1]))
    else:
        scale = {"median": np.median, "mean": np.mean, "max": np.max}[bandwidth](lists)
    graph = from_points(X, k=k, bandwidth=bandwidth)
    expected = np.where(joined(graph), np.exp(-((D / scale) ** 2)), 0)
    np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-9)


def test_exponential_is_definition_6() -> None:
    graph = from_points(X, kind="exponential", a=2.5)
    np.testing.assert_allclose(graph.adjacency.toarray(), np.where(OFF, np.exp(-2.5 * D), 0), rtol=1e-12)
    sparse = from_points(X, k=6, weight="exponential", a=2.5)
    np.testing.assert_allclose(
        sparse.adjacency.toarray(), np.where(joined(sparse), np.exp(-2.5 * D), 0), rtol=1e-12
    )


def test_exponential_with_a_large_scale_stays_connected_and_in_proportion() -> None:
    line = np.array([[0.0], [1.0], [2.5], [2.6]])
    a = 700.0
    graph = from_points(line, kind="exponential", a=a)
    assert graph.n_components == 1
    W = graph.adjacency.toarray()
    # exp(-a 1.5) is no double by itself; its proportion to exp(-a 1) is.
    assert np.exp(-a * 1.5) == 0 < W[1, 2]
    assert np.log(W[1, 2]) - np.log(W[0, 1]) == pytest.approx(-a * 0.5, rel=1e-9)
    assert any("so that they can be written" in note for note in graph.notes)
    with pytest.raises(InputError, match="give a <= "):
        from_points(line, kind="exponential", a=10 * a)


@pytest.mark.parametrize(
    "metric", ["cityblock", "cosine", "precomputed", lambda x, y: float(abs(x - y).max())]
)
def test_any_discrepancy(metric: object) -> None:
    name = "chebyshev" if callable(metric) else metric
    d = np.sqrt(D) if metric == "precomputed" else cdist(X, X, name)
    given = d if metric == "precomputed" else X
    np.testing.assert_allclose(
        from_points(given, kind="exponential", a=1.0, metric=metric).adjacency.toarray(),
        np.where(OFF, np.exp(-d), 0),
        rtol=1e-9,
    )
    neighbours = from_points(given, k=3, metric=metric, weight="unit")
    lists = np.argsort(np.where(OFF, d, np.inf), axis=1)[:, :3]
    named = np.zeros((60, 60), dtype=bool)
    np.put_along_axis(named, lists, True, axis=1)
    np.testing.assert_array_equal(joined(neighbours), named | named.T)
    assert (neighbours.attributes is None) == (metric == "precomputed")


def test_an_infinite_discrepancy_never_joins() -> None:
    d = np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    assert from_points(d, kind="exponential", a=1.0, metric="precomputed").n_components == 2


def test_sparse_points() -> None:
    dense = np.where(RNG.random((40, 12)) < 0.3, RNG.random((40, 12)), 0)
    for options in ({"k": 4}, {"kind": "heat"}):
        one, other = from_points(dense, **options), from_points(sp.csr_matrix(dense), **options)
        np.testing.assert_allclose(one.adjacency.toarray(), other.adjacency.toarray(), atol=1e-7)


@pytest.mark.slow
def test_approximate_neighbours_are_nearly_all_found_and_said_to_be_approximate() -> None:
    pytest.importorskip("pynndescent")
    many = np.random.default_rng(3).normal(size=(1500, 8))
    graph = from_points(many, k=8, method="approximate", weight="unit")
    exact = from_points(many, k=8, method="exact", weight="unit")
    both = joined(graph) & joined(exact)
    assert both.sum() >= 0.97 * joined(exact).sum()
    assert "approximately" in graph.notes[0] and "approximately" not in exact.notes[0]
    again = nearest(many, 8, "euclidean", False, 0)
    assert not (again[1] == np.arange(1500)[:, None]).any()


def test_permuted_points_give_the_permuted_graph() -> None:
    order = np.random.default_rng(1).permutation(60)
    one, other = from_points(X, k=5), from_points(X[order], k=5)
    np.testing.assert_array_equal(other.adjacency.toarray(), one.adjacency.toarray()[np.ix_(order, order)])


def test_coinciding_points_are_joined() -> None:
    graph = from_points([[0.0], [0.0], [0.0], [5.0]], k=1)
    assert joined(graph)[0, 1] and graph.adjacency[0, 1] == 1.0
    assert from_points([[1.0], [1.0]], kind="heat").adjacency[0, 1] == 1.0


def test_labels_and_nodes_are_the_users_own() -> None:
    graph = from_points(
        [[0.0], [1.0], [5.0]], k=1, labels=["b", None, "a"], nodes=["x", "y", "z"], name="three"
    )
    assert graph.labels == ["b", None, "a"] and graph.nodes == ("x", "y", "z") and graph.name == "three"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k = 0; it must be a whole number, 1 or more"),
        ({"k": 60}, "give 1 <= k"),
        ({"kind": "epsilon"}, "give epsilon"),
        ({"epsilon": 1.0}, "epsilon = 1.0 does nothing with kind = 'knn'"),
        ({"kind": "epsilon", "epsilon": -1.0}, "epsilon = -1.0"),
        ({"kind": "epsilon", "epsilon": 1.0, "k": 3}, "k = 3 does nothing"),
        ({"kind": "heat", "mutual": True}, "mutual = True does nothing"),
        ({"kind": "heat", "method": "exact"}, "method = 'exact' does nothing"),
        ({"seed": 3}, "the neighbours of 60 points are searched exactly"),
        ({"kind": "epsilon", "epsilon": 1.0, "seed": 3}, "seed = 3 does nothing"),
        ({"weight": "unit", "bandwidth": "max"}, "bandwidth = 'max' does nothing with unit weights"),
        ({"kind": "exponential"}, "give a > 0"),
        ({"a": 1.0}, "give a > 0"),
        ({"kind": "exponential", "a": np.inf}, "a = inf; it must be a finite number, above 0"),
        ({"kind": "heat", "weight": "unit"}, "weight of their kind"),
        ({"bandwidth": -1.0}, "above 0"),
        ({"metric": "precomputed"}, "dense"),
    ],
)
def test_bad_parameters_are_refused_with_what_to_give(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_points(X, **options)


def test_known_discrepancies_are_not_searched_approximately() -> None:
    with pytest.raises(InputError, match="method = 'approximate' does nothing with metric = 'precomputed'"):
        from_points(D, metric="precomputed", method="approximate")


@pytest.mark.parametrize(
    "options", [{"kind": "knnn"}, {"weight": "heet"}, {"bandwidth": "medium"}, {"method": "x"}]
)
def test_unknown_names_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"it must be .*one of "):
        from_points(X, **options)


@pytest.mark.parametrize("bad", [[[1.0]], [1.0, 2.0], np.empty((3, 0)), [[np.nan], [1.0]], [[np.inf], [1.0]]])
def test_bad_points_are_refused(bad: object) -> None:
    with pytest.raises(InputError):
        from_points(bad)


@pytest.mark.parametrize("bad", [[[0, 1], [2, 0.0]], [[0, -1], [-1, 0.0]], [[0, np.nan], [np.nan, 0.0]]])
def test_bad_discrepancies_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="symmetric"):
        from_points(bad, k=1, metric="precomputed")


def test_all_pairs_of_too_many_points_are_refused() -> None:
    with pytest.raises(InputError, match="kind='knn'"):
        from_points(np.zeros((20_001, 1)), kind="heat")
