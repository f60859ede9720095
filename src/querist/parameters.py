"""The parameters of a factory, as people type them: `name=value`.

A factory's signature is the only list there is. Its names are the valid names,
its annotations say what a value must be, its defaults what holds otherwise.
"""

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from querist.errors import InputError, check_name

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Parameter:
    """A keyword of a factory: its annotation and its default."""

    name: str
    kind: Any
    default: Any

    @property
    def need(self) -> str:
        """What a value must be, in words."""
        return " or ".join(_words(kind) for kind in reversed(_members(self.kind)))

    def read(self, text: str) -> Any:
        """The value that `text` stands for.

        >>> Parameter("h", float | None, None).read("1e-3")
        0.001
        """
        for kind in _members(self.kind):
            try:
                return _coerce(kind, text.strip())
            except ValueError:
                continue
        raise InputError(f"{self.name} = {text!r}; it must be {self.need}")


def parameters_of(factory: Callable[..., Any], apart: Iterable[str] = ()) -> dict[str, Parameter]:
    """The keywords of a factory that have a default, in its order, but for those set apart."""
    left_out = set(apart)
    return {
        p.name: Parameter(p.name, type(p.default) if p.annotation is p.empty else p.annotation, p.default)
        for p in inspect.signature(factory, eval_str=True).parameters.values()
        if p.default is not p.empty and p.name not in left_out
    }


def read_settings(
    factory: Callable[..., Any], settings: Iterable[str], apart: Iterable[str] = ()
) -> dict[str, Any]:
    """`["h=0.1", ...]` as keyword arguments for the factory, every name and value checked.

    >>> def learner(rows, *, gamma: float = 1.0, update: Literal["always", "mistake"] = "mistake"): ...
    >>> read_settings(learner, ["gamma=2", "update=always"])
    {'gamma': 2.0, 'update': 'always'}
    """
    known = parameters_of(factory, apart)
    chosen: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InputError(f"{setting!r} is not a setting; write name=value, as in gamma=1")
        check_name("parameter", name, known)
        if name in chosen:
            raise InputError(f"{name} is set twice; set it once")
        chosen[name] = known[name].read(text)
    return chosen


LARGEST_COUNT = 2**63 - 1
"""The largest count that a compiled kernel can hold."""


def checked_count(name: str, value: Any, least: int, most: float = LARGEST_COUNT) -> int:
    """A whole number, not below `least` nor above `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name} = {value!r}; it must be a whole number, {least} or more")
    if number > most:
        raise InputError(f"{name} = {value!r}; it must be a whole number, {most:,} or less")
    return number


def is_finite(value: Any) -> bool:
    """Whether it is a number that a float can hold: not NaN, not infinite, not 10**400, not a text."""
    try:
        return not isinstance(value, str | bytes) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def effective(
    factory: Callable[..., Any], chosen: Mapping[str, Any], apart: Iterable[str] = ()
) -> dict[str, Any]:
    """Every parameter with the value it has: the chosen one, else the default."""
    return {name: chosen.get(name, p.default) for name, p in parameters_of(factory, apart).items()}


def _members(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; None comes first, so that it is not read as a string."""
    if get_origin(kind) in (Union, UnionType):
        return tuple(sorted(get_args(kind), key=lambda member: member is not NoneType))
    return (kind,)


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) is not None:
        return "numbers separated by commas"
    known = {float: "a number", int: "a whole number", bool: "true or false", NoneType: "none"}
    return known.get(kind, "a text")


def _coerce(kind: Any, text: str) -> Any:
    """The value of one kind, or ValueError."""
    if get_origin(kind) is Literal:
        return {str(choice): choice for choice in get_args(kind)}[_one_of(text, get_args(kind))]
    if get_origin(kind) is not None:
        (item,) = get_args(kind)[:1] or (str,)
        return tuple(_coerce(item, part.strip()) for part in text.split(","))
    if kind is NoneType:
        return {"none": None}[_one_of(text.lower(), ("none",))]
    if kind is bool:
        return _one_of(text.lower(), _TRUE + _FALSE) in _TRUE
    return kind(text) if kind in (int, float) else text


def _one_of(text: str, choices: Iterable[Any]) -> str:
    if text not in map(str, choices):
        raise ValueError(text)
    return text
