"""`querist reproduce`: the tables and figures of the five papers, beside the published numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from querist.cli import options
from querist.cli.screen import meter, print_json, print_line, print_table, progress, resumable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from querist.experiment.item import Item, Table
    from querist.experiment.reproduce import Outputs

PAPERS = ("sslgc13", "msg16", "pounce08", "bls19", "mrgm15")
"""The names in `querist.papers`, for a help text that must not load them; a test keeps the two equal."""


def reproduce(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}.")] = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ITEM...", help="Its tables or figures; all by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every item of every paper.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller grids.")] = False,
    out: options.Out = Path("querist-results"),
    processes: options.Processes = 0,
    cluster: options.Cluster = None,
    as_json: options.Json = False,
) -> None:
    """Recompute tables and figures of the papers.

    Without a paper it lists what there is. Each number stands beside the published one with a verdict: the
    paper's own systems are reached within the tolerance, better beyond it, or not reached; its rivals agree
    or differ. The full protocol is the default.

    Every run is kept in the folder as it finishes: stop it, and start it again to go on. Tables (Markdown,
    LaTeX, CSV), figures (SVG, PNG), a page for each paper and results.json are written there.
    """
    from querist.errors import InputError
    from querist.experiment.reproduce import reproduce as made
    from querist.papers import all_items, item_of, items_of

    known = all_items()
    if everything and paper is not None:
        raise InputError(f"--all and {paper}; give one of the two")
    if not everything and paper is None:
        _print_items(known, as_json)
        return
    if paper is None:
        items = known
    else:
        items = [item_of(paper, name) for name in dict.fromkeys(names)] if names else list(items_of(paper))
    with resumable(out), progress() as show:
        outputs = made(
            items,
            out,
            quick=quick,
            processes=processes,
            cluster=cluster,
            progress=meter(show),
            known=known,
        )
    if as_json:
        print_json(outputs.rows())
    else:
        _print_outputs(outputs, out)


def _print_items(items: list["Item"], as_json: bool) -> None:
    if as_json:
        print_json([{"paper": i.paper.name, "item": i.name, "title": i.title} for i in items])
        return
    print_table(
        ("paper", "item", "what it is"),
        [(i.paper.name, i.name, i.title) for i in items],
        text_columns=(0, 1, 2),
    )
    print_line("Run one with: querist reproduce PAPER ITEM; all with: querist reproduce --all")


def _print_outputs(outputs: "Outputs", out: Path) -> None:
    from querist.experiment.index import outside, totals

    for done in outputs.done:
        print_line(f"{done.item.label}: {done.item.title}\n")
        _print_tables(done.shown.tables)
        for remark in done.shown.remarks:
            print_line(remark)
        print_line("")
    rows = outputs.rows()
    if rows:
        _print_tables(totals(rows))
        print_line(outside(rows))
    for item, why in outputs.left_out.items():
        print_line(f"Left out: {item}; {why}")
    print_line(f"Everything is in {out}.")


def _print_tables(given: "Sequence[Table]") -> None:
    from querist.experiment import tables

    for table in given:
        print_line(table.title)
        print_table(table.columns, tables.cells(table), text_columns=tables.text_columns(table))
        if table.note:
            print_line(table.note)
