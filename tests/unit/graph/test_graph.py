"""The strict constructor: what `Graph` holds, and what it refuses."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.labels import Labels

TRIANGLE = sp.csr_array(np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0]], dtype=float))


def test_counts_and_degrees():
    graph = Graph(TRIANGLE, known=Labels(np.array([1, -1, 0]), ("p", "q")))
    assert (graph.n_nodes, graph.n_edges, graph.n_classes, graph.n_components) == (3, 2, 2, 1)
    assert graph.nodes == (0, 1, 2)
    assert graph.degrees.tolist() == [3, 1, 2]
    assert graph.labels == ["q", None, "p"]
    assert graph.labelled.tolist() == [0, 2]
    assert not graph.signed
    assert Graph(-TRIANGLE).signed
    assert Graph(-TRIANGLE).degrees.tolist() == [3, 1, 2]
    assert Graph(TRIANGLE).labels == [None] * 3
    assert Graph(TRIANGLE).codes.tolist() == [-1] * 3
    assert Graph(TRIANGLE).labelled.size == 0


def test_a_graph_is_frozen_and_keeps_its_own_copy():
    S = TRIANGLE.copy()
    graph = Graph(S)
    S.data[:] = 7
    assert graph.adjacency.data.max() == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.name = "other"


def test_explicit_zeros_and_split_entries_are_put_in_order():
    S = sp.coo_array(([1.0, 2.0, 3.0, 0.0], ([0, 0, 1, 1], [1, 1, 0, 1])), shape=(2, 2))
    graph = Graph(S)
    assert graph.adjacency.nnz == 2
    assert graph.adjacency.toarray().tolist() == [[0, 3], [3, 0]]


def test_node_ids_are_the_users_own():
    graph = Graph(TRIANGLE, nodes=["a", ("b", 1), np.int64(7)])
    assert graph.nodes == ("a", ("b", 1), 7)
    assert type(graph.nodes[2]) is int
    assert graph.row_of == {"a": 0, ("b", 1): 1, 7: 2}


@given(st.integers(1, 12), st.floats(0, 0.4), st.integers(0, 10**6))
def test_components_agree_with_networkx_and_are_numbered_by_size(n, p, seed):
    theirs = nx.gnp_random_graph(n, p, seed=seed)
    graph = as_graph(theirs)
    groups = [set(np.flatnonzero(graph.components == k)) for k in range(graph.n_components)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, nx.connected_components(theirs)))
    assert groups == sorted(groups, key=lambda group: (-len(group), min(group)))
    largest = graph.largest_component()
    assert set(largest.nodes) == groups[0]
    assert largest.n_components == 1


def test_a_subgraph_keeps_ids_labels_attributes_and_codes():
    graph = as_graph(
        [("a", "b"), ("b", "c"), ("c", "d")],
        labels=["x", "y", None, "x"],
        attributes=np.arange(8.0).reshape(4, 2),
        name="path",
    )
    part = graph.subgraph([3, 2])
    assert part.nodes == ("d", "c")
    assert part.labels == ["x", None]
    assert part.classes == ("x", "y")
    assert part.attributes.toarray().tolist() == [[6, 7], [4, 5]]
    assert part.adjacency.toarray().tolist() == [[0, 1], [1, 0]]
    assert part.name == "path"
    mask = np.array([False, False, True, True])
    assert graph.subgraph(mask).nodes == ("c", "d")
    assert graph.largest_component() is graph


def test_a_subgraph_keeps_several_labels_a_node():
    graph = Graph(TRIANGLE, known=Labels(sp.csr_array(np.eye(3)), ("p", "q", "r")))
    assert graph.subgraph([2]).known.indicator.tolist() == [[0, 0, 1]]
    assert graph.labels == [("p",), ("q",), ("r",)]
    with pytest.raises(InputError, match="sets of labels"):
        _ = graph.codes


def test_binary_attributes_do_not_overflow():
    bytes_ = sp.csr_array(np.full((3, 1), 200, dtype=np.uint8))
    A = Graph(TRIANGLE, attributes=bytes_).attributes
    assert (A.T @ A).toarray().item() == 3 * 200**2


def test_the_line_that_describes_it():
    graph = Graph(TRIANGLE, attributes=sp.eye_array(3), name="tri", notes=("1 self-loop dropped",))
    assert graph.describe() == "tri: 3 nodes, 2 edges, 3 attributes, connected; 1 self-loop dropped"
    assert repr(graph) == f"<Graph {graph.describe()}>"


BAD = {
    "dense": ({"adjacency": TRIANGLE.toarray()}, r"as_graph\(\) takes anything else"),
    "not square": ({"adjacency": sp.csr_array((2, 3))}, "must be square"),
    "empty": ({"adjacency": sp.csr_array((0, 0))}, "no nodes"),
    "NaN": ({"adjacency": TRIANGLE * np.nan}, "NaN or infinite"),
    "infinite": ({"adjacency": TRIANGLE * np.inf}, "NaN or infinite"),
    "self-loop": ({"adjacency": sp.eye_array(2, format="csr")}, "self-loops"),
    "asymmetric": ({"adjacency": sp.triu(TRIANGLE, format="csr")}, "not symmetric"),
    "ids": ({"nodes": ["a", "b"]}, "2 node ids for 3 nodes"),
    "repeated ids": ({"nodes": ["a", "b", "a"]}, "not distinct"),
    "attributes": ({"attributes": sp.eye_array(2)}, "2 rows for 3 nodes"),
    "labels": ({"known": Labels(np.array([0, 1]), ("p", "q"))}, "2 labels for 3 nodes"),
    "rows of labels": ({"known": Labels(sp.csr_array((2, 1)), ("p",))}, "2 labels for 3 nodes"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case):
    fields, message = BAD[case]
    with pytest.raises(InputError, match=message):
        Graph(**{"adjacency": TRIANGLE, **fields})
