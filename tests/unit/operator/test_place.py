"""Where work goes, and what it is expected to take: the formulas against what is counted in runs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from querist.datasets import sbm
from querist.embedding import embed
from querist.embedding.kinds import kind_of
from querist.embedding.kinds.diffusion import Products, singular_triples
from querist.embedding.make import counted
from querist.errors import InputError
from querist.graph import Graph
from querist.operator import LocalSpace, memory
from querist.operator.device import choice
from querist.operator.eigen import krylov, solve
from querist.operator.eigen.chebyshev import width_of
from querist.operator.estimate import filter_effort, smoothing_effort
from querist.operator.place import (
    DEVICE_COPIED,
    DEVICE_START,
    GATHERED,
    MEMORY_BUS,
    MULTIPLIED,
    CountedWork,
    Effort,
    Resources,
    check_fits,
    placed,
)
from querist.progress import silent

WORK = CountedWork(Effort(1e12, 1e10), 3e9, Effort(5e10), device_memory=2e9, beside_device=1e9)
HERE = Resources(2, 8e9)
GPU = replace(HERE, device="cuda", device_free=100e9, copied=DEVICE_COPIED)


def test_seconds_are_what_is_counted_over_the_paces() -> None:
    assert Effort(GATHERED, MULTIPLIED).on_threads(1) == pytest.approx(2)
    assert Effort(GATHERED, MULTIPLIED).on_threads(2) == pytest.approx(1)
    assert Effort(alone=GATHERED).on_threads(64) == pytest.approx(1)
    assert Effort(MEMORY_BUS).on_threads(10_000) == pytest.approx(1)  # no machine reads faster
    assert Effort(1e12).on_device(DEVICE_COPIED / 4) == pytest.approx(
        4 * Effort(1e12).on_device(DEVICE_COPIED)
    )
    there = placed(WORK, GPU, "auto").seconds
    expected = DEVICE_START + WORK.moving.on_device(DEVICE_COPIED) + WORK.staying.on_threads(2)
    assert there == pytest.approx(expected)


@pytest.mark.parametrize(
    ("there", "asked", "device", "said"),
    [
        (HERE, None, None, r"^on 2 threads: about 42 s and 3\.0 GB; there is no GPU that torch can use$"),
        (replace(HERE, looked=False), None, None, r"^on 2 threads: about 42 s and 3\.0 GB$"),
        (replace(HERE, threads=1), "auto", None, r"^on 1 thread: about 1 min 25 s"),
        (GPU, None, None, r'; device="cuda" would take about 5 s$'),
        (GPU, "auto", "cuda", r"^on cuda: about 5 s and 2\.0 GB of 100\.0 GB free; 2 threads would take"),
        (GPU, "cuda", "cuda", r"^on cuda: about 5 s and 2\.0 GB of 100\.0 GB free$"),
        (replace(GPU, device_free=1e9), "auto", None, r"; cuda would need 2\.0 GB, and 1\.0 GB are free$"),
        (replace(GPU, free=0.5e9), "auto", None, r"; beside cuda it would need 1\.0 GB, and 0\.5 GB are"),
        (replace(GPU, free=2e9), "auto", "cuda", r"; 2 threads would need 3\.0 GB, and 2\.0 GB are free$"),
        (replace(GPU, free=2e9, copied=1e9), "auto", "cuda", "; 2 threads would need"),
        (replace(GPU, copied=DEVICE_COPIED / 1e3), "auto", None, r"; cuda would take about \d+ min"),
        (replace(GPU, copied=None), "auto", None, "; the pace of cuda is not known$"),
        (replace(GPU, copied=None), "cuda", "cuda", r"^on cuda: about 2\.0 GB of 100\.0 GB free$"),
    ],
)  # fmt: skip
def test_the_faster_that_fits_is_taken_and_said(
    there: Resources, asked: str | None, device: str | None, said: str
) -> None:
    found = placed(WORK, there, asked)
    assert found.device == device
    assert re.search(said, found.said), found.said
    assert found.sentence == f"O{found.said[1:]}."
    assert found.memory == (3e9 if device is None else 2e9)


def test_what_takes_a_moment_is_not_spoken_of_unless_asked_for() -> None:
    little = CountedWork(Effort(1e9), 1e6, device_memory=1e6)
    assert placed(little, HERE, None).said == placed(little, GPU, None).sentence == ""
    assert placed(little, GPU, "cuda").said == ""
    found = placed(little, GPU, "auto")
    assert found.device is None and found.said.startswith("on 2 threads: a moment; cuda would take about")
    never = replace(little, device_memory=None)
    assert placed(never, GPU, "auto").said == "on 2 threads: a moment; it is not done on cuda"


def test_a_refusal_names_what_would_do() -> None:
    check_fits("this", 1.0, 1.0, {}, "")
    with pytest.raises(InputError, match=r"^this needs about 2\.0 GB on cuda and 1\.0 GB are free; a or c$"):
        check_fits("this", 2e9, 1e9, {"a": True, "b": False, "c": True}, "nothing does", where=" on cuda")
    with pytest.raises(InputError, match=r"; nothing does$"):
        check_fits("this", 2e9, 1e9, {"a": False}, "nothing does")


# -- the machine ---------------------------------------------------------------------------------------


def test_the_machine_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERIST_THREADS", "3")
    monkeypatch.setattr(choice, "graphics", lambda: None)
    found = choice.resources("auto")
    assert (found.threads, found.device, found.looked) == (3, None, True) and 1e6 < found.free < 1e15
    assert not choice.resources(None, look=False).looked


def test_a_gpu_is_looked_for_where_that_is_quick_or_little_beside_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(choice, "graphics", lambda: seen.append("looked"))  # and finds none
    little, some, much = (CountedWork(Effort(size), 1.0) for size in (1e9, 2e11, 1e14))
    monkeypatch.setattr(choice, "driver_there", lambda: True)
    assert not choice.place_for(little, None).said and not seen
    assert "GPU" not in choice.place_for(some, None).said and not seen
    assert "no GPU" in choice.place_for(much, None).said and seen
    monkeypatch.setattr(choice, "driver_there", lambda: False)
    assert "no GPU" in choice.place_for(some, None).said


def test_a_gpu_is_faster_than_nothing_that_is_known_of_a_cpu() -> None:
    pytest.importorskip("torch", reason="devices are the extra [torch]")
    assert choice.copied_on("cpu") is None
    found = choice.resources("cpu")
    assert found.device == "cpu" and found.device_free == pytest.approx(memory.free(), rel=0.5)


# -- the formulas ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blocks() -> Graph:
    """Twelve communities, of nodes that have about ten neighbours."""
    return sbm((400,) * 12, 0.02, 0.0005, seed=3).largest_component()


@pytest.mark.parametrize(("rank", "tol"), [(16, 2e-3), (32, 2e-3), (80, 2e-3), (32, 1e-6), (80, 1e-6)])
def test_the_products_of_an_embedding_are_about_those_expected(blocks: Graph, rank: int, tol: float) -> None:
    found = embed(blocks, rank, tol=tol, cache=False)
    told = re.search(r"(\d+) products, float(32|64)", found.solver)
    assert told, found.solver
    item = int(told[2]) // 8
    n, entries = blocks.n_nodes, blocks.adjacency.nnz
    width = krylov.width_of(rank) if krylov.worth(rank, n) else width_of(rank, n)
    gathered = float(told[1]) * rank / width * entries * (item * width + 8)
    assert filter_effort(n, entries, rank, tol=tol, item=item).gathered == pytest.approx(gathered, rel=0.7)


@pytest.mark.parametrize(("rank", "measured"), [(32, 0.147), (100, 0.384)])
def test_a_device_is_about_as_fast_as_docs_say(rank: int, measured: float) -> None:
    """A million nodes, ten million edges, on the H200 of docs/device.md: within a factor of three."""
    found = filter_effort(10**6, 2e7, rank).on_device(DEVICE_COPIED)
    assert measured / 3 < found < 3 * measured


def test_a_dense_decomposition_grows_with_the_cube() -> None:
    small, large = (filter_effort(n, 10 * n, 10) for n in (solve.DENSE // 2, solve.DENSE))
    assert small.gathered == 0 and large.multiplied == 8 * small.multiplied


def test_smoothing_gathers_what_its_products_do() -> None:
    """Counted where they are asked for: columns of every product, of T and of the features."""
    n, m, columns, steps, sweeps = 60, 30, 5, 3, 4
    rng = np.random.default_rng(0)
    X, T = rng.random((n, m)), rng.random((n, n))
    seen = {"T": 0, "X": 0}

    def smooth(B: np.ndarray) -> np.ndarray:
        for _ in range(steps):
            seen["T"] += B.shape[1]
            B = (T + T.T) @ B
        return B

    def forward(B: np.ndarray) -> np.ndarray:
        seen["X"] += B.shape[1]
        return smooth(X @ B)

    def backward(B: np.ndarray) -> np.ndarray:
        seen["X"] += B.shape[1]
        return np.asarray(X.T @ smooth(B))

    Z = Products(forward, backward, LocalSpace(n, np.dtype(float)), LocalSpace(m, np.dtype(float)))
    singular_triples(Z, columns, tol=None, sweeps=sweeps, seed=0, progress=silent)
    width = min(columns + 20, n, m)
    entries, words = n * n - n, n * m
    expected = smoothing_effort(n, m, entries, words, width, steps=steps, sweeps=sweeps, item=8)
    once = seen["T"] / width * n * n + seen["X"] / width * words
    assert expected.gathered == once * (8 * width + 12)


@pytest.mark.parametrize("kind", ["spectral", "diffusion", "both", "pagerank"])
def test_every_kind_is_counted(kind: str) -> None:
    import scipy.sparse as sp

    graph = sbm((30, 30), 0.3, 0.02, seed=0)
    graph = replace(graph, attributes=sp.csr_array(np.eye(60)))
    chosen = kind_of(kind)
    few, many = (counted(graph, rank, chosen, chosen.settled(rank)) for rank in (4, 8))
    assert few.memory < many.memory and few.beside_device < many.beside_device
    assert (few.device_memory or 0) <= (many.device_memory or 0)
    for work in (few, many):
        assert 0 < (work.moving + work.staying).on_threads(1) < 1
