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
    with screen.progress(clock=lambda: clock[0]) as show:
        for k, clock[0] in enumerate([1.0, 3.0, 4.0, 14.0]):
            show("runs", k / 4, f"{k} of 4")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["querist: runs  25% 1 of 4", "querist: runs  75% 3 of 4"]


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


HEAD = ("class", "given", "recall")


def test_a_table_wider_than_the_screen_wraps_and_loses_nothing(capsys, monkeypatch):
    rows = [("a long class of two", "1,234", "0.94 (0.64\u20130.99)"), ("b", "2", "0.50 (0.10\u20130.90)")]
    monkeypatch.setenv("COLUMNS", "24")
    screen.print_table(HEAD, rows)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 24
    words = set(shown.split())
    assert {"class", "given", "recall", "two", "1,234", "0.94", "b", "0.50"} <= words
    assert "\u2026" not in shown


def test_a_table_that_fits_keeps_every_row_on_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    screen.print_table(HEAD, [("a long class", "1,234", "0.94 (0.64\u20130.99)")])
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_json_has_no_nan(capsys, bad):
    screen.print_json({"a": [bad, 1.5], 2: (True, None)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "2": [True, None]}
