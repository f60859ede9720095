"""A store of events in one SQLite file, and the journal of `ask`: a file with one campaign.

A campaign can be copied into another store, and what is whole of it into a new file.

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
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self
from weakref import WeakSet

from querist.asking.store.events import (
    CampaignEntry,
    Damage,
    Event,
    StoreDamagedError,
    StoredEvent,
    StoreError,
    UnreadableError,
)
from querist.asking.store.sql import SQLITE, VERSION, EventStore, KeyTakenError, Statement, check_version
from querist.asking.store.wal import read_log
from querist.atomic import checked_path, replacing
from querist.errors import InputError

APPLICATION = 0x51535254
"""Marks the file as ours, whatever its name."""

PATIENCE = 2.0
"""Seconds to wait for a process that is just ending, where the file is wanted alone."""

QUEUE = 30.0
"""Seconds to wait for other writers of a file that is shared."""

_OPEN = WeakSet["SqliteStore"]()
"""The stores of this process. Their files are read by SQLite alone: to close such a file drops its locks."""
_OPENING = threading.Lock()

_MAGIC = b"SQLite format 3\0"


class SqliteStore(EventStore):
    """Campaigns in one file; without a path in memory, lost with the process.

    `alone` holds the file: a second process is refused. Otherwise processes share it.

    >>> from querist.asking.store.events import Draft
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
        self.path = None if path is None else checked_path(path).expanduser()
        super().__init__("the journal in memory" if self.path is None else str(self.path), clock)
        self._alone = alone or path is None
        self._lock = threading.RLock()
        self._sound = threading.Event()
        """Set once SQLite has looked the file through."""
        if self.path is not None:
            _check_place(self.path)
            with _OPENING:
                others = (each.path for each in _OPEN if each.path and each.path.exists())
                if not (self.path.exists() and any(map(self.path.samefile, others))):
                    _check_file(self.path)
                _OPEN.add(self)
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        """A connection, with the tables there."""
        with self._explained():
            connection = sqlite3.connect(
                ":memory:" if self.path is None else str(self.path),
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
                if run("PRAGMA user_version").fetchone()[0] == 0:
                    # Before there is a write-ahead log: the marks are then in the file's first bytes.
                    for statement in SQLITE:
                        run(statement)
                    run(f"PRAGMA application_id = {APPLICATION}")
                    run(f"PRAGMA user_version = {VERSION}")
                run("COMMIT")
                run("PRAGMA journal_mode = WAL")
                run("PRAGMA synchronous = FULL")
            except BaseException:
                connection.close()
                _OPEN.discard(self)
                raise
        return connection

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, self._explained():
            return self._connection.execute(sql, values).fetchall()

    def _commit(self, statements: Iterable[Statement]) -> None:
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

    def _missing(self, campaign: str, last: int) -> str | None:
        """Also what SQLite finds: a page that counts one row less hides the newest event."""
        if not self._sound.is_set():
            with self._lock, self._explained():
                (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                return f"it may be missing: the file is damaged ({found})"
            self._sound.set()
        return super()._missing(campaign, last)

    @contextlib.contextmanager
    def at_one_moment(self) -> Iterator[Self]:
        """See `EventStore`."""
        with self._explained(), self._reader() as connection:
            seen = copy(self)
            seen._connection = connection
            connection.execute("BEGIN")
            try:
                yield seen
            finally:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own, for which nobody waits; if the file is held, others do wait."""
        if self._alone:
            with self._lock:
                yield self._connection
        else:
            own = sqlite3.connect(self.place, timeout=QUEUE, isolation_level=None)
            with contextlib.closing(own):
                yield own

    def backup(self, path: str | PathLike[str]) -> None:
        """See `EventStore`."""
        target = Path(path).expanduser()
        if target.exists():
            raise InputError(f"{target} exists already; give a name that is free")
        with (
            self._explained(),
            self._reader() as source,
            replacing(target) as file,
            contextlib.closing(sqlite3.connect(file.name, isolation_level=None)) as copy,
        ):
            source.backup(copy)

    def close(self) -> None:
        """See `EventStore`."""
        with self._lock:
            self._connection.close()
            _OPEN.discard(self)

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


def _check_file(path: Path) -> None:
    """Refuse a file that is neither a store of this version nor empty.

    Only bytes are read: SQLite would write into a file just to look at it.
    """
    if not path.is_file():
        if path.exists():
            raise StoreError(f"{path}: {_ADVICE['SQLITE_CANTOPEN']}")
        return
    try:
        with path.open("rb") as file:
            header = file.read(100)
        log = read_log(path)
    except OSError as error:
        raise StoreError(f"{path}: {_ADVICE['SQLITE_CANTOPEN']} ({error})") from error
    if log is not None:
        if log.damaged is not None:
            raise UnreadableError(
                f"{path}: its write-ahead log {path.resolve().name}-wal is damaged at frame {log.damaged} "
                "(0: the header), and SQLite would drop every answer from there on. Run `querist campaign "
                "repair`, which saves what can be read, or restore a backup"
            )
        header = log.first_page() or header
    if not header:
        return
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise StoreError(f"{path}: {_ADVICE['SQLITE_NOTADB']}")
    (schema,) = struct.unpack_from(">I", header, 40)
    version, application = struct.unpack_from(">I4xI", header, 60)
    if application != APPLICATION:
        if schema == version == application == 0:
            return  # a database in which nothing was ever made
        raise StoreError(f"{path}: a database, but no journal of querist; give another file")
    if not version:
        raise StoreError(f"{path}: {_ADVICE['SQLITE_CORRUPT']} (its version is 0)")
    check_version(str(path), version)


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


class StoredCampaign(NamedTuple):
    """A campaign by its id, with the events that it had when it was opened, all checked.

    Without an event it is made with the first one, under this name.
    """

    store: EventStore
    id: str
    name: str
    events: list[Event]

    @staticmethod
    def of(store: EventStore, entry: CampaignEntry) -> "StoredCampaign":
        """A campaign that is there."""
        return StoredCampaign(store, entry.id, entry.name, store.check(entry.id))

    def __enter__(self) -> "StoredCampaign":
        return self

    def __exit__(self, *problem: object) -> None:
        self.store.close()


def only_campaign(path: str | PathLike[str] | None = None) -> StoredCampaign:
    """The campaign of a journal, which is a store with no other, or a new one; in memory without a path.

    One process writes at a time: it holds the file until it closes the store or ends.
    """
    store = SqliteStore(path, alone=True)
    try:
        found = store.campaigns()
        if len(found) > 1:
            raise StoreError(
                f"{store.place}: it holds {len(found)} campaigns, and a journal has one; "
                "`querist serve` opens them all, or give another file"
            )
        if found:
            return StoredCampaign.of(store, found[0])
        name = "in memory" if store.path is None else store.path.stem
        return StoredCampaign(store, secrets.token_hex(6), name, [])
    except BaseException:
        store.close()
        raise


# -- a campaign out of its store -----------------------------------------------------------------------------


def move(source: EventStore, target: EventStore, campaign: str) -> int:
    """Copy a campaign, its events byte for byte, into another store; how many events there are.

    The names of people, the replies and the files go with it. Tokens do not: they open a store.
    """
    entry = source.entry(campaign)
    with source.at_one_moment() as seen:
        rows = [row for row, _ in seen.verified(campaign)]
        beside = seen.replies(campaign, len(rows)), seen.sources(campaign), seen.people(campaign)
    target.take(entry, rows, *beside)
    return len(rows)


def repair(store: EventStore, campaign: str, place: str | PathLike[str]) -> Damage | None:
    """Write everything before the first damage into a new file, which can be gone on with.

    The first damage is returned, None if there is none; the store stays as it is.
    """
    path = Path(place).expanduser()
    if path.exists():
        raise InputError(f"{path} exists already; give a name that is free")
    entry, lost = None, None
    try:
        entry = store.entry(campaign)
    except StoreDamagedError as problem:
        lost = problem.damage
    damage, rows, *beside = _readable(store, campaign)
    if damage is not None:  # a second reading may confirm more
        again = _readable(store, campaign)
        if again[0] is None or len(again[1]) > len(rows):
            damage, rows, *beside = again
    if not rows:
        raise StoreError(
            f"{store.place}: nothing of campaign {campaign} can be saved; its first event is damaged"
        )
    with SqliteStore(path, alone=True) as saved:
        saved.take(entry or CampaignEntry(campaign, campaign, rows[0].at), rows, *beside)
    return lost or damage


def _readable(store: EventStore, campaign: str) -> tuple[Any, ...]:
    """The first damage of a campaign, the events before it, and what lies beside them, at one moment."""
    damage: Damage | None = None
    rows: list[StoredEvent] = []
    with store.at_one_moment() as seen:
        try:
            for row, _ in seen.verified(campaign):
                rows.append(row)
        except StoreDamagedError as problem:
            damage = problem.damage
        replies = _if_readable(lambda: seen.replies(campaign, len(rows)))
        sources = _if_readable(lambda: seen.sources(campaign))
        people = _if_readable(lambda: seen.people(campaign))
    return damage, rows, replies, sources, people


def _if_readable(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What lies beside the log is not worth losing the log for."""
    try:
        return read()
    except UnreadableError:
        return {}
