"""`querist online`: run an online algorithm on shuffles of a data set."""

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.data import measured, read_graph
from querist.cli.lists import APART, NAMES, ON_GRAPH
from querist.cli.screen import print_found, print_line, print_table
from querist.errors import InputError
from querist.parameters import effective, parameters_of, read_settings

CONTROLS = {"control": ("control_", "random, as many"), "margin": ("margin_", "margin, as many")}
"""What stands beside: its name in the JSON, what the names of its numbers begin with, and words."""

SHOWN_APART = ("scheme", "budget", "pace", "rounds")
"""Parameters that are told beside the others."""

NO_ROWS = "none"
"""What stands for the embedding of a run on the graph itself."""

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.online.catalogue import Factory


@options.with_columns
def online(
    data: options.Data,
    algorithm: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.")] = "msg",
    rank: options.Rank = None,
    embedding: options.Rows = "spectral",
    laplacian: options.Matrix = "normalised",
    constant: options.Constant = 1.0,
    component: options.Part = "all",
    scheme: options.Problems = None,
    shuffles: options.Shuffles = 20,
    seed: options.Seed = 0,
    budget: options.Budget = None,
    pace: options.Pace = None,
    settings: options.Settings = None,
    nodes: options.Nodes = None,
    columns: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
) -> None:
    """Run an algorithm that predicts, asks and learns.

    The nodes of a data set come one at a time, in random order.

    Over the shuffles it reports the mean and the standard deviation (of these runs, ddof = 0) of the error
    rate, the questions and the learned answers. Beside them stand the fair controls: as many questions in
    every run by the same kind of learner, asked at random, and asked where its margin is smallest, on average
    as early. One-vs-rest numbers are averages over the binary problems.

    With --budget and --pace every rule asks the same number of questions at the same times, and chooses only
    about which nodes: rules are compared at equal questions.

    pounce, nearest, paced and fastonl take the graph itself, unless --rank asks for an embedding.

    `querist algorithms` lists the parameters that --set reaches.
    """

    factory, chosen = _algorithm(algorithm, scheme, {"budget": budget, "pace": pace}, settings or [])
    full = effective(factory, chosen, APART)
    graph, runs, place = measured(
        "online",
        data,
        partial(read_graph, data, nodes, component == "largest", columns),
        algorithm,
        chosen,
        representation={
            "rank": rank,
            "kind": embedding,
            "normalised": laplacian == "normalised",
            "constant": constant,
            "component": component,
        },
        repeats=shuffles,
        seed=seed,
    )
    on_graph = algorithm in ON_GRAPH and rank is None
    found = {
        "algorithm": algorithm,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "rank": place.rows.rank,
        "embedding": NO_ROWS if on_graph else embedding,
        "laplacian": laplacian,
        "constant": constant,
        "component": component,
        "parameters": {name: value for name, value in full.items() if name not in SHOWN_APART},
        "scheme": full.get("scheme", "multiclass"),
        "budget": full["budget"],
        "pace": full.get("pace"),
        "shuffles": shuffles,
        "seed": seed,
        "rounds": int(runs.values("rounds")[0]),
        **_numbers(runs),
        "seconds": {"embed": place.rows.seconds, "run": float(runs.values("seconds").sum())},
        **{
            name: {
                **_numbers(runs, prefix),
                "seconds": {"run": float(runs.values(prefix + "seconds").sum())},
            }
            for name, (prefix, _) in CONTROLS.items()
        },
    }
    print_found(found, as_json, _print_report, graph.describe())


def _algorithm(
    name: str, scheme: options.SchemeName | None, spending: dict[str, float | None], settings: list[str]
) -> tuple["Factory", dict[str, Any]]:
    """The factory, and what was chosen for it: options of `online` are settings like any other."""
    from querist import ALGORITHMS

    factory, given = ALGORITHMS[name], list(settings)
    if any(setting.partition("=")[0].strip() in APART for setting in given):
        raise InputError("a seed is not a setting: every shuffle has a seed of its own; use --seed")
    given += [f"{option}={value}" for option, value in spending.items() if value is not None]
    has_scheme = "scheme" in parameters_of(factory)
    if scheme == "one-vs-rest" and not has_scheme:
        able = [other for other in ALGORITHMS if "scheme" in parameters_of(ALGORITHMS[other])]
        raise InputError(
            f"{name} compares all classes at once and has no one-vs-rest form; leave --scheme out, or choose "
            f"--algorithm {', '.join(able[:-1])} or {able[-1]}"
        )
    if scheme is not None and has_scheme:
        given.append(f"scheme={scheme}")
    return factory, read_settings(factory, given, APART)


def _numbers(runs: "Result", prefix: str = "") -> dict[str, Any]:
    """The learner's, or with their prefix those of its control."""
    return {name: runs.spread(prefix + name).as_dict() for name in ("error_rate", "queries", "updates")}


def _print_report(found: dict[str, Any]) -> None:
    parameters = " ".join(f"{k}={v}" for k, v in found["parameters"].items() if v is not None)
    where = f"{found['laplacian']} Laplacian" if found["embedding"] != "diffusion" else "attributes"
    budget = "" if found["budget"] is None else f", budget {found['budget']:,}"
    budget += "" if found["pace"] is None else f", pace {found['pace']:g}"
    on_graph = found["embedding"] == NO_ROWS
    rows = "on the graph itself; controls of another kind on an" if on_graph else found["embedding"]
    print_line(
        f"{found['algorithm']}, {found['scheme']}, {parameters}{budget}\n"
        f"{rows} embedding of rank {found['rank']}, {where}; {found['shuffles']} shuffles of "
        f"{found['rounds']:,} labelled nodes, seed {found['seed']}\n"
    )
    head = ("", "error rate %", "questions", "of nodes", "updates", "seconds")
    rounds = found["rounds"]
    beside = [_row(words, found[name], rounds) for name, (_, words) in CONTROLS.items()]
    print_table(head, [_row(found["algorithm"], found, rounds), *beside])
    print_line(f"Embedding: {found['seconds']['embed']:.2f} s. Mean ± standard deviation of the runs.")


def _row(name: str, found: dict[str, Any], rounds: int) -> tuple[str, ...]:
    error, queries, updates = (found[measure] for measure in ("error_rate", "queries", "updates"))
    return (
        name,
        f"{100 * error['mean']:.2f} ± {100 * error['std']:.2f}",
        f"{queries['mean']:,.0f} ± {queries['std']:,.0f}",
        f"{100 * queries['mean'] / rounds:.1f} %",
        f"{updates['mean']:,.0f} ± {updates['std']:,.0f}",
        f"{found['seconds']['run']:.2f}",
    )
