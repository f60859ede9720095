"""What goes to the screen: tables and JSON to standard output, progress to standard error."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from querist.progress import Progress as Told

QUIET_SECONDS, LINE_SECONDS = 2.0, 10.0
"""Off a terminal, progress is silent at first and then says a line now and then."""
BEAT = 1.0
"""Seconds after which it is looked again whether there is something to say."""

UNSEEN = (*range(32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that a terminal obeys instead of showing them: controls, and those that turn a line round."""
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in UNSEEN}
_BUT_LINES = {code: text for code, text in _ESCAPES.items() if chr(code) != "\n"}

FILE_COLUMNS = 160
"""Width where there is no screen, only a file or a pipe."""


class Meter(Protocol):
    """Called with (stage, fraction done, a few words) as work goes on."""

    def __call__(self, stage: str, fraction: float, text: str = "") -> None:  # noqa: D102
        ...


def visible(text: str) -> str:
    r"""The text on one line, with nothing in it that a terminal would obey: ids come from files.

    >>> print(visible("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return text.translate(_ESCAPES)


def print_json(value: Any) -> None:
    """JSON on standard output: ASCII, so that it survives any encoding; a NaN becomes null."""
    from querist.experiment.specification import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False))


def print_found(found: Any, as_json: bool, report: Callable[[Any], None], about: str = "") -> None:
    """What a verb found: JSON, or what it is about and a report for people."""
    if as_json:
        print_json(found)
        return
    if about:
        print_line(about)
    report(found)


def print_line(text: str) -> None:
    """Text, wrapped to the screen, with nothing in it taken as markup, nor obeyed by the terminal."""
    _print(_showable(text), soft_wrap=not sys.stdout.isatty())


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: Iterable[int] = (0,)
) -> None:
    """A table; columns hold numbers and stand to the right, but for the text columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    left = set(text_columns)
    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold"
    )
    for i, name in enumerate(head):
        table.add_column(
            Text(_showable(name)), justify="left" if i in left else "right", no_wrap=i not in left or i == 0
        )
    for row in rows:
        table.add_row(*(Text(_showable(cell)) for cell in row))
    _print(table)


def width() -> int:
    """Columns of the screen; a file has room enough."""
    return int(_console().width)


@contextmanager
def progress(keep: bool = False, clock: Callable[[], float] = time.monotonic) -> Iterator[Meter]:
    """A meter that shows bars on a terminal, and a line now and then off it. `keep` leaves the bars."""
    if not sys.stderr.isatty():
        with _Lines(clock) as lines:
            yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    stage = TextColumn("{task.fields[stage]:<10}", markup=False)
    text = TextColumn("{task.fields[text]}", markup=False)
    console = Console(stderr=True, markup=False, highlight=False)
    with Progress(
        stage, BarColumn(20), text, TimeElapsedColumn(), console=console, transient=not keep
    ) as bars:
        yield _Bars(bars)


class _Bars:
    """A bar a stage; a stage is new when it is first named."""

    def __init__(self, bars: "Progress") -> None:
        self._bars = bars
        self._stages: dict[str, TaskID] = {}

    def __call__(self, stage: str, fraction: float, text: str = "") -> None:
        if stage not in self._stages:
            self._stages[stage] = self._bars.add_task("", total=1.0, stage=stage, text="")
        self._bars.update(self._stages[stage], completed=fraction, text=visible(text))


class _Lines:
    """A plain line, when it takes long; said again while a step that takes longer says nothing."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next = clock() + QUIET_SECONDS
        self._now = ("", 0.0, "")
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __call__(self, stage: str, fraction: float, text: str = "") -> None:
        self._now = stage, fraction, text
        self._say()

    def _say(self) -> None:
        with self._lock:
            stage, fraction, text = self._now
            now = self._clock()
            if stage and now >= self._next:
                self._next = now + LINE_SECONDS
                with suppress(OSError):  # the work goes on though nobody can read how far it is
                    print(
                        f"querist: {stage} {fraction:4.0%} {visible(text)}".rstrip(),
                        file=sys.stderr,
                        flush=True,
                    )

    def __enter__(self) -> "_Lines":
        def beat() -> None:
            while not self._over.wait(BEAT):
                self._say()

        self._beating = threading.Thread(target=beat, daemon=True)
        self._beating.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._beating.join()


def _console() -> "Console":
    from rich.console import Console

    room = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_COLUMNS
    return Console(markup=False, highlight=False, emoji=False, width=room)


def _print(what: Any, **options: Any) -> None:
    console = _console()
    with console.capture() as captured:
        console.print(what, **options)
    # Not by rich itself, which ends the process when the reader has left.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _showable(text: str) -> str:
    """The same in letters that the screen has, and shows."""
    text = text.translate(_BUT_LINES)
    return text if "utf" in (sys.stdout.encoding or "").lower() else text.replace("±", "+-")


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


def resumable(out: Path) -> AbstractContextManager[None]:
    """Say where finished runs are when the work inside is cut short."""
    said = f"finished runs are kept in {out}; run the command again to go on"
    return telling_what_is_kept(lambda: said if (out / "results").is_dir() else "")


def meter(show: Meter) -> "Told":
    """Runs done, with the time left."""
    from querist.progress import with_time_left

    return with_time_left(lambda fraction, text: show("runs", fraction, text))
