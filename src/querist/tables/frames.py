"""Data frames of pandas, polars, Arrow, whatever narwhals knows: columns as ids, numbers and values.

Nothing of these libraries is imported before somebody hands one over.
"""

from itertools import islice
from typing import Any

import numpy as np

from querist.errors import InputError, shortened
from querist.lazy import needing
from querist.tables.arrow import nw, pa
from querist.tables.formats import Columns, Origin, is_number, some
from querist.types import Floats

_LIBRARIES = {"pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "ibis", "dask", "narwhals", "pyspark"}


def pandas() -> Any:
    """The library, which only those need who want its data frames."""
    with needing("peers", "a data frame"):
        import pandas
    return pandas


def is_tabular(source: Any) -> bool:
    """Whether an object is a data frame or a series of a library that narwhals may know."""
    return any(base.__module__.partition(".")[0] in _LIBRARIES for base in type(source).__mro__)


def frame_of(native: Any, where: str) -> Any:
    """The narwhals view of a data frame; lazy ones are collected."""
    try:
        frame = nw.from_native(native)
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise InputError(f"{where}: {error}") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def values_of(series: Any) -> Any:
    """A series of any library as a list with None for null; anything else as it is."""
    column = nw.from_native(series, allow_series=True, pass_through=True)
    if isinstance(column, nw.Series):
        return listed(column)
    # An Arrow array has no narwhals view, nor have the nullable arrays of pandas.
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    return column.tolist() if hasattr(column, "isna") else column


def columns_of_frame(native: Any, where: str) -> Columns:
    """A data frame as an Arrow table, its columns by name; values that Arrow has no type for as text."""
    frame = frame_of(native, where)
    return Columns(pa.table({str(c): _arrow(frame.get_column(c)) for c in frame.columns}), Origin(where))


def _arrow(column: Any) -> Any:
    try:
        return column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return arrow_array(listed(column))


def arrow_array(values: Any, nested: bool = True) -> Any:
    """An Arrow array; mixed types, types that no column has, and lists if not `nested`, become text."""
    try:
        found = pa.array(values)
        if nested or not pa.types.is_nested(found.type):
            return found
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def ids_in(frame: Any, name: str, where: Origin) -> Any:
    """A column of ids: an integer array; else an Arrow array of text, or a list of anything."""
    column = filled(frame, name, where)
    if column.dtype.is_integer():
        return column.to_numpy()
    return column.to_arrow() if column.dtype == nw.String else listed(column, where)


def numbers_in(frame: Any, name: str, where: Origin, noun: str = "value") -> Floats:
    """A column of finite numbers; refused by row where it holds anything else. `noun` is what they are."""
    column = frame.get_column(name)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        words = ((row, value) for row, value in enumerate(column.to_list()) if not is_number(value))
        first = "".join(f" ({where.rows(row)} holds {shortened(value)})" for row, value in islice(words, 1))
        raise InputError(
            f"{where}: column {name!r} is {column.dtype}, not numbers{first}; convert it or leave it out"
        )
    values = filled(frame, name, where).cast(nw.Float64).to_numpy()
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"{where.at(int(bad[0]))}, column {name!r}: {some(bad.size, noun)} of {values.size} NaN or "
            f"infinite, the first {values[bad[0]]}; give finite numbers, or leave those rows out"
        )
    return np.asarray(values, dtype=np.float64)


def filled(frame: Any, name: str, where: Origin) -> Any:
    """A column without an empty field; refused by row where there is one."""
    column = frame.get_column(name)
    if column.null_count():
        empty = np.flatnonzero(column.is_null().to_numpy())
        raise InputError(
            f"{where}: column {name!r} is empty in {empty.size} of {len(column)} rows, the first "
            f"{where.rows(int(empty[0]))}; fill or drop those rows"
        )
    return column


def listed(column: Any, where: Origin | str = "table") -> list[Any]:
    """The values of a narwhals series, None for null; a date beyond Python's calendar, for one, is none."""
    try:
        values = column.to_list()
    except (OverflowError, ValueError, TypeError) as error:
        raise InputError(
            f"{where}: column {column.name!r} holds values that Python has none for ({error}); convert it"
        ) from None
    return [None if null else v for v, null in zip(values, column.is_null().to_list(), strict=True)]
