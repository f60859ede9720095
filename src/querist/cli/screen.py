"""What goes to the screen: tables and JSON to standard output, progress to standard error.

>>> print_line("34 nodes")
34 nodes
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from querist.experiment.tables import Table as Entries
    from querist.progress import Progress as Told

__all__ = ["print_found", "print_line", "print_tables", "running"]

QUIET_SECONDS, LINE_SECONDS = 2.0, 10.0
"""Off a terminal, progress is silent at first and then says a line now and then."""

UNSEEN = (*range(32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that a terminal obeys instead of showing them: controls, and those that turn a line round."""
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in UNSEEN}
_BUT_LINES = {code: text for code, text in _ESCAPES.items() if chr(code) != "\n"}

FILE_COLUMNS = 160
"""Width where there is no screen, only a file or a pipe."""


class Meter(Protocol):
    """Called with (stage, fraction done, a few words) as work goes on."""

    def __call__(self, stage: str, fraction: float, text: str = "") -> None: ...


def visible(text: str) -> str:
    r"""The text on one line, with nothing in it that a terminal would obey: ids come from files.

    >>> print(visible("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return text.translate(_ESCAPES)


def print_json(value: Any) -> None:
    """JSON on standard output: ASCII, so that it survives any encoding; a NaN becomes null."""
    from querist.experiment.specification import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False), flush=True)


def print_found(found: Any, as_json: bool, report: Callable[[Any], None] | str, about: str = "") -> None:
    """What a verb found: JSON, or what it is about and a report for people, or what prints it.

    >>> print_found({"nodes": 34}, True, "34 nodes")
    {
      "nodes": 34
    }
    """
    if as_json:
        print_json(found)
        return
    for text in (about, report):
        if callable(text):
            text(found)
        elif text:
            print_line(text)


def print_parquet(done: Any, as_json: bool) -> None:
    """What a cluster has done, and the folder of parquet that it wrote."""
    size = f"{done.out}: {done.bytes / 1e6:.1f} MB of parquet"
    print_found(asdict(done), as_json, f"{done.report()}\n{size}")


def print_line(text: str) -> None:
    """Text, wrapped to the screen, with nothing in it taken as markup, nor obeyed by the terminal.

    >>> print_line("34 nodes")
    34 nodes
    """
    _print(_showable(text), soft_wrap=not sys.stdout.isatty())


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: Iterable[int] = (0,)
) -> None:
    """A table; columns hold numbers and stand to the right, but for the text columns.

    Only text columns after the first wrap, unless the table is too wide for the screen: then all do, and
    nothing is cut off.

    >>> print_table(["name", "nodes"], [["karate", "34"]])
    name    nodes
    ─────────────
    karate     34
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    left, lines = set(text_columns), [[_showable(cell) for cell in row] for row in (head, *rows)]
    fixed = [i not in left or i == 0 for i in range(len(head))]
    room = 2 * (len(head) - 1)
    for i, column in enumerate(zip(*lines, strict=True)):
        parts = column if fixed[i] else " ".join(column).split()
        room += max(map(cell_len, parts), default=0)
    fits = room <= width()
    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold"
    )
    for i, name in enumerate(lines[0]):
        side: Literal["left", "right"] = "left" if i in left else "right"
        table.add_column(Text(name), justify=side, no_wrap=fits and fixed[i], overflow="fold")
    for row in lines[1:]:
        table.add_row(*map(Text, row))
    _print(table)


def print_tables(tables: Iterable["Entries"]) -> None:
    """Tables of `querist.experiment`, with their titles and notes.

    >>> from querist.experiment import Table
    >>> print_tables([Table("Errors", ["method", "error"], [["msg", 0.2]])])
    Errors
    method   error
    ──────────────
    msg     0.2000
    """
    from querist.experiment.tables import cells, text_columns

    for table in tables:
        if table.title:
            print_line(table.title)
        print_table(table.columns, cells(table), text_columns=text_columns(table))
        if table.note:
            print_line(table.note)


def width() -> int:
    """Columns of the screen; a file has room enough."""
    return int(_console().width)


@contextmanager
def progress(keep: bool = False, clock: Callable[[], float] = time.monotonic) -> Iterator[Meter]:
    """A meter that shows bars on a terminal, and a line now and then off it. `keep` leaves the bars."""
    if not sys.stderr.isatty():
        yield _lines(clock)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    stage = TextColumn("{task.fields[stage]:<10}", markup=False)
    text = TextColumn("{task.fields[text]}", markup=False)
    console = Console(stderr=True, markup=False, highlight=False)
    with Progress(
        stage, BarColumn(20), text, TimeElapsedColumn(), console=console, transient=not keep
    ) as bars:
        stages: dict[str, TaskID] = {}

        def show(stage: str, fraction: float, text: str = "") -> None:
            """A bar per stage; a stage is new when it is first named."""
            if stage not in stages:
                stages[stage] = bars.add_task("", total=1.0, stage=stage, text="")
            bars.update(stages[stage], completed=fraction, text=visible(text))

        yield show


def _lines(clock: Callable[[], float]) -> Meter:
    """A plain line now and then, when it takes long."""
    due = clock() + QUIET_SECONDS

    def show(stage: str, fraction: float, text: str = "") -> None:
        nonlocal due
        if (now := clock()) >= due:
            due = now + LINE_SECONDS
            line = f"querist: {stage} {fraction:4.0%} {visible(text)}".rstrip()
            with suppress(OSError):  # the work goes on though nobody can read how far it is
                print(line, file=sys.stderr, flush=True)

    return show


def _console() -> "Console":
    from rich.console import Console

    room = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_COLUMNS
    return Console(markup=False, highlight=False, emoji=False, width=room)


def _print(what: Any, **options: Any) -> None:
    console = _console()
    with console.capture() as captured:
        console.print(what, **options)
    # Not by rich itself, which ends the process when the reader has left. A server that goes on has no later
    # moment at which a pipe gets what was printed.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), flush=True)


def _showable(text: str) -> str:
    """The same in letters that the screen has, and shows."""
    text = text.translate(_BUT_LINES)
    if "utf" not in (sys.stdout.encoding or "").lower():
        text = text.replace("±", "+-").replace("\u2013", "-")
    return text


@contextmanager
def telling_what_is_kept(kept: Callable[[], str]) -> Iterator[None]:
    """Say what was not lost, if anything, when the work inside is cut short."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        if text := visible(kept()):
            with suppress(OSError):  # whoever read it has left
                print(f"\nquerist: {text}" if sys.stderr.isatty() else f"querist: {text}", file=sys.stderr)
        raise


@contextmanager
def running(out: Path) -> Iterator[tuple[Meter, "Told"]]:
    """A meter, and the progress of runs on it; says where finished runs are when the work is cut short.

    The work inside keeps its finished runs in the folder `results` of `out`.

    >>> with running(Path("out")) as (show, progress):
    ...     progress(0.5, "half of them")
    """
    said = f"finished runs are kept in {out}; run the command again to go on"
    with telling_what_is_kept(lambda: said if (out / "results").is_dir() else ""), progress() as show:
        yield show, meter(show)


def meter(show: Meter) -> "Told":
    """Runs done, with the time left."""
    from querist.progress import with_time_left

    return with_time_left(lambda fraction, text: show("runs", fraction, text))
