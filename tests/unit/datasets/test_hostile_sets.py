"""Data sets that would take all memory, and pickles of strangers, are refused in our own words.

Each runs in a process of its own that may take 4 GB, so that a defect here ends as an error and not as a
machine without memory.
"""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits the memory of a process as Linux does"
)

RUN = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))
import pathlib, querist
try:
    {code}
except querist.InputError as error:
    print("refused:", error)
else:
    print("read")
"""

SOURCE = "querist.datasets.registry.ENTRIES['{}'].sources[{}].read([pathlib.Path(name) for name in {}])"


def run(code, folder):
    settings = {
        "QUERIST_DATA": str(folder),
        "QUERIST_CACHE": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(code=code)],
        env={**os.environ, **settings, "OPENBLAS_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_zeros_in_a_file_of_a_known_data_set(tmp_path):
    names = ["cora.content", "cora.cites"]
    for name in names:
        with (tmp_path / name).open("wb") as file:
            file.truncate(2 << 30)  # it takes no room on the disk
    assert "refused: cora.content needs about" in run(SOURCE.format("cora", 0, names), tmp_path)


@pytest.mark.slow
def test_a_class_for_nearly_every_node(tmp_path):
    code = "querist.label([(k, k + 1) for k in range(10_000)], {k: k % 9_999 for k in range(10_001)})"
    assert "refused: labelling 10,001 nodes with 9,999 classes needs about" in run(code, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("indptr", ["sound", "wild"])
def test_a_pickle_that_nobody_knows(indptr, tmp_path):
    matrix = sp.random(30, 20, 0.3, format="csr", random_state=0)
    if indptr == "wild":
        matrix.indptr[5] = 2**30
    rest = sp.random(10, 20, 0.3, format="csr", random_state=1)
    parts = {"allx": matrix, "x": matrix, "tx": rest, "ally": np.eye(3)[np.arange(30) % 3]}
    parts |= {"y": parts["ally"], "ty": np.eye(3)[np.arange(10) % 3]}
    parts["graph"] = {k: [(k + 1) % 40] for k in range(40)}
    for name, part in parts.items():
        (tmp_path / f"ind.pubmed.{name}").write_bytes(pickle.dumps(part, protocol=2))
    (tmp_path / "ind.pubmed.test.index").write_text("\n".join(map(str, range(30, 40))) + "\n")
    names = [f"ind.pubmed.{part}" for part in ("allx", "ally", "tx", "ty", "graph", "test.index")]
    assert "refused: " in (said := run(SOURCE.format("pubmed", 0, names), tmp_path)) and "SHA-256" in said
