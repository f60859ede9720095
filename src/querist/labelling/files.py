"""From files to a file: edges, nodes and some labels are read, a label for every node is written.

found = from_files(GraphFiles("edges.csv", nodes="nodes.csv"), "labels.csv", out="labelled.csv")
found.labelling.labels, found.labelling.estimate, found.summary()

What could not be read or written is refused before the work begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from querist.embedding.progress import Progress
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.growth import NewNodes, join
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling, label
from querist.labelling.output import check_place, columns_of, save
from querist.labelling.page import check_report, class_sizes, write_report
from querist.labelling.reading import Source, arrived, check_weights, read_source
from querist.labelling.seeds import Seeds, read_seeds
from querist.labelling.stages import Stages
from querist.labels import class_order
from querist.operator.threads import one_blas_thread

FileName = str | PathLike[str]
Arrived = tuple[Graph | None, NewNodes | None]

WORTH = {"reading": 0.4, "labelling": 10.0, "influences": 0.7, "writing": 0.1, "report": 0.2}
"""About how long the stages take, compared with each other, on a large graph."""
BYTES_A_SECOND, ROWS_A_SECOND = 8e6, 3e5


@dataclass(frozen=True)
class GraphFiles:
    """Where a graph is read from.

    Parameters
    ----------
    edges : a file of edges, of any format that `as_graph` takes; "-" is the standard input
    nodes : a table of the nodes, whose columns become attributes
    extend : further files of edges, perhaps to new nodes
    extend_nodes : further tables of nodes, with the columns of `nodes`
    """

    edges: FileName
    nodes: FileName | None = None
    extend: Sequence[FileName] = ()
    extend_nodes: Sequence[FileName] = ()

    @property
    def paths(self) -> list[Path]:
        """Every file that is read, but for the standard input."""
        named = (self.edges, self.nodes, *self.extend, *self.extend_nodes)
        return [Path(file).expanduser() for file in named if file is not None and str(file) != "-"]

    @property
    def bytes(self) -> float:
        """How much is read; packed text as if it were not."""
        return sum(
            (4.0 if path.suffix == ".gz" else 1.0) * path.stat().st_size
            for path in self.paths
            if path.is_file()
        )

    def read(self) -> Source:
        """The graph of `edges` and `nodes`."""
        return read_source(str(self.edges), None if self.nodes is None else Path(self.nodes))

    def arrivals(self, source: Source) -> list[Arrived]:
        """(edges, nodes) of the further files, to be joined to the graph one after the other."""
        return list(
            arrived(source, [str(file) for file in self.extend], [Path(file) for file in self.extend_nodes])
        )

    def read_all(self) -> Source:
        """The graph with all that the further files hold."""
        source = self.read()
        graph = source.graph
        for edges, nodes in self.arrivals(source):
            graph = join(graph, edges, nodes)
        return replace(source, graph=graph)


@dataclass(frozen=True)
class FilesLabelled:
    """What was read, what came of it, and where it was written; None where nothing was to be."""

    source: Source
    seeds: Seeds
    labelling: Labelling
    influences: Influences
    out: Path | None
    report: Path | None

    @property
    def notes(self) -> tuple[str, ...]:
        """In sentences, what was found in the files and done with it."""
        return (*self.source.notes, *self.seeds.notes)

    def summary(self) -> dict[str, Any]:
        """What was found, in numbers and plain values."""
        found, graph, estimate = self.labelling, self.labelling.graph, self.labelling.estimate
        return {
            "graph": graph.name,
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
            "attributes": 0 if graph.attributes is None else int(graph.attributes.shape[1]),
            "notes": [*graph.notes, *self.notes],
            "labelled": int(found.labelled.sum()),
            "reached": int(found.reached.sum()),
            "classes": dict(zip(map(str, found.classes), class_sizes(found).tolist(), strict=True)),
            "method": found.choice.method,
            "representation": found.choice.representation,
            "why": list(found.choice.why),
            "scores": [
                {"name": s.name, "accuracy": s.accuracy, "log_loss": s.log_loss, "weight": s.weight}
                for s in found.choice.scores
            ],
            "accuracy": {
                "expected": float(estimate.accuracy),
                "low": float(estimate.low),
                "high": float(estimate.high),
                "how": estimate.how,
            },
            "influences": self.influences.how,
            "out": self.out and str(self.out),
            "report": self.report and str(self.report),
        }


def from_files(
    graph: GraphFiles | FileName,
    labels: FileName | None = None,
    *,
    out: FileName | None = None,
    report: FileName | None = None,
    label_column: str | None = None,
    method: str = "auto",
    multi_label: bool = False,
    picked: bool = False,
    seed: int = 0,
    command: str = "",
    progress: Progress | None = None,
) -> FilesLabelled:
    """Label every node of a graph in files, and write a row a node.

    Parameters
    ----------
    graph : its files; a name alone is that of the edges
    labels : a table of known labels (see `seeds.py`); those that nodes or edges hold by default
    out : where the labels go, as CSV, TSV or parquet by the name
    report : where a page on what was found goes
    label_column : the column of `labels` that holds them
    method, multi_label, picked, seed : as in `label`
    command : how to do it again, for the page
    progress : called with (fraction done, what is being done); also while a step cannot tell how far it is

    >>> from tempfile import TemporaryDirectory
    >>> from querist.labelling.example import write_example
    >>> with TemporaryDirectory() as folder:
    ...     place = write_example(folder)
    ...     found = from_files(place / "edges.csv", place / "labels.csv", out=place / "labelled.csv")
    ...     len((place / "labelled.csv").read_text().splitlines())
    1798
    """
    files = graph if isinstance(graph, GraphFiles) else GraphFiles(graph)
    place = None if out is None else check_place(out, (*files.paths, labels))
    page = None if report is None else check_report(Path(report))
    unwanted = {"writing": place is None, "report": page is None}
    worth = {stage: share for stage, share in WORTH.items() if not unwanted.get(stage)}
    # Threads of BLAS would wait for their next product at full speed, and take the time from ours.
    with Stages(progress or (lambda fraction, text: None), worth).ticking() as show, one_blas_thread():
        show.lasting("reading", f"reading {files.edges}", files.bytes / BYTES_A_SECOND)
        source = files.read_all()
        check_weights(source.graph)
        seeds = seeds_of(source, labels, multi_label=multi_label, label_column=label_column)
        found = label(
            source.graph,
            seeds.labels,
            method=method,
            multi_label=multi_label,
            picked=picked,
            seed=seed,
            progress=lambda fraction, text: show("labelling", fraction, text),
        )
        who = influences(found, lambda fraction, text: show("influences", fraction, text))
        done = FilesLabelled(source, seeds, found, who, place, page)
        if place is not None:
            show.lasting("writing", f"writing {place.name}", found.graph.n_nodes / ROWS_A_SECOND)
            save(columns_of(found, who, text=place.suffix.lower() != ".parquet"), place)
        if page is not None:
            write_report(
                found,
                who,
                page,
                notes=(source.graph.describe(), *done.notes),
                command=command,
                progress=lambda fraction, text: show("report", fraction, text),
            )
    return done


def seeds_of(
    source: Source, labels: FileName | None = None, *, multi_label: bool, label_column: str | None = None
) -> Seeds:
    """The labels in a file, or without one those that the graph came with."""
    if labels is not None:
        return read_seeds(Path(labels), source.graph, multi_label=multi_label, label=label_column)
    if not source.labels:
        raise InputError("no labels: give --labels a table with the columns node and label")
    sets = [own if isinstance(own, set) else {own} for own in source.labels.values()]
    classes = class_order(value for own in sets for value in own)
    return Seeds(source.labels, classes, (f"{len(source.labels):,} labels of the nodes themselves",))
