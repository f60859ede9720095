"""What SciPy is handed: older releases take spanning trees of matrices with indices of 32 bits alone."""

import numpy as np
import pytest
from scipy.sparse import csgraph

from querist.graph import as_graph
from querist.graph.laplacian import resistances
from querist.graph.neighbours import Pairs, longest_bridge

PAIRS = np.array([0, 1]), np.array([1, 2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: resistances(as_graph([("a", "b", 1e300), ("b", "c", 1e-300)])).all()[0, 2], 1e300),
        (lambda: longest_bridge(Pairs(*PAIRS, np.array([0.5, 2.0]), np.zeros(3), np.zeros(3))), 2.0),
    ],
    ids=["resistances", "bridge"],
)
def test_trees_are_of_short_indices(call, expected, monkeypatch):
    tree = csgraph.minimum_spanning_tree
    handed = []

    def seen(matrix):
        handed.append((matrix.indices.dtype, matrix.indptr.dtype))
        return tree(matrix)

    monkeypatch.setattr(csgraph, "minimum_spanning_tree", seen)
    assert call() == pytest.approx(expected)
    assert handed == [(np.int32, np.int32)]
