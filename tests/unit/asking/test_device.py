"""`ask(..., device=)` on torch's CPU: the questions of this process, by every rule."""

from pathlib import Path
from typing import Any

import pytest

from querist import ask
from querist.asking import STRATEGIES
from querist.asking.store.sqlite import only_campaign
from querist.datasets import load_graph, sbm
from querist.errors import InputError
from querist.graph import Graph

pytest.importorskip("torch", reason="devices are the extra [torch]")

WAYS: list[dict[str, Any]] = [
    *({"strategy": name} for name in STRATEGIES),
    {"find": True},
    {"multilabel": True},
    {"strategy": "margin", "multilabel": True},
    {"noise": 0.1, "repeats": 2},
]


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    return {
        "karate": load_graph("karate"),
        "cora": load_graph("cora"),
        "blocks": sbm((80, 60, 40), 0.2, 0.01, seed=2),
    }


def questions(graph: Graph, device: str | None, **way: Any) -> list[Any]:
    labels = dict(zip(graph.nodes, graph.labels, strict=True))
    if way.get("find"):
        way = {**way, "find": graph.labels[0]}
    if way.get("multilabel"):
        labels = {node: {label} for node, label in labels.items()}
    asking = ask(graph.without_labels(), labels, budget=8, device=device, **way)
    return [(turn.row, turn.code) for turn in asking.state.turns]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", ["karate", "cora", "blocks"])
def test_a_device_asks_the_same_questions(graphs: dict[str, Graph], name: str, way: dict[str, Any]) -> None:
    here, there = (questions(graphs[name], device, **way) for device in (None, "cpu"))
    assert here == there and len(here) >= 8


def test_a_device_that_is_not_there_is_refused_at_once(graphs: dict[str, Graph], tmp_path: Path) -> None:
    place = tmp_path / "club.journal"
    with pytest.raises(InputError, match="'cuda:77' cannot be used"):
        ask(graphs["karate"], classes=["a", "b"], journal=place, device="cuda:77")
    assert not place.exists()


@pytest.mark.parametrize("device", [None, "cpu", "auto"])
def test_a_campaign_says_where_it_works(graphs: dict[str, Graph], device: str | None) -> None:
    asking = ask(graphs["karate"].without_labels(), classes=["a", "b"], budget=7, device=device)
    why = 'device="auto" takes the CPU: the graph has fewer than 100,000 nodes and edges.'
    assert asking.places == ([f"Embedding: {why}"] if device == "auto" else [])
    assert asking.summary()["places"] == asking.places


def test_a_journal_goes_on_on_a_device(graphs: dict[str, Graph], tmp_path: Path) -> None:
    graph = graphs["cora"]
    labels = dict(zip(graph.nodes, graph.labels, strict=True))
    bare, classes = graph.without_labels(), sorted(set(labels.values()))

    def rows_asked(name: str, budget: int, device: str | None = None) -> list[int]:
        with only_campaign(tmp_path / name) as book:
            made = ask(bare, labels.get, budget=budget, classes=classes, journal=book, device=device)
            return [turn.row for turn in made.state.turns]

    whole = rows_asked("whole", 10)
    assert rows_asked("broken", 4) == whole[:4]
    assert rows_asked("broken", 8, "cpu") == whole[:8]
    assert rows_asked("broken", 10) == whole  # and back again
