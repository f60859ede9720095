"""What commands write, and what they keep to go on from: whole or absent, whatever happens meanwhile."""

import json
import os
import random
import shutil
import signal
import time

import numpy as np
import pytest

from querist.experiment.comparison import Comparison
from querist.experiment.store import Store

KILLS = int(os.environ.get("QUERIST_FAULTS", "3"))
NODES = 600
"""Enough for an embedding to be kept in the cache."""


@pytest.fixture
def edges(tmp_path):
    """A circle with chords in two classes."""
    ends = [(k, (k + step) % NODES) for k in range(NODES) for step in (1, 7)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in ends))
    labels = "".join(f"{k},{'ab'[k < NODES // 2]}\n" for k in range(0, NODES, 10))
    (tmp_path / "labels.csv").write_text(f"node,label\n{labels}")
    return tmp_path


def disturbed(command, moments, longest):
    """Kill or stop it after a random moment; its exit code."""
    until = time.monotonic() + moments.uniform(0.0, longest)
    while time.monotonic() < until and not command.ended():
        time.sleep(0.002)
    if not command.ended():
        command.signal(moments.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
    return command.wait()


def lasted(ran, line, **options):
    """Seconds that a command takes when it is left alone."""
    begun = time.monotonic()
    found = ran(line, **options)
    assert found.code == 0, found.err
    return time.monotonic() - begun


# -- label --------------------------------------------------------------------------------------------------

LABEL = "label edges.csv --labels labels.csv --method wvrn -o out.csv"


@pytest.mark.slow
def test_labels_are_whole_or_absent(start, ran, edges):
    longest, moments = lasted(ran, LABEL), random.Random(KILLS)
    whole = (edges / "out.csv").read_bytes()
    (edges / "out.csv").unlink()
    for _ in range(KILLS):
        code = disturbed(start(LABEL), moments, 1.2 * longest)
        there = (edges / "out.csv").exists()
        assert there or code != 0
        assert not there or (edges / "out.csv").read_bytes() == whole
        (edges / "out.csv").unlink(missing_ok=True)
    (edges / "out.csv").write_bytes(b"old")
    short = ran(LABEL, size=4096)
    assert short.code == 2
    assert "out.csv: File too large" in short.err
    assert (edges / "out.csv").read_bytes() == b"old"
    both = [start(LABEL), start(LABEL)]
    assert [each.wait() for each in both] == [0, 0]
    assert (edges / "out.csv").read_bytes() == whole


# -- the cache of embeddings --------------------------------------------------------------------------------

EMBED = "embed edges.csv --rank 5 --out rows.npy --json"


@pytest.mark.slow
def test_a_cache_serves_no_damaged_rows(start, ran, edges, small_disk):
    moments = random.Random(KILLS)
    longest = lasted(ran, EMBED, QUERIST_CACHE="first")
    rows = np.load(edges / "rows.npy")
    for _ in range(KILLS):
        disturbed(start(EMBED, QUERIST_CACHE="killed"), moments, 1.2 * longest)
    again = ran(EMBED, QUERIST_CACHE="killed")
    assert again.code == 0, again.err
    np.testing.assert_array_equal(np.load(edges / "rows.npy"), rows)
    (entry,) = (edges / "first" / "embeddings").glob("*.npz")
    content = entry.read_bytes()
    for _ in range(KILLS):
        at = moments.randrange(len(content))
        entry.write_bytes(content[:at] + bytes([content[at] ^ 1 << moments.randrange(8)]) + content[at + 1 :])
        (edges / "rows.npy").unlink()
        again = ran(EMBED, QUERIST_CACHE="first")
        assert again.code == 0, again.err
        np.testing.assert_array_equal(np.load(edges / "rows.npy"), rows)
    with small_disk(edges / "disk", 16) as only_read:
        for wished in (False, True):
            only_read(wished)
            short = ran(EMBED, QUERIST_CACHE="disk")
            assert short.code == 0
            assert "warning: the embedding was not cached" in short.err
            np.testing.assert_array_equal(np.load(edges / "rows.npy"), rows)


# -- experiment and reproduce -------------------------------------------------------------------------------

MINE = """task = "online"
dataset = "karate"
repeats = 6
[[experiment]]
method = "msg"
[[experiment]]
method = "gpa"
"""
EXPERIMENT = "experiment mine.toml --processes 1 --out"
MEASURED = {"seconds", "control_seconds", "margin_seconds"}


def numbers(folder):
    """What came of it, but for how long it took."""
    rows = json.loads((folder / "comparison.json").read_text())
    return [row for row in rows if row["measure"] not in MEASURED]


@pytest.fixture(scope="module")
def alone(commands, tmp_path_factory):
    """The folder of an experiment that nobody disturbed, and how long it took."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "mine.toml").write_text(MINE)
    begun = time.monotonic()
    assert commands.start(f"{EXPERIMENT} alone", folder).wait() == 0
    return folder / "alone", time.monotonic() - begun


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    return tmp_path


@pytest.mark.slow
def test_an_experiment_goes_on_as_if_it_had_not_been_stopped(start, mine, alone):
    folder, longest = alone
    moments, stops = random.Random(KILLS), 0
    while stops < KILLS:
        shutil.rmtree(mine / "stopped", ignore_errors=True)
        while code := disturbed(start(f"{EXPERIMENT} stopped"), moments, longest):
            assert code in (-signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM)
            stops += 1
        assert numbers(mine / "stopped") == numbers(folder)


@pytest.mark.slow
def test_two_experiments_in_one_folder(start, mine, alone):
    both = [start(f"{EXPERIMENT} both") for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert numbers(mine / "both") == numbers(alone[0])


@pytest.mark.slow
def test_an_experiment_on_a_full_disk_goes_on_when_there_is_room(ran, mine, alone):
    short = ran(f"{EXPERIMENT} short", size=12_000)
    assert short.code == 2
    assert "File too large" in short.err
    assert "finished runs are kept in short" in short.err
    assert ran(f"{EXPERIMENT} short").code == 0
    assert numbers(mine / "short") == numbers(alone[0])


@pytest.mark.slow
def test_a_flipped_bit_in_a_run_is_found(mine, alone):
    chance = random.Random(KILLS)
    for spec in Comparison.read(mine / "mine.toml").specifications:
        whole = Store(alone[0] / "results").read(spec)
        content = Store(alone[0] / "results").path(spec).read_bytes()
        damaged = Store(mine / "results")
        damaged.path(spec).parent.mkdir(exist_ok=True)
        assert len(whole) == 6
        for _ in range(40 * KILLS):
            at = chance.randrange(len(content))
            flipped = bytes([content[at] ^ 1 << chance.randrange(8)])
            damaged.path(spec).write_bytes(content[:at] + flipped + content[at + 1 :])
            found = damaged.read(spec)
            assert len(found) >= 4, "a bit touches one run, or two where it joins their lines"
            assert all(whole[draw] == record for draw, record in found.items())


REPRODUCE = "reproduce pounce08 theorem5 figure1 --quick --processes 1 --out"


def shown(folder):
    """Tables, figures and pages by their paths; not the runs, which say their seconds."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.parent.name != "results" and path.suffix != ".part" and path.is_file()
    }


