"""Row ranges on several threads.

Compiled kernels release the interpreter's lock, so plain threads are enough; unlike numba's own pool they
may be used from any number of the caller's threads at once and survive a fork. `QUERIST_THREADS` says how
many, otherwise as many as the process may use.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from querist.errors import InputError

A = TypeVar("A")
T = TypeVar("T")

SMALL = 1 << 18
"""Multiplications below which waking a thread costs more than it saves."""


def available() -> int:
    """How many threads to use."""
    asked = os.environ.get("QUERIST_THREADS")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise InputError(f"QUERIST_THREADS is {asked!r}; set a whole number from 1, or unset it")
        return int(asked)
    return cores()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cuts(indptr: Any, parts: int) -> list[int]:
    """Row numbers that cut a CSR matrix in `parts` ranges of about equal work (entries plus rows).

    >>> cuts(np.array([0, 10, 11, 12, 13]), 2)
    [0, 1, 4]
    """
    n = indptr.size - 1
    work = indptr[:] - indptr[0] + np.arange(n + 1)
    inner = np.searchsorted(work, work[-1] * np.arange(1, parts) / parts)
    return [0, *(int(cut) for cut in np.clip(inner, 0, n)), n]


def over_rows(kernel: Callable[..., None], arguments: tuple[Any, ...], bounds: list[int], work: int) -> None:
    """`kernel(*arguments, first, last)` for every range between bounds; at once when `work` is worth it."""
    spans = [(bounds[0], bounds[-1])] if work < SMALL else [*pairwise(bounds)]
    each(lambda span: kernel(*arguments, *span), spans)


def _wait(others: list[Future[None]]) -> None:
    """Also when interrupted while waiting: nobody may write into the arrays after this returns."""
    interrupt = None
    for other in others:
        while not other.done():
            try:
                wait([other])
            except KeyboardInterrupt as pressed:
                interrupt = pressed
        other.result()
    if interrupt is not None:
        raise interrupt


def over_parts(work: Callable[[slice], T], n: int, chunk: int) -> list[T]:
    """`work(part)` for n rows in parts of `chunk`, several at once; what they gave, in order.

    The parts do not depend on the threads, so sums over them do not either. `work` should spend its time
    outside of the interpreter, and multiply matrices with BLAS working alone (`one_blas_thread`).

    >>> over_parts(lambda part: part.stop - part.start, 10, 4)
    [4, 4, 2]
    """
    return each(work, [slice(first, min(n, first + chunk)) for first in range(0, n, chunk)])


def each(work: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """`work(item)` for every item, several at once; what they gave, in order."""
    helpers = min(available(), len(items)) - 1
    if helpers < 1:
        return [work(item) for item in items]
    found, waiting = dict[int, T](), list(reversed(range(len(items))))

    def take() -> None:
        while waiting:
            try:
                number = waiting.pop()
            except IndexError:  # another was quicker
                return
            found[number] = work(items[number])

    others = [_pool(os.getpid(), helpers).submit(take) for _ in range(helpers)]
    try:
        take()
    finally:
        waiting.clear()  # when interrupted, nobody begins another
        _wait(others)
    return [found[number] for number in range(len(items))]


def one_blas_thread() -> AbstractContextManager[Any]:
    """A block in which BLAS works alone: between two products on our own threads its threads only wait, and
    they wait at full speed. For work on narrow blocks."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limit: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limit


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # One a process id: the threads of a parent do not live in a forked child.
    return ThreadPoolExecutor(threads, thread_name_prefix="querist")
