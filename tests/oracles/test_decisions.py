"""Calibration by class, decisions by a goal and the measures of a class, against plain definitions."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import t as student

from querist.errors import InputError
from querist.labelling.decisions import calibrate, estimate
from querist.labelling.decisions.calibrate import calibration_error, cross_fitted, fitted
from querist.labelling.decisions.goals import GoalDecision, cost_table, decide, expected_f1
from querist.labelling.options import LabelOptions


def rows(n: int, K: int, seed: int = 0, spread: float = 0.6) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, spread), n)


def drawn_from(P: np.ndarray, seed: int = 1) -> np.ndarray:
    """0/1 labels drawn from the rows."""
    u = np.random.default_rng(seed).random(len(P))
    return np.eye(P.shape[1])[(u[:, None] > P.cumsum(axis=1)[:, :-1]).sum(axis=1)]


# -- calibration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_calibration_has_the_largest_posterior(multilabel):
    P, K = rows(60, 3), 3
    Y = drawn_from(P**2 / (P**2).sum(axis=1, keepdims=True))

    def minus_log_posterior(both):
        a, b = np.exp(both[:K]), both[K:]
        if not multilabel:
            powers = (P / P.mean(axis=0)) ** a * P.mean(axis=0) * np.exp(b)
            likelihood = (powers[Y > 0] / powers.sum(axis=1)).prod()
        else:
            centre = logit(P.mean(axis=0))
            Q = expit(a * (logit(P) - centre) + centre + b)
            likelihood = np.where(Y > 0, Q, 1 - Q).prod()
        prior = [
            student.pdf(both[:K], calibrate.TAIL, scale=calibrate.SLOPE),
            student.pdf(b, calibrate.TAIL, scale=calibrate.SHIFT),
        ]
        return -np.log(likelihood) - np.log(prior).sum()

    found = fitted(P, Y, multilabel)
    own = minus_log_posterior(np.concatenate([np.log(found.slope), found.shift]))
    other = minimize(minus_log_posterior, np.zeros(2 * K), method="Powell", options={"xtol": 1e-6}).fun
    assert other - 1e-2 < own < other + 1e-6


def test_many_labels_make_a_rare_class_honest_and_few_do_not_overrule():
    generator = np.random.default_rng(0)
    p = expit(generator.normal(-4, 2, 8000))
    Y = np.eye(2)[(generator.random(8000) < p).astype(int)]
    said = expit(0.5 * logit(p) - 1.5)  # flat, and far too low: what is 97 % sure is said to be 56 %
    P = np.column_stack([1 - said, said])
    high = p > 0.5
    after = fitted(P, Y, False).of(P, False)[:, 1]
    assert calibration_error(said[high], p[high]) > 0.3
    assert abs(after - p)[high].mean() < 0.1
    unlikely = P[np.argsort(np.abs(said - 0.05))[:1]]
    few = fitted(unlikely, np.eye(2)[[1]], False)  # one label that was hardly to be expected
    assert 0.05 < few.of(unlikely, False)[0, 1] < 0.3
    assert (np.diff(few.of(P[np.argsort(said)], False)[:, 1]) >= 0).all(), "the ranking stays"


def test_cross_fitted_rows_do_not_see_their_own_label():
    P, folds = rows(40, 3), np.arange(40) % 4
    Y = drawn_from(P)
    before = cross_fitted(P, Y, folds, False)
    changed = Y.copy()
    changed[folds == 2] = np.roll(changed[folds == 2], 1, axis=1)
    after = cross_fitted(P, changed, folds, False)
    assert (after[folds == 2] == before[folds == 2]).all()
    assert (after[folds != 2] != before[folds != 2]).any()


def test_rows_that_nothing_reaches_stay_empty():
    P = np.vstack([rows(30, 2), np.zeros((1, 2))])
    found = fitted(P[:30], drawn_from(P[:30]), False).of(P, False)
    assert not found[-1].any() and np.allclose(found[:-1].sum(axis=1), 1)


# -- decisions -------------------------------------------------------------------------------------


def calls(n: int, K: int) -> np.ndarray:
    return np.array(list(product(range(K), repeat=n)))


def merit(goal: str, P: np.ndarray, codes: np.ndarray) -> float:
    """What a goal expects of the calls `codes`, from its definition."""
    hit = np.array([P[codes == k, k].sum() for k in range(P.shape[1])])
    if goal == "accuracy":
        return hit.sum() / len(P)
    if goal == "balanced":
        return (hit / P.sum(axis=0)).mean()
    F = 2 * hit / (np.bincount(codes, minlength=P.shape[1]) + P.sum(axis=0))
    return F[P.sum(axis=0).argmin()] if len(F) == 2 else F.mean()


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["accuracy", "balanced", "f1"])
@pytest.mark.parametrize(("n", "K"), [(9, 2), (6, 3)])
def test_a_decision_is_the_best_for_its_goal(goal, n, K):
    behind = []
    for seed in range(12):
        P = rows(n, K, seed)
        own = merit(goal, P, decide(goal, P, False).said(P).argmax(axis=1))
        behind.append(max(merit(goal, P, codes) for codes in calls(n, K)) - own)
    # Of a sum of ratios the prices find a local optimum; a handful of rows has many.
    assert max(behind) < (0.02 if (goal, K) == ("f1", 3) else 1e-12)
    assert np.median(behind) < 1e-12


def test_f1_of_a_rare_class_has_the_best_threshold():
    p = np.sort(expit(np.random.default_rng(0).normal(-4, 2, 5000)))
    P = np.column_stack([1 - p, p])
    found = decide("f1", P, False)
    best = max(merit("f1", P, (p >= t).astype(int)) for t in p[::7])
    assert merit("f1", P, found.said(P).argmax(axis=1)) == pytest.approx(best, abs=1e-3)
    called = p >= found.threshold(1)
    assert (called == found.said(P)[:, 1]).all() and 0.1 < found.threshold(1) < 0.4
    assert found.threshold(0) == pytest.approx(1 - found.threshold(1))


def test_with_several_labels_a_class_has_the_threshold_of_its_goal():
    P = np.random.default_rng(0).random((400, 3)) ** np.array([1, 3, 9])
    F = [max(2 * p[p >= t].sum() / ((p >= t).sum() + p.sum()) for t in p) for p in P.T]
    expected = {"accuracy": [0.5] * 3, "balanced": P.mean(axis=0), "f1": np.array(F) / 2}
    for goal, thresholds in expected.items():
        found = decide(goal, P, True)
        assert [found.threshold(k) for k in range(3)] == pytest.approx(thresholds)
        sets = found.said(P)
        some = (thresholds <= P).any(axis=1)
        assert (sets[some] == (thresholds <= P)[some]).all()
        assert (sets[~some].sum(axis=1) == 1).all()


def test_costs_decide_by_the_least_expected_cost():
    P, classes = rows(200, 3), ("a", "b", "c")
    costs = {("a", "b"): 10, ("c", "a"): 0.5, ("b", "b"): 0.25}
    C = np.array([[0, 10, 1], [1, 0.25, 1], [0.5, 1, 0]])
    found = decide("accuracy", P, False, cost_table(costs, classes, False))
    expected = [min(range(3), key=lambda j: sum(p[k] * C[k, j] for k in range(3))) for p in P]
    assert found.said(P).argmax(axis=1).tolist() == expected
    several = decide("accuracy", P, True, cost_table({("a", None): 4, (None, "b"): 3}, classes, True))
    assert [several.threshold(k) for k in range(3)] == pytest.approx([1 / 5, 3 / 4, 1 / 2])


@pytest.mark.parametrize(
    ("costs", "multilabel", "text"),
    [
        ({("a", "x"): 1}, False, "the class 'x'"),
        ({("a", "b"): -1}, False, "0 or more"),
        ({"a": 1}, False, "pairs"),
        ({("a", "b"): 1}, True, "missed class"),
        ({("a", None): 0, (None, "a"): 0}, True, "both cost 0"),
    ],
)
def test_costs_that_mean_nothing_are_refused(costs, multilabel, text):
    with pytest.raises(InputError, match=text):
        cost_table(costs, ("a", "b"), multilabel)


def test_goals_are_refused_by_name():
    with pytest.raises(InputError, match="accuracy, balanced, f1"):
        LabelOptions(goal="recall")
    with pytest.raises(InputError, match="give one: costs are"):
        LabelOptions(goal="f1", costs={("a", "b"): 1})


def test_accuracy_is_the_likeliest_class_to_the_bit():
    P = rows(300, 4).round(2)  # with ties
    found = decide("accuracy", P, False)
    assert (found.said(P).argmax(axis=1) == P.argmax(axis=1)).all()
    assert found.scores(P) is P


def test_a_class_that_is_never_likely_has_no_harm_in_it():
    P = np.column_stack([rows(50, 2), np.zeros(50)])
    for goal in ("balanced", "f1"):
        found: GoalDecision = decide(goal, P, False)
        assert not found.said(P)[:, 2].any()
        assert np.isfinite(expected_f1(P, found.said(P).argmax(axis=1))[0]).all()


# -- measures --------------------------------------------------------------------------------------


def test_average_precision_is_scikit_learns():
    from sklearn.metrics import average_precision_score

    generator = np.random.default_rng(0)
    for digits in (1, 8):
        truth, scores = generator.integers(0, 2, 80), generator.random(80).round(digits)
        found = estimate.average_precision(truth, scores)
        assert found == pytest.approx(average_precision_score(truth, scores))
    assert estimate.average_precision(np.zeros(4), generator.random(4)) == 0


@pytest.mark.parametrize(("share", "count"), [(0.3, 8), (0.9, 8), (0.6, 60)])
def test_intervals_hold_at_least_as_often_as_they_say(share, count):
    generator = np.random.default_rng(0)
    said = [estimate.share_of(x, count, share) for x in generator.binomial(count, share, 2000)]
    assert 0.95 <= np.mean([one.low <= share <= one.high for one in said]) < 1
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in said)
    certain = estimate.share_of(2, 2, 0.5)
    assert certain.value == 0.75 and certain.high < 1
