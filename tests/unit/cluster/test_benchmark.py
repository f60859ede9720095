"""The benchmark of a cluster runs on a small graph, and says what it measures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "cluster.py"


@pytest.mark.slow
def test_the_benchmark_of_a_cluster():
    words = ["--only", "product", "embedding", "--nodes", "2000", "--edges", "20000", "--rank", "4"]
    done = subprocess.run(
        [sys.executable, BENCHMARK, *words, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["products"]["bytes_over_needed"] == 1
    assert found["products"]["kernel"] > 0 and found["embedding"]["ratio"] > 0
    assert found["embedding"]["ranks"]["residual"] < 2e-3
