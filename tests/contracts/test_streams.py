"""What every stream learner promises, and the contracts of scikit-learn and river."""

import inspect
import pickle

import numpy as np
import pytest
import river.checks
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import querist
from querist import STREAMS, BudgetedLeastSquares, InputError, RiverBudgetedLeastSquares
from querist.budgeted import learner as protocol
from querist.budgeted.learner import BLS

MAINTENANCE = ["remove", "projection", "projection-persistent"]
NAMES = list(STREAMS)
SLOW = {"sklearn_sgd", "sklearn_naive_bayes", "river_logistic", "river_hoeffding"}


def stream_of(n=700, classes=2, seed=0, labelled=0.3, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 3] *= rng.random(n) < 0.5
    codes = (X[:, :2] @ rng.normal(size=(2, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X, codes, rng.random(n) < labelled


def small(maintenance="remove", classes=2, **options):
    return BLS(
        classes, maintenance=maintenance, budget_labelled=12, budget_unlabelled=9, lambda1=0.2, **options
    )


def content(learner):
    """Everything that a stream learner knows, scratch aside."""
    scratch = {"k", "a", "h", "g", "f", "y", "c"}
    state = {name: array for name, array in learner.state._asdict().items() if name not in scratch}
    return {**state, "first": learner.first, "rules": np.array(list(learner.rules)), "floor": learner.floor}


def assert_same(one, other):
    for name, value in content(one).items():
        np.testing.assert_array_equal(value, content(other)[name], err_msg=name)


# -- every learner -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_is_predicted_before_the_first_label(name, classes):
    X, codes, _ = stream_of(20, classes)
    done = STREAMS[name](classes, seed=3).run(X, codes, np.zeros(20, dtype=np.bool_))
    assert (done.predicted == -1).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("classes", [2, 3])
def test_whole_blocks_or_one_item_at_a_time(name, classes):
    """One run, runs over blocks, and runs over single items predict the same."""
    X, codes, labelled = stream_of(120 if name in SLOW else 650, classes)
    whole = STREAMS[name](classes, seed=3).run(X, codes, labelled)
    for cuts in ([1, 2, 40, 41], range(1, codes.size)):
        learner, found, actions = STREAMS[name](classes, seed=3), [], []
        for part in np.split(np.arange(codes.size), list(cuts)):
            done = learner.run(X[part], codes[part], labelled[part])
            found.extend(done.predicted)
            actions.extend(done.actions)
        np.testing.assert_array_equal(found, whole.predicted)
        np.testing.assert_array_equal(actions, whole.actions)


@pytest.mark.parametrize("name", NAMES)
def test_hidden_labels_reach_nobody(name):
    X, codes, labelled = stream_of(150, 3)
    before = X.copy()
    one = STREAMS[name](3, seed=0).run(X, codes, labelled)
    other = STREAMS[name](3, seed=0).run(X, np.where(labelled, codes, (codes + 1) % 3), labelled)
    hidden = STREAMS[name](3, seed=0).run(X, np.where(labelled, codes, -1))
    np.testing.assert_array_equal(one.predicted, other.predicted)
    np.testing.assert_array_equal(one.predicted, hidden.predicted)
    np.testing.assert_array_equal(X, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_sparse_is_as_good_as_dense(name):
    X, codes, labelled = stream_of(400, 2, labelled=0.5)
    if name == "sklearn_naive_bayes":
        X = (X > 0).astype(float)
    dense = STREAMS[name](2, seed=1).run(X, codes, labelled)
    sparse = STREAMS[name](2, seed=1).run(sp.csr_array(X), codes, labelled)
    late = slice(200, None)  # SPASC has no answer before its first batch is full
    assert np.mean(dense.predicted[late] == codes[late]) > 0.6
    assert np.mean(sparse.predicted[late] == codes[late]) > 0.6
    if name not in SLOW:  # others' libraries take another path, or leave zeros out
        assert np.mean(dense.predicted == sparse.predicted) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda X, y: (np.where(np.arange(X.shape[1]) == 1, np.nan, X), y), "NaN"),
        (lambda X, y: (X, y + 5), "outside the 2 classes"),
        (lambda X, y: (X, y.astype(float)), "class codes"),
        (lambda X, y: (X[:, 0], y), "shape"),
        (lambda X, y: (X, y[:-1]), "labels must be"),
    ],
)
def test_bad_input_is_refused_and_what_was_learned_stays(name, spoil, said):
    X, codes, _ = stream_of(90)
    learner, fine = STREAMS[name](2, seed=0), STREAMS[name](2, seed=0)
    learner.run(X[:60], codes[:60])
    fine.run(X[:60], codes[:60])
    with pytest.raises(InputError, match=said):
        learner.run(*spoil(X[60:70], codes[60:70]))
    np.testing.assert_array_equal(
        learner.run(X[60:], codes[60:]).predicted, fine.run(X[60:], codes[60:]).predicted
    )


@pytest.mark.parametrize("name", NAMES)
def test_one_class_is_not_enough(name):
    with pytest.raises(InputError, match="n_classes"):
        STREAMS[name](1)


# -- budgeted least squares ----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("width", [None, 0.7])
def test_run_is_bitwise_one_item_at_a_time(maintenance, sparse, width):
    X, codes, labelled = stream_of(620, 3)
    X = sp.csr_array(X) if sparse else X
    whole, single = (small(maintenance, 3, width=width) for _ in range(2))
    done = whole.run(X, codes, labelled)
    for t in range(codes.size):
        scores = single.scores(X[t : t + 1])[0]
        one = single.run(X[t : t + 1], codes[t : t + 1], labelled[t : t + 1])
        if width is not None:  # while it is being measured, an item also changes the width
            assert one.predicted[0] == (scores.argmax() if scores.any() else -1)
        assert one.predicted[0] == done.predicted[t]
    assert_same(whole, single)


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_looks_at_python_change_nothing(maintenance, monkeypatch):
    """A run stops in between so that it can be interrupted, and goes on bitwise."""
    X, codes, labelled = stream_of(900)
    whole, stopping = small(maintenance), small(maintenance)
    expected = whole.run(X, codes, labelled)
    monkeypatch.setattr(protocol, "BLOCK", 45)
    np.testing.assert_array_equal(stopping.run(X, codes, labelled).predicted, expected.predicted)
    assert_same(whole, stopping)


@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize("cut", [0, 1, 130, 499, 500, 600])
def test_save_load_and_go_on_bitwise(maintenance, cut, tmp_path):
    X, codes, labelled = stream_of(620, 2)
    whole, part = small(maintenance), small(maintenance)
    expected = whole.run(X, codes, labelled)
    first = part.run(X[:cut], codes[:cut], labelled[:cut])
    part.save(tmp_path / "learner.npz")
    loaded = BLS.load(tmp_path / "learner.npz")
    rest = loaded.run(X[cut:], codes[cut:], labelled[cut:])
    np.testing.assert_array_equal(np.concatenate([first.predicted, rest.predicted]), expected.predicted)
    assert_same(whole, loaded)


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_budgets_are_never_exceeded(maintenance):
    X, codes, labelled = stream_of(600, 2)
    learner = small(maintenance, limit=30)
    for t in range(0, 600, 7):
        learner.run(X[t : t + 7], codes[t : t + 7], labelled[t : t + 7])
        n_l, n_u = learner.sizes
        if maintenance == "remove":
            assert n_l <= 12
            assert n_u <= 9
        assert n_l + n_u <= 30
    assert learner.state.k.size <= 30


def test_scores_change_nothing():
    X, codes, labelled = stream_of(300)
    learner, twin = small(), small()
    learner.run(X, codes, labelled)
    twin.run(X, codes, labelled)
    one, two = learner.scores(X), learner.scores(X)
    np.testing.assert_array_equal(one, two)
    assert_same(learner, twin)


def test_classes_in_another_order_permute_the_result():
    X, codes, labelled = stream_of(500, 4)
    order = np.array([2, 0, 3, 1])
    one, other = small(classes=4), small(classes=4)
    first = one.run(X, codes, labelled)
    second = other.run(X, order[codes], labelled)
    known = first.predicted >= 0
    np.testing.assert_array_equal(order[first.predicted[known]], second.predicted[known])
    np.testing.assert_allclose(one.scores(X), other.scores(X)[:, order], atol=1e-12)


def test_without_unlabelled_slots_unlabelled_items_teach_nothing():
    X, codes, labelled = stream_of(400)
    with_them, without = (BLS(2, width=1.0, budget_unlabelled=0) for _ in range(2))
    with_them.run(X, codes, labelled)
    without.run(X[labelled], codes[labelled])
    np.testing.assert_array_equal(with_them.scores(X), without.scores(X))


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_duplicates_are_no_trouble(maintenance):
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), 200, axis=0)[np.random.default_rng(0).permutation(400)]
    codes = (X[:, 0] > 0).astype(np.int64)
    learner = small(maintenance, epsilon=2.0, condition="text")
    done = learner.run(X, codes, np.arange(400) % 3 > 0)
    assert np.isfinite(learner.scores(X)).all()
    assert np.mean(done.predicted[20:] == codes[20:]) == 1


