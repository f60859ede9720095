"""Before and while it runs: memory asked for, time left said, an interrupt that leaves nothing broken."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from querist import memory
from querist.embedding import cache, embed
from querist.embedding.kinds.diffusion import diffusion_bytes
from querist.embedding.kinds.spectral import spectral_bytes
from querist.errors import InputError
from querist.graph.graph import Graph
from querist.operator.eigen import solve


def make_graph(n: int = 700, degree: int = 8, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, n * degree // 2))
    S = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    both = sp.csr_array((S + S.T) > 0, dtype=float)
    both.setdiag(0)
    both.eliminate_zeros()
    X = sp.random_array((n, 300), density=0.05, rng=rng, format="csr")
    return Graph(both, attributes=X).largest_component()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path))
    return tmp_path / "embeddings"


# -- memory ------------------------------------------------------------------------------------------


def test_what_is_free_is_a_sensible_number() -> None:
    assert 1e6 < memory.free() < 1e15


@pytest.mark.parametrize("kind", ["spectral", "diffusion"])
def test_what_does_not_fit_is_refused_with_a_rank_that_fits(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    graph = make_graph()
    room = 0.6 * _needed(graph, 100, kind)
    monkeypatch.setattr(memory, "free", lambda: room)
    with pytest.raises(InputError, match=r"needs about .* GB of memory, and .* available; rank=") as refused:
        embed(graph, 100, kind=kind, cache=False)
    found = re.search(r"rank=(\d+)", str(refused.value))
    assert found
    smaller = int(found[1])
    assert 1 <= smaller < 100
    assert embed(graph, smaller, kind=kind, cache=False).rank == smaller
    with pytest.raises(InputError):
        embed(graph, smaller + 3, kind=kind, cache=False)


def _needed(graph: Graph, rank: int, kind: str) -> float:
    if kind == "spectral":
        return spectral_bytes(graph, rank, normalised=True, tol=2e-3)
    return diffusion_bytes(graph, rank)


def test_no_rank_fits_into_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: 10.0)
    with pytest.raises(InputError, match="no rank fits"):
        embed(make_graph(), 20, cache=False)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the resident memory of Linux")
@pytest.mark.parametrize("tol", [2e-3, 1e-8])
def test_the_estimate_is_not_far_from_what_is_taken(tol: float) -> None:
    import tracemalloc

    graph = make_graph(20_000, 10)
    expected = spectral_bytes(graph, 40, normalised=True, tol=tol)
    embed(make_graph(2000), 40, tol=tol, cache=False)  # compiles
    graph.components, graph.degrees  # noqa: B018
    tracemalloc.start()
    embed(graph, 40, tol=tol, cache=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.6 * expected < peak < 1.1 * expected


# -- progress ----------------------------------------------------------------------------------------


def test_an_interrupt_leaves_nothing_and_the_next_call_works(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    graph = make_graph()
    seen = []

    def press(fraction: float, text: str) -> None:
        seen.append(fraction)
        if len(seen) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(graph, 20, progress=press)
    assert 0 < seen[-1] < 1
    assert not place.exists() or not os.listdir(place)
    first = embed(graph, 20)
    assert not first.cached
    np.testing.assert_array_equal(first.rows, embed(graph, 20).rows)


def test_an_interrupt_while_the_entry_is_written_leaves_no_part_of_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(file: object, **arrays: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.np, "savez", press)
    with pytest.raises(KeyboardInterrupt):
        embed(make_graph(), 20)
    assert os.listdir(place) == []
