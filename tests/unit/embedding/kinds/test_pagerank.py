"""The PageRank embedding: rows and local part together are the kernel, near every node."""

import numpy as np
import pytest

from querist import as_graph, datasets, embed
from querist.errors import InputError


def inverse(graph, p):
    """(n, n) `(I - p S)^-1`, an isolated node being 1."""
    degrees = np.where(graph.degrees > 0, graph.degrees, 1.0)
    S = graph.adjacency.toarray() / np.sqrt(degrees)[:, None] / np.sqrt(degrees)
    return np.linalg.inv(np.eye(graph.n_nodes) - p * S)


def kernel(embedding):
    return embedding.rows @ embedding.rows.T + embedding.local.toarray()


def ring(n, chords=()):
    return [(i, (i + 1) % n) for i in range(n)] + list(chords)


GRAPHS = {
    "karate": lambda: datasets.load_graph("karate"),
    "one edge": lambda: as_graph([(0, 1)]),
    "parts and single nodes": lambda: as_graph([(0, 1), (1, 2), (2, 0), (3, 4), (5, 6)], nodes=range(9)),
    "no edge": lambda: as_graph([], nodes=range(3)),
    "one node": lambda: as_graph([], nodes=["a"]),
    "weighted": lambda: as_graph([(0, 1, 3.0), (1, 2, 0.1), (2, 3, 7.0), (0, 3, 1.0), (4, 5, 2.0)]),
    "signed": lambda: as_graph([(0, 1, 1.0), (1, 2, -2.0), (2, 0, 1.0), (2, 3, -1.0)]),
    "two large parts": lambda: as_graph(ring(60) + [(60 + a, 60 + b) for a, b in ring(50)] + [(110, 111)]),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("walk", [0.5, 0.9])
@pytest.mark.parametrize("rank", [1, None])
def test_rows_and_the_local_part_are_the_kernel(graph, walk, rank):
    graph = graph()
    found = embed(graph, rank, kind="pagerank", walk=walk, tol=1e-8)
    rest = inverse(graph, walk) - found.rows @ found.rows.T
    there = found.local.toarray() != 0
    np.testing.assert_allclose(found.local.toarray()[there], rest[there], atol=0.02)
    np.testing.assert_allclose(found.local.diagonal(), np.diag(rest), atol=0.02)
    assert np.abs(rest[~there]).max(initial=0.0) < 0.1 * np.abs(inverse(graph, walk)).max()
    assert (found.local != found.local.T).nnz == 0
    assert (found.local.diagonal() >= 0).all()


def test_the_strongest_entries_are_kept():
    rng = np.random.default_rng(0)
    edges = ring(400, [tuple(rng.integers(400, size=2)) for _ in range(300)])
    graph = as_graph([(a, b) for a, b in edges if a != b])
    found = embed(graph, 30, kind="pagerank", neighbours=12, tol=1e-8, cache=False)
    rest = inverse(graph, 0.98) - found.rows @ found.rows.T
    kept = found.local.toarray()
    there = kept != 0
    assert there.sum(axis=1).min() >= 12
    np.testing.assert_allclose(kept[there], rest[there], atol=0.05)
    left_out = np.abs(np.where(there, 0.0, rest))
    assert left_out.max() < 0.2 * np.abs(rest).max()
    assert (left_out**2).sum() < 0.2 * (rest**2).sum()


@pytest.mark.parametrize("unit", [1e-50, 1e50])
def test_the_unit_of_the_weights_changes_nothing(unit):
    edges = [(a, b, 1.0 + (a % 3)) for a, b in ring(80, [(0, 40), (10, 50)])]
    one, other = (
        kernel(embed(as_graph([(a, b, w * u) for a, b, w in edges]), 5, kind="pagerank", tol=1e-8))
        for u in (1.0, unit)
    )
    np.testing.assert_allclose(other, one, atol=1e-6)


def test_it_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path))
    graph = as_graph(ring(600, [(0, 300), (100, 450)]))
    first, second = (embed(graph, 5, kind="pagerank") for _ in range(2))
    assert second.cached and not first.cached
    assert second.rows.tobytes() == first.rows.tobytes()
    assert (second.local != first.local).nnz == 0
    assert embed(graph, 5).local is None
    assert embed(graph, 5).cached


def test_a_new_node_has_a_row_and_nothing_local():
    graph = as_graph(ring(50))
    found = embed(graph, 4, kind="pagerank", neighbours=6)
    grown = found.extend([[0, 1], [50]])
    assert grown.rows.shape == (52, 4)
    assert np.isfinite(grown.rows).all() and grown.rows[50].any()
    assert grown.local.shape == (52, 52)
    assert (grown.local[:50, :50] != found.local).nnz == 0
    assert grown.local[50:].nnz == 0


def test_single_nodes_can_be_joined():
    found = embed(as_graph([], nodes=range(3)), kind="pagerank")
    assert found.rows.tolist() == [[0.0]] * 3
    assert found.eigenvalues.size == found.residuals.size == 1
    assert found.extend([[0, 1]]).rows.tolist() == [[0.0]] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"walk": 1.0}, "walk = 1.0; it must be a finite number, above 0 and below 1"),
        ({"walk": 0.0}, "walk = 0.0; it must be"),
        ({"neighbours": 0}, "neighbours = 0; it must be a whole number, 1 or more"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        embed(as_graph([(0, 1)]), kind="pagerank", **options)


def test_the_local_part_fits_the_rows():
    found = embed(as_graph(ring(5)), kind="pagerank")
    with pytest.raises(InputError, match=r"local is of shape \(5, 5\)"):
        type(found)(np.ones((3, 1)), np.zeros(3), local=found.local)
