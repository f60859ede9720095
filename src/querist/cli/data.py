"""The graph that a command line names: by a name, or by a path."""

from pathlib import Path
from typing import TYPE_CHECKING

from querist.cli.screen import Meter

if TYPE_CHECKING:
    from querist.graph import Graph


def read_graph(data: str, nodes: Path | None, largest: bool, show: Meter) -> "Graph":
    """The graph called `data`, with the labels and numbers of a node table where one is given."""
    from querist.datasets import load_graph
    from querist.graph import as_graph

    def fetching(file: str, done: int, total: int) -> None:
        show("fetching", done / total if total else 0.0, f"{file}, {done / 1e6:.1f} MB")

    show("reading", 0.0, data)
    if nodes is None:
        graph = load_graph(data, report=fetching)
    else:
        graph = as_graph(Path(data).expanduser(), nodes=nodes.expanduser(), attributes=True)
    show("reading", 1.0, graph.name)
    return graph.largest_component() if largest else graph


def check_labels(graph: "Graph") -> None:
    """Refuse a graph on which answers cannot be simulated."""
    from querist.errors import InputError

    if graph.label_matrix is not None:
        raise InputError(f"{graph.name} has several labels a node; online learners need one label a node")
    if graph.labelled.size == 0:
        raise InputError(
            f"{graph.name} has no labels, so nothing can answer; use a labelled set, or give --nodes a table "
            "with the columns node and label"
        )
    if graph.n_classes < 2:
        raise InputError(f"{graph.name} has one class only, {graph.classes[0]!r}; at least 2 are needed")
