"""What the verbs that run experiments share: their options, a meter with the time left, and how to go on."""

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
    from querist.progress import with_time_left

    stages = {"tuning": "tuning", "run": "running"}
    timed = with_time_left(lambda fraction, text: show("runs", fraction, text))

    def report(stage: str, done: int, total: int) -> None:
        timed(done / total if total else 1.0, f"{stages.get(stage, stage)}, {done:,} of {total:,}")

    return report
