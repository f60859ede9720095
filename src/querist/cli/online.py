"""`querist online`: run an online algorithm on shuffles of a data set."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.algorithms import APART, NAMES, ON_GRAPH
from querist.cli.data import check_labels, read_graph
from querist.cli.screen import Meter, print_json, print_line, print_table, progress

NO_ROWS = "none"
"""What stands for the embedding of a run on the graph itself."""

if TYPE_CHECKING:
    from querist.embedding import Embedding
    from querist.graph import Graph
    from querist.online.catalogue import Factory
    from querist.online.experiment import Progress, Summary


def online(
    data: options.Data,
    algorithm: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.")] = "msg",
    rank: options.Rank = None,
    embedding: options.Rows = "spectral",
    laplacian: options.Matrix = options.Laplacian.NORMALISED,
    constant: options.Constant = 1.0,
    component: options.Part = options.Component.ALL,
    scheme: options.Problems = None,
    shuffles: options.Shuffles = 20,
    seed: options.Seed = 0,
    budget: options.Budget = None,
    settings: options.Settings = None,
    nodes: options.Nodes = None,
    as_json: options.Json = False,
) -> None:
    """Run an algorithm that predicts, asks and learns.

    The nodes of a data set come one at a time, in random order.

    Over the shuffles it reports the mean and the standard deviation (of these runs, ddof = 0) of the error
    rate, the questions and the learned answers. Beside them stands the fair control: as many questions in
    every run, asked at random, by the same kind of learner. One-vs-rest numbers are averages over the binary
    problems.

    pounce and nearest take their distances from the graph itself, unless --rank asks for an embedding.

    `querist algorithms` lists the parameters that --set reaches.
    """
    from querist import embed
    from querist.parameters import effective

    factory, chosen = _algorithm(algorithm, scheme, budget, settings or [])
    full = effective(factory, chosen, APART)
    with progress() as show:
        graph = read_graph(data, nodes, component is options.Component.LARGEST, show)
        check_labels(graph)
        on_graph = algorithm in ON_GRAPH and rank is None
        if not on_graph:
            _try_out(factory, graph.n_classes, chosen)
        rows = embed(
            graph,
            rank,
            kind=embedding,
            normalised=laplacian is options.Laplacian.NORMALISED,
            constant=constant,
            progress=lambda done, text: show("embedding", done, text),
        )
        place = graph if on_graph else rows
        runs, control = _measured(graph, rows, place, factory, chosen, full, shuffles, seed, show)
    found = {
        "algorithm": algorithm,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "rank": rows.rank,
        "embedding": NO_ROWS if on_graph else embedding,
        "laplacian": laplacian.value,
        "constant": constant,
        "component": component.value,
        "parameters": {name: value for name, value in full.items() if name not in ("scheme", "budget")},
        "scheme": full.get("scheme", options.Scheme.MULTICLASS.value),
        "budget": full["budget"],
        "shuffles": shuffles,
        "seed": seed,
        "rounds": runs.rounds,
        **runs.as_dict(),
        "seconds": {"embed": rows.seconds, "run": runs.seconds},
        "control": {**control.as_dict(), "seconds": {"run": control.seconds}},
    }
    if as_json:
        print_json(found)
    else:
        print_line(graph.describe())
        _print_report(found, runs, control)


def _algorithm(
    name: str, scheme: options.Scheme | None, budget: int | None, settings: list[str]
) -> tuple["Factory", dict[str, Any]]:
    """The factory, and what was chosen for it: `--scheme` and `--budget` are settings like any other."""
    from querist import ALGORITHMS
    from querist.errors import InputError, UnknownNameError
    from querist.parameters import parameters_of, read_settings

    if name not in ALGORITHMS:
        raise UnknownNameError.of("algorithm", name, ALGORITHMS)
    factory, given = ALGORITHMS[name], list(settings)
    if any(setting.partition("=")[0].strip() in APART for setting in given):
        raise InputError("a seed is not a setting: every shuffle has a seed of its own; use --seed")
    if budget is not None:
        given.append(f"budget={budget}")
    has_scheme = "scheme" in parameters_of(factory)
    if scheme is options.Scheme.ONE_VS_REST and not has_scheme:
        able = [other for other in ALGORITHMS if "scheme" in parameters_of(ALGORITHMS[other])]
        raise InputError(
            f"{name} compares all classes at once and has no one-vs-rest form; leave --scheme out, or choose "
            f"--algorithm {', '.join(able[:-1])} or {able[-1]}"
        )
    if scheme is not None and has_scheme:
        given.append(f"scheme={scheme.value}")
    return factory, read_settings(factory, given, APART)


def _try_out(factory: "Factory", n_classes: int, chosen: dict[str, Any]) -> None:
    """Let the factory refuse a value before the long work begins."""
    import numpy as np

    factory(np.zeros((1, 1)), n_classes, **chosen)


def _measured(
    graph: "Graph",
    rows: "Embedding",
    place: Any,
    factory: "Factory",
    chosen: dict[str, Any],
    full: dict[str, Any],
    shuffles: int,
    seed: int,
    show: Meter,
) -> tuple["Summary", "Summary"]:
    """The runs of the algorithm at its place, and those of its control on the rows."""
    from querist.online.experiment import random_control, shuffled_runs

    def shown(stage: str) -> "Progress":
        return lambda done, total: show(stage, done / total, f"{done} of {total} shuffles")

    assert graph.codes is not None
    task = (graph.codes, graph.n_classes)
    runs = shuffled_runs(place, *task, factory, chosen, shuffles=shuffles, seed=seed, progress=shown("runs"))
    return runs, random_control(rows, *task, runs, full, seed=seed, progress=shown("control"))


def _print_report(found: dict[str, Any], runs: "Summary", control: "Summary") -> None:
    parameters = " ".join(f"{k}={v}" for k, v in found["parameters"].items() if v is not None)
    where = f"{found['laplacian']} Laplacian" if found["embedding"] != "diffusion" else "attributes"
    budget = "" if found["budget"] is None else f", budget {found['budget']:,}"
    on_graph = found["embedding"] == NO_ROWS
    rows = "distances on the graph itself; its control on an" if on_graph else found["embedding"]
    print_line(
        f"{found['algorithm']}, {found['scheme']}, {parameters}{budget}\n"
        f"{rows} embedding of rank {found['rank']}, {where}; {found['shuffles']} shuffles of "
        f"{found['rounds']:,} labelled nodes, seed {found['seed']}\n"
    )
    head = ("", "error rate %", "questions", "of nodes", "updates", "seconds")
    print_table(head, [_row(found["algorithm"], runs), _row("random, as many", control)])
    print_line(f"Embedding: {found['seconds']['embed']:.2f} s. Mean ± standard deviation of the runs.")


def _row(name: str, summary: "Summary") -> tuple[str, ...]:
    error, queries, updates = summary.error_rate, summary.queries, summary.updates
    return (
        name,
        f"{100 * error.mean:.2f} ± {100 * error.std:.2f}",
        f"{queries.mean:,.0f} ± {queries.std:,.0f}",
        f"{100 * summary.share:.1f} %",
        f"{updates.mean:,.0f} ± {updates.std:,.0f}",
        f"{summary.seconds:.2f}",
    )
