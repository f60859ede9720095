"""The one form of everything that is saved: arrays and JSON in an `.npz`, without pickle, with a digest.

A class says what it saves by its annotations:

    class OnlineState(NamedTuple):
        W: Annotated[Floats, Field("K d")]
        touched: Annotated[Bools, Field("parts")]
        counts: Annotated[Codes, Field("3", least=0)]

A `SavedKind` gives such a class a name and a version; `write` saves a value of it, and `read` gives it back
bit for bit. Annotations may be numbers, texts, truth values, enumerations, literals, arrays, sparse matrices,
tuples, lists and mappings of these, other such classes, and unions; `Any` and `Hashable` are labels and ids.

Files may come from anybody. Nothing in them is executed, no memory is reserved for claims (`querist.npz`),
and the digest finds damage. A right digest proves nothing about a file made by somebody else, so every value
is compared with its annotation before compiled code reads it: type, shape, range, finiteness. A class can add
`saved_sizes()`, numbers for names in shapes, and `saved_faults()`, messages and whether they are true.
"""

import datetime
import decimal
import hashlib
import json
import math
import types
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from os import PathLike
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import scipy.sparse as sp

from querist import memory, npz
from querist.atomic import checked_path, replacing
from querist.errors import InputError, refuse
from querist.matrices import checked_sparse

T = TypeVar("T")
R = TypeVar("R")
Bound = float | str
"""A number, or the name of a size."""

AS_OBJECTS = 30.0
"""Bytes of memory for each byte of JSON."""

_LINE, _DIGEST = "saved", b', "digest": "'
_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class Field:
    """What an array or a number must be, beside its type.

    shape : sizes between spaces, numbers or names; a name stands for the same size everywhere in a file
    least, below : bounds of the values, numbers or names of sizes
    finite : whether NaN and infinite values are refused
    """

    shape: str = ""
    least: Bound | None = None
    below: Bound | None = None
    finite: bool = True


Finite: TypeAlias = Annotated[float, Field()]
"""A number that is neither NaN nor infinite."""

KINDS: dict[str, "SavedKind[Any]"] = {}
"""Everything that can be saved, by name."""


@dataclass(frozen=True)
class SavedKind(Generic[T]):
    """A class that is saved, by a name for messages. Raise `version` if its fields change."""

    name: str
    version: int
    saved: type[T]

    def __post_init__(self) -> None:
        KINDS[self.name] = self


def write(path: str | PathLike[str], kind: SavedKind[T], value: T) -> None:
    """Save a value to `path`, replacing the file in one step."""
    arrays: dict[str, Any] = {}
    line = as_line(kind, value, arrays)
    with replacing(path) as file:
        np.savez(file, **{**arrays, _LINE: np.frombuffer(line, np.uint8)})


def read(path: str | PathLike[str], kind: SavedKind[T], build: Callable[[T], R]) -> R:
    """Build from the value that `write` saved; refused unless it is whole, of this kind and as annotated."""
    with _refusing(kind, f"{checked_path(path)}: "):
        arrays = npz.read(path)
        return build(_opened(kind, arrays.pop(_LINE).tobytes(), arrays))


def holds(path: str | PathLike[str], kind: SavedKind[Any]) -> bool:
    """Whether a file says that it is of this kind; False if it cannot be read."""
    begins = json.dumps({"kind": kind.name}).encode()[:-1]
    try:
        return bool(npz.read(path, [_LINE])[_LINE].tobytes().startswith(begins))
    except Exception:  # no archive, another one, or a damaged one
        return False


def as_line(kind: SavedKind[T], value: T, arrays: dict[str, Any] | None = None) -> bytes:
    """A value as a line of JSON that ends with a digest; its arrays are put into `arrays`."""
    beside: dict[str, Any] = {} if arrays is None else arrays
    held = {"kind": kind.name, "version": kind.version, "value": _as_json(value, "", beside)}
    return sealed(held, beside)


