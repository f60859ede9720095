"""From files to a file: edges, nodes and some labels are read, a label for every node is written.

found = from_files(GraphFiles("edges.csv", nodes="nodes.csv"), "labels.csv", out="labelled.csv")
found.labelling.labels, found.labelling.estimate, found.summary()

What could not be read or written is refused before the work begins.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from querist.atomic import check_writable
from querist.datasets import is_path, load_graph, table_of
from querist.errors import InputError, refuse
from querist.graph import Graph
from querist.graph.entries import Parallel
from querist.labelling.decisions.goals import Costs, check_goal
from querist.labelling.decisions.summary import class_numbers, class_sizes, rank_numbers
from querist.labelling.growth import join, label_joined
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling, label
from querist.labelling.reading import Source, arrived, check_weights, own_labels, read_source, source_of
from querist.labelling.storage import WHAT, Rows, columns_of
from querist.labels import class_order
from querist.operator.threads import one_blas_thread
from querist.progress import Progress, Stages, silent
from querist.saved import holds
from querist.tables.arrow import pa
from querist.tables.files import STANDARD_INPUT
from querist.tables.formats import some
from querist.tables.labels import Seeds, read_costs, read_seeds
from querist.tables.nodes import NodeTable
from querist.tables.output import check_place, save as write_table

FileName = str | PathLike[str]
Arrived = tuple[Graph | None, NodeTable | None]

WORTH = {"reading": 0.4, "labelling": 10.0, "influences": 0.7, "writing": 0.1, "saving": 0.1, "report": 0.2}
"""About how long the stages take, compared with each other, on a large graph."""
BYTES_A_SECOND, ROWS_A_SECOND = 8e6, 3e5


@dataclass(frozen=True)
class GraphFiles:
    """Where a graph is read from.

    Parameters
    ----------
    edges : the name of a data set, or a file of edges in any format that `as_graph` takes; "-" is the
        standard input. For `from_files` also a saved labelling, to which `extend` and `extend_nodes` are new
    nodes : a table of the nodes, whose columns become attributes
    extend : further files of edges, perhaps to new nodes
    extend_nodes : further tables of nodes, with the columns of `nodes`
    source, target, weight : columns of the edges that have no usual name
    id, label_column : columns of the nodes that have no usual name; those of a table of labels too
    missing : the label that means "unlabelled", besides an empty field; "nan" for no other, so that -1 beside
        class numbers is a class
    parallel : the weight of an edge that a file gives more than once: "max" (the default), "sum" or "first";
        between files the largest counts, so that a file may be given again

    >>> _ = Path("payments.csv").write_text("payer,payee\\nann,bob\\nbob,cy\\n")
    >>> GraphFiles("payments.csv", source="payer", target="payee").read().graph.n_nodes
    3
    """

    edges: FileName
    nodes: FileName | None = None
    extend: Sequence[FileName] = ()
    extend_nodes: Sequence[FileName] = ()
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label_column: str | None = None
    missing: str | None = None
    parallel: Parallel | None = None

    @property
    def is_named(self) -> bool:
        """Whether `edges` is the name of a data set."""
        return not is_path(self.edges)

    @property
    def is_saved(self) -> bool:
        """Whether `edges` is a saved labelling."""
        return not self.is_named and str(self.edges) != STANDARD_INPUT and holds(self.paths[0], WHAT)

    @property
    def paths(self) -> list[Path]:
        """Every file that is read, but for the standard input."""
        named = (None if self.is_named else self.edges, self.nodes, *self.extend, *self.extend_nodes)
        return [Path(file).expanduser() for file in named if file is not None and str(file) != STANDARD_INPUT]

    @property
    def bytes(self) -> float:
        """How much is read; packed text as if it were not."""
        return sum(
            (4.0 if path.suffix == ".gz" else 1.0) * path.stat().st_size
            for path in self.paths
            if path.is_file()
        )

    def read(self, *, labels_elsewhere: bool = False, progress: Progress | None = None) -> Source:
        """The graph of `edges` and `nodes`; the nodes may lack `label_column` where labels are elsewhere."""
        if self.is_named:
            options = {"nodes": self.nodes, **self._columns}
            if not labels_elsewhere:  # otherwise these are about the table of labels
                options |= {"id": self.id, "labels": self.label_column}
            given = {name: value for name, value in options.items() if value is not None}
            found = source_of(load_graph(self.edges, progress=progress or silent, **given))
            shown = table_of(str(self.edges))
            return replace(found, table=None if shown is None else pa.table(shown))
        return read_source(
            str(self.edges),
            None if self.nodes is None else Path(self.nodes),
            id=self.id,
            label=self.label_column,
            elsewhere=labels_elsewhere,
            **self._columns,
        )

    @property
    def _columns(self) -> dict[str, Any]:
        """Of the edges, and what no label is, as `as_graph` calls them."""
        given: dict[str, Any] = {"source": self.source, "target": self.target, "weights": self.weight}
        given |= {"parallel": self.parallel, "missing": self.missing}
        return {name: value for name, value in given.items() if value is not None}

    def arrivals(self) -> list[Arrived]:
        """(edges, nodes) of the further files, to be joined to the graph one after the other."""
        edges, nodes = [str(file) for file in self.extend], [Path(file) for file in self.extend_nodes]
        return list(arrived(edges, nodes, id=self.id, **self._columns))

    def read_all(self, *, labels_elsewhere: bool = False, progress: Progress | None = None) -> Source:
        """The graph with all that the further files hold."""
        source = self.read(labels_elsewhere=labels_elsewhere, progress=progress)
        graph = source.graph
        for edges, nodes in self.arrivals():
            graph = join(graph, edges, nodes)
        return replace(source, graph=graph)

    def read_labels(
        self,
        labels: FileName,
        graph: Graph,
        *,
        multilabel: bool = False,
        least: int = 2,
        strangers: bool = False,
    ) -> Seeds:
        """The labels in a table, or of a data set, for nodes of this graph (see `read_seeds`)."""
        if not is_path(labels):
            return _named_seeds(str(labels), graph, least, strangers)
        return read_seeds(
            Path(labels),
            graph.row_of,
            multilabel=multilabel,
            label=self.label_column,
            id=self.id,
            missing=self.missing,
            least=least,
            strangers=strangers,
        )


@dataclass(frozen=True)
class FilesLabelled:
    """What was read, what came of it, and where it was written; None where nothing was to be.

    `first` is the row of the first node that is written, `rank` the class by which rows are ordered.

    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\nc,d\\n")
    >>> _ = Path("labels.csv").write_text("node,label\\na,cat\\nd,dog\\n")
    >>> done = from_files("edges.csv", "labels.csv", method="harmonic", out="found.csv")
    >>> done.labelling.labels, done.out.name
    (['cat', 'cat', 'dog', 'dog'], 'found.csv')
    """

    source: Source
    seeds: Seeds
    labelling: Labelling
    influences: Influences
    out: Path | None
    report: Path | None
    saved: Path | None
    first: int = 0
    rank: Hashable = None

    @property
    def rows(self) -> int:
        """How many rows are written: one a node, or one a new node."""
        return self.labelling.graph.n_nodes - self.first

    @property
    def notes(self) -> tuple[str, ...]:
        """In sentences, what was found in the files and done with it."""
        return (*self.source.graph.notes, *self.seeds.notes)

    def summary(self) -> dict[str, Any]:
        """What was found, in numbers and plain values."""
        found, graph, estimate = self.labelling, self.labelling.graph, self.labelling.estimate
        return {
            "graph": graph.name,
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
            "attributes": 0 if graph.attributes is None else int(graph.attributes.shape[1]),
            "notes": list(self.notes),
            "new": len(found.new),
            "labelled": int(found.is_labelled.sum()),
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
            "goal": found.decision.goal,
            **class_numbers(found),
            "rank": None if self.rank is None else rank_numbers(found, self.rank),
            "influences": self.influences.how,
            "out": self.out and str(self.out),
            "report": self.report and str(self.report),
            "saved": self.saved and str(self.saved),
        }


def from_files(
    graph: GraphFiles | FileName,
    labels: FileName | None = None,
    *,
    out: FileName | None = None,
    report: FileName | None = None,
    save: FileName | None = None,
    safe_csv: bool = False,
    probabilities: bool = False,
    rank: Hashable = None,
    method: str = "auto",
    multilabel: bool = False,
    picked: bool = False,
    goal: str = "accuracy",
    costs: FileName | Costs | None = None,
    seed: int = 0,
    device: str | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> FilesLabelled:
    """Label every node of a graph in files, and write a row a node.

    Parameters
    ----------
    graph : its files; a name alone is that of the edges, or of a data set. Where they begin with a saved
        labelling, the nodes that came since are labelled and written, as by `Labelling.label_new`
    labels : a table of known labels (see `tables/labels.py`), or a data set whose nodes are those of the
        graph; those that the nodes or edges hold by default
    out : where the labels go, as CSV, TSV or parquet by the name
    report : where a page on what was found goes
    save : where the labelling is kept (`Labelling.save`), for nodes that come later
    safe_csv : whether a text that a spreadsheet would run gets an apostrophe before it, in CSV and TSV; such
        a file does not read back as it was
    probabilities : whether a column for each class is written
    rank : a class whose likeliest nodes are written first; those whose label was given come last
    method, multilabel, picked, goal, seed, device : as in `label`
    costs : as in `label`; or a table with the columns true, said and cost
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
    page = None
    if report is not None:
        from querist.labelling.page import check_report, write_report

        page = check_report(Path(report))
    kept = None if save is None else check_writable(Path(save).expanduser())
    if isinstance(costs, str | PathLike):
        costs = read_costs(Path(costs).expanduser())
    check_goal(goal, costs)
    unwanted = {"writing": place is None, "report": page is None, "saving": kept is None}
    worth = {stage: share for stage, share in WORTH.items() if not unwanted.get(stage)}
    # Threads of BLAS would wait for their next product at full speed, and take the time from ours.
    with Stages(progress or silent, worth).ticking() as show, one_blas_thread():
        show.lasting("reading", f"reading {files.edges}", files.bytes / BYTES_A_SECOND)
        options: dict[str, Any] = {"method": method, "multilabel": multilabel, "picked": picked, "seed": seed}
        options |= {"goal": goal, "costs": costs, "device": device}
        first = 0
        if files.is_saved:
            source, seeds, found = _labelled_later(files, labels, options, part_of(show, "labelling"))
            first = found.n_old
        else:
            source = files.read_all(labels_elsewhere=labels is not None, progress=part_of(show, "reading"))
            check_weights(source.graph)
            if labels is None:
                seeds = own_seeds(source)
            else:
                seeds = files.read_labels(labels, source.graph, multilabel=multilabel)
            found = label(
                source.graph,
                seeds.labels,
                missing=files.missing,
                progress=part_of(show, "labelling"),
                **options,
            )
        if rank is not None:
            found.code_of(rank)  # a class that there is not is refused before what takes long
        who = influences(found, part_of(show, "influences"))
        done = FilesLabelled(source, seeds, found, who, place, page, kept, first, rank)
        if place is not None:
            show.lasting("writing", f"writing {place.name}", found.graph.n_nodes / ROWS_A_SECOND)
            rows = Rows(first, probabilities, rank)
            table = columns_of(found, who, rows, text=place.suffix.lower() != ".parquet")
            write_table(table, place, safe=safe_csv)
        if kept is not None:
            show.lasting("saving", f"saving {kept.name}", found.graph.n_nodes / ROWS_A_SECOND)
            found.save(kept)
        if page is not None:
            write_report(
                found,
                who,
                page,
                rank=rank,
                notes=(source.graph.describe(notes=False), *done.notes),
                command=command,
                progress=part_of(show, "report"),
            )
    return done


