"""An experiment as data: frozen, checked, and named by its content.

A specification says all that the numbers of a run depend on. A hash of it names the file of its results.
How many repeats are wanted is not part of the hash: repeat r is the same run whatever stands beside it, so
that more repeats add to what is there.

Data that come from files are named by their path; their runs are kept with a `digest` of what the files held,
and runs on another content do not count.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypedDict

from querist.errors import InputError, QueristError, check_name
from querist.parameters import Default, Parameter, Range, keywords_of, parameters_of

FORMAT = 1
"""Part of every hash: raise it when the same specification comes to mean other numbers."""

HELD_OUT = 10**6
"""The seed that tuning draws from, unless another is given."""


class TuningKeywords(TypedDict, total=False):
    """Settings of every protocol; see `querist.experiment.runner`."""

    tuning: Annotated[int, Range(1), Default(1)]
    tuned_by: str
    tuned_on: Annotated[Literal["held out", "reported"], Default("held out")]
    tuned_with: str
    tuned_parameters: Mapping[str, Any]


_TUNING = keywords_of(TuningKeywords)
TUNING_KEYS = tuple(_TUNING)

_TABLES = ("parameters", "grid", "representation", "protocol")


class SpecificationError(InputError):
    """A specification that cannot be run; `where` is the path of keys that is to blame.

    >>> SpecificationError("there is no such method", where=("runs", 0, "method")).where
    ('runs', 0, 'method')
    """

    def __init__(self, message: str, where: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


@contextmanager
def blame(*where: str | int) -> Iterator[None]:
    """Whatever is refused inside is the fault of this key.

    >>> try:
    ...     with blame("protocol", "rounds"):
    ...         raise InputError("rounds = 0; give 1 or more")
    ... except SpecificationError as problem:
    ...     print(problem.where)
    ('protocol', 'rounds')
    """
    try:
        yield
    except SpecificationError as problem:
        raise SpecificationError(str(problem), (*where, *problem.where)) from problem
    except QueristError as problem:
        raise SpecificationError(str(problem), where) from problem


@dataclass(frozen=True)
class Specification:
    """What to run: a task, its data, a method and everything they need.

    Parameters
    ----------
    task : "online", "collective", "stream", "transduce", or one that a paper registers ("bls19.manifolds")
    dataset : a name or path that `querist.datasets` loads; "" where the task makes its own data
    method : a name in the task's catalogue
    parameters : for the method's factory
    grid : parameter -> values to choose from, by the task's measure on held-out draws
    representation : how the data are turned into what the method takes; with `dataset` it is all that a
        task prepares from
    protocol : how a run goes (labelled share, order, budget, curve points, ...)
    repeats : runs reported, at least 1
    seed : repeat r draws from (seed, r)
    held_out : the seed that tuning draws from

    >>> one = Specification("online", "karate", "msg", {"gamma": 0.1})
    >>> one.key == Specification.from_dict(one.as_dict()).key
    True
    """

    task: str
    dataset: str = ""
    method: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    representation: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    repeats: Annotated[int, Range(1)] = 20
    seed: Annotated[int, Range(0)] = 0
    held_out: Annotated[int, Range(0)] = HELD_OUT

    def __post_init__(self) -> None:
        for name, own in _FIELDS.items():
            with blame(name):
                own.check(getattr(self, name))
        for name in _TABLES:
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise SpecificationError(f"{name} = {given!r}; it must be a table of name = value", (name,))
            frozen = {str(key): _frozen(value, (name, str(key))) for key, value in given.items()}
            object.__setattr__(self, name, MappingProxyType(frozen))
        for parameter, values in self.grid.items():
            if not isinstance(values, tuple) or not values:
                raise SpecificationError(
                    f"grid.{parameter} = {values!r}; it must be a list of at least one value",
                    ("grid", parameter),
                )
            if parameter in self.parameters:
                raise SpecificationError(
                    f"{parameter} is in both parameters and grid; leave it in one", ("grid", parameter)
                )
        for name in (name for name in TUNING_KEYS if name in self.protocol):
            with blame("protocol", name):
                _TUNING[name].check(self.protocol[name])
        last, end = self.seed + self.repeats - 1, self.held_out + self.tuning_draws
        if self.grid and self.tuned_from == self.held_out <= last and self.seed < end:
            raise SpecificationError(
                f"held_out = {self.held_out} is one of the reported draws, {self.seed} to {last}; what is "
                f"tuned on a draw must not be reported on it: leave held_out out, or set it above {last}",
                ("held_out",),
            )

    @property
    def tuned_from(self) -> int:
        """The seed that a grid is tuned from: that of the reported draws where the protocol says so."""
        return self.seed if self.protocol.get("tuned_on") == "reported" else self.held_out

    @property
    def tuning_draws(self) -> int:
        """Draws on which every choice of the grid is run."""
        return int(self.protocol.get("tuning", 1))

    @property
    def choices(self) -> list[dict[str, Any]]:
        """Every choice of the grid, in its order; one empty choice where there is no grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, without the tables that are empty."""
        found = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return {name: value for name, value in found.items() if value or name not in _TABLES}

    @cached_property
    def key(self) -> str:
        """A hash of all that a run depends on: everything but `repeats`."""
        content = {name: value for name, value in self.as_dict().items() if name != "repeats"}
        return _hash([FORMAT, content])

    @cached_property
    def preparation(self) -> str:
        """A hash of what the data are prepared from."""
        return _hash([self.task, self.dataset, plain(self.representation)])

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Specification":
        """From plain values, every name checked."""
        known = [f.name for f in fields(cls)]
        for name in given:
            with blame(name):
                check_name("key", name, known)
        if "task" not in given:
            raise SpecificationError('there is no task; say which, as in task = "online"')
        return cls(**given)

    def __reduce__(self) -> tuple[Any, ...]:
        return Specification.from_dict, (self.as_dict(),)

    def __hash__(self) -> int:
        return hash((self.key, self.repeats))


_FIELDS = {"task": Parameter("task", str, ""), **parameters_of(Specification)}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()[:20]


def _frozen(value: Any, where: tuple[str, ...]) -> Any:
    """The value in kinds that TOML has, and that nobody can change."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return MappingProxyType({str(k): _frozen(v, (*where, str(k))) for k, v in value.items()})
    if isinstance(value, list | tuple | range):
        return tuple(_frozen(item, where) for item in value)
    if isinstance(value, bool | int | str) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    hint = 'leave it out, or write "none"' if value is None else "use texts, finite numbers, true or false"
    raise SpecificationError(f"{'.'.join(where)} = {value!r} cannot stand in a specification; {hint}", where)


def plain(value: Any) -> Any:
    """Tables as dictionaries, sequences as lists, NaN and infinity as None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def digest(spec: Specification) -> str:
    """Of all files that a specification names; nothing where its data have a name."""
    return files_digest(spec.dataset, str(spec.representation.get("nodes", "")))


def files_digest(*names: str) -> str:
    """Of those names that are paths of files; nothing where none is."""
    paths = [Path(name).expanduser() for name in names if name]
    found = [(path, path.stat()) for path in paths if path.is_file()]
    return "".join(_digest(path, stat.st_mtime_ns, stat.st_size) for path, stat in found)


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
