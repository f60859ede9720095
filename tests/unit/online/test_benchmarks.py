"""The benchmarks of the online learners run on a small set, and say what they measure."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def printed(monkeypatch, capsys):
    """What a benchmark prints when it is called with these words."""

    def run(name, *words):
        monkeypatch.syspath_prepend(str(BENCHMARKS))
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    return run


@pytest.mark.slow
def test_questions(printed):
    words = ("karate", "--budget", "8", "--shuffles", "2", "--fastonl", "1")
    rows = json.loads(printed("online_questions", *words, "--json"))
    lines = [row["line"].partition(", h")[0] for row in rows]
    assert lines == [
        *("paced", "random, same pace", "random, first", "margin, same pace", "msg", "all labels", "fastonl")
    ]
    by_line = dict(zip(lines, rows, strict=True))
    for line in lines[:4]:
        assert by_line[line]["questions"] == by_line[line]["budget"] == 8
    assert by_line["msg"]["questions"] <= 8
    assert by_line["all labels"]["questions"] == by_line["fastonl"]["questions"] == 34
    assert all(row["set"] == "karate" and 0 <= row["error"] <= 1 and not row["developed_on"] for row in rows)
    assert [row["shuffles"] for row in rows] == [2] * 6 + [1]
    assert printed("online_questions", *words).count("karate") == 7


def test_questions_of_a_set_without_a_budget(printed, capsys):
    with pytest.raises(SystemExit):
        printed("online_questions", "karate")
    assert "no budget is known for karate; give --budget" in capsys.readouterr().err


@pytest.mark.slow
def test_rules(printed):
    words = ("karate", "--shuffles", "3", "--budget", "0.2", "0.5")
    rows = json.loads(printed("online_rules", *words, "--json"))
    paced = [row for row in rows if row["table"] == "paced"]
    assert {(row["scheme"], row["share"], row["line"]) for row in paced} == {
        (scheme, share, line)
        for share in (0.2, 0.5)
        for scheme, lines in {
            "multiclass": ("random", "margin", "msg", "bbq", "dgs"),
            "one-vs-rest": ("random", "margin", "sslgc"),
        }.items()
        for line in lines
    }
    assert all(row["questions"] == round(34 * row["share"]) for row in paced)
    own = {row["line"]: row for row in rows if row["table"] == "own"}
    for line in ("msg", "bbq", "dgs", "sslgc"):
        for control in ("random", "margin"):
            assert own[f"{line}: {control}"]["questions"] == pytest.approx(own[line]["questions"], abs=0.5)
            assert own[line][f"against_{control}"] in (-1, 0, 1)
    shown = printed("online_rules", *words)
    assert "paced  multiclass   msg      against margin: better" in shown


@pytest.mark.slow
def test_growing(printed):
    words = ("--growing", "--data", "karate", "--rank", "5", "--step", "6", "--repeats", "2")
    found = json.loads(printed("online", *words, "--json"))
    assert list(found) == ["msg", "cmog", "sslgc"]
    assert found["cmog"]["asked"] == found["cmog"]["asked_whole"] == 34
    assert all(
        0 <= row[key] <= 1 for row in found.values() for key in row if key.startswith(("later", "end"))
    )
    assert printed("online", *words).count("|---") == 9
