"""What the verbs that run experiments share: their options, one specification on the data that were read, a
meter with the time left, and how to go on.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli.screen import Meter

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.experiment.specification import Specification
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


def as_parameters(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a specification takes them: None is "none" there."""
    return {name: "none" if value is None else value for name, value in chosen.items()}


def represented(rank: int | None, **rest: Any) -> dict[str, Any]:
    """A representation with its rank, where one is given."""
    return rest if rank is None else {"rank": rank, **rest}


def measured(spec: "Specification", data: Any, show: Meter) -> tuple["Result", Any]:
    """The runs of a specification on data that were read already, and what its task prepared of them."""
    from querist.experiment.runner import run_here

    return run_here(
        spec,
        data,
        preparing=lambda done, text: show("embedding", done, text),
        progress=meter(show),
    )
