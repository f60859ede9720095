"""`embed(..., device=)` on torch's CPU: the rows of this process, but for rounding."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp

from querist import embed, memory
from querist.datasets import sbm
from querist.errors import InputError
from querist.graph import Graph
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("spectral", {"tol": 1e-9}),
        ("spectral", {"tol": 1e-9, "normalised": False}),
        ("diffusion", {"tol": 1e-9}),
        ("pagerank", {"tol": 1e-9}),
    ],
    ids=["spectral", "combinatorial", "diffusion", "pagerank"],
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
    with pytest.raises(InputError, match=r"GB of memory on cpu, and 0\.0 GB are available; leave the device"):
        embed(graph, 150, device="cpu", cache=False)


def test_auto_takes_a_gpu_if_the_graph_is_large_and_fits_on_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[bool, str]:
        rows = embed(graph, 10, device="auto", cache=False)
        assert rows.place in rows.notes
        return "on cpu" in rows.solver, rows.place

    monkeypatch.setattr(choice, "graphics", lambda: None)
    assert found() == (False, 'device="auto" takes the CPU: the graph has fewer than 100,000 nodes and edges')
    monkeypatch.setattr(choice, "LARGE", 1000)
    assert found() == (False, 'device="auto" takes the CPU: torch sees no GPU')
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    taken, why = found()
    assert taken and why.startswith('device="auto" takes cpu: 0.0 GB are needed there and')
    monkeypatch.setattr(choice, "free_on", lambda _: 1.0)
    taken, why = found()
    assert not taken and why.endswith("takes the CPU: of cpu, 0.0 GB are needed there and 0.0 GB are free")


def test_a_kind_that_knows_no_device_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from querist.embedding import kinds

    monkeypatch.setitem(kinds.KINDS, "spectral", replace(kinds.kind_of("spectral"), on_device=None))
    with pytest.raises(InputError, match="'spectral' are not made on a device; take diffusion, pagerank"):
        embed(graph, 5, device="cpu")
    rows = embed(graph, 5, device="auto", cache=False)
    assert rows.place == 'device="auto" takes the CPU: this is not done on a GPU'


def test_memory_beside_the_device_is_checked(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "free_on", lambda _: 1e12)
    monkeypatch.setattr(memory, "free", lambda: 24.0 * graph.n_nodes * 100)
    with pytest.raises(InputError, match=r"^rank 100 for 454 nodes .* of memory, and 0\.0 GB are available"):
        embed(graph, 100, device="cpu", cache=False)
