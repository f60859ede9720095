"""What happened, in the order it happened: events appended to one SQLite file, and never changed.

A journal is the memory of a campaign of questions; whatever else is known of it is computed by replaying
the events. `append` returns when the event is on the disk (write-ahead log, synchronous), so what was
acknowledged survives a kill at any moment; what was cut short never happened. One process writes at a time:
it holds the file until it closes it or ends, and a second one is refused.

The file is a plain SQLite database with the table `events(id, at, kind, body)`: `at` in seconds since 1970,
`body` JSON. Triggers refuse to change or remove an event.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from querist.errors import QueristError

APPLICATION = 0x51535254
"""Marks the file as a journal of querist, whatever its name."""

VERSION = 1
"""Of the tables. A journal of a newer version is refused."""

PATIENCE = 2.0
"""Seconds to wait for a process that is just ending."""

IN_MEMORY = ":memory:"

_TABLES = (
    "CREATE TABLE events ("
    "id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)",
    "CREATE TRIGGER kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never removed'); END",
    "CREATE TRIGGER fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class JournalError(QueristError, OSError):
    """A journal that cannot be opened, read or written."""

    # OSError would print a number in front of the text.
    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Event:
    """The `seq`-th thing that happened, when, of which kind, and what there is to say about it."""

    seq: int
    at: float
    kind: str
    body: Mapping[str, Any]


class Journal:
    """An append-only file of events; without a path it is kept in memory and lost with the process.

    >>> with Journal() as journal:
    ...     _ = journal.append("answer", row=3, code=1)
    ...     [(event.kind, event.body["row"]) for event in journal.events()]
    [('answer', 3)]
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path).expanduser()
        if self.path is not None:
            _check_place(self.path)
        with self._explained():
            self._connection = sqlite3.connect(
                IN_MEMORY if self.path is None else str(self.path),
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def append(self, kind: str, **body: Any) -> Event:
        """Write an event; it is on the disk when this returns."""
        at = time.time()
        text = json.dumps(body, allow_nan=False)
        with self._explained():
            cursor = self._connection.execute(
                "INSERT INTO events (at, kind, body) VALUES (?, ?, ?)", (at, kind, text)
            )
        assert cursor.lastrowid is not None
        return Event(cursor.lastrowid, at, kind, json.loads(text))

    def events(self) -> list[Event]:
        """All events, in order."""
        with self._explained():
            rows = self._connection.execute("SELECT id, at, kind, body FROM events ORDER BY id").fetchall()
        return [Event(id, at, kind, json.loads(body)) for id, at, kind, body in rows]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- inside ------------------------------------------------------------------

    def _prepare(self) -> None:
        """Take the file for this process alone, and make or check its tables."""
        run = self._connection.execute
        # Before anything is read: then no second process can come in between.
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")
        marks = (run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0])
        tables = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if marks == (0, 0) and not tables:
            for statement in _TABLES:
                run(statement)
        elif marks[0] != APPLICATION:
            raise JournalError(f"{self.path}: a database, but no journal of querist; give another file")
        elif marks[1] > VERSION:
            raise JournalError(
                f"{self.path}: a journal of version {marks[1]}, this querist reads up to {VERSION}; update it"
            )
        run("COMMIT")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite says, in words that tell what to do."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise JournalError(f"{self._name}: it is closed; open it again") from None
        except sqlite3.Error as error:
            raise JournalError(f"{self._name}: {_advice(error)}") from error

    @property
    def _name(self) -> str:
        return "the journal in memory" if self.path is None else str(self.path)


def _check_place(path: Path) -> None:
    """SQLite would say of a place that cannot be written that the disk fails."""
    if not path.parent.is_dir():
        raise JournalError(f"{path}: there is no folder {path.parent}; make it first")
    effective = os.access in os.supports_effective_ids
    for place in (path.parent, path) if path.exists() else (path.parent,):
        if not os.access(place, os.W_OK, effective_ids=effective):
            raise JournalError(f"{path}: {_ADVICE['SQLITE_READONLY']}")


_ADVICE = {
    "SQLITE_BUSY": "another process is using it; let that one end, or give another journal",
    "SQLITE_LOCKED": "another process is using it; let that one end, or give another journal",
    "SQLITE_FULL": "the disk is full; no acknowledged event is lost. Make room and run the same again",
    "SQLITE_IOERR": "the disk cannot be written or read; no acknowledged event is lost. See that it has room "
    "and run the same again",
    "SQLITE_READONLY": "it cannot be written; allow writing the file and its folder, or give another journal",
    "SQLITE_CANTOPEN": "it cannot be opened; allow reading and writing the file and its folder",
    "SQLITE_PERM": "it cannot be opened; allow reading and writing the file and its folder",
    "SQLITE_NOTADB": "it is no journal of querist; give another file",
    "SQLITE_CORRUPT": "it is damaged; copy it away and recover its table `events` with the sqlite3 program",
    "SQLITE_CONSTRAINT": "events are never changed or removed",
}


def _advice(error: sqlite3.Error) -> str:
    """By SQLite's name of the error; extended names begin with the plain one."""
    name = getattr(error, "sqlite_errorname", "") or ""
    advice = next((text for known, text in _ADVICE.items() if name.startswith(known)), None)
    return f"SQLite says {error}" if advice is None else f"{advice} ({error})"
