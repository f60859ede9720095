"""`querist evaluate online`: the JSON that others read, and every way to be told no."""

import json

import numpy as np
import pytest

from querist import ALGORITHMS

KEYS = {
    "method", "dataset", "nodes", "classes", "rank", "embedding", "laplacian", "parameters", "repeats",
    "error_rate", "queries", "updates", "seconds",
}  # fmt: skip
BESIDES = {"constant", "component", "seed", "rounds", "control", "margin", "embedding_seconds"}


@pytest.mark.parametrize("data", ["karate", "two_moons", "digits"])
def test_json_has_exactly_these_keys(querist, data):
    found = querist("evaluate", "online", data, "--rank", "20", "--repeats", "2", "--json").json
    assert set(found) == KEYS | BESIDES
    for name in ("error_rate", "queries", "updates"):
        for part in (found, found["control"], found["margin"]):
            assert set(part[name]) == {"mean", "std", "runs"}
            runs = part[name]["runs"]
            assert len(runs) == 2
            assert part[name]["mean"] == pytest.approx(np.mean(runs))
            assert part[name]["std"] == pytest.approx(np.std(runs))
    assert set(found["seconds"]) == {"mean", "std", "runs"} and found["embedding_seconds"] >= 0
    assert (found["dataset"], found["rank"], found["repeats"]) == (data, 20, 2)
    given = {"gamma": 1.0, "h": 0.01, "update": "certain", "target": "rival", "tie_order": None}
    assert found["parameters"] == {**given, "budget": None, "pace": None, "rounds": None}


def without_seconds(ran):
    found = ran.json
    del found["seconds"], found["embedding_seconds"], found["control"]["seconds"], found["margin"]["seconds"]
    return found


