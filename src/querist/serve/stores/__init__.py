"""A store by its place: a file, or a database by the scheme of its URL.

A database store is one module here that registers what opens it; those of other packages are registered when
they are imported. `asking.store.sql.EventStore` says what it gives.
"""

import importlib
import pkgutil
import time
from collections.abc import Callable
from os import PathLike

from querist.asking.store.sql import EventStore
from querist.asking.store.sqlite import SqliteStore
from querist.registry import Registry

OpenStore = Callable[..., EventStore]
"""Called with the URL, and with the clock as `clock`."""
STORES: Registry[OpenStore] = Registry("database")
"""What opens a store, by the scheme of its URL."""


def database_store(*schemes: str) -> Callable[[type[EventStore]], type[EventStore]]:
    """Register a store under these schemes."""

    def register(store: type[EventStore]) -> type[EventStore]:
        STORES.update(dict.fromkeys(schemes, store))
        return store

    return register


def open_store(
    place: str | PathLike[str] | None, *, alone: bool = False, clock: Callable[[], float] = time.time
) -> EventStore:
    """The store at a path or at a URL such as "postgresql://..."; None keeps it in memory.

    `alone` holds a file, so that no other process uses it; a database is always shared.

    >>> with open_store(None) as store:
    ...     store.campaigns()
    []
    """
    if not isinstance(place, str) or "://" not in place:
        return SqliteStore(place, alone=alone, clock=clock)
    scheme = place.partition("://")[0]
    if scheme not in STORES:
        for module in pkgutil.iter_modules(__path__, f"{__name__}."):
            importlib.import_module(module.name)
    return STORES[scheme](place, clock=clock)
