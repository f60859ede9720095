"""The parameters of a factory, as people type them: `name=value`.

A factory's signature is the only list there is. Its names are the valid names,
its annotations say what a value must be, its defaults what holds otherwise.
`Annotated[float, Range(0, 1)]` also says which numbers a parameter may be.
"""

import functools
import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from querist.errors import InputError, check_name

F = TypeVar("F", bound=Callable[..., Any])

_NONE: dict[str, Any] = {"none": None}
_TRUTH = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)


class Range(NamedTuple):
    """The numbers that a parameter may be: from `ge` to `le`, above `gt`, below `lt`.

    >>> print(Range(le=1, gt=0))
    at most 1 and above 0
    """

    ge: float = -math.inf
    le: float = math.inf
    gt: float = -math.inf
    lt: float = math.inf

    def holds(self, value: float) -> bool:
        """Whether a finite number is one of them."""
        return self.ge <= value <= self.le and self.gt < value < self.lt

    def __str__(self) -> str:
        words = ("{:g} or more", "at most {:g}", "above {:g}", "below {:g}")
        return " and ".join(w.format(end) for w, end in zip(words, self, strict=True) if math.isfinite(end))


class Default(NamedTuple):
    """What a key of a `TypedDict` of keywords is unless given: `Annotated[int, Default(0)]`."""

    value: Any


@dataclass(frozen=True)
class Parameter:
    """A keyword of a factory: its annotation, its default, and the range that a number must be in."""

    name: str
    kind: Any
    default: Any
    numbers: Range | None = None

    @property
    def need(self) -> str:
        """What a value must be, in words."""
        first, *others = [_words(kind) for kind in reversed(_members(self.kind))]
        if self.numbers:
            first += f", {self.numbers}" + "," * bool(others)
        return " or ".join([first, *others])

    def check(self, value: Any) -> None:
        """Refuse a value of another kind, a number that is not finite, and one out of range.

        >>> Parameter("alpha", float, 0.2, Range(0, 1)).check(float("nan"))
        Traceback (most recent call last):
        ...
        querist.errors.InputError: alpha = nan; it must be a finite number, 0 or more and at most 1
        """
        if not any(_is_a(kind, value, self.numbers or Range()) for kind in _members(self.kind)):
            raise InputError(f"{self.name} = {value!r}; it must be {self.need}")

    def read(self, text: str) -> Any:
        """The value that `text` stands for.

        >>> Parameter("h", float | None, None).read("1e-3")
        0.001
        """
        for kind in _members(self.kind):
            try:
                return _coerce(kind, text.strip())
            except (KeyError, ValueError):
                continue
        raise InputError(f"{self.name} = {text!r}; it must be {self.need}")


def parameters_of(factory: Callable[..., Any], apart: Iterable[str] = ()) -> dict[str, Parameter]:
    """The keywords of a factory that have a default, in its order, but for those set apart.

    `**options: Unpack[Keywords]` stands for the keys of that `TypedDict`, each with its `Default`.
    """
    known: dict[str, Parameter] = {}
    for p in inspect.signature(factory, eval_str=True).parameters.values():
        if p.kind is p.VAR_KEYWORD and get_origin(p.annotation) is Unpack:
            known |= keywords_of(*get_args(p.annotation))
        elif p.default is not p.empty:
            kind = type(p.default) if p.annotation is p.empty else p.annotation
            known[p.name] = _parameter(p.name, kind, p.default)
    left_out = set(apart)
    return {name: own for name, own in known.items() if name not in left_out}


def keywords_of(keywords: Any) -> dict[str, Parameter]:
    """The keys of a `TypedDict` of keywords, each with its `Default`."""
    kinds = get_type_hints(keywords, include_extras=True)
    return {name: _parameter(name, kind, None) for name, kind in kinds.items()}


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    kind, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    by_type = {type(each): each for each in more}
    if Default in by_type:
        default = by_type[Default].value
    return Parameter(name, kind, default, by_type.get(Range))


def settled(keywords: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """All keys of a `TypedDict` of keywords, as given, checked, or by default."""
    known = keywords_of(keywords)
    check_values(known, given)
    return {name: given.get(name, own.default) for name, own in known.items()}


def refusing_others(make: F, name: str) -> F:
    """The same function, but a keyword that it does not take is refused with the nearest that it does."""

    @functools.wraps(make)
    def refusing(*positional: Any, **given: Any) -> Any:
        own = inspect.signature(make).parameters.values()
        known = {*(p.name for p in own if p.kind is not p.VAR_KEYWORD), *parameters_of(make)}
        if not known.issuperset(given) and all(
            p.kind is not p.VAR_KEYWORD or get_origin(p.annotation) is Unpack for p in own
        ):
            for keyword in given:
                check_name(f"parameter of {name}", keyword, known - {"self"})
        return make(*positional, **given)

    return cast(F, refusing)


def check_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse the first of the values that its parameter cannot have."""
    for name, parameter in parameters.items():
        if name in values:
            parameter.check(values[name])


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
    """A whole number, not below `least` nor above `most`.

    >>> checked_count("chunk", 100, 1)
    100
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
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
    if _is_function(kind):
        return "a function"
    if get_origin(kind) is not None:
        return "numbers separated by commas"
    known = {float: "a finite number", int: "a whole number", bool: "true or false", NoneType: "none"}
    return known.get(kind, "a text")


def _is_a(kind: Any, value: Any, numbers: Range) -> bool:
    """Whether a value is of one kind; kinds that are neither choices, functions, numbers, truth values nor
    texts are not looked at."""
    import numpy as np  # here, for help is quick without it

    if get_origin(kind) is Literal:
        return isinstance(value, Hashable) and value in get_args(kind)
    if _is_function(kind):
        return callable(value)
    if kind in (int, float):
        types = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
        # True is an int in Python, and hardly ever meant as the number 1.
        number = isinstance(value, types) and not isinstance(value, bool)
        return number and (kind is int or is_finite(value)) and numbers.holds(value)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    return isinstance(value, kind) if kind in (str, NoneType) else True


def _is_function(kind: Any) -> bool:
    """Whether a kind is a protocol of functions."""
    return "__call__" in getattr(kind, "__dict__", {})


def _coerce(kind: Any, text: str) -> Any:
    """The value of one kind, or a KeyError or ValueError."""
    if get_origin(kind) is Literal:
        return {str(choice): choice for choice in get_args(kind)}[text]
    if get_origin(kind) is not None:
        (item,) = get_args(kind)[:1] or (str,)
        parts = [part.strip() for part in text.removesuffix(",").split(",")]
        return tuple(_coerce(item, part) for part in parts)
    if kind in (NoneType, bool):
        return (_NONE if kind is NoneType else _TRUTH)[text.lower()]
    return kind(text) if kind in (int, float) else text
