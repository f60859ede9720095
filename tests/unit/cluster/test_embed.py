"""An embedding on shards: the rows of one process, the same bits on any number of ranks, killed or not."""

import os
import shutil
import signal
import subprocess

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from distributed import LocalCluster, Security
from thread_ranks import in_threads

import querist
from querist import cluster as on_cluster
from querist.cluster.run import connected, on_workers
from querist.cluster.spectral import lowest_pairs, solve
from querist.cluster.store import WORK, Checkpoints, begun, load_rows
from querist.cluster.tables import graph_tables, prepare
from querist.errors import InputError, UnknownNameError

RANK = 8


@pytest.fixture(scope="module")
def edges(graph, tmp_path_factory):
    """The graph of communities as a folder of parquet, and a small component beside it."""
    folder = tmp_path_factory.mktemp("edges")
    upper = sp.triu(graph).tocoo()
    a, b = np.r_[upper.row, 5000, 5001], np.r_[upper.col, 5001, 5002]
    for number in range(3):
        table = pa.table({"source": a[number::3], "target": b[number::3]})
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def rows_in(folder):
    """Ids and rows of a folder of results, by id."""
    table = pq.read_table(folder).sort_by("node")
    return np.asarray(table["node"]), np.column_stack(
        [np.asarray(table[f"x{k}"]) for k in range(1, RANK + 1)]
    )


def embedded(edges, place, size, tol=1e-6):
    place.mkdir()
    tables = graph_tables(edges, connect=True)
    in_threads(size, lambda group: prepare(group, place / WORK, tables))
    return in_threads(size, lambda group: solve(group, place, RANK, tol, 1.0, 0))


@pytest.mark.slow
def test_rows_have_the_same_bits_on_any_number_of_ranks_and_are_those_of_one_process(graph, edges, tmp_path):
    found = {size: embedded(edges, tmp_path / str(size), size) for size in (1, 2, 3)}
    ids, rows = rows_in(tmp_path / "1")
    np.testing.assert_array_equal(ids, np.arange(graph.shape[0]))
    for size in (2, 3):
        assert rows_in(tmp_path / str(size))[1].tobytes() == rows.tobytes()
        assert all(part["values"].tobytes() == found[1][0]["values"].tobytes() for part in found[size])
    alone = querist.embed(querist.as_graph(graph), RANK, tol=1e-6, cache=False)
    np.testing.assert_allclose(found[1][0]["values"], alone.eigenvalues, rtol=1e-6)
    assert max(found[1][0]["residuals"]) < 1e-6
    np.testing.assert_allclose(np.abs((rows * alone.rows).sum(axis=0)) / (rows**2).sum(axis=0), 1, atol=1e-4)


@pytest.mark.slow
def test_rows_in_single_precision_have_the_same_bits_on_any_number_of_ranks(edges, tmp_path):
    plain = embedded(edges, tmp_path / "plain", 1, tol=1e-6)
    found = {size: embedded(edges, tmp_path / str(size), size, tol=2e-3) for size in (1, 2, 3)}
    for size in (2, 3):
        assert rows_in(tmp_path / str(size))[1].tobytes() == rows_in(tmp_path / "1")[1].tobytes()
    assert max(found[1][0]["residuals"]) < 2e-3
    np.testing.assert_allclose(found[1][0]["values"], plain[0]["values"], atol=2e-3)


