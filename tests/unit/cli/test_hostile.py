"""What files hold is shown, never obeyed: by a terminal, by a spreadsheet, by whoever renders Markdown."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.cli import screen
from querist.experiment.tables import Table, comma_separated
from querist.tables.output import save

CLEAR, BELL, TURNED, LINE = "\x1b[2J", "\x07\x9b31m", "\u202etxt.exe", "a\n1 b: y"
NODES = [CLEAR, BELL, TURNED, LINE, "plain", "\x1b]0;title\x07"]
CLASSES = ["\x1b[31mred", "b\x85lue\u2028"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edges = [(NODES[k], NODES[(k + 1) % len(NODES)]) for k in range(len(NODES))]
    labels = [(node, CLASSES[k % 2]) for k, node in enumerate(NODES)]
    texts = [(node, f"{CLEAR} of {node}") for node in NODES]
    for name, head, rows in (
        (CLEAR, ("source", "target"), edges),
        ("labels", ("node", "label"), labels),
        ("nodes", ("node", "about"), texts),
    ):
        pq.write_table(
            pa.table(dict(zip(head, zip(*rows, strict=True), strict=True))), tmp_path / f"{name}.parquet"
        )
    return tmp_path


def obeyed(text):
    """The characters in it that a terminal would not show."""
    return {letter for letter in text if ord(letter) in screen.UNSEEN and letter != "\n"}


def test_a_program_reads_a_line_an_answer(querist, files):
    ran = querist("ask", f"{CLEAR}.parquet", "--oracle", "labels.parquet", "--budget", "6", "--journal", "j")
    assert ran.code == 0, ran.err
    assert obeyed(ran.out + ran.err) == set()
    answers = ran.out.splitlines()[:6]
    assert [int(line.split()[0]) for line in answers] == [1, 2, 3, 4, 5, 6]
    assert any("a\\n1 b: y: " in line for line in answers)
    assert "\\x1b[2J.labelled.csv" in ran.out


def test_a_person_sees_them_escaped(querist, files, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("more\n\n\\x1b\nm\nb\nskip\nu\nq\n"))
    ran = querist(
        "ask",
        f"{CLEAR}.parquet",
        "--nodes",
        "nodes.parquet",
        "--classes",
        ",".join(CLASSES),
        "--journal",
        "j",
    )
    assert ran.code == 0, ran.err
    assert obeyed(ran.out + ran.err) == set()
    assert "\\x1b[31mred: kept" in ran.out
    assert "\\x1b[2J of " in ran.out


def test_labelling_shows_classes_and_errors_escaped(querist, files):
    ran = querist("label", f"{CLEAR}.parquet", "--labels", "labels.parquet", "-o", "out.parquet")
    assert ran.code == 0, ran.err
    assert obeyed(ran.out + ran.err) == set()
    assert "\\x1b[31mred" in ran.out
    kept = pq.read_table(files / "out.parquet")["node"].to_pylist()
    assert set(kept) == set(NODES), "a file holds them as they are"
    ran = querist("label", "\x1b[31mno.csv", "-o", "out.csv")
    assert ran.code == 2
    assert obeyed(ran.err) == set()
    assert "\\x1b[31mno.csv" in ran.err


def test_progress_shows_names_escaped(capsys, monkeypatch):
    monkeypatch.setattr(screen, "QUIET_SECONDS", 0.0)
    with screen.progress() as show:
        show("reading", 0.0, f"{CLEAR}.csv")
    assert capsys.readouterr().err.splitlines()[0] == "querist: reading   0% \\x1b[2J.csv"


# -- a spreadsheet ------------------------------------------------------------------------------------------

RUN = ["=1+1", "+1", "-1", "@x", "\uff1dx", "a=b"]
HARMLESS = ["'=1+1", "'+1", "'-1", "'@x", "'\uff1dx", "a=b"]


@pytest.mark.parametrize(("safe", "cells"), [(False, RUN), (True, HARMLESS)])
def test_a_table_is_safe_where_that_is_wished(tmp_path, safe, cells):
    save(pa.table({"node": RUN, 'p_"a,b"': [-1.5] * 6}), tmp_path / "t.csv", safe=safe)
    head, *lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert head == 'node,"p_""a,b"""'
    assert lines == [f"{cell},-1.5" for cell in cells]
    save(pa.table({"node": RUN}), tmp_path / "t.parquet", safe=safe)
    assert pq.read_table(tmp_path / "t.parquet")["node"].to_pylist() == RUN


@pytest.mark.parametrize("options", [("label", "--labels"), ("ask", "--budget", "2", "--oracle")])
def test_safe_csv_is_an_option(querist, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\n=1+1,b\nb,c\nc,=1+1\n")
    (tmp_path / "labels.csv").write_text("node,label\n=1+1,@x\nc,y\nb,y\n")
    verb, *others = options
    for safe, cell in (("--safe-csv", "'=1+1,"), (None, "=1+1,")):
        line = [verb, "edges.csv", *others, "labels.csv", "-o", "out.csv", *([safe] if safe else [])]
        assert querist(*line).code == 0
        assert sum(row.startswith(cell) for row in (tmp_path / "out.csv").read_text().splitlines()) == 1


def test_tables_of_an_experiment_are_harmless():
    table = Table("<b>t</b>", ["=a", "b|c"], [["<script>alert(1)</script>", 0.5]], "[x](y)\n<i>")
    assert comma_separated(table) == "'=a,b|c\n<script>alert(1)</script>,0.5\n"
    text = table.markdown()
    assert "<" not in text
    assert "|&lt;script&gt;alert(1)&lt;/script&gt;" in text.replace(" ", "")
    assert "\\[x](y) &lt;i&gt;" in text
    assert r"b\|c" in text
