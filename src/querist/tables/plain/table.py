"""A table: columns by name; and the view of it that narwhals would give."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from querist.lazy import Library
from querist.tables.plain.column import PlainColumn, array
from querist.tables.plain.kinds import ArrowInvalid, PlainKind, is_timestamp

nw: Any = Library("narwhals")


class PlainSchema:
    """The names of the columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def get_field_index(self, name: str) -> int:
        """The place of a column."""
        return self.names.index(name)


class PlainTable:
    """Columns of equal length."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: array(values) for name, values in columns.items()}
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise ArrowInvalid(f"columns of {', '.join(map(str, sorted(lengths)))} values")
        self.num_rows = lengths.pop() if lengths else 0

    @property
    def column_names(self) -> list[str]:
        """In their order."""
        return list(self._columns)

    @property
    def num_columns(self) -> int:
        """How many there are."""
        return len(self._columns)

    @property
    def schema(self) -> PlainSchema:
        """The names of the columns."""
        return PlainSchema(self.column_names)

    def __getitem__(self, name: str) -> PlainColumn:
        return self._columns[name]

    column = __getitem__

    def set_column(self, at: int, name: str, column: PlainColumn) -> "PlainTable":
        """A table with another column in this place."""
        names = [*self.column_names[:at], name, *self.column_names[at + 1 :]]
        kept = [*self._columns.values()]
        return PlainTable(dict(zip(names, [*kept[:at], column, *kept[at + 1 :]], strict=True)))

    def slice(self, first: int = 0, length: int | None = None) -> "PlainTable":
        """Some of its rows."""
        return PlainTable({name: own.slice(first, length) for name, own in self._columns.items()})

    def take(self, rows: Any) -> "PlainTable":
        """These of its rows."""
        return PlainTable({name: own.take(rows) for name, own in self._columns.items()})

    def to_pylist(self) -> list[dict[str, Any]]:
        """A dict a row."""
        rows = zip(*(own.to_pylist() for own in self._columns.values()), strict=True)
        return [dict(zip(self.column_names, row, strict=True)) for row in rows]


class PlainFrame:
    """What narwhals would show of a table, as far as this house looks."""

    def __init__(self, table: PlainTable) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self._table.column_names

    def get_column(self, name: str) -> "PlainSeries":
        """One of them."""
        return PlainSeries(name, self._table[name])


class PlainSeries:
    """What narwhals would show of a column, as far as this house looks."""

    def __init__(self, name: str, column: PlainColumn) -> None:
        self.name, self._column = name, column

    def __len__(self) -> int:
        return len(self._column)

    @property
    def dtype(self) -> Any:
        """The type that narwhals has for it."""
        return _dtype(self._column.type)

    def null_count(self) -> int:
        """How many are empty."""
        return self._column.null_count

    def is_null(self) -> "PlainSeries":
        """Which are empty."""
        return PlainSeries(self.name, self._column.is_null())

    def cast(self, dtype: Any) -> "PlainSeries":
        """As floats, which is all that is asked for."""
        numbers = np.asarray(self._column, dtype=np.float64)
        return PlainSeries(self.name, array(numbers))

    def to_numpy(self) -> Any:
        """As an array."""
        return np.asarray(self._column)

    def to_list(self) -> list[Any]:
        """As Python's own values."""
        return self._column.to_pylist()

    def to_arrow(self) -> PlainColumn:
        """The column itself."""
        return self._column


_DTYPES = {
    "null": "Unknown", "string": "String", "large_string": "String", "binary": "Binary", "bool": "Boolean",
    "double": "Float64", "float": "Float32", "date32": "Date", "time32": "Time", "time64": "Time",
}  # fmt: skip


def _dtype(kind: PlainKind) -> Any:
    if kind.value_type is not None:
        return nw.List(_dtype(kind.value_type))
    if is_timestamp(kind):
        return nw.Datetime(kind.unit, kind.tz)
    number = kind.family.replace("uint", "UInt").replace("int", "Int")
    return getattr(nw, _DTYPES.get(kind.family, number))()
