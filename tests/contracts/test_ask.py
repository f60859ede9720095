"""`querist ask` killed at any moment: nothing acknowledged is lost, nothing is asked twice, nothing differs.

The processes are real and the kill is `SIGKILL`. They are forked from one that has everything loaded, so that
fifty of them take seconds.
"""

import csv
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from querist.asking.store.sqlite import only_campaign

KILLS = 50
BUDGET = 80

FORKING = """
import os, sys
import querist.asking.campaign, querist.labelling.storage
from querist.cli import main

def child(out, *arguments):
    pid = os.fork()
    if pid == 0:
        target = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(target, 1)
        os.dup2(target, 2)
        code = 1
        try:
            code = main(arguments)
        finally:
            os._exit(code)
    return pid

main(sys.argv[1:])  # compiles and loads whatever is needed
print("ready", flush=True)
for line in sys.stdin:
    pid = child(*line.rstrip("\\n").split("\\t"))
    print(pid, flush=True)
    if sys.stdin.readline() != "wait\\n":  # until then its number stays its own, dead or alive
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A graph of three groups in files: edges, nodes with text, labels."""
    folder = tmp_path_factory.mktemp("ask")
    rng = np.random.default_rng(0)
    n = 150
    group = np.arange(n) % 3
    vocabulary = [["apple", "pear", "plum"], ["wolf", "bear", "deer"], ["road", "wheel", "brake"]]
    names = ["fruit", "beast", "car"]

    def write(name, head, rows):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])

    pairs = [
        (f"n{i}", f"n{j}")
        for i in range(n)
        for j in range(i)
        if rng.random() < (0.06 if group[i] == group[j] else 0.006)
    ]
    write("edges.csv", ("source", "target"), pairs)
    text = [
        " ".join(rng.choice(vocabulary[group[i] if rng.random() < 0.7 else rng.integers(3)], 4))
        for i in range(n)
    ]
    write("nodes.csv", ("node", "text"), [(f"n{i}", text[i]) for i in range(n)])
    write("labels.csv", ("node", "label"), [(f"n{i}", names[group[i]]) for i in range(n)])
    return folder


def command(files, journal, out):
    return [
        "ask", str(files / "edges.csv"), "--nodes", str(files / "nodes.csv"), "--oracle",
        str(files / "labels.csv"), "--budget", str(BUDGET), "--audit", "5", "--journal", str(journal),
        "--method", "wvrn",
        "-o", str(out),
    ]  # fmt: skip


class Forks:
    """Runs command lines in forked processes; `kill_after` seconds, or to the end."""

    def __init__(self, *warm):
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKING, *warm],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
        while (line := self.process.stdout.readline()).strip() != "ready":
            assert line, "the forking process did not start"

    def run(self, log, arguments, kill_after=None):
        """The exit status; -9 where it was killed, when `kill_after()` returns."""
        self.process.stdin.write("\t".join([str(log), *arguments]) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if kill_after is not None:
            kill_after()
            os.kill(pid, signal.SIGKILL)
        self.process.stdin.write("wait\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def happened(journal):
    """(questions put, answers given): rows in order, and (row, code)."""
    with only_campaign(journal) as book:
        events = book.events
    questions = [event.body["row"] for event in events if event.kind == "question"]
    return questions, [(event.body["row"], event.body["code"]) for event in events if event.kind == "answer"]


ANSWERED = re.compile(r"(\d+) n\d+: \w+")
"""The line that says that an answer is safe."""


def acknowledged(text):
    """The numbers of the answers that were said to be safe."""
    return [int(found[1]) for line in text.splitlines() if (found := ANSWERED.fullmatch(line))]


def moment(log, before, took, draw):
    """Waits for some moment: a little after some answer more was said to be safe; when all are there, any."""
    if before == BUDGET:
        return lambda: time.sleep(draw.uniform(0, took))
    wanted, little = min(BUDGET, before + draw.randint(0, 4)), draw.uniform(0, 0.02)

    def wait():
        patience = time.monotonic() + 10 * took
        while time.monotonic() < patience:
            if log.exists() and len(acknowledged(log.read_text())) >= wanted:
                break
            time.sleep(0.001)
        time.sleep(little)

    return wait


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forked processes are killed")
def test_killed_at_fifty_random_moments_it_ends_as_if_never_interrupted(files, tmp_path):
    forks = Forks(*command(files, tmp_path / "warm", tmp_path / "warm.csv"))
    started = time.monotonic()
    assert forks.run(tmp_path / "whole.log", command(files, tmp_path / "whole", tmp_path / "whole.csv")) == 0
    took = time.monotonic() - started
    questions, answers = happened(tmp_path / "whole")
    assert len(answers) == BUDGET
    draw = random.Random(7)
    kills = campaigns = cut = 0
    while kills < KILLS:
        campaigns += 1
        journal, out, log = (tmp_path / f"{campaigns}{end}" for end in ("", ".csv", ".log"))
        before, again = 0, True
        while again:
            again = before < BUDGET
            status = forks.run(log, command(files, journal, out), moment(log, before, took, draw))
            kills += status == -9
            put, given = happened(journal)
            safe = acknowledged(log.read_text())
            assert len(safe) <= len(given), "an acknowledged answer was lost"
            assert len(put) - len(given) in (0, 1)
            assert (put, given) == (questions[: len(put)], answers[: len(given)])
            cut += before < len(given) < BUDGET
            before = len(given)
        status = forks.run(log, command(files, journal, out))
        assert status == 0, log.read_text()
        put, given = happened(journal)
        assert (put, given) == (questions, answers), "it asked otherwise, or twice"
        assert len({row for row, _ in given}) == len(given)
        assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    forks.close()
    assert cut > KILLS // 2, "most kills must fall among the questions"


@pytest.mark.slow
def test_two_processes_at_once_on_one_journal_are_refused(files, tmp_path):
    with only_campaign(tmp_path / "j"):
        refused = subprocess.run(
            [sys.executable, "-m", "querist", *command(files, tmp_path / "j", tmp_path / "o.csv")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert refused.returncode == 2
    assert "another process is using it" in refused.stderr
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.slow
def test_a_fresh_process_goes_on_from_a_kill(files, tmp_path):
    """Without forks: a whole process, killed when it has acknowledged some answers, and another."""
    arguments = [sys.executable, "-u", "-m", "querist", *command(files, tmp_path / "j", tmp_path / "o.csv")]
    first = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    seen = [first.stdout.readline() for _ in range(5)]
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 0, second.stderr
    numbers = [
        int(line.split()[0]) for line in second.stdout.splitlines() if line[:1].isdigit() and " n" in line
    ]
    assert len(seen) == 5
    assert 6 <= numbers[0] < BUDGET, "it was killed among its questions"
    assert numbers == list(range(numbers[0], BUDGET + 1)), "it goes on with the very next question"
