"""What the tasks share: data by name, tables of settings with known names, curves of few points."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.lab.specification import TUNING_KEYS, Specification, SpecificationError, blame
from querist.parameters import Parameter, parameters_of
from querist.types import Codes, Floats


def settings(spec: Specification, table: str, factory: Callable[..., Any]) -> dict[str, Any]:
    """The values of a table as a factory with its defaults takes them, names and kinds checked."""
    given = getattr(spec, table)
    if table == "protocol":
        given = {name: value for name, value in given.items() if name not in TUNING_KEYS}
    return checked(given, factory, table)


def checked(
    given: Mapping[str, Any], factory: Callable[..., Any], table: str, apart: Iterable[str] = ()
) -> dict[str, Any]:
    """Values as the factory's annotations want them; what is to blame is a key of `table`.

    Read by the same reader as the command line's `--set`: "none" is None there and here.
    """
    known, found = _known(factory, tuple(apart)), {}
    for name, value in given.items():
        with blame(table, name):
            if name not in known:
                also = TUNING_KEYS if table == "protocol" else ()
                raise UnknownNameError.of(_KINDS.get(table, f"{table} setting"), name, {*known, *also})
            found[name] = known[name].read(_text(value))
    return found


@lru_cache(maxsize=256)
def _known(factory: Callable[..., Any], apart: tuple[str, ...]) -> Mapping[str, Parameter]:
    """Signatures are slow to read, and every run asks for the same few."""
    return parameters_of(factory, apart)


_KINDS = {"parameters": "parameter", "grid": "parameter"}


def complete(spec: Specification, table: str, factory: Callable[..., Any]) -> dict[str, Any]:
    """`settings`, and the defaults of all that is not set."""
    defaults = {name: each.default for name, each in _known(factory, ()).items()}
    return {**defaults, **settings(spec, table, factory)}


def checked_method(
    spec: Specification, catalogue: Mapping[str, Callable[..., Any]], apart: Iterable[str]
) -> Callable[..., Any]:
    """The factory of a specification's method, its parameters and its grid checked."""
    if spec.method not in catalogue:
        with blame("method"):
            raise UnknownNameError.of("method", spec.method, catalogue)
    factory = catalogue[spec.method]
    checked(spec.parameters, factory, "parameters", apart)
    for name, values in spec.grid.items():
        for value in values:
            checked({name: value}, factory, "grid", apart)
    return factory


def try_out(
    spec: Specification, factory: Callable[..., Any], make: Callable[..., Any], apart: Iterable[str]
) -> None:
    """Let the method refuse values before anything is run: those given, and each of the grid."""
    first = {name: values[0] for name, values in spec.grid.items()}
    choices: list[dict[str, Any]] = [{}] if spec.parameters else []
    choices += [{name: value} for name, values in spec.grid.items() for value in values]
    for choice in choices:
        given = {**spec.parameters, **first, **choice}
        try:
            make(**checked(given, factory, "parameters", apart))
        except ValueError as problem:
            name = _named(str(problem), given, choice)
            if name is not None:
                where = ("grid" if name in spec.grid else "parameters", name)
                raise SpecificationError(str(problem), where) from problem
            if isinstance(problem, InputError):
                raise SpecificationError(str(problem), ("parameters",)) from problem


def _named(message: str, given: Iterable[str], choice: Iterable[str]) -> str | None:
    """The parameter that a message is about: one being tried, one it begins with, one it names at all."""
    named = [name for name in given if re.search(rf"\b{re.escape(name)}\b", message)]
    named.sort(key=lambda name: (name not in choice, not message.startswith(f"{name} ")))
    return named[0] if named else None


def share(spec: Specification, value: float, most: float = 1.0) -> None:
    """Refuse a labelled share that is none."""
    if not 0 < value <= most:
        raise SpecificationError(
            f"labelled = {value!r}; it must be a share above 0 and {'at most' if most >= 1 else 'below'} 1",
            ("protocol", "labelled"),
        )


@lru_cache(maxsize=4)
def graph_of(dataset: str, largest: bool = False) -> Any:
    """The graph of this name; read once a process."""
    from querist.datasets import load_graph

    if largest:
        return graph_of(dataset).largest_component()
    return load_graph(dataset)


@lru_cache(maxsize=4)
def vectors_of(dataset: str) -> tuple[Any, Codes, int]:
    """Rows, class codes and the number of classes of a data set of vectors, or of a file of them."""
    from querist.datasets.rows import read_vectors

    X, codes, classes, name = read_vectors(dataset)
    if (codes < 0).any():
        raise InputError(f"{name} needs a label in every row")
    return X, codes, len(classes)


def scaled_to_unit(X: Any) -> Any:
    """Every feature brought to [-1, 1]; a constant one becomes -1."""
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / np.where(high > low, high - low, 1) - 1


def few_points(n: int, points: int) -> Codes:
    """(points,) at most: where a curve of n values is read, evenly, the last value among them.

    >>> few_points(10, 5)
    array([1, 3, 5, 7, 9])
    """
    return np.unique((np.arange(1, points + 1) * n) // points - 1).clip(0)


def running_mean(flags: Any) -> Floats:
    """(n,) the mean of all up to here."""
    return np.asarray(np.cumsum(flags) / np.arange(1, len(flags) + 1))


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
