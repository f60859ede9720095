"""Ranks that `mpirun` started: the two methods of transport.py by MPI, and a first rank who leads the others.

All processes run the same command or script. The first one goes on with it, and sends what is to be done on
all ranks (`run`); the others do that (`follow`) until the first one ends. There is no scheduler who could
start a lost process again: MPI ends them all, and the same command goes on from what was kept.
"""

import atexit
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from querist.errors import QueristError
from querist.lazy import needing

T = TypeVar("T")

MPI = "mpi"
"""The name of the cluster of all processes that mpirun started."""

PIECE = 1 << 30
"""Bytes of a message: MPI counts them in 32 bits."""


class MpiRank:
    """A rank that is a process of MPI."""

    def __init__(self) -> None:
        with needing("mpi", f"--cluster {MPI}"):
            import mpi4py.MPI as library
        self._library, self._world = library, library.COMM_WORLD
        self.rank, self.size = int(self._world.Get_rank()), int(self._world.Get_size())

    def exchange(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Shapes first, then all arrays at once."""
        sent = [np.asarray(part, order="C") for part in parts]
        heads = self._world.alltoall([(array.dtype.str, array.shape) for array in sent])
        found = [np.empty(shape, dtype) for dtype, shape in heads]
        others = [p for p in range(self.size) if p != self.rank]
        waiting = [self._world.Irecv(piece, source=p) for p in others for piece in pieces(found[p])]
        waiting += [self._world.Isend(piece, dest=p) for p in others for piece in pieces(sent[p])]
        self._library.Request.Waitall(waiting)
        found[self.rank] = parts[self.rank]
        return found

    def everyone(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The same array to every rank."""
        return self.exchange([array] * self.size)

    def run(self, work: Callable[..., T], *arguments: Any) -> list[T]:
        """Of the first rank: `work(group, *arguments)` on all of them; what each gave."""
        self._world.bcast((work, arguments))
        found: list[T] = self._done(work, arguments)
        # The last to be registered is the first to be called: before what the work registered.
        atexit.unregister(_end_output)
        atexit.register(_end_output)
        return found

    def follow(self) -> None:
        """Of the others: do what the first one sends, until it ends."""
        while (task := self._world.bcast(None)) is not None:
            self._done(*task)

    def _done(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            own = work(self, *arguments)
        except BaseException as problem:
            # The others may be waiting for this one, for ever.
            said = str(problem) if isinstance(problem, QueristError) else traceback.format_exc()
            print(f"rank {self.rank} of {self.size}: {said}", file=sys.stderr, flush=True)
            self._world.Abort(2)
            raise
        return self._world.gather(own)


def pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The bytes of an array, `PIECE` at a time."""
    flat = array.reshape(-1).view(np.uint8)
    for first in range(0, flat.size, PIECE):
        yield flat[first : first + PIECE]


@cache
def leader() -> MpiRank:
    """The first rank. For the others this does not return: they follow it, and end when it does."""
    found = MpiRank()
    if found.rank:
        found.follow()
        _end_output()
        raise SystemExit(0)
    atexit.register(found._world.bcast, None)
    return found


def _end_output() -> None:
    """All was said: nothing may follow it, as it may be JSON.

    Every rank has a terminal from mpirun, and colorama, where numba finds it, resets the colours of a
    terminal when the process ends.
    """
    sys.stdout.flush()
    with open(os.devnull, "wb") as nothing, suppress(OSError):
        os.dup2(nothing.fileno(), 1)
