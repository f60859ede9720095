"""Parquet: columns with types of their own. A label is what the file says it is.

A few bytes can stand for gigabytes: pages are packed, and many rows name one long text of a dictionary, or
repeat the beginning of the text before. So the headers of the pages are read first. Decoders obey them, while
the sizes in the footer may be false; they are structs in Thrift's compact protocol.
"""

import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.memory import ROW, at_most, check, free
from querist.tables.arrow import kinds, pa, pq
from querist.tables.formats import BROKEN, Columns, Format, Origin, Vectors, Wanted, stem
from querist.tables.frames import frame_of, numbers_in
from querist.tables.names import vector_label

SMALL_BYTES, EXPANSION = 500_000_000, 1000
"""Bytes of memory that any file may take, and those per byte of a larger file: gzip packs no better."""

COST = 3.5
"""Bytes of memory for each byte of a table while it becomes nodes and edges; 3.3 were measured."""


def tables_in(path: Path, columns: Sequence[str] = (), rows: int = 1 << 16) -> Iterator[Any]:
    """The file as tables of at most `rows` rows, and as few as fit into a quarter of the free memory."""
    file = pq.ParquetFile(path)
    leaves = [file.metadata.schema.column(k) for k in range(file.metadata.num_columns)]
    wanted = tuple(f"{name}." for name in columns) or ("",)
    read = [k for k, leaf in enumerate(leaves) if f"{leaf.path}.".startswith(wanted)]
    with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for number in range(file.num_row_groups):
            group, room, at_once = file.metadata.row_group(number), free() / 4, rows
            bounds = [_bounds(data, group.column(k), leaves[k]) for k in read if group.num_rows]
            if sum(whole for whole, _ in bounds) > room:
                row = sum(row for _, row in bounds)
                check(4 * row, f"a row of {path.name}")
                at_once = min(rows, int(room / row))
            for batch in file.iter_batches(at_once, row_groups=[number], columns=list(columns) or None):
                yield _plain(pa.table(batch), path.name)


def _plain(table: Any, name: str) -> Any:
    """The table with texts in place of dictionaries, so that its size is what its values take."""
    for at, field in enumerate(table.schema):
        if kinds.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
        elif "dictionary<" in str(field.type):
            raise InputError(f"{name}: column {field.name!r} is {field.type}; store plain values in it")
    return table


def _bounds(data: Any, column: Any, kind: Any) -> tuple[int, int]:
    """Bytes that a column takes at most: in the row group, and in one of its rows."""
    at = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    end, whole, row, longest = at + column.total_compressed_size, 0, 0, 0
    while at < end:
        page, at = _fields(data, at)
        size, packed = page[2], page[3]
        if 7 in page:  # a dictionary
            text = kind.physical_type == "BYTE_ARRAY"
            longest = _longest(data[at : at + packed], size, column.compression) if text else kind.length
        elif 5 in page or 8 in page:  # values, in a page of version 1 or 2
            values, encoding = (page[5][1], page[5][2]) if 5 in page else (page[8][1], page[8][4])
            # By numbers in the dictionary (2, 8), by what differs from the text before (7), or as they are;
            # 9 bytes are a number, or what a text takes beside its letters.
            repeated = longest if encoding in (2, 8) else size if encoding == 7 else 0
            whole, row = whole + values * (repeated + 9), max(row, repeated or size)
        whole, at = whole + size, at + packed
    return whole, whole if kind.max_repetition_level else row + 9


def _longest(packed: bytes, size: int, codec: str) -> int:
    """Bytes of the longest text in a dictionary, or of all of it if it cannot be told, or not in a moment."""
    longest, at, length = 0, 0, struct.Struct("<I").unpack_from
    try:
        if codec != "UNCOMPRESSED":
            name = codec.lower().replace("lz4", "lz4_raw")
            packed = pa.decompress(packed, min(size, 1 << 26), name, asbytes=True)
        while at < size:
            (own,) = length(packed, at)
            longest = max(longest, own)
            at += 4 + own
    except (*BROKEN, struct.error, pa.ArrowException):
        return size
    return longest


def _fields(data: Any, at: int) -> tuple[dict[int, Any], int]:
    """The numbers and structs in a struct of Thrift by their fields, and where it ends."""
    fields, field = dict[int, Any](), 0
    while head := data[at]:
        at, field, kind = at + 1, field + (head >> 4), head & 15
        if kind == 12:  # a struct
            fields[field], at = _fields(data, at)
        elif kind in (5, 6, 8):  # whole numbers, text
            value = shift = 0
            while (byte := data[at]) > 127 and shift < 63:
                value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            value, at = value | byte << shift, at + 1
            fields[field], at = value >> 1, at + (value if kind == 8 else 0)
        elif kind > 2 or head < 16:  # neither true nor false; or without the step to its field
            raise ValueError("a page has no header")
    return fields, at + 1


def _read(path: Path) -> Any:
    tables, need = [_plain(pq.read_schema(path).empty_table(), path.name)], 0.0
    most = max(SMALL_BYTES, EXPANSION * path.stat().st_size)
    advice = f"a parquet file may take 0.5 GB, or {EXPANSION:,} times its size; write it as .csv.gz"
    with at_most(most):
        for table in tables_in(path):
            tables.append(table)
            need += COST * table.nbytes + ROW * table.num_rows
            check(need, path.name, *([advice] if need > most else []))
    return pa.concat_tables(tables)


def _table(path: Path, wanted: Wanted) -> Columns:
    return Columns(_read(path), Origin(path.name))


def _vectors(path: Path, label: str | None) -> Vectors:
    return vectors_in(Columns(_read(path), Origin(path.name)), label, path)


def vectors_in(columns: Columns, label: str | None, path: Path) -> Vectors:
    """The vectors in a table: every column but that of the labels holds numbers."""
    table = columns.table
    if table.num_rows == 0 or table.num_columns < 2:
        raise InputError(
            f"{path}: {table.num_rows} rows, {table.num_columns} columns; give features and a label"
        )
    chosen = vector_label(table.column_names, label, path.name) or table.column_names[-1]
    frame = frame_of(table, path.name)
    X = [numbers_in(frame, name, columns.origin) for name in table.column_names if name != chosen]
    return Vectors(np.column_stack(X), table.column(chosen).to_pylist(), stem(path))


FORMAT = Format(endings=(".parquet",), begins=(b"PAR1",), table=_table, vectors=_vectors)
