"""A damaged write-ahead log is named before SQLite drops what follows; one that was cut short is read."""

import contextlib
import random
import shutil
import sqlite3

import numpy as np
import pytest
from typer.testing import CliRunner

from querist.asking.store.events import Draft, StoreError
from querist.asking.store.sqlite import SqliteStore
from querist.cli.app import app

BEGUN = {"graph": "0", "nodes": 99, "edges": 8, "classes": ["a", "b"], "strategy": "random"}
FRAME = 24 + 4096


def answer(store, row):
    last = store.last("c")
    drafts = [
        Draft("question", {"row": row, "audit": False, "reason": "why" * 50}),
        Draft("answer", {"row": row, "code": 0, "person": "p"}),
    ]
    store.append("c", last, drafts, (f"p {last}", "digest", {}))


def files(place, folder, kinds=("", "-wal", "-shm")):
    """A copy of a store that is open: what a kill at this moment leaves."""
    folder.mkdir(exist_ok=True)
    for kind in kinds:
        shutil.copy(f"{place}{kind}", folder / f"s{kind}")
    return folder / "s"


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The store of a server that was killed, and its events."""
    folder = tmp_path_factory.mktemp("killed")
    with SqliteStore(folder / "open") as store:
        store.create("c", "Cats", Draft("campaign", BEGUN))
        store.name_person("c", "p", "Ann")
        for row in range(20):
            answer(store, row)
        return files(folder / "open", folder / "kept"), store.check("c")


def changed(killed, folder, change, kinds=("", "-wal")):
    """A copy whose log `change` altered."""
    place = files(killed[0], folder, kinds)
    log = bytearray(place.with_name("s-wal").read_bytes())
    change(log)
    place.with_name("s-wal").write_bytes(log)
    return place


def events_of(place):
    with SqliteStore(place) as store:
        return store.check("c")


def flip(at, by=0x55):
    def change(log):
        log[at] ^= by

    return change


def replaced(by, since):
    def change(log):
        log[since:] = by[since:]

    return change


def length(killed):
    return killed[0].with_name("s-wal").stat().st_size


def test_a_log_that_nobody_damaged_is_read(killed, tmp_path):
    assert events_of(changed(killed, tmp_path, lambda log: None)) == killed[1]
    assert len(killed[1]) == 41


def test_each_of_200_damaged_bytes_is_named(killed, tmp_path):
    draw = random.Random(0)
    for _ in range(200):
        at, by = draw.randrange(length(killed)), draw.randrange(1, 256)
        place = changed(killed, tmp_path, flip(at, by))
        before = place.read_bytes(), place.with_name("s-wal").read_bytes()
        with pytest.raises(StoreError, match=r"s-wal is damaged at frame \d+ .*campaign repair"):
            SqliteStore(place)
        assert (place.read_bytes(), place.with_name("s-wal").read_bytes()) == before


def test_the_log_of_a_link_lies_beside_the_file_it_leads_to(killed, tmp_path):
    place = changed(killed, tmp_path, flip(length(killed) // 2))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(place)
    with pytest.raises(StoreError, match="log s-wal is damaged"):
        SqliteStore(tmp_path / "elsewhere" / "link")
    words = ["campaign", "repair", str(tmp_path / "saved"), "--store", str(tmp_path / "elsewhere" / "link")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert events_of(tmp_path / "saved") == killed[1]


PARTS = {"page number": 0, "size": 5, "salts": 9, "first checksum": 17, "second checksum": 20, "page": 3000}


@pytest.mark.slow
@pytest.mark.parametrize("back", [1, 2, 40])
@pytest.mark.parametrize("part", [*PARTS, "header"])
def test_everything_is_saved_behind_a_damaged_byte(killed, tmp_path, part, back):
    at = 12 + back % 8 if part == "header" else length(killed) - back * FRAME + PARTS[part]
    place = changed(killed, tmp_path / "damaged", flip(at))
    words = ["campaign", "repair", str(tmp_path / "saved"), "--store", str(place)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert f"{place}-wal is damaged: the newest answers may be missing." in result.output.replace("\n", " ")
    assert "No event is damaged" in result.output
    assert events_of(tmp_path / "saved") == killed[1]
    with SqliteStore(tmp_path / "saved") as saved:
        assert saved.people("c") == {"p": "Ann"}
    with pytest.raises(StoreError, match="s-wal is damaged"):
        SqliteStore(place)


def lose(log):
    """As if a block in the newest transaction were never written."""
    at = len(log) - 2 * FRAME
    log[at : at + 1000] = bytes(1000)


def test_the_index_tells_a_lost_block_from_a_write_that_was_cut_short(killed, tmp_path):
    with pytest.raises(StoreError, match="s-wal is damaged"):
        SqliteStore(changed(killed, tmp_path / "with", lose, ("", "-wal", "-shm")))
    assert events_of(changed(killed, tmp_path / "without", lose)) == killed[1][:-2]


def test_a_lost_block_before_other_transactions_is_damage(killed, tmp_path):
    def change(log):
        log[32 + 9 * FRAME : 32 + 10 * FRAME] = bytes(FRAME)

    with pytest.raises(StoreError, match="s-wal is damaged at frame 10 "):
        SqliteStore(changed(killed, tmp_path, change))


# -- what is no damage -------------------------------------------------------------------------------


def test_a_log_that_was_cut_short_anywhere_is_read(killed, tmp_path):
    for size in range(0, length(killed), 7919):
        place = changed(killed, tmp_path, replaced(b"", size))
        if size > 9 * FRAME:
            found = events_of(place)
            assert found == killed[1][: len(found)]
        else:
            SqliteStore(place).close()


def test_what_an_earlier_log_left_behind_is_no_damage(killed, tmp_path):
    """SQLite begins a log anew over the frames of the last one; a writer may be killed in any of them."""
    place = files(killed[0], tmp_path / "open")
    with SqliteStore(place) as store:
        assert store._read("PRAGMA wal_checkpoint(RESTART)")[0][0] == 0
        for row in range(20, 24):
            answer(store, row)
        events = store.check("c")
        new = files(place, tmp_path / "new")
    old, log = killed[0].with_name("s-wal").read_bytes(), new.with_name("s-wal").read_bytes()
    assert len(log) == len(old) and log[-FRAME:] == old[-FRAME:] and log[:FRAME] != old[:FRAME]
    assert events_of(files(new, tmp_path / "copy", ("", "-wal"))) == events
    for size in range(32, 14 * FRAME, 1111):
        torn = changed((new,), tmp_path / "torn", replaced(old, size))
        found = events_of(torn)
        assert found == events[: len(found)] and len(found) >= len(killed[1])


def test_what_a_dead_writer_left_uncommitted_is_no_damage(killed, tmp_path):
    """A large transaction lies in the log in part before it is committed; a small one then overwrites it."""
    place = files(killed[0], tmp_path / "open")
    with SqliteStore(place) as store:
        with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("PRAGMA cache_size = 5")
            other.execute("BEGIN IMMEDIATE")
            noise = np.random.default_rng(0).bytes(300_000)
            other.execute("INSERT INTO sources VALUES ('c', 'large', ?)", (noise,))
            other.execute("INSERT INTO sources VALUES ('c', 'larger', ?)", (noise,))
            during = files(place, tmp_path / "during")
            other.execute("ROLLBACK")
        answer(store, 30)
        after = files(place, tmp_path / "after")
        events = store.check("c")
    sizes = [each.with_name("s-wal").stat().st_size for each in (during, after)]
    assert sizes[0] == sizes[1] > length(killed) + 300_000
    assert events_of(during) == killed[1]
    assert events_of(after) == events and len(events) == 43


def test_damage_is_what_a_second_reading_confirms(killed, tmp_path, monkeypatch):
    """The first reading may meet the log while another process writes it anew."""
    from querist.asking.store import wal

    place = changed(killed, tmp_path, flip(32 + 9 * FRAME + 99))
    damaged = wal._read(place)
    shutil.copy(killed[0].with_name("s-wal"), place.with_name("s-wal"))
    readings = iter([damaged, wal._read(place)])
    monkeypatch.setattr(wal, "_read", lambda path: next(readings))
    assert events_of(place) == killed[1]


def test_files_that_are_no_log_are_left_to_sqlite(tmp_path):
    with SqliteStore(tmp_path / "s") as store:
        store.create("c", "Cats", Draft("campaign", BEGUN))
    for content in (b"", b"x", bytes(32), bytes(5000), bytes(range(256)) * 40):
        (tmp_path / "s-wal").write_bytes(content)
        assert len(events_of(tmp_path / "s")) == 1