def sealed(held: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """A line of JSON with a digest of itself and of the arrays."""
    text = json.dumps(held).encode()
    return b'%s%s%s"}' % (text[:-1], _DIGEST, _digest(text, arrays))


def from_line(kind: SavedKind[T], line: bytes) -> T:
    """The value that `as_line` wrote; an InputError if it is damaged, of another kind or not as annotated."""
    with _refusing(kind):
        return _opened(kind, line, {})


@contextmanager
def _refusing(kind: SavedKind[Any], place: str = "") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{place}no such file; give the path of a saved {kind.name}") from None
    except MemoryError:
        raise
    except InputError as problem:
        raise InputError(f"{place}{problem}") from problem
    except Exception as problem:  # not one of ours, or damaged in one of a dozen ways
        raise InputError(
            f"{place}not a saved {kind.name}, or damaged ({problem}); save it again"
        ) from problem


def _opened(kind: SavedKind[T], line: bytes, arrays: dict[str, Any]) -> T:
    memory.check(AS_OBJECTS * len(line), f"a saved {kind.name}")
    text, _, digest = line.rpartition(_DIGEST)
    found = json.loads(text + b"}")
    held, version = found["kind"], found["version"]
    if held != kind.name:
        raise InputError(f"a saved {held}, and a saved {kind.name} is needed; give the path of one")
    if version != kind.version:
        newer = isinstance(version, int) and version > kind.version
        advice = "update querist" if newer else "save it again"
        raise InputError(f"saved in format {version!r}, this version reads {kind.version}; {advice}")
    if digest != b'%s"}' % _digest(text + b"}", arrays):
        raise InputError("damaged, its digest does not match its content; save it again")
    return _SavedValues(arrays).whole(kind.saved, found["value"])


def _digest(text: bytes, arrays: Mapping[str, Any]) -> bytes:
    """SHA-256 of the text and of every array: name, type, shape and bytes."""
    total = hashlib.sha256(text)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return total.hexdigest().encode()


# -- values to JSON and arrays -----------------------------------------------------------------

_Code = tuple[type, Callable[[Any], Any], Callable[[Any], Any]]
_CODES: dict[str, _Code] = {
    "float": (float, repr, float),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "uuid": (uuid.UUID, str, uuid.UUID),
}
"""What JSON does not have: the type, how it is written, how it is read. The only key of a JSON object is such
a name, `tuple`, `set`, `table`, `array`, `matrix` or the name of a class."""

_PLAIN = (str, int, bool, type(None))


def _as_json(value: Any, where: str, arrays: dict[str, Any]) -> Any:
    """What JSON holds of a value; its arrays are put beside, by the names of the fields they are in."""
    if isinstance(value, np.generic):
        value = value.item()
    kind: Any = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(value)):
        return value

    def inner(name: object, item: Any) -> Any:
        return item if type(item) in _PLAIN else _as_json(item, f"{where}.{name}".strip("."), arrays)

    found: dict[str, Any] = {}
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[where] = value
        found = {"array": where}
    elif isinstance(value, sp.csr_array):
        arrays.update({f"{where}.{part}": getattr(value, part) for part in _PARTS})
        found = {"matrix": list(map(int, value.shape))}
    elif _is_record(kind):
        found = {kind.__name__: {name: inner(name, getattr(value, name)) for name in _annotations(kind)}}
    elif isinstance(value, Mapping):
        texts = all(type(name) is str for name in value)
        items = [[inner("", name), inner(name, item)] for name, item in value.items()]
        found = {"table": dict(items) if texts else items}
    elif kind in (tuple, list, frozenset):
        items = [inner(i, item) for i, item in enumerate(value)]
        if kind is list:
            return items
        found = {"tuple" if kind is tuple else "set": items}
    else:
        found = {name: written(value) for name, (own, written, _) in _CODES.items() if kind is own}
    if not found:
        raise InputError(
            f"{where}: {value!r} of type {kind.__name__} cannot be saved; use text, numbers, bytes, "
            "dates, times, decimals or tuples of these"
        )
    return found


