"""Files of a store: others stay as they are, copies are made while it is used."""

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from querist.asking.store.events import Draft, StoreError
from querist.asking.store.sqlite import SqliteStore, only_campaign
from querist.errors import InputError

BEGUN = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "b"], "strategy": "random"}


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
    for opening in (only_campaign, SqliteStore):
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
        with only_campaign(tmp_path / name) as journal:
            journal.store.create(journal.id, journal.name, Draft("campaign", BEGUN))
            assert len(journal.store.check(journal.id)) == 1


def test_a_journal_of_an_earlier_version_is_refused_and_stays_as_it_is(tmp_path):
    only_campaign(tmp_path / "j").store.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "j")) as database:
        database.execute("PRAGMA user_version = 1")
    before = content(tmp_path)
    with pytest.raises(StoreError, match="version 1, and this Querist reads version 2; use"):
        only_campaign(tmp_path / "j")
    assert content(tmp_path) == before


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


@pytest.mark.slow
def test_a_journal_and_a_server_do_not_write_at_once(tmp_path):
    store = SqliteStore(tmp_path / "store")
    store.create("c", "c", Draft("campaign", BEGUN))
    with pytest.raises(StoreError, match="another process is using it"):
        only_campaign(tmp_path / "store")
    store.close()
    with only_campaign(tmp_path / "store") as journal:
        assert journal.store.append("c", 1, [Draft("stop", {"why": "enough"})])[0].seq == 2


APPENDING = """
import sys
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import only_campaign
journal = only_campaign(sys.argv[1])
journal.store.append(journal.id, 1, [Draft("stop", {"why": "other"})])
"""


@pytest.mark.slow
def test_a_second_opening_in_the_same_process_lets_no_other_process_in(tmp_path):
    with only_campaign(tmp_path / "j") as journal:
        journal.store.create(journal.id, journal.name, Draft("campaign", BEGUN))
        for _ in range(2):
            with pytest.raises(StoreError, match="another process is using it"):
                only_campaign(tmp_path / "j")
            other = subprocess.run(
                [sys.executable, "-c", APPENDING, tmp_path / "j"], capture_output=True, text=True, check=False
            )
            assert "another process is using it" in other.stderr
    with only_campaign(tmp_path / "j") as journal:
        assert len(journal.events) == 1


def test_a_journal_has_one_campaign(tmp_path):
    store = SqliteStore(tmp_path / "store")
    for name in "ab":
        store.create(name, name, Draft("campaign", BEGUN))
    store.close()
    with pytest.raises(StoreError, match="it holds 2 campaigns"):
        only_campaign(tmp_path / "store")
    assert os.listdir(tmp_path) == ["store"]
