"""A graph joined piece by piece is the graph read at once, and an embedding follows it."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist import as_graph, embed
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.growth import join
from querist.labels import Labels

EDGE = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([-1.0, 0.5, 1.0, 3.0])).filter(
    lambda edge: edge[0] != edge[1]
)


@pytest.mark.slow
@given(st.lists(EDGE, min_size=1, max_size=20), st.lists(st.lists(EDGE, min_size=1), max_size=3))
def test_joining_equals_reading_all_at_once(first: list[tuple], more: list[list[tuple]]) -> None:  # type: ignore[type-arg]
    graph = as_graph(first)
    for edges in more:
        before = graph.nodes
        graph = join(graph, edges)
        assert graph.nodes[: len(before)] == before
    whole = as_graph([edge for edges in (first, *more) for edge in edges], nodes=graph.nodes)
    assert (graph.adjacency != whole.adjacency).nnz == 0
    assert set(graph.nodes) == set(whole.nodes)


def test_labels_attributes_and_notes_stay(tmp_path: Path) -> None:
    graph = as_graph([("a", "b")], labels={"a": "x"}, attributes=np.array([[1.0, 2.0], [3.0, 4.0]]))
    path = tmp_path / "more.csv"
    path.write_text("source,target\nb,c\na,b\nd,c\n")
    grown = join(graph, path, {"e": [5.0, 6.0], "c": [7.0, 8.0]})
    assert grown.nodes == ("a", "b", "c", "d", "e")
    assert grown.labels == ["x", None, None, None, None]
    assert grown.attributes.toarray().tolist() == [[1, 2], [3, 4], [7, 8], [0, 0], [5, 6]]
    assert grown.notes[-2:] == ("2 edges and 3 nodes joined", "1 edge given again merged by max")
    assert join(graph, path, ["e"]).nodes == ("a", "b", "c", "d", "e")
    with pytest.raises(InputError, match="node 'e': 1 attributes where the graph has 2"):
        join(graph, path, {"e": [5.0]})
    with pytest.raises(InputError, match="the graph has none"):
        join(as_graph([("a", "b")]), path, {"e": [5.0]})
    with pytest.raises(InputError, match="say no ids"):
        join(graph, None, np.array([[5.0, 6.0]]))


def test_nodes_arrive_alone_sparse_or_again() -> None:
    graph = as_graph([("a", "b")], attributes=np.array([[1.0, 2.0], [3.0, 4.0]]))
    rows = sp.csr_array(np.array([[5.0, 6.0], [9.0, 9.0], [0.0, 8.0]]))
    grown = join(graph, None, {"d": rows[[0]], "a": rows[[1]], "c": rows[[2]]})
    assert grown.nodes == ("a", "b", "c", "d") and grown.n_edges == 1
    assert grown.attributes.toarray().tolist() == [[1, 2], [3, 4], [0, 8], [5, 6]], "a stays as it was"
    assert join(as_graph([(1, 2)]), None, ["2", "3"]).nodes == (1, 2, "3")


@pytest.mark.parametrize(
    ("old", "text", "nodes"),
    [
        ([("1", "x")], "source,target\n1,2\n", ("1", "x", "2")),
        ([(1, 2)], "source,target\n2,x\n", (1, 2, "x")),
        ([(1, 2)], "source,target\n2,3\n", (1, 2, 3)),
    ],
)
def test_digits_meet_digits(old: list, text: str, nodes: tuple, tmp_path: Path) -> None:  # type: ignore[type-arg]
    (tmp_path / "more.csv").write_text(text)
    assert join(as_graph(old), tmp_path / "more.csv").nodes == nodes


def test_several_labels_a_node_stay() -> None:
    graph = as_graph([(0, 1)], labels=np.array([[1, 0], [1, 1]]))
    assert join(graph, [(1, 2)]).known.indicator.tolist() == [[1, 0], [1, 1], [0, 0]]


# -- an embedding that keeps up -------------------------------------------------------------------------


def blocks(seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    n, k = 400, 4
    own = np.arange(n) % k
    p = np.where(own[:, None] == own[None, :], 0.15, 0.005)
    upper = sp.triu(sp.csr_array(rng.random((n, n)) < p).astype(float), 1)
    return Graph(sp.csr_array(upper + upper.T), known=Labels(own, tuple(range(k))))


def split(graph: Graph, nodes: float, edges: float) -> Graph:
    """The graph before its last nodes, and some of its edges, came."""
    rng = np.random.default_rng(1)
    old = graph.subgraph(np.arange(int(graph.n_nodes * (1 - nodes))))
    upper = sp.coo_array(sp.triu(old.adjacency))
    keep = rng.random(upper.nnz) >= edges
    S = sp.csr_array((upper.data[keep], (upper.row[keep], upper.col[keep])), shape=upper.shape)
    return Graph(sp.csr_array(S + S.T), known=old.known)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_rows_that_kept_up_serve_as_well_as_rows_from_scratch(share: float) -> None:
    graph = blocks()
    kept = embed(split(graph, share, share), 4).follow(graph)
    scratch = embed(graph, 4)
    assert abs(accuracy(kept.rows, graph) - accuracy(scratch.rows, graph)) <= 0.02


def accuracy(rows: np.ndarray, graph: Graph) -> float:
    """Ridge from every tenth label."""
    seeds = np.arange(0, graph.n_nodes, 10) + np.arange(graph.n_nodes // 10) % 4
    Y = np.eye(graph.n_classes)[graph.codes[seeds]]
    W = np.linalg.solve(rows[seeds].T @ rows[seeds] + 0.1 * np.eye(rows.shape[1]), rows[seeds].T @ Y)
    return float(((rows @ W).argmax(axis=1) == graph.codes).mean())


def test_diffused_rows_are_made_anew_beyond_the_limit() -> None:
    graph = blocks()
    words = sp.csr_array(np.eye(4)[graph.codes] + 0.1)
    full = as_graph(graph, attributes=words)
    old = split(graph, 0.3, 0.0)
    rows = embed(as_graph(old, attributes=words[: old.n_nodes]), 3, kind="diffusion")
    kept = rows.follow(full)
    assert any("made anew" in note for note in kept.notes)
    np.testing.assert_allclose(kept.rows, embed(full, 3, kind="diffusion").rows)
    assert any("extended" in note for note in rows.follow(full, stale=1.0).notes)
