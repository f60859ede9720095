"""Work on all workers of a Dask cluster at once: started, watched, and begun again when one is lost.

Every worker is one rank and runs the same function. Dask starts and restarts workers (ssh, SLURM, Kubernetes:
whatever started them), says where they are, and carries the function there; ranks talk to each other directly
(transport.py). When a worker dies its peers notice at once, all stop, and the run begins again with the
workers that are there: what was on disk by then is not done twice.
"""

import importlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from querist.cluster.mpi import MPI, leader
from querist.cluster.transport import DaskRank, PeerLostError, announce, dask
from querist.errors import InputError, QueristError
from querist.lazy import needing

T = TypeVar("T")

ATTEMPTS = 5
"""Times that a run is begun."""

PATIENCE_SECONDS = 60.0
"""For lost workers to come back, before a run goes on with those that are left."""

LOOK_SECONDS = 0.25
"""Between looks at whether all workers are there."""


@contextmanager
def connected(cluster: str) -> Iterator[Any]:
    """A client of the cluster whose scheduler is at this address; refused where nobody answers or works."""
    with needing("cluster", "--cluster"):
        importlib.import_module("distributed")
    try:
        client = dask.Client(cluster, timeout="5s", set_as_default=True)
    except (OSError, ValueError) as problem:
        raise InputError(
            f"no Dask scheduler answers at {cluster!r} ({type(problem).__name__}); give an address such as "
            "tcp://HOST:8786, or leave --cluster out"
        ) from problem
    with client:
        if not workers_of(client):
            raise InputError(
                f"the Dask scheduler at {cluster} has no workers; start some: dask worker {cluster}"
            )
        yield client


@contextmanager
def ranks_of(cluster: str, workers: int | None) -> Iterator[Callable[..., list[Any]]]:
    """What does `work(group, *arguments)` on all workers of a cluster, or on so many, and gives what each
    gave; see `on_workers`. The cluster "mpi" is that of the processes that mpirun started."""
    if cluster != MPI:
        with connected(cluster) as client:
            yield partial(on_workers, client, workers=workers)
        return
    first = leader()
    if workers not in (None, first.size):
        raise InputError(f"{workers} workers of {first.size}: mpirun -n says how many there are")
    yield first.run


def workers_of(client: Any) -> list[str]:
    """The addresses of the workers that are there now."""
    found: Any = client.sync(client.scheduler.identity)
    return sorted(found["workers"])


def on_workers(client: Any, work: Callable[..., T], *arguments: Any, workers: int | None = None) -> list[T]:
    """`work(group, *arguments)` on every worker, or on so many; what each rank gave.

    Where a worker is lost the work is begun again, on as many when they come back in time: it is the work's
    own affair to find what it left on disk.
    """
    wanted = len(workers_of(client)) if workers is None else workers
    for attempt in range(1, ATTEMPTS + 1):
        there = _gathered(client, wanted)
        try:
            return _attempt(client, there[:wanted], work, arguments)
        except PeerLostError as problem:
            if attempt == ATTEMPTS:
                raise QueristError(
                    f"workers were lost {ATTEMPTS} times; is there memory enough? The last time: {problem}"
                ) from problem
    raise AssertionError


def _gathered(client: Any, wanted: int) -> list[str]:
    """The workers to use: as many as wanted, or those that are there when patience is over."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        there = workers_of(client)
        if len(there) >= wanted or (there and time.monotonic() > until):
            return there
        if time.monotonic() > until:
            raise QueristError("all workers of the cluster are gone; start some and run the command again")
        time.sleep(LOOK_SECONDS)


def _attempt(client: Any, workers: list[str], work: Callable[..., T], arguments: tuple[Any, ...]) -> list[T]:
    name = uuid.uuid4().hex
    try:
        known = client.run(announce, name, workers=workers)
    except Exception as problem:
        # One that is going down answers with whatever it still can.
        raise PeerLostError(f"a worker did not answer: {problem}") from problem
    addresses = [known[worker] for worker in workers]
    tasks = [
        client.submit(
            _as_rank, rank, addresses, name, work, arguments, workers=[worker], pure=False, retries=0
        )
        for rank, worker in enumerate(workers)
    ]
    try:
        _watch(client, tasks, workers)
        return list(client.gather(tasks))
    finally:
        client.cancel(tasks, force=True)


def _watch(client: Any, tasks: list[Any], workers: list[str]) -> None:
    """Until all tasks are done; an error, or a worker that is gone, ends it."""
    while True:
        try:
            done = dask.wait(tasks, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        failed = [task for task in tasks if task.status in ("error", "cancelled", "lost")]
        if failed:
            _raise(client, tasks)
        if done and all(task.status == "finished" for task in tasks):
            return
        gone = set(workers) - set(workers_of(client))
        if gone:
            raise PeerLostError(f"the worker at {min(gone)} is gone")
        if done:
            time.sleep(LOOK_SECONDS)


def _raise(client: Any, tasks: list[Any]) -> None:
    """The trouble that was first: a rank's own, before those of ranks that only lost another."""
    until = time.monotonic() + 4 * LOOK_SECONDS
    while time.monotonic() < until and any(task.status == "pending" for task in tasks):
        time.sleep(LOOK_SECONDS / 4)
    problems = [task.exception() for task in tasks if task.status == "error"]
    own = [problem for problem in problems if not _lost(problem)]
    if own:
        raise own[0]
    raise PeerLostError(str(problems[0]) if problems else "a worker is gone")


def _lost(problem: Any) -> bool:
    """Whether a task failed because a worker, its own or another's, is gone."""
    return isinstance(problem, (PeerLostError, dask.scheduler.KilledWorker))


def _as_rank(
    rank: int, addresses: list[str], name: str, work: Callable[..., T], arguments: tuple[Any, ...]
) -> T:
    """In a worker."""
    group = DaskRank(rank, addresses, name)
    try:
        return work(group, *arguments)
    finally:
        group.close()
