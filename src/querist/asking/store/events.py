"""What a store keeps, the sum that ties each event to all before it, and what can be wrong with a store."""

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from querist.errors import InputError, QueristError

BEGINNING = bytes(32)
"""What the first event's sum follows."""

_NUMBERS = struct.Struct(">qd")
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Event:
    """The `seq`-th thing that happened, from 1; when, in seconds since 1970; its kind and what it says."""

    seq: int
    at: float
    kind: str
    body: Mapping[str, Any]


class StoredEvent(NamedTuple):
    """An event as it is kept: its body as JSON text, and its sum."""

    seq: int
    at: float
    kind: str
    body: str
    sum: bytes


@dataclass(frozen=True)
class Damage:
    """The first event of a campaign that is not whole, and what is wrong with it."""

    campaign: str
    seq: int
    what: str

    def __str__(self) -> str:
        return f"event {self.seq} of campaign {self.campaign} is damaged: {self.what}"


@dataclass(frozen=True)
class Draft:
    """An event that is not written yet: the store says when it happened and which one it is."""

    kind: str
    body: Mapping[str, Any]


def check_texts(*values: Any) -> None:
    """Refuse texts that a page or a database cannot hold, also those inside lists and mappings."""
    for value in values:
        if isinstance(value, str):
            if "\0" in value or (not value.isascii() and _HALF.search(value)):
                raise InputError(f"{value!r:.80} contains NUL or half of a character; remove it")
        elif isinstance(value, Mapping):
            check_texts(*value, *value.values())
        elif isinstance(value, list | tuple):
            check_texts(*value)


def chained(previous: bytes, seq: int, at: float, kind: str, text: str) -> bytes:
    """The sum of an event: SHA-256 of the sum before, its number, its time, its kind and its JSON as stored.

    >>> chained(BEGINNING, 1, 0.0, "answer", "{}").hex()[:8]
    'eabe1ebf'
    """
    return hashlib.sha256(b"".join((previous, _NUMBERS.pack(seq, at), f"{kind}\0{text}".encode()))).digest()


class StoreError(QueristError, OSError):
    """A store or a journal that cannot be opened, read or written."""

    # OSError would print a number in front of the text.
    def __str__(self) -> str:
        return str(self.args[0])


class UnreadableError(StoreError):
    """The database finds part of itself damaged."""


class StoreDamagedError(StoreError):
    """A log that is not whole: `damage` says which event is the first that is not."""

    def __init__(self, place: str, damage: Damage) -> None:
        super().__init__(f"{place}: {damage}. `querist campaign repair` saves those before it")
        self.damage = damage


class ConflictError(QueristError):
    """Somebody appended since: `last` is the newest event now."""

    def __init__(self, campaign: str, given: int, last: int) -> None:
        super().__init__(
            f"campaign {campaign}: appending after event {given}, and the newest is {last}; read those since "
            "and try again"
        )
        self.last = last


@dataclass(frozen=True)
class CampaignEntry:
    """A campaign of a store: what it is called, and when it was made."""

    id: str
    name: str
    created: float


@dataclass(frozen=True)
class Reply:
    """What was answered to a request: the request's digest, the event after which, the response as JSON."""

    digest: str
    seq: int
    body: str


@dataclass(frozen=True)
class Token:
    """Who may do what: the SHA-256 of a secret, never the secret; for one campaign, or without it for all."""

    id: str
    hash: str
    campaign: str | None
    person: str
    role: str
    created: float
    expires: float | None = None
    revoked: float | None = None


NewReply = tuple[str, str, Mapping[str, Any]]
"""The key of a request, its digest, and the response; the store adds the newest event as `seq`."""
Part = tuple[Sequence[Draft], NewReply | None]
"""What one request writes: its events, and the reply under its key."""
