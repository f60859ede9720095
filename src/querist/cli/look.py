"""`querist demo`, `datasets` and `algorithms`: see it work, and what there is to run, and on what."""

import inspect
import pkgutil
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from querist.cli.options import Json, Seed
from querist.cli.screen import print_json, print_line, print_table, progress, width

KINDS = {
    "algorithm": ("querist.online:ALGORITHMS", "querist evaluate online DATA --method NAME"),
    "model": ("querist.labelling.members:MEMBERS", "querist label DATA --method NAME"),
    "classifier": ("querist.collective:CLASSIFIERS", "querist evaluate collective DATA --method NAME"),
    "stream learner": ("querist.budgeted:STREAMS", "querist evaluate stream DATA --method NAME"),
    "query strategy": ("querist.asking:STRATEGIES", "querist ask DATA --strategy NAME"),
    "embedding": ("querist.embedding.kinds:KINDS", "querist embed DATA --embedding NAME"),
}
"""What there is to choose from: where it is registered, and a verb that takes its names."""
BESIDE = {
    "query strategy": {
        "pool": SimpleNamespace(about="contrast; with --find, the node that is likeliest of that class"),
        "random": SimpleNamespace(about="any node, one as likely as another"),
    }
}
"""Names that a verb takes besides, and that are registered nowhere."""
NOT_LISTED = ("seed", "budget", "rounds", "tie_order", "classes", "missing", "progress")
"""Parameters that all algorithms have, or that come with the data."""


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the report; made if it is not there.")
    ] = Path("querist-demo"),
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


def algorithms(as_json: Json = False) -> None:
    """List algorithms, models, classifiers and query strategies.

    Each has its parameters and their defaults; change them with --set PARAMETER=VALUE. Every online algorithm
    spends a budget, at a pace if you like: --budget QUESTIONS --pace 1.

    Examples:

    querist algorithms
    querist algorithms --json
    """
    rows = _rows()
    if as_json:
        print_json(rows)
        return
    for kind, (_, verb) in KINDS.items():
        cells = []
        for row in rows:
            if row["kind"] == kind:
                parameters = "  ".join(f"{name}={value}" for name, value in row["parameters"].items())
                cells.append([row["name"], f"{row['about']}\n{parameters}".rstrip()])
        print_table([kind, "what it does; its parameters and their defaults"], cells, text_columns=(0, 1))
        print_line(f"Use one by its name: {verb}\n")


def _rows() -> list[dict[str, Any]]:
    from querist.embedding import kinds

    kinds.known()  # loads them
    return [
        {"kind": kind, "name": name, "about": _about(value), "parameters": _parameters(value)}
        for kind, (place, _) in KINDS.items()
        for name, value in {**BESIDE.get(kind, {}), **pkgutil.resolve_name(place)}.items()
    ]


def _about(value: Any) -> str:
    """The words of a value; of a class or a function its first line."""
    own = getattr(value, "method", value)  # of a model, which has a place in the ensemble beside
    words = (getattr(own, name, "") for name in ("about", "reason", "what"))
    return next(filter(None, words), "") or (inspect.getdoc(value) or "").partition("\n")[0]


def _parameters(value: Any) -> dict[str, Any]:
    from querist.parameters import parameters_of

    if not callable(value):
        return {}
    known = parameters_of(value, NOT_LISTED).values()
    return {p.name: p.default for p in known if p.name != "pace" or p.default is not None}


def datasets(as_json: Json = False) -> None:
    """List the data sets, and where they come from.

    bundled: it comes with Querist. QUERIST_DATA: it lies in the directory of that
    name. cache: it was downloaded before. download: it will be fetched when first
    used. absent: it has no public address; put its file into QUERIST_DATA.

    Examples:

    querist datasets
    querist datasets --json
    """
    from dataclasses import fields

    from querist.datasets.registry import Row
    from querist.datasets.resolve import catalogue

    rows = catalogue()
    if as_json:
        print_json([{own.name: getattr(row, own.name) for own in fields(Row)} for row in rows])
        return
    head = ["name", "nodes", "edges", "classes", "attributes", "from"]
    cells = [
        [
            r.name,
            *map(_count, (r.nodes, r.edges, r.classes, r.attributes)),
            f"{r.source}: damaged" if r.kind == "damaged" else r.source,
        ]
        for r in rows
    ]
    if width() >= 120:
        head.append("what it is")
        cells = [[*line, row.about] for line, row in zip(cells, rows, strict=True)]
    print_table(head, cells, text_columns=(0, 5, 6))
    if any(row.kind == "vectors" for row in rows):
        print_line("Sets without edges are vectors: their nodes are rows, their attributes features.")
    print_line("Run an algorithm on a graph: querist evaluate online NAME")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
