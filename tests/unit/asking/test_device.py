"""`ask(..., device=)` on torch's CPU: the questions of this process, by every rule."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from querist import ask
from querist.asking import RULES, Journal
from querist.asking.finding import FINDERS
from querist.asking.model import QuickModel, counted_questions, scoring_place, widths_of
from querist.datasets import load, sbm
from querist.embedding import Embedding
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.heads import squared_distances
from querist.labelling.suggest import LocalRows, PoolRows, pool_rows
from querist.operator import place
from querist.operator.device import choice
from querist.operator.threads import available

pytest.importorskip("torch", reason="devices are the extra [torch]")

WAYS: list[dict[str, Any]] = [
    *({"choose": name} for name in RULES),
    *({"choose": name, "find": True} for name in FINDERS),
    {"multilabel": True},
    {"choose": "margin", "multilabel": True},
    {"noise": 0.1, "repeats": 2},
]


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    return {"karate": load("karate"), "cora": load("cora"), "blocks": sbm((80, 60, 40), 0.2, 0.01, seed=2)}


def questions(graph: Graph, device: str | None, **way: Any) -> list[Any]:
    assert graph.labels is not None
    labels = dict(zip(graph.nodes, graph.labels, strict=True))
    if way.get("find"):
        way = {**way, "find": graph.labels[0]}
    if way.get("multilabel"):
        labels = {node: {label} for node, label in labels.items()}
    asking = ask(graph.without_labels(), labels, 8, device=device, **way)
    return [(turn.row, turn.code) for turn in asking.state.turns]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", ["karate", "cora", "blocks"])
def test_a_device_asks_the_same_questions(graphs: dict[str, Graph], name: str, way: dict[str, Any]) -> None:
    here, there = (questions(graphs[name], device, **way) for device in (None, "cpu"))
    assert here == there and len(here) >= 8


@pytest.fixture(params=[None, "cpu"], ids=["here", "cpu"])
def rows(request: pytest.FixtureRequest) -> PoolRows:
    array = np.random.default_rng(0).standard_normal((50, 7))
    array[4] = 0.0
    return pool_rows(array, request.param)


def test_products_are_what_they_say(rows: PoolRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out, node by node."""
    from querist.operator.device import pool

    monkeypatch.setattr(pool, "PIECE", 16)
    M, rng = rows.array, np.random.default_rng(1)
    W, Q, w = rng.standard_normal((7, 3)), rng.standard_normal((7, 7)), rng.random(50)
    np.testing.assert_allclose(rows.times(W), [m @ W for m in M])
    np.testing.assert_allclose(rows.times(W[:, 0]), [m @ W[:, 0] for m in M])
    np.testing.assert_allclose(rows.forms(Q), [m @ Q @ m for m in M], atol=1e-12)
    np.testing.assert_allclose(rows.gram(), sum(np.outer(m, m) for m in M), atol=1e-12)
    np.testing.assert_allclose(
        rows.gram(w), sum(x * np.outer(m, m) for x, m in zip(w, M, strict=True)), atol=1e-12
    )
    np.testing.assert_allclose(rows.total(), M.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(rows.distances(3), [np.sum((m - M[3]) ** 2) for m in M], atol=1e-12)
    assert rows.present.tolist() == [i != 4 for i in range(50)]
    for found in (rows.times(W), rows.forms(Q), rows.gram(w), rows.total(), rows.distances(3)):
        assert isinstance(found, np.ndarray) and found.dtype == np.float64


def test_rows_of_this_process_are_multiplied_as_ever() -> None:
    """To the bit: journals were written by these products."""
    M, P = np.random.default_rng(2).standard_normal((40, 6)), np.eye(6) + 0.1
    rows, w = LocalRows(M), np.arange(40.0)
    np.testing.assert_array_equal(rows.forms(P), np.einsum("ij,ij->i", M @ P, M))
    np.testing.assert_array_equal(rows.gram(w), M.T @ (M * w[:, None]))
    np.testing.assert_array_equal(rows.distances(3), squared_distances(M, M[[3]])[:, 0])


def test_a_rule_of_ones_own_finds_numpy(graphs: dict[str, Graph]) -> None:
    from querist.labelling.rows import quick_rows

    found = quick_rows(graphs["karate"].without_labels(), 30, device="cpu")
    model = QuickModel.start(found, 2, device="cpu").learn(0, 1)
    for value in (model.ambiguity, model.rows, model.scores, model.variance, model.nearest, model.reached):
        assert type(value) is np.ndarray and len(value) == 34


def test_a_device_that_is_not_there_is_refused_at_once(graphs: dict[str, Graph], tmp_path: Path) -> None:
    place = tmp_path / "club.journal"
    with pytest.raises(InputError, match="'cuda:77' cannot be used"):
        ask(graphs["karate"], classes=["a", "b"], journal=place, device="cuda:77")
    assert not place.exists()


def test_what_does_not_fit_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Embedding(np.ones((1000, 20)), np.zeros(1000, dtype=np.int64))
    monkeypatch.setattr(choice, "free_on", lambda _: 10.0)
    with pytest.raises(
        InputError, match=r"asking about 1,000 nodes needs about .* on cpu and .*leave the dev"
    ):
        scoring_place(rows, 3, 100, "cpu")


def test_auto_takes_a_gpu_where_questions_come_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Embedding(np.ones((1000, 20)), np.zeros(1000, dtype=np.int64))
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    monkeypatch.setattr(choice, "copied_on", lambda _: 1e13)
    assert scoring_place(rows, 3, 100, "auto").device is None
    assert scoring_place(rows, 3, 10**9, "auto").device == "cpu"
    assert scoring_place(rows, 3, 10**9, None).device is None
    monkeypatch.setattr(choice, "graphics", lambda: None)
    assert scoring_place(rows, 3, 10**9, "auto").device is None


@pytest.mark.parametrize("device", [None, "cpu", "auto"])
def test_a_campaign_says_where_it_works(
    graphs: dict[str, Graph], device: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: None)
    monkeypatch.setattr(place, "WORTH_SAYING", 0.0)
    karate = graphs["karate"].without_labels()
    asking = ask(karate, classes=["a", "b"], budget=7, device=device)
    where = "cpu: about" if device == "cpu" else f"{available()} threads?: about"
    embedding, scoring = asking.places
    assert re.match(f"Embedding on {where} .*GB.*[.]$", embedding)
    assert re.match(f"Scoring 34 nodes for 7 questions on {where} .*GB.*[.]$", scoring)
    assert asking.summary()["places"] == asking.places
    monkeypatch.setattr(place, "WORTH_SAYING", 1e9)
    small = ask(karate, classes=["a", "b"], budget=7, device=device)
    assert len(small.places) == 2 * (device == "auto")


def test_what_a_question_multiplies_is_counted() -> None:
    n, K = 500, 4
    widths, work = widths_of(n, 100), counted_questions(n, 100, K, 3)
    assert work.moving.multiplied == 3 * n * (sum(widths) * K + 3 * 64**2)
    assert work.memory == 8 * n * (sum(widths) + 64)


def test_a_journal_goes_on_on_a_device(graphs: dict[str, Graph], tmp_path: Path) -> None:
    graph = graphs["cora"]
    assert graph.labels is not None
    labels = dict(zip(graph.nodes, graph.labels, strict=True))
    bare, classes = graph.without_labels(), sorted(set(labels.values()))

    def rows_asked(name: str, budget: int, device: str | None = None) -> list[int]:
        with Journal(tmp_path / name) as book:
            made = ask(bare, labels.get, budget, classes=classes, journal=book, device=device)
            return [turn.row for turn in made.state.turns]

    whole = rows_asked("whole", 10)
    assert rows_asked("broken", 4) == whole[:4]
    assert rows_asked("broken", 8, "cpu") == whole[:8]
    assert rows_asked("broken", 10) == whole  # and back again