def _untyped(kept: Any) -> Any:
    """A label, an id or an option from JSON."""
    if isinstance(kept, list):
        return list(map(_untyped, kept))
    if not isinstance(kept, dict):
        return kept
    ((tag, content),) = kept.items()
    if tag == "table":
        return {_untyped(name): _untyped(item) for name, item in _items(content)}
    if tag in ("tuple", "set"):
        return (tuple if tag == "tuple" else frozenset)(map(_untyped, content))
    return _CODES[tag][2](content)


def _items(content: Any) -> Any:
    return content.items() if isinstance(content, dict) else content


# -- JSON and arrays to values, by their annotations -------------------------------------------


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


@cache
def _annotations(record: Any) -> dict[str, Any]:
    """The annotation of each field that a dataclass or named tuple is made from."""
    names = [own.name for own in fields(record) if own.init] if is_dataclass(record) else record._fields
    hints = get_type_hints(record, include_extras=True)
    return {name: hints[name] for name in names}


class _Form(NamedTuple):
    """An annotation: its class or form, its arguments (of an array, the type of its values), its `Field`, the
    method that reads it, and the only key of its JSON object, if it has one."""

    kind: Any
    arguments: tuple[Any, ...]
    field: Any
    method: str
    tag: str = ""


_METHODS: dict[Any, tuple[str, str]] = {
    np.ndarray: ("array", "array"),
    sp.csr_array: ("matrix", "matrix"),
    tuple: ("sequence", "tuple"),
    list: ("sequence", ""),
    Mapping: ("table", "table"),
    Union: ("union", ""),
    types.UnionType: ("union", ""),
}


@cache
def _form(annotation: Any) -> _Form:
    own = None
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        own = next(each for each in more if isinstance(each, Field))
    kind, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if _is_record(kind):
        return _Form(kind, arguments, own, "record", kind.__name__)
    if kind is np.ndarray:
        arguments = get_args(arguments[1])
    return _Form(kind, arguments, own, *_METHODS.get(kind, ("single", "")))


