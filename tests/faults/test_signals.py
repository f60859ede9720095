"""Signals that ask a command to end: it tidies up, says what is kept, and its exit code names the signal."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)


@pytest.fixture
def edges(tmp_path):
    """A file of edges that takes a while to ask about."""
    ends = ((k, (k * step + 1) % 400) for k in range(400) for step in (1, 7))
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in ends))
    (tmp_path / "labels.csv").write_text(
        "node,label\n" + "".join(f"{k},{'ab'[k < 200]}\n" for k in range(400))
    )
    return tmp_path


def seen(terminal, text, before=""):
    """What is shown until this is shown."""
    while text not in before:
        assert select.select([terminal], [], [], 120)[0], before
        before += os.read(terminal, 4096).decode()
    return before


@pytest.mark.slow
@SIGNALS
def test_a_person_is_interrupted(start, edges, number):
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(theirs)
    command = start("ask edges.csv --classes a,b", streams=[os.ttyname(theirs)] * 3)
    seen(ours, "> ")
    os.write(ours, b"a")
    seen(ours, "> ", seen(ours, "kept").partition("kept")[2])
    while termios.tcgetattr(theirs) == mode:  # it waits for a key
        time.sleep(0.01)
    command.signal(number)
    shown = seen(ours, f"querist: stopped by {number.name}")
    assert "querist: every answer is kept in edges.journal; the same command goes on from there" in shown
    assert command.wait() == 128 + number
    assert termios.tcgetattr(theirs) == mode
    os.close(theirs)
    os.close(ours)


def test_the_terminal_is_closed(start, ran, edges):
    ours, theirs = pty.openpty()
    command = start("ask edges.csv --classes a,b", streams=[os.ttyname(theirs)] * 3)
    seen(ours, "> ")
    os.write(ours, b"a")
    seen(ours, "> ", seen(ours, "kept").partition("kept")[2])
    os.close(theirs)
    os.close(ours)
    assert command.wait() == 128 + signal.SIGHUP
    assert "Going on after 1 answer" in ran("ask edges.csv --classes a,b").out


@SIGNALS
def test_a_program_is_interrupted(start, edges, number):
    line = "ask edges.csv --oracle labels.csv --budget 400 --journal kept --strategy random -o out.csv"
    command = start(line)
    while command.out.count("\n") < 3:
        assert not command.ended(), command.err
        time.sleep(0.01)
    command.signal(number)
    assert command.wait() == 128 + number
    assert command.err.splitlines() == [
        "querist: every answer is kept in kept; the same command goes on from there",
        f"querist: stopped by {number.name}",
    ]
    assert not (edges / "out.csv").exists()


def test_an_experiment_is_interrupted(start, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'task = "online"\ndataset = "karate"\nrepeats = 4000\n[[experiment]]\nmethod = "msg"\n'
    )
    command = start("experiment mine.toml --processes 1 --out out")
    while not list(tmp_path.glob("out/results/*.jsonl")):
        assert not command.ended(), command.err
        time.sleep(0.01)
    command.signal(signal.SIGTERM)
    assert command.wait() == 128 + signal.SIGTERM
    assert command.err.endswith(
        "querist: finished runs are kept in out; run the command again to go on\n"
        "querist: stopped by SIGTERM\n"
    )


def test_a_labelling_that_is_interrupted_leaves_nothing(start, edges):
    os.mkfifo(edges / "slow.csv")
    command = start("label - --labels labels.csv -o out.csv", streams=["slow.csv", "said.txt", "err.txt"])
    with (edges / "slow.csv").open("w") as slow:
        slow.write("source,target\n" + 20_000 * "1,2\n")  # more than a pipe holds: it reads
        slow.flush()
        command.signal(signal.SIGTERM)
        assert command.wait() == 128 + signal.SIGTERM
    assert (edges / "err.txt").read_text() == "querist: stopped by SIGTERM\n"
    assert not (edges / "out.csv").exists()


DESTROYED = """
import os, signal, time
from querist.cli import app, entry

class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

@app.app.command()
def forever() -> None:
    Destroyed()
    time.sleep(60)
    print("the signal was lost")

raise SystemExit(entry.main(["forever"]))
"""


def test_a_signal_that_comes_while_an_object_is_destroyed_is_not_lost():
    run = subprocess.run([sys.executable, "-c", DESTROYED], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (143, "", "querist: stopped by SIGTERM\n")


FORKED = """
import multiprocessing, time
from querist.cli import app, entry

@app.app.command()
def pooled() -> None:
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    time.sleep(0.5)
    worker.terminate()
    worker.join()
    print(worker.exitcode)

raise SystemExit(entry.main(["pooled"]))
"""


@pytest.mark.slow
def test_workers_that_a_library_forks_end_without_a_word():
    """As those of scikit-network do after every fit."""
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{-signal.SIGTERM}\n", "")


def test_who_ignores_a_signal_goes_on(commands, start, edges):
    line = "ask edges.csv --oracle labels.csv --budget 20 --journal kept --strategy random -o out.csv"
    command = start(line, ignored=signal.SIGHUP)
    while command.out.count("\n") < 3:
        assert not command.ended(), command.err
        time.sleep(0.01)
    command.signal(signal.SIGHUP)
    assert command.wait() == 0
