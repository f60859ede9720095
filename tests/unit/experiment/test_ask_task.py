"""The task `ask`: accuracy after every answer, beside random asking from the same start."""

from dataclasses import replace

import numpy as np
import pytest

import querist
from querist import InputError, datasets
from querist.experiment import Result, Specification
from querist.experiment.comparison import Comparison
from querist.experiment.runner import check, run_here
from querist.experiment.tasks.online import learner_seed, shuffled


def found(graph, strategy="ambiguity", repeats=2, budget=6, **protocol) -> Result:
    parameters = {"strategy": strategy, "budget": budget}
    spec = Specification("ask", "graph", "walks", parameters, protocol=protocol, repeats=repeats)
    return run_here(spec, graph)[0]


@pytest.fixture(scope="module")
def karate():
    return datasets.load_graph("karate")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ambiguity", "margin", "random"])
def test_a_campaign_is_that_of_ask_itself(karate, strategy):
    result = found(karate, strategy, marks=[3, 6])
    for repeat in range(2):
        first = int(shuffled(karate.codes, 0, repeat)[0])
        own = querist.ask(
            karate, karate.labels, budget=6, labels={first: karate.labels[first]}, strategy=strategy,
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
    some = replace(karate, known=karate.known.only(np.arange(34) % 3 != 0))
    result = found(some, budget=20, start=0)
    assert (result.values("answers") == 20).all()


def test_several_labels_per_node_are_refused_without_speaking_of_other_methods(karate):
    both = replace(karate, known=karate.known.as_sets())
    with pytest.raises(InputError, match=r"several labels per node; give a graph with one label per node$"):
        found(both, budget=5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"parameters": {"strategy": "ambigity"}}, "did you mean 'ambiguity'"),
        ({"parameters": {"h": 1}}, "unknown parameter 'h'"),
        ({"parameters": {"bugdet": 3}}, "did you mean 'budget'"),
        ({"parameters": {"budget": 0}}, "1 or more"),
        ({"parameters": {"budget": 35}}, "give 1 to 34"),
        ({"parameters": {"budget": 20}, "grid": {"budget": [10, 40]}}, "leave it in one"),
        ({"parameters": {"stop": 2.0}}, "at most 1"),
        ({"parameters": {"audit": 5}}, "unknown parameter 'audit'"),
        ({"protocol": {"start": 34}}, "give 0 to 33"),
        ({"protocol": {"marks": [5, 200]}}, "rising numbers of answers"),
        ({"method": "walk"}, "did you mean 'walks'"),
        ({"representation": {"componnent": "largest"}}, "did you mean 'component'"),
    ],
)
def test_what_is_refused(given, words):
    given = {"parameters": {"budget": 10}, "dataset": "karate", "method": "walks", **given}
    with pytest.raises(InputError, match=words):
        check(Specification("ask", **given))


def test_a_campaign_that_stops_early_has_curves_of_full_length(karate):
    spec = Specification("ask", "karate", "walks", {"budget": 30, "stop": 0.9}, repeats=2)
    result = run_here(spec, karate)[0]
    assert (result.values("answers") < 30).all()
    assert result.curve("accuracy").shape == (2, 30)
    assert (result.values("control_answers") == result.values("answers")).all()


def test_a_file_names_strategies(tmp_path):
    file = tmp_path / "whom.toml"
    file.write_text(
        'task = "ask"\ndataset = "karate"\nmethod = "walks"\nstrategy = ["margin", "contrast"]\n'
        "parameters.budget = 5\n"
    )
    read = Comparison.read(file)
    assert read.names == ["margin", "contrast"]
    assert [spec.parameters["strategy"] for spec in read.specifications] == ["margin", "contrast"]
    file.write_text('task = "ask"\ndataset = "karate"\nparameters.budget = 5\nstrategy = "margn"\n')
    with pytest.raises(InputError, match=r"line 4: unknown query strategy 'margn'; did you mean 'margin'"):
        Comparison.read(file)
    file.write_text('task = "label"\ndataset = "karate"\nmethod = "walks"\nstrategy = "margin"\n')
    with pytest.raises(InputError, match="line 4: label has no strategy"):
        Comparison.read(file)
