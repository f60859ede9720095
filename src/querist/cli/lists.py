"""`querist datasets` and `querist algorithms`: what there is to run, and on what."""

import inspect
import pkgutil
from types import SimpleNamespace
from typing import Any

from querist.cli.options import Json
from querist.cli.screen import print_json, print_line, print_table, width

APART = ("seed",)
"""Parameters of a factory that are not for `--set`: every shuffle has a seed of its own."""
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
NOT_LISTED = (*APART, "budget", "rounds", "tie_order", "classes", "missing", "progress")
"""Parameters that all algorithms have, or that come with the data."""


def algorithms(
    as_json: Json = False,
) -> None:
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


def datasets(
    as_json: Json = False,
) -> None:
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
