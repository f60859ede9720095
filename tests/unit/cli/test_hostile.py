"""What files hold is shown, never obeyed: by a terminal, by a spreadsheet, by whoever renders Markdown."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.cli import screen

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
