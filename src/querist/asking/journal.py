"""The journal of `querist ask`: the one campaign of a store in a file, or in memory; or one among others.

`append` returns when the event is on the disk, so what was acknowledged survives a kill at any moment. One
process writes at a time: it holds the file until it closes it or ends, and a second one is refused.
"""

import secrets
from os import PathLike
from typing import Any

from querist.asking.store.events import Draft, Event
from querist.asking.store.interface import EventStore, StoreError
from querist.asking.store.sqlite import SqliteStore

JournalError = StoreError
"""A journal that cannot be opened, read or written."""


class Journal:
    """An append-only file of events; without a path it is kept in memory and lost with the process.

    >>> with Journal() as journal:
    ...     _ = journal.append("stop", why="enough")
    ...     [(event.seq, event.kind) for event in journal.store.events(journal.campaign)]
    [(1, 'stop')]
    """

    _checked = False

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        own = SqliteStore(path, alone=True)
        self.store: EventStore = own
        self.path, self.name = own.path, "in memory" if own.path is None else own.path.stem
        try:
            found = self.store.campaigns()
            if len(found) > 1:
                raise JournalError(
                    f"{self.path}: it holds {len(found)} campaigns, and a journal has one; "
                    "`querist serve` opens them all, or give another file"
                )
            self.campaign = found[0].id if found else secrets.token_hex(6)
            """Its id in the store."""
            self._last = self.store.last(self.campaign)
            if found and not self._last:
                self.store.check(self.campaign)  # which says that its events are gone
        except BaseException:
            self.store.close()
            raise

    @staticmethod
    def of(store: EventStore, campaign: str, name: str) -> "Journal":
        """One campaign of a store, which is made with its first event where it is not there; `name` is then
        what it is called. The store stays open."""
        journal = object.__new__(Journal)
        journal.store, journal.path, journal.name = store, None, name
        journal.campaign, journal._last = campaign, store.last(campaign)
        return journal

    def append(self, kind: str, **body: Any) -> Event:
        """Write an event; it is on the disk when this returns."""
        draft = Draft(kind, body)
        if self._last:
            (event,) = self.store.append(self.campaign, self._last, [draft])
        else:
            event = self.store.create(self.campaign, self.name, draft)
        self._last = event.seq
        return event

    def events(self) -> list[Event]:
        """All events, in order; what is damaged is found at the first reading, and named."""
        if not self._last:
            return []
        events = self.store.events(self.campaign) if self._checked else self.store.check(self.campaign)
        self._checked = True
        self._last = events[-1].seq
        return events

    @property
    def last(self) -> int:
        """The newest event that was read or written here."""
        return self._last

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
