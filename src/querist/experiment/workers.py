"""Where jobs are worked: in this process, on all cores (joblib), or on a Dask cluster (joblib's back end).

Every process computes with one BLAS thread, so that sums are taken in the same order everywhere and the
processes do not crowd each other out.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

from querist.cluster.run import connected
from querist.operator.threads import cores

T = TypeVar("T")
WATCH_SECONDS = 1.0

Warned = list[tuple[type[Warning], str]]


def worked(jobs: Sequence[Callable[[], T]], processes: int = 1, cluster: str | None = None) -> Iterator[T]:
    """What the jobs return, as it comes: in their order here, in any order elsewhere.

    processes : 1 works in this process, 0 means as many as there are cores
    cluster : address of a Dask scheduler, instead
    """
    count = processes or cores()
    if cluster is None and (count == 1 or len(jobs) < 2):
        with one_thread():
            for job in jobs:
                yield job()
        return
    if not jobs:
        return
    from joblib import Parallel, delayed, parallel_config

    # A worker that has held a large data set makes room by starting anew: nothing is lost, and nothing leaks.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
    said: set[str] = set()
    here: dict[str, Any] = {"backend": "loky", "inner_max_num_threads": 1}
    with (
        nullcontext() if cluster is None else connected(cluster),
        parallel_config(**(here if cluster is None else {"backend": "dask"})),
    ):
        # One at a time: in a batch that was sized by quick jobs, slow ones would keep one worker busy for
        # long, and be lost together with this process.
        pool = Parallel(
            n_jobs=-1 if cluster else min(count, len(jobs)), batch_size=1, return_as="generator_unordered"
        )
        master = None if cluster else os.getpid()
        for found, warned in pool(delayed(_elsewhere)(job, master) for job in jobs):
            for kind, text in warned:
                if text not in said:
                    said.add(text)
                    warnings.warn(text, kind, stacklevel=2)
            yield found


def one_thread() -> Any:
    """A context with one BLAS thread; it begins when it is made."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1)


def _elsewhere(work: Callable[[], T], master: int | None) -> tuple[T, Warned]:
    """In a worker: what comes of it, and the warnings to repeat where somebody reads them."""
    from joblib import parallel_config

    _settle_in(master)
    # What a run spreads over workers itself must not wait for the cluster whose worker it occupies.
    with warnings.catch_warnings(record=True) as caught, parallel_config(backend="sequential"):
        warnings.simplefilter("default")
        found = work()
    foreign = DeprecationWarning | PendingDeprecationWarning | FutureWarning
    warned = [(c.category, str(c.message)) for c in caught if not issubclass(c.category, foreign)]
    return found, [(kind if kind.__module__ == "builtins" else UserWarning, text) for kind, text in warned]


@cache
def _settle_in(master: int | None) -> None:
    """Once a worker: one thread from now on, and no life after the process that it works for."""
    os.environ["QUERIST_THREADS"] = "1"
    one_thread()
    if master is not None:
        threading.Thread(target=_leave_with, args=(master,), daemon=True).start()


def _leave_with(master: int) -> None:
    """End this process when its parent is gone: killed, it cannot tell its workers to stop."""
    while os.getppid() == master:
        time.sleep(WATCH_SECONDS)
    os._exit(1)
