"""`querist label`: a label for every node of your own graph, from a file of some."""

import shlex
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_found, print_json, print_line, print_table, progress, visible
from querist.errors import InputError

if TYPE_CHECKING:
    from querist.labelling.files import FilesLabelled


@options.with_columns
def label(
    data: options.Data,
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
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto chooses by cross-validation; or a method by its name.")
    ] = "auto",
    multilabel: Annotated[
        bool, typer.Option("--multi-label", help="A node may have several labels, a row each.")
    ] = False,
    picked: Annotated[
        bool,
        typer.Option(
            "--picked",
            help="The labelled nodes were picked, not drawn: their shares say nothing about classes.",
        ),
    ] = False,
    goal: Annotated[
        str,
        typer.Option(
            metavar="GOAL",
            help="What the labels shall have much of: accuracy, balanced (mean recall of the classes) or f1.",
        ),
    ] = "accuracy",
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Instead of a goal, a table of what confusions cost: true, said, cost."
        ),
    ] = None,
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
    seed: options.Seed = 0,
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Label every node of your own graph from the labels of some.

    Writes one row a node: node, label, probability, runner_up, reached, influences (the three labelled nodes
    that weighed most). Probabilities are calibrated on labels that were held out, and the accuracy to expect
    is estimated from them, as are precision and recall of every class. A node that no label reaches is left
    without a label.

    Where DATA is a labelling that --save kept, the nodes that --extend and --extend-nodes bring are labelled,
    in no time, and written alone.

    With --cluster DATA, LABELS and NODES are folders of parquet or CSV that all workers see, NODES with rows
    of node, attribute, count; the labels go to a folder, as parquet: node, label, probability, reached.
    """
    if cluster is not None:
        strange = {
            "--method": method != "auto",
            "--multi-label": multilabel,
            "--picked": picked,
            "--goal": goal != "accuracy",
            "--costs": costs is not None,
            "--probabilities": probabilities,
            "--rank": rank is not None,
            "--report": report is not None,
            "--save": save is not None,
            "--safe-csv": safe_csv,
            "--extend": bool(extend),
            "--extend-nodes": bool(extend_nodes),
        }
        options.refuse_beside("--cluster", strange)
        label_there(cluster, data, labels, nodes, out, columns, as_json, seed=seed)
        return
    with progress() as meter:
        meter("label", 0.0, "beginning")  # what is loaded first takes a moment
        from querist.labelling.files import GraphFiles, from_files

        done = from_files(
            GraphFiles(data, nodes, extend or (), extend_nodes or (), **columns),
            labels,
            out=out,
            report=report,
            save=save,
            safe_csv=safe_csv,
            probabilities=probabilities,
            rank=rank,
            method=method,
            multilabel=multilabel,
            picked=picked,
            goal=goal,
            costs=costs,
            seed=seed,
            device=device,
            command=f"querist {shlex.join(sys.argv[1:])}" if sys.argv[1:2] == ["label"] else "",
            progress=lambda fraction, text: meter("label", fraction, text),
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
    print_line(done.source.graph.describe(notes=False))
    for note in done.notes:
        print_line(f"  {note}")
    print_line("")
    for sentence in found.choice.why:
        print_line(sentence)
    print_line(f"Expected accuracy {found.estimate}: {found.estimate.how}")
    for sentence in sentences(found, done.rank):
        print_line(sentence)
    print_line(f"Influences: {done.influences.how}\n")
    sizes, seeds = class_sizes(found), found.given_codes
    given = seeds.sum(axis=0) if found.multilabel else [int((seeds == k).sum()) for k in range(sizes.size)]
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


def label_there(
    cluster: str, data: str, labels: str | None, nodes: Path | None, out: Path, columns: options.Values,
    as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """`querist label --cluster`; NODES are attributes."""
    from querist.cluster import label

    if labels is None:
        raise InputError("--cluster needs --labels, a folder of tables with the columns node and label")
    named = options.columns_there(columns)
    with progress() as show:
        show("label", 0.0, f"on {cluster}")
        done = label(data, labels, out, cluster=cluster, attributes=nodes, **named, **settings)
    print_found(
        done.as_dict(),
        as_json,
        lambda found: print_line(
            f"{done.report()}\n{found['out']}: {found['bytes'] / 1e6:.1f} MB of parquet"
        ),
    )
