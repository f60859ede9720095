import numpy as np
import pytest
import sklearn.metrics as peer
from hypothesis import given, strategies as st

from querist import InputError, metrics


@st.composite
def answers(draw, ties=False):
    n, K = draw(st.integers(1, 8)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.integers(0, 2, (n, K))
    truth[np.arange(n), rng.integers(0, K, n)] = 1
    scores = (
        rng.integers(0, 4, (n, K)) / 4 if ties else rng.permuted(np.tile(np.arange(K) / K, (n, 1)), axis=1)
    )
    return truth, rng.integers(0, 2, (n, K)), scores


@pytest.mark.slow
@given(answers(ties=True))
def test_scikit_learn_agrees_where_it_has_the_measure(given_answers):
    truth, predicted, scores = given_answers
    found = metrics.measure(truth, predicted, scores, ties="max")
    assert found["hamming_loss"] == pytest.approx(peer.hamming_loss(truth, predicted))
    assert found["coverage"] == pytest.approx(peer.coverage_error(truth, scores) - 1)
    for average in ("macro", "micro"):
        f1 = peer.f1_score(truth, predicted, average=average, zero_division=0)
        assert found[f"{average}_f1"] == pytest.approx(f1)
    some = truth.sum(axis=1) < truth.shape[1]  # scikit-learn counts a node with all classes as 1
    if some.any():
        theirs = peer.label_ranking_average_precision_score(truth[some], scores[some])
        own = metrics.measure(truth[some], predicted[some], scores[some], "max")["average_precision"]
        assert own == pytest.approx(theirs)


@given(answers())
def test_without_ties_the_rules_agree_and_ranks_are_those_of_a_sort(given_answers):
    truth, predicted, scores = given_answers
    one, other = (metrics.measure(truth, predicted, scores, ties) for ties in ("ordinal", "max"))
    assert one == pytest.approx(other)
    best = [truth[i, max(range(scores.shape[1]), key=lambda k: scores[i, k])] for i in range(len(truth))]
    assert one["one_error"] == pytest.approx(1 - np.mean(best))


@given(answers(ties=True))
def test_ties_go_by_class_code(given_answers):
    truth, predicted, scores = given_answers
    nudged = scores - np.arange(scores.shape[1]) * 1e-6
    assert metrics.measure(truth, predicted, scores) == pytest.approx(
        metrics.measure(truth, predicted, nudged)
    )


def test_accuracy_counts_unreached_nodes_as_wrong():
    found = metrics.measure([[1, 0], [0, 1]], [[1, 0], [0, 0]], [[1, 0], [0.5, 0.5]])
    assert found["accuracy"] == 0.5
    assert "accuracy" not in metrics.measure([[1, 1]], [[1, 1]], [[0.5, 0.5]])


def test_nodes_without_a_class_have_no_ranking():
    found = metrics.measure([[1, 0], [0, 0]], [[0, 0], [0, 0]], [[0.1, 0.9], [0.3, 0.7]])
    assert (found["one_error"], found["coverage"], found["average_precision"]) == (1.0, 1.0, 0.5)
    assert (found["macro_f1"], found["micro_f1"]) == (0.0, 0.0)
    assert metrics.measure([[0, 1]], [[0, 1]], [[0, 1]])["macro_f1"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, 0]], [[1, 0, 0]], [[1, 0]]), "all must be"),
        (([[2, 0]], [[1, 0]], [[1, 0]]), "other values than 0 and 1"),
        (([[1, 0]], [[1, 0]], [[np.nan, 0]]), "NaN"),
        (([[0, 0]], [[1, 0]], [[1, 0]]), "no node has a class"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(InputError, match=words):
        metrics.measure(*arguments)
    with pytest.raises(InputError, match="ties"):
        metrics.measure([[1, 0]], [[1, 0]], [[1, 0]], ties="mean")
