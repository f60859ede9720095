"""Ranks as threads of one process: what the workers of a cluster compute, without a cluster."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from querist.cluster.transport import WAIT_SECONDS, Group, PeerLostError

T = TypeVar("T")


class Alone:
    """A group of one."""

    rank, size = 0, 1

    def exchange(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """What is given."""
        return list(parts)

    def everyone(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """What is given."""
        return [array]


class _Table:
    """Where threads lay what they send: a place for every pair of them."""

    def __init__(self, size: int) -> None:
        self.places: list[list[Any]] = [[None] * size for _ in range(size)]
        self.barrier = threading.Barrier(size)


class ThreadRank:
    """A rank that is a thread; see `in_threads`."""

    def __init__(self, rank: int, size: int, table: _Table) -> None:
        self.rank, self.size, self._table = rank, size, table

    def exchange(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Through a table that all threads see."""
        for p in range(self.size):
            self._table.places[p][self.rank] = parts[p]
        self._wait()
        found = [np.array(part) for part in self._table.places[self.rank]]
        self._wait()
        return found

    def everyone(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The same array for every thread."""
        return self.exchange([array] * self.size)

    def _wait(self) -> None:
        try:
            self._table.barrier.wait(WAIT_SECONDS)
        except threading.BrokenBarrierError:
            raise PeerLostError("another rank has stopped") from None


def in_threads(size: int, work: Callable[[Group], T]) -> list[T]:
    """`work(group)` as `size` ranks, each a thread of this process; what they gave, in order.

    >>> in_threads(3, lambda group: int(sum(group.everyone(np.array(group.rank + 1)))))
    [6, 6, 6]
    """
    table = _Table(size)

    def run(rank: int) -> T:
        try:
            return work(ThreadRank(rank, size, table))
        except BaseException:
            table.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        ranks = [pool.submit(run, rank) for rank in range(size)]
    problems = [problem for rank in ranks if (problem := rank.exception()) is not None]
    # The first of the others' own troubles says more than that somebody else had one.
    for problem in sorted(problems, key=lambda found: isinstance(found, PeerLostError)):
        raise problem
    return [rank.result() for rank in ranks]
