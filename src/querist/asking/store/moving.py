"""A campaign out of its store: into another one, or what is whole of it into a new file."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from querist.asking.store.events import (
    CampaignEntry,
    Damage,
    StoreDamagedError,
    StoredEvent,
    StoreError,
    UnreadableError,
)
from querist.asking.store.sql import EventStore
from querist.asking.store.sqlite import SqliteStore
from querist.errors import InputError

T = TypeVar("T")


def move(source: EventStore, target: EventStore, campaign: str) -> int:
    """Copy a campaign, its events byte for byte, into another store; how many events there are.

    The names of people, the replies and the files go with it. Tokens do not: they open a store.
    """
    entry = source.entry(campaign)
    with source.at_one_moment() as seen:
        rows = [row for row, _ in seen.verified(campaign)]
        beside = seen.replies(campaign, len(rows)), seen.sources(campaign), seen.people(campaign)
    target.take(entry, rows, *beside)
    return len(rows)


def repair(store: EventStore, campaign: str, place: str | PathLike[str]) -> Damage | None:
    """Write everything before the first damage into a new file, which can be gone on with.

    The first damage is returned, None if there is none; the store stays as it is.
    """
    path = Path(place).expanduser()
    if path.exists():
        raise InputError(f"{path} exists already; give a name that is free")
    entry, lost = None, None
    try:
        entry = store.entry(campaign)
    except StoreDamagedError as problem:
        lost = problem.damage
    damage, rows, *beside = _readable(store, campaign)
    if damage is not None:  # a second reading may confirm more
        again = _readable(store, campaign)
        if again[0] is None or len(again[1]) > len(rows):
            damage, rows, *beside = again
    if not rows:
        raise StoreError(
            f"{store.place}: nothing of campaign {campaign} can be saved; its first event is damaged"
        )
    with SqliteStore(path, alone=True) as saved:
        saved.take(entry or CampaignEntry(campaign, campaign, rows[0].at), rows, *beside)
    return lost or damage


def _readable(store: EventStore, campaign: str) -> tuple[Any, ...]:
    """The first damage of a campaign, the events before it, and what lies beside them, at one moment."""
    damage: Damage | None = None
    rows: list[StoredEvent] = []
    with store.at_one_moment() as seen:
        try:
            for row, _ in seen.verified(campaign):
                rows.append(row)
        except StoreDamagedError as problem:
            damage = problem.damage
        replies = _if_readable(lambda: seen.replies(campaign, len(rows)))
        sources = _if_readable(lambda: seen.sources(campaign))
        people = _if_readable(lambda: seen.people(campaign))
    return damage, rows, replies, sources, people


def _if_readable(read: Callable[[], dict[str, T]]) -> dict[str, T]:
    """What lies beside the log is not worth losing the log for."""
    try:
        return read()
    except UnreadableError:
        return {}
