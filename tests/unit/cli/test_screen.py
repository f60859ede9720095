"""Progress and JSON."""

import io
import json

import pytest

from querist.cli import screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_silent_at_first_off_a_terminal(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(screen, "QUIET_SECONDS", 2.0)
    monkeypatch.setattr(screen, "BEAT", 3600.0)  # nobody but this test looks at the clock
    with screen.progress(clock=lambda: clock[0]) as show:
        for k, clock[0] in enumerate([1.0, 3.0, 4.0, 14.0]):
            show("runs", k / 4, f"{k} of 4")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["querist: runs  25% 1 of 4", "querist: runs  75% 3 of 4"]


def test_a_step_that_says_nothing_is_said_again_off_a_terminal(capsys, monkeypatch):
    for name in ("BEAT", "QUIET_SECONDS", "LINE_SECONDS"):
        monkeypatch.setattr(screen, name, 0.001)
    err = ""
    with screen.progress() as show:
        show("reading", 0.0, "edges.csv")
        while err.count("querist: reading   0% edges.csv\n") < 3:
            err += capsys.readouterr().err
    quiet = capsys.readouterr().err
    assert set(quiet.splitlines()) <= {"querist: reading   0% edges.csv"}


def test_progress_bars_on_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with screen.progress(keep=True) as show:
        show("embedding", 0.5, "[bold]half")
        show("runs", 1.0, "all")
    assert "[bold]half" in terminal.getvalue()
    assert "runs" in terminal.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_json_has_no_nan(capsys, bad):
    screen.print_json({"a": [bad, 1.5], 2: (True, None)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "2": [True, None]}
