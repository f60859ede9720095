"""Labels on shards: smoothed rows as in one process, and the same on any number of ranks."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from thread_ranks import in_threads

from querist import cluster as on_cluster
from querist.cluster.labelling import label_rows, smoothed_triples, word_features
from querist.cluster.store import WORK
from querist.cluster.tables import graph_tables, prepare
from querist.embedding.kinds.diffusion import singular_triples, smoothed_products, smoothing, weighted
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.rows import RowSettings
from querist.progress import silent


@pytest.mark.slow
def test_smoothed_rows_are_those_of_one_process(graph, problem, rows_of):
    counts = problem[1]
    settings, rank, sweeps = RowSettings("attributes", 10, 0.9), 5, 14
    X = weighted(counts, "unit")
    alone = singular_triples(
        smoothed_products(smoothing(Graph(graph)), X, 10, 0.9), rank,
        tol=0.0, sweeps=sweeps, seed=0, progress=silent,
    )  # fmt: skip

    def work(group):
        rows = rows_of(graph, group)
        own = rows.names
        shard = rows.shard(group)
        features = word_features(shard, weighted(counts[own], "unit"), np.float64)
        return smoothed_triples(shard, features, settings, rank, sweeps=sweeps, tol=0.0, dtype=np.float64)

    expected = None
    for size in (1, 2, 3):
        parts = in_threads(size, work)
        left = np.concatenate([part.left for part in parts])[:, :rank]
        expected = left if expected is None else expected
        np.testing.assert_array_equal(left, expected)
        np.testing.assert_allclose(parts[0].values[:rank], alone.values[:rank], rtol=1e-12)
        np.testing.assert_array_equal(parts[0].residuals, parts[-1].residuals)
        np.testing.assert_allclose(parts[0].residuals, alone.residuals, atol=1e-12)
        signs = np.sign((left * alone.left[:, :rank]).sum(axis=0))
        np.testing.assert_allclose(left * signs, alone.left[:, :rank], atol=1e-12)


def answers(folder):
    table = pq.read_table(folder).sort_by("node")
    order = np.argsort([int(name[1:]) for name in table["node"].to_pylist()])
    return np.array(table["label"].to_pylist())[order], np.asarray(table["probability"])[order]


@pytest.mark.slow
def test_labels_of_folders_of_tables(graph, problem, folders, cluster, tmp_path):
    truth, _, seeds = problem
    others = np.setdiff1d(np.arange(graph.shape[0]), seeds)
    right = np.array([f"c{k}" for k in truth])
    places, known = (folders / "edges", folders / "labels"), {"cluster": cluster.scheduler_address}
    plain = on_cluster.label(*places, tmp_path / "plain", **known)
    found, sure = answers(tmp_path / "plain")
    assert (found == right)[seeds].all() and (sure[seeds] == 1).all()
    assert (plain.nodes, plain.labels, plain.lost, plain.reached) == (graph.shape[0], 150, 1, graph.shape[0])
    assert (found == right)[others].mean() > 0.5
    low, high = plain.interval
    assert low - 0.05 < (found == right)[others].mean() < high + 0.05
    assert f"{plain.accuracy:.3f}" in plain.report()


@pytest.mark.slow
def test_labels_have_the_same_bits_on_any_number_of_ranks(folders, tmp_path):
    tables = graph_tables(folders / "edges", folders / "labels", folders / "attributes")
    found = []
    for size in (1, 3):
        place = tmp_path / str(size)
        place.mkdir()
        in_threads(size, lambda group, place=place: prepare(group, place / WORK, tables))
        in_threads(size, lambda group, place=place: label_rows(group, place, 0))
        found.append(answers(place))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_attributes_need_their_columns(folders, tmp_path):
    places = [folders / table for table in ("edges", "labels")]
    with pytest.raises(InputError, match="node, attribute, count"):
        on_cluster.label(*places, tmp_path / "out", attributes=folders / "edges", cluster="tcp://127.0.0.1:9")
