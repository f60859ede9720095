"""`querist reproduce`: the tables and figures of the five papers, beside the published numbers."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.extend import print_found, print_line, print_tables, running, shared_options
from querist_papers import PAPERS, all_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from querist_papers.item import Item
    from querist_papers.reproduce import Outputs


def starting(names: "Callable[[], Iterable[str]]") -> "Callable[[str], list[str]]":
    """What a shell offers to complete."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _items(context: typer.Context, incomplete: str) -> list[str]:
    """The items of the paper that stands before them."""
    named = [item.name for item in all_items() if context.params.get("paper") in (None, item.paper.name)]
    return starting(lambda: named)(incomplete)


@shared_options
def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help=f"One of {', '.join(PAPERS)}.",
            autocompletion=starting(lambda: PAPERS),
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ITEM",
            help="Its tables or figures; all by default.",
            autocompletion=_items,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every item of every paper.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller grids.")] = False,
    out: Path = Path("querist-results"),
    processes: int = 0,
    cluster: str | None = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Results to compare with, seconds left out; the exit code is 1 if a number differs.",
        ),
    ] = None,
    as_json: bool = False,
) -> None:
    """Recompute tables and figures of the papers.

    Without a paper it lists what there is. Each number stands beside the published one with a verdict: the
    paper's own systems are reached within the tolerance, better beyond it, or not reached; its rivals agree
    or differ. The full protocol is the default.

    Every run is kept in the folder as it finishes: stop it, and start it again to go on. Tables (Markdown,
    CSV), figures (SVG, PNG), an index and results.json are written there.

    Examples:

    querist reproduce msg16 --quick
    querist reproduce --all --out results
    querist reproduce --all --out fresh --compare docs/results
    """
    from querist import InputError
    from querist_papers import item_of, items_of
    from querist_papers.compare import differences, refuse_without_results
    from querist_papers.reproduce import reproduce as made

    known = all_items()
    if everything and paper is not None:
        raise InputError(f"--all and {paper}; give one of the two")
    if not everything and paper is None:
        _print_items(known, as_json)
        return
    items = known if paper is None else items_of(paper)
    if paper is not None and names:
        items = [item_of(paper, name) for name in dict.fromkeys(names)]
    if compare is not None:
        refuse_without_results(compare)
    started = time.monotonic()
    with running(out) as (_, progress):
        outputs = made(
            items,
            out,
            quick=quick,
            processes=processes,
            cluster=cluster,
            progress=progress,
            known=known,
        )
    minutes = (time.monotonic() - started) / 60
    print_found(outputs.rows(), as_json, lambda rows: _print_outputs(outputs, rows, out, minutes))
    if compare is not None:
        _print_differences(differences(out, compare, items), compare)


def _print_differences(found: list[str], folder: Path) -> None:
    """The first fifty, and how many there are."""
    for line in found[:50]:
        typer.echo(line, err=True)
    typer.echo(f"{len(found):,} cells differ from {folder}, seconds left out.", err=True)
    if found:
        raise typer.Exit(1)


def _print_items(items: list["Item"], as_json: bool) -> None:
    from querist.experiment import Table

    def listed(rows: Any) -> None:
        print_tables([Table("", ["paper", "item", "what it is"], [[*row.values()] for row in rows])])
        print_line("Run one with: querist reproduce PAPER ITEM; all with: querist reproduce --all")

    print_found([{"paper": i.paper.name, "item": i.name, "title": i.title} for i in items], as_json, listed)


def _print_outputs(outputs: "Outputs", rows: Any, out: Path, minutes: float) -> None:
    from querist_papers.index import outside, shares, totals

    for done in outputs.done:
        print_line(f"{done.item.label}: {done.item.title}\n")
        print_tables(done.shown.tables)
        for remark in done.shown.remarks:
            print_line(remark)
        print_line("")
    if rows:
        for sentence in shares(rows):
            print_line(sentence)
        print_tables(totals(rows))
        print_line(outside(rows))
    for item, why in outputs.left_out.items():
        print_line(f"Left out: {item}; {why}")
    print_line(f"Everything is in {out}; it took {minutes:.1f} minutes.")
