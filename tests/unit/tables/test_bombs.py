"""Small files that stand for much: each is refused in a sentence before it takes the memory."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.tables.readers.lines import Lines

ROOM = 800_000_000
"""Bytes that each file may take in the process that reads it."""

LETTERS = [letter * 100_000 for letter in "abc"]


def named(rows: int) -> pa.Table:
    """Many rows that name three long texts."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32) % 3), pa.array(LETTERS))
    return pa.table({"source": texts, "target": texts})


def packed(table: pa.Table, times: int, **options: Any) -> bytes:
    file = io.BytesIO()
    options = {"compression": "zstd", "store_schema": False, **options}
    with pq.ParquetWriter(file, table.schema, **options) as writer:
        for _ in range(times):
            writer.write_table(table)
    return file.getvalue()


def number(value: int) -> bytes:
    """A signed number in Thrift's compact protocol."""
    value, found = 2 * value, b""
    while value > 127:
        value, found = value >> 7, found + bytes([value & 127 | 128])
    return found + bytes([value])


def lying(content: bytes) -> bytes:
    """The same file, whose footer says that every column unpacks to almost nothing."""
    about = pq.read_metadata(io.BytesIO(content))
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    pages, footer = content[:end], content[end:]
    for group in map(about.row_group, range(about.num_row_groups)):
        for size in (*(group.column(k).total_uncompressed_size for k in (0, 1)), group.total_byte_size):
            true = b"\x16" + number(size)
            false = bytes([*(128 | 5 for _ in true[2:]), 1])
            footer = footer.replace(true, b"\x16" + false, 1)
    assert pq.read_metadata(io.BytesIO(pages + footer)).row_group(0).total_byte_size < 1000
    return pages + footer


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def graphml(before: str = "", keys: str = "", nodes: int = 2, edges: str = "") -> bytes:
    own = "".join(f'<node id="{k}"/>' for k in range(nodes))
    return f"{before}<graphml>{keys}<graph>{own}{edges}</graph></graphml>".encode()


def head(columns: int) -> bytes:
    """The first line of a table of so many columns."""
    return ",".join(["source", "target", *map(str, range(2, columns))]).encode() + b"\n"


def bombs() -> dict[str, bytes]:
    text = pa.table(dict.fromkeys(("source", "target"), ["a" * 50_000] * 1000))
    prefixes = dict.fromkeys(text.column_names, "DELTA_BYTE_ARRAY")
    plain = packed(text, 8, use_dictionary=False, data_page_size=1 << 28)
    whole = pa.table(dict.fromkeys(("source", "target"), np.zeros(1_000_000, np.int64)))
    items = pa.ListArray.from_arrays(pa.array([0, 50_000], pa.int32()), named(50_000)["source"].chunk(0))
    key = '<key id="{0}" for="node" attr.name="{0}" attr.type="string">{1}</key>'
    letters, faces, lines = "a" * 500_000, "\U0001f600" * 20_000, gzip.compress(b"1,2\n" * 1_000_000)
    spaces = gzip.compress(b" " * 10_000_000)
    thousand = b"1," * 999 + b"1\n"
    return {
        "dictionary.parquet": packed(named(20_000), 10),
        "categories.parquet": packed(named(20_000), 10, store_schema=True),
        "lists.parquet": packed(pa.table({"source": items, "target": items}), 1),
        "prefixes.parquet": packed(text, 8, use_dictionary=False, column_encoding=prefixes),
        "pages.parquet": plain,
        "false.parquet": lying(plain),
        "runs.parquet": packed(whole, 20),
        "lines.csv.gz": lines * 4,
        "line.csv.gz": gzip.compress(b"a" * 10_000_000) * 50,
        "columns.csv.gz": gzip.compress(head(100_000) + (b"1," * 99_999 + b"1\n") * 60),
        "numbers.csv.gz": gzip.compress(head(1000)) + gzip.compress(thousand * 1000) * 100,
        "spaces.graphml.gz": spaces * 25,
        "default.graphml": graphml(keys=key.format("x", f"<default>{letters}</default>"), nodes=10_000),
        "faces.graphml": graphml(keys=key.format("x", f"<default>{faces}</default>"), nodes=10_000),
        "keys.graphml": graphml(keys="".join(key.format(f"k{k}", "") for k in range(5000)), nodes=40_000),
        "spaces.jsonl.gz": spaces * 25,
        "pairs.npz": npz(edges=np.zeros((20_000_000, 2), np.int8)),
        "diagonals.npz": npz(format=np.array("dia"), shape=[10**9] * 2, offsets=[1], data=np.ones((1, 5))),
        "vectors.npz": npz(X=np.zeros((100_000, 1000), np.int8), y=np.zeros(100_000, np.int8)),
    }


READ = """
import resource, sys
from pathlib import Path
import querist
from querist.datasets import load_graph, load_vectors
import narwhals, pyarrow.csv, pyarrow.parquet

def used():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

querist.as_graph([("a", "b")])
for name in sys.argv[2:]:
    resource.setrlimit(resource.RLIMIT_AS, (used() + int(sys.argv[1]), resource.RLIM_INFINITY))
    vectors = name in ("vectors.npz", "spaces.jsonl.gz")
    try:
        load_vectors(name) if vectors else load_graph(name)
        said = "nothing"
    except MemoryError as error:
        said = f"{type(error).__name__} {error}"
    except querist.errors.QueristError as error:
        said = str(error)
    print(name, said.replace("\\n", " "), sep="\\t", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux")
def test_small_files_take_no_more_memory_than_there_is(tmp_path: Path) -> None:
    files = bombs()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        assert len(content) < 2_500_000
    names = list(files)
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(ROOM), *names],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    said = dict(line.split("\t") for line in ran.stdout.splitlines())
    assert list(said) == names, ran.stderr
    odd = {name: text for name, text in said.items() if "GB of memory, and" not in text}
    assert not odd


PEAK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (9 * 10**9, resource.RLIM_INFINITY))
from starlette.testclient import TestClient
from querist.asking.store.sqlite import SqliteStore
from querist.datasets import load_graph
from querist.errors import InputError
from querist.serve.app import make_app
from querist.serve.server import CampaignServer

server = CampaignServer(SqliteStore("store"))
token = {"Authorization": f"Bearer {server.gate.invite(None, 'manager')[1]}"}
with open("small.parquet", "rb") as file, TestClient(make_app(server)) as client:
    answer = client.post("/v1/campaigns/files", headers=token, files={"edges": file}, data={"classes": "a,b"})
print(answer.status_code, answer.text)
try:
    print(load_graph("small.parquet"))
except InputError as error:
    print(error)
with open("/proc/self/status") as status:  # ru_maxrss would begin with that of the parent
    print(1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_small_parquet_takes_little_of_much_memory(tmp_path: Path) -> None:
    texts = pa.array([letter * 10_000 for letter in "abc"]).take(pa.array(np.arange(20_000) % 3))
    (tmp_path / "small.parquet").write_bytes(packed(pa.table({"source": texts, "target": texts}), 5))
    command = [sys.executable, "-c", PEAK]
    ran = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    uploaded, loaded, peak = ran.stdout.splitlines()
    assert uploaded.startswith("413 ") and "0.5 GB, or 1,000 times its size" in uploaded
    assert "small.parquet needs about" in loaded
    assert int(peak) < 1_000_000_000, "Limits.memory of an upload is 5 GB"


def test_a_far_feature_makes_no_names_for_those_before_it() -> None:
    lines = Lines()
    (block,) = lines.blocks(["1 1000000:2.5"])
    assert block.X.shape == (1, 1_000_000)
    assert not lines.features
