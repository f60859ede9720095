"""The data that a command line names, a task's runs on them, and what is printed of the runs."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from querist.cli.options import Values
from querist.cli.screen import Meter, meter, print_json, print_line, print_table, progress
from querist.graph_options import FileOptions

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.graph import Graph
    from querist.types import Codes

CONTROLS = {"control": "random, as many", "margin": "margin, as many"}
"""Controls in words; the names of their numbers begin with these and a `_`."""
PER_CENT = ("error_rate", "reached", "estimate")
WORDS = {
    "estimate": "expected accuracy",
    "queries": "questions",
    "mean_accuracy": "accuracy over all answers",
}


def read_graph(data: str, nodes: Path | None, largest: bool, columns: Values, show: Meter) -> "Graph":
    """The graph called `data`, or in the file of that name with a table of nodes where one is given.

    >>> read_graph("karate", None, False, {}, lambda stage, fraction, text="": None).n_nodes
    34
    """
    from querist.datasets import load_graph

    show("reading", 0.0, data)
    given = FileOptions(**columns).of_graph()
    if nodes is not None:
        given["nodes"] = nodes.expanduser()
    graph = load_graph(data, progress=partial(show, "fetching"), **given)
    show("reading", 1.0, graph.name)
    return graph.largest_component() if largest else graph


def read_vectors(
    data: str, label_column: str | None, show: Meter
) -> "tuple[Any, Codes, tuple[Any, ...], str]":
    """The rows, class codes (-1 where unlabelled), classes and name of the set or file called `data`."""
    from querist.datasets.resolve import labelled_vectors

    show("reading", 0.0, data)
    found = labelled_vectors(data, label_column)
    show("reading", 1.0, found[3])
    return found


def measured(
    task: str,
    data: str,
    read: Callable[[Meter], Any],
    method: str,
    chosen: Mapping[str, Any],
    representation: Mapping[str, Any] = MappingProxyType({}),
    *,
    repeats: int,
    seed: int = 0,
    protocol: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, "Result", Any]:
    """What `read` gives, the runs of a task on it, and what the task prepared of it.

    `chosen` are the method's parameters; a representation of None is left to the task. The rest is as in a
    `Specification`.

    >>> read = partial(read_graph, "karate", None, False, {})
    >>> _, result, _ = measured("collective", "karate", read, "harmonic", {}, repeats=1)
    >>> len(result.outcomes)
    1
    """
    from querist.experiment import Specification, run_here

    spec = Specification(
        task,
        data,
        method,
        {name: "none" if value is None else value for name, value in chosen.items()},
        representation={name: value for name, value in representation.items() if value is not None},
        protocol=protocol,
        repeats=repeats,
        seed=seed,
    )
    with progress() as show:
        found = read(show)
        result, prepared = run_here(spec, found, preparing=partial(show, "embedding"), progress=meter(show))
    return found, result, prepared


def print_runs(
    runs: "Result",
    dataset: str,
    about: str,
    details: Mapping[str, Any],
    parameters: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Print mean and deviation (ddof = 0) of each number, beside the controls, in words or as JSON.

    about, details : the data in words, and in the JSON
    """
    own = [name for name in runs.measures if name.partition("_")[0] not in CONTROLS]
    ways = {
        key: {name: runs.spread(prefix + name) for name in own if prefix + name in runs.measures}
        for key, prefix in (("", ""), *((key, f"{key}_") for key in CONTROLS))
    }
    numbers, beside = ways.pop(""), {key: found for key, found in ways.items() if found}
    spec = runs.specification
    if as_json:
        found = {"method": spec.method, "dataset": dataset, **details, "parameters": dict(parameters)}
        print_json({**found, "repeats": len(runs.outcomes), "seed": spec.seed, **numbers, **beside})
        return
    print_line(about)
    settings = "".join(f", {name}={value}" for name, value in parameters.items() if value is not None)
    print_line(f"{spec.method}{settings}; {len(runs.outcomes)} repeats, seed {spec.seed}\n")
    columns = [numbers, *beside.values()]
    rows = [
        (_words(name), *(_shown(name, column[name]) if name in column else "" for column in columns))
        for name in own
        if not math.isnan(numbers[name]["mean"])
    ]
    print_table(("", spec.method, *(CONTROLS[key] for key in beside)), rows)
    print_line("Mean ± standard deviation of the runs.")


def _is_share(name: str) -> bool:
    return name in PER_CENT or name.endswith("accuracy")


def _words(name: str) -> str:
    return WORDS.get(name, name.replace("_", " ")) + (" %" if _is_share(name) else "")


def _shown(name: str, numbers: Mapping[str, Any]) -> str:
    """Mean and deviation: shares in per cent, counts and large numbers with few decimals."""
    unit, digits = (100, 2) if _is_share(name) else (1, 2 if name == "seconds" else 4)
    if unit == 1 and all(value == round(value) for value in numbers["runs"]):
        digits = 0 if numbers["mean"] >= 10 else 1
    return f"{unit * numbers['mean']:,.{digits}f} ± {unit * numbers['std']:,.{digits}f}"
