"""Draws of the labelled nodes, the command line over them, and classifiers tied to a graph."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from querist import CLASSIFIERS, InputError, OnGraph, as_graph
from querist.cli.compare import WITH_DATA, collective
from querist.collective.relational import WVRN
from querist.datasets import load_graph, sbm
from querist.experiment import Result, Specification
from querist.experiment.runner import run_here
from querist.experiment.tasks.collective import draw
from querist.labels import Labels
from querist.metrics import NAMES
from querist.parameters import parameters_of


def run_trials(graph, labelled=0.05, trials=10, seed=0) -> Result:
    protocol = {"labelled": labelled}
    spec = Specification("collective", "graph", "wvrn", protocol=protocol, repeats=trials, seed=seed)
    return run_here(spec, graph)[0]


@pytest.mark.parametrize("share", [0.01, 0.07, 0.5, 0.99])
def test_a_draw_takes_a_rounded_up_share_of_every_class(share):
    codes = np.repeat([0, 1, 2], [100, 10, 1])
    truth = Labels(codes, ("a", "b", "c"))
    found = draw(truth, share, seed=0, trial=0)
    expected = [int(np.ceil(round(share * n, 9))) for n in (100, 10, 1)]
    assert np.bincount(codes[found], minlength=3).tolist() == expected
    assert (draw(truth, share, 0, 0) == found).all()
    if share == 0.5:
        assert (draw(truth, share, 0, 1) != found).any()
        assert (draw(truth, share, 1, 0) != found).any()
        assert draw(truth, share, 0, 0, by_class=False).sum() == 56  # of all nodes


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(InputError, match="labelled"):
        run_trials(load_graph("karate"), labelled=share)


def test_trials_measure_the_unlabelled_nodes_only():
    graph = sbm((30, 30), 0.3, 0.02, seed=0)
    found = run_trials(graph, labelled=0.1, trials=3, seed=5)
    for trial in range(3):
        seeds = draw(graph.known, 0.1, 5, trial)
        labels = {int(i): graph.classes[graph.codes[i]] for i in np.flatnonzero(seeds)}
        model = WVRN().fit(graph, labels)
        right = (model.probabilities_.argmax(axis=1) == graph.codes)[~seeds].mean()
        assert found.values("accuracy")[trial] == pytest.approx(right)
    assert found.values("labelled").tolist() == [6, 6, 6]


def test_trials_of_karate():
    found = run_trials(load_graph("karate"), labelled=0.1, trials=5)
    assert (round(found.mean("accuracy"), 2), found.values("labelled").tolist()) == (0.8, [4] * 5)


def test_nothing_to_test_and_nothing_to_learn_from():
    with pytest.raises(InputError, match="no labels"):
        run_trials(as_graph([(0, 1)]))
    with pytest.raises(InputError, match="no node is left"):
        run_trials(as_graph([(0, 1)], labels=["a", "b"]), labelled=0.5)
    with pytest.raises(InputError, match="repeats = 0"):
        run_trials(load_graph("karate"), trials=0)


# -- the command line -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    app = typer.Typer()
    app.command()(collective)
    return lambda *words: CliRunner().invoke(app, list(words))


def test_json_has_every_field(run):
    answer = run(
        "karate", "--method", "wvrn", "--labelled", "0.1", "--repeats", "3", "--set", "decay=0.9", "--json"
    )
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert {"method", "dataset", "nodes", "classes", "labelled", "repeats", "parameters"} <= set(found)
    assert (found["method"], found["dataset"], found["nodes"], found["classes"]) == ("wvrn", "karate", 34, 2)
    assert found["parameters"]["decay"] == 0.9
    assert set(found["accuracy"]) == {"mean", "std", "runs"}
    assert set(NAMES) <= set(found)
    assert 0 <= found["accuracy"]["mean"] <= 1
    assert len(found["accuracy"]["runs"]) == len(found["seconds"]["runs"]) == 3
    assert found["reached"]["mean"] == 1.0
    assert found["iterations"]["mean"] > 1
    again = json.loads(
        run(
            "karate",
            "--method",
            "wvrn",
            "--labelled",
            "0.1",
            "--repeats",
            "3",
            "--set",
            "decay=0.9",
            "--json",
        ).stdout
    )
    assert again["accuracy"] == found["accuracy"]


def test_the_table_and_the_refusals(run):
    answer = run("karate", "--method", "harmonic", "--repeats", "2")
    assert answer.exit_code == 0
    assert "accuracy" in answer.stdout and "100.00 ± 0.00" in answer.stdout
    assert "did you mean 'gmnr'" in str(run("karate", "--method", "gmrn").exception)
    assert "unknown parameter 'lamb'" in str(run("karate", "--set", "lamb=3").exception)
    assert "no attributes" in str(run("karate", "--method", "gmnr").exception)
    assert "below 1" in str(run("karate", "--method", "wvrn", "--labelled", "5").exception)


@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_every_parameter_can_be_read_from_text(name):
    for parameter in parameters_of(CLASSIFIERS[name], WITH_DATA).values():
        assert parameter.read(str(parameter.default)) == parameter.default, parameter.name


# -- tied to a graph ----------------------------------------------------------------------------------


def test_on_graph_learns_from_node_ids():
    graph = as_graph([("ann", "bob"), ("bob", "cy"), ("dan", "eve")])
    model = OnGraph(WVRN(), graph).fit(["ann", "dan"], ["cat", "dog"])
    assert model.predict(np.array([["bob"], ["eve"], ["cy"]])).tolist() == ["cat", "dog", "cat"]
    assert model.predict_proba(["bob"]) == pytest.approx(np.array([[1.0, 0.0]]), abs=1e-6)
    with pytest.raises(InputError, match="unknown nodes"):
        model.predict(["zoe"])
    with pytest.raises(InputError, match="2 labels for 1 nodes"):
        OnGraph(WVRN(), graph).fit(["ann"], ["cat", "dog"])


def test_minus_one_everywhere_is_pointed_out():
    with pytest.warns(UserWarning, match="missing=-1"):
        WVRN().fit(load_graph("karate"), np.where(np.arange(34) < 2, 1, -1))
