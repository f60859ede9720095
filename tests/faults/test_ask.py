"""`ask` that is killed, stopped, short of room, or not alone: no answer that was told is lost.

QUERIST_FAULTS says how often things are disturbed; `ask` is killed five times as often, a few times where
nothing is said.
"""

import os
import random
import shutil
import signal
import time

import pytest

from querist.asking.store.events import Draft, StoreError
from querist.asking.store.sqlite import SqliteStore, only_campaign
from querist.graph import as_graph

KILLS = int(os.environ.get("QUERIST_FAULTS", "3"))
NODES, BUDGET = 60, 30
LINE = f"ask edges.csv --oracle labels.csv --budget {BUDGET} --journal kept --method wvrn -o out.csv"


@pytest.fixture
def edges(tmp_path):
    """A circle with chords in two classes."""
    ends = [(k, (k + step) % NODES) for k in range(NODES) for step in (1, 7)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in ends))
    labels = "".join(f"{k},{'ab'[k < NODES // 2]}\n" for k in range(NODES))
    (tmp_path / "labels.csv").write_text(f"node,label\n{labels}")
    return tmp_path


def told(out):
    """(node, class) of every answer that was told, in lines that are whole."""
    lines = [line.split() for line in out.split("\n")[:-1]]
    return [(line[1].rstrip(":"), line[2]) for line in lines if len(line) == 3 and line[1].endswith(":")]


def kept(path, nodes):
    """The same as the journal has it, which is checked on the way."""
    if not path.exists():
        return []
    with only_campaign(path) as journal:
        answers = [event.body for event in journal.events if event.kind == "answer"]
    return [(str(nodes[each["row"]]), "ab"[each["code"]]) for each in answers]


def remove(folder, *names):
    for name in names:
        for path in folder.glob(f"{name}*"):
            path.unlink()


@pytest.mark.slow
def test_what_was_told_survives_kills(start, ran, edges):
    nodes, moments, kills = as_graph(edges / "edges.csv").nodes, random.Random(KILLS), 0
    first = ran(LINE)
    assert first.code == 0, first.err
    whole, sequence = (edges / "out.csv").read_bytes(), kept(edges / "kept", nodes)
    assert told(first.out) == sequence
    while kills < 5 * KILLS:
        remove(edges, "kept", "out.csv", "said")
        code = None
        while code != 0:
            command = start(LINE, streams=[os.devnull, "said.txt", "err.txt"])
            # After some answers and a moment; or after a moment, while it starts and reads the journal.
            after, pause = moments.randrange(-3, 6), moments.uniform(0.0, 0.012)
            before = len(told(command.out))
            if after < 0:
                pause *= 15
            while len(told(command.out)) < before + after and not command.ended():
                time.sleep(0.002)
            time.sleep(pause)
            command.signal(signal.SIGTERM if moments.randrange(5) == 0 else signal.SIGKILL)
            code = command.wait()
            kills += code != 0
            assert code in (0, -signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM), command.err
            found, said = kept(edges / "kept", nodes), told(command.out)
            rest = iter(found)  # one that was kept and then not told may lie between two that were
            assert all(each in rest for each in said), "in the journal, in their order"
            assert len({node for node, _ in found}) == len(found), "once"
            assert found == sequence[: len(found)], (
                "the questions are those of a campaign that was left alone"
            )
            assert not (edges / "out.csv").exists() or (edges / "out.csv").read_bytes() == whole
        assert (edges / "out.csv").read_bytes() == whole
    print(f"{kills} kills of ask, no answer lost")


@pytest.mark.slow
def test_a_second_writer_is_refused(start, ran, edges):
    os.mkfifo(edges / "keys")
    command = start("ask edges.csv --classes a,b --journal kept", streams=["keys", "out.txt", "err.txt"])
    with (edges / "keys").open("w") as keys:
        keys.write("a\n")
        keys.flush()
        while "kept" not in command.out.partition("[a]")[2]:
            assert not command.ended(), command.err
            time.sleep(0.01)
        other = ran("ask edges.csv --classes a,b --journal kept")
        assert other.code == 2
        assert other.err.startswith("querist: kept: another process is using it; let that one end")
        keys.write("q\n")
    assert command.wait() == 0
    assert "Going on after 1 answer" in ran("ask edges.csv --classes a,b --journal kept").out


@pytest.mark.parametrize("size", [40_000, 52_000])
def test_a_file_that_may_not_grow(ran, edges, size):
    nodes = as_graph(edges / "edges.csv").nodes
    short = ran(LINE, size=size)
    assert short.code == 2, short.err
    assert "unexpected" not in short.err
    said = told(short.out)
    found = kept(edges / "kept", nodes) if (edges / "kept").stat().st_size else []
    assert said == found[: len(said)]
    assert ran(LINE).code == 0, "with room it goes on"
    assert len(kept(edges / "kept", nodes)) == BUDGET


def test_a_full_disk(ran, edges, small_disk):
    nodes = as_graph(edges / "edges.csv").nodes
    with small_disk(edges / "disk", 600):
        line = LINE.replace("--journal kept", "--journal disk/kept")
        (edges / "disk" / "filling").write_bytes(bytes(500 * 1024))
        short = ran(line)
        assert short.code == 2
        assert "the disk is full; no acknowledged event is lost" in short.err
        (edges / "disk" / "filling").unlink()
        assert ran(line).code == 0
        assert len(kept(edges / "disk" / "kept", nodes)) == BUDGET
        assert told(short.out) == kept(edges / "disk" / "kept", nodes)[: len(told(short.out))]


def test_a_disk_that_may_only_be_read(ran, edges, small_disk):
    with small_disk(edges / "disk", 800) as only_read:
        line = LINE.replace("--journal kept", "--journal disk/kept").replace("out.csv", "disk/out.csv")
        only_read(True)
        refused = ran(line)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith("querist: disk/out.csv: cannot be written (Read-only file system)")
        refused = ran(line.replace("disk/out.csv", "out.csv"))
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith("querist: disk/kept: it cannot be written")
        only_read(False)
        done = ran(line)
        assert done.code == 0, done.err


def test_a_clock_that_is_set_back(edges):
    times = iter([1e9, 2e9, 5e8, 5e8, -1.0])
    store = SqliteStore(edges / "kept", clock=lambda: next(times))
    begun = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "b"], "strategy": "random"}
    store.create("c", "name", Draft("campaign", begun))
    for row in range(2):
        store.append("c", store.last("c"), [Draft("question", {"row": row, "audit": False, "reason": "why"})])
        store.append("c", store.last("c"), [Draft("answer", {"row": row, "code": 0})])
    store.close()
    again = SqliteStore(edges / "kept")
    assert [event.kind for event in again.check("c")] == ["campaign", *["question", "answer"] * 2]
    again.close()


def test_a_flipped_bit_is_found_or_changes_nothing(ran, edges):
    nodes, chance = as_graph(edges / "edges.csv").nodes, random.Random(KILLS)
    assert ran(LINE).code == 0
    sequence, size = kept(edges / "kept", nodes), (edges / "kept").stat().st_size
    found = 0
    for _ in range(5 * KILLS):
        remove(edges, "damaged")
        shutil.copy(edges / "kept", edges / "damaged")
        with (edges / "damaged").open("r+b") as file:
            at = chance.randrange(size)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))
        try:
            assert kept(edges / "damaged", nodes) == sequence
        except StoreError:
            found += 1
    assert found
