"""`querist datasets` and `querist algorithms`: what there is to run, and on what."""

import inspect
from typing import Any

from querist.cli.options import Json
from querist.cli.screen import print_json, print_line, print_table, width

NAMES = (
    "gpa",
    "ollgc",
    "sslgc",
    "cmog",
    "cmog_selected",
    "msg",
    "bbq",
    "bbq_eps",
    "dgs",
    "random_sampling",
    "margin_threshold",
    "pounce",
    "nearest",
    "paced",
    "fastonl",
)
"""The catalogue's names, for a help text that must not load the catalogue; a test keeps the two equal."""

ON_GRAPH = ("pounce", "nearest", "paced", "fastonl")
"""Algorithms that take the graph itself, unless a rank asks for an embedding."""

APART = ("seed",)
"""Parameters of a factory that are not for `--set`: every shuffle has a seed of its own."""


def algorithms(
    as_json: Json = False,
) -> None:
    """List the algorithms, their parameters, and the rules of `ask`."""
    rows = _rows()
    if as_json:
        print_json(rows)
        return
    cells = [
        [row["name"], "\n".join([row["about"], "  ".join(f"{k}={v}" for k, v in row["parameters"].items())])]
        for row in rows
    ]
    print_table(["algorithm", "what it does; its parameters and their defaults"], cells, text_columns=(0, 1))
    print_line("Change a parameter with: querist online DATA --algorithm NAME --set PARAMETER=VALUE")
    print_line("Every algorithm spends a budget, at a pace if you like: --budget QUESTIONS --pace 1")
    from querist.asking import RULES

    reasons = [[name, rule.reason] for name, rule in RULES.items()]
    print_table(["rule of ask", "why it asks about a node"], reasons, text_columns=(0, 1))
    print_line("Choose the next question by a rule with: querist ask EDGES --choose NAME")


def _rows() -> list[dict[str, Any]]:
    from querist import ALGORITHMS
    from querist.parameters import parameters_of

    return [
        {
            "name": name,
            "about": (inspect.getdoc(factory) or "").partition("\n")[0],
            "parameters": {
                p.name: p.default
                for p in parameters_of(factory, (*APART, "budget", "rounds", "tie_order")).values()
                if p.name != "pace" or p.default is not None
            },
        }
        for name, factory in ALGORITHMS.items()
    ]


def datasets(
    as_json: Json = False,
) -> None:
    """List the data sets, and where they come from.

    bundled: it comes with Querist. QUERIST_DATA: it lies in the directory of that
    name. cache: it was downloaded before. download: it will be fetched when first
    used. absent: it has no public address; put its file into QUERIST_DATA.
    """
    from dataclasses import asdict

    from querist.datasets import catalogue

    rows = catalogue()
    if as_json:
        print_json([asdict(row) for row in rows])
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
    print_line("Run an algorithm on a graph: querist online NAME")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
