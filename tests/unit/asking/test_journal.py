"""The journal keeps what it acknowledged, changes nothing, and says plainly what is wrong with a file."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import querist
from querist.asking.store.events import Draft, StoreError
from querist.asking.store.sqlite import APPLICATION, only_campaign
from querist.errors import InputError

BEGUN = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "ü"], "strategy": "random", "seed": 0}

APPENDING = f"""
import sys
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import only_campaign
store, id, name, events = only_campaign(sys.argv[1])
if not events:
    store.create(id, name, Draft("campaign", {BEGUN}))
for number in range(int(sys.argv[2])):
    store.append(id, store.last(id), [Draft("stop", {{"why": "x" * 200, "number": number}})])
    print(number, flush=True)
"""


def begun(path):
    """A journal in which a campaign was begun."""
    journal = only_campaign(path)
    append(journal, "campaign", **BEGUN)
    return journal


def append(journal, kind, **body):
    """What `Asking` does with an event."""
    store, id, name, _ = journal
    if not store.last(id):
        return store.create(id, name, Draft(kind, body))
    return store.append(id, store.last(id), [Draft(kind, body)])[0]


def numbers(journal):
    return [event.body["number"] for event in journal.events[1:]]


def child(script, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_text_that_cannot_be_kept_begins_no_campaign(tmp_path, text):
    graph = querist.as_graph([(0, 1), (1, 2), (2, 0)])
    with only_campaign(tmp_path / "j") as journal:
        with pytest.raises(InputError, match="contains NUL or half of a character; remove it"):
            querist.ask(graph, budget=1, classes=[text, "b"], journal=journal)
        assert not journal.store.last(journal.id) and not journal.store.campaigns()


def test_events_come_back_in_order_with_what_they_said(tmp_path):
    said = [
        ("campaign", BEGUN),
        ("question", {"row": 3, "audit": False, "reason": "why"}),
        ("answer", {"row": 3, "code": 1}),
    ]
    with only_campaign(tmp_path / "j") as journal:
        written = [append(journal, kind, **body) for kind, body in said]
    with only_campaign(tmp_path / "j") as journal:
        assert journal.events == written
        assert [(event.kind, event.body) for event in journal.events] == said
        assert [event.seq for event in journal.events] == [1, 2, 3]
        assert sorted(event.at for event in written) == [event.at for event in written]


@pytest.mark.parametrize("change", ["UPDATE events SET kind = 'skip'", "DELETE FROM events"])
def test_no_event_is_changed_or_removed(tmp_path, change):
    begun(tmp_path / "j").store.close()
    with sqlite3.connect(tmp_path / "j") as database, pytest.raises(sqlite3.IntegrityError, match="never"):
        database.execute(change)


def test_nothing_that_is_no_json_gets_in(tmp_path):
    with begun(tmp_path / "j") as journal:
        with pytest.raises(ValueError, match="JSON"):
            append(journal, "question", value=float("nan"))
        assert [event.kind for event in journal.store.check(journal.id)] == ["campaign"]


@pytest.mark.slow
def test_a_second_process_is_refused_until_the_first_ends(tmp_path):
    with begun(tmp_path / "j") as journal:
        second = child(APPENDING, tmp_path / "j", 1)
        assert second.returncode == 1
        assert "another process is using it" in second.stderr
        assert len(journal.store.check(journal.id)) == 1
    assert child(APPENDING, tmp_path / "j", 1).returncode == 0


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", APPENDING, str(tmp_path / "j"), "100000"], stdout=subprocess.PIPE, text=True
    )
    seen = [process.stdout.readline() for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    seen += process.stdout.read().splitlines()
    process.wait()
    with only_campaign(tmp_path / "j") as journal:
        kept = numbers(journal)
    assert kept == list(range(len(kept)))
    assert len(kept) - len(seen) in (0, 1), "at most the one that was not acknowledged is there besides"


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path):
    resource = pytest.importorskip("resource")

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    full = child(APPENDING, tmp_path / "j", 10_000, preexec_fn=small)
    assert full.returncode == 1
    assert "no acknowledged event is lost" in full.stderr
    seen = full.stdout.split()
    assert len(seen) > 5
    with only_campaign(tmp_path / "j") as journal:
        assert numbers(journal) == [int(number) for number in seen]
        append(journal, "stop", why="room was made", number=-1)


@pytest.fixture
def nobody():
    """The superuser may write anything, so somebody else tries; `with nobody():` is not the superuser."""

    @contextlib.contextmanager
    def become():
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(was)

    return become


@pytest.mark.parametrize("where", ["file", "folder"])
def test_a_file_that_cannot_be_written_is_said_to_be_so(nobody, where):
    # Not below tmp_path, whose parents only their owner may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun(folder / "j").store.close()
        (folder / "j").chmod(0o444 if where == "file" else 0o666)
        folder.chmod(0o777 if where == "file" else 0o555)
        with nobody(), pytest.raises(StoreError, match="cannot be written; allow"):
            append(only_campaign(folder / "j"), "stop", why="enough")
        folder.chmod(0o777)
        with only_campaign(folder / "j") as journal:
            assert [event.body for event in journal.events] == [BEGUN]


def test_files_that_are_no_journal_are_refused(tmp_path):
    (tmp_path / "text").write_text("node,label\n" * 200)
    with pytest.raises(StoreError, match="no journal of querist"):
        only_campaign(tmp_path / "text")
    with sqlite3.connect(tmp_path / "other") as database:
        database.execute("CREATE TABLE birds (name)")
    with pytest.raises(StoreError, match="no journal of querist"):
        only_campaign(tmp_path / "other")
    with sqlite3.connect(tmp_path / "newer") as database:
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"version 99.*use the Querist that wrote it"):
        only_campaign(tmp_path / "newer")
    with pytest.raises(StoreError, match="there is no folder"):
        only_campaign(tmp_path / "nowhere" / "j")
    with pytest.raises(StoreError, match="cannot be opened"):
        only_campaign(tmp_path)
    assert (tmp_path / "text").read_text() == "node,label\n" * 200


def test_a_closed_journal_says_so():
    journal = only_campaign()
    journal.store.close()
    with pytest.raises(StoreError, match="closed"):
        append(journal, "answer", row=1)
