"""A store of events in one SQLite file.

Write-ahead log, synchronous FULL: what was acknowledged survives a kill at any moment; what was cut short
never happened. A file that is not ours is refused by its first bytes, before SQLite opens it and alters it.
"""

import contextlib
import os
import secrets
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from querist.asking.store import old
from querist.asking.store.events import Damage, StoredEvent
from querist.asking.store.interface import StoreDamagedError, StoreError, UnreadableError
from querist.asking.store.schema import VERSION, statements
from querist.asking.store.sql import KeyTakenError, SqlStore, Statement
from querist.errors import InputError

APPLICATION = 0x51535254
"""Marks the file as ours, whatever its name."""

PATIENCE = 2.0
"""Seconds to wait for a process that is just ending, where the file is wanted alone."""

QUEUE = 30.0
"""Seconds to wait for other writers of a file that is shared."""

IN_MEMORY = ":memory:"

_MAGIC = b"SQLite format 3\0"


class SqliteStore(SqlStore):
    """Campaigns in one file; without a path in memory, lost with the process.

    `alone` holds the file: a second process is refused. Otherwise processes share it.

    >>> from querist.asking.store import Draft
    >>> store = SqliteStore(None)
    >>> store.create("pets", "Cats and dogs", Draft("campaign", {"classes": ["cat", "dog"]})).seq
    1
    >>> [event.seq for event in store.append("pets", 1, [Draft("question", {"row": 3})])]
    [2]
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        alone: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = None if path is None else Path(path).expanduser()
        super().__init__("the journal in memory" if self.path is None else str(self.path), clock)
        self._alone = alone or path is None
        self._lock = threading.RLock()
        self._old: sqlite3.Connection | None = None
        """A file of version 1, while nothing was written: it is held, and a copy in memory is read."""
        self._cut: Damage | None = None
        """Where the file of version 1 could be read no further."""
        self._sound = False
        """Whether SQLite has looked the file through."""
        version = 0
        if self.path is not None:
            _check_place(self.path)
            version = _version(self.path)
        if version == 1:
            assert self.path is not None
            with self._explained():
                self._old = old.held(self.path, PATIENCE)
            try:
                self._connection = self._opened(None)
                converted, self._cut = old.converted(self._old, self.path.stem)
                if self._cut is not None and not converted:
                    raise StoreDamagedError(self.place, self._cut)
                self._write_now(converted)
            except BaseException:
                self._old.close()
                raise
        else:
            self._connection = self._opened(self.path)

    def _opened(self, path: Path | None) -> sqlite3.Connection:
        """A connection, with the tables there."""
        with self._explained():
            connection = sqlite3.connect(
                IN_MEMORY if path is None else str(path),
                timeout=PATIENCE if self._alone else QUEUE,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                run = connection.execute
                if self._alone:
                    # Before anything is read: then no second process can come in between.
                    run("PRAGMA locking_mode = EXCLUSIVE")
                run("BEGIN EXCLUSIVE")
                version = run("PRAGMA user_version").fetchone()[0]
                # Before there is a write-ahead log: the marks are then in the file's first bytes.
                for statement in statements(version, "sqlite"):
                    run(statement)
                if version < VERSION:
                    run(f"PRAGMA application_id = {APPLICATION}")
                    run(f"PRAGMA user_version = {VERSION}")
                run("COMMIT")
                run("PRAGMA journal_mode = WAL")
                run("PRAGMA synchronous = FULL")
            except BaseException:
                connection.close()
                raise
        return connection

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, self._explained():
            return self._connection.execute(sql, values).fetchall()

    def _write(self, statements: Iterable[Statement]) -> None:
        with self._lock:
            if self._old is not None:
                self._replace_old()
            self._write_now(statements)

    def _write_now(self, statements: Iterable[Statement]) -> None:
        with self._lock, self._explained():
            run = self._connection.execute
            run("BEGIN IMMEDIATE")
            try:
                for sql, values in statements:
                    run(sql, values)
                run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    run("ROLLBACK")
                raise

    def _replace_old(self) -> None:
        """Put the copy in the place of the file of version 1, which is kept beside it."""
        assert self._old is not None
        assert self.path is not None
        for campaign in self.campaigns():
            self.check(campaign.id)
        with self._explained():
            try:
                old.replace(self._old, self._connection, self.path)
            except OSError as error:
                raise StoreError(f"{self.place}: {_ADVICE['SQLITE_IOERR']} ({error})") from error
            self._old = None
            self._connection.close()
        self._connection = self._opened(self.path)

    def stored(self, campaign: str, after: int = 0, limit: int | None = None) -> Iterator[StoredEvent]:
        """See `SqlStore`."""
        yield from super().stored(campaign, after, limit)
        if self._cut is not None:
            raise StoreDamagedError(self.place, self._cut)

    def _missing(self, campaign: str, last: int) -> str | None:
        """Also what SQLite finds: a page that counts one row less hides the newest event."""
        if not self._sound:
            with self._lock, self._explained():
                file = self._connection if self._old is None else self._old
                (found,) = file.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                return f"it may be missing: the file is damaged ({found})"
            self._sound = True
        return super()._missing(campaign, last)

    def backup(self, path: str | PathLike[str]) -> None:
        """See `EventStore`."""
        target = Path(path).expanduser()
        if target.exists():
            raise InputError(f"{target} exists already; give a name that is free")
        if not target.parent.is_dir():
            raise InputError(f"{target}: there is no folder {target.parent}; make it first")
        beside = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
        with self._explained(), contextlib.ExitStack() as stack:
            # A reader of its own sees one moment, and nobody waits; where the file is held, others wait.
            own = self._alone or self._old is not None
            if own:
                stack.enter_context(self._lock)
                source = self._connection
            else:
                source = stack.enter_context(contextlib.closing(sqlite3.connect(self.place, timeout=QUEUE)))
            try:
                with contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as copy:
                    source.backup(copy)
                os.link(beside, target)
            finally:
                beside.unlink(missing_ok=True)

    def close(self) -> None:
        """See `EventStore`."""
        with self._lock:
            self._connection.close()
            if self._old is not None:
                self._old.close()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite says, in words that tell what to do."""
        name = self.place
        try:
            yield
        except sqlite3.ProgrammingError:
            raise StoreError(f"{name}: it is closed; open it again") from None
        except sqlite3.IntegrityError as error:
            raise KeyTakenError from error
        except UnicodeDecodeError as error:  # what SQLite says quotes the damaged bytes
            raise UnreadableError(f"{name}: {_ADVICE['SQLITE_CORRUPT']} ({error})") from error
        except sqlite3.Error as error:
            kind = UnreadableError if _is_damage(error) else StoreError
            raise kind(f"{name}: {_advice(error)}") from error


