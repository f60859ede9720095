"""POUNCE against every round of `online.json`, and its average error on Cora.

Each entry is played stepwise and by `run`, on the exact kernel of the graph and on full-rank rows of its
Laplacian, whose squared distances are the same. Scores, nearest trial, distance, mistakes and the final w
agree to 1e-9.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from querist import as_graph, embed
from querist.experiment import Specification
from querist.experiment.runner import run_here
from querist.graph import Graph
from querist.online import POUNCE
from querist.online.cover_learner import CoverLearner

GRAPHS = json.loads(Path(__file__).with_name("online.json").read_text())["graphs"]
ENTRIES = [(name, key) for name, entry in GRAPHS.items() for key in entry["results"] if "pounce" in key]
ATOL = 1e-9


def graph_of(entry: dict[str, Any]) -> Graph:
    W = np.zeros((entry["n"], entry["n"]))
    for i, j, *weight in entry["edges"]:
        W[i, j] = W[j, i] = weight[0] if weight else 1.0
    return as_graph(W)


def positive(entry: dict[str, Any], key: str) -> np.ndarray:
    """(n,) 1 where the label of this binary problem is +1."""
    if key == "pounce_binary":
        return (np.array(entry["binary_labels"]) > 0).astype(np.int64)
    return (np.array(entry["labels"]) == int(key[-1])).astype(np.int64)


def place_of(entry: dict[str, Any], kind: str) -> Any:
    graph = graph_of(entry)
    if kind == "kernel":
        return graph
    return embed(graph, rank=entry["n"], normalised=False, constant=2.0, cache=False)


def final_values(learner: CoverLearner) -> np.ndarray:
    w = learner._state.w[0]
    values = w if learner._place.distance.size else learner._place.rows @ w
    return values - values.mean()


def test_every_entry_is_there() -> None:
    keys = ["pounce_binary", "pounce_ovr_class0", "pounce_ovr_class1", "pounce_ovr_class2"]
    assert [(name, key) for name in ("karate", "barbell3_weighted") for key in keys] == ENTRIES


@pytest.mark.parametrize("kind", ["kernel", "rows"])
@pytest.mark.parametrize(("name", "key"), ENTRIES)
def test_every_round(name: str, key: str, kind: str) -> None:
    entry = GRAPHS[name]
    expected, labels = entry["results"][key], positive(entry, key)
    learner = POUNCE(place_of(entry, kind), 2)
    trial_of: dict[int, int] = {}
    for row in expected["rounds"]:
        node = row["node"]
        decision = learner.decide(node)
        np.testing.assert_allclose(decision.scores, [row["score"]], rtol=0, atol=ATOL)
        if row["nearest_trial"] is not None:
            eta = int(learner._work.more.near[0])
            assert trial_of[eta] == row["nearest_trial"]
            assert decision.variance == pytest.approx(row["dist2"], abs=ATOL)
        assert decision.prediction == (row["pred"] > 0)
        learner.commit(decision)
        assert learner.learn(node, int(labels[node])) == row["mistake"]
        if row["mistake"]:
            trial_of[node] = row["t"]
    assert list(learner.remembered()) == list(trial_of)
    assert len(trial_of) == expected["mistakes"]
    np.testing.assert_allclose(final_values(learner), expected["final_w_minus_mean"], rtol=0, atol=ATOL)

    trace = POUNCE(place_of(entry, kind), 2).run(entry["order"], labels)
    assert trace.mistaken.tolist() == [row["mistake"] for row in expected["rounds"]]
    np.testing.assert_allclose(
        trace.margin, [abs(row["score"]) for row in expected["rounds"]], rtol=0, atol=ATOL
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_one_vs_rest_is_the_three_binary_problems(name: str) -> None:
    entry = GRAPHS[name]
    learner = POUNCE(graph_of(entry), 3)
    trace = learner.run(entry["order"], np.array(entry["labels"]))
    assert trace.problems is not None
    for c in range(3):
        rounds = entry["results"][f"pounce_ovr_class{c}"]["rounds"]
        assert trace.problems.mistaken[:, c].tolist() == [row["mistake"] for row in rounds]
        assert learner.remembered(c).tolist() == [row["node"] for row in rounds if row["mistake"]]


@pytest.mark.slow
def test_cora_one_vs_rest(data: Callable[[str], Graph]) -> None:
    cora = data("cora").largest_component()
    runs, _ = run_here(Specification("online", "cora", "pounce", repeats=10), cora)
    assert runs.mean("error_rate") == pytest.approx(0.0740, abs=0.006)
    argmax = [
        POUNCE(cora, 7).by_row().run(np.random.default_rng(s).permutation(2485), cora.codes).mistaken.mean()
        for s in range(3)
    ]
    assert np.mean(argmax) == pytest.approx(0.2354, abs=0.02)
