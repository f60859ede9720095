"""Loads in LLVM's own words, which bounds checks do not see, touch nothing beside their arrays."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_no_load_or_store_lies_beside_an_array():
    found = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("guarded.py"))],
        capture_output=True,
        text=True,
        check=False,
    )
    case = (found.stdout.splitlines() or ["before the first case"])[-1]
    assert found.returncode == 0, f"exit status {found.returncode} at {case}\n{found.stderr}"
