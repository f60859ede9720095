"""Every classifier in the catalogue x every promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from querist import CLASSIFIERS, InputError, OnGraph, as_graph
from querist.collective.catalogue import reads_attributes
from querist.collective.relational import WVRN
from querist.datasets import sbm

NAMES = list(CLASSIFIERS)


def two_camps(seed=0, n=24):
    """Two camps with words of their own: weighted edges, counts, an isolated node (the last)."""
    rng = np.random.default_rng(seed)
    base = sbm((n // 2, n // 2), 0.5, 0.05, seed=seed)
    truth = np.asarray(base.codes)
    S = base.adjacency.toarray()
    S = np.triu(S * rng.uniform(0.5, 1.5, S.shape), 1)
    S[-1], S[:, -1] = 0, 0
    words = rng.poisson(np.where(truth[:, None] == np.arange(6) // 3, 2.0, 0.3))
    return as_graph(sp.csr_array(S + S.T), attributes=words.astype(float)), truth


def seeds_of(truth, each=2):
    """The first nodes of every class as a dict."""
    return {int(i): "ab"[c] for c in (0, 1) for i in np.flatnonzero(truth == c)[:each]}


@pytest.mark.parametrize("name", NAMES)
def test_seeds_never_change_and_rows_are_distributions(name):
    graph, truth = two_camps()
    labels = seeds_of(truth)
    wrong = {**labels, 2: "b"}  # a label against all evidence stays
    model = CLASSIFIERS[name]().fit(graph, wrong)
    assert all(model.labels_[node] == label for node, label in wrong.items())
    assert all(model.probabilities_[node].max() == 1 for node in wrong)
    assert model.probabilities_.shape == (graph.n_nodes, 2)
    assert model.probabilities_.sum(axis=1) == pytest.approx(np.ones(graph.n_nodes))
    assert (model.probabilities_ >= 0).all()
    assert len(model.history_) == model.n_iter_ >= 1
    assert len(model.history_.objective) == len(model.history_.change)
    assert np.isfinite(model.history_.objective).all() and np.isfinite(model.history_.change).all()


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_camps(name):
    graph, truth = two_camps(n=40)
    model = CLASSIFIERS[name]().fit(graph, seeds_of(truth, each=4))
    right = (model.probabilities_.argmax(axis=1) == truth)[model.reached_].mean()
    assert right > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_weights_matter(name):
    """A node between two camps goes with the heavier edge."""
    words = np.array([[2, 0], [0, 2], [1, 1], [2, 0], [0, 2]], dtype=float)
    answers = []
    for heavy in (0, 1):
        weights = np.where(np.array([0, 1]) == heavy, 10.0, 0.1)
        edges = [(0, 2, weights[0]), (1, 2, weights[1]), (0, 3, 1.0), (1, 4, 1.0)]
        graph = as_graph(edges, nodes=5, attributes=words)
        model = CLASSIFIERS[name]().fit(graph, {0: "a", 1: "b", 3: "a", 4: "b"})
        answers.append(model.probabilities_[2, 0])
    if name == "plsa":
        assert answers[0] == pytest.approx(answers[1])  # it does not look at edges
    else:
        assert answers[0] > answers[1]


@pytest.mark.parametrize("name", NAMES)
def test_isolated_nodes_and_components_without_labels_are_not_reached(name):
    """Node 4 has nothing; 5-6 are a component of their own, without words."""
    words = np.array([[2, 1], [1, 2], [1, 1], [1, 0], [0, 0], [0, 0], [0, 0]], dtype=float)
    graph = as_graph([(0, 1), (1, 2), (2, 3), (5, 6)], nodes=7, attributes=words)
    model = CLASSIFIERS[name]().fit(graph, {0: "a", 1: "b", 3: "b"})
    assert model.reached_.tolist() == [True] * 4 + [False] * 3
    assert model.labels_[4:].tolist() == [None] * 3
    assert model.probabilities_[4:] == pytest.approx(np.tile([1 / 3, 2 / 3], (3, 1)))
    assert np.isfinite(model.probabilities_).all()


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if reads_attributes(name)])
def test_words_reach_where_edges_do_not(name):
    words = np.array([[2, 0, 0], [0, 2, 0], [1, 0, 0], [0, 0, 0]], dtype=float)
    graph = as_graph([(0, 1)], nodes=4, attributes=words)
    model = CLASSIFIERS[name]().fit(graph, {0: "a", 1: "b"})
    assert model.reached_.tolist() == [True, True, True, False]
    assert model.labels_[2] == "a"


@pytest.mark.parametrize("name", NAMES)
def test_few_seeds_and_classes_without_one(name):
    graph, truth = two_camps()
    one = CLASSIFIERS[name]().fit(graph, {0: "a", 12: "b", 13: "b"})  # a class with one seed
    assert set(one.labels_[one.reached_]) <= {"a", "b"}
    extra = CLASSIFIERS[name](classes=["a", "none", "b"]).fit(graph, seeds_of(truth))
    assert extra.probabilities_.shape == (24, 3)
    assert extra.probabilities_[:, 1] == pytest.approx(np.zeros(24), abs=1e-12)
    single = CLASSIFIERS[name]().fit(graph, {0: "a"})  # one class: everything reached is it
    assert set(single.labels_[single.reached_]) == {"a"}
    assert np.isfinite(one.probabilities_).all() and np.isfinite(extra.probabilities_).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_relabelling_nodes_and_classes_permutes(name):
    graph, truth = two_camps(seed=2)
    labels = seeds_of(truth, each=3)
    model = CLASSIFIERS[name]().fit(graph, labels)
    order = np.random.default_rng(1).permutation(graph.n_nodes)
    moved = CLASSIFIERS[name]().fit(graph.subgraph(order), labels)  # ids travel with their nodes
    assert moved.probabilities_ == pytest.approx(model.probabilities_[order], abs=2e-5)
    assert (moved.reached_ == model.reached_[order]).all()
    swapped = {node: {"a": "z", "b": "m"}[label] for node, label in labels.items()}
    renamed = CLASSIFIERS[name]().fit(graph, swapped)
    assert renamed.classes_.tolist() == ["m", "z"]
    assert renamed.probabilities_[:, ::-1] == pytest.approx(model.probabilities_, abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("span", [0, 2, 4, 8, 15, 150])
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_nodes_does_not_matter_at_extreme_weights(name, span):
    """Weights of 10^-span to 10^span, and all of them 1,000: the same answer in any order, or a refusal."""
    answered = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        S = np.triu(rng.random((24, 24)) < 0.15, 1) * 10.0 ** rng.uniform(-span, span, (24, 24))
        S = S + S.T if span else 1000 * np.sign(S + S.T)
        graph = as_graph(sp.csr_array(S), nodes=24, attributes=rng.random((24, 6)))
        labels = {int(node): int(rng.integers(3)) for node in rng.choice(24, 6, replace=False)}
        order = rng.permutation(24)
        try:
            one, other = (CLASSIFIERS[name]().fit(each, labels) for each in (graph, graph.subgraph(order)))
        except InputError:
            continue
        answered += 1
        assert other.probabilities_ == pytest.approx(one.probabilities_[order], abs=2e-5)
    assert answered or span >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_several_labels_a_node(name):
    graph, truth = two_camps()
    matrix = np.zeros((24, 3))
    for node in (0, 1, 12, 13):
        matrix[node, truth[node]] = 1
    matrix[[1, 13], 2] = 1
    model = CLASSIFIERS[name]().fit(graph, matrix)
    assert model.labels_.shape == (24, 3)
    assert (model.labels_[[0, 1, 12, 13]] == matrix[[0, 1, 12, 13]]).all()
    assert (model.labels_[model.reached_].sum(axis=1) >= 1).all()
    assert (model.labels_[~model.reached_] == 0).all()
    assert np.isfinite(model.probabilities_).all() and np.isfinite(model.history_.objective).all()
    sets = [{k for k in range(3) if row[k]} for row in matrix]
    same = CLASSIFIERS[name]().fit(graph, sets)
    assert same.probabilities_ == pytest.approx(model.probabilities_)
    assert (same.labels_ == model.labels_).all() and same.labels_[1].tolist() == [1, 0, 1]
    top = CLASSIFIERS[name](top_k=1).fit(graph, matrix)
    free = model.reached_ & ~matrix.any(axis=1)
    assert (top.labels_[free].sum(axis=1) == 1).all()


@pytest.mark.parametrize("name", NAMES)
def test_same_input_same_bits_and_the_graph_is_left_alone(name):
    graph, truth = two_camps()
    before = graph.adjacency.copy(), graph.attributes.copy()
    first = CLASSIFIERS[name]().fit(graph, seeds_of(truth))
    second = CLASSIFIERS[name]().fit(graph, seeds_of(truth))
    assert (first.probabilities_ == second.probabilities_).all()
    assert (graph.adjacency.data == before[0].data).all()
    assert (graph.attributes.data == before[1].data).all()


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_refused_in_words(name):
    graph, truth = two_camps()
    model = CLASSIFIERS[name]()
    with pytest.raises(InputError, match="no node is labelled"):
        model.fit(graph, {})
    with pytest.raises(InputError, match="Negative values"):
        model.fit(as_graph([(0, 1, -1.0)], attributes=np.ones((2, 1))), {0: "a"})
    with pytest.raises(InputError, match="unknown node"):
        model.fit(graph, {"nobody": "a"})
    if reads_attributes(name):
        with pytest.raises(InputError, match="no attributes"):
            model.fit(as_graph([(0, 1)]), {0: "a"})
    model.fit(graph, seeds_of(truth))
    with pytest.raises(InputError, match="expecting 24 features"):
        model.predict(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["gmnr", "mrgm", "plsa", "wvrn"])
def test_progress_and_stopping(name):
    graph, truth = two_camps()
    seen = []
    model = CLASSIFIERS[name](max_iter=4, tol=0.0, progress=lambda *said: seen.append(said))
    model.fit(graph, seeds_of(truth))
    assert seen == [(done / 4, f"iterations, {done} of 4") for done in (1, 2, 3, 4)]
    assert CLASSIFIERS[name](max_iter=500, tol=1e-2).fit(graph, seeds_of(truth)).n_iter_ < 60


def test_progress_of_one_against_all_goes_on():
    """Each class has its part of the whole, so that fractions never fall."""
    graph, _ = two_camps()
    given = {0: {"a"}, 1: {"a", "b"}, 12: {"b"}, 13: {"c"}}
    fractions = []
    model = CLASSIFIERS["wvrn"](max_iter=2, progress=lambda fraction, text: fractions.append(fraction))
    model.fit(graph, given)
    assert fractions == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


# -- scikit-learn -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_clone_and_new_nodes(name):
    graph, truth = two_camps()
    model = CLASSIFIERS[name](threshold=0.3)
    assert clone(model).get_params() == model.get_params()
    model = CLASSIFIERS[name]()
    model.fit(graph, seeds_of(truth))
    assert (model.predict() == model.labels_).all()
    assert (model.predict(graph) == model.labels_).all()
    assert (model.predict(graph.adjacency) == model.labels_).all()
    newcomers = np.zeros((3, 24))
    newcomers[0, [0, 1]], newcomers[1, [12, 13]] = 1, 2
    assert model.predict(newcomers).tolist() == ["a", "b", None]
    assert model.predict_proba(newcomers)[0] == pytest.approx([1, 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_grid_search_and_pipelines(name):
    graph, truth = two_camps(n=32)
    nodes = np.arange(30)
    search = GridSearchCV(
        OnGraph(CLASSIFIERS[name](), graph), {"classifier__threshold": [0.5, "max_drop"]}, cv=2
    )
    search.fit(nodes, truth[:30])
    assert search.best_score_ > 0.7
    assert search.best_estimator_.classifier_.labels_.shape == (32,)
    if not reads_attributes(name):
        from sklearn.neighbors import KNeighborsTransformer

        steps = make_pipeline(KNeighborsTransformer(mode="connectivity", n_neighbors=5), CLASSIFIERS[name]())
        labels = np.where(np.arange(32) % 4 == 0, truth, -1).astype(object)
        labels[labels == -1] = None
        steps.fit(graph.attributes.toarray(), labels)
        assert (steps[-1].labels_ == truth).mean() > 0.8
        scores = cross_val_score(CLASSIFIERS[name](), graph.adjacency[:31, :31], truth[:31], cv=2)
        assert scores.mean() > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_reached_counts_as_wrong(name):
    """One node in ten is joined to nothing."""
    graph, codes = two_camps(n=40)
    truth = np.array(["a", "b"])[codes]
    lonely = np.arange(40) % 10 == 0
    A = np.where(lonely[:, None] | lonely[None, :], 0.0, graph.adjacency.toarray())
    kind = CLASSIFIERS[name]
    model = kind(features="links") if reads_attributes(name) else kind()
    scores = cross_val_score(model, A, codes, cv=2)
    assert np.isfinite(scores).all()
    assert scores.max() <= 1 - lonely.sum() / 40
    for rows in (codes, truth):
        fitted = clone(model).fit(A, [None if i % 3 else rows[i] for i in range(40)])
        right = [found == true for found, true in zip(fitted.labels_.tolist(), rows.tolist(), strict=True)]
        assert fitted.score(A, rows) == pytest.approx(np.mean(right))
        known = np.arange(40) < 20
        hidden = [row if keep else None for row, keep in zip(rows.tolist(), known, strict=True)]
        assert fitted.score(A, hidden) == pytest.approx(np.mean(np.array(right)[known]))
        assert fitted.score(A, rows, sample_weight=known) == pytest.approx(np.mean(np.array(right)[known]))
    with pytest.raises(InputError, match="no node has a label"):
        fitted.score(A, [None] * 40)


def test_the_score_of_several_labels_wants_them_all():
    graph, codes = two_camps(n=24)
    truth = np.array(["a", "b"])[codes]
    sets = [{str(t), "all"} for t in truth]
    given = [own if i % 4 == 0 else set() for i, own in enumerate(sets)]
    model = WVRN().fit(graph, given)
    found = [set(model.classes_[row > 0]) for row in model.labels_]
    right = [own == said for own, said in zip(sets, found, strict=True)]
    assert model.score(graph, sets) == pytest.approx(np.mean(right))
    matrix = np.array([[1, t == "a", t == "b"] for t in truth], dtype=float)
    model = WVRN().fit(graph, matrix * (np.arange(24) % 4 == 0)[:, None])
    assert model.score(graph, matrix) == pytest.approx((model.labels_ == matrix).all(axis=1).mean())


CANNOT = {
    "check_classifier_data_not_an_array": "a data frame is a table of edges, not a square matrix",
    "check_complex_data": "X is a graph; a column of numbers is none, and is refused as such",
    "check_dtype_object": "weights must be numbers",
    "check_estimators_empty_data_messages": "X is a graph; no columns means no nodes, and is refused as such",
    "check_estimators_nan_inf": "the check hands over a matrix of samples, which is refused as no graph",
    "check_fit_non_negative": "the check hands over a matrix of samples, which is refused as no graph",
    "check_classifier_multioutput": "several labels are decided by the maximum drop, not at one half",
    "check_methods_sample_order_invariance": "rows of the fitted graph give its labels, other rows a vote",
    "check_methods_subset_invariance": "rows of the fitted graph give its labels, other rows a vote",
}
"""Checks of scikit-learn that a transductive classifier of graphs cannot meet (docs/collective.md)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_estimator_checks(name):
    kind = CLASSIFIERS[name]
    model = kind(features="links") if "features" in kind().get_params() else kind()
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= set(CANNOT)
    assert sum(result["status"] == "passed" for result in results) >= 48
