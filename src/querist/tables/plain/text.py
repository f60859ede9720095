"""Text tables read and written as `pyarrow.csv` reads and writes them: the same columns, the same bytes.

A column becomes the first of these that all of its fields are: nothing, whole numbers, truth values, dates,
times, moments, numbers, text, bytes.
"""

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from querist.tables.plain.column import PlainColumn, array, number_of
from querist.tables.plain.kinds import (
    BINARY,
    BOOL,
    DATE32,
    FLOAT64,
    INT64,
    NULL,
    STRING,
    TIME32,
    ArrowInvalid,
    PlainKind,
    is_string,
    is_temporal,
    timestamp,
)
from querist.tables.plain.moments import moment_of
from querist.tables.plain.table import PlainTable

_TRUTH = {"1": True, "true": True, "TRUE": True, "True": True,
          "0": False, "false": False, "FALSE": False, "False": False}  # fmt: skip
_ORDER = (INT64, BOOL, DATE32, TIME32, timestamp("s"), timestamp("ns"), timestamp("s", "UTC"),
          timestamp("ns", "UTC"), FLOAT64, STRING)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    """The names of the columns, and how many lines come before the first row."""

    column_names: Sequence[str] | None = None
    skip_rows: int = 0


@dataclass(frozen=True)
class ParseOptions:
    """How the fields of a line are told apart; they may always hold line breaks within quotation marks."""

    delimiter: str = ","
    newlines_in_values: bool = False
    ignore_empty_lines: bool = True


@dataclass(frozen=True)
class ConvertOptions:
    """Columns whose kind is known; the other options have the values that this house gives them."""

    column_types: Mapping[str, PlainKind] = field(default_factory=dict)
    null_values: Sequence[str] = ("",)
    strings_can_be_null: bool = True
    quoted_strings_can_be_null: bool = True


@dataclass(frozen=True)
class WriteOptions:
    """How a table is written; `quoting_style` is "none" or "needed", which is around every text."""

    include_header: bool = True
    delimiter: str = ","
    quoting_style: str = "needed"


def read_csv(
    source: Path | IO[bytes],
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> PlainTable:
    """The table in a file, packed or not, or in bytes."""
    reading, parsing = read_options or ReadOptions(), parse_options or ParseOptions()
    kinds = (convert_options or ConvertOptions()).column_types
    csv.field_size_limit(2**31 - 1)
    if not isinstance(source, Path):
        return _table(source, reading, parsing, kinds)
    packed = source.name.lower().endswith(".gz")
    with cast(IO[bytes], gzip.open(source)) if packed else source.open("rb") as file:
        return _table(file, reading, parsing, kinds)


def _table(
    file: IO[bytes], reading: ReadOptions, parsing: ParseOptions, kinds: Mapping[str, PlainKind]
) -> PlainTable:
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        _skip(lines, reading.skip_rows)
        rows = csv.reader(lines, delimiter=parsing.delimiter)
        names = reading.column_names or next(rows, [])
        fields = list(_whole(rows, len(names), parsing.ignore_empty_lines))
    except csv.Error as error:
        raise ArrowInvalid(str(error)) from error
    finally:
        lines.detach()
    columns = zip(*fields, strict=True) if fields else [()] * len(names)
    return PlainTable(
        {name: _column(texts, kinds.get(name)) for name, texts in zip(names, columns, strict=True)}
    )


def _skip(lines: Iterator[str], count: int) -> None:
    for _ in range(count):
        if not next(lines, "").endswith(("\n", "\r")):
            raise ArrowInvalid("there is nothing below the header")


def _whole(rows: Iterator[list[str]], width: int, ignoring: bool) -> Iterator[list[str]]:
    """Rows with as many fields as there are columns."""
    for fields in rows:
        if not fields and ignoring:
            continue
        own = fields or [""]
        if len(own) != width:
            raise ArrowInvalid(f"expected {width} columns, got {len(own)}: {','.join(own)[:60]}")
        yield own


def _column(texts: Sequence[str], kind: PlainKind | None) -> PlainColumn:
    nulls = np.array([not text for text in texts], dtype=bool)
    if kind is None and nulls.all():
        return PlainColumn(np.full(len(texts), None, dtype=object), NULL, nulls)
    there = [(row, text) for row, text in enumerate(texts) if text]
    for wanted in _ORDER if kind is None else (kind,):
        data = _converted(there, len(texts), wanted)
        if data is not None:
            return PlainColumn(data, wanted, nulls)
    if kind is not None:
        raise ArrowInvalid(f"a field is no {kind}")
    raw = [text.encode("utf-8", "surrogateescape") if text else None for text in texts]
    return array(raw, BINARY)


def _converted(there: Sequence[tuple[int, str]], n: int, kind: PlainKind) -> Any:
    """The values of fields, None where one cannot be of this kind."""
    data = np.full(n, None if kind.dtype == object else 0, dtype=kind.dtype)
    for row, text in there:
        value = _value(text, kind)
        if value is None:
            return None
        data[row] = value
    return data


def _value(text: str, kind: PlainKind) -> Any:
    if kind == BOOL:
        return _TRUTH.get(text)
    if is_string(kind):
        return text if text.isascii() or text.isprintable() or _is_utf8(text) else None
    trimmed = text.strip(" \t")
    return moment_of(trimmed, kind) if is_temporal(kind) else number_of(trimmed, kind)


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= own <= "\udfff" for own in text)


def write_csv(table: PlainTable, file: IO[bytes], write_options: WriteOptions | None = None) -> None:
    """Write a table as text."""
    options = write_options or WriteOptions()
    special = set(f'{options.delimiter}"\r\n')
    columns = [_fields(table[name], options.quoting_style, special) for name in table.column_names]
    lines = map(options.delimiter.join, zip(*columns, strict=True))
    if options.include_header:
        file.write(options.delimiter.join(_marked(name) for name in table.column_names).encode() + b"\n")
    file.write("".join(f"{line}\n" for line in lines).encode())


def _fields(column: PlainColumn, quoting: str, special: set[str]) -> list[str]:
    if column.type == NULL:
        return [""] * len(column)
    texts = column.cast(STRING).to_pylist()
    if not column.type.family.endswith("string"):
        return ["" if text is None else text for text in texts]
    if quoting == "none":
        odd = next((text for text in texts if text is not None and special.intersection(text)), None)
        if odd is not None:
            raise ArrowInvalid(f"without quotation marks no field may hold {odd!r}")
        return ["" if text is None else text for text in texts]
    return ["" if text is None else _marked(text) for text in texts]


def _marked(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
