"""What a specification of one kind means: how it is checked, prepared and run.

A task is registered by name; plugins name theirs as `task.NAME` (`querist.plugins`). A task that is no
comparison for everybody has a `.` in its name.
"""

import importlib
import pkgutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame, digest
from querist.registry import Registry

OPEN = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "common"))
"""Those that are for everybody, and not a part of a paper: one module of this package each."""

TASKS: Registry["Task"] = Registry("task", plugin_kind="task")
"""Those that are loaded and those of plugins; `task_of` finds the others."""

KEPT = 2
"""Preparations kept in a process: a kernel matrix may be large."""


class Task(Protocol):
    """One kind of experiment.

    measures : the numbers that its runs may give
    tuned_by : the one that a grid is tuned by

    A task may also have `on_disk = True`: what it prepares is kept on the disk, so that it is worth preparing
    once before workers start, and takes long, so that `prepare` also takes a progress (or None);
    `measures_of(spec)`: the measures that fit this specification's data; `shown`: those that a table has
    where nobody names others; and `in_tuning`: protocol settings that hold while a grid is tuned, where less
    will do.

    >>> task_of("online").tuned_by
    'error_rate'
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
    """Make a task known by its name.

    >>> register(task_of("online")).name
    'online'
    """
    TASKS[task.name] = task
    return task


def task_of(name: str) -> Task:
    """The task of this name."""
    if name not in TASKS:
        for each in (name,) if name in OPEN else OPEN:
            importlib.import_module(f"{__name__}.{each}")
    with blame("task"):
        return TASKS[name]


_prepared: dict[str, Any] = {}
_lock = threading.Lock()
"""The workers of a cluster may be threads."""


def prepared_of(spec: Specification, task: Task, progress: Any = None) -> Any:
    """`task.prepare(spec)`, made once a process for specifications that share their data."""
    key = spec.preparation + digest(spec)
    with _lock:
        if (found := _prepared.pop(key, None)) is None:
            given = [progress] if getattr(task, "on_disk", False) else []
            found = task.prepare(spec, *given)
        while len(_prepared) >= KEPT:
            _prepared.pop(next(iter(_prepared)))
        _prepared[key] = found
        return found


DATA_AT_HAND: dict[str, Any] = {}
"""Data in memory by name: graphs, and what `querist.datasets.resolve.labelled_vectors` gives."""


@contextmanager
def at_hand(name: str, data: Any) -> Iterator[None]:
    """Data in memory, by the name that specifications have for them; for runs in this process only."""
    with _lock:
        _prepared.clear()  # what was prepared from other data of this name is not taken for theirs
    DATA_AT_HAND[name] = data
    try:
        yield
    finally:
        del DATA_AT_HAND[name]
        with _lock:
            _prepared.clear()
