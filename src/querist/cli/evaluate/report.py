"""What every verb of `querist evaluate` prints: numbers of a method over its runs, beside its controls."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from querist.cli.data import measured, read_graph
from querist.cli.options import Values
from querist.cli.screen import print_json, print_line, print_table

if TYPE_CHECKING:
    from querist.experiment.results import Result

CONTROLS = {"control": ("control_", "random, as many"), "margin": ("margin_", "margin, as many")}
"""Controls by their names in the JSON: what the names of their numbers begin with, and words."""
PER_CENT = ("error_rate", "reached", "estimate")
WORDS = {
    "estimate": "expected accuracy",
    "queries": "questions",
    "mean_accuracy": "accuracy over all answers",
}


def evaluate_on_graph(
    task: str,
    data: str,
    given: Values,
    method: str,
    chosen: Mapping[str, Any],
    parameters: Mapping[str, Any],
    as_json: bool,
    *,
    repeats: int,
    representation: Mapping[str, Any] = MappingProxyType({}),
    protocol: Mapping[str, Any] = MappingProxyType({}),
    details: Callable[[Any], Mapping[str, Any]] = lambda prepared: {},
) -> None:
    """Run a task on a graph, which `given` says how to read, and print what comes of it.

    details : of what the task prepared, for the JSON; the rest is as in `measured` and `print_runs`
    """
    columns = dict(given)
    seed, component, nodes = columns.pop("seed"), columns.pop("component"), columns.pop("nodes", None)
    graph, runs, prepared = measured(
        task,
        data,
        partial(read_graph, data, nodes, component == "largest", columns),
        method,
        chosen,
        {"component": component, **representation},
        protocol=protocol,
        repeats=repeats,
        seed=seed,
    )
    about = {"nodes": graph.n_nodes, "classes": graph.n_classes, **details(prepared)}
    print_runs(runs, graph.name, graph.describe(), about, parameters, as_json)


def print_runs(
    runs: "Result",
    dataset: str,
    about: str,
    details: Mapping[str, Any],
    parameters: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Print mean and deviation (ddof = 0) of each number, in words or as JSON.

    about, details : the data in words, and in the JSON
    """
    numbers = {
        key: {
            name: runs.spread(prefix + name)
            for name in runs.measures
            if prefix + name in runs.measures and not name.startswith(("control_", "margin_"))
        }
        for key, prefix in (("", ""), *((key, prefix) for key, (prefix, _) in CONTROLS.items()))
    }
    own = numbers.pop("")
    beside = {key: found for key, found in numbers.items() if found}
    spec = runs.specification
    if as_json:
        found = {"method": spec.method, "dataset": dataset, **details, "parameters": dict(parameters)}
        print_json({**found, "repeats": len(runs.outcomes), "seed": spec.seed, **own, **beside})
        return
    print_line(about)
    settings = "".join(f", {name}={value}" for name, value in parameters.items() if value is not None)
    print_line(f"{spec.method}{settings}; {len(runs.outcomes)} repeats, seed {spec.seed}\n")
    columns = [own, *beside.values()]
    rows = [
        (_words(name), *(_shown(name, column[name]) if name in column else "" for column in columns))
        for name, spread in own.items()
        if not math.isnan(spread["mean"])
    ]
    print_table(("", spec.method, *(CONTROLS[key][1] for key in beside)), rows)
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
