"""The graph or the vectors that a command line names: by the name of a data set, or of a file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from querist.cli.options import Columns
from querist.cli.screen import Meter

if TYPE_CHECKING:
    from querist.graph import Graph
    from querist.types import Codes


def read_graph(data: str, nodes: Path | None, largest: bool, columns: Columns, show: Meter) -> "Graph":
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
