"""The command line in this process, and as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from querist.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's data, cache or screen."""
    for name in ("QUERIST_DATA", "QUERIST_TRACEBACK", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("querist.cli.screen.QUIET_SECONDS", 600.0)  # what is said does not hang on the clock


@pytest.fixture
def querist(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line here."""

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Ran]:
    """Run a command line as its own process, without a terminal."""

    def run(*arguments: str, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "querist", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def ring(tmp_path: Path) -> Callable[..., Path]:
    """A ring of nodes in an .npz file, with these label codes."""

    def write(labels: list[int] | None, name: str = "ring.npz") -> Path:
        n = 12 if labels is None else len(labels)
        arrays = {"edges": np.array([(i, (i + 1) % n) for i in range(n)])}
        if labels is not None:
            arrays["labels"] = np.array(labels)
        np.savez(tmp_path / name, **arrays)
        return tmp_path / name

    return write
