"""A column: values in NumPy, and which are empty; with the calls of an Arrow array that this house makes."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from querist.tables.plain.kinds import (
    BINARY,
    BOOL,
    BY_DTYPE,
    DATE32,
    FLOAT64,
    INT64,
    NULL,
    STRING,
    ArrowInvalid,
    ArrowNotImplementedError,
    ArrowTypeError,
    PlainKind,
    is_boolean,
    is_floating,
    is_integer,
    is_list,
    is_temporal,
    list_,
    time64,
    timestamp,
)
from querist.tables.plain.moments import counted_as, moment_of, shown_as

TEXTS = ("string", "large_string")
_FLOAT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan(\(\w*\))?)", re.ASCII | re.I)
_WHOLE = re.compile(r"-?\d+|0[xX][0-9a-fA-F]{1,16}", re.ASCII)


class PlainScalar:
    """One value."""

    def __init__(self, value: Any, kind: PlainKind) -> None:
        self.value, self.type = value, kind

    def as_py(self) -> Any:
        """As Python has it."""
        shown = self.value is not None and is_temporal(self.type)
        return shown_as(int(self.value), self.type) if shown else plain(self.value)

    def cast(self, kind: PlainKind) -> "PlainScalar":
        """The same value as another kind."""
        return array([self.value], self.type).cast(kind)[0]


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


class PlainColumn:
    """Values of one kind: `data`, and where `nulls` says so, none."""

    num_chunks = 1

    def __init__(self, data: Any, kind: PlainKind, nulls: Any = None) -> None:
        self.data, self.type = data, kind
        self.nulls = np.zeros(len(data), dtype=bool) if nulls is None else nulls

    # -- what it holds

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[PlainScalar]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> PlainScalar:
        return PlainScalar(None if self.nulls[row] else self.data[row], self.type)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        data = self.data
        if self.nulls.any() and data.dtype.kind != "O":
            data = np.where(self.nulls, np.nan, data)
        return np.array(data, dtype=dtype)

    def to_numpy(self, zero_copy_only: bool = True) -> Any:
        """As one array."""
        return np.asarray(self)

    def to_pylist(self) -> list[Any]:
        """As Python's own values, None where empty."""
        if is_temporal(self.type):
            return [one.as_py() for one in self]
        values = self.data.tolist()
        return [None if null else own for own, null in zip(values, self.nulls.tolist(), strict=True)]

    @property
    def null_count(self) -> int:
        """How many are empty."""
        return int(self.nulls.sum())

    def is_null(self) -> "PlainColumn":
        """Which are empty."""
        return PlainColumn(self.nulls, BOOL)

    def is_valid(self) -> "PlainColumn":
        """Which are not."""
        return PlainColumn(~self.nulls, BOOL)

    def equals(self, other: "PlainColumn") -> bool:
        """Whether all values are the same."""
        return self.type == other.type and self.to_pylist() == other.to_pylist()

    # -- parts of it

    @property
    def chunks(self) -> list["PlainColumn"]:
        """It is in one piece."""
        return [self]

    def chunk(self, _: int) -> "PlainColumn":
        """Its one piece."""
        return self

    def combine_chunks(self) -> "PlainColumn":
        """It is in one piece."""
        return self

    def slice(self, first: int = 0, length: int | None = None) -> "PlainColumn":
        """Some of its rows."""
        there = slice(first, None if length is None else first + length)
        return PlainColumn(self.data[there], self.type, self.nulls[there])

    def take(self, rows: Any) -> "PlainColumn":
        """These of its rows."""
        there = np.asarray(rows, dtype=np.int64)
        return PlainColumn(self.data[there], self.type, self.nulls[there])

    def filter(self, wanted: Any) -> "PlainColumn":
        """The rows for which `wanted` is true."""
        return self.take(np.flatnonzero(np.asarray(truth(wanted) if is_column(wanted) else wanted)))

    def drop_null(self) -> "PlainColumn":
        """Without the empty ones."""
        return self.filter(~self.nulls)

    def flatten(self) -> "PlainColumn":
        """What is in its lists, one after the other."""
        lists = self.data[~self.nulls]
        return array([own for inner in lists for own in inner], self.type.value_type)

    def fill_null(self, value: Any) -> "PlainColumn":
        """With this in place of nothing."""
        if not self.nulls.any():
            return self
        data = self.data.copy()
        data[self.nulls] = value
        return PlainColumn(data, self.type)

    # -- other kinds

    def cast(self, kind: PlainKind, safe: bool = True) -> "PlainColumn":
        """The same values as another kind; refused where one cannot be."""
        own = self.type
        if own == kind:
            return self
        if is_list(own) and is_list(kind):
            inner = [None if null else array(one, own.value_type).cast(kind.value_type).to_pylist()
                     for one, null in zip(self.data, self.nulls, strict=True)]  # fmt: skip
            return array(inner, kind)
        if own == NULL:
            return array([None] * len(self), kind)
        if kind.family in TEXTS:
            return self._as_text(kind)
        if own.family in TEXTS:
            return parsed(self, kind)
        if object in (kind.dtype, own.dtype):
            raise ArrowNotImplementedError(f"no cast from {own} to {kind}")
        data = np.where(self.nulls, 0, self.data).astype(kind.dtype)
        return PlainColumn(data, kind, self.nulls)

    def _as_text(self, kind: PlainKind) -> "PlainColumn":
        own = self.type
        if own.family in TEXTS:
            return PlainColumn(self.data, kind, self.nulls)
        if own == BINARY or is_list(own):
            raise ArrowNotImplementedError(f"no cast from {own} to {kind}")
        write = float_text if is_floating(own) else truth_text if is_boolean(own) else str
        texts = [None if value is None else write(value) for value in self.to_pylist()]
        return array(texts, kind)

    def dictionary_encode(self) -> "Coded":
        """Every different value once, in the order they come, and which each row has."""
        place: dict[Any, int] = {}
        codes = np.fromiter(
            (place.setdefault(value, len(place)) for value in self.to_pylist()), np.int64, len(self)
        )
        return Coded(array(list(place), self.type), PlainColumn(codes, INT64))


