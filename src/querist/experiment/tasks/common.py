"""What the tasks share: data by name, tables of settings with known names, curves of few points."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np

from querist.errors import InputError, QueristError, UnknownNameError, check_name
from querist.experiment.specification import (
    TUNING_KEYS,
    Specification,
    SpecificationError,
    blame,
    files_digest,
)
from querist.experiment.tasks import DATA_AT_HAND
from querist.graph import Graph
from querist.parameters import Parameter, Range, parameters_of
from querist.types import Codes, Floats


def checked(
    given: Mapping[str, Any], factory: Callable[..., Any], table: str, apart: Iterable[str] = ()
) -> dict[str, Any]:
    """Values as the factory's annotations want them; what is to blame is a key of `table`.

    Read by the same reader as the command line's `--set`: "none" is None there and here.

    >>> def learner(*, h: float = 0.01) -> None: ...
    >>> checked({"h": "0.1"}, learner, "parameters")
    {'h': 0.1}
    """
    known, found = _known(factory, tuple(apart)), {}
    for name, value in given.items():
        with blame(table, name):
            if name not in known:
                also = TUNING_KEYS if table == "protocol" else ()
                raise UnknownNameError.of(_KINDS.get(table, f"{table} setting"), name, {*known, *also})
            found[name] = known[name].read(_text(value))
            known[name].check(found[name])
    return found


@lru_cache(maxsize=256)
def _known(factory: Callable[..., Any], apart: tuple[str, ...]) -> Mapping[str, Parameter]:
    """Signatures are slow to read, and every run asks for the same few."""
    return parameters_of(factory, apart)


_KINDS = {"parameters": "parameter", "grid": "parameter"}


def complete(spec: Specification, table: str, factory: Callable[..., Any]) -> dict[str, Any]:
    """The values of a table, names and kinds checked, and the factory's defaults of all that is not set."""
    apart = TUNING_KEYS if table == "protocol" else ()
    given = {name: value for name, value in getattr(spec, table).items() if name not in apart}
    defaults = {name: each.default for name, each in _known(factory, ()).items()}
    return defaults | checked(given, factory, table)


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
    """Let the method refuse values, before anything is run: those of each choice of the grid."""
    for choice in spec.choices:
        given = {**spec.parameters, **choice}
        try:
            make(**checked(given, factory, "parameters", apart))
        except (ValueError, QueristError) as problem:
            named = [name for name in given if re.search(rf"\b{re.escape(name)}\b", str(problem))]
            # A message may name another parameter too, later.
            named.sort(key=str(problem).index)
            table = "grid" if named and named[0] in choice else "parameters"
            raise SpecificationError(str(problem), (table, named[0]) if named else ("method",)) from problem


WARM: set[str] = set()
"""Classifiers, and methods of `label` after that word, that have been used in this process."""


def warm_up(warm: set[str], method: str, work: Callable[[], Any]) -> None:
    """Have a method compiled before its seconds are counted, once; what it refuses, the run refuses too."""
    if method not in warm:
        with suppress(QueristError):
            work()
        warm.add(method)


Share: TypeAlias = Annotated[float, Range(gt=0, lt=1)]
"""The share of the nodes or rows that is labelled; the others are the test."""


def graph_for(spec: Specification, how: Mapping[str, Any]) -> Graph:
    """The graph of a specification, by `component` and `nodes` of its representation."""
    nodes = how.get("nodes")
    if nodes is not None and spec.dataset not in DATA_AT_HAND:
        with blame("representation", "nodes"):
            if not Path(nodes).expanduser().is_file():
                raise InputError(f"{nodes}: no such file; give the path of a table of nodes and labels")
            if not Path(spec.dataset).expanduser().is_file():
                raise InputError(f"a table of nodes goes with a graph in a file; {spec.dataset!r} is none")
    with blame("dataset"):
        return graph_of(spec.dataset, how.get("component") == "largest", nodes)


def graph_of(dataset: str, largest: bool = False, nodes: str | None = None) -> Graph:
    """The graph of this name or path, with a table of its nodes; read once a process.

    >>> graph_of("karate").n_nodes
    34
    """
    graph: Graph | None = DATA_AT_HAND.get(dataset)
    if graph is None:
        graph = _graph(dataset, nodes, files_digest(dataset, nodes or ""))
    return graph.largest_component() if largest else graph


@lru_cache(maxsize=4)
def _graph(dataset: str, nodes: str | None, digest: str) -> Graph:
    from querist.datasets import load_graph
    from querist.graph import as_graph

    if nodes is None:
        return load_graph(dataset)
    return as_graph(Path(dataset).expanduser(), nodes=Path(nodes).expanduser(), attributes=True)


def vectors_of(dataset: str, label: str | None = None) -> tuple[Any, Codes, int]:
    """Rows, class codes and the number of classes of a data set of vectors, or of a file of them.

    label : the column of the file with the labels

    >>> Path("rows.csv").write_text("a,label\\n1.0,x\\n2.0,y\\n")
    20
    >>> vectors_of("rows.csv", "label")[1:]
    (array([0, 1]), 2)
    """
    found = DATA_AT_HAND.get(dataset)
    return _rows(*found) if found is not None else _vectors(dataset, label, files_digest(dataset))


@lru_cache(maxsize=4)
def _vectors(dataset: str, label: str | None, digest: str) -> tuple[Any, Codes, int]:
    from querist.datasets.resolve import labelled_vectors

    return _rows(*labelled_vectors(dataset, label))


def _rows(X: Any, codes: Codes, classes: Sequence[Any], name: str) -> tuple[Any, Codes, int]:
    if (codes < 0).any():
        raise InputError(
            f"{name} has {int((codes < 0).sum())} rows without a label, which cannot be judged; leave them "
            "out, or pipe them to querist evaluate stream -"
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
