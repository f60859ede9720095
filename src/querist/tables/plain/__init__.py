"""Tables of text files without pyarrow: the part of it that this house calls, in NumPy and Python.

`tables/arrow.py` gives the one or the other under the same names, so nothing else knows which it is. The
columns, types and bytes are the same, which tests compare; pyarrow is quicker, and reads parquet.
"""

from collections.abc import Mapping
from typing import Any

from querist.tables.plain import functions as compute, kinds as types, text as csv
from querist.tables.plain.column import (
    PlainColumn,
    PlainScalar,
    array,
    chunked_array,
    concat_arrays,
)
from querist.tables.plain.kinds import (
    BOOL,
    FLOAT64,
    INT64,
    LARGE_STRING,
    STRING,
    ArrowException,
    ArrowInvalid,
    ArrowNotImplementedError,
    ArrowTypeError,
    PlainKind,
    list_,
    time64,
    timestamp,
)
from querist.tables.plain.table import PlainFrame, PlainTable

__all__ = [
    "ArrowException",
    "ArrowInvalid",
    "ArrowNotImplementedError",
    "ArrowTypeError",
    "ChunkedArray",
    "ListArray",
    "PlainFrame",
    "Table",
    "array",
    "bool_",
    "chunked_array",
    "compute",
    "concat_arrays",
    "csv",
    "float64",
    "int8",
    "int32",
    "int64",
    "large_string",
    "list_",
    "scalar",
    "string",
    "table",
    "time64",
    "timestamp",
    "types",
]

ChunkedArray = PlainColumn
Table = PlainTable


def table(columns: Mapping[str, Any]) -> PlainTable:
    """A table of columns by name."""
    return PlainTable(columns)


def scalar(value: Any, kind: PlainKind) -> PlainScalar:
    """One value of a kind."""
    return PlainScalar(value, kind)


def string() -> PlainKind:
    """Text."""
    return STRING


def large_string() -> PlainKind:
    """Text of any length."""
    return LARGE_STRING


def bool_() -> PlainKind:
    """Truth values."""
    return BOOL


def int8() -> PlainKind:
    """Whole numbers of 8 bits."""
    return PlainKind("int8")


def int32() -> PlainKind:
    """Whole numbers of 32 bits."""
    return PlainKind("int32")


def int64() -> PlainKind:
    """Whole numbers of 64 bits."""
    return INT64


def float64() -> PlainKind:
    """Numbers."""
    return FLOAT64


class ListArray:
    """How lists are made of what they hold."""

    @staticmethod
    def from_arrays(ends: PlainColumn, values: PlainColumn, mask: PlainColumn | None = None) -> PlainColumn:
        """Lists that end at these places of the values; none where the mask says so."""
        members, places = values.to_pylist(), ends.to_pylist()
        missing = [False] * (len(places) - 1) if mask is None else mask.to_pylist()
        spans = zip(places, places[1:], missing, strict=False)
        return array([None if no else members[a:b] for a, b, no in spans], list_(values.type))