def test_huge_values():
    """The RBF kernel takes them: far away is far away. The linear one refuses, and so do sparse rows."""
    X = np.array([[1e300], [-1e300], [1e300], [-1e300], [0.9e300]])
    codes = np.array([0, 1, 0, 1, 0])
    learner = BLS(2)
    learner.run(X, codes)
    scores = learner.scores(X)
    assert np.isfinite(scores).all()
    near = BLS(2, width=1.0)
    near.run(np.array([[0.0], [1.0]]), codes[:2])
    known = near.scores(np.array([[0.0], [1.0]]))
    near.run(np.array([[1e300]]), np.array([1]))
    np.testing.assert_allclose(near.scores(np.array([[0.0], [1.0]])), known, atol=1e-12)
    with pytest.raises(InputError, match="no digits"):
        BLS(2, kernel="linear").run(X, codes)
    with pytest.raises(InputError, match="overflows"):
        BLS(2).run(sp.csr_array(X), codes)


@pytest.mark.parametrize(
    "bad",
    [
        {"budget_labelled": 0},
        {"budget_unlabelled": -1},
        {"budget_labelled": 2.5},
        {"lambda1": 0.0},
        {"lambda2": float("nan")},
        {"epsilon": -0.1},
        {"ridge": 0.0},
        {"width": 0.0},
        {"limit": 3},
        {"maintenance": "project"},
        {"kernel": "rbff"},
        {"kernel": ["rbf"]},
        {"condition": "maybe"},
    ],
)
def test_parameters_out_of_range(bad):
    (name,) = bad
    with pytest.raises(InputError, match=name):
        BLS(2, **bad)


