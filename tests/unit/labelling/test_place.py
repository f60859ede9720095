"""`label` says where it works and what that takes, and refuses what does not fit."""

from pathlib import Path

import numpy as np
import pytest

from querist import label
from querist.datasets import load, sbm
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.members import MEMBERS, counted, plan, row_kinds
from querist.labelling.rows import rows_bytes
from querist.labelling.workspace import Workspace
from querist.operator import memory, place
from querist.operator.device import choice
from querist.operator.estimate import machines_for

KNOWN = {0: "Mr. Hi", 1: "Mr. Hi", 32: "Officer", 33: "Officer"}


@pytest.fixture(scope="module")
def club() -> Graph:
    return load("karate").without_labels()


def test_a_sentence_says_where_and_how_long(club: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = label(club, KNOWN)
    assert not any("threads" in why for why in quiet.choice.why)
    monkeypatch.setattr(place, "WORTH_SAYING", 0.0)
    monkeypatch.setattr(choice, "graphics", lambda: None)
    monkeypatch.setenv("QUERIST_THREADS", "2")
    said = label(club, KNOWN)
    assert said.choice.why[-1] == "On 2 threads: about 1 s and 0.0 GB; there is no GPU that torch can use."
    assert said.choice.why[:-1] == quiet.choice.why
    np.testing.assert_array_equal(said.probabilities, quiet.probabilities)


def test_what_does_not_fit_is_refused_with_what_would(club: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, Y = Workspace(club), np.eye(2)
    members, folds, _ = plan(workspace, "auto", Y, "softmax")
    need = counted(workspace, members, folds, *Y.shape).memory
    monkeypatch.setattr(memory, "free", lambda: 0.9 * need)
    monkeypatch.setattr(choice, "graphics", lambda: None)
    with pytest.raises(
        InputError, match=r"^labelling 34 nodes and 78 edges by links, .*method=\"walks\" fits"
    ):
        label(club, KNOWN)
    assert label(club, KNOWN, method="walks").choice.method == "walks"
    monkeypatch.setattr(memory, "free", lambda: 10.0)
    with pytest.raises(InputError, match=r"; label a part of the graph, or use a larger machine$"):
        label(club, KNOWN, method="walks")


def test_a_cluster_is_named_where_it_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm((700, 700), 0.02, 0.002, seed=0)
    given = {graph.nodes[row]: row // 700 for row in (0, 1, 1300, 1301)}
    room = 0.3 * rows_bytes(graph, row_kinds({"links": MEMBERS["links"]}), 150).blocks
    machines = machines_for(graph.n_nodes, graph.n_edges, room, rank=70)
    assert machines > 1
    monkeypatch.setattr(memory, "free", lambda: room)
    with pytest.raises(InputError, match=rf"{machines} machines like this one share it \(--cluster"):
        label(graph, given, method="links")


@pytest.mark.slow
def test_the_memory_is_about_what_is_taken() -> None:
    import tracemalloc

    graph = sbm((2500,) * 8, 0.004, 0.0002, seed=0)
    random = np.random.default_rng(0)
    given = {int(row): f"class {row // 2500}" for row in random.permutation(20_000)[:200]}
    label(graph.subgraph(np.arange(1000)), {0: "a", 1: "b", 2: "a", 3: "b"})  # compiles
    graph.components, graph.degrees  # noqa: B018
    workspace, Y = Workspace(graph), np.eye(8)[np.arange(200) % 8]
    members, folds, _ = plan(workspace, "auto", Y, "softmax")
    expected = counted(workspace, members, folds, *Y.shape).memory
    tracemalloc.start()
    label(graph, given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * expected < peak < 1.5 * expected, (expected / 1e6, peak / 1e6)


def test_a_labelling_on_disk_keeps_the_sentence(
    club: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from querist.labelling import Labelling

    monkeypatch.setattr(place, "WORTH_SAYING", 0.0)
    found = label(club, KNOWN, method="links")
    found.save(tmp_path / "found.npz")
    assert Labelling.load(tmp_path / "found.npz").choice.why == found.choice.why
