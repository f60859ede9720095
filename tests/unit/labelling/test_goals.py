"""Labels people can act on: goals, costs, what is said of every class, and what travels with a labelling."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from querist.cli.entry import main
from querist.datasets import load_graph
from querist.errors import InputError
from querist.labelling import Labelling, label
from querist.labelling.decisions import estimate
from querist.labelling.decisions.summary import class_numbers, rank_numbers, rarest, sentences
from querist.labelling.page import class_sizes, report
from querist.tables.labels import read_costs

NAMES = np.array(["fine", "fraud"])


@pytest.fixture(scope="module")
def given(accounts):
    graph, truth = accounts()
    labelled = np.random.default_rng(1).choice(graph.n_nodes, 200, replace=False)
    return graph, truth, {int(i): str(NAMES[truth[i]]) for i in labelled}


@pytest.fixture(scope="module")
def by_goal(given):
    graph, _, labels = given
    found = {goal: label(graph, labels, method="links", goal=goal) for goal in ("accuracy", "balanced", "f1")}
    found["costs"] = label(graph, labels, method="links", costs={("fraud", "fine"): 20})
    return found


def measures(found, truth):
    free = ~found.is_labelled
    called, own = found.said[free, 1], truth[free] == 1
    right = (called & own).sum()
    recall, precision = right / own.sum(), right / max(1, called.sum())
    return {
        "accuracy": np.mean(called == own),
        "balanced": (recall + (~called & ~own).sum() / (~own).sum()) / 2,
        "f1": 2 * right / (called.sum() + own.sum()),
        "costs": -(20 * (own & ~called).sum() + (called & ~own).sum()),
        "precision": precision,
        "recall": recall,
    }


@pytest.mark.slow
def test_each_goal_is_served_best_by_its_own_labels(given, by_goal):
    truth = given[1]
    table = {goal: measures(found, truth) for goal, found in by_goal.items()}
    for goal in ("balanced", "f1", "costs"):
        assert table[goal][goal] > table["accuracy"][goal], goal
    assert table["balanced"]["recall"] > table["accuracy"]["recall"] + 0.2
    for found in by_goal.values():
        assert (found.probabilities == by_goal["accuracy"].probabilities).all(), (
            "goals leave probabilities alone"
        )


def test_accuracy_names_the_likeliest_class_and_others_may_not(by_goal):
    found = by_goal["accuracy"]
    assert found.labels == [found.classes[k] for k in found.probabilities.argmax(axis=1)]
    assert (found.probability == found.probabilities.max(axis=1)).all()
    other = by_goal["balanced"]
    row = int(np.flatnonzero(other.said[:, 1] & (other.probabilities[:, 1] < 0.5))[0])
    assert other.labels[row] == "fraud" and other.runner_up[row] == "fine"
    assert other.probability[row] == other.probabilities[row, 1]
    assert class_sizes(other).tolist() == [other.labels.count(name) for name in other.classes]


def test_the_likeliest_of_a_rare_class_are_said_to_be_so(accounts):
    """Without a slope and a shift of its own, the class was ranked well and had 10 % wherever it was."""
    graph, truth = accounts(1500, 60)
    labelled = np.random.default_rng(1).choice(graph.n_nodes, 300, replace=False)
    labels = {int(i): str(NAMES[truth[i]]) for i in labelled}
    gaps = []
    for picked in (False, True):  # labels that were picked have a temperature alone
        found = label(graph, labels, method="smoothed", picked=picked)
        first = found.ranked("fraud")[:40]
        gaps.append(truth[first].mean() - found.probabilities[first, 1].mean())
    assert 0 < gaps[0] < gaps[1] - 0.1


def test_every_class_has_an_estimate_that_holds_the_truth(given, by_goal):
    truth = given[1]
    for goal in ("balanced", "f1"):
        own, actual = by_goal[goal].estimate.classes[1], measures(by_goal[goal], truth)
        assert own.precision.low <= actual["precision"] <= own.precision.high
        assert own.recall.low <= actual["recall"] <= own.recall.high
        assert own.labels == sum(name == "fraud" for name in given[2].values())
    estimate = by_goal["f1"].estimate
    assert estimate.majority == np.mean([name == "fine" for name in given[2].values()])
    assert estimate.balanced_accuracy == pytest.approx(np.mean([c.recall.value for c in estimate.classes]))
    assert estimate.macro_f1 == pytest.approx(np.mean([c.f1 for c in estimate.classes]))


def test_the_likeliest_come_first_and_what_is_known_last(given, by_goal):
    found = by_goal["f1"]
    rows = found.ranked("fraud")
    p, known = found.probabilities[rows, 1], found.is_labelled[rows]
    free = int((~known).sum())
    assert known[free:].all() and (np.diff(p[:free]) <= 0).all()
    share = found.among_likeliest("fraud", 30)
    actual = given[1][rows[:30]].mean()
    assert share.low <= actual <= share.high
    assert rarest(found) == "fraud"
    numbers = rank_numbers(found, "fraud")
    assert numbers["likeliest"][0]["nodes"] == 10 and numbers["expected"] == round(float(p[:free].sum()), 1)
    assert any(text.startswith("Check the ") and "are fraud" in text for text in sentences(found))
    with pytest.raises(InputError, match="no class 'cat'; the labels have fine, fraud"):
        found.ranked("cat")


def test_too_few_labels_say_how_many_would_do(given):
    graph, truth, _ = given
    few = [*np.flatnonzero(truth)[:3].tolist(), *np.flatnonzero(truth == 0)[:97].tolist()]
    found = label(graph, {i: str(NAMES[truth[i]]) for i in few}, method="smoothed", goal="f1")
    own = found.estimate.classes[1]
    assert not own.recall.is_known and own.needed == 670
    assert "fraud: 3 labels cannot say how well it is found; about 670 drawn at random" in " ".join(
        sentences(found)
    )
    assert class_numbers(found)["by_class"]["fraud"]["recall"]["value"] is None
    assert rarest(found) is None


@pytest.mark.slow
def test_one_label_of_a_class_and_one_class_are_no_trouble(accounts):
    graph, truth = accounts(200, 20)
    alone = {
        int(np.flatnonzero(truth)[0]): "fraud",
        **{int(i): "fine" for i in np.flatnonzero(truth == 0)[:30]},
    }
    for goal in ("accuracy", "balanced", "f1"):
        found = label(graph, alone, method="smoothed", goal=goal)
        assert set(found.labels) <= {"fine", "fraud"}
        assert found.estimate.classes[1].labels == 1
        one = label(graph, {0: "a", 1: "a", 2: "a"}, goal=goal)
        assert set(one.labels) == {"a"} and one.estimate.balanced_accuracy != one.estimate.balanced_accuracy


def test_labels_that_were_picked_are_not_calibrated_by_class(given, monkeypatch):
    """Their shares are not those of the classes: a shift by them would be wrong."""
    graph, _, labels = given
    calls, own = [], estimate.fitted
    monkeypatch.setattr(estimate, "fitted", lambda *table: calls.append(1) or own(*table))
    label(graph, labels, method="smoothed", picked=True)
    assert not calls
    label(graph, labels, method="smoothed")
    assert calls


def test_several_labels_a_node_have_a_threshold_a_class(accounts):
    graph, truth = accounts(400, 40)
    labels = {i: {"all"} | ({"fraud"} if truth[i] else set()) for i in range(0, 400, 2)}
    found = {
        goal: label(graph, labels, multilabel=True, method="smoothed", goal=goal)
        for goal in ("accuracy", "balanced")
    }
    assert found["balanced"].decision.threshold(1) < 0.3 < found["accuracy"].decision.threshold(1) == 0.5
    assert class_sizes(found["balanced"])[1] > class_sizes(found["accuracy"])[1]
    costly = label(graph, labels, multilabel=True, method="smoothed", costs={("fraud", None): 9})
    assert costly.decision.threshold(1) == pytest.approx(0.1)


def test_goal_costs_and_estimate_travel_with_a_labelling(by_goal, tmp_path):
    for goal, found in by_goal.items():
        found.save(tmp_path / "kept.npz")
        again = Labelling.load(tmp_path / "kept.npz")
        assert again.labels == found.labels and again.decision.goal == goal
        assert again.options == found.options
        assert again.estimate.classes == found.estimate.classes
        assert again.estimate.macro_f1 == found.estimate.macro_f1
        assert again.among_likeliest("fraud", 20) == found.among_likeliest("fraud", 20)
        grown = again.label_new([(0, "new")])
        p = grown.probabilities[-1]
        expected = again.decision.said(p[None])[0]
        assert grown.labels[-1] == grown.classes[int(expected.argmax())]
    anew = again.label_new([(0, "new")], labels={"new": "fraud"})
    assert anew.decision.goal == "costs" and anew.options["costs"] == {("fraud", "fine"): 20}


@pytest.mark.slow
def test_the_page_shows_what_matters(by_goal):
    text = report(by_goal["f1"])
    assert "Finding fraud" in text and "Check the " in text
    for what in ("balanced accuracy", "macro-F1", "majority", "average precision"):
        assert what in text
    karate = load_graph("karate")
    even = label(karate, {node: karate.labels[node] for node in range(0, 34, 2)})
    assert "Finding" not in report(even)
    assert "Finding Officer" in report(even, rank="Officer")


# -- at the command line ---------------------------------------------------------------------------


@pytest.fixture
def folder(given, tmp_path, monkeypatch):
    graph, _, labels = given
    rows, columns = graph.adjacency.nonzero()
    edges = [f"{i},{j}" for i, j in zip(rows, columns, strict=True) if i < j]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    (tmp_path / "labels.csv").write_text(
        "\n".join(["node,label", *(f"{i},{own}" for i, own in labels.items())])
    )
    (tmp_path / "costs.csv").write_text("true,said,cost\nfraud,fine,20\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LABEL = ["label", "edges.csv", "--labels", "labels.csv", "--out", "out.csv", "--method", "diffusion"]


def test_the_command_ranks_and_writes_every_probability(folder, capsys):
    assert main([*LABEL, "--goal", "f1", "--rank", "fraud", "--probabilities", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["goal"] == "f1" and numbers["rank"]["class"] == "fraud"
    assert set(numbers["by_class"]) == {"fine", "fraud"} and 0 < numbers["macro_f1"] < 1
    with open(folder / "out.csv") as file:
        lines = list(csv.DictReader(file))
    given = set(Path("labels.csv").read_text().split())
    p = [float(line["probability_fraud"]) for line in lines]
    known = [f"{line['node']},{line['label']}" in given for line in lines]
    assert known == sorted(known) and p[: known.index(True)] == sorted(p[: known.index(True)], reverse=True)
    assert all(abs(float(line["probability_fine"]) + q - 1) < 2e-6 for line, q in zip(lines, p, strict=True))


def test_the_command_takes_a_table_of_costs(folder, capsys):
    assert main([*LABEL, "--costs", "costs.csv"]) == 0
    assert (
        "Labels are chosen for the least costs: fraud from a probability of 0.05 on."
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--goal", "recall"], "'recall' is not one of 'accuracy', 'balanced', 'f1'"),
        (["--goal", "f1", "--costs", "costs.csv"], "give one: costs are a goal of their own"),
        (["--rank", "cat"], "no class 'cat'"),
        (["--costs", "labels.csv"], "no column true and said and cost"),
    ],
)
def test_the_command_refuses(folder, capsys, words, said):
    assert main([*LABEL, *words]) != 0
    assert said in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_costs_in_a_file(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("true,said,cost\n1,2,5\n2,1,0.5\n1,,3\n")
    assert read_costs(file) == {(1, 2): 5.0, (2, 1): 0.5, (1, None): 3.0}
    file.write_text("true,said,cost\na,b,5\na,b,6\n")
    with pytest.raises(InputError, match="line 3: saying 'b' for 'a' costs 6, and 5 before"):
        read_costs(file)
    file.write_text("true,said,cost\na,b,much\n")
    with pytest.raises(InputError, match="cost"):
        read_costs(file)
