"""Files of a store: those of others stay untouched, older ones are kept, copies are made while it is used."""

import contextlib
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from querist.asking.journal import Journal, JournalError
from querist.asking.store import Draft, SqliteStore, StoreError
from querist.asking.store.sqlite import APPLICATION
from querist.errors import InputError

OLD = Path(__file__).parents[2] / "compatibility" / "fixtures" / "journals"
BEGUN = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "b"], "choose": "random"}


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("application", [0, 77])
def test_a_database_of_others_is_byte_for_byte_as_before(tmp_path, mode, application):
    database = sqlite3.connect(tmp_path / "birds", isolation_level=None)
    database.execute(f"PRAGMA application_id = {application}")
    database.execute(f"PRAGMA journal_mode = {mode}")
    database.execute("CREATE TABLE birds (name)")
    before = content(tmp_path)  # with its write-ahead log, if it has one
    for opening in (Journal, SqliteStore):
        with pytest.raises(StoreError, match="a database, but no journal of querist"):
            opening(tmp_path / "birds")
    assert content(tmp_path) == before
    database.close()


def test_an_empty_file_and_an_empty_database_become_a_journal(tmp_path):
    (tmp_path / "empty").touch()
    database = sqlite3.connect(tmp_path / "made", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.close()
    for name in ("empty", "made"):
        with Journal(tmp_path / name) as journal:
            journal.append("campaign", **BEGUN)
            assert len(journal.events()) == 1


KILLED_EARLY = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("BEGIN EXCLUSIVE")
database.execute("CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, "
                 "kind TEXT NOT NULL, body TEXT NOT NULL)")
database.execute("PRAGMA application_id = %d")
database.execute("PRAGMA user_version = 1")
database.execute("COMMIT")
database.execute("INSERT INTO events (at, kind, body) VALUES (1.5, 'stop', '{}')")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_old_journal_whose_marks_are_still_in_its_log_is_read(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED_EARLY % APPLICATION, tmp_path / "j"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "j-wal").stat().st_size > 0
    with Journal(tmp_path / "j") as journal:
        (event,) = journal.store.events(journal.campaign)
        assert (event.seq, event.at, event.kind) == (1, 1.5, "stop")


# -- journals of version 1 -------------------------------------------------------------------


def rows_of_old(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        return database.execute("SELECT id, at, kind, body FROM events ORDER BY id").fetchall()


def rows_of_new(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT seq, at, kind, body FROM events ORDER BY seq").fetchall()


@pytest.fixture(params=["pool", "stream", "random"])
def old(request, tmp_path):
    return Path(shutil.copy(OLD / f"{request.param}.journal", tmp_path / "j"))


def test_an_old_journal_is_read_as_it_is(old):
    before, rows = content(old.parent), rows_of_old(old)
    ids = set()
    for _ in range(2):
        with Journal(old) as journal:
            assert [(e.seq, e.at, e.kind) for e in journal.events()] == [row[:3] for row in rows]
            ids.add(journal.campaign)
    assert content(old.parent) == before
    assert len(ids) == 1


def test_the_first_write_converts_a_copy_and_keeps_the_original(old):
    before, rows = old.read_bytes(), rows_of_old(old)
    with Journal(old) as journal:
        campaign, events = journal.campaign, journal.events()
        added = journal.append("stop", why="enough")
        assert added.seq == len(rows) + 1
    assert old.with_name("j.v1").read_bytes() == before
    assert rows_of_new(old)[:-1] == rows
    assert sorted(path.name for path in old.parent.iterdir()) == ["j", "j.v1"]
    with Journal(old) as journal:
        assert journal.campaign == campaign
        assert journal.events() == [*events, added]


def test_a_system_that_opens_no_folder_converts_it_too(old, monkeypatch):
    """As Windows."""
    opened = os.open

    def refuse(path, *mode):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *mode)

    monkeypatch.setattr("querist.asking.store.old.os.open", refuse)
    with Journal(old) as journal:
        journal.append("stop", why="enough")
    assert old.with_name("j.v1").is_file()


def test_an_original_that_was_kept_is_never_overwritten(old):
    kept = old.with_name("j.v1")
    kept.write_text("something else")
    before = old.read_bytes()
    with Journal(old) as journal:
        journal.append("stop", why="enough")
    assert kept.read_text() == "something else"
    assert old.with_name("j.v1.2").read_bytes() == before


@pytest.mark.parametrize("old", ["pool"], indirect=True)
def test_an_old_journal_is_held_like_any_other(old):
    script = "import sys; from querist.asking.journal import Journal; Journal(sys.argv[1])"
    with Journal(old):
        second = subprocess.run(
            [sys.executable, "-c", script, old], capture_output=True, text=True, check=False
        )
    assert "another process is using it" in second.stderr


CONVERTING = """
import os, sys
from querist.asking.journal import Journal
journal = Journal(sys.argv[1])
steps = {"link": os.link, "replace": os.replace, "fsync": os.fsync}
name, when = sys.argv[2].split()
def stopping(*arguments):
    if when == "after":
        steps[name](*arguments)
    os.kill(os.getpid(), 9)
setattr(os, name, stopping)
journal.append("stop", why="enough")
"""


@pytest.mark.parametrize(
    "moment", ["link before", "link after", "replace before", "replace after", "fsync before"]
)
def test_a_kill_while_it_is_converted_loses_nothing(old, moment):
    rows, before = rows_of_old(old), old.read_bytes()
    assert subprocess.run([sys.executable, "-c", CONVERTING, old, moment], check=False).returncode == -9
    with Journal(old) as journal:
        assert [(e.seq, e.at, e.kind) for e in journal.events()] == [row[:3] for row in rows]
        journal.append("stop", why="enough")
    assert rows_of_new(old)[:-1] == rows
    assert before in [path.read_bytes() for path in old.parent.glob("j.v1*")]


def test_a_disk_without_room_for_the_copy_loses_nothing(old):
    resource = pytest.importorskip("resource")

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    before = old.read_bytes()
    script = (
        "import sys; from querist.asking.journal import Journal; Journal(sys.argv[1]).append('stop', why='')"
    )
    full = subprocess.run(
        [sys.executable, "-c", script, old], capture_output=True, text=True, check=False, preexec_fn=small
    )
    assert full.returncode == 1
    assert "no acknowledged event is lost" in full.stderr
    assert [path.name for path in old.parent.iterdir()] == ["j"]
    assert old.read_bytes() == before


# -- copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [True, False])
def test_a_copy_made_while_others_append_is_whole(tmp_path, alone):
    store = SqliteStore(tmp_path / "store", alone=alone)
    store.create("c", "c", Draft("campaign", BEGUN))
    store.keep_source("c", "edges.csv", b"a,b")
    over, acknowledged = threading.Event(), [1]

    def write():
        while not over.is_set():
            acknowledged[0] = store.append("c", acknowledged[0], [Draft("stop", {"why": "x" * 500})])[-1].seq

    writer = threading.Thread(target=write)
    writer.start()
    copies = []
    try:
        for number in range(5):
            least = acknowledged[0]
            store.backup(tmp_path / f"copy {number}")
            copies.append((tmp_path / f"copy {number}", least, acknowledged[0]))
    finally:
        over.set()
        writer.join()
    events = store.check("c")
    assert len(events) == acknowledged[0] > 1
    for path, least, most in copies:
        copy = SqliteStore(path)
        kept = copy.check("c")
        assert kept == events[: len(kept)]
        assert least <= len(kept) <= most + 1
        assert copy.sources("c") == {"edges.csv": b"a,b"}
        assert copy.append("c", len(kept), [Draft("stop", {"why": "restored"})])
        copy.close()
    with pytest.raises(InputError, match="exists already"):
        store.backup(tmp_path / "copy 0")
    with pytest.raises(InputError, match="no folder"):
        store.backup(tmp_path / "nowhere" / "copy")
    store.close()
    assert not list(tmp_path.glob("*.part"))


def test_a_journal_and_a_server_do_not_write_at_once(tmp_path):
    store = SqliteStore(tmp_path / "store")
    store.create("c", "c", Draft("campaign", BEGUN))
    with pytest.raises(JournalError, match="another process is using it"):
        Journal(tmp_path / "store")
    store.close()
    with Journal(tmp_path / "store") as journal:
        assert journal.append("stop", why="enough").seq == 2


def test_a_journal_has_one_campaign(tmp_path):
    store = SqliteStore(tmp_path / "store")
    for name in "ab":
        store.create(name, name, Draft("campaign", BEGUN))
    store.close()
    with pytest.raises(JournalError, match="it holds 2 campaigns"):
        Journal(tmp_path / "store")
    assert os.listdir(tmp_path) == ["store"]
