"""Self-training's multinomial, against the same written out with dense matrices; and how much it weighs."""

import numpy as np
import pytest
import scipy.sparse as sp

from querist import as_graph
from querist.labelling.folds import cut_folds
from querist.labelling.refine import PRIOR, by_counts, refined, self_training_weight
from querist.labelling.workspace import Workspace


@pytest.fixture
def workspace():
    rng = np.random.default_rng(0)
    W = np.triu(rng.uniform(0.5, 2.0, (12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    W[:, 11] = 0.0  # alone
    W[0, 1] = -1.5  # an edge that repels is an edge
    X = rng.poisson(0.7, (12, 9))
    X[:, 8] = 0  # a word of nobody
    X[3] = 0  # a node without words
    graph = as_graph(sp.csr_array(W + W.T), attributes=X.astype(float))
    return Workspace(graph)


def walk(workspace):
    S = abs(workspace.graph.adjacency.toarray())
    degrees = S.sum(axis=1, keepdims=True)
    return np.divide(S, degrees, out=np.zeros_like(S), where=degrees > 0)


def test_neighbours_are_averaged_and_given_to(workspace):
    B = np.random.default_rng(1).random((12, 4))
    assert workspace.neighbours(B) == pytest.approx(walk(workspace) @ B, abs=1e-12)
    assert workspace.neighbours(B, mean=False) == pytest.approx(walk(workspace).T @ B, abs=1e-12)
    assert (abs(workspace.neighbours(B)[11]) < 1e-12).all()


@pytest.mark.parametrize("nodes", [np.arange(12), np.array([1, 3, 4, 7, 11])], ids=["all", "some"])
def test_a_multinomial_of_a_node_and_its_neighbours(workspace, nodes):
    P = np.random.default_rng(2).dirichlet(np.ones(3), len(nodes))
    both = (np.eye(12) + walk(workspace)) @ np.log1p(workspace.graph.attributes.toarray())
    expected = np.zeros((len(nodes), 3))
    words = both[nodes].T @ P
    for k in range(3):
        seen = words[:, k] + PRIOR * 9 * words.sum(axis=1) / words.sum()
        for row, node in enumerate(nodes):
            likelihood = sum(both[node, w] * np.log(seen[w] / seen.sum()) for w in range(9) if both[node, w])
            expected[row, k] = likelihood / np.sqrt(max(both[node].sum(), 1.0))
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    found = by_counts(workspace, nodes, P)
    never = words.sum(axis=1) == 0
    known = ~(both[nodes][:, never] > 0).any(axis=1)
    assert known.any()
    assert found[known] == pytest.approx(expected[known], abs=1e-9)
    assert np.isfinite(found).all()


def test_nodes_without_any_count_are_no_trouble(workspace):
    found = by_counts(workspace, np.array([3, 11]), np.eye(2))
    assert np.isfinite(found).all()
    alone = as_graph([(0, 1)], attributes=np.array([[0.0, 0.0], [0.0, 1.0]]))
    nothing = by_counts(Workspace(alone), np.array([0]), np.array([[0.2, 0.8]]))
    assert np.isfinite(nothing).all()


@pytest.fixture
def folds(workspace):
    Y = np.tile(np.eye(2), (4, 1))
    return cut_folds(workspace, np.arange(8), Y, False, 4, seed=0)


def tables_of(folds, strength):
    """Logits that are right by `strength` about every labelled node, the same for each fold."""
    L = np.zeros((len(folds.sample), 2))
    L[folds.places] = strength * folds.Y
    return [L] * folds.n_folds


def test_a_model_weighs_as_far_as_held_out_labels_bear_it_out(folds):
    mixed = tables_of(folds, 1.0)[0].copy()
    mixed[folds.places[:3]] = mixed[folds.places[:3], ::-1]  # three of eight wrong
    doubtful = [mixed] * folds.n_folds
    assert self_training_weight(folds, doubtful, doubtful) == pytest.approx(1.0)
    assert 1.5 < self_training_weight(folds, doubtful, tables_of(folds, 1.0)) < 2.0
    assert 0.0 < self_training_weight(folds, tables_of(folds, 1.0), doubtful) < 0.5


def test_refining_adds_what_a_model_says_by_its_weight(folds):
    rng = np.random.default_rng(0)
    L, tables = rng.standard_normal((12, 2)), [rng.standard_normal((12, 2)) for _ in range(folds.n_folds)]
    asked, more = [], np.array([[-0.4, -0.7]])

    def model(nodes, P):
        asked.append(P)
        return np.tile(more, (len(P), 1))

    whole, held, weights = refined(folds, {"model": model}, L, tables)
    w = self_training_weight(folds, tables, [table + more for table in tables])
    assert np.diff(whole, axis=1) == pytest.approx(np.diff(L + w * more, axis=1))
    assert len(held) == folds.n_folds
    assert weights == pytest.approx({"model": w})
    assert asked[-1][:8] == pytest.approx(folds.Y), "labels are known"
    for fold, P in enumerate(asked[: folds.n_folds]):
        seen = folds.kept(fold)
        assert P[folds.places[seen]] == pytest.approx(folds.Y[seen])
        assert (P[folds.places[~seen]] < 1).all(), "a held-out label is not looked at"


def test_without_a_model_or_a_label_to_hold_out_nothing_is_judged(workspace, folds):
    L = np.random.default_rng(0).standard_normal((12, 2))
    assert refined(folds, {}, L, [L]) == (L, [L], {})
    few = cut_folds(workspace, np.arange(2), np.eye(2), False, 2, seed=0)
    assert few.n_folds == 0
    assert self_training_weight(few, [], []) == 1.0
