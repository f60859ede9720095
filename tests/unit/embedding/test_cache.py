"""The disk is a convenience: hits are bitwise, and nothing that goes wrong there stops the work."""

import errno
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sealing import Change, resealed

from querist.embedding import Embedding, cache, embed
from querist.embedding.kinds import spectral
from querist.errors import ResidualWarning
from querist.graph.graph import Graph

N = cache.WORTH + 40
HERE = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "fuzz")]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path))
    return tmp_path / "embeddings"


def make_graph(n: int = N, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, 3 * n))
    S = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    both = sp.csr_array((S + S.T) > 0, dtype=float)
    both.setdiag(0)
    both.eliminate_zeros()
    X = sp.random_array((n, 40), density=0.1, random_state=rng, format="csr")
    return Graph(both, attributes=X)


def files(place: Path) -> list[str]:
    return sorted(os.listdir(place)) if place.exists() else []


def test_a_hit_is_bitwise_and_says_so(place: Path) -> None:
    graph = make_graph()
    for kind in ("spectral", "diffusion"):
        first, second = (embed(graph, 10, kind=kind) for _ in range(2))  # type: ignore[arg-type]
        assert (first.cached, second.cached) == (False, True)
        for array in ("rows", "components", "eigenvalues", "residuals"):
            np.testing.assert_array_equal(getattr(first, array), getattr(second, array))
        for value in ("eigengap", "solver", "rank", "kind", "notes", "doubts"):
            assert getattr(first, value) == getattr(second, value)
        assert "from the cache" in second.report()
    assert len(files(place)) == 2


def test_what_rows_depend_on_is_in_the_name_and_the_rest_is_not(place: Path) -> None:
    graph = make_graph()
    embed(graph, 10)
    assert embed(replace(graph, nodes=[f"n{i}" for i in range(N)]), 10).cached
    assert embed(replace(graph, attributes=None), 10).cached  # spectral does not read them
    heavier = replace(graph, adjacency=graph.adjacency * 2.0)
    assert not embed(heavier, 10, normalised=False).cached
    for other in ({"rank": 11}, {"normalised": False}, {"constant": 2.0}, {"tol": 1e-5}, {"seed": 1}):
        assert not embed(graph, **{"rank": 10, **other}).cached  # type: ignore[arg-type]
    embed(graph, 10, kind="diffusion")
    assert not embed(replace(graph, attributes=graph.attributes * 2), 10, kind="diffusion").cached


def test_it_can_be_turned_off_and_small_graphs_do_not_use_it(place: Path) -> None:
    embed(make_graph(), 10, cache=False)
    embed(make_graph(100), 10)
    assert files(place) == []


def test_a_graph_without_edges_can_be_kept(place: Path) -> None:
    graph = Graph(sp.csr_array((N, N)))
    assert not embed(graph, 3).cached
    assert embed(graph, 3).cached


def flagged(content: bytes, at: int, value: int) -> bytes:
    """A zip with a byte of its members' headers changed, where a member begins and where all are listed."""
    found = bytearray(content)
    for mark, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        place = content.find(mark)
        while place >= 0:
            found[place + at + further] = value
            place = content.find(mark, place + 1)
    return bytes(found)


ENCRYPTED, METHOD = 6, 8
"""Where a member's header says so."""


def put(**arrays: Any) -> Change:
    return lambda held, kept: kept.update({f"embedding.{name}": array for name, array in arrays.items()})


REMADE: dict[str, Change] = {
    "another shape": put(components=np.zeros(3, dtype=np.int64)),
    "another type": put(rows=np.zeros((N, 10), dtype=np.float32)),
    "NaN": put(rows=np.full((N, 10), np.nan)),
    "a component below 0": put(components=np.full(N, -1)),
    "no value": lambda held, kept: held.pop("value"),
    "a list": lambda held, kept: held.update(value=[]),
    "of another name": lambda held, kept: held["value"]["CachedEmbedding"].update(name="other"),
    "an unknown field": lambda held, kept: held["value"]["CachedEmbedding"].update(colour=3),
}


@pytest.mark.parametrize("damage", REMADE)
def test_an_entry_that_is_not_what_it_should_be_is_computed_again(place: Path, damage: str) -> None:
    graph = make_graph()
    first = embed(graph, 10)
    path = place / files(place)[0]
    resealed(path, REMADE[damage])
    again = embed(graph, 10)
    assert not again.cached
    np.testing.assert_array_equal(first.rows, again.rows)


def test_an_entry_under_the_name_of_another_is_computed_again(place: Path) -> None:
    first, second = embed(make_graph(), 10), embed(make_graph(seed=1), 10)
    names = sorted((place / name for name in files(place)), key=lambda path: path.stat().st_mtime_ns)
    names[1].write_bytes(names[0].read_bytes())
    again = embed(make_graph(seed=1), 10)
    assert not again.cached
    np.testing.assert_array_equal(second.rows, again.rows)
    assert not np.array_equal(first.rows, again.rows)