class Coded:
    """Different values, and for each row the number of its own."""

    def __init__(self, dictionary: PlainColumn, indices: PlainColumn) -> None:
        self.dictionary, self.indices = dictionary, indices


class CodedPieces:
    """Several pieces of one column, each `Coded`."""

    def __init__(self, pieces: Sequence[Coded]) -> None:
        self.chunks = list(pieces)

    def chunk(self, k: int) -> Coded:
        """One of them."""
        return self.chunks[k]

    def unify_dictionaries(self) -> "CodedPieces":
        """The same, with one dictionary for all."""
        whole = concat_arrays([piece.dictionary for piece in self.chunks]).dictionary_encode()
        ends = np.cumsum([len(piece.dictionary) for piece in self.chunks])[:-1]
        own = np.split(whole.indices.data, ends)
        return CodedPieces(
            [
                Coded(whole.dictionary, PlainColumn(codes[piece.indices.data], INT64))
                for codes, piece in zip(own, self.chunks, strict=True)
            ]
        )


def is_column(value: Any) -> bool:
    """Whether it is one of these."""
    return isinstance(value, PlainColumn)


def truth(column: PlainColumn) -> Any:
    """Truth values, False where empty."""
    return np.asarray(column.data, dtype=bool) & ~column.nulls


# -- text -------------------------------------------------------------------------------------------------


def truth_text(value: bool) -> str:
    """As Arrow writes it."""
    return "true" if value else "false"


def float_text(value: float) -> str:
    """The shortest text that is this number, written as Arrow writes it.

    >>> [float_text(value) for value in (1.0, 0.25, 1e-7, 1.5e10, 123456789.0, -0.0)]
    ['1', '0.25', '1e-7', '1.5e+10', '123456789', '-0']
    """
    if not np.isfinite(value):
        return str(value)
    digits, _, power = np.format_float_scientific(value, trim="-", exp_digits=1).partition("e")
    if -7 < int(power) < 10:
        return str(np.format_float_positional(value, trim="-"))
    return f"{digits}e{'' if power.startswith('-') else '+'}{power.lstrip('+')}"


def number_of(text: str, kind: PlainKind) -> Any:
    """The number that a text is, None where it is none."""
    if is_integer(kind):
        if _WHOLE.fullmatch(text) is None:
            return None
        bits = text[:2].lower() == "0x"
        value = int(text, 16) if bits else int(text)
        value -= 2**64 if bits and value >= 2**63 else 0
        return value if -(2**63) <= value < 2**63 else None
    if _FLOAT.fullmatch(text) is None:
        return None
    return np.nan if "n(" in text.lower() else float(text)


