"""What the arrays of a file must be, as a table: type, shape, range.

Compiled code reads arrays without looking at their bounds, so whatever comes from a file is compared with
such a table first. Shapes are written as names of sizes and plain numbers, `"n d"`; a name that is not known
yet takes the size that it meets first, and must have it everywhere after.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from querist.errors import InputError

T = TypeVar("T")
Bound = int | str
"""A number, or the name of a size."""


@dataclass(frozen=True)
class ArrayField:
    """One array.

    dtype : as NumPy writes it, "f8"
    shape : sizes by name or number, between spaces; "" for a single value
    least, below : of the values, where there are bounds
    finite : whether NaN and infinite values are refused
    """

    dtype: str
    shape: str
    least: Bound | None = None
    below: Bound | None = None
    finite: bool = True


def floats(shape: str, *, least: Bound | None = None, finite: bool = True) -> ArrayField:
    """Numbers, finite unless told."""
    return ArrayField("f8", shape, least, None, finite)


def whole(shape: str, *, least: Bound | None = 0, below: Bound | None = None) -> ArrayField:
    """Whole numbers from 0."""
    return ArrayField("i8", shape, least, below)


def truths(shape: str) -> ArrayField:
    """True or false."""
    return ArrayField("b1", shape)


def checked(
    arrays: Mapping[str, Any], fields: Mapping[str, ArrayField], sizes: Mapping[str, int]
) -> dict[str, int]:
    """The sizes by name, those known before among them; an array that is not as its field says is refused.

    >>> table = {"rows": floats("n d"), "part": whole("n", below="parts")}
    >>> checked({"rows": np.eye(2), "part": np.array([0, 7])}, table, {"parts": 3})
    Traceback (most recent call last):
    ...
    querist.errors.InputError: part holds 7; it must be below parts = 3
    """
    known = dict(sizes)
    for name, field in fields.items():
        if name not in arrays:
            raise InputError(f"there is no {name}")
        _check(name, arrays[name], field, known)
    return known


def _check(name: str, array: Any, field: ArrayField, known: dict[str, int]) -> None:
    wanted = field.shape.split()
    if array.dtype != np.dtype(field.dtype) or array.ndim != len(wanted):
        raise InputError(
            f"{name} is {array.dtype} of shape {array.shape}; it must be {np.dtype(field.dtype)} of "
            f"{len(wanted)} dimensions"
        )
    for size, word in zip(array.shape, wanted, strict=True):
        expected = int(word) if word.isdigit() else known.setdefault(word, size)
        if size != expected:
            said = word if word.isdigit() else f"{word} = {expected:,}"
            raise InputError(f"{name} is of shape {array.shape}, where {said} is needed")
    if field.finite and field.dtype == "f8" and not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinite values")
    if array.size and field.least is not None and array.min() < _number(field.least, known):
        raise InputError(f"{name} holds {array.min()}; it must be {_said(field.least, known)} or more")
    if array.size and field.below is not None and array.max() >= _number(field.below, known):
        raise InputError(f"{name} holds {array.max()}; it must be below {_said(field.below, known)}")


def _number(bound: Bound, known: Mapping[str, int]) -> int:
    return known[bound] if isinstance(bound, str) else bound


def _said(bound: Bound, known: Mapping[str, int]) -> str:
    return f"{bound} = {known[bound]:,}" if isinstance(bound, str) else str(bound)


# -- numbers that are no arrays ---------------------------------------------------------


def as_record(kind: type[T], given: Mapping[str, Any]) -> T:
    """A named tuple of numbers from JSON, every one of the type that its field is annotated with."""
    kinds = kind.__annotations__
    return kind(**{name: _as_number(name, value, kinds.get(name)) for name, value in given.items()})


def _as_number(name: str, value: Any, kind: Any) -> Any:
    if kind in (bool, int):
        good = type(value) is kind and abs(value) < 2**63
    elif kind is float:
        good = type(value) in (int, float) and bool(np.isfinite(value))
    else:
        value, kind = np.array(value, dtype=np.float64), np.asarray
        good = value.ndim == 1 and bool(np.isfinite(value).all())
    if not good:
        raise InputError(f"{name} is {value!r}")
    return kind(value)
