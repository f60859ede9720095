"""`querist experiment`: a file in, a folder out, and every way to be told no."""

import json

import pytest

from querist.experiment.runner import Job

FILE = """\
title = "Who asks least?"
task = "online"
dataset = ["karate", "two_moons"]
repeats = 3
measures = ["error_rate", "queries"]

[representation]
rank = 8

[[experiment]]
method = "msg"
[experiment.grid]
h = [0.01, 0.1]

[[experiment]]
name = "asks everything"
method = "cmog"
"""


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


@pytest.mark.slow
def test_a_comparison_is_run_and_shown_with_its_control(querist, written, tmp_path):
    out = tmp_path / "out"
    shown = querist("experiment", str(written), "--out", str(out), "--processes", "1")
    assert shown.code == 0
    for said in ("Who asks least?", "online on karate", "online on two_moons", "msg: random, as often",
                 "h 0.01", "asks everything"):  # fmt: skip
        assert said in shown.out
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {"comparison.html", "comparison.json", "tables/comparison.md"} <= files
    assert {"figures/comparison_online_karate.svg", "figures/comparison_online_two_moons.png"} <= files
    assert sum(name.startswith("results/") for name in files) == 4
    page = (out / "comparison.html").read_text()
    assert "querist experiment mine.toml" in page
    assert str(tmp_path) not in page, "nobody's own paths"


@pytest.mark.slow
def test_json_and_going_on(querist, written, tmp_path):
    command = ("experiment", str(written), "--out", str(tmp_path / "out"), "--processes", "1", "--json")
    rows = querist(*command).json
    assert {row["measure"] for row in rows} >= {"error_rate", "queries", "control_error_rate"}
    row = next(r for r in rows if (r["dataset"], r["name"], r["measure"]) == ("karate", "msg", "queries"))
    assert (row["method"], row["task"], len(row["runs"]), row["tuned"]) == ("msg", "online", 3, ["h"])
    assert row["mean"] == pytest.approx(sum(row["runs"]) / 3)
    assert json.loads((tmp_path / "out" / "comparison.json").read_text()) == rows
    lines = {p: p.read_text() for p in (tmp_path / "out" / "results").iterdir()}
    assert querist(*command).json == rows
    assert {p: p.read_text() for p in (tmp_path / "out" / "results").iterdir()} == lines, "nothing ran again"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"cmog"', '"cmogg"'), "mine.toml, line 17: unknown method 'cmogg'; did you mean 'cmog'?"),
        (("h = [0.01, 0.1]", "hh = [0.01]"), "mine.toml, line 13: unknown parameter 'hh'; did you mean 'h'?"),
        (
            ("repeats = 3", "repeats = 3\nheld_out = 2"),
            "mine.toml, line 5: held_out = 2 is one of the reported",
        ),
        (('"queries"]', '"accuracy"]'), "mine.toml, line 5: 'accuracy' does not fit online on karate"),
    ],
)
def test_a_bad_file_is_refused_before_anything_runs(querist, written, tmp_path, change, said):
    written.write_text(FILE.replace(*change))
    shown = querist("experiment", str(written), "--out", str(tmp_path / "out"))
    assert shown.code == 2
    assert said in shown.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_the_folder_holds_of_the_papers_stays(querist, written, tmp_path):
    (tmp_path / "results.json").write_text('[{"paper": "msg16", "published": 0.1}]')
    assert querist("experiment", str(written), "--out", str(tmp_path), "--processes", "1").code == 0
    assert (tmp_path / "results.json").read_text() == '[{"paper": "msg16", "published": 0.1}]'


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space", "x"), 2)])
def test_cut_short_it_says_how_to_go_on(querist, written, tmp_path, monkeypatch, problem, code):
    made, work = [], Job.work

    def cut(job):
        made.append(job)
        if len(made) > 5:
            raise problem
        return work(job)

    monkeypatch.setattr(Job, "work", cut)
    command = ("experiment", str(written), "--out", str(tmp_path / "out"), "--processes", "1")
    shown = querist(*command)
    assert shown.code == code
    assert "finished runs are kept in" in shown.err
    monkeypatch.setattr(Job, "work", lambda job: made.append(job) or work(job))
    assert querist(*command).code == 0
    assert len(made) == 6 + 12 + 4 - 5, "three runs of four experiments and their tuning, those five once"


@pytest.mark.slow
def test_a_file_that_changes_is_run_again(querist, tmp_path):
    edges, nodes, mine = (tmp_path / name for name in ("edges.csv", "nodes.csv", "mine.toml"))
    edges.write_text("source,target\n" + "".join(f"{i},{(i + 1) % 9}\n" for i in range(9)))
    nodes.write_text("node,label\n" + "".join(f"{i},{'ab'[i > 4]}\n" for i in range(9)))
    mine.write_text(
        f'task = "online"\ndataset = "{edges}"\nmethod = "cmog"\nrepeats = 2\n'
        f'representation.nodes = "{nodes}"\nparameters.update = "always"\n'
    )
    command = ("experiment", str(mine), "--out", str(tmp_path / "out"), "--processes", "1", "--json")
    before = querist(*command).json
    assert querist(*command).json == before, "nothing ran again, not even a clock"
    nodes.write_text(nodes.read_text() + "9,a\n")
    after = querist(*command).json
    rounds = [next(row["mean"] for row in rows if row["measure"] == "rounds") for rows in (before, after)]
    assert rounds == [9, 10]
    nodes.write_text(nodes.read_text().removesuffix("9,a\n"))
    assert querist(*command).json == before, "as it was before: those runs are still there"


@pytest.mark.slow
def test_a_file_or_a_cluster_that_is_not_there(querist, written, tmp_path):
    shown = querist("experiment", str(tmp_path / "absent.toml"))
    assert shown.code == 2
    assert "absent.toml: No such file" in shown.err
    pytest.importorskip("distributed")
    shown = querist(
        "experiment", str(written), "--out", str(tmp_path / "o"), "--cluster", "tcp://127.0.0.1:9"
    )
    assert shown.code == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in shown.err
