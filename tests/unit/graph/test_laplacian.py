"""Laplacians against networkx, scipy and sums over edges."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csgraph

from querist.graph import as_graph, laplacian
from querist.operator import resistance


def null_signs(graph):
    return resistance.null_signs(graph.adjacency, graph.components)


@st.composite
def weighted_graphs(draw, weights):
    """A random graph with isolated nodes and several components, as a `Graph`."""
    n = draw(st.integers(1, 9))
    ends = st.integers(0, n - 1)
    return as_graph(draw(st.lists(st.tuples(ends, ends, weights), max_size=18)), nodes=n)


UNSIGNED = weighted_graphs(st.sampled_from([0.25, 1.0, 3.0]))
SIGNED = weighted_graphs(st.sampled_from([-3.0, -0.5, 1.0, 2.0]))


@given(UNSIGNED)
def test_unsigned_laplacians_are_those_of_networkx_and_scipy(graph):
    theirs = nx.from_scipy_sparse_array(graph.adjacency)
    L, N = laplacian(graph).toarray(), laplacian(graph, normalised=True).toarray()
    np.testing.assert_allclose(L, nx.laplacian_matrix(theirs).toarray())
    np.testing.assert_allclose(N, nx.normalized_laplacian_matrix(theirs).toarray(), atol=1e-14)
    np.testing.assert_allclose(L, csgraph.laplacian(graph.adjacency).toarray())
    np.testing.assert_allclose(N, csgraph.laplacian(graph.adjacency, normed=True).toarray(), atol=1e-14)


@given(SIGNED)
def test_signed_laplacians_are_sums_over_edges(graph):
    """`L = sum |w| (e_i - sign(w) e_j)(e_i - sign(w) e_j)'`, which is plainly positive semi-definite."""
    expected = np.zeros((graph.n_nodes, graph.n_nodes))
    rows, columns = graph.adjacency.nonzero()
    for i, j in zip(rows, columns, strict=True):
        if i < j:
            w = graph.adjacency[i, j]
            e = np.zeros(graph.n_nodes)
            e[i], e[j] = 1, -np.sign(w)
            expected += abs(w) * np.outer(e, e)
    np.testing.assert_allclose(laplacian(graph).toarray(), expected, atol=1e-12)
    scale = np.array([d**-0.5 if d > 0 else 0.0 for d in graph.degrees])
    np.testing.assert_allclose(
        laplacian(graph, normalised=True).toarray(), scale[:, None] * expected * scale, atol=1e-12
    )


@given(SIGNED)
def test_null_signs_span_the_null_space(graph):
    """One null vector a balanced component, none elsewhere: exactly as many as the dense spectrum has."""
    signs = null_signs(graph)
    for normalised, scale in ((False, np.ones(graph.n_nodes)), (True, np.sqrt(graph.degrees))):
        L = laplacian(graph, normalised=normalised).toarray()
        # An isolated node has a zero row in both, and any vector there is null.
        null = np.where(graph.degrees > 0, scale, 1.0) * signs
        for component in range(graph.n_components):
            rows = graph.components == component
            np.testing.assert_allclose(L @ (null * rows), 0, atol=1e-12)
            smallest = np.linalg.eigvalsh(L[np.ix_(rows, rows)])[0]
            if signs[rows].any():
                assert (abs(signs[rows]) == 1).all()
                assert signs[rows][0] == 1
                assert smallest == pytest.approx(0, abs=1e-9)
            else:
                assert smallest > 1e-6


def test_camps_of_a_balanced_graph():
    graph = as_graph([("a", "b", 1), ("b", "c", -1), ("a", "c", -2), ("d", "e", -1), ("f", "f", 1)])
    assert null_signs(graph).tolist() == [1, 1, -1, 1, -1, 1]
    odd = as_graph([("a", "b", -1), ("b", "c", -1), ("a", "c", -1), ("d", "e", 2)])
    assert null_signs(odd).tolist() == [0, 0, 0, 1, 1]


def test_an_unsigned_graph_has_the_constant():
    assert null_signs(as_graph([(0, 1), (2, 3)])).tolist() == [1, 1, 1, 1]


def test_null_signs_of_a_large_graph_are_no_python_loop(lines_run):
    n = 100_000
    camps = np.where(np.random.default_rng(0).random(n) < 0.5, 1.0, -1.0)
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    graph = as_graph(path, weights=camps[:-1] * camps[1:])
    assert lines_run(lambda: null_signs(graph)) < 20_000
    np.testing.assert_array_equal(null_signs(graph), camps * camps[0])


def test_the_normalised_laplacian_has_a_zero_row_for_an_isolated_node():
    graph = as_graph([("a", "b", 4.0)], nodes=["a", "b", "c"])
    assert laplacian(graph, normalised=True).toarray().tolist() == [[1, -1, 0], [-1, 1, 0], [0, 0, 0]]


def test_the_energy_of_labels_is_four_times_the_cut():
    karate = nx.karate_club_graph()
    side = np.array([1.0 if club == "Mr. Hi" else -1.0 for _, club in karate.nodes(data="club")])
    cut = nx.cut_size(karate, [k for k in karate if side[k] > 0], weight="weight")
    assert side @ laplacian(as_graph(karate)) @ side == 4 * cut
