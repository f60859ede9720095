"""A graph of communities in random order, and its rows as ranks hold them."""

import numpy as np
import pytest
import scipy.sparse as sp

from querist.cluster.partition import Rows, even_segments, rank_bounds


def communities(n=3000, count=12, edges=24_000, seed=0):
    rng = np.random.default_rng(seed)
    home = rng.integers(count, size=n)
    members = [np.flatnonzero(home == c) for c in range(count)]
    i = rng.integers(n, size=edges)
    near = np.array([rng.choice(members[home[k]]) for k in i])
    j = np.where(rng.random(edges) < 0.8, near, rng.integers(n, size=edges))
    i, j = np.r_[i[i != j], np.arange(n)], np.r_[j[i != j], (np.arange(n) + 1) % n]  # a ring: one component
    S = sp.csr_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    S.data[:] = 1.0
    S.sort_indices()
    return S


@pytest.fixture(scope="session")
def rows_of():
    """`rows_of(S, group)`: the rows of one rank, numbered as they are."""

    def rows(S, group, segments=None):
        segments = even_segments(S.shape[0]) if segments is None else segments
        bounds = rank_bounds(segments, group.size)
        first, last = bounds[group.rank], bounds[group.rank + 1]
        own = S[first:last]
        return Rows(
            bounds, segments, own.indptr.astype(np.int64), own.indices.astype(np.int32), own.data.copy(),
            np.arange(first, last),
        )  # fmt: skip

    return rows


@pytest.fixture(scope="session")
def graph():
    return communities()


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers of one thread, each a process with a nanny."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None, silence_logs=50
    ) as started:
        yield started
