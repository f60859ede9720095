"""A store of events in a database: the same SQL for all of them.

A dialect gives `_read` (the rows of a query) and `_write` (some statements in one transaction, on the disk
when it returns; several are all INSERTs that end with their values); the place of a value is written `?`.
"""

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from os import PathLike
from typing import Any, Self

from querist.asking.store.check import meaningful, unchanged
from querist.asking.store.events import BEGINNING, Damage, Draft, Event, StoredEvent, chained
from querist.asking.store.interface import (
    CampaignEntry,
    ConflictError,
    MakeReply,
    Part,
    Reply,
    StoreDamagedError,
    Token,
    UnreadableError,
)
from querist.errors import InputError

Statement = tuple[str, Sequence[Any]]

INSERT_EVENT = "INSERT INTO events (campaign, seq, at, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?)"
INSERT_CAMPAIGN = "INSERT INTO campaigns (id, name, created) VALUES (?, ?, ?)"
_INSERT_REPLY = "INSERT INTO replies (campaign, key, digest, seq, body) VALUES (?, ?, ?, ?, ?)"
_EVENTS = "SELECT seq, at, kind, body, sum FROM events WHERE campaign = ? AND seq > ? ORDER BY seq LIMIT ?"
_INSERT_SOURCE = "INSERT INTO sources (campaign, name, content) VALUES (?, ?, ?)"
_KEEP_SOURCE = f"{_INSERT_SOURCE} ON CONFLICT (campaign, name) DO UPDATE SET content = excluded.content"
_INSERT_PERSON = "INSERT INTO people (campaign, person, name) VALUES (?, ?, ?)"
_NAME_PERSON = f"{_INSERT_PERSON} ON CONFLICT (campaign, person) DO UPDATE SET name = excluded.name"
_TOKENS = "SELECT id, hash, campaign, person, role, created, expires, revoked FROM tokens"


BLOCK = 10_000
"""Events that are read at once."""


class KeyTakenError(Exception):
    """A row with this key is there already."""


