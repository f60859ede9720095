"""`querist.label` as a scikit-learn estimator, and the probabilities of the stream learner."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from querist import BudgetedLeastSquares, GraphLabelClassifier, InputError, label, load_graph

EXCEPTIONS: dict[str, str] = {}
"""Checks of scikit-learn that rows of numbers do not pass, and why; docs/notebooks.md publishes it."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_estimator_checks():
    """With one member of `auto`, which is quicker; `auto` itself passes too (docs/notebooks.md)."""
    results = check_estimator(GraphLabelClassifier(method="smoothed"), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set(EXCEPTIONS)
    assert sum(result["status"] == "passed" for result in results) >= 50


@pytest.fixture(scope="module")
def karate():
    return load_graph("karate")


def test_on_a_graph_it_is_label(karate):
    known = {node: karate.labels[node] for node in (0, 1, 32, 33)}
    model = GraphLabelClassifier(karate).fit(list(known), list(known.values()))
    found = label(karate.without_labels(), known)
    assert model.predict(karate.nodes).tolist() == found.labels
    np.testing.assert_array_equal(model.predict_proba([[5], [20]]), found.probabilities[[5, 20]])
    assert model.classes_.tolist() == ["Mr. Hi", "Officer"]
    with pytest.raises(InputError, match="1 unknown nodes"):
        model.predict(["zed"])


def test_the_goal_decides_what_is_said(karate):
    rare = ["rare" if node in (4, 5, 6, 10, 16) else "common" for node in range(34)]
    known = [rare[node] if node % 2 == 0 or node == 5 else None for node in range(34)]
    costs = {("rare", "common"): 20.0, ("common", "rare"): 1.0}
    usual, dear = (
        GraphLabelClassifier(karate, method="walks", costs=given).fit(karate.nodes, known)
        for given in (None, costs)
    )
    np.testing.assert_array_equal(usual.predict_proba(karate.nodes), dear.predict_proba(karate.nodes))
    found = dear.predict(karate.nodes)
    assert found.tolist() == dear.labelling_.labels == dear.transduction_.tolist()
    assert (found == "rare").sum() > (usual.predict(karate.nodes) == "rare").sum()


@pytest.mark.parametrize("missing", [None, -1, float("nan")])
def test_unlabelled_nodes_may_be_in_y(karate, missing):
    y = [karate.codes[node] if node in (0, 1, 32, 33) else missing for node in range(34)]
    y = y if missing is None else np.array(y)
    model = GraphLabelClassifier(karate, missing_label=missing).fit(karate.nodes, y)
    assert model.classes_.tolist() == [0, 1]
    assert (model.transduction_ == karate.codes).mean() > 0.9
    assert model.score(karate.nodes, y) == 1.0, "only the labelled are judged"


def test_cross_validation_sees_the_whole_graph(karate):
    nodes, labels = np.arange(34), np.array(karate.labels)
    assert cross_val_score(GraphLabelClassifier(karate, method="walks"), nodes, labels, cv=4).mean() > 0.9
    found = cross_val_predict(GraphLabelClassifier(karate, method="walks"), nodes, labels, cv=4)
    assert set(found) == set(labels)
    search = GridSearchCV(GraphLabelClassifier(karate), {"method": ["walks", "links"]}, cv=2)
    assert search.fit(nodes, labels).best_params_["method"] in ("walks", "links")


def test_half_unlabelled_labels_can_be_cross_validated(karate):
    y = np.where(np.arange(34) % 2, karate.codes, -1)
    model = GraphLabelClassifier(karate, method="walks", missing_label=-1)
    assert cross_val_score(model, np.arange(34), y, cv=3).mean() > 0.8


def test_a_node_that_no_label_reaches_gets_the_shares():
    model = GraphLabelClassifier([("a", "b"), ("b", "c"), ("d", "e")])
    model.fit(["a", "b", "c"], ["x", "x", "y"])
    P = model.predict_proba(["d", "e"])
    np.testing.assert_allclose(P, [[2 / 3, 1 / 3]] * 2)
    with pytest.raises(InputError, match="'a' is 'x' and 'y'"):
        model.fit(["a", "a", "c"], ["x", "y", "y"])


def test_new_rows_are_answered_by_the_nearest():
    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(150) % 5 == 0, y, -1)
    model = GraphLabelClassifier(method="smoothed", missing_label=-1).fit(X[::2], known[::2])
    assert (model.predict(X[1::2]) == y[1::2]).mean() > 0.9
    np.testing.assert_array_equal(model.predict(X[:100:2]), model.transduction_[:50])
    P = model.predict_proba(X[1:20:2])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    for row in range(1, 20, 2):  # by hand: the ten nearest, by the inverse of their distance
        distance = np.linalg.norm(X[::2] - X[row], axis=1)
        near = np.argsort(distance, kind="stable")[:10]
        if distance[near[0]] > 0 and np.unique(distance).size == distance.size:
            votes = model.labelling_.probabilities[near] / distance[near, None]
            np.testing.assert_allclose(P[row // 2], votes.sum(axis=0) / (1 / distance[near]).sum())


def test_auto_survives_pickling(karate):
    model = GraphLabelClassifier(karate).fit([0, 1, 2, 31, 32, 33], [0, 0, 0, 1, 1, 1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(range(34)), model.predict_proba(range(34)))
    assert clone(model).graph is not None


def test_points_that_differ_little_can_be_factorised():
    """Far from the origin, distances are differences of large numbers: the kernel was not positive."""
    X = np.random.default_rng(0).normal(100.0, 1.0, (100, 4))
    found = GraphLabelClassifier().fit(X, (X[:, 0] > 100).astype(int))
    assert np.isfinite(found.predict_proba(X)).all()


def test_one_class_is_refused(karate):
    with pytest.raises(InputError, match=r"hold 1 class\(es\)"):
        GraphLabelClassifier(karate).fit([0, 1], ["a", "a"])
    with pytest.raises(InputError, match="2 labels for 3 rows"):
        GraphLabelClassifier(karate).fit([0, 1, 2], ["a", "b"])


# -- probabilities of the stream learner -------------------------------------------------------------


def stream(n=1500, seed=0):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return (X[:n], y[:n]), (X[n:], y[n:])


def log_loss(P, y):
    return -np.log(np.maximum(P[np.arange(len(y)), y], 1e-12)).mean()


@pytest.mark.parametrize("classes", [2, 10])
def test_probabilities_are_calibrated_on_what_comes_next(classes):
    (X, y), (Z, truth) = stream()
    y, truth = (y, truth) if classes == 10 else ((y > 4).astype(int), (truth > 4).astype(int))
    model = BudgetedLeastSquares(condition="fill", missing_label=-1).fit(
        X, np.where(np.arange(len(y)) % 2, y, -1)
    )
    P = model.predict_proba(Z)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(Z))
    f = model.decision_function(Z)
    f = np.column_stack([-f, f]) / 2 if classes == 2 else f
    plain = np.exp(2 * f) / np.exp(2 * f).sum(axis=1, keepdims=True)
    assert log_loss(P, truth) < log_loss(plain, truth), "better than what least squares alone would say"
    sure = P.max(axis=1)
    assert abs(sure.mean() - (P.argmax(axis=1) == truth).mean()) < 0.06


def test_probabilities_are_the_same_after_pickling_and_change_nothing():
    (X, y), (Z, _) = stream(400)
    y = np.array(["even", "odd"])[y % 2]
    whole = BudgetedLeastSquares().fit(X, y)
    before = whole.decision_function(Z)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict_proba(Z), whole.predict_proba(Z))
    np.testing.assert_array_equal(whole.decision_function(Z), before)