def part_of(show: Stages, stage: str) -> Progress:
    """What a stage of the work calls."""
    return lambda fraction, text: show(stage, fraction, text)


def _labelled_later(
    files: GraphFiles, labels: FileName | None, options: Mapping[str, Any], progress: Progress
) -> tuple[Source, Seeds, Labelling]:
    """A saved labelling with the nodes, edges and labels that came since."""
    usual = {"method": "auto", "multilabel": False, "picked": False, "seed": 0}
    usual |= {"goal": "accuracy", "costs": None, "device": None}
    name, changed = files.edges, [option for option, value in options.items() if value != usual[option]]
    new = (*files.extend, *files.extend_nodes)
    refuse(
        {
            f"{name} is a saved labelling and has its nodes; give new ones to --extend-nodes": files.nodes,
            f"{name} is a saved labelling and keeps its {', '.join(changed)}; leave that out, or label the "
            "files anew": changed,
            f"{name} is a saved labelling, and nothing is new; give new edges (--extend) or new nodes "
            "(--extend-nodes)": not new and labels is None,
        }
    )
    before = Labelling.load(files.paths[0])
    graph = before.graph
    for edges, nodes in files.arrivals():
        graph = join(graph, edges, nodes)
    seeds = Seeds({}, before.classes, (f"{some(int(before.is_labelled.sum()), 'label')} of {name}",))
    if labels is not None:
        more = files.read_labels(labels, graph, multilabel=before.multilabel, least=1)
        seeds = Seeds(more.labels, more.classes, (*seeds.notes, *more.notes))
    found = label_joined(before, graph, seeds.labels, progress=progress)
    return Source(graph, {}), seeds, found


