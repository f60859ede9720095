"""One name, one place: the order, the errors, the catalogue, and the real sets."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import querist
from querist import datasets
from querist.datasets import load_graph, load_vectors
from querist.datasets.bundled import BUILDERS, sbm
from querist.datasets.registry import Entry
from querist.datasets.resolve import catalogue, read_set
from querist.errors import DownloadError, InputError, UnknownNameError
from querist.graph import Graph
from querist.tables.formats import Vectors

Site: TypeAlias = Any  # the fixture in conftest.py
Register = Callable[[Entry], Entry]


def graph_file(path: Path, nodes: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    np.savez(path, edges=np.array([[0, 1]]), labels=np.arange(nodes) % 2, class_names=np.array(["a", "b"]))
    return path


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("QUERIST_DATA", str(folder))
    return folder


def source_of(name: str) -> str:
    return next(row.source for row in catalogue() if row.name == name)


def test_order_of_places(site: Site, registered: Register, data: Path, cache: Path) -> None:
    registered(site.entry())
    assert source_of("toy") == "download"
    assert load_graph("toy").name == "toy"
    assert load_graph("toy").n_nodes == 4
    assert len(site.asked) == 2  # the second load came from the cache
    assert source_of("toy") == "cache"
    graph_file(cache / "toy.npz", 5)
    assert load_graph("toy").n_nodes == 5
    graph_file(data / "toy.npz", 6)
    assert load_graph("toy").n_nodes == 6
    assert source_of("toy") == "QUERIST_DATA"
    graph_file(data / "karate.npz", 7)
    assert load_graph("karate").n_nodes == 34
    assert source_of("karate") == "bundled"


@pytest.mark.slow
def test_public_name_is_lazy_and_the_same() -> None:
    assert querist.load_graph is load_graph and querist.load_vectors is load_vectors
    assert not hasattr(querist, "load") and not hasattr(datasets, "load")
    heavy = "'sklearn', 'requests'"
    code = f"import querist.datasets, sys; sys.exit(any(m in sys.modules for m in ({heavy})))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_name(data: Path) -> None:
    graph_file(data / "mine.npz", 3)
    with pytest.raises(UnknownNameError, match=r"unknown data set 'coar'; did you mean 'cora'.*karate.*mine"):
        load_graph("coar")


def test_known_but_nowhere(data: Path, cache: Path) -> None:
    assert source_of("imdb_coactor") == "absent"
    with pytest.raises(DownloadError) as caught:
        load_graph("imdb_coactor")
    message = str(caught.value)
    for word in (
        str(data),
        str(cache),
        "no public download",
        "put imdb_coactor.npz in a directory",
        "QUERIST_DATA",
    ):
        assert word.lower() in message.lower()


@pytest.mark.slow
def test_download_that_fails_says_where_it_looked(site: Site, registered: Register, cache: Path) -> None:
    registered(site.entry())
    site.files.clear()
    with pytest.raises(DownloadError) as caught:
        load_graph("toy")
    message = str(caught.value)
    for word in ("QUERIST_DATA (not set)", str(cache), "404", f"{site.url}/toy.content"):
        assert word in message


def test_data_directory_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUERIST_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="not a directory; correct it or unset it"):
        load_graph("cora")
    assert load_graph("karate").n_nodes == 34


@pytest.mark.parametrize("damage", [b"", b"not a zip", None])
def test_damaged_local_file_is_named(data: Path, damage: bytes | None) -> None:
    path = graph_file(data / "mine.npz", 40)
    path.write_bytes(path.read_bytes()[:-90] if damage is None else damage)
    with pytest.raises(InputError, match=str(path)):
        load_graph("mine")
    assert next(row for row in catalogue() if row.name == "mine").kind == "damaged"


def test_flipped_byte_is_noticed(data: Path) -> None:
    path = graph_file(data / "mine.npz", 40)
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"edges.npy") + 200] ^= 1
    path.write_bytes(raw)
    with pytest.raises(InputError, match=str(path)):
        load_graph("mine")


def test_damaged_cache_is_fetched_again(site: Site, registered: Register, cache: Path) -> None:
    registered(site.entry())
    load_graph("toy")
    (cache / "toy.npz").write_bytes(b"half a fi")
    assert load_graph("toy").n_nodes == 4
    assert len(site.asked) == 4


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = graph_file(tmp_path / "some" / "net.npz", 3)
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cid\n")
    monkeypatch.chdir(tmp_path)
    for given in (path, str(path), "some/net.npz"):
        assert load_graph(given).describe().startswith("net: 3 nodes, 1 edge,")
    assert load_graph("edges.csv").nodes == ("ann", "bob", "cid")
    with pytest.raises(InputError, match=r"nothing.npz"):
        load_graph("nothing.npz")
    with pytest.raises(InputError, match="some/nothing"):
        load_graph("some/nothing")


def test_vectors_dense_and_sparse(data: Path) -> None:
    X = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    y = np.array([-1, 1, 1], dtype=np.int8)
    np.savez(data / "dense.npz", X=X, y=y)
    np.savez(
        data / "sparse.npz", X_data=[2.0, 1.0], X_indices=[1, 0], X_indptr=[0, 1, 2, 2], X_shape=[3, 2], y=y
    )
    for name in ("dense", "sparse"):
        found = load_vectors(name)
        assert isinstance(found, Vectors)
        np.testing.assert_array_equal(found.X if name == "dense" else found.X.toarray(), X)
        assert found.y.tolist() == [-1, 1, 1]
        assert found.classes == (-1, 1)
        row = next(row for row in catalogue() if row.name == name)
        assert (row.kind, row.nodes, row.edges, row.classes, row.attributes) == ("vectors", 3, None, 2, 2)
    assert load_vectors("sparse").describe() == "sparse: 3 vectors of 2 features, sparse, 2 classes"
    with pytest.raises(InputError, match="dense holds vectors, not a graph"):
        load_graph("dense")


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.ones((3, 2)), "y": np.ones(2)},
        {"X": np.full((2, 2), np.nan), "y": np.ones(2)},
        {"X": np.ones(2), "y": np.ones(2)},
        {"X_data": [1.0], "X_indices": [9], "X_indptr": [0, 1], "X_shape": [1, 2], "y": [1]},
        {"X_data": [1.0], "y": [1]},
        {"X": np.array([["a"]]), "y": [1]},
        {"X": np.array([[{}]], dtype=object), "y": [1]},
    ],
)
def test_bad_vectors_name_the_file(data: Path, arrays: dict[str, object]) -> None:
    np.savez(data / "bad.npz", **arrays)
    with pytest.raises(InputError, match=str(data / "bad.npz")):
        load_vectors("bad")


def test_catalogue_reads_headers_where_there_is_no_manifest(data: Path) -> None:
    several = {"labels_indptr": [0, 1, 2], "labels_indices": [0, 2], "labels_shape": [2, 3]}
    features = {
        "features_data": [1],
        "features_indices": [4],
        "features_indptr": [0, 1, 1],
        "features_shape": [2, 5],
    }
    edges = np.array([[0, 1]])
    np.savez(data / "several.npz", edges=edges, **several, **features)
    np.savez(data / "coded.npz", edges=edges, labels=[3, -1])
    np.savez(data / "bare.npz", edges=edges)
    rows = {row.name: (row.nodes, row.edges, row.classes, row.attributes) for row in catalogue()}
    assert rows["several"] == (2, 1, 3, 5)
    assert rows["coded"] == (2, 1, 4, 0)
    assert rows["bare"] == (None, 1, 0, 0)


def test_catalogue_without_any_directory(cache: Path) -> None:
    rows = catalogue()
    assert [row.name for row in rows] == sorted(row.name for row in rows)
    assert {row.source for row in rows} == {"bundled", "download", "absent"}
    assert all(row.about for row in rows)
    assert not cache.exists()


def test_a_data_set_of_a_plugin_is_what_its_function_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILDERS, "toy", lambda: sbm((3, 4), 1.0, 0.0))
    assert load_graph("toy").n_nodes == 7
    assert source_of("toy") == "plugin"


# -- the real sets --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cora", "cora: 2,708 nodes, 5,278 edges, 1,433 attributes, 7 classes, 78 components"),
        ("citeseer", "citeseer: 3,312 nodes, 4,536 edges, 3,703 attributes, 6 classes, 438 components"),
        ("pubmed", "pubmed: 19,717 nodes, 44,324 edges, 500 attributes, 3 classes, connected"),
        ("sonar", "sonar: 208 vectors of 60 features, 2 classes"),
    ],
)
def test_real_sets_are_described(name: str, line: str, needs: Callable[[str], Graph | Vectors]) -> None:
    assert needs(name).describe() == line


@pytest.mark.slow
def test_all_of_the_data_directory_loads_with_the_counts_of_the_catalogue(real_data: Path) -> None:
    for row in catalogue():
        if row.source != "QUERIST_DATA" or (row.edges or 0) > 60_000 or (row.nodes or 0) > 30_000:
            continue
        found = read_set(row.name)
        n = found.n_nodes if isinstance(found, Graph) else found.X.shape[0]
        # The headers of an unlabelled graph do not say its size.
        assert (row.nodes or n, row.classes) == (n, len(found.classes)), row.name
        if isinstance(found, Graph):
            assert found.n_edges == row.edges, row.name