def runs(folder):
    """The lines of finished runs, by file."""
    return {path.name: path.read_bytes().split(b"\n")[:-1] for path in sorted(folder.glob("results/*.jsonl"))}


@pytest.mark.slow
def test_a_reproduction_goes_on_as_if_it_had_not_been_stopped(commands, start, ran, tmp_path):
    commands.warm(f"{REPRODUCE} warm", tmp_path)
    longest = lasted(ran, f"{REPRODUCE} alone")
    whole, count = (
        shown(tmp_path / "alone"),
        {name: len(own) for name, own in runs(tmp_path / "alone").items()},
    )
    assert {path.suffix for path in whole} == {".md", ".csv", ".svg", ".png", ".json"}
    moments, stops = random.Random(KILLS), 0
    while stops < KILLS:
        shutil.rmtree(tmp_path / "stopped", ignore_errors=True)
        before = {}
        while code := disturbed(start(f"{REPRODUCE} stopped"), moments, longest):
            assert code in (-signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM)
            stops += 1
            found = runs(tmp_path / "stopped")
            assert all(found[name][: len(lines)] == lines for name, lines in before.items()), (
                "nothing is lost"
            )
            assert shown(tmp_path / "stopped").items() <= whole.items(), "whole or absent"
            before = found
        assert shown(tmp_path / "stopped") == whole
        found = runs(tmp_path / "stopped")
        assert {name: len(own) for name, own in found.items()} == count, "no finished run is made again"
        assert all(found[name][: len(lines)] == lines for name, lines in before.items())
