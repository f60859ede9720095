"""`querist classify`: label a whole graph from a few labels, on several draws of them."""

from functools import partial
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.data import measured, read_graph
from querist.cli.screen import print_found, print_line, print_table, progress
from querist.errors import InputError
from querist.parameters import effective, read_settings

if TYPE_CHECKING:
    from querist.experiment.results import Result

METHODS = (
    "gmnr",
    "mrgm",
    "plsa",
    "wvrn",
    "ica",
    "semiica",
    "lnp",
    "icml",
    "harmonic",
    "label_propagation",
    "label_spreading",
    "diffusion",
    "pagerank",
    "consistency",
)
"""The names in `querist.CLASSIFIERS`, for a help text that must not load them; a test keeps the two equal."""

APART = ("classes", "missing", "progress")
"""Parameters of a classifier that are not for `--set`: they come with the data."""


@options.with_columns
def classify(
    data: options.Data,
    method: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(METHODS)}.")] = "gmnr",
    labelled: Annotated[
        float, typer.Option(help="Share of each class that is labelled, rounded up: 0.05 is 5 %.")
    ] = 0.05,
    trials: Annotated[int, typer.Option(min=1, help="Draws of the labelled nodes.")] = 10,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    component: options.Part = "all",
    nodes: options.Nodes = None,
    columns: options.Values = MappingProxyType({}),
    device: options.Device = None,
    cluster: options.Cluster = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="With --cluster, tables of labels: node, label."),
    ] = None,
    scratch: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With --cluster, a folder that all workers see, new or empty."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Label a whole graph at once from a few labels.

    In every trial a share of each class is drawn and labelled; the other nodes are the test, and it
    counts how many of them are right. Over the trials it reports the mean and the standard deviation (of
    these trials, ddof = 0). A node that no label reaches is answered with the commonest class among the
    labels.

    With --cluster (gmnr alone) DATA and NODES are folders of parquet or CSV, NODES with rows of node,
    attribute, count.
    """
    from querist import CLASSIFIERS
    from querist.operator.device.choice import graphics

    factory = CLASSIFIERS[method]
    chosen = read_settings(factory, settings or [], APART)
    if cluster is not None:
        strange = {f"--method {method}": method != "gmnr", "--component": component != "all"}
        strange["--device"] = device is not None
        options.refuse_beside("--cluster", strange)
        classify_there(
            cluster, data, labels, nodes, scratch, columns, as_json,
            labelled=labelled, trials=trials, seed=seed, settings=chosen,
        )  # fmt: skip
        return
    options.refuse_beside("no --cluster", {"--labels": labels is not None, "--scratch": scratch is not None})
    if device is not None:
        if "device" not in signature(factory).parameters:
            raise InputError(f"{method} knows no device; take gmnr, mrgm or plsa, or leave --device out")
        chosen["device"] = graphics() if device == "auto" else device
    graph, found, _ = measured(
        "collective",
        data,
        partial(read_graph, data, nodes, component == "largest", columns),
        method,
        chosen,
        representation={"component": component},
        protocol={"labelled": labelled},
        repeats=trials,
        seed=seed,
    )
    report = {
        "method": method,
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "labelled": labelled,
        "trials": trials,
        "seed": seed,
        "parameters": effective(factory, chosen, APART),
        **_numbers(found),
    }
    print_found(report, as_json, partial(_print_report, found=found), graph.describe())


def _numbers(found: "Result") -> dict[str, Any]:
    from querist.metrics import NAMES

    metrics = {name: found.spread(name).as_dict() for name in NAMES if name in found.measures}
    reached, seconds, iterations = (
        found.values(name).tolist() for name in ("reached", "seconds", "iterations")
    )
    mean = sum(iterations) / len(iterations)
    return {
        **({"accuracy": metrics["accuracy"]} if "accuracy" in metrics else {}),
        "metrics": metrics,
        "reached": {"mean": sum(reached) / len(reached)},
        "seconds": {"mean": sum(seconds) / len(seconds), "runs": seconds},
        "iterations": int(mean) if mean.is_integer() else mean,
    }


def _print_report(report: dict[str, Any], found: "Result") -> None:
    parameters = " ".join(f"{k}={v}" for k, v in report["parameters"].items() if v is not None)
    seeds = found.values("labelled")
    least, most = int(seeds.min()), int(seeds.max())
    count = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    print_line(
        f"{report['method']}, {parameters}\n{100 * report['labelled']:g} % of each class labelled "
        f"({count} nodes), {report['trials']} trials, seed {report['seed']}\n"
    )
    rows = [
        (name.replace("_", " "), f"{numbers['mean']:.4f} ± {numbers['std']:.4f}")
        for name, numbers in report["metrics"].items()
    ]
    print_table(("", "mean ± std"), rows)
    print_line(
        f"{100 * report['reached']['mean']:.1f} % of the tested nodes reached; "
        f"{report['seconds']['mean']:.2f} s a trial."
    )


def classify_there(
    cluster: str, data: str, labels: str | None, nodes: Path | None, scratch: Path | None,
    columns: options.Values, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """`querist classify --method gmnr --cluster`; NODES are attributes."""
    from querist.cluster import measure

    if labels is None or nodes is None or scratch is None:
        raise InputError(
            "--cluster needs --labels (tables of node, label), --nodes (tables of node, attribute, count) "
            "and --scratch, a folder that all workers see"
        )
    named = options.columns_there(columns)
    with progress() as show:
        show("classify", 0.0, f"on {cluster}")
        done = measure(data, labels, nodes, scratch, cluster=cluster, columns=named, **settings)
    print_found(done.as_dict(), as_json, lambda _: print_line(done.report()))
