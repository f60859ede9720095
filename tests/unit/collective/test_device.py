"""GMNR and its kin on torch's CPU: what they find in this process, but for rounding."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist.collective import gmnr
from querist.collective.gmnr import GMNR, MRGM, PLSA
from querist.datasets import sbm
from querist.errors import InputError
from querist.graph import Graph
from querist.operator.backend import Backend, backend_of
from querist.operator.device import choice

pytest.importorskip("torch", reason="devices are the extra [torch]")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two communities with words, some of which no labelled node has, and a pair without a word."""
    made = sbm((60, 60), 0.15, 0.02, seed=2)
    rng = np.random.default_rng(1)
    words = rng.poisson(0.2 + 1.0 * (np.repeat(np.arange(2), 60)[:, None] == np.arange(25) % 2)).astype(float)
    S = sp.block_diag([made.adjacency, [[0.0, 1.0], [1.0, 0.0]]])
    return Graph(sp.csr_array(S), attributes=sp.csr_array(np.vstack([words, np.zeros((2, 25))])))


LABELS = {0: "a", 1: "a", 60: "b", 61: "b", 119: "b", 120: "a"}
SEVERAL = {0: {"a"}, 1: {"a", "c"}, 60: {"b"}, 61: {"b", "c"}, 119: {"b"}, 120: {"a"}}

CASES: list[tuple[str, Any, Any]] = [
    ("plsa", PLSA, {}),
    ("without smoothing words", PLSA, {"smooth": 0.0}),
    ("gmnr", GMNR, {"solver_tol": 1e-10}),
    ("jacobi", GMNR, {"solver": "jacobi"}),
    ("cg", GMNR, {"solver": "cg", "solver_tol": 1e-10}),
    ("links", GMNR, {"solver_tol": 1e-10, "features": "links"}),
    ("single", GMNR, {"solver_tol": 1e-6, "dtype": "float32"}),
    ("mrgm", MRGM, {"solver_tol": 1e-10, "lam_labels": 0.3}),
    ("mrgm, jacobi", MRGM, {"solver": "jacobi", "lam_labels": 0.3}),
]


@pytest.mark.parametrize(("kind", "options"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_device_finds_what_this_process_finds(graph: Graph, kind: Any, options: Any) -> None:
    labels = SEVERAL if kind is MRGM else LABELS
    here = kind(**options).fit(graph, labels)
    there = kind(**options, device="cpu").fit(graph, labels)
    close = 1e-3 if options.get("dtype") == "float32" else 1e-7
    np.testing.assert_allclose(there.probabilities_, here.probabilities_, atol=close)
    np.testing.assert_allclose(there.words_, here.words_, atol=close)
    np.testing.assert_allclose(there.history_.objective, here.history_.objective, rtol=10 * close)
    np.testing.assert_allclose(there.history_.change, here.history_.change, atol=close)
    assert isinstance(there.words_, np.ndarray) and there.words_.dtype == here.words_.dtype


def test_a_factor_is_not_made_on_a_device(graph: Graph) -> None:
    with pytest.raises(InputError, match="take 'auto', 'cg' or 'jacobi', or no device"):
        GMNR(solver="factor", device="cpu").fit(graph, LABELS)


def test_auto_takes_a_gpu_if_the_graph_is_large(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    seen: list[str] = []

    def recorded(device: str | None) -> Backend:
        seen.extend([] if device is None else [device])
        return backend_of(device)

    monkeypatch.setattr(gmnr, "backend_of", recorded)
    here = GMNR(solver="jacobi", device="auto").fit(graph, LABELS).probabilities_
    assert seen == []
    monkeypatch.setattr(choice, "LARGE", 100)
    there = GMNR(solver="jacobi", device="auto").fit(graph, LABELS).probabilities_
    assert seen == ["cpu"]
    np.testing.assert_allclose(there, here, atol=1e-7)
