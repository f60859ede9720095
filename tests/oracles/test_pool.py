"""The pool and the model against brute force: an explicit inverse after adding each node."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from querist.asking.model import TEMPERATURE, QuickModel
from querist.asking.strategies import STRATEGIES, margin_uncertainty
from querist.collective.logistic import softmax
from querist.embedding import Embedding
from querist.labelling import suggest
from querist.labelling.heads import unit_rows

SEEDS = st.integers(0, 10_000)


def world(seed, n=9, d=4, K=3, answers=4, gamma=0.7):
    """Rows, answers, and a model that has learned them."""
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((n, d))
    asked = rng.permutation(n)[:answers].tolist()
    codes = rng.integers(0, K, answers).tolist()
    model = QuickModel.start(Embedding(raw, np.zeros(n, dtype=np.int64), kind="given"), K, (gamma, gamma))
    for row, code in zip(asked, codes, strict=True):
        model = model.learn(row, code)
    return unit_rows(raw), asked, codes, model, gamma


def covariance(M, asked, gamma):
    """(n, n) of the scores: the inverse written out, from the rows that were asked about."""
    A = gamma * np.eye(M.shape[1]) + sum((np.outer(M[i], M[i]) for i in asked), np.zeros((M.shape[1],) * 2))
    return M @ np.linalg.inv(A) @ M.T


@given(SEEDS)
def test_the_model_is_ridge_regression_on_one_hot_answers(seed):
    M, asked, codes, model, gamma = world(seed)
    A = gamma * np.eye(M.shape[1]) + M[asked].T @ M[asked]
    np.testing.assert_allclose(
        model.scores, M @ np.linalg.solve(A, M[asked].T @ np.eye(3)[codes]), atol=1e-10
    )
    (regression,) = model.regressions
    np.testing.assert_allclose(regression.P, np.linalg.inv(A), atol=1e-10)
    np.testing.assert_allclose(model.variance, np.diag(covariance(M, asked, gamma)), atol=1e-10)
    e = np.exp(model.scores / 0.1)
    np.testing.assert_allclose(model.probabilities, e / e.sum(axis=1, keepdims=True), atol=1e-10)


@given(SEEDS)
def test_ambiguous_correlation_is_the_squared_correlation_of_answers_weighed_by_both_ambiguities(seed):
    """An answer is a score plus noise of variance 1: its covariance is that of the scores plus I."""
    M, asked, _, model, gamma = world(seed)
    top = np.sort(model.probabilities, axis=1)
    a = 1 - (top[:, -1] - top[:, -2])
    C = covariance(M, asked, gamma)
    sizes = 1 + np.diag(C)
    expected = a * ((C / np.sqrt(np.outer(sizes, sizes))) ** 2 @ a)
    found = suggest.ambiguous_correlation(
        M, model.choosing.P, model.choosing.r, suggest.ambiguity(model.probabilities)
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(SEEDS)
def test_margin_uncertainty_is_minus_theta_of_the_papers_learner(seed):
    """Theta from the decision that the papers' own learner makes in the same state."""
    from querist import ALGORITHMS

    rng = np.random.default_rng(seed)
    raw = unit_rows(rng.standard_normal((8, 3)))
    order, codes = rng.permutation(8), rng.integers(0, 4, 8)
    learner = ALGORITHMS["cmog"](raw, 4, update="always", target="one-hot", gamma=1.0)
    learner.run(order[:5], codes)
    model = QuickModel.start(Embedding(raw, np.zeros(8, dtype=np.int64), kind="given"), 4, (1.0, 1.0))
    for row in order[:5]:
        model = model.learn(int(row), int(codes[row]))
    values = margin_uncertainty(model.scores, model.variance)
    for row in range(8):
        decision = learner.decide(row)
        theta = decision.margin**2 / 2 + 2 * decision.margin - 4 * decision.variance / (1 + decision.variance)
        assert values[row] == pytest.approx(-theta, abs=1e-9)


