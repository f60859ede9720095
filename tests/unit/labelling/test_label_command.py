"""`querist label`, from files to a file."""

import csv
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from querist import load_graph
from querist.cli import main


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("querist.cli.screen.QUIET_SECONDS", 600.0)  # what is said does not hang on the clock
    karate = load_graph("karate")
    heads, tails = karate.adjacency.nonzero()
    pairs = [(int(i), int(j)) for i, j in zip(heads, tails, strict=True) if i < j]
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i, j in pairs))
    known = [0, 1, 2, 32, 33, 30, 8, 5]
    Path("labels.csv").write_text("node,label\n" + "".join(f"{i},{karate.labels[i]}\n" for i in known))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["label", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_from_files_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "out.csv")
    assert code == 0
    assert "34 nodes, 78 edges" in out
    assert "8 labelled nodes, 2 classes" in out
    assert "Expected accuracy" in out
    assert "out.csv: 34 rows" in out
    found = rows("out.csv")
    assert list(found[0]) == ["node", "label", "probability", "runner_up", "reached", "influences"]
    assert [row["node"] for row in found] == [str(k) for k in range(34)]
    truth = load_graph("karate").labels
    assert np.mean([row["label"] == truth[k] for k, row in enumerate(found)]) > 0.85
    known = {"0", "1", "2", "32", "33", "30", "8", "5"}
    assert all(0 < len(row["influences"].split(";")) <= 3 for row in found)
    assert all(set(row["influences"].split(";")) <= known for row in found)


def test_json_prints_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "edges.csv", "--labels", "labels.csv", "-o", "o.parquet", "--report", "r.html", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert (found["nodes"], found["edges"], found["labelled"], found["reached"]) == (34, 78, 8, 34)
    assert sum(found["classes"].values()) == 34
    assert 0 <= found["accuracy"]["low"] < found["accuracy"]["high"] <= 1
    assert found["accuracy"]["expected"] is None, "8 labels give an interval alone"
    assert found["out"] == "o.parquet"
    assert "<h2>The graph</h2>" in Path(found["report"]).read_text()
    assert found["why"]


def test_a_class_with_few_labels_has_an_interval_alone(capsys: pytest.CaptureFixture[str]) -> None:
    truth = load_graph("karate").labels
    Path("few.csv").write_text("node,label\n" + "".join(f"{k},{truth[k]}\n" for k in range(0, 34, 3)))
    _, out, _ = run(capsys, "edges.csv", "--labels", "few.csv", "-o", "out.csv")
    assert re.search(r"Officer +7 +\d+( +0\.\d\d\u2013[01]\.\d\d){3}\n", out)
    found = json.loads(run(capsys, "edges.csv", "--labels", "few.csv", "-o", "out.csv", "--json")[1])
    recall = found["by_class"]["Officer"]["recall"]
    assert recall["value"] is None and 0 < recall["low"] < recall["high"] <= 1


def test_the_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path("edges.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert run(capsys, "-", "--labels", "labels.csv", "-o", "a.csv")[0] == 0
    assert run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "b.csv")[0] == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_attributes_are_read_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    truth = load_graph("karate").labels
    lines = [
        f"{k},{'sword and horse' if truth[k] == 'Officer' else 'lamp and desk'} {rng.integers(9)},{k % 5}"
        for k in range(34)
    ]
    Path("nodes.csv").write_text("\n".join(["node,about,level", *lines]))
    code, out, _ = run(capsys, "edges.csv", "--nodes", "nodes.csv", "--labels", "labels.csv", "-o", "out.csv")
    assert code == 0
    assert "about: " in out
    assert "level: numbers, in 8 overlapping ranges" in out


