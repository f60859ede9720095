"""The task `label`: what its numbers are, by share of labels, beside a direct call."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss

import querist
from querist import InputError, datasets
from querist.experiment import Result, Specification
from querist.experiment.runner import run_here
from querist.experiment.tasks.collective import draw, truth_of
from querist.experiment.tasks.online import learner_seed
from querist.graph import Graph
from querist.labels import Labels


def found(graph, method="walks", repeats=2, **protocol) -> Result:
    return run_here(Specification("label", "graph", method, protocol=protocol, repeats=repeats), graph)[0]


def test_the_numbers_are_those_of_label_itself():
    karate = datasets.load_graph("karate")
    result = found(karate, "walks", labelled=0.2)
    for trial in range(2):
        seeds = draw(karate.known, 0.2, 0, trial)
        given = {int(i): karate.labels[i] for i in np.flatnonzero(seeds)}
        own = querist.label(
            karate, given, method="walks", classes=karate.classes, seed=learner_seed(0, trial)
        )
        P, truth = own.probabilities[~seeds], karate.codes[~seeds]
        assert result.values("accuracy")[trial] == pytest.approx((P.argmax(axis=1) == truth).mean())
        assert result.values("log_loss")[trial] == pytest.approx(log_loss(truth, P, labels=[0, 1]))
        np.testing.assert_equal(result.values("estimate")[trial], own.estimate.accuracy)
        assert result.values("labelled")[trial] == seeds.sum()


def test_shares_make_curves_and_the_last_share_the_numbers():
    karate = datasets.load_graph("karate")
    result = found(karate, labelled=[0.1, 0.3], draw="all")
    assert result.curve("share")[0].tolist() == [0.1, 0.3]
    assert result.curve("labelled").tolist() == [[4, 11], [4, 11]]
    alone = found(karate, labelled=0.3, draw="all")
    for name in ("accuracy", "log_loss", "calibration_error", "labelled"):
        assert (result.curve(name)[:, 1] == result.values(name)).all()
        assert (alone.values(name) == result.values(name)).all()
    assert not alone.outcomes[0].curves


def test_a_node_that_is_not_reached_counts_as_wrong():
    cliques = np.kron(np.eye(3), 1 - np.eye(4))
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, -1, -1, 0, 1])
    graph = Graph(sp.csr_array(cliques), known=Labels(codes, ("a", "b")))
    result = found(graph, "wvrn", repeats=20, labelled=0.1)
    some = result.values("reached") < 1
    assert some.any()
    assert (result.values("accuracy")[some] <= result.values("reached")[some]).all()
    assert np.isfinite(result.values("log_loss")).all()


def test_several_labels_a_node_have_their_own_measures():
    rng = np.random.default_rng(0)
    cliques = np.kron(np.eye(2), 1 - np.eye(6))
    labels = np.kron([[1, 0, 1], [0, 1, 1]], np.ones((6, 1)))
    labels[0] = [1, 1, 0]
    graph = Graph(
        sp.csr_array(cliques), attributes=sp.csr_array(rng.random((12, 3))),
        known=Labels(sp.csr_array(labels), ("a", "b", "c")),
    )  # fmt: skip
    result = found(graph, "wvrn", labelled=0.4)
    assert "accuracy" not in result.measures and "log_loss" not in result.measures
    assert 0 <= result.mean("hamming_loss") < 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "atuo"}, "did you mean 'auto'"),
        ({"method": "walk"}, "did you mean 'walks'"),
        ({"method": "counts"}, "nothing to work on"),
        ({"parameters": {"gamma": 1}}, "unknown parameter 'gamma'"),
        ({"protocol": {"labeled": 0.1}}, "did you mean 'labelled'"),
        ({"protocol": {"labelled": 2}}, "between 0 and 1"),
        ({"protocol": {"labelled": [0.2, 0.1]}}, "rising"),
        ({"dataset": "karatte"}, "did you mean 'karate'"),
    ],
)
def test_what_is_refused(given, words):
    from querist.experiment.runner import check

    with pytest.raises(InputError, match=words):
        check(Specification("label", **{"dataset": "karate", "method": "auto", **given}))


def test_a_graph_without_labels_is_refused_with_what_to_give():
    with pytest.raises(InputError, match=r"use a labelled set, or a table of its nodes .*\(--nodes"):
        truth_of(datasets.load_graph("karate").without_labels())
