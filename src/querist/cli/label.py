"""`querist label`: a label for every node of your own graph, from a file of some."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from querist.cli import options
from querist.cli.screen import Meter, print_json, print_line, print_table, progress
from querist.cli.stages import Stages

if TYPE_CHECKING:
    from querist.labelling.influence import Influences
    from querist.labelling.labelling import Labelling
    from querist.labelling.reading import Source
    from querist.tables.labels import Seeds

Edges = Annotated[
    str,
    typer.Argument(
        metavar="EDGES",
        help="Edges: .csv, .tsv, .parquet, .npz or .graphml, text also as .gz; - is the standard input.",
    ),
]
Nodes = Annotated[
    Path | None, typer.Option(help="Table of nodes; its numbers, categories and texts become attributes.")
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Table of known labels: node, label. Without it, those that the nodes or edges hold."),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the labels go: .csv, .tsv, .parquet.")
]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write an HTML page on what was found.")
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="auto chooses by cross-validation; or a method by its name.")
]
Several = Annotated[bool, typer.Option("--multi-label", help="A node may have several labels, a row each.")]
Picked = Annotated[
    bool,
    typer.Option(
        "--picked", help="The labelled nodes were picked, not drawn: their shares say nothing about classes."
    ),
]
Column = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of LABELS that holds the labels.")
]
Extend = Annotated[
    list[str] | None,
    typer.Option(metavar="EDGES2", help="Further edges to join, perhaps to new nodes; may be given again."),
]
ExtendNodes = Annotated[
    list[Path] | None,
    typer.Option(metavar="NODES2", help="Further nodes, with the columns of NODES; may be given again."),
]

WORTH = {"reading": 0.4, "labelling": 10.0, "influences": 0.7, "writing": 0.1, "report": 0.2}
"""About how long the stages take, compared with each other, on a large graph."""
BYTES_A_SECOND, ROWS_A_SECOND = 8e6, 3e5


def label(
    edges: Edges,
    out: Out,
    labels: Labels = None,
    nodes: Nodes = None,
    method: Method = "auto",
    multi_label: Several = False,
    picked: Picked = False,
    report: Report = None,
    extend: Extend = None,
    extend_nodes: ExtendNodes = None,
    label_column: Column = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Label every node of your own graph from the labels of some.

    Writes one row a node: node, label, probability, runner_up, reached, influences (the three labelled nodes
    that weighed most). Probabilities are calibrated on labels that were held out, and the accuracy to expect
    is estimated from them. A node that no label reaches is left without a label.
    """
    files = _Files(edges, nodes, labels, extend or [], extend_nodes or [])
    with progress() as meter:
        meter("label", 0.0, "beginning")  # what is loaded first takes a moment
        done = _label(meter, files, out, report, method, multi_label, picked, label_column, seed)
    if as_json:
        print_json({**_numbers(done), "out": str(done.place), "report": done.page and str(done.page)})
        return
    _print(done)
    print_line(f"{done.place}: {done.found.graph.n_nodes:,} rows")
    if done.page is not None:
        print_line(f"{done.page}: the report")


class _Files(NamedTuple):
    """What is read."""

    edges: str
    nodes: Path | None
    labels: Path | None
    more: list[str]
    more_nodes: list[Path]

    @property
    def bytes(self) -> float:
        """How large the graph is; packed text as if it were not."""
        named = (self.edges, self.nodes, *self.more, *self.more_nodes)
        paths = [Path(file).expanduser() for file in named if file is not None]
        return sum((4.0 if p.suffix == ".gz" else 1.0) * p.stat().st_size for p in paths if p.is_file())


class _Done(NamedTuple):
    """What came of it."""

    found: "Labelling"
    who: "Influences"
    source: "Source"
    known: "Seeds"
    place: Path
    page: Path | None


