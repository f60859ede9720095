"""Merging entries: against a dense construction written from the rule, pair by pair."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist.errors import InputError
from querist.graph import as_graph
from querist.graph.entries import merge
from querist.tables.formats import Entries

WEIGHTS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
EDGES = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), WEIGHTS), max_size=25),
    )
)


def brute_force(n, triples):
    """The largest weight given for each unordered pair; zero where none was given."""
    given_weights = {}
    for i, j, w in triples:
        if i != j and w != 0:
            given_weights.setdefault(frozenset((i, j)), []).append(w)
    S = np.zeros((n, n))
    for pair, weights in given_weights.items():
        i, j = pair
        S[i, j] = S[j, i] = max(weights)
    return S


@given(EDGES)
def test_edge_lists_equal_brute_force(case):
    n, triples = case
    expected = brute_force(n, triples)
    array = np.array(triples, dtype=float).reshape(-1, 3)
    by_array = as_graph(array, nodes=n, kind="edges")
    by_list = as_graph(triples, nodes=n)
    for graph in (by_array, by_list):
        np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
        assert graph.n_edges == np.count_nonzero(expected) // 2
        assert graph.signed == (expected < 0).any()
    assert by_array.notes == by_list.notes


@given(EDGES)
def test_matrices_equal_brute_force(case):
    n, triples = case
    S = np.zeros((n, n))
    for i, j, w in triples:
        S[i, j] = w
    expected = brute_force(n, [(i, j, S[i, j]) for i in range(n) for j in range(n)])
    for source in (S, sp.csr_array(S), sp.csc_matrix(S)):
        np.testing.assert_array_equal(as_graph(source, kind="adjacency").adjacency.toarray(), expected)


@given(EDGES, st.randoms(use_true_random=False))
def test_order_and_direction_of_the_list_do_not_matter(case, random):
    n, triples = case
    shuffled = [(j, i, w) if random.random() < 0.5 else (i, j, w) for i, j, w in triples]
    random.shuffle(shuffled)
    one, other = as_graph(triples, nodes=n), as_graph(shuffled, nodes=n)
    assert (one.adjacency != other.adjacency).nnz == 0


@pytest.mark.parametrize(
    ("edges", "notes"),
    [
        ([(0, 1), (1, 2)], ()),
        ([(0, 1), (1, 0), (1, 2), (2, 1)], ()),
        ([(0, 1), (1, 0), (1, 2)], ("direction merged by max: 1 edge one way, 1 both ways",)),
        (
            [(0, 1, 1.0), (1, 0, 2.0)],
            ("direction merged by max: 0 edges one way, 1 both ways (1 with different weights)",),
        ),
        ([(0, 1), (0, 1), (0, 1)], ("2 duplicate edges merged by max",)),
        ([(0, 0), (1, 1), (0, 1)], ("2 self-loops dropped",)),
        ([(0, 1, 0.0), (1, 2, -1.0)], ("1 zero-weight edge dropped", "1 negative weight")),
    ],
)
def test_every_repair_is_counted(edges, notes):
    assert as_graph(edges).notes == notes


def test_a_directed_matrix_says_so_even_with_no_edge_both_ways():
    assert as_graph(np.triu(np.ones((3, 3)), 1)).notes == (
        "direction merged by max: 3 edges one way, 0 both ways",
    )


def test_an_undirected_source_that_turns_a_pair_round_repeats_it():
    found = Entries(np.array([0, 1]), np.array([1, 0]), 2, directed=False)
    assert merge(found)[1] == ("1 duplicate edge merged by max",)


def test_a_missing_direction_is_not_a_zero():
    graph = as_graph([("a", "b", -2.0), ("b", "c", -3.0), ("c", "b", -1.0)])
    assert graph.adjacency.toarray().tolist() == [[0, -2, 0], [-2, 0, -1], [0, -1, 0]]


def test_only_self_loops_leave_isolated_nodes():
    graph = as_graph([("a", "a"), ("b", "b")])
    assert (graph.n_nodes, graph.n_edges, graph.n_components) == (2, 0, 2)


def test_a_million_edges_are_no_python_loop(lines_run):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 100_000, (1_000_000, 2))
    weights = rng.random(1_000_000)
    assert lines_run(lambda: as_graph(edges, weights=weights)) < 20_000


# -- an edge that is given more than once -------------------------------------------

RULES = {"max": max, "sum": sum}


@pytest.mark.slow
@pytest.mark.parametrize("parallel", RULES)
@given(EDGES)
def test_parallel_edges_equal_brute_force(parallel, case):
    n, triples = case
    given_weights: dict[tuple[int, int], list[float]] = {}
    one_way: dict[tuple[int, int], list[float]] = {}
    for i, j, w in triples:
        if i != j and w != 0:
            given_weights.setdefault((min(i, j), max(i, j)), []).append(w)
            one_way.setdefault((i, j), []).append(w)
    by = RULES[parallel]
    # A list that gives every edge both ways alike is undirected: its directions count once.
    mirrored = (
        all(by(one_way.get((j, i), [None])) == by(w) for (i, j), w in one_way.items())
        if one_way and all((j, i) in one_way for i, j in one_way)
        else False
    )
    expected = np.zeros((n, n))
    for (i, j), weights in given_weights.items():
        expected[i, j] = expected[j, i] = by(one_way[i, j]) if mirrored else by(weights)
    graph = as_graph(triples, nodes=n, parallel=parallel)
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)


def test_payments_are_summed_in_both_directions_and_it_is_said():
    paid = [("a", "b", 5.0), ("a", "b", 2.0), ("b", "a", 1.0), ("b", "c", 4.0)]
    graph = as_graph(paid, parallel="sum")
    assert graph.adjacency.toarray().tolist() == [[0, 8, 0], [8, 0, 4], [0, 4, 0]]
    assert graph.notes == (
        "1 duplicate edge merged by sum",
        "direction merged by sum: 1 edge one way, 1 both ways (1 with different weights)",
    )


def test_the_two_triangles_of_a_matrix_are_never_summed():
    S = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected = as_graph(S).adjacency.toarray()
    for parallel in RULES:
        np.testing.assert_array_equal(as_graph(S, parallel=parallel).adjacency.toarray(), expected)


def test_another_rule_for_parallel_edges_is_refused():
    with pytest.raises(InputError, match="parallel = 'mean'; it must be one of max, sum"):
        as_graph([(0, 1)], parallel="mean")