def test_labels_of_the_nodes_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    known = dict(list(csv.reader(open("labels.csv")))[1:])  # noqa: SIM115
    Path("nodes.csv").write_text(
        "node,label\n" + "".join(f"{k},{known.get(str(k), '')}\n" for k in range(34))
    )
    assert run(capsys, "edges.csv", "--nodes", "nodes.csv", "-o", "a.csv")[0] == 0
    run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "b.csv")
    assert [r["label"] for r in rows("a.csv")] == [r["label"] for r in rows("b.csv")]
    code, _, err = run(capsys, "edges.csv", "-o", "c.csv")
    assert code == 2
    assert "no labels: give --labels" in err


def test_several_labels_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    with open("labels.csv", "a") as file:
        file.write("0,founder\n33,founder\n")
    code, _, err = run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "out.csv")
    assert code == 2
    assert "labels.csv: node 0 is 'Mr. Hi' in line 2 and 'founder' in line 10; keep one" in err
    assert not Path("out.csv").exists()
    assert run(capsys, "edges.csv", "--labels", "labels.csv", "--multilabel", "-o", "out.csv")[0] == 0
    assert set(rows("out.csv")[0]["label"].split(";")) == {"Mr. Hi", "founder"}


@pytest.mark.slow
def test_growing_between_runs_equals_starting_from_scratch(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("edges.csv").read_text().splitlines(keepends=True)
    old = [line for line in lines[1:] if not any(int(v) > 27 and int(v) < 30 for v in line.split(","))]
    Path("old.csv").write_text("".join([lines[0], *old]))
    Path("new.csv").write_text("".join([lines[0], *(line for line in lines[1:] if line not in old)]))
    assert run(capsys, "old.csv", "--extend", "new.csv", "--labels", "labels.csv", "-o", "grown.csv")[0] == 0
    assert run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "scratch.csv")[0] == 0
    grown = {row["node"]: row for row in rows("grown.csv")}
    scratch = {row["node"]: row for row in rows("scratch.csv")}
    assert grown.keys() == scratch.keys()
    assert [grown[k]["label"] for k in scratch] == [scratch[k]["label"] for k in scratch]


def test_new_nodes_come_with_attributes_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    both = [f"{node},{'left' if node % 2 else 'right'},{node % 5}\n" for node in range(34)]
    Path("nodes.csv").write_text("node,side,size\n" + "".join(both))
    Path("nodes2.csv").write_text("node,size,side,hat\n40,2,left,x\n0,9,left,x\n")
    Path("new.csv").write_text("source,target\n40,1\n40,41\n")
    words = ("edges.csv", "--nodes", "nodes.csv", "--labels", "labels.csv", "-o", "o.csv", "--method", "own")
    code, out, _ = run(capsys, *words, "--extend", "new.csv", "--extend-nodes", "nodes2.csv")
    assert code == 0
    assert "0 edges and 1 node joined\n  2 edges and 1 node joined" in out
    found = {row["node"]: row for row in rows("o.csv")}
    assert found["40"]["label"] == found["7"]["label"], "by their attributes alone they are the same"
    assert found["40"]["probability"] == found["7"]["probability"]


