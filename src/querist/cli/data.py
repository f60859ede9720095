"""The graph or the vectors that a command line names: by the name of a data set, or of a file."""

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

    def fetching(file: str, done: int, total: int) -> None:
        show("fetching", done / total if total else 0.0, f"{file}, {done / 1e6:.1f} MB")

    show("reading", 0.0, data)
    called = {"weight": "weights", "label_column": "labels"}
    given: dict[str, Any] = {called.get(name, name): value for name, value in columns.items()}
    if nodes is not None:
        given["nodes"] = nodes.expanduser()
    graph = load_graph(data, report=fetching, **given)
    show("reading", 1.0, graph.name)
    return graph.largest_component() if largest else graph


def read_vectors(
    data: str, label_column: str | None, show: Meter
) -> "tuple[Any, Codes, tuple[Any, ...], str]":
    """The rows, class codes (-1 where unlabelled), classes and name of the set or file called `data`."""
    from querist.datasets.rows import read_vectors as read

    show("reading", 0.0, data)
    found = read(data, label_column)
    show("reading", 1.0, found[3])
    return found