@pytest.mark.slow
def test_encrypted_connections_carry_the_same_rows(edges, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate of this test, is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=querist"]
    command = [openssl, "req", "-x509", *made, "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    ends = {f"{end}.{what}": str(file) for end in ("scheduler", "worker", "client")
            for what, file in (("cert", certificate), ("key", key))}  # fmt: skip
    tls = {
        f"distributed.comm.tls.{name}": value for name, value in {"ca-file": str(certificate), **ends}.items()
    }
    with (
        dask.config.set({**tls, "distributed.comm.require-encryption": True}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None, silence_logs=50,
            protocol="tls://", security=Security(),
        ) as encrypted,
    ):  # fmt: skip
        address = encrypted.scheduler_address
        assert address.startswith("tls://")
        on_cluster.embed(edges, tmp_path / "rows", RANK, cluster=address, tol=1e-6)
    embedded(edges, tmp_path / "plain", 2)
    assert rows_in(tmp_path / "rows")[1].tobytes() == rows_in(tmp_path / "plain")[1].tobytes()


@pytest.mark.slow
def test_a_killed_worker_costs_a_part_of_the_time_and_none_of_the_result(edges, cluster, tmp_path):
    place, mark = tmp_path / "out", tmp_path / "killed"
    place.mkdir()
    tables = graph_tables(edges, connect=True)

    def work(group, place, mark):
        class Dying:
            rank, size = group.rank, group.size

            def exchange(self, parts):
                # When a second generation of checkpoints has begun.
                if self.rank == 1 and not mark.exists() and list(place.glob(f"{WORK}/checkpoints/*-1.npz")):
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return group.exchange(parts)

            def everyone(self, array):
                return self.exchange([array] * self.size)

        return solve(Dying(), place, RANK, 1e-6, 1.0, 0)

    with connected(cluster.scheduler_address) as client:
        on_workers(client, prepare, place / WORK, tables)
        found = on_workers(client, work, place, mark)
    assert mark.exists()
    embedded(edges, tmp_path / "undisturbed", 2)
    ids, rows = rows_in(place)
    others, expected = rows_in(tmp_path / "undisturbed")
    np.testing.assert_array_equal(ids, others)
    np.testing.assert_allclose(rows, expected, atol=1e-4 * np.abs(expected).max())
    assert max(found[0]["residuals"]) < 1e-6


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label_column": "kind"}, "label_column names a column of a table of labels; leave it out"),
        ({"id": "node"}, "id names a column of a table of labels or attributes"),
        ({"parallel": "sum"}, "parallel does nothing on a cluster"),
        ({"wieght": "w"}, "did you mean 'weight'"),
    ],
)
def test_columns_of_tables_that_are_not_read_are_refused(edges, columns, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        graph_tables(edges, **columns)


def test_a_run_goes_on_from_a_checkpoint_on_other_ranks(edges, tmp_path):
    tables, work = graph_tables(edges, connect=True), tmp_path / WORK
    in_threads(2, lambda group: prepare(group, work, tables))

    def pairs(group):
        shard = load_rows(group, work)[0].shard(group)
        return lowest_pairs(shard, RANK, 2e-3, 0, Checkpoints(shard, tmp_path / "kept"))[0]

    first = in_threads(2, pairs)[0]
    again = in_threads(3, pairs)[0]  # fewer products, the same pairs
    assert again.products < first.products / 2
    np.testing.assert_allclose(again.values, first.values, atol=1e-4)


@pytest.mark.slow
def test_a_folder_of_edges_is_embedded_by_one_call(graph, edges, cluster, tmp_path):
    done = on_cluster.embed(edges, tmp_path / "rows", RANK, cluster=cluster.scheduler_address)
    assert (done.nodes, done.workers, done.components, done.left_out) == (graph.shape[0], 2, 2, 3)
    assert done.edges == graph.nnz // 2 and max(done.residuals) <= 2e-3 and not done.doubts
    ids, rows = rows_in(tmp_path / "rows")
    assert ids.size == graph.shape[0] and not (tmp_path / "rows" / WORK).exists()
    np.testing.assert_array_equal(rows[:, -1], 1.0)
    assert "3 nodes outside of it left out" in done.report()
    with pytest.raises(InputError, match="such a graph is embedded without a cluster"):
        on_cluster.embed(edges, tmp_path / "many", 2000, cluster=cluster.scheduler_address)


def test_results_are_not_mixed_with_what_is_there(edges, tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"holds notes\.txt"):
        on_cluster.embed(edges, tmp_path, RANK, cluster="tcp://127.0.0.1:9")
    tables, place = graph_tables(edges, connect=True), tmp_path / "stopped"
    assert begun(place, tables, (8,)) == begun(place, tables, (8,))
    with pytest.raises(InputError, match="of other files or settings"):
        begun(place, tables, (9,))
