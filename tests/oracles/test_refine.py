"""Self-training's multinomial, against the same written out with dense matrices; and how far it is heard."""

import numpy as np
import pytest
import scipy.sparse as sp

from querist import as_graph
from querist.labelling.ground import Ground
from querist.labelling.refine import PRIOR, by_counts, loudness, refined
from querist.labelling.task import posed


@pytest.fixture
def ground():
    rng = np.random.default_rng(0)
    W = np.triu(rng.uniform(0.5, 2.0, (12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    W[:, 11] = 0.0  # alone
    W[0, 1] = -1.5  # an edge that repels is an edge
    X = rng.poisson(0.7, (12, 9))
    X[:, 8] = 0  # a word of nobody
    X[3] = 0  # a node without words
    graph = as_graph(sp.csr_array(W + W.T), attributes=X.astype(float))
    return Ground(graph)


def walk(ground):
    S = abs(ground.graph.adjacency.toarray())
    degrees = S.sum(axis=1, keepdims=True)
    return np.divide(S, degrees, out=np.zeros_like(S), where=degrees > 0)


def test_neighbours_are_averaged_and_given_to(ground):
    B = np.random.default_rng(1).random((12, 4))
    assert ground.neighbours(B) == pytest.approx(walk(ground) @ B, abs=1e-12)
    assert ground.neighbours(B, mean=False) == pytest.approx(walk(ground).T @ B, abs=1e-12)
    assert (abs(ground.neighbours(B)[11]) < 1e-12).all()


@pytest.mark.parametrize("nodes", [np.arange(12), np.array([1, 3, 4, 7, 11])], ids=["all", "some"])
def test_a_multinomial_of_a_node_and_its_neighbours(ground, nodes):
    P = np.random.default_rng(2).dirichlet(np.ones(3), len(nodes))
    both = (np.eye(12) + walk(ground)) @ np.log1p(ground.graph.attributes.toarray())
    expected = np.zeros((len(nodes), 3))
    words = both[nodes].T @ P
    for k in range(3):
        seen = words[:, k] + PRIOR * 9 * words.sum(axis=1) / words.sum()
        for row, node in enumerate(nodes):
            likelihood = sum(both[node, w] * np.log(seen[w] / seen.sum()) for w in range(9) if both[node, w])
            expected[row, k] = likelihood / np.sqrt(max(both[node].sum(), 1.0))
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    found = by_counts(ground, nodes, P)
    never = words.sum(axis=1) == 0
    known = ~(both[nodes][:, never] > 0).any(axis=1)
    assert known.any()
    assert found[known] == pytest.approx(expected[known], abs=1e-9)
    assert np.isfinite(found).all()


def test_nodes_without_any_count_are_no_trouble(ground):
    found = by_counts(ground, np.array([3, 11]), np.eye(2))
    assert np.isfinite(found).all()
    alone = as_graph([(0, 1)], attributes=np.array([[0.0, 0.0], [0.0, 1.0]]))
    nothing = by_counts(Ground(alone), np.array([0]), np.array([[0.2, 0.8]]))
    assert np.isfinite(nothing).all()


@pytest.fixture
def task(ground):
    Y = np.tile(np.eye(2), (4, 1))
    return posed(ground, np.arange(8), Y, "softmax", 4, seed=0)


def tables_of(task, strength):
    """Logits that are right by `strength` about every labelled node, the same for each fold."""
    L = np.zeros((len(task.sample), 2))
    L[task.places] = strength * task.Y
    return [L] * task.count


def test_a_model_is_heard_as_far_as_held_out_labels_bear_it_out(task):
    mixed = tables_of(task, 1.0)[0].copy()
    mixed[task.places[:3]] = mixed[task.places[:3], ::-1]  # three of eight wrong
    doubtful = [mixed] * task.count
    assert loudness(task, doubtful, doubtful) == pytest.approx(1.0)
    assert 1.5 < loudness(task, doubtful, tables_of(task, 1.0)) < 2.0
    assert 0.0 < loudness(task, tables_of(task, 1.0), doubtful) < 0.5


def test_refining_adds_what_a_model_says_by_its_loudness(task):
    rng = np.random.default_rng(0)
    L, tables = rng.standard_normal((12, 2)), [rng.standard_normal((12, 2)) for _ in range(task.count)]
    asked, more = [], np.array([[-0.4, -0.7]])

    def model(nodes, P):
        asked.append(P)
        return np.tile(more, (len(P), 1))

    whole, held, heard = refined(task, {"model": model}, L, tables)
    w = loudness(task, tables, [table + more for table in tables])
    assert np.diff(whole, axis=1) == pytest.approx(np.diff(L + w * more, axis=1))
    assert len(held) == task.count
    assert heard == pytest.approx({"model": w})
    assert asked[-1][:8] == pytest.approx(task.Y), "labels are known"
    for fold, P in enumerate(asked[: task.count]):
        seen = task.kept(fold)
        assert P[task.places[seen]] == pytest.approx(task.Y[seen])
        assert (P[task.places[~seen]] < 1).all(), "a held-out label is not looked at"


def test_without_a_model_or_a_label_to_hold_out_nothing_is_judged(ground, task):
    L = np.random.default_rng(0).standard_normal((12, 2))
    assert refined(task, {}, L, [L]) == (L, [L], {})
    few = posed(ground, np.arange(2), np.eye(2), "softmax", 2, seed=0)
    assert few.count == 0
    assert loudness(few, [], []) == 1.0