def own_seeds(source: Source) -> Seeds:
    """The labels that a graph came with."""
    if not source.labels:
        raise InputError("no labels: give --labels a table with the columns node and label")
    notes = [f"{len(source.labels):,} labels of the nodes themselves"]
    if len(source.labels) == source.graph.n_nodes:
        notes.append(
            "every node has its label already, so none is found; give --labels a table of some of them"
        )
    return Seeds(source.labels, classes_in(source.labels), tuple(notes))


def _named_seeds(name: str, graph: Graph, least: int, strangers: bool) -> Seeds:
    """The labels of a data set, for the nodes that the graph has."""
    labels = own_labels(load_graph(name))
    here = {node: own for node, own in labels.items() if node in graph.row_of}
    missing = next((node for node in labels if node not in graph.row_of), None)
    if missing is not None and not (strangers and here):
        raise InputError(f"{name}: node {missing!r} is not in the graph; give labels of its own nodes")
    classes = classes_in(here)
    if len(classes) < least:
        raise InputError(f"{name} has {some(len(classes), 'class', 'es')} of labels; at least {least} needed")
    return Seeds(here, classes, (f"{some(len(here), 'labelled node')} of {name}",))


def classes_in(labels: Mapping[Hashable, Any]) -> tuple[Hashable, ...]:
    """The classes of labels by node, which may be sets."""
    sets = (own if isinstance(own, set) else {own} for own in labels.values())
    return class_order(value for own in sets for value in own)
