"""`querist bound`: one run, and what theory says about its mistakes and questions."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.algorithms import APART, ON_GRAPH
from querist.cli.data import check_labels, read_graph
from querist.cli.screen import print_json, print_line, print_table, progress

if TYPE_CHECKING:
    from querist.graph import Graph
    from querist.theory import Bound

NAMES = ("pounce", "nearest", "ollgc", "sslgc", "bbq", "cmog", "cmog_selected", "msg")
"""Algorithms with a bound, for a help text that must not load them; a test keeps the two equal."""


def bound(
    data: options.Data,
    algorithm: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.")] = "pounce",
    rank: options.Rank = None,
    laplacian: options.Matrix = options.Laplacian.COMBINATORIAL,
    constant: options.Constant = 1.0,
    component: options.Part = options.Component.ALL,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    nodes: options.Nodes = None,
    as_json: options.Json = False,
) -> None:
    """Run an algorithm once and print its bounds.

    The labelled nodes come in one random order. Beside the mistakes and the questions of the run stand the
    bounds that the papers prove for them, with every term, and whether their assumptions hold here. Bounds in
    expectation are about the mean over the learner's draws.

    One-vs-rest algorithms have a bound for every class. pounce and nearest run on the graph itself, the
    others on an embedding.
    """
    from querist.errors import UnknownNameError
    from querist.online.catalogue import ALGORITHMS
    from querist.online.experiment import learner_seed, shuffled
    from querist.parameters import effective, read_settings
    from querist.theory import bounds_of

    if algorithm not in NAMES:
        raise UnknownNameError.of("algorithm with a bound", algorithm, NAMES)
    factory = ALGORITHMS[algorithm]
    chosen = read_settings(factory, settings or [], APART)
    with progress() as show:
        graph = read_graph(data, nodes, component is options.Component.LARGEST, show)
        check_labels(graph)
        assert graph.codes is not None
        place = graph if algorithm in ON_GRAPH else _embedded(graph, rank, laplacian, constant, show)
        show("running", 0.0)
        order = shuffled(graph.codes, seed, 0)
        learner = factory(place, graph.n_classes, seed=learner_seed(seed, 0), **chosen)
        trace = learner.run(order, graph.codes)
        show("bounds", 0.0)
        full = effective(factory, chosen, APART)
        bounds = bounds_of(algorithm, place, trace, graph.codes, graph.n_classes, full)
    found = {
        "algorithm": algorithm,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "parameters": full,
        "seed": seed,
        "rounds": len(trace),
        "mistakes": int(trace.mistaken.sum()),
        "questions": trace.questions,
        "notes": list(learner.notes),
        "bounds": [{**each.as_dict(), "class": _class(graph, each)} for each in bounds],
    }
    if as_json:
        print_json(found)
    else:
        _print_report(graph, found, bounds)


def _embedded(
    graph: "Graph", rank: int | None, laplacian: options.Laplacian, constant: float, show: Any
) -> Any:
    from querist import embed

    return embed(
        graph,
        rank,
        normalised=laplacian is options.Laplacian.NORMALISED,
        constant=constant,
        progress=lambda done, text: show("embedding", done, text),
    )


def _class(graph: "Graph", bound: "Bound") -> str | None:
    return None if bound.problem is None else str(graph.classes[bound.problem])


def _print_report(graph: "Graph", found: dict[str, Any], bounds: list["Bound"]) -> None:
    print_line(graph.describe())
    print_line(
        f"{found['algorithm']}: {found['mistakes']:,} mistakes and {found['questions']:,} questions in "
        f"{found['rounds']:,} rounds, seed {found['seed']}\n"
    )
    rows = []
    for each in bounds:
        name = _class(graph, each)
        kind = f"E[{each.what}]" if each.in_expectation else each.what
        rows.append(
            (
                each.source if name is None else f"{each.source}; class {name}",
                f"{each.observed:,.0f}",
                f"{each.value:,.1f}",
                kind,
                ", ".join(f"{term} {value:.4g}" for term, value in each.terms.items()),
            )
        )
    print_table(("bound", "observed", "at most", "what", "terms"), rows, text_columns=(0, 3, 4))
    for text in dict.fromkeys(_remarks(bounds)):
        print_line(text)


def _remarks(bounds: list["Bound"]) -> list[str]:
    broken = [
        f"Assumption that does not hold: {assumption} ({each.source})."
        for each in bounds
        for assumption, holds in each.assumptions.items()
        if not holds
    ]
    return broken + [f"{each.source}: {each.note}." for each in bounds if each.note]
