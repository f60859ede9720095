"""What a specification of one kind means: how it is checked, prepared and run.

A task is registered by name. Those of a paper are called `PAPER.NAME` and are found when first named, in
`querist.papers.PAPER`.
"""

import importlib
import importlib.util
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from querist.errors import UnknownNameError
from querist.experiment.files import digest
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame

OPEN = ("online", "collective", "stream", "transduce")
"""Those that are for everybody, and not a part of a paper."""

_HOME = {name: f"querist.experiment.tasks.{name}" for name in OPEN}
TASKS: dict[str, "Task"] = {}
"""Those that are loaded; `task_of` finds the others."""

KEPT = 2
"""Preparations kept in a process: a kernel matrix may be large."""


class Task(Protocol):
    """One kind of experiment.

    measures : the numbers that its runs may give
    tuned_by : the one that a grid is tuned by

    A task may also have `on_disk = True`: what it prepares is kept on the disk, so that it is worth preparing
    once before workers start; `measures_of(spec)`: the measures that fit this specification's data; and
    `in_tuning`: protocol settings that hold while a grid is tuned, where less will do.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def measures(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def tuned_by(self) -> str: ...  # noqa: D102

    def check(self, spec: Specification) -> None:
        """Refuse what cannot be run, under `blame(key, ...)`; may load the data, computes nothing long."""
        ...

    def prepare(self, spec: Specification) -> Any:
        """What all runs share: a function of `spec.dataset` and `spec.representation` alone."""
        ...

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One run of `spec.method` with these parameters, drawing from (seed, repeat)."""
        ...


def register(task: Task) -> Task:
    """Make a task known by its name."""
    TASKS[task.name] = task
    return task


def task_of(name: str) -> Task:
    """The task of this name."""
    if name not in TASKS:
        home = _HOME.get(name) or paper_of(name)
        if home is not None:
            importlib.import_module(home)
    if name not in TASKS:
        with blame("task"):
            raise UnknownNameError.of("task", name, {*_HOME, *TASKS})
    return TASKS[name]


def paper_of(name: str) -> str | None:
    """The module of the paper that a task is a part of; None for one that is for everybody."""
    paper, dot, _ = name.partition(".")
    home = f"querist.papers.{paper}"
    return home if dot and importlib.util.find_spec(home) is not None else None


_prepared: dict[str, Any] = {}
_lock = threading.Lock()
"""The workers of a cluster may be threads."""


def prepared_of(spec: Specification, task: Task) -> Any:
    """`task.prepare(spec)`, made once a process for specifications that share their data."""
    key = spec.preparation + digest(spec)
    with _lock:
        found = _prepared.pop(key) if key in _prepared else task.prepare(spec)
        while len(_prepared) >= KEPT:
            _prepared.pop(next(iter(_prepared)))
        _prepared[key] = found
        return found
