"""Files that no program of ours wrote: each ends in a graph, or in a sentence that names the file."""

import gzip
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import querist
from querist import InputError

EDGE = np.array([[0, 1]])


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def claimed(shape: tuple[int, ...], dtype: str = "<i8") -> bytes:
    """An archive whose `edges` claim a shape and have nothing."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        archive.writestr("edges.npy", member)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def graphml(data: str = "", kind: str = "long", before: str = "", name: str = "x") -> bytes:
    key = f'<key id="k" for="node" attr.name="{name}" attr.type="{kind}"/>'
    nodes = f'<node id="a"><data key="k">{data}</data></node><node id="b"/><edge source="a" target="b"/>'
    return f"{before}<graphml>{key}<graph>{nodes}</graph></graphml>".encode()


def saved_matrix(form: str, shape: Any = (2, 2), **parts: Any) -> bytes:
    return npz(format=np.array(form), shape=np.array(shape), data=np.ones(1), **parts)


FAR = pa.array([2**52, 0], pa.timestamp("s"))

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "GraphML in an encoding that is none": (
        ".graphml",
        graphml(before='<?xml version="1.0" encoding="XYZ"?>'),
        "encoding",
    ),
    "GraphML in many bytes a letter": (
        ".graphml",
        graphml(before='<?xml version="1.0" encoding="utf-7"?>'),
        "encoding",
    ),
    "GraphML in no text": (".graphml", graphml(before='<?xml version="1.0" encoding="rot13"?>'), "encoding"),
    "GraphML beyond 64 bits": (".graphml", graphml(str(10**30)), "must be long"),
    "GraphML of 5,000 digits": (".graphml", graphml("9" * 5000), r"9\.\.\."),
    "GraphML with entities": (".graphml", graphml(before='<!DOCTYPE g [<!ENTITY a "b">]>'), "ENTITY"),
    "GraphML with texts for every edge": (
        ".graphml",
        graphml(before='<!DOCTYPE g [<!ATTLIST edge source CDATA "a">]>'),
        "ATTLIST",
    ),
    "GraphML cut in gzip": (".graphml.gz", gzip.compress(graphml("1"))[:-12], "cannot be read"),
    "GraphML that is not packed": (".graphml.gz", graphml("1"), "cannot be read"),
    "edges of one value": (".npz", npz(edges=np.array(3)), "shape"),
    "edges of text": (".npz", npz(edges=np.array([["a", "b"]])), "edges are"),
    "complex edges": (".npz", npz(edges=np.array([[1j, 2]])), "edges are"),
    "edges of records": (".npz", npz(edges=np.zeros(3, dtype="i4,i4")), "edges are"),
    "edges beyond 63 bits": (".npz", npz(edges=np.array([[0, 2**63 + 5]], dtype=np.uint64)), "no row number"),
    "edges of 1e300": (".npz", npz(edges=np.array([[0, 1e300]])), "no row number"),
    "labels of one value": (".npz", npz(edges=EDGE, labels=np.array(1)), "one value each"),
    "10^12 empty labels": (".npz", npz(edges=EDGE, labels=np.zeros((10**12, 0))), "one value each"),
    "infinite labels": (".npz", npz(edges=EDGE, labels=np.array([np.inf, 1])), "inf is no class"),
    "a class number of 10^15": (".npz", npz(edges=EDGE, labels=np.array([10**15, 0])), "class number"),
    "a class number beyond 63 bits": (
        ".npz",
        npz(edges=EDGE, labels=np.array([2**64 - 1, 0], np.uint64)),
        "class number",
    ),
    "complex weights": (".npz", npz(edges=EDGE, weights=np.array([1j])), "not numbers"),
    "a NaN class": (
        ".npz",
        npz(edges=EDGE, labels=np.array([0, 1]), class_names=np.array([np.nan, 1])),
        "no class",
    ),
    "labels of 10^12 rows": (
        ".npz",
        npz(
            edges=EDGE,
            labels_shape=np.array([10**12, 2]),
            labels_indptr=np.array([0, 1, 1]),
            labels_indices=np.array([0]),
        ),
        "index pointer size",
    ),
    "labels of 10^12 columns": (
        ".npz",
        npz(
            edges=EDGE,
            labels_shape=np.array([2, 10**12]),
            labels_indptr=np.array([0, 1, 1]),
            labels_indices=np.array([0]),
        ),
        "at most",
    ),
    "features of 10^12 columns": (
        ".npz",
        npz(
            edges=EDGE,
            features_shape=np.array([2, 10**12]),
            features_indptr=np.array([0, 1, 1]),
            features_indices=np.array([0]),
        ),
        "empty columns",
    ),
    "features that come back": (
        ".npz",
        npz(
            edges=EDGE,
            features_shape=np.array([2, 2]),
            features_indptr=np.array([0, 9, 0]),
            features_indices=np.array([0]),
        ),
        "features_",
    ),
    "a matrix of 10^15 rows": (
        ".npz",
        saved_matrix("coo", (10**15, 10**15), row=np.array([0]), col=np.array([1])),
        "row number",
    ),
    "a diagonal of 10^15 rows": (
        ".npz",
        saved_matrix("dia", (10**15, 10**15), offsets=np.array([1])),
        "make it again",
    ),
    "a matrix that points outside": (
        ".npz",
        saved_matrix("csr", indices=np.array([9]), indptr=np.array([0, 1, 1])),
        "indices 9",
    ),
    "a matrix that comes back": (
        ".npz",
        saved_matrix("csr", indices=np.array([1]), indptr=np.array([0, 9, 0])),
        "indptr",
    ),
    "a matrix of no format": (".npz", saved_matrix("abc"), "cannot be read"),
    "blocks of nothing": (
        ".npz",
        npz(
            format=np.array("bsr"),
            shape=np.array([2, 2]),
            data=np.ones((1, 0, 0)),
            indices=np.array([1]),
            indptr=np.array([0, 1, 1]),
        ),
        "cannot be read",
    ),
    "10^15 rows in a header": (".npz", claimed((10**15, 2)), "claims"),
    "10^12 texts without letters": (".npz", claimed((10**12, 2), "<U0"), "claims"),
    "rows below 0": (".npz", claimed((-5, 2)), "claims"),
    "no archive": (".npz", b"PK\x03\x04garbage", "cannot be read"),
    "lists as ids": (".parquet", parquet(source=[[1]], target=[[2]]), "not hashable"),
    "records as ids": (".parquet", parquet(source=[{"a": 1}], target=[{"a": 2}]), "not hashable"),
    "dates beyond the calendar": (".parquet", parquet(source=FAR, target=FAR), "Python has none"),
    "a cut parquet": (".parquet", parquet(source=[1], target=[2])[:-20], "cannot be read"),
    "CSV cut in gzip": (
        ".csv.gz",
        gzip.compress(b"source,target\n" + b"1,2\n" * 9999)[:-30],
        "cannot be read",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_graph_is_refused_by_name(case: str, tmp_path: Path) -> None:
    ending, content, said = REFUSED[case]
    path = tmp_path / f"town{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as found:
        querist.as_graph(path)
    assert len(str(found.value)) < 600


NODES = {
    "lists": parquet(node=[[1], [2]]),
    "records": parquet(node=[{"a": 1}, {"a": 2}]),
    "infinite labels": parquet(node=[1, 2], label=[float("inf"), 1.0]),
    "labels that are lists": parquet(node=[1, 2], label=[["a"], ["b"]]),
}


@pytest.mark.parametrize("case", NODES)
def test_a_table_of_nodes_is_refused(case: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.parquet"
    path.write_bytes(NODES[case])
    with pytest.raises(InputError):
        querist.as_graph([(1, 2)], nodes=path)


VECTORS: dict[str, tuple[str, bytes]] = {
    "a feature of 10^9": ("v.svm", b"1 1000000000:1\n"),
    "a feature of 10^30": ("v.svm", b"1 " + str(10**30).encode() + b":1\n"),
    "no text": ("v.svm", b"\xff\xfe\x00"),
    "deep JSON": ("v.jsonl", b'{"a":' * 100_000 + b"\n"),
    "a number of 400 digits": ("v.jsonl", b'{"a":1' + b"0" * 400 + b',"label":1}\n'),
    "a list for a label": ("v.jsonl", b'{"a":1,"label":[1]}\n'),
    "one label in all": ("v.npz", npz(X=np.eye(2), y=np.array(1))),
    "text for numbers": ("v.npz", npz(X=np.array([["1"]]), y=np.array([1]))),
    "complex numbers": ("v.npz", npz(X=np.array([[1j]]), y=np.array([1]))),
    "a list for a number": ("v.parquet", parquet(a=[[1.0]], label=[1])),
    "lists for labels": ("v.parquet", parquet(a=[1.0], label=[[1]])),
}


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_are_refused(case: str, tmp_path: Path) -> None:
    name, content = VECTORS[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        querist.load_vectors(path).describe()


def test_keys_named_alike_do_not_hide_the_nodes(tmp_path: Path) -> None:
    path = tmp_path / "town.graphml"
    path.write_bytes(
        graphml("7", name="node").replace(b'id="k"', b'id="node"').replace(b'key="k"', b'key="node"')
    )
    assert querist.as_graph(path).nodes == ("a", "b")


LITTLE = """
import resource, sys
import numpy as np, scipy.sparse as sp, querist
import pyarrow, pyarrow.parquet
before = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (before + 400 * 2**20,) * 2)
what = sys.argv[1]
big = np.array([[0, 10**9]])
calls = {
    "labels": lambda: querist.as_graph(big, labels=["a", "b"]),
    "labels by id": lambda: querist.as_graph(big, labels={0: "a"}),
    "attributes": lambda: querist.as_graph(big, attributes=np.eye(2)),
    "nodes": lambda: querist.as_graph([(0, 1)], nodes=10**12),
    "matrix": lambda: querist.as_graph(sp.coo_array(([1.0], ([0], [1])), shape=(10**12, 10**12))),
}
try:
    read = querist.load_vectors if ".svm" in what else querist.as_graph
    calls[what]() if what in calls else read(what)
except querist.InputError as problem:
    print("refused", problem)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        "labels",
        "labels by id",
        "attributes",
        "nodes",
        "matrix",
        "10^15 rows in a header",
        "labels of 10^12 rows",
        "labels of 10^12 columns",
        "10^12 empty labels",
        "a class number of 10^15",
        "a matrix of 10^15 rows",
        "a feature of 10^9",
    ],
)
def test_what_is_only_claimed_takes_no_memory(what: str, tmp_path: Path) -> None:
    """Within 400 MiB of what the libraries take."""
    given = what
    if what in REFUSED or what in VECTORS:
        ending, content = REFUSED[what][:2] if what in REFUSED else (".svm", VECTORS[what][1])
        path = tmp_path / f"claims{ending}"
        path.write_bytes(content)
        given = str(path)
    done = subprocess.run([sys.executable, "-c", LITTLE, given], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("refused"), done.stderr[-2000:]
