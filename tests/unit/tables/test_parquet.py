"""Parquet in the parts that fit into memory: every encoding and codec, and damaged headers of pages."""

import contextlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist import memory
from querist.errors import InputError
from querist.tables.readers.parquet import _read, tables_in

ROWS = 20_000
WORDS = [f"word{k % 97}" * (k % 5) for k in range(ROWS)]
TABLE = pa.table(
    {
        "number": np.arange(ROWS) % 1000,
        "small": pa.array(np.arange(ROWS) % 7, pa.uint8()),
        "text": [word or None for word in WORDS],
        "id": [f"ACC{k}" for k in range(ROWS)],
        "items": [WORDS[k : k + k % 4] for k in range(ROWS)],
        "fixed": pa.array([b"%08d" % k for k in range(ROWS)], pa.binary(8)),
        "none": pa.nulls(ROWS, pa.int64()),
        "kind": pa.array(WORDS).dictionary_encode(),
    }
)
DELTAS = {"number": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "id": "DELTA_LENGTH_BYTE_ARRAY"}


def without_dictionaries(table: pa.Table) -> pa.Table:
    return table.set_column(table.num_columns - 1, "kind", table["kind"].cast(pa.string()))


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["dictionary", "plain", "delta"])
def test_parquet_of_every_kind_is_read_as_arrow_reads_it(
    compression: str, version: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    options = {"compression": compression, "data_page_version": version, "row_group_size": 7000}
    encodings = DELTAS if encoding == "delta" else None
    pq.write_table(TABLE, path, use_dictionary=encoding == "dictionary", column_encoding=encodings, **options)
    for room in (1e12, 4e7):  # at once, and in many parts where the bound is far above what it takes
        with memory.at_most(room):
            found, true = _read(path), without_dictionaries(pq.read_table(path))
            assert found.schema == true.schema and found.to_pydict() == true.to_pydict()


@pytest.mark.parametrize("table", [without_dictionaries(TABLE.slice(0, 0)), pa.table({})])
def test_parquet_without_rows_is_read(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "none.parquet")
    assert _read(tmp_path / "none.parquet").equals(table)


def test_a_rare_long_text_of_a_dictionary_does_not_make_a_bomb(tmp_path: Path) -> None:
    notes = pa.table({"node": np.arange(200_000), "note": ["x" * 20_000, *[None] * 199_999]})
    pq.write_table(notes, tmp_path / "notes.parquet")
    with memory.at_most(200_000_000):
        assert _read(tmp_path / "notes.parquet").equals(notes)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_headers_of_pages_end_in_an_error_or_a_table(seed: int, tmp_path: Path) -> None:
    from querist.tables.files import read_table
    from querist.tables.formats import Wanted

    path, random = tmp_path / "table.parquet", np.random.default_rng(seed)
    pq.write_table(TABLE.select(["number", "text"]), path, data_page_size=5000)
    content = bytearray(path.read_bytes())
    for at in random.integers(4, len(content) - 2000, size=30):
        content[at] = random.integers(256)
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        read_table(path, Wanted(lambda columns: columns))


def test_a_column_with_a_point_in_its_name_is_read_in_parts_too(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50_000, np.int32)), pa.array(["a" * 5000]))
    pq.write_table(pa.table({"a.b": texts}), tmp_path / "point.parquet")
    with memory.at_most(4e7):
        first = next(tables_in(tmp_path / "point.parquet", ["a.b"]))
    assert first.num_rows < 10_000


def test_dictionaries_inside_lists_are_refused(tmp_path: Path) -> None:
    items = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array(["a", "b"]).dictionary_encode())
    pq.write_table(pa.table({"items": items}), tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=r"column 'items' is list<.*; store plain values in it"):
        _read(tmp_path / "lists.parquet")
