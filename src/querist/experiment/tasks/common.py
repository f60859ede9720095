"""What the tasks share: data by name, tables of settings with known names, curves of few points."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError, QueristError, UnknownNameError, check_name
from querist.experiment.specification import (
    TUNING_KEYS,
    Specification,
    SpecificationError,
    blame,
    files_digest,
)
from querist.experiment.tasks import data_at_hand
from querist.graph import Graph
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
    with blame("method"):
        check_name("method", spec.method, catalogue)
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
    choices: list[dict[str, Any]] = [{}]
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
                blamed = "parameters" if spec.parameters else "method"
                raise SpecificationError(str(problem), (blamed,)) from problem


def _named(message: str, given: Iterable[str], choice: Iterable[str]) -> str | None:
    """The parameter that a message is about: one being tried, one it begins with, one it names at all."""
    named = [name for name in given if re.search(rf"\b{re.escape(name)}\b", message)]
    named.sort(key=lambda name: (name not in choice, not message.startswith(f"{name} ")))
    return named[0] if named else None


def warm_up(warm: set[str], method: str, work: Callable[[], Any]) -> None:
    """Have a method compiled before its seconds are counted, once; what it refuses, the run refuses too."""
    if method not in warm:
        with suppress(QueristError):
            work()
        warm.add(method)


def share(spec: Specification, value: float, most: float = 1.0) -> None:
    """Refuse a labelled share that is none."""
    if not 0 < value <= most:
        raise SpecificationError(
            f"labelled = {value!r}; it must be a share "
            + ("above 0 and at most 1" if most >= 1 else "between 0 and 1"),
            ("protocol", "labelled"),
        )


def graph_for(spec: Specification, how: Mapping[str, Any]) -> Graph:
    """The graph of a specification, by `component` and `nodes` of its representation."""
    nodes = how.get("nodes")
    if nodes is not None and data_at_hand(spec.dataset) is None:
        with blame("representation", "nodes"):
            if not Path(nodes).expanduser().is_file():
                raise InputError(f"{nodes}: no such file; give the path of a table of nodes and labels")
            if not Path(spec.dataset).expanduser().is_file():
                raise InputError(f"a table of nodes goes with a graph in a file; {spec.dataset!r} is none")
    with blame("dataset"):
        return graph_of(spec.dataset, how.get("component") == "largest", nodes)


def graph_of(dataset: str, largest: bool = False, nodes: str | None = None) -> Graph:
    """The graph of this name or path, with a table of its nodes; read once a process."""
    graph: Graph | None = data_at_hand(dataset)
    if graph is not None:
        return graph.largest_component() if largest else graph
    return _graph(dataset, largest, nodes, files_digest(dataset, nodes or ""))


@lru_cache(maxsize=4)
def _graph(dataset: str, largest: bool, nodes: str | None, digest: str) -> Graph:
    from querist.datasets import load_graph
    from querist.graph import as_graph

    if largest:
        return _graph(dataset, False, nodes, digest).largest_component()
    if nodes is None:
        return load_graph(dataset)
    return as_graph(Path(dataset).expanduser(), nodes=Path(nodes).expanduser(), attributes=True)


def vectors_of(dataset: str, label: str | None = None) -> tuple[Any, Codes, int]:
    """Rows, class codes and the number of classes of a data set of vectors, or of a file of them.

    label : the column of the file with the labels
    """
    found = data_at_hand(dataset)
    return _rows(*found) if found is not None else _vectors(dataset, label, files_digest(dataset))


@lru_cache(maxsize=4)
def _vectors(dataset: str, label: str | None, digest: str) -> tuple[Any, Codes, int]:
    from querist.datasets.resolve import labelled_vectors

    return _rows(*labelled_vectors(dataset, label))


def _rows(X: Any, codes: Codes, classes: Sequence[Any], name: str) -> tuple[Any, Codes, int]:
    if (codes < 0).any():
        raise InputError(
            f"{name} has {int((codes < 0).sum())} rows without a label, which cannot be judged; leave them "
            "out, or pipe them to querist stream -"
        )
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