@given(SEEDS, st.integers(1, 3))
def test_the_expected_gain_is_that_of_every_answer_tried(seed, most):
    M, asked, codes, model, gamma = world(seed)
    row = next(i for i in range(len(M)) if i not in asked)
    share = 3 / (3 + len(asked))
    chance = (1 - share) * model.probabilities[row] + share / 3
    tried = np.argsort(-chance, kind="stable")[:most].tolist()
    expected = 0.0
    for k in tried:
        rows, answers = [*asked, row], [*codes, k]
        A = gamma * np.eye(M.shape[1]) + M[rows].T @ M[rows]
        p = softmax(M @ np.linalg.solve(A, M[rows].T @ np.eye(3)[answers]) / TEMPERATURE)
        better = np.mean([p[u].max() - p[u, model.scores[u].argmax()] for u in range(len(M))])
        expected += chance[k] * better / chance[tried].sum()
    assert model.expected_gain(row, most) == pytest.approx(expected, abs=1e-9)
    assert model.expected_gain(row, most) >= 0


def test_the_scores_are_the_mean_over_leading_columns_and_constants_stay():
    """Of 40 columns, two of them constant and in the middle as in a spectral embedding."""
    rng = np.random.default_rng(0)
    raw, asked, codes = rng.standard_normal((30, 40)), [3, 7, 20], [0, 2, 1]
    place = Embedding(raw, np.zeros(30, dtype=np.int64), kind="given", layout=(20, 2, 18))
    model, expected, variance = QuickModel.start(place, 3, (0.5, 2.0)), [], []
    for row, code in zip(asked, codes, strict=True):
        model = model.learn(row, code)
    for rank in (16, 32, 40):
        M = unit_rows(np.hstack([np.delete(raw, [20, 21], axis=1)[:, : rank - 1], raw[:, [20, 21]]]))
        A = 0.5 * np.eye(M.shape[1]) + M[asked].T @ M[asked]
        expected.append(M @ np.linalg.solve(A, M[asked].T @ np.eye(3)[codes]))
        variance.append(np.diag(M @ np.linalg.inv(A) @ M.T))
    np.testing.assert_allclose(model.scores, np.mean(expected, axis=0), atol=1e-10)
    np.testing.assert_allclose(model.variance, np.mean(variance, axis=0), atol=1e-10)


def test_the_rules_by_name_look_at_the_state_that_chooses_and_the_margin_at_the_scores():
    raw = np.random.default_rng(3).standard_normal((9, 4))
    place = Embedding(raw, np.zeros(9, dtype=np.int64), kind="given")
    model = QuickModel.start(place, 3, (0.5, 2.0)).learn(2, 1).learn(5, 0)
    M = unit_rows(raw)
    a, C = suggest.ambiguity(model.beliefs), covariance(M, [2, 5], 2.0)
    sizes = 1 + np.diag(C)
    expected = a * ((C**2 / np.outer(sizes, sizes)) @ a)
    np.testing.assert_allclose(STRATEGIES["ambiguity"](model), expected, atol=1e-9)
    gaps = [[sum((x - y) ** 2) for y in M] for x in M]
    covered = [min(2.0, gap[2], gap[5]) for gap in gaps]
    coverage = [
        sum(np.sqrt(a[u]) * max(0.0, covered[u] - gaps[i][u]) for u in range(len(M))) for i in range(len(M))
    ]
    np.testing.assert_allclose(STRATEGIES["coverage"](model), coverage, atol=1e-9)
    r = np.diag(covariance(M, [2, 5], 0.5))
    np.testing.assert_allclose(STRATEGIES["margin"](model), margin_uncertainty(model.scores, r), atol=1e-9)


