"""`querist bound`: one run, and what theory says about its mistakes and questions."""

from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import typer

from querist.cli import options
from querist.cli.data import measured, read_graph
from querist.cli.lists import APART, ON_GRAPH
from querist.cli.screen import print_found, print_line, print_table
from querist.errors import check_name
from querist.parameters import effective, read_settings

NAMES = ("pounce", "nearest", "ollgc", "sslgc", "bbq", "cmog", "cmog_selected", "msg")
"""Algorithms with a bound, for a help text that must not load them; a test keeps the two equal."""


@options.with_columns
def bound(
    data: options.Data,
    algorithm: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.")] = "pounce",
    rank: options.Rank = None,
    laplacian: options.Matrix = "combinatorial",
    constant: options.Constant = 1.0,
    component: options.Part = "all",
    seed: options.Seed = 0,
    settings: options.Settings = None,
    nodes: options.Nodes = None,
    columns: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
) -> None:
    """Run an algorithm once and print its bounds.

    The labelled nodes come in one random order. Beside the mistakes and the questions of the run stand the
    bounds that the papers prove for them, with every term, and whether their assumptions hold here. Bounds in
    expectation are about the mean over the learner's draws.

    One-vs-rest algorithms have a bound for every class. pounce and nearest run on the graph itself, the
    others on an embedding.
    """
    from querist.online.catalogue import ALGORITHMS

    check_name("algorithm with a bound", algorithm, NAMES)
    factory = ALGORITHMS[algorithm]
    chosen = read_settings(factory, settings or [], APART)
    graph, result, _ = measured(
        "bound",
        data,
        partial(read_graph, data, nodes, component == "largest", columns),
        algorithm,
        chosen,
        representation={
            "rank": None if algorithm in ON_GRAPH else rank,
            "normalised": laplacian == "normalised",
            "constant": constant,
            "component": component,
        },
        repeats=1,
        seed=seed,
    )
    (outcome,) = result.outcomes
    bounds = [
        {**each, "class": None if each["problem"] is None else str(graph.classes[each["problem"]])}
        for each in outcome.details["bounds"]
    ]
    found = {
        "algorithm": algorithm,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "parameters": effective(factory, chosen, APART),
        "seed": seed,
        **{name: int(outcome.numbers[name]) for name in ("rounds", "mistakes", "questions")},
        "notes": outcome.details["notes"],
        "bounds": bounds,
    }
    print_found(found, as_json, _print_report, graph.describe())


def _print_report(found: dict[str, Any]) -> None:
    print_line(
        f"{found['algorithm']}: {found['mistakes']:,} mistakes and {found['questions']:,} questions in "
        f"{found['rounds']:,} rounds, seed {found['seed']}\n"
    )
    rows = [
        (
            each["source"] if each["class"] is None else f"{each['source']}; class {each['class']}",
            f"{each['observed']:,.0f}",
            f"{each['value']:,.1f}",
            f"E[{each['what']}]" if each["in_expectation"] else each["what"],
            ", ".join(f"{term} {value:.4g}" for term, value in each["terms"].items()),
        )
        for each in found["bounds"]
    ]
    print_table(("bound", "observed", "at most", "what", "terms"), rows, text_columns=(0, 3, 4))
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