@pytest.mark.slow
def test_same_seed_same_numbers(querist, process):
    command = ("evaluate", "online", "two_moons", "--rank", "10", "--repeats", "3", "--json")
    first = without_seconds(querist(*command))
    assert without_seconds(process(*command)) == first
    assert without_seconds(querist(*command, "--seed", "1"))["error_rate"] != first["error_rate"]
    more = querist("evaluate", "online", "two_moons", "--rank", "10", "--repeats", "4", "--json").json
    assert more["queries"]["runs"][:3] == first["queries"]["runs"], (
        "a shuffle does not depend on how many there are"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs_with_its_controls(querist, name):
    found = querist("evaluate", "online", "karate", "--method", name, "--repeats", "3", "--json").json
    assert found["parameters"].get("scheme", "multiclass") == (
        "one-vs-rest" if name in ("ollgc", "sslgc", "pounce") else "multiclass"
    )
    for control in (found["control"], found["margin"]):
        assert control["queries"]["runs"] == pytest.approx(found["queries"]["runs"], abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_spends_a_budget_at_a_pace(querist, name):
    command = (
        "evaluate",
        "online",
        "karate",
        "--method",
        name,
        "--budget",
        "9",
        "--pace",
        "1",
        "--repeats",
        "3",
    )
    found = querist(*command, "--json").json
    assert (found["parameters"]["budget"], found["parameters"]["pace"]) == (9, 1.0)
    for part in (found, found["control"], found["margin"]):
        assert part["queries"]["runs"] == [9, 9, 9]
    shown = querist(*command).out
    assert ", budget=9" in shown and ", pace=1.0" in shown


def test_paced_rules_that_look_at_nothing_are_the_random_control(querist):
    """At a pace the rules differ only in what they look at."""
    command = ("--rank", "9", "--budget", "20", "--pace", "2", "--repeats", "2", "--json")
    always = querist(
        "evaluate", "online", "two_moons", "--method", "cmog", *command, "--set", "update=always"
    ).json
    margin = querist("evaluate", "online", "two_moons", "--method", "margin_threshold", *command).json
    assert always["error_rate"] == always["control"]["error_rate"] == margin["control"]["error_rate"]
    assert margin["error_rate"] == margin["margin"]["error_rate"] == always["margin"]["error_rate"]
    assert margin["error_rate"]["mean"] < always["error_rate"]["mean"]


def test_the_control_of_an_algorithm_that_asks_everything_is_itself(querist):
    for name in ("ollgc", "cmog", "gpa"):
        found = querist(
            "evaluate", "online", "two_moons", "--method", name, "--rank", "9", "--repeats", "2", "--json"
        ).json
        for control in ("control", "margin"):
            assert found[control]["error_rate"] == found["error_rate"]
            assert found[control]["updates"] == found["updates"]


def test_the_control_of_paced_is_itself_at_random(querist):
    command = (
        "evaluate",
        "online",
        "karate",
        "--method",
        "paced",
        "--budget",
        "8",
        "--repeats",
        "2",
        "--json",
    )
    found = querist(*command).json
    at_random = querist(*command, "--set", "at_random=true").json
    assert found["control"]["error_rate"] == at_random["error_rate"] != found["error_rate"]
    assert found["queries"]["runs"] == found["control"]["queries"]["runs"] == [8, 8]
    close_calls = querist(*command, "--set", "spread=0").json
    assert found["margin"]["error_rate"] == close_calls["error_rate"]


def test_one_vs_rest_counts_per_problem(querist):
    command = ("evaluate", "online", "digits", "--method", "bbq", "--rank", "10", "--repeats", "1", "--json")
    apart = querist(*command, "--set", "scheme=one-vs-rest").json
    assert apart["parameters"]["scheme"] == "one-vs-rest"
    assert apart["error_rate"]["mean"] < querist(*command).json["error_rate"]["mean"]


def test_a_budget_holds(querist):
    found = querist(
        "evaluate", "online", "digits", "--rank", "10", "--repeats", "2", "--budget", "7", "--json"
    ).json
    assert found["parameters"]["budget"] == 7
    assert found["queries"]["runs"] == [7, 7]
    assert found["control"]["queries"]["runs"] == [7, 7]


def test_settings_reach_the_learner(querist):
    command = (
        "evaluate",
        "online",
        "two_moons",
        "--method",
        "cmog",
        "--rank",
        "10",
        "--repeats",
        "2",
        "--json",
    )
    changed = querist(*command, "--set", "update=always", "--set", "gamma=0.5", "--set", "tie_order=1,0").json
    given = {"gamma": 0.5, "update": "always", "target": "rival", "tie_order": [1, 0]}
    assert changed["parameters"].items() >= given.items()
    assert changed["updates"]["mean"] == 400 != querist(*command).json["updates"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "need"),
    [
        (["--method", "msgg"], "did you mean 'msg'?"),
        (
            ["--set", "gama=1"],
            "did you mean 'gamma'? known: budget, gamma, h, pace, rounds, target, tie_order, update",
        ),
        (["--set", "h=abc"], "h = 'abc'; it must be a finite number"),
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
        (["--method", "random_sampling", "--set", "second_order=maybe"], "true or false"),
        (["--method", "dgs", "--set", "alpha=x"], "a finite number, 0 or more, or none"),
        (["--set", "scheme=one-vs-rest"], "unknown parameter 'scheme'"),
        (["--rank", "100"], "a rank from 1 to 34"),
        (["--embedding", "diffusion"], "no attributes"),
        (["--constant", "nan"], "finite"),
        (["--embedding", "pagerank", "--constant", "3"], "constant is an option of kind='spectral'"),
        (["--embedding", "diffusion", "--no-normalised"], "normalised is an option of kind='spectral'"),
    ],
)
def test_what_is_refused(querist, arguments, need):
    ran = querist("evaluate", "online", "karate", "--repeats", "1", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert need in ran.err
    assert ran.err.startswith("querist: ")
    assert ran.err.count("\n") == 1


def test_a_path_with_labels(querist, ring):
    found = querist(
        "evaluate", "online", str(ring([0] * 6 + [-1] + [1] * 6)), "--repeats", "2", "--json"
    ).json
    assert (found["dataset"], found["nodes"], found["rounds"]["mean"], found["classes"]) == (
        "ring",
        13,
        12,
        2,
    )
    assert found["rank"] == 13


def test_a_csv_with_a_node_table(querist, tmp_path):
    (tmp_path / "friends.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\nc,e\n")
    (tmp_path / "people.csv").write_text("node,label,age\na,cat,3\nb,cat,4\nc,dog,5\nd,dog,6\ne,,7\n")
    command = [
        "evaluate",
        "online",
        str(tmp_path / "friends.csv"),
        "--nodes",
        str(tmp_path / "people.csv"),
        "--json",
    ]
    found = querist(*command, "--repeats", "1").json
    assert (found["nodes"], found["rounds"]["mean"], found["classes"]) == (5, 4, 2)
    assert querist(*command, "--embedding", "diffusion", "--rank", "1", "--repeats", "1").code == 0


@pytest.mark.parametrize(
    ("labels", "need"),
    [
        (None, "has no labels"),
        ([-1] * 12, "has no labels"),
        ([0] * 12, "at least 2 classes"),
    ],
)
def test_labels_that_cannot_answer(querist, ring, labels, need):
    ran = querist("evaluate", "online", str(ring(labels)))
    assert ran.code == 2
    assert need in ran.err


def test_files_that_are_not_there_or_broken(querist, tmp_path):
    assert querist("evaluate", "online", str(tmp_path / "none.npz")).code == 2
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not an archive")
    ran = querist("evaluate", "online", str(tmp_path / "bad.npz"))
    assert ran.code == 2
    assert "bad.npz" in ran.err


def test_the_largest_component(querist, tmp_path):
    edges = [(i, j) for i in range(6) for j in range(i)] + [(6, 7)]
    np.savez(tmp_path / "two.npz", edges=np.array(edges), labels=np.arange(8) % 2)
    command = ("evaluate", "online", str(tmp_path / "two.npz"), "--repeats", "1", "--json")
    assert querist(*command).json["nodes"] == 8
    assert querist(*command, "--component", "largest").json["nodes"] == 6


def test_the_table(querist, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = querist("evaluate", "online", "two_moons", "--rank", "10", "--repeats", "2").out
    assert shown.startswith("two_moons: 400 nodes")
    assert "msg, gamma=1.0, h=0.01" in shown
    assert "random, as many" in shown and "margin, as many" in shown
    assert "…" not in shown
    table = shown.partition("\n\n")[2]
    assert max(map(len, table.splitlines())) <= 80


def test_a_label_with_brackets_is_not_markup(querist, tmp_path):
    (tmp_path / "[bold]x.csv").write_text("a,b\n1,2\n2,3\n")
    (tmp_path / "n.csv").write_text("node,label\n1,[red]\n2,[/red]\n3,[red]\n")
    shown = querist("evaluate", "online", str(tmp_path / "[bold]x.csv"), "--nodes", str(tmp_path / "n.csv"))
    assert shown.out.startswith("[bold]x: 3 nodes")


@pytest.mark.slow
def test_json_is_ascii_and_alone_on_standard_output(process, ring):
    ran = process("evaluate", "online", str(ring([0, 1] * 6, "ré.npz")), "--repeats", "1", "--json")
    assert ran.out.isascii()
    assert json.loads(ran.out)["dataset"] == "ré"
