"""The benchmark of rare classes: its problems, its measures, and what it calls reached."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from querist.labelling.decisions.estimate import LEAST
from querist.labels import Labels


@pytest.fixture(scope="module")
def rare():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
        yield importlib.import_module("rare")


def test_the_best_threshold_is_the_best(rare):
    generator = np.random.default_rng(0)
    for digits in (1, 6):
        p, truth = generator.random(60).round(digits), generator.integers(0, 2, 60)
        assert rare.best_f1(truth, p) == pytest.approx(max(rare.f1(truth, p >= t) for t in p))


def test_the_smallest_class_that_is_large_enough_is_rare(rare, accounts, monkeypatch):
    graph, truth = accounts(2000, 100)
    codes = np.where(truth > 0, 2, (np.arange(2000) % 9 == 0).astype(int))
    whole = rare.replace(graph, known=Labels(codes, ("rest", "some", "few")))
    monkeypatch.setattr("rare_problems.read_set", lambda name: whole)
    assert (rare.problem("any").codes == (codes == 1)).all(), "100 nodes are too few"
    monkeypatch.setattr("rare_problems.LEAST", 50)
    assert (rare.problem("any").codes == (codes == 2)).all()


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped(rare, accounts, monkeypatch, tmp_path, capsys):
    graph, truth = accounts(300, 30)
    graph = rare.replace(graph, known=Labels(truth, rare.CLASSES))
    monkeypatch.setattr(rare, "problem", lambda name: graph)
    drawn = {trial: truth[seeds].sum() for trial, seeds in rare.drawn(truth, 0.1)}
    rare.work("some", 0.1, 1, ["sknetwork"], tmp_path)
    enough = [trial for trial, count in drawn.items() if count >= LEAST]
    found = json.loads((tmp_path / f"some_0.1_{enough[0]}.json").read_text())
    assert found["labels"] == drawn[enough[0]] and found["best_f1"] >= found["f1"] > found["sknetwork"] - 1
    assert found["log_loss"] < found["constant_log_loss"]
    few = [json.loads(file.read_text()) for file in tmp_path.glob("*.json")]
    assert all(numbers["says_too_few"] for numbers in few if "f1" not in numbers)
    monkeypatch.setattr(rare, "ours", None)
    rare.work("some", 0.1, 1, ["sknetwork"], tmp_path)
    assert capsys.readouterr().err.count(f"draw {enough[0]}") == 2


def test_targets_name_who_misses_them(rare, capsys):
    interval = {"truth": 0.5, "low": 0.4, "high": 0.6}
    good = {
        "labels": 9, "f1": 0.8, "best_f1": 0.82, "calibration_error": 0.05, "log_loss": 0.1,
        "constant_log_loss": 0.2, "sknetwork": 0.5, "sknetwork_setting": "pagerank 0.5",
        "intervals": {"precision": interval, "recall": {**interval, "truth": 0.7}},
    }  # fmt: skip
    bad = {**good, "f1": 0.4, "calibration_error": 0.2, "log_loss": 0.3}
    numbers = rare.summary(
        {"a 1%": [good, good], "b 5%": [bad], "c 1%": [{"labels": 2, "says_too_few": True}]}
    )
    assert numbers["problems"]["a 1%"]["f1"] == pytest.approx(0.8)
    assert numbers["intervals"]["precision"] == {
        "intervals": 3,
        "cover": 1.0,
        "median_width": pytest.approx(0.2),
    }
    reached = numbers["reached"]
    for target in ("F1 within 0.05", "calibration error", "log-loss", "F1 above sknetwork"):
        (verdict,) = [text for name, text in reached.items() if name.startswith(target)]
        assert verdict == "1 of 2; not b 5%", target
    assert reached["intervals hold in 90% to 98%"] == "no: 50.0%"
    rare.show(numbers)
    assert "| a 1% | 2 | 9.0 | 0.800 |" in capsys.readouterr().out
