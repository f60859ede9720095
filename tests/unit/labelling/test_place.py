"""`label` refuses work that does not fit into memory."""

import numpy as np
import pytest

from querist import label, memory
from querist.datasets import load_graph, sbm
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.members import memory_of, plan
from querist.labelling.workspace import Workspace

KNOWN = {0: "Mr. Hi", 1: "Mr. Hi", 32: "Officer", 33: "Officer"}


@pytest.fixture(scope="module")
def club() -> Graph:
    return load_graph("karate").without_labels()


def test_what_does_not_fit_is_refused_with_what_would(club: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, Y = Workspace(club), np.eye(2)
    members, folds, _ = plan(workspace, "auto", Y, False)
    need = memory_of(workspace, members, folds, *Y.shape)
    monkeypatch.setattr(memory, "free", lambda: 0.9 * (need.held + need.blocks))
    with pytest.raises(
        InputError, match=r"^labelling 34 nodes and 78 edges by links, .*; method=\"walks\" needs less$"
    ):
        label(club, KNOWN)
    assert label(club, KNOWN, method="walks").choice.method == "walks"
    monkeypatch.setattr(memory, "free", lambda: 10.0)
    with pytest.raises(InputError, match=r"or label a part of the graph$"):
        label(club, KNOWN, method="walks")


@pytest.mark.slow
def test_the_memory_is_about_what_is_taken() -> None:
    import tracemalloc

    graph = sbm((2500,) * 8, 0.004, 0.0002, seed=0)
    random = np.random.default_rng(0)
    given = {int(row): f"class {row // 2500}" for row in random.permutation(20_000)[:200]}
    label(graph.subgraph(np.arange(1000)), {0: "a", 1: "b", 2: "a", 3: "b"})  # compiles
    graph.components, graph.degrees  # noqa: B018
    workspace, Y = Workspace(graph), np.eye(8)[np.arange(200) % 8]
    members, folds, _ = plan(workspace, "auto", Y, False)
    need = memory_of(workspace, members, folds, *Y.shape)
    expected = need.held + need.blocks
    tracemalloc.start()
    label(graph, given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * expected < peak < 1.5 * expected, (expected / 1e6, peak / 1e6)
