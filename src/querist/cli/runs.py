"""What verbs that keep their runs in a folder share: options, a meter with the time left, how to go on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from querist.cli.screen import Meter

if TYPE_CHECKING:
    from querist.progress import Progress

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


def meter(show: Meter) -> "Progress":
    """Runs done, with the time left."""
    from querist.progress import with_time_left

    return with_time_left(lambda fraction, text: show("runs", fraction, text))
