"""benchmarks/device.py runs on torch's CPU with tiny sizes, and the device agrees with this process."""

import importlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="devices are the extra [torch]")

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.mark.slow
def test_every_part_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    parts = ("check", "product", "embedding", "billion", "gmnr")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", ["device.py", "--device", "cpu", "--tiny", "--json", "--only", *parts])
    importlib.import_module("device").main()
    found = json.loads(capsys.readouterr().out)
    assert tuple(found) == parts
    assert all(row["residual"] <= 2e-3 for row in found["embedding"] if "residual" in row)
