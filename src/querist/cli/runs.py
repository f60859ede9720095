"""What the verbs that run experiments share: their options, one task on data that are read, a
meter with the time left, and how to go on.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli.screen import Meter, progress

if TYPE_CHECKING:
    from querist.experiment.results import Result

Out = Annotated[
    Path,
    typer.Option(help="Folder for results, tables, figures and report; what it holds is not run again."),
]
Processes = Annotated[
    int, typer.Option(min=0, help="Processes on this machine; 0 means one a core, 1 runs in this one.")
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with its scheduler at this address."),
]


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say what was not lost when the work inside is cut short."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        if (out / "results").is_dir():
            print(
                f"querist: finished runs are kept in {out}; run the command again to go on", file=sys.stderr
            )
        raise


def meter(show: Meter) -> Callable[[str, int, int], None]:
    """Runs done as a fraction, with the time left."""
    from querist.progress import count, with_time_left

    stages = {"tuning": "tuning", "run": "running"}
    timed = with_time_left(lambda fraction, text: show("runs", fraction, text))
    return lambda stage, done, total: count(timed, done, total, stages.get(stage, stage))


def measured(
    task: str,
    data: str,
    read: Callable[[Meter], Any],
    method: str,
    chosen: Mapping[str, Any],
    what: str,
    representation: Mapping[str, Any] = MappingProxyType({}),
    **rest: Any,
) -> tuple[Any, "Result", Any]:
    """What `read` gives, the runs of a task on it, and what the task prepared of it.

    `chosen` are the method's parameters, `what` its repeats are called; a representation of None is left to
    the task. `rest` is the rest of the specification.
    """
    from querist.experiment import Specification, run_here

    spec = Specification(
        task,
        data,
        method,
        {name: "none" if value is None else value for name, value in chosen.items()},
        representation={name: value for name, value in representation.items() if value is not None},
        **rest,
    )
    stages = {"tuning": "tuning", "run": "runs"}
    with progress() as show:
        found = read(show)
        result, prepared = run_here(
            spec,
            found,
            preparing=lambda done, text: show("embedding", done, text),
            progress=lambda stage, done, total: show(
                stages[stage], done / total, f"{done} of {total} {what}"
            ),
        )
    return found, result, prepared
