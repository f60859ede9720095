"""`embed(..., device=)` on torch's CPU: the rows of this process, but for rounding."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp

from querist import embed
from querist.datasets import sbm
from querist.embedding import make
from querist.errors import InputError
from querist.graph import Graph
from querist.operator import memory, place
from querist.operator.device import choice
from querist.operator.eigen import solve

pytest.importorskip("torch", reason="devices are the extra [torch]")


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Three communities with words of their own, and a component aside; too large for a dense solution."""
    monkeypatch.setattr(solve, "DENSE", 100)
    made = sbm((150, 150, 150), 0.1, 0.005, seed=1)
    rng = np.random.default_rng(0)
    words = rng.poisson(0.3 + 2.0 * (np.repeat(np.arange(3), 150)[:, None] == np.arange(30) % 3))
    S = sp.block_diag([made.adjacency, np.ones((4, 4)) - np.eye(4)])
    X = sp.csr_array(np.vstack([words, np.ones((4, 30))]).astype(float))
    return Graph(sp.csr_array(S), attributes=X)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("spectral", {"tol": 1e-9}),
        ("spectral", {"tol": 1e-9, "normalised": False}),
        ("diffusion", {"tol": 1e-9}),
        ("both", {"tol": 1e-9}),
        ("pagerank", {"tol": 1e-9}),
    ],
    ids=["spectral", "combinatorial", "diffusion", "both", "pagerank"],
)
def test_rows_of_a_device_span_those_of_this_process(graph: Graph, kind: str, options: Any) -> None:
    here = embed(graph, 12, kind=kind, cache=False, **options)
    there = embed(graph, 12, kind=kind, cache=False, device="cpu", **options)
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, atol=1e-6)
    np.testing.assert_array_equal(there.components, here.components)
    np.testing.assert_allclose(there.rows @ there.rows.T, here.rows @ here.rows.T, atol=1e-5)
    assert there.residual < 1e-8 and there.layout == here.layout
    # A factor of the combinatorial Laplacian is made in this process wherever the rest is.
    assert (" on cpu" in there.solver) == ("shift-invert" not in there.solver)
    assert " on cpu" not in here.solver


def test_a_loose_tolerance_is_met(graph: Graph) -> None:
    found = embed(graph, 30, cache=False, device="cpu")
    exact = embed(graph, 30, cache=False, tol=1e-9)
    assert found.residual <= 2e-3
    assert sla.subspace_angles(found.rows[:, :3], exact.rows[:, :3]).max() < 0.05


def test_the_same_seed_gives_the_same_rows(graph: Graph) -> None:
    first, again = (embed(graph, 10, cache=False, device="cpu", seed=4).rows for _ in "ab")
    np.testing.assert_array_equal(first, again)


def test_rows_are_kept_by_the_device_they_were_made_on(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from querist.embedding import cache

    monkeypatch.setattr(cache, "WORTH", 1)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path))
    assert not embed(graph, 5).cached
    assert not embed(graph, 5, device="cpu").cached
    assert embed(graph, 5).cached and embed(graph, 5, device="cpu").cached


def test_what_does_not_fit_on_the_device_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "free_on", lambda _: 1e6)
    with pytest.raises(InputError, match=r"GB on cpu and 0\.0 GB are free; rank=\d+ fits there, or leave"):
        embed(graph, 150, device="cpu", cache=False)


def test_auto_takes_a_gpu_where_there_is_one_and_it_fits(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[str, str]:
        rows = embed(graph, 10, device="auto", cache=False)
        return rows.solver, " ".join(rows.notes)

    monkeypatch.setattr(choice, "graphics", lambda: None)
    solver, notes = found()
    assert "on cpu" not in solver and "there is no GPU that torch can use" in notes
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    monkeypatch.setattr(choice, "copied_on", lambda _: 1e12)
    solver, notes = found()
    assert "on cpu" not in solver and "a moment; cpu would take about" in notes
    monkeypatch.setattr(place, "DEVICE_START", 0.0)
    solver, notes = found()
    assert "on cpu" in solver and "on cpu: about 1 s and 0.0 GB of" in notes and "threads would take" in notes
    monkeypatch.setattr(choice, "free_on", lambda _: 1.0)
    solver, notes = found()
    assert "on cpu" not in solver and "cpu would need 0.0 GB, and 0.0 GB are free" in notes


def test_a_kind_that_knows_no_device_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from querist.embedding import kinds

    monkeypatch.setitem(kinds.KINDS, "spectral", replace(kinds.kind_of("spectral"), on_device=None))
    with pytest.raises(
        InputError, match="'spectral' are not made on a device; take diffusion, both, pagerank"
    ):
        embed(graph, 5, device="cpu")


def test_a_kind_that_is_not_counted_goes_where_it_is_sent(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from querist.embedding import kinds

    monkeypatch.setitem(kinds.KINDS, "spectral", replace(kinds.kind_of("spectral"), effort=None))
    assert embed(graph, 5, cache=False).notes == ()
    assert "on cpu" in embed(graph, 5, device="cpu", cache=False).solver
    assert "not counted" in " ".join(embed(graph, 5, device="auto", cache=False).notes)
    with pytest.raises(InputError, match="cannot be used"):
        embed(graph, 5, device="cuda:77", cache=False)


def test_a_gpu_is_named_where_memory_is_short(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    monkeypatch.setattr(choice, "free_on", lambda _: 1e12)
    here = make.counted(graph, 100, make.kind_of("spectral"), make.kind_of("spectral").settled(100))
    monkeypatch.setattr(memory, "free", lambda: (here.beside_device + here.memory) / 2)
    with pytest.raises(InputError, match='device="cpu" has the room'):
        embed(graph, 100, cache=False)
    assert "on cpu" in embed(graph, 100, device="auto", cache=False).solver
