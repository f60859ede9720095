"""Kinds of embedding by name, each one value: how to make rows, how to extend them, how much memory.

A kind is one module here, called as the kind, that registers a `Kind`; no other module names it.
Its options are the fields of a class of `EmbeddingOptions`: `embed`, experiment files and the command line
read them there.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from querist.embedding.value import Embedding
from querist.embedding_options import EmbeddingOptions, Weighting
from querist.errors import InputError, check_name
from querist.options import with_options
from querist.parameters import Parameter, checked_count
from querist.progress import Progress
from querist.registry import Registry
from querist.types import Floats

Settings = dict[str, Any]


class EmbeddingKeywords(TypedDict, total=False):
    """The options of the kinds that come with querist, as keywords of `embed`; a test compares the two."""

    normalised: bool
    constant: float
    max_constants: int | None
    weighting: Weighting
    steps: int
    damping: float
    walk: float
    neighbours: int


class FollowKeywords(EmbeddingKeywords, total=False):
    """The keywords of `Embedding.follow`, as of `embed`."""

    tol: float | None
    seed: int
    progress: Progress
    cache: bool
    device: str | None


@dataclass(frozen=True)
class Kind:
    """A kind of embedding.

    Parameters
    ----------
    name : in Python, in experiment files and on the command line
    about : what its rows are, in a few words
    declaring : the class of its options, in `embedding_options.py` or elsewhere
    make : `make(graph, rank, *, progress, **settings)`, the embedding
    memory : `memory(graph, rank, **settings)`, the bytes it takes at most beyond the graph
    row : `row(embedding, M, degrees, weights)`, the row of a new node with these weights to neighbours with
        rows M and these degrees
    tol : its tolerance by default
    attributes : whether rows depend on the graph's attributes
    usual : whether it is taken, where nobody names a kind, for a graph with attributes or for one without
    on_device : `on_device(graph, rank, **settings)`, the bytes it takes on a device; None where `make` takes
        no `device`
    """

    name: str
    about: str
    declaring: type[EmbeddingOptions]
    make: Callable[..., Embedding]
    memory: Callable[..., float]
    row: Callable[[Embedding, Floats, Floats, Floats], Floats]
    tol: float
    attributes: bool = False
    usual: bool = False
    on_device: Callable[..., float] | None = None

    @property
    def options(self) -> Mapping[str, Parameter]:
        """Those that only this kind takes, by name."""
        return self.declaring.declared()

    def settled(self, *, tol: float | None = None, seed: int = 0, **given: Any) -> Settings:
        """All settings, checked, as plain values that JSON can write: what the rows depend on beside the
        graph and the rank."""
        found = vars(self.declaring(**given))
        for name, own in self.declaring.declared().items():
            if own.base is int and found[name] is not None:
                checked_count(name, found[name], 0)
            if own.base in (bool, int, float) and found[name] is not None:
                found = {**found, name: own.base(found[name])}
        return {**found, "tol": float(self.tol if tol is None else tol), "seed": int(seed)}

    def check_own(self, given: Iterable[str]) -> None:
        """Refuse an option that this kind does not have, and say which kinds have it."""
        for name in given:
            check_name("option of an embedding", name, options_of_all())
            if name not in self.options:
                able = [repr(each.name) for each in known().values() if name in each.options]
                raise InputError(
                    f"{name} is an option of kind={' or '.join(able)}, and the kind is {self.name!r}; leave "
                    "it out, or name that kind"
                )


KINDS: Registry[Kind] = Registry("embedding")
"""Those that are loaded; `known` loads all."""


def register(kind: Kind) -> Kind:
    """Make a kind known by its name."""
    KINDS[kind.name] = kind
    return kind


@lru_cache(maxsize=1)
def known() -> Mapping[str, Kind]:
    """All kinds by name: those of this package, and those that were registered from elsewhere."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return MappingProxyType(KINDS)


def kind_of(name: str) -> Kind:
    """The kind of this name."""
    return known()[name]


def usual_kind(*, attributes: bool) -> Kind:
    """The kind to take, where nobody names one, for a graph with attributes or for one without."""
    return next(kind for kind in known().values() if kind.usual and kind.attributes == attributes)


def options_of_all() -> dict[str, Parameter]:
    """The options of all kinds."""
    return {name: option for kind in known().values() for name, option in kind.options.items()}


def with_kinds(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose parameter `rows` is the kind of an embedding and the options of all kinds."""
    return _with_kinds(function, tuple(known()))


@lru_cache(maxsize=16)
def _with_kinds(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    own = {name: (each.kind, each.default) for name, each in options_of_all().items()}
    return with_options("rows", {"kind": (Literal[names], "spectral"), **own})(function)
