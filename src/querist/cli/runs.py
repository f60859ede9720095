"""What verbs that keep their runs in a folder share: options, a meter with the time left, how to go on."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from querist.cli.screen import Meter

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
