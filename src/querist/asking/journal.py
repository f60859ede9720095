"""The journal of `querist ask`: the one campaign of a store in a file, or in memory.

`append` returns when the event is on the disk, so what was acknowledged survives a kill at any moment. One
process writes at a time: it holds the file until it closes it or ends, and a second one is refused.
"""

import secrets
from os import PathLike
from typing import Any

from querist.asking.store.events import Draft, Event
from querist.asking.store.interface import StoreError
from querist.asking.store.sqlite import SqliteStore

JournalError = StoreError
"""A journal that cannot be opened, read or written."""


class Journal:
    """An append-only file of events; without a path it is kept in memory and lost with the process.

    >>> with Journal() as journal:
    ...     _ = journal.append("answer", row=3, code=1)
    ...     [(event.kind, event.body["row"]) for event in journal.events()]
    [('answer', 3)]
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.store = SqliteStore(path, alone=True)
        self.path = self.store.path
        try:
            found = self.store.campaigns()
            if len(found) > 1:
                raise JournalError(
                    f"{self.path}: it holds {len(found)} campaigns, and a journal has one; "
                    "`querist serve` opens them all, or give another file"
                )
            self.campaign = found[0].id if found else None
            """Its id in the store; None while nothing happened."""
            self._last = 0 if self.campaign is None else self.store.last(self.campaign)
        except BaseException:
            self.store.close()
            raise

    def append(self, kind: str, **body: Any) -> Event:
        """Write an event; it is on the disk when this returns."""
        draft = Draft(kind, body)
        if self.campaign is None:
            name = "in memory" if self.path is None else self.path.stem
            campaign = secrets.token_hex(6)
            event = self.store.create(campaign, name, draft)
            self.campaign = campaign
        else:
            (event,) = self.store.append(self.campaign, self._last, [draft])
        self._last = event.seq
        return event

    def events(self) -> list[Event]:
        """All events, in order."""
        return [] if self.campaign is None else self.store.events(self.campaign)

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
