"""Weights far from 1 give the bits of weights near it; what doubles cannot hold is refused by name."""

import numpy as np
import pytest

from querist import ALGORITHMS, CLASSIFIERS, InputError, as_graph, embed, label
from querist.graph.laplacian import resistances
from querist.graph.scaling import scaled

EDGES = [(0, 1, 1.0), (1, 2, 0.5), (2, 3, 0.25), (3, 4, 2.0), (4, 0, 1.0), (5, 6, 1.0), (6, 7, 3.0)]
FAR = [2.0**980, 2.0**-980, 2.0**-1070]
"""The last makes weights that have few digits: subnormal ones."""


def graph_at(factor):
    return as_graph([(i, j, w * factor) for i, j, w in EDGES])


def test_an_ordinary_graph_is_left_alone():
    graph = graph_at(1e-20)
    assert scaled(graph) is graph
    lone = as_graph([], nodes=3)
    assert scaled(lone) is lone


def test_each_component_is_scaled_by_itself():
    graph = as_graph([(0, 1, 2.0**900), (2, 3, 2.0**-900), (4, 5, 1.5)])
    assert scaled(graph).adjacency.data.tolist() == [1.0, 1.0, 1.0, 1.0, 1.5, 1.5]


@pytest.mark.parametrize("factor", FAR)
@pytest.mark.parametrize("kind", ["spectral", "pagerank"])
def test_rows_have_the_same_bits(factor, kind):
    near, far = (embed(graph_at(each), 4, kind=kind, cache=False) for each in (1.0, factor))
    assert np.array_equal(near.rows, far.rows)


@pytest.mark.parametrize("factor", [2.0**980, 2.0**-980])
def test_rows_and_resistances_of_plain_laplacians_scale(factor):
    near, far = (
        embed(graph_at(each), 4, normalised=False, constant=0, cache=False) for each in (1.0, factor)
    )
    assert np.array_equal(near.rows, far.rows * np.sqrt(factor))
    assert np.array_equal(near.eigenvalues * factor, far.eigenvalues)
    path = [resistances(as_graph([(0, 1, each), (1, 2, 2 * each)])).all() for each in (1.0, factor)]
    assert np.array_equal(path[0], path[1] * factor)


@pytest.mark.slow
@pytest.mark.parametrize("factor", FAR)
@pytest.mark.parametrize(
    "method",
    ["wvrn", "harmonic", "label_propagation", "label_spreading", "diffusion", "pagerank"],
)
def test_probabilities_have_the_same_bits(factor, method):
    near, far = (
        CLASSIFIERS[method]().fit(graph_at(each), {0: "a", 3: "b", 5: "b"}) for each in (1.0, factor)
    )
    assert np.array_equal(near.probabilities_, far.probabilities_)
    assert np.isfinite(far.history_.objective).all()


@pytest.mark.parametrize("factor", FAR)
def test_labels_are_the_same(factor):
    near, far = (label(graph_at(each), {0: "a", 1: "a", 3: "b", 5: "b"}) for each in (1.0, factor))
    np.testing.assert_allclose(near.probabilities, far.probabilities, atol=1e-9)
    assert far.graph.adjacency.data.max() == 3 * factor


def test_weights_beside_counts_are_refused_far_from_one():
    with pytest.raises(InputError, match=r"weights such as .*GMNR weighs them against counts"):
        CLASSIFIERS["gmnr"](features="links").fit(graph_at(2.0**980), {0: "a", 3: "b"})
    with pytest.raises(InputError, match="scale them"):
        CLASSIFIERS["icml"](features="links").fit(graph_at(2.0**-980), {0: "a", 3: "b"})


def test_a_ratio_that_doubles_do_not_hold_is_refused_by_name():
    graph = as_graph([("a", "b", 1e300), ("b", "c", 1e-300)])
    words = "the edge between 'b' and 'c' weighs 1e-300, 1e600 times less than the heaviest of its component"
    for attempt in (
        lambda: embed(graph, 2, cache=False),
        lambda: label(graph, {"a": 1, "c": 2}),
    ):
        with pytest.raises(InputError, match=words):
            attempt()


def test_resistances_hold_whatever_ratio_there_is():
    graph = as_graph([("a", "b", 1e300), ("b", "c", 1e-300)])
    np.testing.assert_allclose(resistances(graph).all()[0], [0.0, 1e-300, 1e300], rtol=1e-12)
    assert ALGORITHMS["pounce"](graph, 2).decide("a").row == 0


def test_a_camp_behind_a_light_edge_is_refused_by_name():
    """The camp's level is what the light edge carries, and a sum with the heavy ones has no digit of it."""
    camp = [(2, 3, 1.0), (3, 4, 1.0), (2, 4, 1.0)]
    graph = as_graph([(0, 1, 1.0), (1, 2, 1e-40), *camp])
    with pytest.raises(InputError, match=r"between 1 and 2 weighs 1e-40, 1e40 times less"):
        CLASSIFIERS["harmonic"]().fit(graph, {0: "a", 1: "b"})


def test_weights_that_add_up_to_more_than_a_double_are_refused():
    with pytest.raises(
        InputError, match=r"more than a double holds, the largest 1e\+308 between 'b' and 'c'"
    ):
        as_graph([("a", "b", 1.0), ("b", "c", 1e308)])


def test_pagerank_on_two_nodes():
    found = CLASSIFIERS["pagerank"]().fit(as_graph([(0, 1)]), {0: "a", 1: "b"})
    assert found.labels_.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ["pounce", "nearest"])
def test_distances_that_doubles_do_not_hold_are_refused(name):
    path = as_graph([(0, 1, 5e-324), (1, 2, 1e-310)])
    with pytest.raises(InputError, match="beyond what doubles hold"):
        ALGORITHMS[name](path, 2).run([0, 1, 2], [0, 1, 0])
    rows = np.array([[1e160], [0.0], [-1e160]])
    with pytest.raises(InputError, match="beyond what doubles hold"):
        ALGORITHMS[name](rows, 2)