# -- scikit-learn ----------------------------------------------------------------------


@pytest.mark.slow
@parametrize_with_checks([BudgetedLeastSquares(maintenance=maintenance) for maintenance in MAINTENANCE])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("missing", [None, -1, "?", float("nan")])
def test_missing_labels_of_every_kind(missing):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    labels = [missing if i % 3 else (f"class {k}" if missing == "?" else int(k)) for i, k in enumerate(y)]
    model = BudgetedLeastSquares(missing_label=missing, lambda1=0.1).fit(X, labels)
    assert len(model.classes_) == 3
    truth = [f"class {k}" for k in y] if missing == "?" else y
    assert np.mean(model.predict(X) == truth) > 0.9


def test_partial_fit_is_fit_in_parts_and_run_is_predict_and_partial_fit():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(150)
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    whole = BudgetedLeastSquares().fit(X, y)
    parts = BudgetedLeastSquares()
    for at in range(0, 150, 40):
        parts.partial_fit(X[at : at + 40], y[at : at + 40], classes=["a", "b", "c"])
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))
    runner, stepper = (BudgetedLeastSquares(width=2.0) for _ in range(2))
    found = runner.run(X, y, labelled=np.arange(150) % 2 == 0, classes=["a", "b", "c"])
    for t in range(150):
        if t:
            assert stepper.predict(X[t : t + 1])[0] == found[t]
        stepper.partial_fit(X[t : t + 1], [y[t] if t % 2 == 0 else None], classes=["a", "b", "c"])
    np.testing.assert_array_equal(runner.decision_function(X), stepper.decision_function(X))


