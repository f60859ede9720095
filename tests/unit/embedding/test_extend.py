"""Rows for new nodes and for a graph that has grown."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.embedding.extend import edges_of
from querist.errors import InputError
from querist.graph.graph import Graph
from querist.operator.eigen import solve
from querist.types import Codes, Floats


def graph_of(made: nx.Graph) -> Graph:
    return Graph(sp.csr_array(nx.to_scipy_sparse_array(made, dtype=float)))


CLUSTERS = graph_of(nx.random_partition_graph([40, 40, 40], 0.4, 0.02, seed=3))


@pytest.mark.parametrize("normalised", [True, False])
def test_a_row_solves_its_own_line_of_the_eigen_equation(normalised: bool) -> None:
    found = embed(CLUSTERS, 6, normalised=normalised)
    edges = {3: 2.0, 17: 1.0, 60: 0.5}
    row = found.extend([edges]).rows[-1]
    near, w = list(edges), np.array(list(edges.values()))
    d, own = CLUSTERS.degrees[near], w.sum()
    for k, value in enumerate(found.eigenvalues):
        m = found.rows[near, k]
        if normalised and value < 0.5:  # (L v)(x) = lambda v(x), the neighbours as they were
            assert row[k] - (w * m / np.sqrt(own * d)).sum() == pytest.approx(value * row[k])
        elif not normalised and own - value > own / 2:
            assert own * row[k] - (w * m).sum() == pytest.approx(value * row[k])
    assert row[-1] == 1.0


@pytest.mark.parametrize("normalised", [True, False])
def test_a_copy_of_a_node_lands_near_it(normalised: bool) -> None:
    found = embed(CLUSTERS, 3, normalised=normalised)
    S = CLUSTERS.adjacency
    for node in (0, 50, 100):
        copy = found.extend([S.indices[S.indptr[node] : S.indptr[node + 1]].tolist()]).rows[-1]
        distances = np.linalg.norm(found.rows - copy, axis=1)
        # With all the same neighbours it gets the same row: the equation is that of the node itself.
        assert distances[node] < 1e-9
        assert distances.argmin() == node


def test_later_nodes_may_name_earlier_ones_and_place_them_anew() -> None:
    found = embed(CLUSTERS, 5)
    n = found.n_nodes
    chain = found.extend([[], [n], [0, n + 1]])
    # The first two had nobody; the third has, and its neighbour follows.
    assert chain.rows[n + 2].any()
    assert chain.rows[n + 1].any()
    assert chain.components[n + 2] == chain.components[n + 1] == found.components[0]
    one_by_one = found.extend([[]]).extend([[n]]).extend([[0, n + 1]])
    np.testing.assert_array_equal(chain.rows, one_by_one.rows)
    np.testing.assert_array_equal(chain.components, one_by_one.components)


def test_a_node_without_neighbours_is_not_reached() -> None:
    found = embed(CLUSTERS, 5).extend([[], {}, {4: 0.0}])
    assert not found.rows[-3:].any()
    assert len(set(found.components.tolist())) == 1 + 3


def test_an_isolated_node_is_placed_when_somebody_joins_it() -> None:
    graph = graph_of(nx.disjoint_union(nx.path_graph(8), nx.empty_graph(1)))
    found = embed(graph, 4)
    joined = found.extend([[7, 8]])
    assert joined.components.tolist() == [0] * 10
    assert joined.rows[8, :3].any()
    np.testing.assert_array_equal(joined.rows[:8], found.rows[:8])


def test_signed_and_diffused_columns() -> None:
    graph = Graph(
        CLUSTERS.adjacency,
        attributes=sp.random_array((120, 30), density=0.2, rng=np.random.default_rng(0), format="csr"),
    )
    diffused = embed(graph, 20, kind="diffusion")
    row = diffused.extend([{5: 1.0, 9: 3.0}]).rows[-1]
    np.testing.assert_allclose(row, (diffused.rows[5] + 3 * diffused.rows[9]) / 4)
    assert embed(CLUSTERS, 5).extend([{2: -1.0}]).rows[-1, -1] == -1.0


def test_what_cannot_be_extended_is_refused() -> None:
    found = embed(CLUSTERS, 5)
    for nodes in ([[120]], [[-1]], [{3: np.nan}], [[0], [122]]):
        with pytest.raises(InputError):
            found.extend(nodes)
    with pytest.raises(InputError, match=r"querist\.embed"):
        Embedding(np.ones((3, 2)), np.zeros(3)).extend([[0]])
    with pytest.raises(InputError, match="taken away"):
        found.follow(graph_of(nx.path_graph(5)))
    with pytest.raises(InputError, match=r"querist\.embed"):
        Embedding(np.ones((3, 2)), np.zeros(3)).follow(CLUSTERS)


# -- after edges were added --------------------------------------------------------------------------


def test_rows_made_anew_are_the_embedding_of_the_new_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    rng = np.random.default_rng(1)
    big = nx.random_partition_graph([150] * 5, 0.1, 0.004, seed=1)
    before = graph_of(big)
    old = embed(before, 6, tol=1e-5, cache=False)
    S = before.adjacency.tolil()
    for i, j in rng.integers(0, before.n_nodes, (5, 2)):
        if i != j:
            S[i, j] = S[j, i] = 1.0
    after = Graph(sp.csr_array(S))
    fresh = embed(after, 6, tol=1e-5, cache=False)
    found = old.follow(after, stale=0.0)
    np.testing.assert_array_equal(found.rows, fresh.rows)
    assert found.settings["tol"] == 1e-5
    assert "of the weight is new" in found.report()


def test_rows_made_anew_take_new_nodes() -> None:
    found = embed(CLUSTERS.subgraph(np.arange(110)), 4).follow(CLUSTERS, stale=0.0)
    assert found.n_nodes == 120
    fresh = embed(CLUSTERS, 4)
    np.testing.assert_allclose(found.rows @ found.rows.T, fresh.rows @ fresh.rows.T, atol=1e-6)


def classified(rows: Floats, codes: Codes, train: int, n_classes: int) -> float:
    """Accuracy of ridge regression on one-hot labels, learned on the first `train` rows, on the others."""
    R, Y = rows[:train], np.eye(n_classes)[codes[:train]]
    W = np.linalg.solve(R.T @ R + np.eye(R.shape[1]), R.T @ Y)
    return float(((rows[train:] @ W).argmax(axis=1) == codes[train:]).mean())


def hidden(graph: Graph, seed: int) -> tuple[Graph, Codes, int]:
    """The graph with a random tenth of its nodes last, the order, and how many come before them."""
    tenth = graph.n_nodes // 10
    order = np.roll(np.random.default_rng(seed).permutation(graph.n_nodes), -tenth)
    return graph.subgraph(order), order, graph.n_nodes - tenth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "splits", "step", "alone"), [("cora", 4, 1, 0.035), ("pubmed", 1, 900, 0.01)]
)
def test_hidden_nodes_classify_like_the_full_embedding(
    data: Callable[[str], Graph], name: str, splits: int, step: int, alone: float
) -> None:
    graph = data(name).largest_component()
    full = embed(graph, 100)
    gaps = []
    for seed in range(splits):
        whole, order, train = hidden(graph, seed)
        visible = embed(whole.subgraph(np.arange(train)), 100)
        extended, followed = visible.extend(edges_of(whole, train)), visible
        for last in (*range(train + step, whole.n_nodes, step), whole.n_nodes):
            followed = followed.follow(whole.subgraph(np.arange(last)))
        scores = [
            classified(rows, whole.codes, train, graph.n_classes)
            for rows in (full.rows[order], extended.rows, followed.rows)
        ]
        gaps.append([scores[0] - score for score in scores[1:]])
    by_line, by_following = np.mean(gaps, axis=0)
    assert by_line <= alone
    assert by_following <= 0.01


def test_following_extends_until_too_much_is_new() -> None:
    part = CLUSTERS.subgraph(np.arange(110))
    found = embed(part, 4)
    kept = []
    for last in range(111, 121):
        whole = CLUSTERS.subgraph(np.arange(last))
        found = found.follow(whole, stale=0.05)
        assert found.n_nodes == last
        kept.append(np.array_equal(found.degrees, whole.degrees))
        new = 1 - part.degrees.sum() / whole.degrees.sum()
        if not kept[-1]:
            assert new <= 0.05
            assert len(found.known_edges) == last - part.n_nodes
        else:
            assert new > 0.05
            part = whole
    assert any(kept)
    assert not all(kept)
