"""`querist bound`: one run, and what theory says about its mistakes and questions."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import typer

from querist.extend import (
    measured,
    print_found,
    print_line,
    print_tables,
    read_graph,
    read_settings,
    shared_options,
)
from querist_papers.verbs.reproduce import starting

NAMES = ("pounce", "perceptron", "nearest", "ollgc", "sslgc", "bbq", "cmog", "cmog_selected", "msg")
"""Algorithms with a bound, for a help text that must not load them; a test keeps the two equal."""
ON_GRAPH = ("pounce", "perceptron", "nearest")


@shared_options
def bound(
    data: str,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"One of {', '.join(NAMES)}.", autocompletion=starting(lambda: NAMES)
        ),
    ] = "pounce",
    rank: int | None = None,
    normalised: Annotated[
        bool, typer.Option("--normalised", help="Use the normalised Laplacian; the papers use D - S.")
    ] = False,
    constant: Annotated[float, typer.Option(help="Value of the constant column; the papers use 3.")] = 1.0,
    component: Literal["all", "largest"] = "all",
    seed: int = 0,
    points: Annotated[
        bool,
        typer.Option(
            "--points", help="Join the rows of the attributes by exp(-a d), for Theorem 8 (pounce)."
        ),
    ] = False,
    settings: list[str] | None = None,
    nodes: Path | None = None,
    columns: Mapping[str, Any] = MappingProxyType({}),
    as_json: bool = False,
) -> None:
    """Run an algorithm once and print its bounds.

    The labelled nodes come in one random order. Beside the mistakes and the questions of the run stand the
    bounds that the papers prove for them, with every term, and whether their assumptions hold here. Bounds in
    expectation are about the mean over the learner's draws.

    One-vs-rest algorithms have a bound for every class. pounce, perceptron and nearest run on the graph
    itself, the others on an embedding.

    Examples:

    querist bound karate
    querist bound two_moons --points
    querist bound cora --method msg --seed 1 --json
    """
    from querist import ALGORITHMS, InputError

    if settings and method == "perceptron":
        raise InputError(f"--set {settings[0]}; the perceptron has no parameters: leave it out")
    chosen = read_settings(ALGORITHMS[method], settings, ("seed",)) if settings else {}
    representation = {"rank": rank, "normalised": normalised, "constant": constant, "component": component}
    if method in ON_GRAPH:
        for name, default in (("rank", None), ("normalised", False), ("constant", 1.0)):
            if representation[name] != default:
                raise InputError(f"--{name} does not go with --method {method}; leave one of the two out")
    graph, result, _ = measured(
        "bound",
        data,
        partial(read_graph, data, nodes, component == "largest", columns),
        method,
        chosen,
        representation=representation,
        protocol={"points": points},
        repeats=1,
        seed=seed,
    )
    (outcome,) = result.outcomes
    bounds = [
        {**each, "class": None if each["problem"] is None else str(graph.classes[each["problem"]])}
        for each in outcome.details["bounds"]
    ]
    found = {
        "method": method,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "parameters": outcome.details["parameters"],
        "seed": seed,
        **{name: int(outcome.numbers[name]) for name in ("rounds", "mistakes", "questions")},
        "notes": outcome.details["notes"],
        "bounds": bounds,
    }
    print_found(found, as_json, _print_report, graph.describe())


def _print_report(found: dict[str, Any]) -> None:
    from querist.experiment import Cell, Table

    print_line(
        f"{found['method']}: {found['mistakes']:,} mistakes and {found['questions']:,} questions in "
        f"{found['rounds']:,} rounds, seed {found['seed']}\n"
    )
    rows = [
        (
            each["source"] if each["class"] is None else f"{each['source']}; class {each['class']}",
            Cell(each["observed"], digits=0),
            Cell(each["value"], digits=1),
            f"E[{each['what']}]" if each["in_expectation"] else each["what"],
            ", ".join(f"{term} {value:.4g}" for term, value in each["terms"].items()),
        )
        for each in found["bounds"]
    ]
    print_tables([Table("", ["bound", "observed", "at most", "what", "terms"], rows)])
    for text in dict.fromkeys(_remarks(found["bounds"])):
        print_line(text)


def _remarks(bounds: list[dict[str, Any]]) -> list[str]:
    broken = [
        f"Assumption that does not hold: {assumption} ({each['source']})."
        for each in bounds
        for assumption, holds in each["assumptions"].items()
        if not holds
    ]
    return broken + [f"{each['source']}: {each['note']}." for each in bounds if each["note"]]
