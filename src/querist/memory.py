"""How much memory this process may still take: what is too large is refused before it starts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from querist.errors import TooLargeError

ROW = 250
"""Bytes that a row of a table takes while it becomes an edge or a node; measured on 10 million edges."""

TABLES = 12
"""Tables of nodes times classes that labelling holds at once: 7 to 13 were measured, by method."""

_most: ContextVar[float] = ContextVar("most", default=np.inf)


def free() -> float:
    """Bytes this process may still take; infinite if the system does not say."""
    return min(_free_of_machine(), _free_of_group(), _free_of_process(), _most.get())


@contextmanager
def at_most(size: float) -> Iterator[None]:
    """Inside the block no more than `size` bytes count as free: a limit for what one request may take."""
    before = _most.set(min(size, _most.get()))
    try:
        yield
    finally:
        _most.reset(before)


def check(
    need: float,
    what: str,
    advice: str = "give a part of it, or use a larger machine",
    *,
    room: float | None = None,
    where: str = "",
) -> None:
    """Refuse work that needs more bytes than are free: `room`, or what this process may still take.

    >>> check(1e18, "edges.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    querist.errors.TooLargeError: edges.csv needs about 1,000,000,000.0 GB of memory...
    """
    room = free() if room is None else room
    if need > room:
        needed, there = f"{need / 1e9:,.1f} GB of memory{where}", f"{max(0.0, room) / 1e9:,.1f} GB"
        raise TooLargeError(f"{what} needs about {needed}, and {there} are available; {advice}")


def check_classes(nodes: int, classes: int) -> None:
    """Refuse so many nodes and classes that a number for each pair of them does not fit into memory."""
    what = f"labelling {nodes:,} nodes with {classes:,} classes"
    check(8.0 * TABLES * nodes * classes, what, "merge rare classes, or label a part of the graph")


def _free_of_machine() -> float:
    with suppress(OSError, IndexError, ValueError):
        text = Path("/proc/meminfo").read_text()
        return float(text.split("MemAvailable:")[1].split()[0]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return np.inf


def _free_of_group() -> float:
    """What a container leaves (control groups, version 2)."""
    place = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # no such group, or "max": no limit
        return float((place / "memory.max").read_text()) - float((place / "memory.current").read_text())
    return np.inf


def _free_of_process() -> float:
    """What `ulimit -v` leaves."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        return np.inf if most == resource.RLIM_INFINITY else float(most - used)
    return np.inf