@pytest.mark.parametrize(
    "damage",
    ["empty", "cut", "flipped", "other zip", "pickle", "encrypted", "unknown method", "no zlib", "lzma"],
)
def test_a_damaged_entry_is_computed_and_written_again(place: Path, damage: str) -> None:
    graph = make_graph()
    first = embed(graph, 10)
    path = place / files(place)[0]
    content = path.read_bytes()
    if damage == "other zip":
        np.savez(path, something=np.zeros(3))
    elif damage == "pickle":
        np.savez(path, rows=np.array([{}], dtype=object), allow_pickle=True)
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[:middle],
                "flipped": flipped,
                "encrypted": flagged(content, ENCRYPTED, 1),
                "unknown method": flagged(content, METHOD, 99),
                "no zlib": flagged(content, METHOD, 8),
                "lzma": flagged(content, METHOD, 14),
            }[damage]
        )
    again = embed(graph, 10)
    assert not again.cached
    np.testing.assert_array_equal(first.rows, again.rows)
    assert embed(graph, 10).cached


def test_doubts_are_repeated_on_a_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph()
    for cached in (False, True):
        with pytest.warns(ResidualWarning, match="above tol"):
            assert embed(graph, 10, tol=1e-20).cached is cached


def test_a_place_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("QUERIST_CACHE", str(blocked))
    with pytest.warns(UserWarning, match="was not cached.*QUERIST_CACHE"):
        assert embed(make_graph(), 10).rows.shape[0] == N


def test_a_full_disk_is_a_warning_and_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any, **arrays: Any) -> None:
        file.write(b"half an entry")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        embed(make_graph(), 10)
    assert files(place) == []


def test_the_entries_not_used_for_longest_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [make_graph(seed=s) for s in range(4)]
    for age, graph in zip((300, 200, 100), graphs, strict=False):
        before = set(files(place))
        embed(graph, 10)
        (fresh,) = set(files(place)) - before
        os.utime(place / fresh, (time.time() - age,) * 2)
    assert embed(graphs[0], 10).cached  # used again, so the second is now the oldest
    size = max((place / name).stat().st_size for name in files(place))
    monkeypatch.setattr(cache, "LIMIT", int(3.5 * size))
    embed(graphs[3], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [cache.fetch(name[:-4]) is not None for name in files(place)] == [True] * 3
        assert [embed(g, 10).cached for g in (graphs[0], graphs[2], graphs[3])] == [True] * 3
    assert not embed(graphs[1], 10).cached


def test_an_entry_above_the_limit_is_not_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 1000)
    embed(make_graph(), 10)
    assert files(place) == []


def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    place.mkdir(parents=True)
    old, new = place / "old.part", place / "new.part"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (1, 1))
    embed(make_graph(), 10)
    assert not old.exists()
    assert new.exists()


def test_what_another_process_is_writing_is_not_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(make_graph(), 10)
    size = max((place / name).stat().st_size for name in files(place))
    monkeypatch.setattr(cache, "LIMIT", int(1.5 * size))
    beside = place / "theirs.part"
    beside.write_bytes(bytes(2 * size))
    os.utime(beside, (time.time() - 60,) * 2)
    embed(make_graph(seed=1), 10)
    assert beside.exists()
    assert len(files(place)) == 2  # theirs, and the newer one of ours


KILLED = """
import os, sys
sys.path[:0] = {here!r}
from test_cache import make_graph
from querist import codec
from querist.embedding import embed
def half(file, **arrays):
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), 9)
codec.np.savez = half
embed(make_graph(), 10)
"""


@pytest.mark.slow
def test_killed_while_it_writes_it_leaves_no_entry(place: Path) -> None:
    code = KILLED.format(here=HERE)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    (left,) = files(place)
    assert left.endswith(".part")
    assert not embed(make_graph(), 10).cached
    assert embed(make_graph(), 10).cached


def test_the_users_cache_directory_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUERIST_CACHE")
    assert cache.directory().name == "embeddings"
    assert "querist" in str(cache.directory())


RACE = """
import sys, hashlib
sys.path[:0] = {here!r}
from test_cache import make_graph
from querist.embedding import embed
for turn in range(30):
    rows = embed(make_graph(seed=turn % 3), 10).rows
    print(turn % 3, hashlib.sha256(rows.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_race_safely(place: Path) -> None:
    code = RACE.format(here=HERE)
    run = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in "ab"]
    outputs = [process.communicate()[0].splitlines() for process in run]
    assert [process.returncode for process in run] == [0, 0]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 30
    assert len(set(outputs[0])) == 3
    assert [Path(name).suffix for name in files(place)] == [".npz"] * 3


def test_rows_of_an_entry_are_those_of_the_value() -> None:
    value: Embedding = spectral.spectral(make_graph(), 7)
    cache.store("name", value)
    found = cache.fetch("name")
    assert found is not None
    np.testing.assert_array_equal(found.rows, value.rows)
    assert cache.fetch("another") is None