@given(SEEDS)
def test_contrast_is_ambiguity_on_rows_less_their_mean_and_rows_of_zeros_stay(seed):
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((9, 4)) + 5.0
    raw[8] = 0.0
    M = np.vstack([raw[:8] - raw[:8].mean(axis=0), np.zeros((1, 4))])
    M[:8] /= np.linalg.norm(M[:8], axis=1, keepdims=True)
    place = Embedding(raw, np.zeros(9, dtype=np.int64), kind="given")
    model = QuickModel.start(place, 3, (0.5, 2.0), centred=True).learn(2, 1).learn(5, 0)
    A = 0.5 * np.eye(4) + M[[2, 5]].T @ M[[2, 5]]
    p = softmax(M @ np.linalg.solve(A, M[[2, 5]].T @ np.eye(3)[[1, 0]]) / TEMPERATURE)
    top = np.sort(0.4 * p + 0.6 / 3, axis=1)  # K / (K + answers) = 3 / 5
    a = 1 - (top[:, -1] - top[:, -2])
    C = covariance(M, [2, 5], 2.0)
    sizes = 1 + np.diag(C)
    expected = a * ((C**2 / np.outer(sizes, sizes)) @ a)
    assert STRATEGIES["contrast"].centred
    np.testing.assert_allclose(STRATEGIES["contrast"](model)[:8], expected[:8], atol=1e-9)
    assert not model.rows[8].any()


def test_centring_leaves_constant_columns_and_rows_that_are_all_alike_as_they_are():
    alike = Embedding(np.tile([3.0, 1 / 3, 0.1], (5, 1)), np.zeros(5, dtype=np.int64), kind="given")
    assert suggest.centred_rows(alike) is alike
    constant = Embedding(
        np.array([[1.0, 0.5], [-1.0, 0.5]]), np.zeros(2, dtype=np.int64), kind="given", layout=(1, 1, 0)
    )
    assert suggest.centred_rows(constant) is constant


def test_a_component_of_which_nothing_is_known_leaves_nothing_sure_in_it_and_others_as_they_are():
    rows = np.random.default_rng(5).standard_normal((6, 3))
    place = Embedding(rows, np.array([0, 0, 0, 1, 1, 1]), kind="given")
    model = QuickModel.start(place, 2, (0.5, 2.0)).learn(0, 1).learn(1, 1)
    p, half = model.probabilities, np.full((3, 2), 0.5)
    np.testing.assert_allclose(model.beliefs[:3], (p[:3] + half) / 2)  # K / (K + answers) = 2 / 4
    np.testing.assert_array_equal(model.beliefs[3:], half)


def test_components_that_share_a_column_tell_nothing_of_each_other_and_weigh_by_their_size():
    """One component with a column of its own, and two, of three nodes and of one, that share the next."""
    rows = np.array([[0.3, 1.0, 0.0], [0.1, 1.0, 0.0], [-0.4, 1.0, 0.0], *([[0.0, 0.0, 1.0]] * 4)])
    place = Embedding(rows, np.array([0, 0, 0, 1, 1, 1, 2]), kind="given", layout=(1, 2, 0))
    model = QuickModel.start(place, 2, (0.5, 1.0))
    assert not model.rows[3:].any()
    np.testing.assert_allclose(
        STRATEGIES["ambiguity"](model)[3:], [0.75, 0.75, 0.75, 0.25]
    )  # size / (1 + gamma)^2
    later = model.learn(4, 1)
    np.testing.assert_allclose(STRATEGIES["ambiguity"](later)[3:], [0.0, 0.0, 0.0, 0.25])
    assert not later.reached[6]


def test_the_best_is_the_lowest_of_equals_and_never_a_node_that_is_not_free():
    values = np.array([0.3, 2.0, 2.0 * (1 + 1e-13), -1.0])
    assert suggest.best(values, np.array([True, True, True, True])) == 1
    assert suggest.best(values, np.array([True, False, True, True])) == 2
    assert suggest.best(-values, np.array([True, False, False, False])) == 0
    assert suggest.best(values, np.zeros(4, dtype=bool)) is None


def test_twins_are_one_value_whatever_the_rounding():
    """Two nodes with the same row: asking about one is worth as much as about the other."""
    M, _, _, model, _ = world(1)
    twins = unit_rows(np.vstack([M, M[3], M[3] * (1 + 1e-14)]))
    place = Embedding(twins, np.zeros(len(twins), dtype=np.int64), kind="given")
    model = QuickModel.start(place, 3, (0.7, 1.4)).learn(0, 1)
    for rule in STRATEGIES.values():
        values = rule(model)
        only = np.isin(np.arange(len(twins)), [3, len(M), len(M) + 1])
        assert suggest.best(values, only) == 3
