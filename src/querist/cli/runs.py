"""What the verbs that run experiments share: their options, and a meter with the time left."""

from collections.abc import Callable
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


def meter(show: Meter) -> Callable[[str, int, int], None]:
    """Runs done as a fraction, with the time left."""
    from querist.embedding.progress import with_time_left

    stages = {"tuning": "tuning", "run": "running"}
    timed = with_time_left(lambda fraction, text: show("runs", fraction, text))

    def report(stage: str, done: int, total: int) -> None:
        timed(done / total if total else 1.0, f"{stages.get(stage, stage)}, {done:,} of {total:,}")

    return report