class SqlStore(ABC):
    """See `interface.EventStore`. `clock` gives the time of new events, in seconds since 1970."""

    def __init__(self, place: str, clock: Callable[[], float] = time.time) -> None:
        self.place, self._clock = place, clock
        self._newest: dict[str, tuple[int, bytes]] = {}
        """Number and sum of an event of each campaign, the newest that this store has seen. Events never
        change: whoever wants to append after it need not read it again."""

    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _write(self, statements: Iterable[Statement]) -> None: ...

    @abstractmethod
    def backup(self, path: str | PathLike[str]) -> None:
        """See `EventStore`."""

    @abstractmethod
    def close(self) -> None:
        """See `EventStore`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- the log -------------------------------------------------------------------

    def campaigns(self) -> list[CampaignEntry]:
        """See `EventStore`."""
        found = self._read("SELECT * FROM campaigns ORDER BY created, id")
        stray = () if found else self._read("SELECT campaign FROM events LIMIT 1")
        if stray:
            raise StoreDamagedError(self.place, Damage(stray[0][0], 1, "no campaign is known that it is of"))
        return [CampaignEntry(*row) for row in found]

    def create(self, campaign: str, name: str, draft: Draft) -> Event:
        """See `EventStore`."""
        at = float(self._clock())
        (event,), inserts, newest = self._drafted(campaign, (0, BEGINNING), at, [draft])
        try:
            self._write([(INSERT_CAMPAIGN, (campaign, name, at)), *inserts])
        except KeyTakenError:
            raise InputError(f"campaign {campaign!r} exists already; give another id") from None
        self._newest[campaign] = newest
        return event

    def events(self, campaign: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """See `EventStore`."""
        seen, total = self._newest.get(campaign, (0, BEGINNING))
        if after != seen:
            seen, total = 0, BEGINNING
            if after > 0:
                found = self._read("SELECT sum FROM events WHERE campaign = ? AND seq = ?", campaign, after)
                if not found:
                    return []
                seen, total = after, found[0][0]
        events = []
        for row, event in unchanged(self.place, campaign, self.stored(campaign, after, limit), seen, total):
            events.append(event)
            seen, total = event.seq, row.sum
        if seen > self._newest.get(campaign, (0,))[0]:
            self._newest[campaign] = (seen, total)
        return events

    def check(self, campaign: str) -> list[Event]:
        """See `EventStore`."""
        rows = unchanged(self.place, campaign, self.stored(campaign))
        events = [event for _, event in meaningful(self.place, campaign, rows)]
        try:
            what = self._missing(campaign, len(events))
        except UnreadableError as error:
            what = f"it may be missing ({error})"
        if what is not None:
            raise StoreDamagedError(self.place, Damage(campaign, len(events) + 1, what))
        return events

    def _missing(self, campaign: str, last: int) -> str | None:
        """What tells that there were more events than the last that was found."""
        if not last:
            return "there is no event"
        (replied,) = self._read("SELECT max(seq) FROM replies WHERE campaign = ?", campaign)[0]
        if replied is not None and not (isinstance(replied, int) and replied <= last):
            return f"it is missing, and a reply was given after event {replied!r}"
        strays = "SELECT DISTINCT campaign FROM events EXCEPT SELECT id FROM campaigns"
        if self._read(strays):
            return "it may be missing: there are events of a campaign that does not exist"
        return None

    def stored(self, campaign: str, after: int = 0, limit: int | None = None) -> Iterator[StoredEvent]:
        """The events behind the `after`-th as they are kept, unchecked; what cannot be read is named."""
        block, left = BLOCK, math.inf if limit is None else limit
        while left > 0:
            try:
                rows = self._read(_EVENTS, campaign, after, min(block, left))
            except UnreadableError as error:
                if block == 1:
                    damage = Damage(campaign, after + 1, f"it cannot be read ({error})")
                    raise StoreDamagedError(self.place, damage) from error
                block = 1  # to come as far as can be
                continue
            yield from map(StoredEvent._make, rows)
            if len(rows) < block:
                return
            after, left = rows[-1][0], left - len(rows)

    def take(
        self,
        entry: CampaignEntry,
        rows: Iterable[StoredEvent],
        replies: Mapping[str, Reply],
        sources: Mapping[str, bytes],
        people: Mapping[str, str],
    ) -> None:
        """A campaign of another store, as it was kept there: all of it, or nothing."""
        own = entry.id
        try:
            self._write(
                [
                    (INSERT_CAMPAIGN, astuple(entry)),
                    *((INSERT_EVENT, (own, *row)) for row in rows),
                    *((_INSERT_REPLY, (own, key, *astuple(reply))) for key, reply in replies.items()),
                    *((_INSERT_SOURCE, (own, name, content)) for name, content in sources.items()),
                    *((_INSERT_PERSON, (own, person, name)) for person, name in people.items()),
                ]
            )
        except KeyTakenError:
            raise InputError(
                f"{self.place}: campaign {own!r} exists there already; move it into another store"
            ) from None

    def last(self, campaign: str) -> int:
        """See `EventStore`."""
        return self._read_newest(campaign)[0]

    def append(
        self,
        campaign: str,
        last: int,
        drafts: Sequence[Draft],
        reply: tuple[str, MakeReply] | None = None,
    ) -> list[Event]:
        """See `EventStore`."""
        return self.append_all(campaign, last, [(drafts, reply)])[0]

    def append_all(self, campaign: str, last: int, parts: Sequence[Part]) -> list[list[Event]]:
        """See `EventStore`."""
        newest = self._newest.get(campaign, (-1, BEGINNING))
        if newest[0] != last:
            newest = self._read_newest(campaign)
            if newest[0] != last:
                raise ConflictError(campaign, last, newest[0])
        if not last:
            raise InputError(f"there is no campaign {campaign!r}; create it first")
        at = float(self._clock())
        found: list[list[Event]] = []
        inserts: list[Statement] = []
        replies: list[Statement] = []
        for drafts, reply in parts:
            events, own, newest = self._drafted(campaign, newest, at, drafts)
            found.append(events)
            inserts += own
            if reply is not None:
                key, make = reply
                digest, body = make(events)
                replies.append((_INSERT_REPLY, (campaign, key, digest, newest[0], body)))
        try:
            self._write([*inserts, *replies])
        except KeyTakenError:
            raise ConflictError(campaign, last, self.last(campaign)) from None
        self._newest[campaign] = newest
        return found

    def _drafted(
        self, campaign: str, before: tuple[int, bytes], at: float, drafts: Sequence[Draft]
    ) -> tuple[list[Event], list[Statement], tuple[int, bytes]]:
        """Drafts as the events they will be, the statements that write them, number and sum of the last."""
        seq, total = before
        events: list[Event] = []
        inserts: list[Statement] = []
        for draft in drafts:
            text = json.dumps(draft.body, allow_nan=False)
            seq += 1
            total = chained(total, seq, at, draft.kind, text)
            inserts.append((INSERT_EVENT, (campaign, seq, at, draft.kind, text, total)))
            # As it will be read: every replica sees the same.
            events.append(Event(seq, at, draft.kind, json.loads(text)))
        return events, inserts, (seq, total)

    def _read_newest(self, campaign: str) -> tuple[int, bytes]:
        newest = "SELECT seq, sum FROM events WHERE campaign = ? ORDER BY seq DESC LIMIT 1"
        found = self._read(newest, campaign)
        return found[0] if found else (0, BEGINNING)

    def reply(self, campaign: str, key: str) -> Reply | None:
        """See `EventStore`."""
        rows = self._read(
            "SELECT digest, seq, body FROM replies WHERE campaign = ? AND key = ?", campaign, key
        )
        return Reply(*rows[0]) if rows else None

    def replies(self, campaign: str, last: int) -> dict[str, Reply]:
        """Those given until the `last` event, by their keys."""
        which = "SELECT key, digest, seq, body FROM replies WHERE campaign = ? AND seq <= ? ORDER BY key"
        return {key: Reply(*rest) for key, *rest in self._read(which, campaign, last)}

    # -- beside the log --------------------------------------------------------------

    def sources(self, campaign: str) -> dict[str, bytes]:
        """See `EventStore`."""
        rows = self._read("SELECT name, content FROM sources WHERE campaign = ? ORDER BY name", campaign)
        return dict(rows)

    def keep_source(self, campaign: str, name: str, content: bytes) -> None:
        """See `EventStore`."""
        self._write([(_KEEP_SOURCE, (campaign, name, content))])

    def people(self, campaign: str) -> dict[str, str]:
        """See `EventStore`."""
        rows = self._read("SELECT person, name FROM people WHERE campaign = ? ORDER BY person", campaign)
        return dict(rows)

    def name_person(self, campaign: str, person: str, name: str) -> None:
        """See `EventStore`."""
        self._write([(_NAME_PERSON, (campaign, person, name))])

    def erase_person(self, campaign: str, person: str) -> None:
        """See `EventStore`."""
        self._write([("DELETE FROM people WHERE campaign = ? AND person = ?", (campaign, person))])

    def tokens(self, campaign: str | None) -> list[Token]:
        """See `EventStore`."""
        which, values = (
            (" WHERE campaign IS NULL", ()) if campaign is None else (" WHERE campaign = ?", (campaign,))
        )
        return [Token(*row) for row in self._read(f"{_TOKENS}{which} ORDER BY created, id", *values)]

    def keep_token(self, token: Token) -> None:
        """See `EventStore`."""
        try:
            self._write([(f"INSERT INTO tokens VALUES ({', '.join('?' * 8)})", astuple(token))])
        except KeyTakenError:
            raise InputError(f"token {token.id!r} exists already; make another") from None

    def revoke_token(self, id: str, at: float) -> None:
        """See `EventStore`."""
        self._write([("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (at, id))])

    def token_by_hash(self, hash: str) -> Token | None:
        """See `EventStore`."""
        rows = self._read(f"{_TOKENS} WHERE hash = ?", hash)
        return Token(*rows[0]) if rows else None
