"""What a column holds: the types of Arrow that a text file, or a column of Python values, can come to.

The questions (`is_integer`, ...) are those of `pyarrow.types`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

DAY = 86_400
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class ArrowException(Exception):
    """What pyarrow raises, under its name."""


class ArrowInvalid(ValueError, ArrowException):
    """A value that does not fit."""


class ArrowTypeError(TypeError, ArrowException):
    """Values of several types in one column."""


class ArrowNotImplementedError(NotImplementedError, ArrowException):
    """A type that no column here has."""


@dataclass(frozen=True)
class PlainKind:
    """A type: its family, its unit and zone where it tells time, and what its lists hold."""

    family: str
    unit: str = ""
    tz: str | None = None
    value_type: Any = None

    def __str__(self) -> str:
        if self.value_type is not None:
            return f"{self.family}<item: {self.value_type}>"
        inside = ", ".join(filter(None, [self.unit, f"tz={self.tz}" if self.tz else ""]))
        return f"{self.family}[{inside}]" if inside else self.family

    @property
    def bit_width(self) -> int:
        """Of a number or a time."""
        return 32 if self.family in ("date32", "time32") else int(self.dtype.itemsize) * 8

    @property
    def dtype(self) -> Any:
        """Of the NumPy array that holds such values."""
        if self.family in _NUMBERS:
            return np.dtype(_NUMBERS[self.family])
        return np.dtype(np.int64 if is_temporal(self) else object)


_NUMBERS = {
    "bool": "bool", "double": "float64", "float": "float32", "halffloat": "float16",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
BY_DTYPE = {dtype: PlainKind(family) for family, dtype in _NUMBERS.items()}
NULL, STRING, LARGE_STRING, BINARY = map(PlainKind, ("null", "string", "large_string", "binary"))
BOOL, INT64, FLOAT64 = map(PlainKind, ("bool", "int64", "double"))
DATE32, TIME32 = PlainKind("date32", "day"), PlainKind("time32", "s")


def timestamp(unit: str, tz: str | None = None) -> PlainKind:
    """Moments, counted from 1970."""
    return PlainKind("timestamp", unit, tz)


def time64(unit: str) -> PlainKind:
    """Times of day."""
    return PlainKind("time64", unit)


def list_(inner: PlainKind) -> PlainKind:
    """Lists of values of one type."""
    return PlainKind("list", value_type=inner)


def is_dictionary(kind: PlainKind) -> bool:
    """Never: values are kept as they are."""
    return False


def is_string(kind: PlainKind) -> bool:
    """Whether it is text."""
    return kind.family == "string"


def is_large_string(kind: PlainKind) -> bool:
    """Whether it is text of any length, which is kept in the same way."""
    return kind.family == "large_string"


def is_list(kind: PlainKind) -> bool:
    """Whether it is lists."""
    return kind.family == "list"


is_nested = is_list


def is_large_list(kind: PlainKind) -> bool:
    """Never."""
    return False


is_fixed_size_list = is_decimal = is_date64 = is_large_list


def is_boolean(kind: PlainKind) -> bool:
    """Whether it is truth values."""
    return kind.family == "bool"


def is_integer(kind: PlainKind) -> bool:
    """Whether it is whole numbers."""
    return "int" in kind.family


def is_floating(kind: PlainKind) -> bool:
    """Whether it is numbers with a fraction."""
    return kind.family in ("double", "float", "halffloat")


def is_date32(kind: PlainKind) -> bool:
    """Whether it is dates."""
    return kind.family == "date32"


is_date = is_date32


def is_time32(kind: PlainKind) -> bool:
    """Whether it is times of day in seconds."""
    return kind.family == "time32"


def is_time(kind: PlainKind) -> bool:
    """Whether it is times of day."""
    return kind.family in ("time32", "time64")


def is_timestamp(kind: PlainKind) -> bool:
    """Whether it is moments."""
    return kind.family == "timestamp"


def is_temporal(kind: PlainKind) -> bool:
    """Whether it tells time."""
    return is_date(kind) or is_time(kind) or is_timestamp(kind)
