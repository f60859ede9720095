"""The maths behind `label`, each function against an independent one."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

from querist.datasets import sbm
from querist.graph import as_graph
from querist.labelling import combine, kernel_ridge
from querist.labelling.heads import JUDGES, discriminant, judgeable, ridge, unit_rows
from querist.labelling.kernel_ridge import ChannelKernel, ChannelRidge, GaussianKernel
from querist.labelling.members import MEMBERS, RandomWalk, SmoothedRidge
from querist.labelling.rows import RowSettings, features, smoothed_rows
from querist.labelling.workspace import Seen, Workspace


def problem(m, d, K, seed=0):
    generator = np.random.default_rng(seed)
    codes = np.arange(m) % K
    centres = generator.standard_normal((K, d))
    return centres[codes] + generator.standard_normal((m, d)), np.eye(K)[codes]


# -- ridge ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "d"), [(12, 5), (8, 20), (40, 40)])
def test_left_out_answers_are_those_of_fitting_again_without_the_label(m, d):
    z, Y = problem(m, d, 3)
    found = ridge(z, Y)
    mean, scale = Y.mean(axis=0), np.mean(np.sum(z**2, axis=1))
    for i in range(m):
        rest = np.arange(m) != i
        A = z[rest].T @ z[rest] + found.strength * scale * np.eye(d)
        expected = z[i] @ np.linalg.solve(A, z[rest].T @ (Y[rest] - mean)) + mean
        np.testing.assert_allclose(found.left_out[i], expected, atol=1e-8)


@pytest.mark.parametrize(("m", "d"), [(12, 5), (8, 20)])
def test_ridge_solves_its_normal_equations_and_smooths_labels(m, d):
    z, Y = problem(m, d, 3)
    found = ridge(z, Y)
    scale = np.mean(np.sum(z**2, axis=1))
    A = z.T @ z + found.strength * scale * np.eye(d)
    np.testing.assert_allclose(found.coefficients, np.linalg.solve(A, z.T @ (Y - Y.mean(axis=0))), atol=1e-8)
    rows = np.random.default_rng(1).standard_normal((6, d))
    weighed = rows @ found.smoother @ (Y - Y.mean(axis=0)) + Y.mean(axis=0)
    np.testing.assert_allclose(found.answer(rows), weighed, atol=1e-8)


def test_the_strength_is_the_one_whose_left_out_answers_are_best():
    z, Y = problem(60, 30, 2, seed=3)
    noise = np.random.default_rng(0).standard_normal((60, 30))
    assert ridge(0.05 * z + noise, Y).strength > ridge(z, Y).strength


def test_many_labels_are_judged_by_some_and_all_are_answered():
    z, Y = problem(3 * JUDGES, 4, 2)
    found = ridge(z, Y)
    assert found.left_out.shape == Y.shape
    assert np.mean(found.left_out.argmax(axis=1) == Y.argmax(axis=1)) > 0.6


# -- discriminant -----------------------------------------------------------------------------


def test_discriminant_is_the_posterior_of_gaussians_with_one_covariance():
    Z, Y = problem(200, 4, 3)
    P = 0.8 * Y + 0.2 / 3
    share = P.sum(axis=0) / len(P)
    means = [np.average(Z, axis=0, weights=P[:, k]) for k in range(3)]
    C = np.cov((Z - P @ means).T, bias=True)
    # The residuals of soft means have a mean of zero only where P sums to one, as here.
    C = C + np.outer(*[(Z - P @ means).mean(axis=0)] * 2)
    C = C + np.eye(4) * 1e-3 * np.trace(C) / 4
    logs = np.stack([multivariate_normal(means[k], C).logpdf(Z) + np.log(share[k]) for k in range(3)], axis=1)
    found = discriminant(Z, P) * np.sqrt(4)
    np.testing.assert_allclose(found - found[:, :1], logs - logs[:, :1], atol=1e-6)


# -- logits ---------------------------------------------------------------------------------


def test_the_loss_is_scikit_learns():
    L, Y = np.random.default_rng(0).standard_normal((30, 4)), np.eye(4)[np.arange(30) % 4]
    P = combine.probabilities(L, False)
    assert combine.loss(L, Y, False) == pytest.approx(log_loss(Y, P), abs=1e-12)
    several = (np.random.default_rng(1).random((30, 4)) < 0.4).astype(float)
    Q = combine.probabilities(L, True)
    expected = sum(log_loss(several[:, k], Q[:, k], labels=[0, 1]) for k in range(4))
    assert combine.loss(L, several, True) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_temperature_that_was_distorted_is_found_again(multilabel):
    generator = np.random.default_rng(0)
    L = 2 * generator.standard_normal((4000, 3))
    P = combine.probabilities(L, multilabel)
    if not multilabel:
        Y = np.eye(3)[[generator.choice(3, p=row) for row in P]]
    else:
        Y = (generator.random(P.shape) < P).astype(float)
    distorted = L / 7 if not multilabel else L / 7 - 1.5
    scale = combine.scaled(distorted, Y, multilabel)
    assert scale.steepness == pytest.approx(7, rel=0.1)
    if multilabel:
        assert scale.shift == pytest.approx(7 * 1.5, rel=0.1)


def test_a_faultless_judge_does_not_become_certain():
    Y = np.eye(2)[np.arange(6) % 2]
    P = combine.probabilities(combine.scaled(Y, Y, False).of(Y), False)
    assert 0.6 < P.max() < 0.99


def test_the_prior_steepness_holds_until_many_labels_say_otherwise():
    generator = np.random.default_rng(0)
    L = generator.standard_normal((5000, 2))
    L -= L.mean(axis=1, keepdims=True)
    Y = np.eye(2)[generator.integers(2, size=5000)]  # the logits are worth nothing
    steep = lambda m: combine.scaled_with_prior(L[:m], Y[:m], False).steepness * L[:m].std()  # noqa: E731
    assert combine.scaled_with_prior(L, Y, False, np.zeros(5000, bool)).steepness * L.std() == pytest.approx(
        combine.TYPICAL, rel=1e-3
    )
    assert steep(12) > combine.TYPICAL / 2 > combine.TYPICAL / 10 > steep(5000)


def test_a_strong_ridge_counts_by_what_it_says_beside_the_shares():
    """Nineteen blocks, mostly one label each: with the shares in, all nodes would go to the largest class."""
    graph = sbm((30,) * 19, 0.12, 0.03, seed=3)
    generator = np.random.default_rng(3)
    own = [
        generator.choice(np.flatnonzero(graph.codes == k), 3 - min(k, 2), replace=False) for k in range(19)
    ]
    labelled = np.sort(np.concatenate(own))
    ridge = SmoothedRidge("links", RowSettings("links", 10, 0.9))
    fitted = ridge.fit(Workspace(graph), Seen(labelled, np.eye(19)[graph.codes[labelled]]))
    assert np.mean(fitted.logits(slice(None)).argmax(axis=1) == graph.codes) > 0.13


def test_what_all_classes_have_in_common_does_not_change_a_scale():
    generator = np.random.default_rng(1)
    L, offset = generator.standard_normal((40, 3)), 9 * generator.standard_normal((40, 1))
    Y = np.eye(3)[(L + generator.standard_normal(L.shape)).argmax(axis=1)]
    for fit in (combine.scaled, combine.scaled_with_prior):
        assert fit(L + offset, Y, False).steepness == pytest.approx(fit(L, Y, False).steepness)


@pytest.mark.parametrize("multilabel", [False, True])
def test_matched_classes_have_the_shares_that_were_asked_for(multilabel):
    L = np.random.default_rng(0).standard_normal((500, 3))
    goal = np.array([0.6, 0.3, 0.1])
    found = combine.probabilities(L + combine.matched(L, goal, multilabel), multilabel).mean(axis=0)
    np.testing.assert_allclose(found, goal, atol=1e-4)


def test_weights_are_bayes_rule_at_eta_one():
    losses, m = np.array([0.3, 0.5, 0.31]), 7
    likelihood = np.exp(-m * losses)
    np.testing.assert_allclose(combine.weights(losses, m, 1.0), likelihood / likelihood.sum())


def test_logits_undo_probabilities():
    P = np.array([[0.7, 0.2, 0.1]])
    np.testing.assert_allclose(combine.probabilities(combine.logits(P, False), False), P)
    np.testing.assert_allclose(combine.probabilities(combine.logits(P, True), True), P)


# -- rows and walks ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph():
    generator = np.random.default_rng(0)
    block = sbm((30, 30), 0.2, 0.03, seed=0)
    X = sp.csr_array(generator.poisson(0.4, (60, 25)).astype(float))
    weights = sp.csr_array(block.adjacency)
    return as_graph(weights, attributes=X)


@pytest.mark.parametrize(("steps", "damping"), [(0, 0.0), (2, 1.0), (10, 0.7)])
def test_rows_are_singular_vectors_of_the_dense_recursion(graph, steps, damping):
    S = graph.adjacency.toarray()
    degree, count = S.sum(axis=1), (S > 0).sum(axis=1)
    C = np.where(count > 0, degree / np.maximum(count, 1), 1.0)
    A, D = S + np.diag(C), degree + C
    T = A / np.sqrt(np.outer(D, D))
    X = features(graph, "attributes").toarray()
    Z = X
    for _ in range(steps):
        Z = damping * T @ Z + (1 - damping) * X
    U, values, _ = np.linalg.svd(Z, full_matrices=False)
    found = smoothed_rows(graph, features(graph, "attributes"), RowSettings("attributes", steps, damping), 5)
    np.testing.assert_allclose(found.values, values[:5], rtol=1e-3)
    np.testing.assert_allclose(abs(np.sum(found.left[:, :2] * U[:, :2], axis=0)), 1, atol=1e-3)


def test_features_are_scikit_learns_tf_idf_of_damped_counts(graph):
    from sklearn.feature_extraction.text import TfidfTransformer

    damped = graph.attributes.copy()
    damped.data = np.log1p(damped.data)
    expected = TfidfTransformer().fit_transform(damped).toarray()
    np.testing.assert_allclose(features(graph, "attributes").toarray(), expected, atol=1e-12)


def test_links_are_words_that_a_node_shares_with_its_neighbours(graph):
    pattern = features(graph, "links").toarray() > 0
    np.testing.assert_array_equal(pattern, graph.adjacency.toarray() + np.eye(60) > 0)


def test_walks_are_the_truncated_series_of_personalised_pagerank(graph):
    labelled, Y = np.array([0, 1, 58]), np.eye(2)[[0, 0, 1]]
    S = graph.adjacency.toarray()
    degree = np.maximum(S.sum(axis=1), 1e-300)
    P, start = S / degree[:, None], np.zeros((60, 2))
    start[labelled] = Y / 3
    F = start
    for _ in range(20):
        F = 0.9 * P.T @ F + 0.1 * start
    expected = F / degree[:, None]
    found = np.exp(RandomWalk().fit(Workspace(graph), Seen(labelled, Y)).logits(slice(None)))
    smallest = 1e-2 * expected[expected > 0].mean() * Y.mean(axis=0)
    np.testing.assert_allclose(found, expected + smallest, rtol=1e-9)


def test_a_pool_of_regressions_is_the_sum_of_theirs(graph):
    labelled, Y = np.array([0, 3, 7, 30, 45, 51]), np.eye(2)[[0, 0, 0, 1, 1, 1]]
    settings, workspace = RowSettings("attributes", 10, 0.9), Workspace(graph)
    fitted = SmoothedRidge("", settings).fit(workspace, Seen(labelled, Y))
    expected = sum(
        share * scale.of(one.answer(workspace.rows(settings).take(rank)))
        for share, (rank, one, scale) in zip(fitted.found.shares, fitted.found.fits, strict=True)
    )
    np.testing.assert_allclose(fitted.logits(slice(None)), expected, atol=1e-9)
    np.testing.assert_allclose(fitted.logits(np.array([5, 2])), expected[[5, 2]], atol=1e-9)
    assert fitted.logits(np.array([], dtype=int)).shape == (0, 2)


def test_the_weights_of_labels_rebuild_the_heaviest_members_answer(graph):
    labelled, Y = np.array([0, 3, 30, 45]), np.eye(2)[[0, 0, 1, 1]]
    settings, workspace = RowSettings("attributes", 10, 0.9), Workspace(graph)
    fitted = SmoothedRidge("", settings).fit(workspace, Seen(labelled, Y))
    rank, member, _ = fitted.found.fits[int(fitted.found.shares.argmax())]
    rows = workspace.rows(settings).take(rank)
    expected = member.answer(rows)
    weights = fitted.smoother(np.arange(60))
    np.testing.assert_allclose(weights @ (Y - Y.mean(axis=0)) + Y.mean(axis=0), expected, atol=1e-9)
    np.testing.assert_allclose(fitted.smoother(7), weights[7])


def test_rows_have_length_one_or_zero_and_lonely_classes_are_not_judged():
    np.testing.assert_allclose(np.linalg.norm(unit_rows(np.array([[3.0, 4], [0, 0]])), axis=1), [1, 0])
    assert judgeable(np.eye(3)[[0, 0, 1, 2, 2]]).tolist() == [True, True, False, True, True]


# -- stacking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("multilabel", [False, True])
def test_stacked_weights_are_where_the_posterior_is_flat(multilabel):
    """No step from them, up or down and inside what is allowed, is likelier."""
    generator = np.random.default_rng(0)
    Y = np.eye(3)[np.arange(60) % 3]
    tables = [a * Y + generator.standard_normal(Y.shape) for a in (2.0, 0.5, 0.0, -1.0)]
    prior = np.full(4, 0.25)

    def surprise(w):
        L = combine.pooled(tables, w)
        return 60 * combine.loss(L, Y, multilabel) + np.sum((w - prior) ** 2) / (2 * combine.DEVIATION**2)

    w = combine.stacked(tables, Y, prior, multilabel)
    assert w.min() >= 0 and w[0] == w.max() and w[3] == 0
    for j in range(4):
        for step in (1e-3, -1e-3):
            other = w + step * np.eye(4)[j]
            if other.min() >= 0:
                assert surprise(other) > surprise(w) - 1e-6


def test_few_labels_leave_the_weights_where_they_start():
    tables = [np.eye(2)[[0, 1]], np.eye(2)[[1, 0]]]
    few = combine.stacked(tables, np.eye(2), np.array([0.5, 0.5]), False)
    many = combine.stacked([np.tile(T, (50, 1)) for T in tables], np.tile(np.eye(2), (50, 1)), few, False)
    assert abs(few - 0.5).max() < 0.05 and many[0] > 1 > 0.1 > many[1]


def test_labels_that_are_half_trusted_count_for_half_as_many():
    generator = np.random.default_rng(1)
    Y = np.eye(3)[np.arange(30) % 3]
    tables = [a * Y + generator.standard_normal(Y.shape) for a in (1.0, 0.5)]
    prior = np.full(2, 0.5)
    once = combine.stacked(tables, Y, prior, False)
    twice = [np.tile(T, (2, 1)) for T in tables]
    half = combine.stacked(twice, np.tile(Y, (2, 1)), prior, False, trust=0.5)
    np.testing.assert_allclose(half, once, atol=1e-4)
    np.testing.assert_allclose(combine.stacked(tables, Y, prior, False, trust=0.0), prior)


# -- kernels ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described():
    graph = sbm([30, 30, 30], 0.2, 0.05, seed=2)
    X = np.random.default_rng(0).poisson(0.4, (90, 12)) + 2 * np.eye(3)[graph.codes][:, [0, 1, 2] * 4]
    return Workspace(replace(graph, attributes=sp.csr_array(X.astype(float))))


def channels(workspace, hops):
    """The channels written out, their lengths exact."""
    graph = workspace.graph
    X, step = features(graph, "attributes").toarray(), graph.adjacency.toarray()
    step = step / np.maximum(step.sum(axis=1, keepdims=True), 1)
    return [unit_rows(np.linalg.matrix_power(step, hop) @ X) for hop in range(hops + 1)]


@pytest.mark.parametrize(("small", "off"), [(5e6, 1e-12), (0, 0.6)])  # lengths exact, or sketched
def test_the_channels_are_the_means_of_the_neighbours(described, monkeypatch, small, off):
    monkeypatch.setattr(kernel_ridge, "SMALL", small)
    kernel = ChannelKernel(described, "attributes", 2)
    nodes, others = np.array([3, 50, 7]), np.arange(0, 90, 9)
    found = kernel.between(nodes, others)
    exact = sum(Z[nodes] @ Z[others].T for Z in channels(described, 2))
    np.testing.assert_allclose(found, exact, rtol=off)
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.85
    B = np.random.default_rng(1).standard_normal((others.size, 4))
    np.testing.assert_allclose(kernel.times(nodes, others, B), found @ B, atol=1e-10)
    np.testing.assert_allclose(kernel.times(slice(None), others, B)[nodes], found @ B, atol=1e-10)


@pytest.mark.parametrize("landmarks", [1000, 12])
def test_kernel_ridge_is_that_of_scikit_learn_on_its_landmarks(described, landmarks, monkeypatch):
    """All labelled nodes as landmarks: kernel ridge. Fewer: the ridge on the rows of Nystroem."""
    monkeypatch.setattr(kernel_ridge, "LANDMARKS", landmarks)
    labelled = np.arange(0, 90, 4)
    Y = np.eye(3)[described.graph.codes[labelled]]
    fitted = ChannelRidge("", "attributes", 2).fit(described, Seen(labelled, Y))
    answer = (fitted.logits(slice(None)) - fitted.scale.shift) / fitted.scale.steepness
    kernel, B = fitted.kernel, fitted.landmarks
    assert B.size == min(landmarks, labelled.size) and set(B) <= set(labelled)
    values, vectors = np.linalg.eigh(kernel.between(B, B))
    rows = kernel.between(np.arange(90), B) @ vectors / np.sqrt(values)
    z = rows[labelled]
    strength = fitted.fitted.strength * np.mean(np.sum(z**2, axis=1))
    expected = Ridge(alpha=strength, fit_intercept=False).fit(z, Y - Y.mean(axis=0)).predict(rows)
    np.testing.assert_allclose(answer, expected + Y.mean(axis=0), atol=1e-5)
    weights = fitted.smoother(np.array([1, 2]))
    np.testing.assert_allclose(weights @ (Y - Y.mean(axis=0)), expected[[1, 2]], atol=1e-5)


def test_the_gaussian_kernel_is_scikit_learns(described):
    points = described.standardised
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((points**2).sum(axis=1).mean(), 1)
    for size in (1e-200, 1e200):
        other = Workspace(replace(described.graph, attributes=size * described.graph.attributes))
        np.testing.assert_allclose(other.standardised, points, atol=1e-12)
    kernel = GaussianKernel(points, 0.7)
    nodes, others = np.array([0, 5]), np.array([9, 5, 88])
    np.testing.assert_allclose(
        kernel.between(nodes, others), rbf_kernel(points[nodes], points[others], gamma=1 / 0.7)
    )
    B = np.eye(3)
    np.testing.assert_allclose(kernel.times(slice(None), others, B)[nodes], kernel.between(nodes, others))


def test_nodes_without_edges_or_attributes_have_logits_too():
    graph = as_graph(sp.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)))
    X = np.zeros((6, 3))
    X[:3, :2] = [[1, 0], [1, 1], [0, 1]]
    workspace = Workspace(replace(graph, attributes=sp.csr_array(X)))
    for name in ("channels", "link_channels"):
        assert MEMBERS[name].suits(workspace, False)
        fitted = MEMBERS[name].fit(workspace, Seen(np.array([0, 2, 4]), np.eye(2)[[0, 1, 1]]))
        assert np.isfinite(fitted.logits(slice(None))).all()
