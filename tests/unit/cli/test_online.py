"""`querist online`: the JSON that others read, and every way to be told no."""

import json

import numpy as np
import pytest

from querist import ALGORITHMS

pytestmark = pytest.mark.slow

KEYS = {
    "algorithm", "dataset", "nodes", "classes", "rank", "embedding", "laplacian", "parameters", "scheme",
    "shuffles", "error_rate", "queries", "updates", "seconds",
}  # fmt: skip
BESIDES = {"constant", "component", "budget", "pace", "seed", "rounds", "control", "margin"}


@pytest.mark.parametrize("data", ["karate", "two_moons", "digits"])
def test_json_has_exactly_these_keys(querist, data):
    found = querist("online", data, "--rank", "20", "--shuffles", "2", "--json").json
    assert set(found) == KEYS | BESIDES
    for name in ("error_rate", "queries", "updates"):
        for part in (found, found["control"], found["margin"]):
            assert set(part[name]) == {"mean", "std", "runs"}
            runs = part[name]["runs"]
            assert len(runs) == 2
            assert part[name]["mean"] == pytest.approx(np.mean(runs))
            assert part[name]["std"] == pytest.approx(np.std(runs))
    assert set(found["seconds"]) == {"embed", "run"}
    assert (found["dataset"], found["rank"], found["shuffles"]) == (data, 20, 2)
    assert found["parameters"] == {
        "gamma": 1.0, "h": 0.01, "update": "certain", "target": "rival", "tie_order": None,
    }  # fmt: skip


def without_seconds(ran):
    found = ran.json
    del found["seconds"], found["control"]["seconds"], found["margin"]["seconds"]
    return found


