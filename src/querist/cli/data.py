"""The graph or the vectors that a command line names, by a data set or a file, and a task's runs on them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from querist.cli.options import Values
from querist.cli.screen import Meter, meter, progress

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.graph import Graph
    from querist.types import Codes


def read_graph(data: str, nodes: Path | None, largest: bool, columns: Values, show: Meter) -> "Graph":
    """The graph called `data`, or in the file of that name with a table of nodes where one is given."""
    from querist.datasets import load_graph

    show("reading", 0.0, data)
    called = {"weight": "weights", "label_column": "labels"}
    given: dict[str, Any] = {called.get(name, name): value for name, value in columns.items()}
    if nodes is not None:
        given["nodes"] = nodes.expanduser()
    graph = load_graph(data, progress=partial(show, "fetching"), **given)
    show("reading", 1.0, graph.name)
    return graph.largest_component() if largest else graph


def read_vectors(
    data: str, label_column: str | None, show: Meter
) -> "tuple[Any, Codes, tuple[Any, ...], str]":
    """The rows, class codes (-1 where unlabelled), classes and name of the set or file called `data`."""
    from querist.datasets.resolve import labelled_vectors

    show("reading", 0.0, data)
    found = labelled_vectors(data, label_column)
    show("reading", 1.0, found[3])
    return found


def measured(
    task: str,
    data: str,
    read: Callable[[Meter], Any],
    method: str,
    chosen: Mapping[str, Any],
    representation: Mapping[str, Any] = MappingProxyType({}),
    **rest: Any,
) -> tuple[Any, "Result", Any]:
    """What `read` gives, the runs of a task on it, and what the task prepared of it.

    `chosen` are the method's parameters; a representation of None is left to the task. `rest` is the rest of
    the specification.
    """
    from querist.experiment import Specification, run_here

    spec = Specification(
        task,
        data,
        method,
        {name: "none" if value is None else value for name, value in chosen.items()},
        representation={name: value for name, value in representation.items() if value is not None},
        **rest,
    )
    with progress() as show:
        found = read(show)
        result, prepared = run_here(
            spec,
            found,
            preparing=lambda done, text: show("embedding", done, text),
            progress=meter(show),
        )
    return found, result, prepared
