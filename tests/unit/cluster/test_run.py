"""Ranks on the workers of a real Dask cluster: what they exchange, and what happens when one is killed."""

import os
import signal

import numpy as np
import pytest

from querist.cluster.run import connected, on_workers, workers_of
from querist.errors import InputError


def test_workers_exchange_what_they_are_given(cluster):
    def work(group):
        large = np.full((300_000, 2), group.rank, dtype=np.float32)
        seen = []
        for turn in range(3):
            parts = [large + 10 * p + 100 * turn for p in range(group.size)]
            found = group.exchange(parts)
            parts[1 - group.rank][:] = -1  # what was given is ours again
            seen.append([float(part.mean()) for part in found])
        small = [array.tolist() for array in group.everyone(np.arange(group.rank + 1))]
        small.append([int(number) for number in group.everyone(np.array(group.rank))])
        return seen, small

    with connected(cluster.scheduler_address) as client:
        found = on_workers(client, work)
    for rank, (seen, small) in enumerate(found):
        assert seen == [[p + 10 * rank + 100 * turn for p in range(2)] for turn in range(3)]
        assert small == [[0], [0, 1], [0, 1]]


def test_the_trouble_of_one_rank_is_everybodys_and_said_as_it_is(cluster):
    def work(group):
        if group.rank == 1:
            raise InputError("the second file is broken; mend it")
        group.everyone(np.zeros(1))

    with connected(cluster.scheduler_address) as client, pytest.raises(InputError, match="second file"):
        on_workers(client, work)


@pytest.mark.slow
def test_work_goes_on_after_a_worker_was_killed(cluster, tmp_path):
    mark = tmp_path / "killed"

    def work(group, mark):
        for turn in range(20):
            group.everyone(np.zeros(turn + 1))
            if turn == 10 and group.rank == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with connected(cluster.scheduler_address) as client:
        before = set(workers_of(client))
        found = on_workers(client, work, mark)
        assert mark.exists() and len(found) == 2
        assert len(before & set(workers_of(client))) == 1


@pytest.mark.slow
def test_where_nobody_answers_it_is_said():
    with pytest.raises(InputError, match="no Dask scheduler answers"), connected("tcp://127.0.0.1:9"):
        pass
