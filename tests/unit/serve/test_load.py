"""The measurements of `make load` run, in small; what they say of speed is not looked at here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "serve.py"


def measured(*parts):
    run = subprocess.run(
        [sys.executable, str(BENCHMARK), "--short", "--json", "--only", *parts],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_people_at_their_pace_lose_and_double_nothing():
    found = measured("people", "page", "restart")
    assert found["people"]["answers"] > 0
    assert (found["people"]["5xx"], found["people"]["duplicates"], found["people"]["lost"]) == (0, 0, 0)
    assert found["restart"]["events"] == 601
    assert found["page"]["ms"]["median"] > 0


@pytest.mark.slow
def test_answers_and_leases_are_measured_beside_bare_routes():
    found = measured("sqlite", "lease")
    assert found["sqlite"]["statuses"].keys() == {"200"}
    assert found["lease"]["ratio"].keys() == {"lease", "lease with detail"}
