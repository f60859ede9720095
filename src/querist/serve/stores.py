"""A store by its place: a file, or a PostgreSQL database."""

import time
from collections.abc import Callable
from os import PathLike

from querist.asking.store.sql import SqlStore
from querist.asking.store.sqlite import SqliteStore


def open_store(
    place: str | PathLike[str] | None, *, alone: bool = False, clock: Callable[[], float] = time.time
) -> SqlStore:
    """The store at a path or at "postgresql://..."; None keeps it in memory.

    `alone` holds a file, so that no other process uses it; a database is always shared.

    >>> with open_store(None) as store:
    ...     store.campaigns()
    []
    """
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from querist.serve.postgres import PostgresStore

        return PostgresStore(place, clock=clock)
    return SqliteStore(place, alone=alone, clock=clock)
