"""A store of events in a PostgreSQL database, which several servers share.

Its tables live in the schema `querist`. Every call takes a connection that nobody uses, or opens one more; a
store has at most `CONNECTIONS`, and a further call waits for one.
"""

import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from os import PathLike
from typing import Any

from querist.asking.store.interface import StoreError, UnreadableError
from querist.asking.store.schema import VERSION, statements
from querist.asking.store.sql import KeyTakenError, SqlStore, Statement
from querist.errors import InputError
from querist.lazy import needing

with needing("serve", "a PostgreSQL store"):
    import psycopg

SCHEMA = "querist"
# A server may be set up to acknowledge what is not on its disk.
_SETTINGS = f"SET search_path TO {SCHEMA}; SET synchronous_commit TO on"
AT_ONCE = 80
"""Statements that are sent as one."""
CONNECTIONS = 16
"""A database gives out 100 by default, to all its servers together."""
_ONE_AT_A_TIME = 0x51535254
"""The lock under which tables are made."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore(SqlStore):
    """Campaigns in the database that a URL names: `postgresql://user:password@host:port/name`."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(_place(url), clock)
        self._url = url
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self._closed = False
        with self._connection() as connection:
            _prepare(connection, self.place)

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(_placed(sql), values).fetchall()

    def _write(self, statements: Iterable[Statement]) -> None:
        own = list(statements)
        grouped = [(sql, [values for _, values in same]) for sql, same in groupby(own, key=itemgetter(0))]
        with self._connection() as connection:
            if len(own) <= AT_ONCE:
                sql = _joined(tuple((sql, len(rows)) for sql, rows in grouped))
                connection.execute(sql, [value for _, values in own for value in values])
                return
            with connection.transaction(), connection.cursor() as cursor:
                for sql, rows in grouped:
                    cursor.executemany(_placed(sql), rows)

    def backup(self, path: str | PathLike[str]) -> None:
        """See `EventStore`."""
        raise InputError(f"{self.place}: a PostgreSQL store is copied by pg_dump --schema={SCHEMA}; use that")

    def close(self) -> None:
        """See `EventStore`."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection of nobody else; what PostgreSQL says, in words that tell what to do."""
        with self._room:
            yield from self._explained()

    def _explained(self) -> Iterator[Connection]:
        try:
            connection = self._taken()
        except psycopg.Error as error:
            raise StoreError(
                f"{self.place}: it cannot be reached; see that PostgreSQL runs there and that user, "
                f"password and database are right ({error})"
            ) from error
        try:
            yield connection
        except psycopg.IntegrityError as error:
            raise KeyTakenError from error
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            raise UnreadableError(f"{self.place}: PostgreSQL says {error}") from error
        except psycopg.OperationalError as error:
            raise StoreError(
                f"{self.place}: the connection broke; no acknowledged event is lost. Try again ({error})"
            ) from error
        except psycopg.Error as error:
            raise StoreError(f"{self.place}: PostgreSQL says {error}") from error
        finally:
            self._give_back(connection)

    def _taken(self) -> Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.place}: it is closed; open it again")
            while self._idle:
                connection = self._idle.pop()
                if not _has_ended(connection):
                    return connection
                connection.close()
        connection = psycopg.connect(self._url, autocommit=True)
        connection.execute(_SETTINGS)
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not (connection.closed or self._closed):
                self._idle.append(connection)
                return
            # Where one is broken, the server has probably started anew: the others are, too.
            idle, self._idle = self._idle, []
        for each in (connection, *idle):
            each.close()


def _has_ended(connection: Connection) -> bool:
    """Whether the server has hung up: it says nothing else unasked."""
    if not hasattr(select, "poll"):
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


@cache
def _placed(sql: str) -> Any:
    """psycopg marks the place of a value by %s."""
    return sql.replace("?", "%s")


@lru_cache
def _joined(parts: tuple[tuple[str, int], ...]) -> Any:
    """Some statements, each with its number of rows, as one: a transaction in a single message."""
    several = []
    for sql, count in parts:
        head, values, row = _placed(sql).partition(" VALUES ")
        several.append(f"{head}{values}{', '.join([row] * count)}")
    before = ", ".join(f"part{number} AS ({sql})" for number, sql in enumerate(several[:-1]))
    return f"WITH {before} {several[-1]}" if before else several[-1]


def _place(url: str) -> str:
    """What to call the database in messages: without the password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InputError(f"a store at postgresql://...: {error}; write postgresql://user@host/name") from None
    return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"


def _prepare(connection: Connection, place: str) -> None:
    """Make the tables, or bring them to this version."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        (there,) = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.version",)).fetchone() or (None,)
        if there is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute("CREATE TABLE version (number INTEGER NOT NULL)")
            connection.execute("INSERT INTO version VALUES (1)")
        (version,) = connection.execute("SELECT number FROM version").fetchone() or (1,)
        if version > VERSION:
            raise StoreError(
                f"{place}: a store of version {version}, this querist reads up to {VERSION}; update it"
            )
        for statement in statements(version, "postgres"):
            connection.execute(statement.encode())
        connection.execute("UPDATE version SET number = %s", (VERSION,))
