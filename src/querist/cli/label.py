"""`querist label`: a label for every node of your own graph, from a file of some."""

import shlex
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, print_parquet, print_table, progress, visible
from querist.errors import InputError
from querist.graph_options import FileOptions
from querist.labelling.options import LabelOptions
from querist.options import with_options

if TYPE_CHECKING:
    from querist.labelling.files import FilesLabelled


@options.with_columns
@with_options("settings", options.declared(LabelOptions))
def label(
    *,
    data: options.MaybeData = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where the labels go: .csv, .tsv, .parquet; a folder."
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="Table of known labels: node, label. Without it, those that DATA or NODES hold.",
        ),
    ] = None,
    nodes: options.Nodes = None,
    settings: options.Values = MappingProxyType({}),
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write a column for each class.")
    ] = False,
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Write the likeliest nodes of a class first, with their probability."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page on what was found.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also keep the labelling, for nodes that come later: DATA may be such a file.",
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    extend: options.Extend = None,
    extend_nodes: options.ExtendNodes = None,
    columns: options.Values = MappingProxyType({}),
    cluster: options.Cluster = None,
    as_json: options.Json = False,
) -> None:
    """Label every node of your own graph from the labels of some.

    Writes one row a node: node, label, probability, runner_up, reached, influences (the three labelled nodes
    that weighed most). Probabilities are calibrated on labels that were held out, and the accuracy to expect
    is estimated from them, as are precision and recall of every class. A node that no label reaches is left
    without a label.

    Without DATA, each row of NODES is joined to its nearest neighbours by what its columns hold.

    Where DATA is a labelling that --save kept, the nodes that --extend and --extend-nodes bring are labelled,
    in no time, and written alone.

    With --cluster DATA, LABELS and NODES are folders of parquet or CSV that all workers see, NODES with rows
    of node, attribute, count; the labels go to a folder, as parquet: node, label, probability, reached.

    Examples:

    querist label edges.csv --labels labels.csv --out labelled.csv
    querist label --nodes points.csv --labels labels.csv --out labelled.csv
    """
    if cluster is not None:
        if data is None:
            raise InputError("--cluster needs DATA, a folder of edges")
        options.refuse_on_cluster(LabelOptions, settings)
        strange = {
            "--probabilities": probabilities,
            "--rank": rank is not None,
            "--report": report is not None,
            "--save": save is not None,
            "--safe-csv": safe_csv,
            "--extend": bool(extend),
            "--extend-nodes": bool(extend_nodes),
        }
        options.refuse_beside("--cluster", strange)
        options.refuse_on_cluster(FileOptions, columns)
        if labels is None:
            raise InputError("--cluster needs --labels, a folder of tables with the columns node and label")
        from querist.cluster import label as label_there

        with progress() as meter:
            meter("label", 0.0, f"on {cluster}")
            there = label_there(data, labels, out, cluster=cluster, attributes=nodes, **columns, **settings)
        print_parquet(there, as_json)
        return
    with progress() as meter:
        meter("label", 0.0, "beginning")  # what is loaded first takes a moment
        from querist.labelling import GraphFiles, from_files

        done = from_files(
            GraphFiles(data, nodes, extend or (), extend_nodes or (), **columns),
            labels,
            out=out,
            report=report,
            save=save,
            safe_csv=safe_csv,
            probabilities=probabilities,
            rank=rank,
            command=f"querist {shlex.join(sys.argv[1:])}" if sys.argv[1:2] == ["label"] else "",
            progress=lambda fraction, text: meter("label", fraction, text),
            **settings,
        )
    if as_json:
        print_json(done.summary())
        return
    _print(done)
    print_line(f"{done.out}: {done.rows:,} rows")
    if done.report is not None:
        print_line(f"{done.report}: the report")
    if done.saved is not None:
        print_line(f"{done.saved}: the labelling, for nodes that come later")


def _print(done: "FilesLabelled") -> None:
    from querist.labelling.decisions.summary import class_sizes, class_words, sentences
    from querist.tables.formats import some

    found = done.labelling
    lines = [
        done.source.graph.describe(notes=False),
        *(f"  {note}" for note in done.notes),
        "",
        *found.choice.why,
        f"Expected accuracy {found.estimate}: {found.estimate.how}",
        *sentences(found, done.rank),
        f"Influences: {done.influences.how}\n",
    ]
    print_line("\n".join(lines))
    sizes, given = class_sizes(found), found.known.sizes
    order = sorted(range(sizes.size), key=lambda k: -sizes[k])
    rows = [
        (visible(str(found.classes[k])), f"{given[k]:,}", f"{sizes[k]:,}", *class_words(found, k))
        for k in order[:20]
    ]
    print_table(("class", "given", "nodes", "precision", "recall", "average precision"), rows)
    if sizes.size > 20:
        print_line(f"and {sizes.size - 20} smaller classes")
    lost = int((~found.reached).sum())
    if lost:
        print_line(f"{some(lost, 'node')} that no label reaches, and so without a label")