def test_an_estimator_that_was_pickled_goes_on_with_the_same_bits():
    X, y = load_iris(return_X_y=True)
    model = BudgetedLeastSquares(maintenance="projection", missing_label="-").fit(X[::2], y[::2].astype(str))
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.partial_fit(X[1::2], y[1::2].astype(str))
    model.partial_fit(X[1::2], y[1::2].astype(str))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_what_an_estimator_refuses():
    X, y = load_iris(return_X_y=True)
    model = BudgetedLeastSquares().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(InputError, match="not among the classes"):
        model.partial_fit(X, np.full(150, 7))
    with pytest.raises(InputError, match="first call"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(X > 5, np.nan, X), y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(InputError, match="at least 2 classes"):
        BudgetedLeastSquares().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="at least 2 classes"):
        BudgetedLeastSquares(missing_label=-1).fit(X, np.full(150, -1))
    with pytest.raises(InputError, match="budget_labelled"):
        BudgetedLeastSquares(budget_labelled=0).fit(X, y)
    assert clone(model).get_params() == model.get_params()


# -- river --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_river_contract(maintenance):
    model = RiverBudgetedLeastSquares(maintenance=maintenance)
    assert "check_bounded_memory_growth" in {check.__name__ for check in river.checks.yield_checks(model)}
    river.checks.check_estimator(model)


def test_river_agrees_with_the_learner_and_can_be_pickled():
    X, codes, labelled = stream_of(300, 2)
    names = ["a", "b", "c", "d"]
    model = RiverBudgetedLeastSquares(width=1.0)
    for x, code, seen in zip(X, codes, labelled, strict=True):
        model.learn_one(dict(zip(names, x, strict=True)), int(code) if seen else None)
    first_seen = list(dict.fromkeys(codes[labelled].tolist()))
    learner = BLS(2, width=1.0)
    learner.run(sp.csr_array(X), np.array([first_seen.index(c) for c in codes]), labelled)
    expected = learner.scores(sp.csr_array(X))[:, 0] > 0
    items = [dict(zip(names, x, strict=True)) for x in X]
    found = [first_seen.index(model.predict_one(item)) for item in items]
    np.testing.assert_array_equal(found, expected)
    copied = pickle.loads(pickle.dumps(model))
    for item in items[:50]:
        assert copied.predict_proba_one(item) == model.predict_proba_one(item)
    copied.learn_one(items[0], "new class")
    assert "new class" in copied.predict_proba_one(items[0])
    assert "new class" not in model.predict_proba_one(items[0])


def test_river_features_come_and_go():
    model = RiverBudgetedLeastSquares(width=1.0)
    model.learn_one({"a": 1.0}, "x")
    model.learn_one({"b": 1.0, "c": 0.0}, "y")
    model.learn_one({"d": 5.0})
    assert model.predict_one({"a": 1.0, "never seen": 0.0}) == "x"
    assert model.predict_one({"b": 1.0}) == "y"
    assert model.predict_one({"b": 1.0, "never seen": 9.0}) in ("x", "y")
    twin = BLS(2, width=1.0)
    twin.run(sp.csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 5]])), np.array([0, 1, -1]))
    p = model.predict_proba_one({"a": 0.5, "b": 0.2})
    f = twin.scores(sp.csr_array(np.array([[0.5, 0.2, 0.0]])))[0, 0]
    assert p["y"] == pytest.approx((1 + f) / 2)
    for bad in ({"a": "text"}, {"a": float("nan")}, {"a": None}):
        with pytest.raises(InputError, match="feature 'a'"):
            model.learn_one(bad, "x")
    assert model.predict_one({"a": 1.0}) == "x"


def test_public_names():
    assert querist.STREAMS is STREAMS
    assert set(STREAMS) >= {"bls", "pa", "pa1", "pa2", "spasc", "ressl"}


def test_the_estimators_have_the_parameters_of_the_learner():
    own = inspect.signature(BLS).parameters
    for kind in (BudgetedLeastSquares, RiverBudgetedLeastSquares):
        theirs = dict(inspect.signature(kind).parameters)
        theirs.pop("missing_label", None)
        assert {name: p.default for name, p in theirs.items()} == {
            name: p.default for name, p in own.items() if name not in ("n_classes", "seed")
        }
