"""The graph or the vectors that a command line names, by a data set or a file, and a task's runs on them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from querist.cli.options import Values
from querist.cli.screen import Meter, meter, progress
from querist.graph_options import FileOptions

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.graph import Graph
    from querist.types import Codes


def read_graph(data: str, nodes: Path | None, largest: bool, columns: Values, show: Meter) -> "Graph":
    """The graph called `data`, or in the file of that name with a table of nodes where one is given.

    >>> read_graph("karate", None, False, {}, lambda stage, fraction, text="": None).n_nodes
    34
    """
    from querist.datasets import load_graph

    show("reading", 0.0, data)
    given = FileOptions(**columns).of_graph()
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
    *,
    repeats: int,
    seed: int = 0,
    protocol: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, "Result", Any]:
    """What `read` gives, the runs of a task on it, and what the task prepared of it.

    `chosen` are the method's parameters; a representation of None is left to the task. The rest is as in a
    `Specification`.

    >>> read = partial(read_graph, "karate", None, False, {})
    >>> _, result, _ = measured("collective", "karate", read, "harmonic", {}, repeats=1)
    >>> len(result.outcomes)
    1
    """
    from querist.experiment import Specification, run_here

    spec = Specification(
        task,
        data,
        method,
        {name: "none" if value is None else value for name, value in chosen.items()},
        representation={name: value for name, value in representation.items() if value is not None},
        protocol=protocol,
        repeats=repeats,
        seed=seed,
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
