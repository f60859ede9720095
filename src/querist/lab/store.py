"""Results on disk: a file of JSON lines a specification, a line a run.

A line holds all there is to know about one run: specification, parameters, draw, numbers, curves, seconds,
versions, machine. It is appended by one write when the run is finished, and never changed. A process that
is killed while it writes leaves at most a last line without an end, which is cut off before the next is
written; a run whose line is not whole was never finished. What another version of Querist computed stays in
the file, and is computed again.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from querist.lab.plain import plain
from querist.lab.results import Outcome
from querist.lab.specification import Specification
from querist.version import VERSION

TUNING, RUN = "tuning", "run"
Draw: TypeAlias = tuple[str, str, int]
"""Which run it is: stage, parameters as JSON, repeat."""


@dataclass(frozen=True)
class Record:
    """A finished run; `conditions` are its seconds, versions and machine."""

    stage: str
    parameters: Mapping[str, Any]
    seed: int
    repeat: int
    outcome: Outcome
    conditions: Mapping[str, Any]

    @property
    def draw(self) -> Draw:
        """Which run it is."""
        return draw_of(self.stage, self.parameters, self.repeat)

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "stage": self.stage,
            "parameters": self.parameters,
            "seed": self.seed,
            "repeat": self.repeat,
            "numbers": {name: float(value) for name, value in self.outcome.numbers.items()},
            "curves": {name: [float(v) for v in line] for name, line in self.outcome.curves.items()},
            **self.conditions,
        }


def draw_of(stage: str, parameters: Mapping[str, Any], repeat: int) -> Draw:
    """The name of a run within its specification."""
    return stage, json.dumps(plain(parameters), sort_keys=True), repeat


class Store:
    """The results in a folder, `KEY.jsonl` each."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._ready: set[Path] = set()

    def path(self, spec: Specification) -> Path:
        """The file of a specification."""
        return self.folder / f"{spec.key}.jsonl"

    def read(self, spec: Specification) -> dict[Draw, Record]:
        """Every run that this version of Querist finished; lines that are not whole are passed over."""
        found: dict[Draw, Record] = {}
        path = self.path(spec)
        if path.is_file():
            for line in path.read_bytes().split(b"\n")[:-1]:
                record = _record(line)
                if record is not None:
                    found.setdefault(record.draw, record)
        return found

    def append(self, spec: Specification, record: Record) -> None:
        """Keep a finished run."""
        path = self.path(spec)
        if path not in self._ready:
            self.folder.mkdir(parents=True, exist_ok=True)
            _mend(path)
            self._ready.add(path)
        line = {"key": spec.key, **plain(record.as_dict()), "specification": spec.as_dict()}
        data = json.dumps(line, allow_nan=False).encode() + b"\n"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


def _mend(path: Path) -> None:
    """Cut off what a killed process left of a line."""
    if not path.is_file():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _record(line: bytes) -> Record | None:
    try:
        found = json.loads(line)
        outcome = Outcome(
            {name: _number(value) for name, value in found["numbers"].items()},
            {name: [_number(v) for v in values] for name, values in found["curves"].items()},
        )
        conditions = {name: found[name] for name in ("seconds", "versions", "machine")}
        if conditions["versions"]["querist"] != VERSION:
            return None
        return Record(
            found["stage"], found["parameters"], found["seed"], found["repeat"], outcome, conditions
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
