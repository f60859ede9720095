"""Commands that can be disturbed, started without the seconds that a new process takes to read everything."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture
def small_disk():
    """`with small_disk(place, kilobytes) as only_read`: a disk that is full soon, where one may be mounted;
    `only_read(True)` lets nobody write there."""
    return _small_disk


@contextmanager
def _small_disk(place, kilobytes):
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk takes the right to mount one")

    def only_read(wished):
        how = f"remount,{'ro' if wished else 'rw'}"
        subprocess.run(["mount", "-o", how, str(place)], capture_output=True, check=True)

    try:
        yield only_read
    finally:
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=True)


class Command:
    """A `querist` command under way; `out` and `err` are what it has said."""

    def __init__(self, server, folder, id, streams):
        self.server, self.folder, self.id, self.streams, self.code = server, folder, id, streams, None

    def signal(self, number=signal.SIGKILL):
        if not self.ended():  # until that is asked its number is its own
            os.kill(self.id, number)

    def ended(self):
        """Whether it has."""
        if self.code is None:
            self.code = self.server.ask({"wait": self.id, "now": True})
        return self.code is not None

    def wait(self):
        """Its exit code, when it has ended."""
        if self.code is None:
            self.code = self.server.ask({"wait": self.id})
        return self.code

    @property
    def out(self):
        return self._said(1)

    @property
    def err(self):
        return self._said(2)

    def _said(self, number):
        place = Path(self.folder, self.streams[number])
        return place.read_text(encoding="utf-8") if place.exists() else ""


class Commands:
    """Starts them, from one process that is kept."""

    def __init__(self, scratch):
        self.started, self.count = [], 0
        self.own = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("commands.py")), str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "QUERIST_THREADS": "1"},
        )
        assert self.own.stdout.readline() == "ready\n"

    def ask(self, given):
        self.own.stdin.write(f"{json.dumps(given)}\n")
        self.own.stdin.flush()
        return json.loads(self.own.stdout.readline())

    def start(
        self, line, folder, *, streams=None, size=None, user=None, ignored=None, site=None, **environment
    ):
        self.count += 1
        streams = streams or [os.devnull, f"out{self.count}.txt", f"err{self.count}.txt"]
        given = {"arguments": line.split() if isinstance(line, str) else line, "folder": str(folder)}
        given |= {"streams": streams, "size": size, "user": user, "ignored": ignored, "site": site}
        command = Command(self, folder, self.ask(given | {"environment": environment}), streams)
        self.started.append(command)
        return command

    def warm(self, line, folder):
        """Run a command in the process that is kept: those started later have its modules and kernels."""
        self.ask({"warm": line, "folder": str(folder)})

    def close(self):
        for command in self.started:
            if not command.ended():
                command.signal()
                command.wait()
        self.own.stdin.close()
        self.own.wait()


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    own = Commands(tmp_path_factory.mktemp("warm"))
    yield own
    own.close()


@pytest.fixture
def start(commands, tmp_path):
    """`start(line)`: a `querist` command in the folder of the test."""
    return lambda line, folder=tmp_path, **options: commands.start(line, folder, **options)


@pytest.fixture
def ran(start):
    """`ran(line)`: the same when it has ended."""

    def run(line, **options):
        command = start(line, **options)
        command.wait()
        return command

    return run
