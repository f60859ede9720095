"""A graph of communities in random order, and its rows as ranks hold them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from querist.cluster.partition import RankRows, even_segments, rank_bounds

CLASSES = 3


def communities(n=1500, count=8, edges=12_000, seed=0):
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
        return RankRows(
            bounds, segments, own.indptr.astype(np.int64), own.indices.astype(np.int32), own.data.copy(),
            np.arange(first, last),
        )  # fmt: skip

    return rows


@pytest.fixture(scope="session")
def graph():
    return communities()


@pytest.fixture
def cluster(dask):
    """The scheduler, when both workers are there: a test may have killed one."""
    with dask.get_client() as client:
        client.wait_for_workers(2)
    return dask


@pytest.fixture(scope="session")
def dask():
    """A scheduler and two workers of one thread, each a process with a nanny."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None, silence_logs=50
    ) as started:
        yield started


@pytest.fixture(scope="session")
def problem(graph):
    """The graph of communities with classes, words and a few labels; one node has no word."""
    n = graph.shape[0]
    rng = np.random.default_rng(1)
    # Classes that follow the graph: each node that of the nearest of some nodes.
    steps = sp.csgraph.dijkstra(graph, unweighted=True, indices=rng.choice(n, 30, replace=False))
    truth = steps.argmin(axis=0) % CLASSES
    words = rng.integers(40, size=(n, 6)) + 20 * truth[:, None]
    counts = sp.csr_array((np.ones(words.size), (np.repeat(np.arange(n), 6), words.ravel())), shape=(n, 100))
    counts.sum_duplicates()
    counts = sp.csr_array(sp.diags_array((np.arange(n) != 17).astype(float)) @ counts)
    seeds = rng.choice(n, 150, replace=False)
    return truth, counts, seeds


@pytest.fixture(scope="session")
def folders(graph, problem, tmp_path_factory):
    """Edges, labels and attributes as folders of files, nodes by text."""
    truth, counts, seeds = problem
    home = tmp_path_factory.mktemp("tables")
    upper, words = sp.triu(graph).tocoo(), counts.tocoo()
    name = np.array([f"n{k}" for k in range(graph.shape[0])])
    tables = {
        "edges": {"source": name[upper.row], "target": name[upper.col]},
        "labels": {"node": [*name[seeds], "stranger"], "label": [*(f"c{truth[k]}" for k in seeds), "c0"]},
        "attributes": {"node": name[words.row], "attribute": words.col.astype(str), "count": words.data},
    }
    for table, columns in tables.items():
        (home / table).mkdir()
        whole = pa.table({key: pa.array(list(values)) for key, values in columns.items()})
        half = whole.num_rows // 2
        pq.write_table(whole.slice(0, half), home / table / "a.parquet")
        pq.write_table(whole.slice(half), home / table / "b.parquet")
    return home
