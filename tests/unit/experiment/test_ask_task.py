"""The task `ask`: accuracy after every answer, beside random asking from the same start."""

from dataclasses import replace

import numpy as np
import pytest

import querist
from querist import InputError, datasets
from querist.experiment import Result, Specification
from querist.experiment.runner import check, run_here
from querist.experiment.tasks.online import learner_seed, shuffled


def found(graph, method="ambiguity", repeats=2, **protocol) -> Result:
    protocol = {"budget": 6, "final": "walks", **protocol}
    return run_here(Specification("ask", "graph", method, protocol=protocol, repeats=repeats), graph)[0]


@pytest.fixture(scope="module")
def karate():
    return datasets.load("karate")


@pytest.mark.parametrize("method", ["ambiguity", "margin", "msg", "random"])
def test_a_campaign_is_that_of_ask_itself(karate, method):
    result = found(karate, method, marks=[3, 6])
    for repeat in range(2):
        first = int(shuffled(karate.codes, 0, repeat)[0])
        own = querist.ask(
            karate, karate.labels, budget=6, labels={first: karate.labels[first]}, choose=method,
            method="walks", seed=learner_seed(0, repeat),
        )  # fmt: skip
        rest = np.ones(34, dtype=bool)
        rest[[first, *own.answers]] = False
        right = np.array([a == b for a, b in zip(own.labels, karate.labels, strict=True)])
        assert result.values("final_accuracy")[repeat] == right[rest].mean()
        quick = own.state.model.scores.argmax(axis=1) == karate.codes
        assert result.values("accuracy")[repeat] == quick[rest].mean()
        assert result.values("whole_accuracy")[repeat] == (quick | ~rest).mean()


def test_curves_have_a_point_an_answer_and_the_control_asks_as_often(karate):
    result = found(karate, marks=[2, 6], repeats=3)
    assert result.curve("answer")[0].tolist() == [1, 2, 3, 4, 5, 6]
    for prefix in ("", "control_"):
        assert (result.curve(prefix + "accuracy")[:, -1] == result.values(prefix + "accuracy")).all()
        assert result.curve(prefix + "final_accuracy").shape == (3, 2)
        assert (result.values(prefix + "answers") == 6).all()
    assert result.mean("mean_accuracy") == pytest.approx(result.curve("accuracy").mean())
    assert (result.curve("accuracy") != result.curve("control_accuracy")).any()
    assert len({tuple(line) for line in result.curve("accuracy")}) > 1, "every repeat starts elsewhere"


def test_random_asking_is_its_own_control(karate):
    result = found(karate, "random")
    assert (result.curve("accuracy") == result.curve("control_accuracy")).all()


def test_nodes_without_a_label_are_skipped(karate):
    some = replace(karate, codes=np.where(np.arange(34) % 3 == 0, -1, karate.codes))
    result = found(some, budget=20, start=0)
    assert (result.values("answers") == 20).all()


def test_a_stream_that_asks_less_is_compared_at_as_many_answers(karate):
    result = found(karate, "msg", budget=33)
    assert (result.values("answers") < 33).all()
    assert (result.values("answers") == result.values("control_answers")).all()
    assert result.curve("accuracy").shape == (2, 33)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "ambigity"}, "did you mean 'ambiguity'"),
        ({"parameters": {"h": 1}}, "unknown parameter 'h'"),
        ({"protocol": {"bugdet": 3}}, "did you mean 'budget'"),
        ({"protocol": {"budget": 0}}, "give 1 to 34"),
        ({"protocol": {"start": 34}}, "give 0 to 33"),
        ({"protocol": {"marks": [5, 200]}}, "rising numbers of answers"),
        ({"protocol": {"final": "walk"}}, "did you mean 'walks'"),
        ({"representation": {"componnent": "largest"}}, "did you mean 'component'"),
    ],
)
def test_what_is_refused(given, words):
    protocol = {"budget": 10, **given.pop("protocol", {})}
    with pytest.raises(InputError, match=words):
        check(Specification("ask", protocol=protocol, **{"dataset": "karate", "method": "pool", **given}))