def _check_place(path: Path) -> None:
    """SQLite would say of a place that cannot be written that the disk fails."""
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}; make it first")
    effective = os.access in os.supports_effective_ids
    for place in (path.parent, path) if path.exists() else (path.parent,):
        if not os.access(place, os.W_OK, effective_ids=effective):
            raise StoreError(f"{path}: {_ADVICE['SQLITE_READONLY']}")


def _version(path: Path) -> int:
    """The version of a file of ours, 0 where there is none yet; any other file is refused.

    Only bytes are read: SQLite would write into a file just to look at it.
    """
    if not path.is_file():
        if path.exists():
            raise StoreError(f"{path}: {_ADVICE['SQLITE_CANTOPEN']}")
        return 0
    try:
        with path.open("rb") as file:
            header = file.read(100)
        log = path.with_name(f"{path.name}-wal")
        if log.is_file():
            with log.open("rb") as file:
                header = _first_page(file.read()) or header
    except OSError as error:
        raise StoreError(f"{path}: {_ADVICE['SQLITE_CANTOPEN']} ({error})") from error
    if not header:
        return 0
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise StoreError(f"{path}: {_ADVICE['SQLITE_NOTADB']}")
    (schema,) = struct.unpack_from(">I", header, 40)
    version, application = struct.unpack_from(">I4xI", header, 60)
    if application != APPLICATION:
        if schema == version == application == 0:
            return 0  # a database in which nothing was ever made
        raise StoreError(f"{path}: a database, but no journal of querist; give another file")
    if not version:
        raise StoreError(f"{path}: {_ADVICE['SQLITE_CORRUPT']} (its version is 0)")
    if version > VERSION:
        raise StoreError(
            f"{path}: a journal of version {version}, this querist reads up to {VERSION}; update it"
        )
    return int(version)


def _first_page(log: bytes) -> bytes:
    """The beginning of the newest first page in a write-ahead log; nothing where it has none."""
    if len(log) < 32:
        return b""
    (size,) = struct.unpack_from(">I", log, 8)
    frames = range(32, len(log) - 24 - size + 1, 24 + size)
    newest = next((at for at in reversed(frames) if log[at : at + 4] == b"\0\0\0\1"), None)
    return b"" if newest is None else log[newest + 24 : newest + 124]


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
    "SQLITE_CORRUPT": "it is damaged; restore a backup, or save what the sqlite3 program can recover",
}


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite cannot make sense of a page, or Python of a text in it."""
    code = getattr(error, "sqlite_errorname", None) or ""
    return code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "decode" in str(error)


def _advice(error: sqlite3.Error) -> str:
    """By SQLite's name of the error; extended names begin with the plain one."""
    name = getattr(error, "sqlite_errorname", "") or ""
    advice = next((text for known, text in _ADVICE.items() if name.startswith(known)), None)
    return f"SQLite says {error}" if advice is None else f"{advice} ({error})"
