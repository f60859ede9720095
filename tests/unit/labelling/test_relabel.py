"""A labelling that was extended, against one made from scratch."""

import numpy as np
import pytest
import scipy.sparse as sp

from querist import as_graph, load
from querist.labelling import label
from querist.labelling.growth import extend
from querist.labelling.influence import influences


def parts(share: float):  # type: ignore[no-untyped-def]
    """Digits before the last ones came, the edges that bring them, and their attributes."""
    digits = load("digits")
    n = int(digits.n_nodes * (1 - share))
    old = digits.subgraph(np.arange(n))
    edges = sp.coo_array(sp.triu(digits.adjacency))
    new = [
        (int(i), int(j), float(w)) for i, j, w in zip(edges.row, edges.col, edges.data, strict=True) if j >= n
    ]
    rows = digits.attributes.toarray()
    return digits, old, new, {i: rows[i] for i in range(n, digits.n_nodes)}


def labels_of(digits, n: int) -> dict[int, object]:  # type: ignore[no-untyped-def]
    rows = np.random.default_rng(0).choice(n, 100, replace=False)
    return {int(i): digits.labels[i] for i in rows}


@pytest.mark.parametrize("method", ["harmonic", "smoothed"])
def test_a_few_new_nodes_are_labelled_about_as_well_as_from_scratch(method: str) -> None:
    digits, old, edges, attributes = parts(0.02)
    known = labels_of(digits, old.n_nodes)
    before = label(old, known, method=method)
    grown = extend(before, edges, attributes)
    scratch = label(digits, known, method=method)
    n = old.n_nodes
    np.testing.assert_array_equal(grown.probabilities[:n], before.probabilities)
    truth = np.array(digits.labels)[n:]
    right = [np.mean(np.array(found.labels)[n:] == truth) for found in (grown, scratch)]
    assert right[0] >= right[1] - 0.06
    assert np.mean(np.array(grown.labels)[n:] == np.array(scratch.labels)[n:]) > 0.85
    assert "new nodes stand at the mean of their neighbours" in grown.choice.why[-1]
    assert grown.graph.n_edges == digits.n_edges
    assert "PageRank" in influences(grown).how


def test_much_that_is_new_means_starting_from_scratch() -> None:
    digits, old, edges, attributes = parts(0.3)
    known = labels_of(digits, old.n_nodes)
    grown = extend(label(old, known, method="harmonic"), edges, attributes, method="harmonic")
    scratch = label(digits, known, method="harmonic")
    np.testing.assert_allclose(grown.probabilities, scratch.probabilities, atol=1e-9)


def test_who_has_no_neighbours_is_not_reached() -> None:
    graph = as_graph([(k, k + 1) for k in range(30)])
    found = extend(label(graph, {0: "x", 30: "y"}, method="harmonic"), [(30, 31)], [40])
    assert found.labels[-2:] == ["y", None]
    assert found.reached[-2:].tolist() == [True, False]
    assert found.labels[0] == "x"


def test_several_labels_a_node() -> None:
    graph = as_graph([(k, k + 1) for k in range(30)])
    known = label(graph, {0: {"x", "z"}, 15: {"x"}, 30: {"y"}}, multilabel=True)
    found = extend(known, [(0, 31)])
    np.testing.assert_allclose(found.probabilities[-1], known.probabilities[0])
    assert found.labels[-1] == ("x", "z")
    assert extend(known, [(0, 31)], limit=0.0).graph.n_nodes == 32
