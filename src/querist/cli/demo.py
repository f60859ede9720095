"""`querist demo`: see it work."""

from pathlib import Path
from typing import Annotated

import typer

from querist.cli.options import Json, Seed
from querist.cli.screen import print_json, print_line, print_table, progress

FOLDER = Path("querist-demo")


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the report; made if it is not there.")
    ] = FOLDER,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Label handwritten digits by asking about a few.

    MSG chooses what to ask. Compared with asking as often at random, as often by
    the margin alone, and about every digit. Ends with a table and writes a report
    with curves and pictures.

    Examples:

    querist demo
    querist demo --out digits --seed 1 --json
    """
    from querist.demo import REPORT, SETTINGS, SHUFFLES, comparison, play, report
    from querist.experiment.writing import make_folder
    from querist.report.page import write

    make_folder(out, REPORT)
    with progress(keep=True) as show:
        outcome = play(seed, show)
        show("report", 0.0, "drawing")
        path = write(out / REPORT, report(outcome))
        show("report", 1.0, f"{path}")
    found = {
        "dataset": "digits",
        "nodes": outcome.graph.n_nodes,
        "seed": seed,
        "settings": SETTINGS,
        **{
            way: {
                "questions": outcome.spread(way, "queries"),
                "error_rate": outcome.spread(way, "error_rate"),
            }
            for way in outcome.ways
        },
        "seconds": outcome.seconds,
        "report": str(path),
    }
    if as_json:
        print_json(found)
        return
    print_line(outcome.graph.describe())
    print_table(("asking", "questions", "of all", "wrong guesses"), comparison(outcome))
    print_line(
        "A guess counts before any answer. Mean and standard deviation over "
        f"{SHUFFLES} orders of the digits.\n"
        "Margin: where the two best classes are closest, as early as MSG on average.\n"
        f"{outcome.seconds:.1f} s in all. Report: {path}"
    )
