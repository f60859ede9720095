"""Source formats: small files by hand, and the real sets' content checksums."""

import collections
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist.datasets.convert import Arrays, content_sha256, linqs, planetoid
from querist.datasets.registry import ENTRIES
from querist.errors import InputError

CONTENT = b"p10\t1\t0\t1\tTheory\np2\t0\t1\t0\tNeural\nx-3\t0\t0\t0\tTheory\np1\t1\t1\t1\tNeural\n"
CITES = b"p1\tp2\np2\tp1\np10\tp1\np10\tp10\nghost\tp2\n"


def write(folder: Path, content: bytes, cites: bytes) -> list[Path]:
    paths = [folder / "toy.content", folder / "toy.cites"]
    paths[0].write_bytes(content)
    paths[1].write_bytes(cites)
    return paths


def test_linqs_text(tmp_path: Path) -> None:
    arrays = linqs(write(tmp_path, CONTENT, CITES))
    assert arrays["node_names"].tolist() == ["p1", "p10", "p2", "x-3"]
    assert arrays["class_names"].tolist() == ["Neural", "Theory"]
    assert arrays["labels"].tolist() == [0, 1, 0, 1]
    assert arrays["edges"].tolist() == [[0, 1], [0, 2]]
    X = sp.csr_array(tuple(arrays[f"features_{part}"] for part in ("data", "indices", "indptr")))
    X.resize(tuple(arrays["features_shape"]))
    assert X.toarray().tolist() == [[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0]]


def test_linqs_says_the_same_in_any_line_order_and_line_ends(tmp_path: Path) -> None:
    expected = content_sha256(linqs(write(tmp_path, CONTENT, CITES)))
    backwards = b"\n".join(CONTENT.splitlines()[::-1])
    assert content_sha256(linqs(write(tmp_path, backwards, CITES))) == expected
    windows = CONTENT.replace(b"\n", b"\r\n"), CITES.replace(b"\n", b"\r\n")
    assert content_sha256(linqs(write(tmp_path, *windows))) == expected


@pytest.mark.parametrize(
    "content",
    [b"", b"p1\n", b"p1\t1\t2\tA\n", b"p1\t1 0\tA\n", b"p1\t1\t\t0\tA\n", b"p1\t1\tA\np2\t1\t0\tA\n"],
)
def test_linqs_text_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError):
        linqs(write(tmp_path, content, CITES))


PARTS = ("allx", "ally", "tx", "ty", "graph", "test.index")


def python2(value: Any) -> bytes:
    """A pickle that names its classes as the Planetoid files do."""
    data = pickle.dumps(value, protocol=3)
    for new, old in (
        ("scipy.sparse._csr", "scipy.sparse.csr"),
        ("numpy._core.multiarray", "numpy.core.multiarray"),
    ):
        data = data.replace(f"c{new}\n".encode(), f"c{old}\n".encode())
    return data


def planetoid_files(folder: Path, stem: str = "toy", **changes: bytes) -> list[Path]:
    neighbours = collections.defaultdict(list, {0: [1, 4, 0], 1: [0, 0], 2: [3], 4: [0], 3: [2]})
    parts = {
        "allx": python2(sp.csr_matrix(np.array([[0.0, 0.5], [1.0, 0.0], [0.0, 0.0]]))),
        "ally": python2(np.eye(3, dtype=np.int32)),
        "tx": python2(sp.csr_matrix(np.array([[0.0, 4.0], [0.0, 3.0]]))),
        "ty": python2(np.array([[0, 1, 0], [0, 0, 1]], dtype=np.int32)),
        "graph": python2(neighbours),
        "test.index": b"4\n3\n",
    } | changes
    paths = [folder / f"ind.{stem}.{part}" for part in PARTS]
    for path, part in zip(paths, PARTS, strict=True):
        path.write_bytes(parts[part])
    return paths


def known(paths: list[Path]) -> Arrays:
    """The graph in files whose checksums are known."""
    return planetoid(paths, [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])


def test_planetoid_puts_test_rows_where_the_index_says(tmp_path: Path) -> None:
    arrays = known(planetoid_files(tmp_path))
    assert arrays["edges"].tolist() == [[0, 1], [0, 4], [2, 3]]
    assert arrays["labels"].tolist() == [0, 1, 2, 2, 1]
    assert arrays["class_names"].tolist() == ["toy class 0", "toy class 1", "toy class 2"]
    assert arrays["features_data"].tolist() == [0.5, 1.0, 3.0, 4.0]
    assert arrays["features_indptr"].tolist() == [0, 1, 2, 2, 3, 4]


def test_planetoid_with_a_gap_in_the_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test.index"):
        known(planetoid_files(tmp_path, **{"test.index": b"5\n3\n"}))


class Evil:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("was-here",)


def test_a_pickle_may_name_arrays_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError, match="mkdir"):
        known(planetoid_files(tmp_path, graph=pickle.dumps(Evil())))
    assert not Path("was-here").exists()


def wild(rows: int, value: int) -> bytes:
    """A pickled matrix one of whose pointers leads far outside."""
    matrix = sp.csr_matrix(np.ones((rows, 2)))
    matrix.indptr[1] = value
    return python2(matrix)


WILD = [{"allx": wild(3, 2**30)}, {"allx": wild(3, -(2**30))}, {"tx": wild(2, 2**30)}]


@pytest.mark.slow
@pytest.mark.parametrize("changes", WILD)
def test_a_pickle_that_is_not_known_is_not_opened(changes: dict[str, bytes], tmp_path: Path) -> None:
    """In a process of its own: the pointers of a matrix can end it without a word."""
    paths = [path.name for path in planetoid_files(tmp_path, "pubmed", **changes)]
    read = "registry.ENTRIES['pubmed'].sources[0].read"
    code = f"from pathlib import Path; from querist.datasets import registry; {read}([*map(Path, {paths})])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "ind.pubmed.allx has the SHA-256" in ran.stderr and "as .npz" in ran.stderr


@pytest.mark.parametrize("changes", WILD)
def test_the_arrays_of_a_known_pickle_are_checked_too(changes: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ind\.toy\.(allx|tx): a csr matrix"):
        known(planetoid_files(tmp_path, **changes))


def test_every_part_must_be_known(tmp_path: Path) -> None:
    paths = planetoid_files(tmp_path)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    for path in paths:
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        with pytest.raises(InputError, match=f"{path.name} has the SHA-256"):
            planetoid(paths, digests)
        path.write_bytes(content)
    assert planetoid(paths, digests)["labels"].size == 5


def test_content_checksum_sees_content_and_not_types(tmp_path: Path) -> None:
    arrays = linqs(write(tmp_path, CONTENT, CITES))
    expected = content_sha256(arrays)
    wide = {key: a.astype(np.int64) if a.dtype.kind in "iu" else a for key, a in arrays.items()}
    assert content_sha256(wide) == expected
    for key in arrays:
        changed = arrays[key].copy()
        changed[0] = "other" if changed.dtype.kind == "U" else changed[0] + 1
        assert content_sha256({**arrays, key: changed}) != expected, key


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_entries_expect_what_the_real_sets_hold(
    name: str, needs: Callable[[str], Any], real_data: Path
) -> None:
    graph, entry = needs(name), ENTRIES[name]
    with np.load(real_data / f"{name}.npz") as arrays:
        assert content_sha256(arrays) == entry.content
    counts = (graph.n_nodes, graph.n_edges, graph.n_classes, graph.attributes.shape[1])
    assert counts == (entry.nodes, entry.edges, entry.classes, entry.attributes)
