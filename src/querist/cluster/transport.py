"""What ranks say to each other: two methods, by the connections of Dask or by MPI (mpi.py).

A *rank* is one of `size` processes that run the same work on their own part of a graph.

- `exchange(parts)`: `parts[p]` goes to rank p; what comes back is, rank by rank, what each sent here.
- `everyone(array)`: the arrays of all ranks, in order, on every rank: with sums taken in that order all
  ranks hold the same bits.

Both are called by all ranks in the same order. When they return, what was given is the caller's again.

`DaskRank` connects the workers of a Dask cluster by Dask's own connections, so that its addresses, its
protocols and its TLS apply. A peer that dies closes its connections: the others get a `PeerLostError` in
their next exchange, at once.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from querist.errors import QueristError
from querist.lazy import Library

dask, comm, protocol = Library("distributed"), Library("distributed.comm"), Library("distributed.protocol")

WAIT_SECONDS = 300.0
"""For the other ranks to be there, when a group is joined."""

COPIED = 1 << 20
"""Bytes up to which an array is copied before it is sent. Whoever gets a larger one says so."""


class PeerLostError(QueristError, ConnectionError):
    """Another rank is gone: the work of all cannot go on as it is."""


class Group(Protocol):
    """A rank among others."""

    rank: int
    size: int

    def exchange(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """What every rank has sent here; `parts[p]` is for rank p."""
        ...

    def everyone(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The arrays of all ranks, in order."""
        ...


def delivered(group: Group, owner: NDArray[Any], *arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Of each array the rows that this rank owns, from all ranks in order; nobody gets those of owner -1."""
    chosen = [np.flatnonzero(owner == p) for p in range(group.size)]
    return [np.concatenate(group.exchange([array[mine] for mine in chosen])) for array in arrays]


# -- workers of a Dask cluster ------------------------------------------------------------------------

_waiting: dict[str, "_Meeting"] = {}
"""In a worker: the groups that were announced to it, by the name of the run."""


class _Meeting:
    """A worker that listens for its peers."""

    def __init__(self) -> None:
        self.listener: Any = None
        self.arrived: dict[int, Any] = {}
        self.news = asyncio.Event()
        self.done = asyncio.Event()

    async def handle(self, link: Any) -> None:
        """A peer of a higher rank has connected; the connection is open as long as this runs."""
        self.arrived[int(await link.read())] = link
        self.news.set()
        await self.done.wait()


async def announce(name: str, dask_worker: Any) -> str:
    """In a worker's event loop, before a `DaskRank`: begin to listen for the run; the address to give."""
    meeting = _Meeting()
    scheme, _, rest = dask_worker.address.partition("://")
    meeting.listener = await comm.listen(
        f"{scheme}://{comm.get_address_host(dask_worker.address)}" if rest else dask_worker.address,
        meeting.handle,
        **dask_worker.security.get_listen_args("worker"),
    )
    _waiting[name] = meeting
    return str(meeting.listener.contact_address)


class DaskRank:
    """A rank that is a worker of a Dask cluster and was announced, made in a task there; it connects to those
    at the other addresses."""

    def __init__(self, rank: int, addresses: Sequence[str], name: str) -> None:
        worker = dask.get_worker()
        self.rank, self.size = rank, len(addresses)
        self._loop = worker.loop.asyncio_loop
        self._worker, self._meeting = worker, _waiting.pop(name)
        self._links: dict[int, Any] = {}
        try:
            self._run(self._connect(addresses))
        except BaseException:
            self.close()
            raise

    async def _connect(self, addresses: Sequence[str]) -> None:
        """To lower ranks we connect, higher ones connect to us."""
        wanted = self._worker.security.get_connection_args("worker")
        for p in range(self.rank):
            link = await comm.connect(addresses[p], timeout=WAIT_SECONDS, **wanted)
            self._links[p] = link
            await link.write(self.rank)
        while len(self._meeting.arrived) < self.size - 1 - self.rank:
            self._meeting.news.clear()
            await asyncio.wait_for(self._meeting.news.wait(), WAIT_SECONDS)
        self._links.update(self._meeting.arrived)
        for link in self._links.values():
            link.allow_offload = False  # arrays are not serialised, so there is nothing to leave to others

    def exchange(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """To every peer at once, and from every peer at once."""
        found: list[NDArray[Any]] = self._run(self._exchanged(parts))
        return found

    async def _exchanged(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        sent = {p: np.asarray(parts[p], order="C") for p in self._links}
        for p, link in self._links.items():  # a write returns at once, and Dask sends behind our back
            await link.write(protocol.to_serialize(sent[p].copy() if sent[p].nbytes <= COPIED else sent[p]))
        found = dict(zip(self._links, await self._read(self._links), strict=True))
        for p, link in self._links.items():
            if found[p].nbytes > COPIED:
                await link.write(True)
        await self._read([p for p in self._links if sent[p].nbytes > COPIED])
        found[self.rank] = parts[self.rank]
        return [found[p] for p in range(self.size)]

    async def _read(self, peers: Iterable[int]) -> list[Any]:
        return await asyncio.gather(*(self._links[p].read() for p in peers))

    def everyone(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The same array to every peer."""
        return self.exchange([array] * self.size)

    def _run(self, work: Any) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (TimeoutError, OSError, comm.CommClosedError) as problem:
            raise PeerLostError(f"rank {self.rank} of {self.size} has lost another: {problem}") from problem

    def close(self) -> None:
        """Leave; whoever waits for this rank learns it at once."""

        def leave() -> None:
            for link in self._links.values():
                link.abort()
            self._meeting.done.set()
            self._meeting.listener.stop()

        self._loop.call_soon_threadsafe(leave)
