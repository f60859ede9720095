"""`querist bound`: one run beside its bounds, and every way to be told no."""

import json

import pytest

from querist_papers.verbs.bound import NAMES


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", NAMES)
def test_json(querist, algorithm):
    settings = ("--set", "scheme=one-vs-rest") if algorithm == "bbq" else ()
    found = querist("bound", "three_clusters", "--method", algorithm, *settings, "--json").json
    assert (found["method"], found["dataset"], found["rounds"]) == (algorithm, "three_clusters", 36)
    assert 0 < found["mistakes"] <= 36 and 0 < found["questions"] <= 36
    assert found["bounds"]
    for bound in found["bounds"]:
        assert bound["applies"] and bound["respected"]
        assert bound["value"] > 0 and bound["terms"]
    classes = list(dict.fromkeys(bound["class"] for bound in found["bounds"]))
    one_vs_rest = algorithm in ("pounce", "perceptron", "ollgc", "sslgc", "bbq")
    assert classes == (["0", "1", "2"] if one_vs_rest else [None])


def test_points_are_joined_for_theorem_8(querist):
    found = querist("bound", "two_moons", "--points", "--json").json
    (bound,) = found["bounds"]
    assert bound["source"] == "pounce08, Theorem 8" and bound["applies"] and bound["respected"]
    assert found["mistakes"] <= bound["value"] == 3
    assert "no attributes" in querist("bound", "karate", "--points").err
    assert "Theorem 8 is about pounce" in querist("bound", "two_moons", "--points", "--method", "msg").err
    said = querist("bound", "karate", "--method", "perceptron", "--set", "budget=3").err
    assert "the perceptron has no parameters" in said


def test_the_table_shows_the_same_numbers(querist):
    found = querist("bound", "karate", "--json").json
    shown = querist("bound", "karate").out
    assert f"pounce: {found['mistakes']} mistakes and 34 questions in 34 rounds, seed 0" in shown
    assert "pounce08, Theorem 2" in shown and f"{found['bounds'][0]['value']:.1f}" in shown
    assert "exact covers" in shown


def test_a_broken_assumption_is_said(querist):
    shown = querist("bound", "karate", "--method", "cmog", "--set", "update=always").out
    assert "does not hold: mistakes are learned, and nothing else" in shown


def test_another_seed_is_another_run(querist):
    one, same, other = (querist("bound", "karate", "--seed", s, "--json").out for s in ("1", "1", "2"))
    assert one == same
    assert json.loads(one)["bounds"] != json.loads(other)["bounds"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("karate", "--method", "gpa"), "known: bbq, cmog"),
        (("karate", "--method", "msg", "--set", "hh=1"), "unknown parameter 'hh'"),
        (("karate", "--method", "bbq"), "scheme='one-vs-rest'"),
        (("karate", "--set", "scheme=multiclass"), "one-vs-rest"),
        (("karate", "--rank", "5"), "--rank does not go with --method pounce"),
    ],
)
def test_bad_requests_are_refused(querist, arguments, words):
    ran = querist("bound", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_a_graph_in_pieces_is_refused_with_what_to_do(querist, tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("a,b\nb,c\nd,e\n")
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("node,label\na,x\nb,x\nc,y\nd,x\ne,y\n")
    ran = querist("bound", str(edges), "--nodes", str(nodes))
    assert ran.code == 2 and "--component largest" in ran.err
    assert querist("bound", str(edges), "--nodes", str(nodes), "--component", "largest").code == 0


def test_online_runs_pounce_on_the_graph_unless_a_rank_is_asked_for(querist):
    exact = querist("evaluate", "online", "karate", "--method", "pounce", "--repeats", "3", "--json").json
    rough = querist(
        "evaluate", "online", "karate", "--method", "pounce", "--repeats", "3", "--rank", "3", "--json"
    ).json
    assert (exact["embedding"], rough["embedding"]) == ("none", "spectral")
    assert exact["error_rate"]["runs"] != rough["error_rate"]["runs"]
