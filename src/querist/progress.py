"""How far a long call is: one protocol for all of them.

A call that may take long has a parameter `progress`, `silent` by default, and calls it with the fraction done
and a few words on what is being done. What it raises stops the work. `stages` is one bar over several stages.
In a notebook the calls that people make themselves show a bar where nothing is said (`shown`).
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, Protocol

QUIET = 2.0
"""Seconds before a guess of the time left is worth saying."""


class Progress(Protocol):
    """Called with the fraction done, 0 to 1, and what is being done."""

    def __call__(self, fraction: float, text: str, /) -> None: ...  # noqa: D102


def silent(fraction: float, text: str, /) -> None:
    """Say nothing."""


def part(progress: Progress, start: float, span: float, text: str | None = None) -> Progress:
    """What a part of the work calls: its fractions are put into `start .. start + span` of the whole.

    `text` stands in for what the part says of itself.

    >>> show = part(lambda fraction, text: print(f"{fraction:.0%} {text}"), 0.5, 0.25)
    >>> show(0.4, "solving")
    60% solving
    """

    def show(fraction: float, own: str, /) -> None:
        progress(start + span * fraction, own if text is None else text)

    return show


def count(progress: Progress, done: int, total: int, text: str) -> None:
    """`done` of `total` equal steps, said in numbers.

    >>> count(lambda fraction, text: print(f"{fraction:.0%} {text}"), 3, 4, "trials")
    75% trials, 3 of 4
    """
    progress(done / total if total else 1.0, f"{text}, {done:,} of {total:,}")


def with_time_left(progress: Progress, clock: Callable[[], float] = time.perf_counter) -> Progress:
    """`progress` with never-falling fractions, and the time left in its text once there is one to tell.

    >>> seconds = iter([0.0, 10.0])
    >>> show = with_time_left(lambda fraction, text: print(f"{fraction:.0%} {text}"), lambda: next(seconds))
    >>> show(0.25, "solving")
    25% solving, about 30 s left
    """
    started, furthest = clock(), 0.0

    def show(fraction: float, text: str, /) -> None:
        nonlocal furthest
        furthest = max(furthest, min(1.0, fraction))
        taken = clock() - started
        if taken > QUIET and 0.02 < furthest < 1:
            text = f"{text}, about {in_words(taken * (1 - furthest) / furthest)} left"
        progress(furthest, text)

    return show


def in_words(seconds: float) -> str:
    """A duration to read.

    >>> [in_words(s) for s in (0.4, 75, 7300)]
    ['1 s', '1 min 15 s', '2 h 1 min']
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


# -- in a notebook ------------------------------------------------------------------------------------------

OFTEN = 0.2
"""Seconds between two looks of a bar in a notebook."""


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress]:
    """What a call reports to: `progress`; where nobody gave one a bar in a notebook, and nothing elsewhere.

    A bar shows itself when the work has taken two seconds, and stays with the time that it took.
    """
    if progress is not None or not in_notebook():
        yield progress or silent
        return
    begun = last = time.monotonic()
    there: Any = None

    def draw(fraction: float, text: str) -> Any:
        notebook: Any = import_module("IPython.display")  # untyped, and there only in a notebook
        bar = notebook.HTML(f'<progress value="{fraction:.3f}" max="1"></progress> {escape(text)}')
        if there is None:
            return notebook.display(bar, display_id=True)
        there.update(bar)
        return there

    def show(fraction: float, text: str, /) -> None:
        nonlocal last, there
        now = time.monotonic()
        if now - begun >= QUIET and now - last >= OFTEN:
            last, there = now, draw(fraction, text)

    yield show
    if there is not None:
        draw(1.0, f"done in {in_words(time.monotonic() - begun)}")


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


# -- one bar over several stages ----------------------------------------------------------------------------


def stages(progress: Progress, worth: Mapping[str, float]) -> dict[str, Progress]:
    """What each stage of the work calls, for one bar with the time that is left.

    `worth` says how long stages take, compared.

    >>> show = stages(lambda fraction, text: print(f"{fraction:.0%} {text}"), {"reading": 1, "solving": 3})
    >>> show["solving"](0.5, "half of it")
    62% half of it
    """
    show, total, before = with_time_left(progress), sum(worth.values()), 0.0
    found = {}
    for stage, share in worth.items():
        found[stage] = part(show, before / total, share / total)
        before += share
    return found
