"""The drawing of a graph: it has every class, hangs together, and parts groups."""

import networkx as nx
import numpy as np
import pytest

from querist import as_graph
from querist.report.drawing import backbone, layout, piece


def test_a_piece_has_every_class_and_hangs_together() -> None:
    sizes = [900, 700, 60]
    made = nx.random_partition_graph(sizes, 0.02, 0.0005, seed=1)
    codes = np.repeat(range(3), sizes)
    graph = as_graph(made)
    labelled = np.random.default_rng(0).random(codes.size) < 0.05
    rows = piece(graph.adjacency, labelled, codes, 300)
    part = graph.subgraph(rows)
    assert 250 < rows.size <= 300
    assert (np.diff(part.adjacency.indptr) > 0).all()
    assert np.bincount(codes[rows], minlength=3).min() >= 20
    assert (part.components == 0).mean() > 0.7
    assert piece(graph.adjacency, labelled, codes, 5000).tolist() == list(range(graph.n_nodes))


def test_the_backbone_holds_groups_together() -> None:
    made = nx.random_partition_graph([60, 60], 0.6, 0.1, seed=0)
    graph = as_graph(made)
    bones = backbone(graph.adjacency)
    own = np.repeat([0, 1], 60)

    def within(S: object) -> float:
        entries = S.tocoo()  # type: ignore[attr-defined]
        return float((own[entries.row] == own[entries.col]).mean())

    assert bones.nnz <= 2 * 4 * 120
    assert (bones != bones.T).nnz == 0
    assert within(bones) > within(graph.adjacency) + 0.1
    thin = as_graph(nx.path_graph(9)).adjacency
    assert backbone(thin) is thin


def test_the_layout_parts_groups_and_repeats() -> None:
    graph = as_graph(nx.random_partition_graph([40, 40, 40], 0.3, 0.01, seed=2))
    X = layout(graph.adjacency)
    np.testing.assert_array_equal(X, layout(graph.adjacency))
    assert np.abs(X).max() == pytest.approx(1)
    own = np.repeat(range(3), 40)
    centres = np.array([X[own == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(X[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == own).mean() > 0.95
    # No two nodes lie on each other.
    gaps = np.linalg.norm(X[:, None] - X[None], axis=2) + 9 * np.eye(120)
    assert gaps.min() > 0.003
