"""benchmarks/budgeted.py runs on several small sets, and says what it measures and with which settings."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from querist_papers.bls19.static import LAMBDAS

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """The benchmark, and the files of two small sets: one with two classes, one with three."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    rng = np.random.default_rng(0)
    files = []
    for classes in (2, 3):
        codes = rng.integers(classes, size=120)
        X = rng.normal(size=(120, 2)) + 2.0 * codes[:, None]
        files.append(tmp_path / f"of{classes}.csv")
        files[-1].write_text(
            "a,b,label\n"
            + "".join(f"{x[0]:.3f},{x[1]:.3f},c{code}\n" for x, code in zip(X, codes, strict=True))
        )
    return importlib.import_module("budgeted"), [str(file) for file in files]


@pytest.mark.slow
def test_several_sets_each_with_its_own_settings(measured, monkeypatch, capsys):
    benchmark, files = measured
    sizes = (
        "--budget",
        "12",
        "--labelled",
        "5",
        "--length",
        "100",
        "--rows",
        "30",
        "--repeats",
        "1",
        "--items",
        "0",
    )
    monkeypatch.setattr(sys, "argv", ["budgeted.py", "--data", *files, *sizes, "--json"])
    benchmark.main()
    found = json.loads(capsys.readouterr().out)
    assert found["budgets"] == [5, 7]
    assert [(row["data"], row["labelled"]) for row in found["streams"]] == [
        (file, share) for share in benchmark.SHARES for file in files
    ]
    for row in found["streams"]:
        assert {row["lambda1"], row["lambda2"]} <= set(LAMBDAS)
        assert row["items"] == 100
        assert 0 < row["entered"] <= 1
        assert 0 < row["kept"] <= 12
        assert set(row["us"]) == {"bls", "river", "river_rows", "sgd"}
        assert min(row["us"].values()) > 0
        assert row["bls_is_faster_by"]["river"] == pytest.approx(row["us"]["river"] / row["us"]["bls"])
    table = benchmark.markdown(found["streams"]).splitlines()
    assert len(table) == 2 + 4
    assert len({line.count("|") for line in table}) == 1


def test_river_learns_what_is_labelled(measured, monkeypatch):
    """And nothing else, in the order of the stream; every item is predicted first."""
    benchmark, _ = measured
    calls = []

    class Model:
        def predict_one(self, x):
            calls.append(("predict", x))

        def learn_one(self, x, y):
            calls.append(("learn", x, y))

    class Made:
        model = Model()

    monkeypatch.setattr(benchmark, "STREAMS", {"river_logistic": lambda classes: Made})
    a, b = {0: 1.0}, {1: 2.0}
    benchmark.river_on([a, b], [-1, 0], 2)
    assert calls == [("predict", a), ("predict", b), ("learn", b, False)]
