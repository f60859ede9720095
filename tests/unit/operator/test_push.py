"""Local pushes: what is found and what is still lacking make up the column, whenever they stop."""

import numpy as np
import pytest

from querist import as_graph
from querist.operator.push import clear, push, push_room, walkable

GRAPHS = {
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "two parts": [(0, 1), (1, 2), (2, 0), (3, 4)],
    "weighted": [(0, 1, 2.0), (1, 2, 1e-3), (2, 3, 50.0), (3, 0, 1.0)],
    "signed": [(0, 1, 1.0), (1, 2, -1.0), (2, 0, 1.0)],
}


@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("eps", [1e-12, 1e-2, 0.5])
@pytest.mark.parametrize("p", [0.3, 0.98])
def test_a_column_is_what_was_found_and_what_is_lacking(edges, eps, p):
    graph = as_graph(edges)
    n, S = graph.n_nodes, walkable(graph.adjacency)
    root = np.sqrt(graph.degrees)
    dense = graph.adjacency.toarray() / root[:, None] / root
    K = np.linalg.inv(np.eye(n) - p * dense)
    room = push_room(n)
    for source in range(n):
        met = push(S, p, eps, source, room)
        np.testing.assert_allclose(room.x + K @ room.r, K[:, source], atol=1e-9)
        assert (np.abs(room.r) <= eps * S.roots).all()
        assert room.met[0] == source
        assert set(np.flatnonzero((room.x != 0) | (room.r != 0))) <= set(room.met[:met].tolist())
        clear(room, met)
        assert not any(part.any() for part in (room.x, room.r, room.waiting, room.known))


@pytest.mark.parametrize("unit", [1e-50, 1e50])
def test_the_unit_of_the_weights_changes_nothing(unit):
    edges = [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 3.0), (3, 0, 1.0)]
    one, other = (walkable(as_graph([(a, b, w * u) for a, b, w in edges]).adjacency) for u in (1.0, unit))
    np.testing.assert_allclose(other.values, one.values)
    np.testing.assert_allclose(other.roots, one.roots)
