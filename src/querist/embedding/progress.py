"""Progress that says how long it will still take."""

import time
from collections.abc import Callable

Progress = Callable[[float, str], None]

QUIET = 2.0
"""Seconds before a guess of the time left is worth saying."""


def with_time_left(progress: Progress, clock: Callable[[], float] = time.perf_counter) -> Progress:
    """`progress` with never-falling fractions, and the time left in its text once there is one to tell.

    >>> seconds = iter([0.0, 10.0])
    >>> show = with_time_left(lambda fraction, text: print(f"{fraction:.0%} {text}"), lambda: next(seconds))
    >>> show(0.25, "solving")
    25% solving, about 30 s left
    """
    started, furthest = clock(), 0.0

    def show(fraction: float, text: str) -> None:
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
