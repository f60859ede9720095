"""Standard streams that are closed or full: a plain line, an exit code, and nothing else is touched."""

import os
import subprocess
import sys

import pytest

from querist.version import VERSION

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs a shell")]

FULL = "querist: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("querist --version >/dev/full", 2, "", FULL),
        ("querist datasets --json >/dev/full", 2, "", FULL),
        ("querist datasets >&-", 0, "", ""),
        ("querist nothing 2>&-", 2, "", ""),
        ("querist nothing 2>/dev/full", 2, "", ""),
        ("querist --version <&- 2>&- | cat", 0, f"querist {VERSION}\n", ""),
    ],
)
def test_a_stream_that_takes_nothing(tmp_path, line, code, out, err):
    script = f'querist() {{ {sys.executable} -m querist "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("ask", "karate", "--classes", "a,b"), "there is no standard input to answer at: it is closed;"),
        (
            ("evaluate", "stream", "-"),
            "there is no standard input to read lines from: it is closed; give a file",
        ),
        (("label", "-", "--out", "o.csv"), "there is no standard input to read edges from; give a file"),
    ],
)
def test_what_reads_the_input_needs_one(querist, tmp_path, monkeypatch, arguments, what):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    ran = querist(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"querist: {what}")
    assert os.listdir(tmp_path) == [], "found before anything is begun"


LONG = "x" * 245
"""A name that fits, but not with the ending of what is written beside it."""


@pytest.mark.parametrize(
    ("line", "ending"),
    [
        ("ask none.csv --classes a,b --journal j", ".csv"),
        ("ask none.csv --oracle none.csv", ".csv"),
        ("label none.csv", ".csv"),
        ("label none.csv --out labels.csv --report", ".html"),
        ("label none.csv --out labels.csv --save", ".npz"),
        ("embed none.csv", ".npy"),
        ("evaluate stream - --save", ".npz"),
        ("campaign export --store none.db", ".csv"),
    ],
)
def test_a_place_that_cannot_be_written_is_found_first(querist, tmp_path, monkeypatch, line, ending):
    monkeypatch.chdir(tmp_path)
    option = () if line.endswith(("--report", "--save")) else ("--out",)
    ran = querist(*line.split(), *option, LONG + ending)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(f"{ending}: cannot be written (File name too long); name another place\n")
    assert os.listdir(tmp_path) == [], "nothing is begun, and nothing is left"


def test_a_folder_that_cannot_be_written_is_found_first(querist, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(
        'task = "online"\ndataset = "karate"\nrepeats = 3\n[[experiment]]\nmethod = "msg"\n'
    )
    (tmp_path / "taken").touch()
    ran = querist("experiment", "mine.toml", "--out", "taken")
    assert (ran.code, ran.err) == (2, "querist: taken is a file; name a folder for the results\n")
    ran = querist("experiment", "mine.toml", "--out", "/proc/none")
    assert ran.code == 2
    assert ran.err.startswith("querist: /proc/none: ")
