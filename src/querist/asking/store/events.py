"""What happened, in the order it happened, and the sum that ties each event to all before it."""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from querist.deprecated import renamed

BEGINNING = bytes(32)
"""What the first event's sum follows."""

_NUMBERS = struct.Struct(">qd")


@dataclass(frozen=True)
class Event:
    """The `seq`-th thing that happened, from 1; when, in seconds since 1970; its kind and what it says."""

    seq: int
    at: float
    kind: str
    body: Mapping[str, Any]

    @property
    def id(self) -> int:
        """The old name of `seq`."""
        renamed("Event.id", "Event.seq", "0.4.0")
        return self.seq


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


def chained(previous: bytes, seq: int, at: float, kind: str, text: str) -> bytes:
    """The sum of an event: SHA-256 of the sum before, its number, its time, its kind and its JSON as stored.

    >>> chained(BEGINNING, 1, 0.0, "answer", "{}").hex()[:8]
    'eabe1ebf'
    """
    return hashlib.sha256(b"".join((previous, _NUMBERS.pack(seq, at), f"{kind}\0{text}".encode()))).digest()
