"""What every store of events can do, whatever keeps them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Protocol

from querist.asking.store.events import Damage, Draft, Event
from querist.errors import QueristError


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


MakeReply = Callable[[list[Event]], tuple[str, str]]
"""From the events that were appended: the digest of the request, and the response as JSON."""
Part = tuple[Sequence[Draft], tuple[str, MakeReply] | None]
"""What one request writes: its events, and the reply under its key."""


class EventStore(Protocol):
    """Campaigns, each a log of events numbered from 1; and what is kept beside the log.

    Any thread may call. What a call wrote is on the disk when it returns.
    """

    def campaigns(self) -> list[CampaignEntry]:
        """Those there are, the oldest first."""

    def create(self, campaign: str, name: str, draft: Draft) -> Event:
        """A new campaign with its first event; an id that exists is refused."""

    def events(self, campaign: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind the `after`-th, at most `limit`, in order; their sums are checked."""

    def check(self, campaign: str) -> list[Event]:
        """All events, after everything about them was checked: to be called when a campaign is opened.

        `StoreDamagedError` names the first that is missing, was changed, or makes no sense where it stands.
        """

    def last(self, campaign: str) -> int:
        """The number of the newest event; 0 where there is no such campaign."""

    def append(
        self,
        campaign: str,
        last: int,
        drafts: Sequence[Draft],
        reply: tuple[str, MakeReply] | None = None,
    ) -> list[Event]:
        """Write all these events, and the reply under its key, or none of it.

        `ConflictError` when `last` is not the newest event, or the key is taken.
        """

    def append_all(self, campaign: str, last: int, parts: Sequence[Part]) -> list[list[Event]]:
        """Write several requests, one after another, as one: the events of each. All of it, or nothing.

        `ConflictError` when `last` is not the newest event, or a key is taken.
        """

    def reply(self, campaign: str, key: str) -> Reply | None:
        """What was answered to the request with this key."""

    def sources(self, campaign: str) -> dict[str, bytes]:
        """The files that a campaign was made from, by name."""

    def keep_source(self, campaign: str, name: str, content: bytes) -> None:
        """Keep a file, in place of one of the same name."""

    def people(self, campaign: str) -> dict[str, str]:
        """Names of people; the events know their ids only."""

    def name_person(self, campaign: str, person: str, name: str) -> None:
        """Keep or change a name."""

    def erase_person(self, campaign: str, person: str) -> None:
        """Forget a name."""

    def tokens(self, campaign: str | None) -> list[Token]:
        """Those of a campaign, or those of no campaign, the oldest first."""

    def keep_token(self, token: Token) -> None:
        """Keep a new token."""

    def revoke_token(self, id: str, at: float) -> None:
        """From then on it opens nothing."""

    def token_by_hash(self, hash: str) -> Token | None:
        """The token of this secret."""

    def backup(self, path: str | PathLike[str]) -> None:
        """A copy of the store as it is at one moment, while it is used."""

    def close(self) -> None:
        """Let go of it."""