class _SavedValues:
    """Values from JSON and arrays, compared with their annotations."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays
        self._sizes: dict[str, int] = {}
        self._unchecked: list[tuple[str, Any, Field]] = []

    def whole(self, saved: type[T], kept: Any) -> T:
        """The value of a file."""
        found: T = self.value(saved, kept, "")
        self._check_arrays()
        refuse({f"the array {name} belongs to nothing": True for name in self._arrays})
        return found

    def value(self, annotation: Any, kept: Any, where: str) -> Any:
        """The value of a field."""
        form = _form(annotation)
        if form.tag:
            if not isinstance(kept, dict) or list(kept) != [form.tag]:
                raise InputError(f"{where} is {kept!r:.80}; it must be of type {form.tag}")
            kept = kept[form.tag]
        return getattr(self, form.method)(form, kept, where)

    def union(self, form: _Form, kept: Any, where: str) -> Any:
        chosen = next((one for one in form.arguments if self._may_be(_form(one), kept, where)), Any)
        refuse({f"{where} is {kept!r:.80}": chosen is Any})
        return self.value(chosen, kept, where)

    def _may_be(self, form: _Form, kept: Any, where: str) -> bool:
        if form.method == "array" and where in self._arrays:
            return bool(self._arrays[where].ndim == len(form.field.shape.split()))
        if form.kind is type(None) or kept is None:
            return kept is None and form.kind is type(None)
        return not form.tag or (isinstance(kept, dict) and form.tag in kept)

    def array(self, form: _Form, kept: Any, where: str) -> Any:
        array, (kind,), dimensions = self._arrays.pop(where), form.arguments, len(form.field.shape.split())
        if (kind is not Any and array.dtype != kind) or array.ndim != dimensions:
            raise InputError(
                f"{where} is {array.dtype} of shape {array.shape}; it must be {kind.__name__} of "
                f"{dimensions} dimensions"
            )
        self._unchecked.append((where, array, form.field))
        return array

    def matrix(self, form: _Form, kept: Any, where: str) -> Any:
        parts = tuple(self._arrays.pop(f"{where}.{part}") for part in _PARTS)
        if parts[1].dtype.kind not in "iu" or parts[2].dtype.kind not in "iu":  # SciPy would cast them
            raise InputError(
                f"{where}: indices of {parts[1].dtype}, {parts[2].dtype}; they must be whole numbers"
            )
        rows, columns = (_single(int, size, where, Field(least=0)) for size in kept)
        matrix = checked_sparse(sp.csr_array(parts, shape=(rows, columns)), where)
        self._unchecked.append((where, matrix, form.field))
        return matrix

    def sequence(self, form: _Form, kept: Any, where: str) -> Any:
        refuse({f"{where} is {kept!r:.80}, not a list": type(kept) is not list})
        open_ended = form.kind is list or form.arguments[-1] is ...
        each = form.arguments[:1] * len(kept) if open_ended else form.arguments
        return form.kind(self.value(own, item, f"{where}.{i}")
                         for i, (own, item) in enumerate(zip(each, kept, strict=True)))  # fmt: skip

    def table(self, form: _Form, kept: Any, where: str) -> Any:
        names, values = form.arguments
        read = ((self.value(names, name, where), item) for name, item in _items(kept))
        return {name: self.value(values, item, f"{where}.{name}") for name, item in read}

    def record(self, form: _Form, kept: Any, where: str) -> Any:
        """A dataclass or named tuple, with its own sizes and faults."""
        own = _annotations(form.kind)
        if set(kept) != set(own):
            raise InputError(f"{form.tag} has {', '.join(kept)}; it must have {', '.join(own)}")
        made = form.kind(
            **{name: self.value(own[name], kept[name], f"{where}.{name}".strip(".")) for name in own}
        )
        if hasattr(made, "saved_sizes"):
            self._sizes |= made.saved_sizes()
        if hasattr(made, "saved_faults"):
            self._check_arrays()
            refuse(made.saved_faults())
        return made

    def single(self, form: _Form, kept: Any, where: str) -> Any:
        found = _untyped(kept)
        if form.kind is Literal:
            refuse(
                {f"{where} is {found!r:.80}; it must be one of {form.arguments}": found not in form.arguments}
            )
        elif form.kind not in (Any, Hashable):
            found = _single(form.kind, found, where, form.field)
        return found

    def _check_arrays(self) -> None:
        """Shapes, then values, of the arrays that were read so far."""
        for where, array, own in self._unchecked:
            for size, word in zip(array.shape, own.shape.split(), strict=True):
                expected = int(word) if word.isdigit() else self._sizes.setdefault(word, size)
                named = word if word.isdigit() else f"{word} = {expected:,}"
                refuse({f"{where} is of shape {array.shape}, and {named} is needed": size != expected})
        for where, array, own in self._unchecked:
            _check_range(where, array if isinstance(array, np.ndarray) else array.data, own, self._sizes)
        self._unchecked.clear()


def _check_range(where: str, values: Any, own: Field, sizes: Mapping[str, int]) -> None:
    if own.finite and values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(f"{where} holds NaN or infinite values")
    least, below = (sizes[bound] if isinstance(bound, str) else bound for bound in (own.least, own.below))
    if values.size and least is not None and values.min() < least:
        raise InputError(f"{where} holds {values.min()}; it must be {least:,} or more")
    if values.size and below is not None and values.max() >= below:
        raise InputError(f"{where} holds {values.max()}; it must be below {below:,}")


def _single(form: Any, value: Any, where: str, own: Field | None) -> Any:
    """A number, text or truth value of exactly this type."""
    if form is float and type(value) is int:
        value = float(value)
    if type(value) is not form or (form is int and abs(value) >= 2**63):
        raise InputError(f"{where} is {value!r:.80}; it must be of type {form.__name__}")
    if own is not None:
        _check_range(where, np.asarray(value), own, {})
    return value