def parsed(column: PlainColumn, kind: PlainKind) -> PlainColumn:
    """Texts as numbers or times; refused where one is none."""
    if kind.family == "time64":
        raise ArrowNotImplementedError(f"no cast from text to {kind}")
    read = moment_of if is_temporal(kind) else number_of
    data = np.zeros(len(column), dtype=kind.dtype)
    for row in np.flatnonzero(~column.nulls).tolist():
        found = read(column.data[row], kind)
        if found is None:
            raise ArrowInvalid(f"{column.data[row]!r} is no {kind}")
        data[row] = found
    return PlainColumn(data, kind, column.nulls)


# -- from Python's values ---------------------------------------------------------------------------------


def array(values: Any, kind: PlainKind | None = None) -> PlainColumn:
    """A column of the values; of the kind that they all are, where none is given."""
    if is_column(values):
        return values if kind is None else values.cast(kind)  # type: ignore[no-any-return]
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ArrowInvalid("only handle 1-dimensional arrays")
        if kind is None and values.dtype.name in BY_DTYPE:
            return PlainColumn(values, BY_DTYPE[values.dtype.name])
        values = values.tolist()
    given = [own.value if isinstance(own, PlainScalar) else own for own in values]
    kind = kind_of(given) if kind is None else kind
    nulls = np.array([own is None for own in given], dtype=bool)
    data = np.full(len(given), None if kind.dtype == object else 0, dtype=kind.dtype)
    for row in np.flatnonzero(~nulls).tolist():
        data[row] = _stored(given[row], kind)
    return PlainColumn(data, kind, nulls)


def _stored(value: Any, kind: PlainKind) -> Any:
    if is_temporal(kind):
        return value if isinstance(value, int | np.integer) else counted_as(value, kind)
    if is_list(kind):
        return array(list(value), kind.value_type).to_pylist()
    if kind.family in TEXTS:
        if not isinstance(value, str):
            raise ArrowTypeError(f"text is needed, not {value!r}")
        value.encode()
        return str(value)
    return value


_FAMILIES: tuple[tuple[Any, PlainKind], ...] = (
    (bool | np.bool_, BOOL),
    (int | np.integer, INT64),
    (float | np.floating, FLOAT64),
    (str, STRING),
    (bytes, BINARY),
    (dt.datetime, timestamp("us")),
    (dt.date, DATE32),
    (dt.time, time64("us")),
)


def kind_of(values: Iterable[Any]) -> PlainKind:
    """The kind that all values are, as Arrow sees it; refused where they are several."""
    there = [value for value in values if value is not None]
    if not there:
        return NULL
    if all(isinstance(value, list | tuple | set | np.ndarray) for value in there):
        return list_(kind_of(member for value in there for member in value))
    found = list(dict.fromkeys(_family(value) for value in there))
    if set(found) == {INT64, FLOAT64}:
        if any(isinstance(value, int) and abs(value) > 2**53 for value in there):
            raise ArrowInvalid("a whole number among fractions is too large to be kept")
        return FLOAT64
    if len(found) > 1:
        raise ArrowInvalid(f"values of several kinds: {', '.join(map(str, found))}")
    if found[0] == INT64 and any(not -(2**63) <= value < 2**63 for value in there):
        raise OverflowError("a whole number beyond 64 bits")
    zoned = {value.tzinfo is not None for value in there if isinstance(value, dt.datetime)}
    if len(zoned) > 1:
        raise ArrowInvalid("moments with and without a zone")
    return timestamp("us", "UTC") if zoned == {True} else found[0]


def _family(value: Any) -> PlainKind:
    for family, kind in _FAMILIES:
        if isinstance(value, family):
            return kind
    raise ArrowInvalid(f"{value!r} of type {type(value).__name__} is nothing that a column holds")


def concat_arrays(columns: Sequence[PlainColumn]) -> PlainColumn:
    """One column of several of the same kind."""
    if len(columns) == 1:
        return columns[0]
    data = np.concatenate([column.data for column in columns])
    return PlainColumn(data, columns[0].type, np.concatenate([column.nulls for column in columns]))


def chunked_array(pieces: Sequence[Any], kind: PlainKind | None = None) -> Any:
    """Pieces of a column as one."""
    if pieces and isinstance(pieces[0], Coded):
        return CodedPieces(pieces)
    return concat_arrays(pieces) if pieces else array([], kind)
