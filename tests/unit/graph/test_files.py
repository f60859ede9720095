"""Archives: what they may hold, and every way in which a file can be wrong."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph import as_graph

EDGES = np.array([[0, 1], [1, 2]], dtype=np.int32)
FEATURES = sp.csr_array(np.array([[1, 0], [0, 2], [0, 0], [3, 3]], dtype=np.float32))


def write(path, **arrays):
    np.savez_compressed(path, **{"edges": EDGES, **arrays})
    return path


def parts(prefix, matrix):
    return {
        f"{prefix}_indices": matrix.indices,
        f"{prefix}_indptr": matrix.indptr,
        f"{prefix}_shape": np.array(matrix.shape),
    }


def test_a_full_archive(tmp_path):
    path = write(
        tmp_path / "town.npz",
        weights=np.array([0.5, 2], dtype=np.float32),
        labels=np.array([1, -1, 0, 1], dtype=np.int16),
        class_names=np.array(["rain", "sun", "snow"]),
        node_names=np.array(["a", "b", "c", "d"]),
        features_data=FEATURES.data,
        **parts("features", FEATURES),
        season=np.array([0, 1, 1, -1], dtype=np.int16),
        season_names=np.array(["dry", "wet"]),
        length=np.array([3.0, 4.0]),
    )
    graph = as_graph(path)
    assert graph.nodes == ("a", "b", "c", "d")
    assert graph.labels == ["sun", None, "rain", "sun"]
    assert graph.classes == ("rain", "sun", "snow")
    assert graph.codes.tolist() == [1, -1, 0, 1]
    assert graph.adjacency.toarray()[1].tolist() == [0.5, 0, 2, 0]
    np.testing.assert_array_equal(graph.attributes.toarray(), FEATURES.toarray())
    assert graph.describe() == "town: 4 nodes, 2 edges, 2 attributes, 3 classes, 2 components"

    other = as_graph(path, labels="season", weights="length", name="city")
    assert other.labels == ["dry", "wet", "wet", None]
    assert other.adjacency.data.max() == 4
    assert other.name == "city"
    with pytest.raises(InputError, match=r"town\.npz: no array 'colour'; there are edges, weights"):
        as_graph(path, labels="colour")


def test_several_labels_a_node(tmp_path):
    Y = sp.csr_array(np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]]))
    path = write(tmp_path / "m.npz", class_names=np.array(["p", "q", "r"]), **parts("labels", Y))
    graph = as_graph(path)
    np.testing.assert_array_equal(graph.known.indicator, Y.toarray())
    assert graph.classes == ("p", "q", "r")
    assert graph.labels == [("p", "q"), None, ("r",)]


def test_the_number_of_nodes_without_labels(tmp_path):
    path = write(tmp_path / "bare.npz")
    inferred = as_graph(path)
    assert inferred.n_nodes == 3
    assert "number of nodes taken from the largest row" in inferred.notes
    assert as_graph(path, nodes=6).n_nodes == 6


def test_node_names_that_repeat_are_no_ids(tmp_path):
    graph = as_graph(write(tmp_path / "film.npz", node_names=np.array(["King Kong", "King Kong", "M"])))
    assert graph.nodes == (0, 1, 2)
    assert "node names are not distinct, so ids are row numbers" in graph.notes


def truncated(path):
    write(path, labels=np.zeros(50_000, dtype=np.int16))
    path.write_bytes(path.read_bytes()[:-200])


def flipped(path):
    write(path, filler=np.random.default_rng(0).random(5000))
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    path.write_bytes(content)


BROKEN = {
    "truncated": ("g.npz", truncated, "damaged or cut short"),
    "bytes changed": ("g.npz", flipped, "damaged or cut short"),
    "no archive": ("g.npz", lambda p: p.write_text("hello"), "damaged or cut short"),
    "empty file": ("g.npz", lambda p: p.write_bytes(b""), "damaged or cut short"),
    "an .npy": ("g.npz", lambda p: np.save(p.open("wb"), EDGES), "damaged or cut short"),
    "pickled": ("g.npz", lambda p: np.savez(p, edges=np.array([{}, 1], dtype=object)), "pickled objects"),
    "vectors": ("g.npz", lambda p: np.savez(p, X=np.eye(3), y=np.ones(3)), "from_points"),
    "sparse vectors": ("g.npz", lambda p: np.savez(p, X_data=np.ones(3), y=np.ones(3)), "from_points"),
    "no edges": ("g.npz", lambda p: np.savez(p, links=EDGES), "no array 'edges'; there are links"),
    "edges of shape (2, m)": ("g.npz", lambda p: write(p, edges=np.zeros((2, 9), int)), "transpose"),
    "half an edge": ("g.npz", lambda p: write(p, edges=EDGES + 0.5), "whole row numbers"),
    "out of range": ("g.npz", lambda p: write(p, labels=np.zeros(2, int)), r"edge 1 is \(1, 2\).*2 nodes"),
    "code too large": (
        "g.npz",
        lambda p: write(p, labels=np.array([0, 1, 2]), class_names=np.array(["p", "q"])),
        "labels holds 0..2 for 2 classes",
    ),
    "code too small": ("g.npz", lambda p: write(p, labels=np.array([0, -2, 1])), "holds -2..1"),
    "NaN weight": (
        "g.npz",
        lambda p: write(p, weights=np.array([1, np.nan])),
        "1 weight of 2 NaN or infinite",
    ),
    "too few weights": ("g.npz", lambda p: write(p, weights=np.ones(1)), "for 2 edges"),
    "features of another size": (
        "g.npz",
        lambda p: write(
            p, labels=np.zeros(3, int), features_data=FEATURES.data, **parts("features", FEATURES)
        ),
        r"features_\* has 4 rows for 3 nodes",
    ),
    "features out of range": (
        "g.npz",
        lambda p: write(
            p,
            **{
                **parts("features", FEATURES),
                "features_indices": FEATURES.indices + 7,
                "features_data": FEATURES.data,
            },
        ),
        r"g\.npz, features_\*: a csr matrix",
    ),
    "csv without a second column": (
        "g.csv",
        lambda p: p.write_text("source\na\n"),
        "column 'source' but no 'target'",
    ),
    "csv of one column": ("g.csv", lambda p: p.write_text("x\na\n"), "1 column"),
    "csv with ragged rows": (
        "g.csv",
        lambda p: p.write_text("source,target\na,b\nc\n"),
        r"g\.csv, line 3: 1 field where 2 are needed: 'c'; correct or remove the line",
    ),
    "csv with an empty id": (
        "g.csv",
        lambda p: p.write_text("source,target\na,b\n,c\n"),
        "empty in 1 of 2 rows, the first line 3",
    ),
    "csv with words as weights": (
        "g.csv",
        lambda p: p.write_text("source,target,weight\na,b,heavy\n"),
        r"'weight' is String, not numbers \(line 2 holds 'heavy'\)",
    ),
    "csv with NaN": (
        "g.csv",
        lambda p: p.write_text("source,target,weight\na,b,2\na,c,nan\n"),
        "line 3, column 'weight': 1 weight of 2 NaN or infinite",
    ),
    "csv with inf": ("g.csv", lambda p: p.write_text("source,target,weight\na,b,inf\n"), "NaN or infinite"),
    "csv with a column twice": ("g.csv", lambda p: p.write_text("source,source\na,b\n"), "not distinct"),
    "csv that is empty": ("g.csv", lambda p: p.write_bytes(b""), "first line is empty"),
    "csv that is binary": ("g.csv", lambda p: p.write_bytes(bytes(range(128, 256))), "line 1: bytes that"),
    "gz that is none": ("g.csv.gz", lambda p: p.write_text("source,target\na,b\n"), "damaged or cut short"),
    "parquet that is none": ("g.parquet", lambda p: p.write_text("hello"), "damaged or cut short"),
    "another extension": (
        "g.doc",
        lambda p: p.write_text("hello"),
        r"must end in \.npz, \.graphml, .*\.csv",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_file_is_refused_by_name(case, tmp_path):
    name, spoil, message = BROKEN[case]
    spoil(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        as_graph(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.npz", tmp_path, "cora"):
        with pytest.raises(InputError, match="no such file"):
            as_graph(path)


def test_a_bad_node_table_is_refused_by_name(tmp_path):
    nodes = tmp_path / "nodes.csv"
    for text, message in [
        ("id,label\na,1\n\nb,2\na,2\n", "nodes.csv: node 'a' has two rows that differ, line 2 and line 5"),
        ("id,label\na,1\n,2\n", "nodes.csv: column 'id' is empty"),
        ("id,label\n1,1\n2,2\n", "2 nodes of the edges, e.g. 'a', not among the 2 given"),
    ]:
        nodes.write_text(text)
        with pytest.raises(InputError, match=message):
            as_graph([("a", "b")], nodes=nodes)
    with pytest.raises(InputError, match=r"must end in \.csv"):
        as_graph([("a", "b")], nodes=write(tmp_path / "g.npz"))


DATA = Path(os.environ.get("QUERIST_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.skipif(not (DATA / "MANIFEST.json").exists(), reason="needs the data sets: set QUERIST_DATA")
@pytest.mark.parametrize("name", ["cora", "email_enron", "imdb_multilabel", "mnist_knn10"])
def test_real_archives_have_the_counts_of_their_manifest(name):
    counts = json.loads((DATA / "MANIFEST.json").read_text())["files"][f"{name}.npz"]["counts"]
    graph = as_graph(DATA / f"{name}.npz")
    assert (graph.n_nodes, graph.n_edges) == (counts["nodes"], counts["edges"])
    largest = graph.largest_component()
    assert largest.n_nodes == counts["largest_component_nodes"]
    assert largest.n_edges == counts["largest_component_edges"]


def test_a_large_table_of_names_takes_seconds_at_most(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array([f"node {k}" for k in range(20_000)])
    pd.DataFrame({"source": rng.choice(names, 100_000), "target": rng.choice(names, 100_000)}).to_parquet(
        tmp_path / "e.parquet"
    )
    assert as_graph(tmp_path / "e.parquet").nodes == tuple(sorted(names.tolist()))
