"""What every store of events can do, with its tables: nearly the same SQL for all databases."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from os import PathLike
from pathlib import Path
from typing import Any, Self

from querist.asking.store.check import Pair, meaningful, unchanged
from querist.asking.store.events import (
    BEGINNING,
    CampaignEntry,
    ConflictError,
    Damage,
    Draft,
    Event,
    NewReply,
    Part,
    Reply,
    StoreDamagedError,
    StoredEvent,
    StoreError,
    Token,
    UnreadableError,
    chained,
    check_texts,
)
from querist.errors import InputError

Statement = tuple[str, Sequence[Any]]

VERSION = 2
"""Version of the tables."""

_TABLES = (
    "CREATE TABLE campaigns (id TEXT PRIMARY KEY, name TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
    # Bodies are text, not JSON of the database's own kind, which would not come back byte for byte.
    "CREATE TABLE events (campaign TEXT NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, "
    "kind TEXT NOT NULL, body TEXT NOT NULL, sum {bytes} NOT NULL, "
    "PRIMARY KEY (campaign, seq)){packed}",
    "CREATE TABLE replies (campaign TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, "
    "seq BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (campaign, key)){packed}",
    "CREATE TABLE sources (campaign TEXT NOT NULL, name TEXT NOT NULL, content {bytes} NOT NULL, "
    "PRIMARY KEY (campaign, name))",
    "CREATE TABLE people (campaign TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, "
    "PRIMARY KEY (campaign, person))",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, campaign TEXT, "
    "person TEXT NOT NULL, role TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, "
    "expires DOUBLE PRECISION, revoked DOUBLE PRECISION)",
)

_NEXT = "coalesce((SELECT max(seq) FROM events WHERE campaign = NEW.campaign), 0) + 1"

SQLITE = (
    *(table.format(bytes="BLOB", packed=" WITHOUT ROWID") for table in _TABLES),
    "CREATE TRIGGER kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never removed'); END",
    "CREATE TRIGGER fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
    # INSERT OR REPLACE passes by the two others.
    f"CREATE TRIGGER following BEFORE INSERT ON events WHEN NEW.seq <> {_NEXT} "
    "BEGIN SELECT RAISE(ABORT, 'events follow one another'); END",
)

POSTGRES = (
    *(table.format(bytes="BYTEA", packed="") for table in _TABLES),
    "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'events are never changed or removed' "
    "USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF NEW.seq <> {_NEXT} THEN RAISE EXCEPTION 'events follow one another' "
    "USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END $$",
    "CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION keep()",
    "CREATE TRIGGER whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION keep()",
    "CREATE TRIGGER following BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION follow()",
)

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


def check_version(place: str, version: int) -> None:
    """Refuse a store whose tables have another version."""
    if version != VERSION:
        raise StoreError(
            f"{place}: its tables have version {version}, and this Querist reads version {VERSION}; use the "
            "Querist that wrote it, or give another journal"
        )


class KeyTakenError(Exception):
    """A row with this key is there already."""


class EventStore(ABC):
    """Campaigns, each a log of events numbered from 1; and what is kept beside the log.

    Any thread may call. What a call wrote is on the disk when it returns. `clock` gives the time of new
    events, in seconds since 1970.

    A store in another database gives `_read` (the rows of a query), `_commit` (some statements in one
    transaction, on the disk when it returns; several are all INSERTs that end with their values) and the
    other abstract methods. The place of a value is written `?`.
    """

    path: Path | None = None
    """The file, if it is one."""

    def __init__(self, place: str, clock: Callable[[], float] = time.time) -> None:
        self.place, self._clock = place, clock
        self._newest: dict[str, tuple[int, bytes]] = {}
        """Number and sum of an event of each campaign, the newest that this store has seen. Events never
        change: whoever wants to append after it need not read it again."""

    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _commit(self, statements: Iterable[Statement]) -> None: ...

    @abstractmethod
    def at_one_moment(self) -> AbstractContextManager[Self]:
        """The store as it is at one moment, to be read in this thread, whoever writes meanwhile."""

    @abstractmethod
    def backup(self, path: str | PathLike[str]) -> None:
        """A copy of the store as it is at one moment, while it is used."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- the log -------------------------------------------------------------------

    def campaigns(self) -> list[CampaignEntry]:
        """Those there are, the oldest first."""
        found = self._read("SELECT * FROM campaigns ORDER BY created, id")
        # One query: a campaign may be created after the first.
        strays = "SELECT campaign FROM events WHERE NOT EXISTS (SELECT * FROM campaigns) LIMIT 1"
        stray = () if found else self._read(strays)
        if stray:
            raise StoreDamagedError(self.place, Damage(stray[0][0], 1, "no campaign is known that it is of"))
        return [CampaignEntry(*row) for row in found]

    def entry(self, campaign: str) -> CampaignEntry:
        """One of them by its id."""
        found = {entry.id: entry for entry in self.campaigns()}
        if campaign not in found:
            raise InputError(
                f"{self.place}: there is no campaign {campaign!r}; it has {', '.join(found) or 'none'}"
            )
        return found[campaign]

    def create(self, campaign: str, name: str, draft: Draft) -> Event:
        """A new campaign with its first event; an id that exists is refused."""
        at = float(self._clock())
        (event,), inserts, newest = self._drafted(campaign, (0, BEGINNING), at, [draft])
        try:
            self._write([(INSERT_CAMPAIGN, (campaign, name, at)), *inserts])
        except KeyTakenError:
            raise InputError(f"campaign {campaign!r} exists already; give another id") from None
        self._newest[campaign] = newest
        return event

    def events(self, campaign: str, after: int = 0) -> list[Event]:
        """The events behind the `after`-th, in order; their sums are checked."""
        newest, last = self._newest.get(campaign, (0, BEGINNING))
        total = {newest: last, 0: BEGINNING}.get(after)
        if total is None:
            found = self._read("SELECT sum FROM events WHERE campaign = ? AND seq = ?", campaign, after)
            if not found:
                return []
            ((total,),) = found
        events = []
        for row, event in unchanged(self.place, campaign, self.stored(campaign, after), after, total):
            events.append(event)
            after, total = row.seq, row.sum
        if after > self._newest.get(campaign, (0,))[0]:
            self._newest[campaign] = (after, total)
        return events

    def check(self, campaign: str) -> list[Event]:
        """All events, after everything about them was checked: to be called when a campaign is opened.

        `StoreDamagedError` names the first that is missing, was changed, or makes no sense where it stands.
        """
        try:
            return self._checked(campaign)
        except StoreDamagedError:
            return self._checked(campaign)  # damage is what a second reading confirms

    def _checked(self, campaign: str) -> list[Event]:
        with self.at_one_moment() as seen:
            return [event for _, event in seen.verified(campaign)]

    def verified(self, campaign: str) -> Iterator[Pair]:
        """The events as they are kept and as they are read; `StoreDamagedError` at the first damage."""
        last, rows = 0, unchanged(self.place, campaign, self.stored(campaign))
        for row, event in meaningful(self.place, campaign, rows):
            last = event.seq
            yield row, event
        try:
            what = self._missing(campaign, last)
        except UnreadableError as error:
            what = f"it may be missing ({error})"
        if what is not None:
            raise StoreDamagedError(self.place, Damage(campaign, last + 1, what))

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

    def stored(self, campaign: str, after: int = 0) -> Iterator[StoredEvent]:
        """The events behind the `after`-th as they are kept, unchecked; what cannot be read is named."""
        block = BLOCK
        while True:
            try:
                rows = self._read(_EVENTS, campaign, after, block)
            except UnreadableError as error:
                if block == 1:
                    damage = Damage(campaign, after + 1, f"it cannot be read ({error})")
                    raise StoreDamagedError(self.place, damage) from error
                block = 1  # to come as far as can be
                continue
            yield from map(StoredEvent._make, rows)
            if len(rows) < block:
                return
            after = rows[-1][0]

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
        """The number of the newest event; 0 where there is no such campaign."""
        return self._read_newest(campaign)[0]

    def append(
        self, campaign: str, last: int, drafts: Sequence[Draft], reply: NewReply | None = None
    ) -> list[Event]:
        """Write all these events, and the reply under its key, or none of it.

        `ConflictError` when `last` is not the newest event, or the key is taken.
        """
        return self.append_all(campaign, last, [(drafts, reply)])[0]

    def append_all(self, campaign: str, last: int, parts: Sequence[Part]) -> list[list[Event]]:
        """Write several requests, one after another, as one: the events of each. All of it, or nothing.

        `ConflictError` when `last` is not the newest event, or a key is taken.
        """
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
                key, digest, response = reply
                body = json.dumps({"seq": newest[0], **response})
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
            check_texts(draft.body)
            text = json.dumps(draft.body, allow_nan=False)
            seq += 1
            total = chained(total, seq, at, draft.kind, text)
            inserts.append((INSERT_EVENT, (campaign, seq, at, draft.kind, text, total)))
            # As it will be read: every replica sees the same.
            events.append(Event(seq, at, draft.kind, json.loads(text)))
        return events, inserts, (seq, total)

    def _write(self, statements: Sequence[Statement]) -> None:
        check_texts(*(values for _, values in statements))
        self._commit(statements)

    def _read_newest(self, campaign: str) -> tuple[int, bytes]:
        newest = "SELECT seq, sum FROM events WHERE campaign = ? ORDER BY seq DESC LIMIT 1"
        found = self._read(newest, campaign)
        return found[0] if found else (0, BEGINNING)

    def reply(self, campaign: str, key: str) -> Reply | None:
        """What was answered to the request with this key."""
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
        """The files that a campaign was made from, by name."""
        rows = self._read("SELECT name, content FROM sources WHERE campaign = ? ORDER BY name", campaign)
        return dict(rows)

    def keep_source(self, campaign: str, name: str, content: bytes) -> None:
        """Keep a file, in place of one of the same name."""
        self._write([(_KEEP_SOURCE, (campaign, name, content))])

    def people(self, campaign: str) -> dict[str, str]:
        """Names of people; the events know their ids only."""
        rows = self._read("SELECT person, name FROM people WHERE campaign = ? ORDER BY person", campaign)
        return dict(rows)

    def name_person(self, campaign: str, person: str, name: str) -> None:
        """Keep or change a name."""
        self._write([(_NAME_PERSON, (campaign, person, name))])

    def erase_person(self, campaign: str, person: str) -> None:
        """Forget a name."""
        self._write([("DELETE FROM people WHERE campaign = ? AND person = ?", (campaign, person))])

    def tokens(self, campaign: str | None) -> list[Token]:
        """Those of a campaign, or those of no campaign, the oldest first."""
        which = f"{_TOKENS} WHERE coalesce(campaign, '') = ? ORDER BY created, id"
        return [Token(*row) for row in self._read(which, campaign or "")]

    def keep_token(self, token: Token) -> None:
        """Keep a new token."""
        try:
            self._write([(f"INSERT INTO tokens VALUES ({', '.join('?' * 8)})", astuple(token))])
        except KeyTakenError:
            raise InputError(f"token {token.id!r} exists already; make another") from None

    def revoke_token(self, id: str, at: float) -> None:
        """From then on it opens nothing."""
        self._write([("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (at, id))])

    def token_by_hash(self, hash: str) -> Token | None:
        """The token of this secret."""
        rows = self._read(f"{_TOKENS} WHERE hash = ?", hash)
        return Token(*rows[0]) if rows else None
