"""A store of events in a PostgreSQL database, which several servers share.

Its tables live in the schema `querist`. Every call takes a connection that nobody uses, or opens one more; a
store has at most `CONNECTIONS`, and a further call waits for one.
"""

import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import cache
from os import PathLike
from typing import Any, Self

from querist.asking.store.events import StoreError, UnreadableError
from querist.asking.store.sql import (
    POSTGRES,
    VERSION,
    EventStore,
    KeyTakenError,
    Statement,
    check_version,
)
from querist.errors import InputError
from querist.lazy import needing
from querist.serve.stores import database_store

with needing("serve", "a PostgreSQL store"):
    import psycopg

SCHEMA = "querist"
# A server may be set up to acknowledge what is not on its disk.
_SETTINGS = f"SET search_path TO {SCHEMA}; SET synchronous_commit TO on"
CONNECTIONS = 16
"""A database gives out 100 by default, to all its servers together."""
_ONE_AT_A_TIME = 0x51535254
"""The lock under which tables are made."""

Connection = psycopg.Connection[tuple[Any, ...]]


@database_store("postgresql", "postgres")
class PostgresStore(EventStore):
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
        with (
            self._connection() as connection,
            # A query that fails ends no more than itself: what is read at one moment goes on.
            connection.transaction() if connection.info.transaction_status else nullcontext(),
        ):
            return connection.execute(_placed(sql), values).fetchall()

    def _commit(self, statements: Iterable[Statement]) -> None:
        with self._connection() as connection, connection.pipeline(), connection.transaction():
            for sql, values in statements:
                connection.execute(_placed(sql), values)

    @contextmanager
    def at_one_moment(self) -> Iterator[Self]:
        """See `EventStore`."""
        with self._connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            seen = copy(self)
            seen._idle, seen._room = [connection], threading.BoundedSemaphore()
            yield seen

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


def _place(url: str) -> str:
    """What to call the database in messages: without the password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InputError(f"a store at postgresql://...: {error}; write postgresql://user@host/name") from None
    return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"


def _prepare(connection: Connection, place: str) -> None:
    """Make the tables, or check their version."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        (there,) = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.version",)).fetchone() or (None,)
        if there is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute("CREATE TABLE version (number INTEGER NOT NULL)")
            connection.execute("INSERT INTO version VALUES (%s)", (VERSION,))
            for statement in POSTGRES:
                connection.execute(statement.encode())
        (version,) = connection.execute("SELECT number FROM version").fetchone() or (0,)
        check_version(place, version)