@pytest.mark.slow
def test_columns_are_named_and_a_data_set_is_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("edges.csv").read_text().splitlines()[1:]
    Path("pay.csv").write_text("n,a,b\n" + "".join(f"{k},{line}\n" for k, line in enumerate(lines)))
    ends = ("--source", "a", "--target", "b")
    assert run(capsys, "pay.csv", *ends, "--labels", "labels.csv", "-o", "a.csv", "--parallel", "sum")[0] == 0
    assert run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "b.csv")[0] == 0
    assert run(capsys, "karate", "--labels", "labels.csv", "-o", "c.csv")[0] == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text() == Path("c.csv").read_text()
    code, out, _ = run(capsys, "karate", "-o", "d.csv")
    assert code == 0
    assert "34 labels of the nodes themselves" in out
    assert "every node has its label already" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.csv", "--labels", "labels.csv", "-o", "o.csv"), "none.csv: no such file"),
        (("edges.csv", "--labels", "none.csv", "-o", "o.csv"), "none.csv: no such file"),
        (("edges.csv", "--labels", "labels.csv", "-o", "o.doc"), "o.doc: cannot tell the format"),
        (("edges.csv", "--labels", "labels.csv", "-o", "no/o.csv"), "there is no folder"),
        (
            ("edges.csv", "--labels", "labels.csv", "-o", "o.csv", "--report", "r.txt"),
            "a report is an HTML page",
        ),
        (
            ("edges.csv", "--labels", "bad.csv", "-o", "o.csv"),
            "bad.csv, line 3: node 'zed' is not in the graph",
        ),
        (("edges.csv", "--labels", "labels.csv", "-o", "o.csv", "--method", "magic"), "magic"),
        (("edges.csv", "--labels", "labels.csv"), "Missing option '--out'"),
        (
            ("edges.csv", "--labels", "labels.csv", "-o", "./edges.csv"),
            "edges.csv is read, and would be lost",
        ),
        (("signed.csv", "--labels", "labels.csv", "-o", "o.csv"), "the first -3 between 0 and 1"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text("node,label\n1,a\nzed,b\n")
    Path("signed.csv").write_text("source,target,weight\n0,1,-3\n1,2,1\n")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert message.lower() in err.lower()
    assert err.count("\n") == 1
    assert not Path("o.csv").exists()


# -- nodes that come later ----------------------------------------------------------------------------------


def test_a_saved_labelling_labels_the_nodes_that_come_later(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "edges.csv", "--labels", "labels.csv", "-o", "out.csv", "--save", "kept.npz")
    assert code == 0 and "kept.npz: the labelling, for nodes that come later" in out
    Path("more.csv").write_text("source,target\n33,new\n32,new\nnew,newer\n")
    Path("nodes.csv").write_text("node\nalone\n")
    later = ("kept.npz", "--extend", "more.csv", "--extend-nodes", "nodes.csv", "-o", "new.csv")
    code, out, _ = run(capsys, *later, "--json", "--save", "kept.npz")
    found = json.loads(out)
    assert code == 0
    assert (found["nodes"], found["new"], found["labelled"], found["saved"]) == (37, 3, 8, "kept.npz")
    assert "3 new nodes labelled by neighbours" in found["why"][-1]
    written = rows("new.csv")
    officer = load_graph("karate").labels[33]
    assert [(row["node"], row["label"]) for row in written] == [
        ("alone", ""),
        ("new", officer),
        ("newer", officer),
    ]
    Path("last.csv").write_text("source,target\nnewer,last\n")
    code, out, _ = run(capsys, "kept.npz", "--extend", "last.csv", "-o", "last_out.csv")
    assert code == 0 and "last_out.csv: 1 rows" in out
    assert rows("last_out.csv")[0]["label"] == officer


SAVED = ["edges.csv", "--labels", "labels.csv", "-o", "out.csv", "--save", "kept.npz", "--method", "walks"]


def test_labels_of_later_nodes_are_learned(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *SAVED)
    Path("more.csv").write_text("source,target\n33,new\nnew,newer\n")
    Path("known.csv").write_text("node,label\nnew,Mr. Hi\n")
    code, out, _ = run(
        capsys, "kept.npz", "--extend", "more.csv", "--labels", "known.csv", "-o", "new.csv", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert (found["labelled"], found["new"], found["method"]) == (9, 2, "walks")
    assert [row["label"] for row in rows("new.csv")] == ["Mr. Hi", "Mr. Hi"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing is new; give new edges (--extend)"),
        (("--extend", "more.csv", "--nodes", "nodes.csv"), "has its nodes; give new ones to --extend-nodes"),
        (
            ("--extend", "more.csv", "--method", "walks", "--picked"),
            "keeps its method, picked; leave that out",
        ),
        (("--extend", "more.csv", "--save", "no/where.npz"), "there is no folder no"),
    ],
)
def test_what_a_saved_labelling_has_is_not_given_again(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, *SAVED)
    Path("more.csv").write_text("source,target\n33,new\n")
    code, _, err = run(capsys, "kept.npz", "-o", "new.csv", *words)
    assert code == 2 and said in err
