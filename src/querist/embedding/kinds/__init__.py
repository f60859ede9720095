"""Kinds of embedding by name, each one value: how to make rows, how to extend them, how much memory.

A kind is one module here, called as the kind, that registers a `Kind`; nothing else in the house names it.
Its options, with their defaults and what they may be, are the keywords of its `settled`: `embed`, experiment
files and the command line read them there.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from querist.embedding.value import Embedding
from querist.operator.place import Effort
from querist.parameters import Parameter, parameters_of
from querist.registry import Registry
from querist.types import Floats

COMMON = ("tol", "seed")
"""Options that every kind takes."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of embedding.

    Parameters
    ----------
    name : in Python, in experiment files and on the command line
    about : what its rows are, in a few words
    settled : `settled(rank, *, tol, seed, **options)` checks the options and gives all of them, with plain
        values that JSON can write: what the rows depend on beside the graph and the rank
    make : `make(graph, rank, *, progress, **settings)`, the embedding
    memory : `memory(graph, rank, **settings)`, the bytes it takes at most beyond the graph
    row : `row(embedding, M, degrees, weights)`, the row of a new node with these weights to neighbours with
        rows M and these degrees
    refresh : `refresh(old, graph, *, tol, seed, progress)`, rows for a graph that has grown from the rows
        `old`, which know all of its nodes; None where they must be made anew
    least : smallest rank
    attributes : whether rows depend on the graph's attributes
    usual : whether it is taken, where nobody names a kind, for a graph with attributes or for one without
    on_device : `on_device(graph, rank, **settings)`, the bytes it takes on a device; None where `make` takes
        no `device`
    effort : `effort(graph, rank, **settings)`, what is gathered and multiplied, first what a device would do,
        then what threads do in any case; None where nobody has counted it
    options : name -> parameter; the keywords of `settled` unless given
    key : `key(rank, settings)`, what names a cache entry; the rank and the settings unless given
    """

    name: str
    about: str
    settled: Callable[..., Settings]
    make: Callable[..., Embedding]
    memory: Callable[..., float]
    row: Callable[[Embedding, Floats, Floats, Floats], Floats]
    refresh: Callable[..., Embedding] | None = None
    least: int = 1
    attributes: bool = False
    usual: bool = False
    on_device: Callable[..., float] | None = None
    effort: Callable[..., tuple[Effort, Effort]] | None = None
    options: Mapping[str, Parameter] = field(default_factory=dict)
    key: Callable[[int, Settings], Settings] | None = None

    def __post_init__(self) -> None:
        if not self.options:
            object.__setattr__(self, "options", parameters_of(self.settled, COMMON))

    def identity(self, rank: int, settings: Settings) -> Settings:
        """What the rows depend on beside the graph, ready for JSON."""
        return self.key(rank, settings) if self.key else {"ranks": {self.name: rank}, self.name: settings}


KINDS: Registry[Kind] = Registry("embedding")
"""Those that are loaded; `known` loads all."""


def register(kind: Kind) -> Kind:
    """Make a kind known by its name."""
    KINDS[kind.name] = kind
    return kind


def known() -> Mapping[str, Kind]:
    """All kinds by name: those of this room, and those that were registered from elsewhere."""
    _load()
    return MappingProxyType(KINDS)


def kind_of(name: str) -> Kind:
    """The kind of this name."""
    _load()
    return KINDS[name]


def usual_kind(*, attributes: bool) -> Kind:
    """The kind to take, where nobody names one, for a graph with attributes or for one without."""
    return next(kind for kind in known().values() if kind.usual and kind.attributes == attributes)


@lru_cache(maxsize=1)
def _load() -> None:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)


def options() -> dict[str, Parameter]:
    """The options of all kinds."""
    return {name: option for kind in known().values() for name, option in kind.options.items()}


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose keywords are those of `function` and the options of all kinds; its `kind` is one."""
    return _with_options(function, tuple(known()))


@lru_cache(maxsize=16)
def _with_options(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    own = inspect.signature(function, eval_str=True).parameters
    kept = [p for p in own.values() if p.kind is not p.VAR_KEYWORD]
    kept = [p.replace(annotation=Literal[names]) if p.name == "kind" else p for p in kept]
    more = [
        inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind
        )
        for each in options().values()
        if each.name not in own
    ]

    def opened(**given: Any) -> Any:
        return function(**given)

    opened.__signature__ = inspect.Signature([*kept, *more])  # type: ignore[attr-defined]
    return opened
