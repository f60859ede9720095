"""Results on disk: a file of JSON lines a specification, a line a run; or in memory, without a folder.

A line holds all there is to know about one run: specification, parameters, draw, numbers, curves, seconds,
versions, machine. It is appended when the run is finished, and never changed. A process that is killed while
it writes leaves at most a last line without an end, which is cut off before the next is written; a run whose
line is not whole, or does not match its digest, was never finished. Processes that write into one folder take
turns (`taking_turns`). What another version of Querist computed, or this one from a data file that has
changed, stays in the file and is computed again.
"""

import json
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, TypeAlias

from querist.codec import SavedKind, as_line, from_line
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, digest, plain
from querist.operator.threads import cores
from querist.version import VERSION

TUNING, RUN = "tuning", "run"
LONGEST_TURN = 3600.0
"""Seconds that a process waits for others, each of which writes a few lines."""
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
Draw: TypeAlias = tuple[str, str, int]
"""Which run it is: stage, parameters as JSON, repeat."""


@dataclass(frozen=True)
class Record:
    """A finished run; `conditions` are its seconds, versions and machine, and a digest of a data file."""

    stage: str
    parameters: Mapping[str, Any]
    seed: int
    repeat: int
    outcome: Outcome
    conditions: Mapping[str, Any]

    @property
    def draw(self) -> Draw:
        """Which run it is."""
        return draw_of(self.stage, self.parameters, self.repeat)


@dataclass(frozen=True)
class Line:
    """A finished run with all that it was made from."""

    key: str
    specification: Mapping[str, Any]
    record: Record


KIND = SavedKind("experiment result", 1, Line)


def draw_of(stage: str, parameters: Mapping[str, Any], repeat: int) -> Draw:
    """The name of a run within its specification."""
    return stage, json.dumps(plain(parameters), sort_keys=True), repeat


class Store:
    """The results in a folder, `KEY.jsonl` each; without a folder they are gone with this object.

    >>> store = Store("results")
    >>> store.path(Specification("online", "karate", "msg")).suffix
    '.jsonl'
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._kept: dict[str, dict[Draw, Record]] = {}

    def path(self, spec: Specification) -> Path:
        """The file of a specification."""
        if self.folder is None:
            raise InputError("this store is in memory; give it a folder to keep results in files")
        return self.folder / f"{spec.key}.jsonl"

    def read(self, spec: Specification) -> dict[Draw, Record]:
        """Every run that this version of Querist finished on data as they are now.

        Lines that are not whole are passed over.
        """
        if self.folder is None:
            return dict(self._kept.get(spec.key, {}))
        found: dict[Draw, Record] = {}
        path, data = self.path(spec), digest(spec)
        if path.is_file():
            for line in path.read_bytes().split(b"\n")[:-1]:
                with suppress(InputError):  # not whole, changed, or no line of ours
                    record = from_line(KIND, line).record
                    of = record.conditions
                    if of["versions"]["querist"] == VERSION and of.get("data", "") == data:
                        found.setdefault(record.draw, record)
        return found

    def append(self, spec: Specification, record: Record) -> None:
        """Keep a finished run."""
        if self.folder is None:
            self._kept.setdefault(spec.key, {})[record.draw] = record
            return
        path = self.path(spec)
        self.folder.mkdir(parents=True, exist_ok=True)
        data = as_line(KIND, Line(spec.key, spec.as_dict(), record)) + b"\n"
        with path.open("ab+", buffering=0) as file, taking_turns(path):
            whole = _mend(file)
            try:
                while data:
                    data = data[file.write(data) :]
            except OSError as problem:  # the disk is full
                file.truncate(whole)
                problem.filename = str(path)
                raise


@contextmanager
def taking_turns(path: Path) -> Iterator[None]:
    """One process at a time with a file or folder; its lock goes with its process.

    >>> with taking_turns(Path(".")):
    ...     print("alone")
    alone
    """
    try:
        import fcntl
    except ImportError:  # Windows
        with _locked_by_sqlite(path):
            yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _locked_by_sqlite(path: Path) -> Iterator[None]:
    """The same by an empty database beside it: SQLite knows the locks of every system."""
    lock = sqlite3.connect(f"{path}.lock", timeout=LONGEST_TURN, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()


def _mend(file: IO[bytes]) -> int:
    """Cut off what a killed process left of a line; the bytes that are whole."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            size = file.read().rfind(b"\n") + 1
            file.truncate(size)
    return size


@cache
def versions() -> dict[str, str]:
    """Under which a number came about: of Python, of Querist and of what it computes with."""
    packages = {package: version(package) for package in _PACKAGES}
    return {"python": platform.python_version(), "querist": VERSION, **packages}


@cache
def machine() -> dict[str, str | int]:
    """Processor, cores that this process may use, and system; not the machine's name."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def conditions() -> dict[str, Any]:
    """The machine and the versions of the libraries that results come from.

    >>> "numpy" in conditions()
    True
    """
    return {**machine(), **versions()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
