"""From files to a file: edges, nodes and some labels are read, a label for every node is written.

found = from_files(GraphFiles("edges.csv", nodes="nodes.csv"), "labels.csv", out="labelled.csv")
found.labelling.labels, found.labelling.estimate, found.summary()

What could not be read or written is refused before the work begins.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from querist.atomic import check_writable
from querist.errors import InputError, refuse
from querist.labelling.decisions.summary import class_numbers, class_sizes, rank_numbers
from querist.labelling.growth import label_joined
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling, label
from querist.labelling.options import LabelKeywords, LabelOptions
from querist.labelling.reading import OF_FILES, FileName, GraphFiles, Source, check_weights, classes_in
from querist.labelling.storage import RowKeywords, write as write_rows
from querist.operator.threads import one_blas_thread
from querist.progress import Progress, silent, stages
from querist.tables.formats import some
from querist.tables.labels import Seeds
from querist.tables.names import NodeTexts
from querist.tables.output import check_place

WORTH = {"reading": 0.4, "labelling": 10.0, "influences": 0.7, "writing": 0.1, "saving": 0.1, "report": 0.2}
"""About how long the stages take, compared with each other, on a large graph."""


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
    command: str = "",
    progress: Progress | None = None,
    **keywords: Unpack[LabelKeywords],
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
    command : how to do it again, for the page
    progress : called with (fraction done, what is being done); also while a step cannot tell how far it is
    keywords : the fields of `LabelOptions`, as in `label`

    >>> from tempfile import TemporaryDirectory
    >>> from querist.labelling.example import write_example
    >>> with TemporaryDirectory() as folder:
    ...     place = write_example(folder)
    ...     found = from_files(place / "edges.csv", place / "labels.csv", out=place / "labelled.csv")
    ...     len((place / "labelled.csv").read_text().splitlines())
    1798
    """
    asked = LabelOptions.resolve(None, keywords)
    idle = [name for name, given in (("probabilities", probabilities), ("safe_csv", safe_csv)) if given]
    refuse({f"{' and '.join(idle)}: no file of labels is written; give out=": idle and out is None})
    files = GraphFiles.of(graph, keywords)
    place = None if out is None else check_place(out, (*files.paths, labels), safe_csv=safe_csv)
    page = None
    if report is not None:
        from querist.labelling.page import check_report, report as report_of
        from querist.report.page import write

        page = check_report(Path(report))
    kept = None if save is None else check_writable(Path(save).expanduser())
    asked = asked.with_costs_read()
    unwanted = {"writing": place is None, "report": page is None, "saving": kept is None}
    worth = {stage: share for stage, share in WORTH.items() if not unwanted.get(stage)}
    # Threads of BLAS would wait for their next product at full speed, and take the time from ours.
    show = stages(progress or silent, worth)
    with one_blas_thread():
        show["reading"](0.0, f"reading {files.title}")
        first = 0
        if files.is_saved:
            source, seeds, found = _labelled_later(files, labels, asked, show["labelling"])
            first = found.n_old
        else:
            source = files.read(labels_elsewhere=labels is not None, progress=show["reading"])
            source = replace(source, graph=files.extended(source.graph))
            check_weights(source.graph)
            if labels is None:
                refuse({"ignore_unknown: no table of labels is given; leave it out": files.ignore_unknown})
                seeds = own_seeds(source)
            else:
                seeds = files.read_labels(labels, source.graph, multilabel=asked.multilabel)
            found = label(
                source.graph,
                seeds.labels,
                replace(asked, missing=files.missing),
                progress=show["labelling"],
            )
        if rank is not None:
            found.code_of(rank)  # a class that there is not is refused before what takes long
        who = influences(found, show["influences"])
        done = FilesLabelled(source, seeds, found, who, place, page, kept, first, rank)
        if place is not None:
            show["writing"](0.0, f"writing {place.name}")
            rows: RowKeywords = {"first": first, "probabilities": probabilities, "rank": rank}
            write_rows(found, place, found=who, safe_csv=safe_csv, **rows)
        if kept is not None:
            show["saving"](0.0, f"saving {kept.name}")
            found.save(kept)
        if page is not None:
            notes = source.graph.describe(notes=False), *done.notes
            progress = show["report"]
            texts = NodeTexts.of(source.table, files.id)
            write(page, report_of(found, who, notes, command, progress, rank, texts))
    return done


def _labelled_later(
    files: GraphFiles, labels: FileName | None, asked: LabelOptions, progress: Progress
) -> tuple[Source, Seeds, Labelling]:
    """A saved labelling with the nodes, edges and labels that came since."""
    name, changed = files.title, [own for own in asked.changed() if own not in OF_FILES]
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
    files.check_options(labels is not None)
    before = Labelling.load(files.paths[0])
    graph = files.extended(before.graph)
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
