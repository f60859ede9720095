"""What every process of MPI runs; started by test_mpi.py as `mpirun -n 2 python mpi_ranks.py WHAT ...`."""

import sys

import numpy as np

from querist import cluster
from querist.cluster import mpi
from querist.errors import InputError


def exchanged(group):
    """Arrays of every kind, some cut in several messages, each with the number of who sent it."""
    made = [np.full((3, 5), group.rank), np.full(0, 1.5), np.array(group.rank == 1), np.array(["abc", "é"])]
    mpi.PIECE = 7
    for own in made:
        found = group.exchange([own] * group.size)
        assert [part.dtype for part in found] == [own.dtype] * group.size
        assert [part.shape for part in found] == [own.shape] * group.size
    sent = [np.array([group.rank, p], dtype=np.float32) for p in range(group.size)]
    assert [part.tolist() for part in group.exchange(sent)] == [[p, group.rank] for p in range(group.size)]
    return [part.tolist() for part in group.everyone(made[0][0])]


def troubled(group):
    """One rank has a trouble of its own while the other waits for it."""
    if group.rank == 1:
        raise InputError("a file of this rank is no table")
    group.everyone(np.zeros(3))


def main():
    what, *names = sys.argv[1:]
    if what == "exchange":
        print(mpi.leader().run(exchanged))
    if what == "trouble":
        mpi.leader().run(troubled)
    if what == "embed":
        edges, out = names
        for place in (out, f"{out}_again"):
            print(cluster.embed(edges, place, 6, cluster="mpi").workers, "workers")


if __name__ == "__main__":
    main()
