"""`querist demo`: see it work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli.options import Json, Seed
from querist.cli.screen import print_json, print_line, print_table, progress

if TYPE_CHECKING:
    from querist.demo import DemoRuns


FOLDER = Path("querist-demo")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report; made if it is not there.")] = FOLDER,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Label handwritten digits by asking about a few.

    MSG chooses what to ask. Compared with asking as often at random, as often by
    the margin alone, and about every digit. Ends with a table and writes a report
    with curves and pictures.
    """
    from querist.demo import comparison, make_folder, play, write_report

    folder = make_folder(out)
    with progress(keep=True) as show:
        outcome = play(seed, show)
        show("report", 0.0, "drawing")
        path = write_report(outcome, folder)
        show("report", 1.0, f"{path}")
    if as_json:
        print_json(_as_json(outcome, path))
        return
    print_line(outcome.graph.describe())
    print_table(("asking", "questions", "of all", "wrong guesses", "wrong on the rest"), comparison(outcome))
    print_line(
        "A guess counts before any answer. The rest: digits never asked about, at the end.\n"
        "Margin: where the two best classes are closest, as early as MSG on average.\n"
        f"Random: {len(outcome.random)} draws, mean and standard deviation. {outcome.seconds:.1f} s in all.\n"
        f"Report: {path}"
    )


def _as_json(outcome: "DemoRuns", path: Path) -> dict[str, Any]:
    from querist.demo.play import SETTINGS

    chosen = outcome.chosen
    return {
        "dataset": "digits",
        "nodes": outcome.graph.n_nodes,
        "seed": outcome.seed,
        "settings": SETTINGS,
        "msg": {
            "questions": outcome.questions,
            "error_rate": chosen.error_rate,
            "rest_wrong": float(chosen.rest_wrong[-1]),
        },
        "random": {
            "questions": outcome.questions,
            "error_rate": outcome.random_error.as_dict(),
            "rest_wrong": outcome.random_rest_wrong.as_dict(),
        },
        "margin": {
            "questions": int(outcome.margin.asked.sum()),
            "error_rate": outcome.margin.error_rate,
            "rest_wrong": float(outcome.margin.rest_wrong[-1]),
        },
        "everything": {"questions": outcome.graph.n_nodes, "error_rate": outcome.everything.error_rate},
        "seconds": outcome.seconds,
        "report": str(path),
    }
