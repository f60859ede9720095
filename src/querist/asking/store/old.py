"""Journals of version 1: the table `events(id, at, kind, body)` of one campaign, without sums.

They are read as they are. The first write puts a converted copy in the place of the file, in one step, and
keeps the file itself beside it.
"""

import hashlib
import os
import secrets
import shutil
import sqlite3
from itertools import count
from pathlib import Path

from querist.asking.store.events import BEGINNING, Damage, chained
from querist.asking.store.sql import INSERT_CAMPAIGN, INSERT_EVENT, Statement


def held(path: Path, patience: float) -> sqlite3.Connection:
    """The file, for this process alone."""
    connection = sqlite3.connect(str(path), timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def converted(connection: sqlite3.Connection, name: str) -> tuple[list[Statement], Damage | None]:
    """What writes the same events into the tables of today, as far as they can be read; and what cannot."""
    campaign, total, seen, what = "", BEGINNING, 0, None
    written: list[Statement] = []
    try:
        for seq, at, kind, body in connection.execute("SELECT id, at, kind, body FROM events ORDER BY id"):
            if seq != seen + 1 or not (type(at) is float and type(kind) is type(body) is str):
                what = "it is missing" if seq > seen + 1 else "it was changed since it was written"
                break
            if not campaign:
                # The same at every reading, as long as nothing is written.
                campaign = hashlib.sha256(f"{at!r} {body}".encode()).hexdigest()[:12]
                written.append((INSERT_CAMPAIGN, (campaign, name, at)))
            seen, total = seq, chained(total, seq, at, kind, body)
            written.append((INSERT_EVENT, (campaign, seq, at, kind, body, total)))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        what = f"it cannot be read ({error})"
    return written, None if what is None else Damage(campaign, seen + 1, what)


def replace(original: sqlite3.Connection, copy: sqlite3.Connection, path: Path) -> Path:
    """Put the copy in the place of the original, which is closed and kept under the name that is returned."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")
    # Held until its name is changed: nobody opens the file at `path` while the original may still remove
    # the write-ahead log of that name.
    holding = sqlite3.connect(str(beside), isolation_level=None, check_same_thread=False)
    try:
        holding.execute("PRAGMA synchronous = FULL")
        copy.backup(holding)
        holding.execute("BEGIN EXCLUSIVE")
        original.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        kept = _keep(path)
        os.replace(beside, path)
        _to_disk(path.parent)
        original.close()
    finally:
        holding.close()
        beside.unlink(missing_ok=True)
    return kept


def _keep(path: Path) -> Path:
    """Give the file a second name that nothing has."""
    for number in count(1):
        kept = path.with_name(f"{path.name}.v1" if number == 1 else f"{path.name}.v1.{number}")
        try:
            os.link(path, kept)
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            with path.open("rb") as source, kept.open("xb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())
        return kept
    raise AssertionError


def _to_disk(folder: Path) -> None:
    """Names of files, too, are safe only when their folder is."""
    try:
        place = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and writes names without being told
        return
    try:
        os.fsync(place)
    finally:
        os.close(place)
