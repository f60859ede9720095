"""A campaign out of its store: into another one, into a stream, or what is whole of it into a new file."""

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, TypeVar

from querist.asking.store.check import meaningful, unchanged
from querist.asking.store.events import Damage
from querist.asking.store.interface import CampaignEntry, StoreDamagedError, StoreError, UnreadableError
from querist.asking.store.sql import SqlStore
from querist.asking.store.sqlite import SqliteStore
from querist.errors import InputError

T = TypeVar("T")


def move(source: SqlStore, target: SqlStore, campaign: str) -> int:
    """Copy a campaign, its events byte for byte, into another store; how many events there are.

    The names of people, the replies and the files go with it. Tokens do not: they open a store.
    """
    entry = _entry(source, campaign)
    source.check(campaign)
    rows = list(source.stored(campaign))
    replies = source.replies(campaign, len(rows))
    target.take(entry, rows, replies, source.sources(campaign), source.people(campaign))
    return len(rows)


def export_events(store: SqlStore, campaign: str, stream: IO[str], before: int | None = None) -> None:
    """Write the events, all or those before one, as lines of JSON: seq, at, kind, body as kept, and sum."""
    _entry(store, campaign)
    rows = store.stored(campaign, limit=None if before is None else before - 1)
    for row, event in unchanged(store.place, campaign, rows):
        head = json.dumps({"seq": event.seq, "at": event.at, "kind": event.kind, "sum": row.sum.hex()})
        stream.write(f'{head[:-1]}, "body": {row.body}}}\n')


def repair(store: SqlStore, campaign: str, place: str | PathLike[str]) -> Damage | None:
    """Write everything before the first damage into a new file, which can be gone on with.

    What is damaged is returned, None where nothing is; the store stays as it is.
    """
    path = Path(place).expanduser()
    if path.exists():
        raise InputError(f"{path} exists already; give a name that is free")
    entry, damage, rows = None, None, []
    try:
        entry = _entry(store, campaign)
    except StoreDamagedError as problem:
        damage = problem.damage
    try:
        for row, _ in meaningful(
            store.place, campaign, unchanged(store.place, campaign, store.stored(campaign))
        ):
            rows.append(row)
        store.check(campaign)
    except StoreDamagedError as problem:
        damage = damage or problem.damage
    if not rows:
        raise StoreError(
            f"{store.place}: nothing of campaign {campaign} can be saved; its first event is damaged"
        )
    replies = _if_readable(lambda: store.replies(campaign, len(rows)))
    sources = _if_readable(lambda: store.sources(campaign))
    people = _if_readable(lambda: store.people(campaign))
    saved = SqliteStore(path, alone=True)
    try:
        saved.take(entry or CampaignEntry(campaign, campaign, rows[0].at), rows, replies, sources, people)
    finally:
        saved.close()
    return damage


def _if_readable(read: Callable[[], dict[str, T]]) -> dict[str, T]:
    """What lies beside the log is not worth losing the log for."""
    try:
        return read()
    except UnreadableError:
        return {}


def _entry(store: SqlStore, campaign: str) -> CampaignEntry:
    found = {entry.id: entry for entry in store.campaigns()}
    if campaign not in found:
        raise InputError(
            f"{store.place}: there is no campaign {campaign!r}; it has {', '.join(found) or 'none'}"
        )
    return found[campaign]