def test_same_seed_same_numbers(querist, process):
    command = ("online", "two_moons", "--rank", "10", "--shuffles", "3", "--json")
    first = without_seconds(querist(*command))
    assert without_seconds(process(*command)) == first
    assert without_seconds(querist(*command, "--seed", "1"))["error_rate"] != first["error_rate"]
    more = querist("online", "two_moons", "--rank", "10", "--shuffles", "4", "--json").json
    assert more["queries"]["runs"][:3] == first["queries"]["runs"], (
        "a shuffle does not depend on how many there are"
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs_with_its_controls(querist, name):
    found = querist("online", "karate", "--algorithm", name, "--shuffles", "3", "--json").json
    assert found["scheme"] == ("one-vs-rest" if name in ("ollgc", "sslgc", "pounce") else "multiclass")
    for control in (found["control"], found["margin"]):
        assert control["queries"]["runs"] == pytest.approx(found["queries"]["runs"], abs=0.5)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_spends_a_budget_at_a_pace(querist, name):
    command = ("online", "karate", "--algorithm", name, "--budget", "9", "--pace", "1", "--shuffles", "3")
    found = querist(*command, "--json").json
    assert (found["budget"], found["pace"]) == (9, 1.0)
    for part in (found, found["control"], found["margin"]):
        assert part["queries"]["runs"] == [9, 9, 9]
    assert ", budget 9, pace 1" in querist(*command).out


def test_paced_rules_that_look_at_nothing_are_the_random_control(querist):
    """At a pace the rules differ only in what they look at."""
    command = ("--rank", "9", "--budget", "20", "--pace", "2", "--shuffles", "2", "--json")
    always = querist("online", "two_moons", "--algorithm", "cmog", *command, "--set", "update=always").json
    margin = querist("online", "two_moons", "--algorithm", "margin_threshold", *command).json
    assert always["error_rate"] == always["control"]["error_rate"] == margin["control"]["error_rate"]
    assert margin["error_rate"] == margin["margin"]["error_rate"] == always["margin"]["error_rate"]
    assert margin["error_rate"]["mean"] < always["error_rate"]["mean"]


def test_the_control_of_an_algorithm_that_asks_everything_is_itself(querist):
    for name in ("ollgc", "cmog", "gpa"):
        found = querist(
            "online", "two_moons", "--algorithm", name, "--rank", "9", "--shuffles", "2", "--json"
        ).json
        for control in ("control", "margin"):
            assert found[control]["error_rate"] == found["error_rate"]
            assert found[control]["updates"] == found["updates"]


def test_the_control_of_paced_is_itself_at_random(querist):
    command = ("online", "karate", "--algorithm", "paced", "--budget", "8", "--shuffles", "2", "--json")
    found = querist(*command).json
    at_random = querist(*command, "--set", "at_random=true").json
    assert found["control"]["error_rate"] == at_random["error_rate"] != found["error_rate"]
    assert found["queries"]["runs"] == found["control"]["queries"]["runs"] == [8, 8]
    close_calls = querist(*command, "--set", "spread=0").json
    assert found["margin"]["error_rate"] == close_calls["error_rate"]


def test_one_vs_rest_counts_per_problem(querist):
    command = ("online", "digits", "--algorithm", "bbq", "--rank", "10", "--shuffles", "1", "--json")
    apart = querist(*command, "--scheme", "one-vs-rest").json
    assert apart["scheme"] == "one-vs-rest"
    assert apart["error_rate"]["mean"] < querist(*command).json["error_rate"]["mean"]
    assert querist(*command, "--set", "scheme=one-vs-rest").json["queries"] == apart["queries"]


def test_a_budget_holds(querist):
    found = querist("online", "digits", "--rank", "10", "--shuffles", "2", "--budget", "7", "--json").json
    assert found["budget"] == 7
    assert found["queries"]["runs"] == [7, 7]
    assert found["control"]["queries"]["runs"] == [7, 7]


def test_settings_reach_the_learner(querist):
    command = ("online", "two_moons", "--algorithm", "cmog", "--rank", "10", "--shuffles", "2", "--json")
    changed = querist(*command, "--set", "update=always", "--set", "gamma=0.5", "--set", "tie_order=1,0").json
    assert changed["parameters"] == {"gamma": 0.5, "update": "always", "target": "rival", "tie_order": [1, 0]}
    assert changed["updates"]["mean"] == 400 != querist(*command).json["updates"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "need"),
    [
        (["--algorithm", "msgg"], "did you mean 'msg'?"),
        (
            ["--set", "gama=1"],
            "did you mean 'gamma'? known: budget, gamma, h, pace, rounds, target, tie_order, update",
        ),
        (["--set", "h=abc"], "h = 'abc'; it must be a number"),
        (["--set", "h"], "write name=value"),
        (["--set", "h=-1"], "above 0"),
        (["--set", "h=1", "--set", "h=2"], "set twice"),
        (["--set", "update=alway"], "one of mistake, always, certain"),
        (["--set", "tie_order=0,0"], "tie_order"),
        (["--set", "seed=3"], "use --seed"),
        (["--budget", "3", "--set", "budget=4"], "set twice"),
        (["--pace", "1"], "pace = 1.0 spends a budget, and there is none"),
        (["--pace", "0", "--budget", "3"], "above 0"),
        (["--pace", "1", "--budget", "3", "--set", "pace=2"], "set twice"),
        (["--algorithm", "random_sampling", "--set", "second_order=maybe"], "true or false"),
        (["--algorithm", "dgs", "--set", "alpha=x"], "a number or none"),
        (["--scheme", "one-vs-rest"], "no one-vs-rest form"),
        (["--algorithm", "cmog", "--scheme", "one-vs-rest"], "ollgc"),
        (["--rank", "100"], "a rank from 1 to 34"),
        (["--embedding", "diffusion"], "no attributes"),
        (["--constant", "nan"], "finite"),
    ],
)
def test_what_is_refused(querist, arguments, need):
    ran = querist("online", "karate", "--shuffles", "1", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert need in ran.err
    assert ran.err.startswith("querist: ")
    assert ran.err.count("\n") == 1


def test_multiclass_may_be_said_where_there_is_nothing_else(querist):
    assert querist("online", "karate", "--scheme", "multiclass", "--shuffles", "1").code == 0


def test_a_path_with_labels(querist, ring):
    found = querist("online", str(ring([0] * 6 + [-1] + [1] * 6)), "--shuffles", "2", "--json").json
    assert (found["dataset"], found["nodes"], found["rounds"], found["classes"]) == ("ring", 13, 12, 2)
    assert found["rank"] == 13


def test_a_csv_with_a_node_table(querist, tmp_path):
    (tmp_path / "friends.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\nc,e\n")
    (tmp_path / "people.csv").write_text("node,label,age\na,cat,3\nb,cat,4\nc,dog,5\nd,dog,6\ne,,7\n")
    command = ["online", str(tmp_path / "friends.csv"), "--nodes", str(tmp_path / "people.csv"), "--json"]
    found = querist(*command, "--shuffles", "1").json
    assert (found["nodes"], found["rounds"], found["classes"]) == (5, 4, 2)
    assert querist(*command, "--embedding", "diffusion", "--rank", "1", "--shuffles", "1").code == 0


@pytest.mark.parametrize(
    ("labels", "need"),
    [
        (None, "has no labels"),
        ([-1] * 12, "has no labels"),
        ([0] * 12, "one class only"),
    ],
)
def test_labels_that_cannot_answer(querist, ring, labels, need):
    ran = querist("online", str(ring(labels)))
    assert ran.code == 2
    assert need in ran.err


def test_files_that_are_not_there_or_broken(querist, tmp_path):
    assert querist("online", str(tmp_path / "none.npz")).code == 2
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not an archive")
    ran = querist("online", str(tmp_path / "bad.npz"))
    assert ran.code == 2
    assert "bad.npz" in ran.err


def test_the_largest_component(querist, tmp_path):
    edges = [(i, j) for i in range(6) for j in range(i)] + [(6, 7)]
    np.savez(tmp_path / "two.npz", edges=np.array(edges), labels=np.arange(8) % 2)
    command = ("online", str(tmp_path / "two.npz"), "--shuffles", "1", "--json")
    assert querist(*command).json["nodes"] == 8
    assert querist(*command, "--component", "largest").json["nodes"] == 6


def test_the_table(querist, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = querist("online", "two_moons", "--rank", "10", "--shuffles", "2").out
    assert shown.startswith("two_moons: 400 nodes")
    assert "msg, multiclass, gamma=1.0 h=0.01" in shown
    assert "random, as many" in shown and "margin, as many" in shown
    assert "…" not in shown
    table = shown.partition("\n\n")[2]
    assert max(map(len, table.splitlines())) <= 80


def test_a_label_with_brackets_is_not_markup(querist, tmp_path):
    (tmp_path / "[bold]x.csv").write_text("a,b\n1,2\n2,3\n")
    (tmp_path / "n.csv").write_text("node,label\n1,[red]\n2,[/red]\n3,[red]\n")
    shown = querist("online", str(tmp_path / "[bold]x.csv"), "--nodes", str(tmp_path / "n.csv"))
    assert shown.out.startswith("[bold]x: 3 nodes")


def test_json_is_ascii_and_alone_on_standard_output(process, ring):
    ran = process("online", str(ring([0, 1] * 6, "ré.npz")), "--shuffles", "1", "--json")
    assert ran.out.isascii()
    assert json.loads(ran.out)["dataset"] == "ré"