def _label(
    meter: Meter,
    files: _Files,
    out: Path,
    report: Path | None,
    method: str,
    multi_label: bool,
    picked: bool,
    column: str | None,
    seed: int,
) -> _Done:
    from querist.labelling import label as label_graph
    from querist.labelling.influence import influences
    from querist.labelling.output import columns_of
    from querist.labelling.page import check_report, write_report
    from querist.operator.threads import one_blas_thread
    from querist.tables.output import check_place, save

    inputs = (files.edges, files.nodes, files.labels, *files.more, *files.more_nodes)
    place, page = check_place(out, inputs), None if report is None else check_report(report)
    worth = {stage: share for stage, share in WORTH.items() if stage != "report" or page is not None}
    # Threads of BLAS would wait for their next product at full speed, and take the time from ours.
    with Stages(meter, "label", worth).ticking() as show, one_blas_thread():
        show.lasting("reading", f"reading {files.edges}", files.bytes / BYTES_A_SECOND)
        source, known = _read(files, multi_label, column)
        found = label_graph(
            source.graph,
            known.labels,
            method=method,
            multi_label=multi_label,
            picked=picked,
            seed=seed,
            progress=lambda fraction, text: show("labelling", fraction, text),
        )
        who = influences(found, lambda fraction, text: show("influences", fraction, text))
        show.lasting("writing", f"writing {place.name}", found.graph.n_nodes / ROWS_A_SECOND)
        save(columns_of(found, who, text=place.suffix.lower() != ".parquet"), place)
        if page is not None:
            write_report(
                found,
                who,
                page,
                notes=(source.graph.describe(notes=False), *source.graph.notes, *known.notes),
                command=f"querist {shlex.join(sys.argv[1:])}" if sys.argv[1:2] == ["label"] else "",
                progress=lambda fraction, text: show("report", fraction, text),
            )
    return _Done(found, who, source, known, place, page)


def _read(files: _Files, multi_label: bool, column: str | None) -> "tuple[Source, Seeds]":
    from dataclasses import replace

    from querist.errors import InputError
    from querist.labelling.growth import join
    from querist.labelling.reading import arrived, check_weights, read_source
    from querist.labels import class_order
    from querist.tables.labels import Seeds, read_seeds

    source = read_source(files.edges, files.nodes)
    graph = source.graph
    for edges, nodes in arrived(source, files.more, files.more_nodes):
        graph = join(graph, edges, nodes)
    check_weights(graph)
    source = replace(source, graph=graph)
    if files.labels is not None:
        return source, read_seeds(files.labels, graph.row_of, multi_label=multi_label, label=column)
    if not source.labels:
        raise InputError("no labels: give --labels a table with the columns node and label")
    sets = [own if isinstance(own, set) else {own} for own in source.labels.values()]
    classes = class_order(value for own in sets for value in own)
    return source, Seeds(source.labels, classes, (f"{len(source.labels):,} labels of the nodes themselves",))


# -- what was found -----------------------------------------------------------


def _numbers(done: _Done) -> dict[str, Any]:
    from querist.labelling.page import class_sizes

    found, graph, estimate = done.found, done.found.graph, done.found.estimate
    return {
        "graph": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "attributes": 0 if graph.attributes is None else int(graph.attributes.shape[1]),
        "notes": [*graph.notes, *done.known.notes],
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
        "influences": done.who.how,
    }


def _print(done: _Done) -> None:
    from querist.labelling.page import class_sizes
    from querist.tables.formats import some

    found = done.found
    print_line(done.source.graph.describe(notes=False))
    for note in (*done.source.graph.notes, *done.known.notes):
        print_line(f"  {note}")
    print_line("")
    for sentence in found.choice.why:
        print_line(sentence)
    print_line(f"Expected accuracy {found.estimate}: {found.estimate.how}")
    print_line(f"Influences: {done.who.how}\n")
    sizes, seeds = class_sizes(found), found.seeds
    given = seeds.sum(axis=0) if found.multi_label else [int((seeds == k).sum()) for k in range(sizes.size)]
    order = sorted(range(sizes.size), key=lambda k: -sizes[k])
    rows = [(str(found.classes[k]), f"{given[k]:,}", f"{sizes[k]:,}") for k in order[:20]]
    print_table(("class", "given", "nodes"), rows)
    if sizes.size > 20:
        print_line(f"and {sizes.size - 20} smaller classes")
    lost = int((~found.reached).sum())
    if lost:
        print_line(f"{some(lost, 'node')} that no label reaches, and so without a label")
