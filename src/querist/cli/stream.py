"""`querist stream`: learn from a stream that is mostly unlabelled, in bounded memory."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from querist.cli import options
from querist.cli.data import measured, read_vectors
from querist.cli.screen import print_found, print_line, print_table
from querist.errors import InputError
from querist.parameters import effective, parameters_of, read_settings

if TYPE_CHECKING:
    from querist.budgeted.catalogue import Factory

NAMES = (
    "bls",
    "pa",
    "pa1",
    "pa2",
    "spasc",
    "ressl",
    "sklearn_sgd",
    "sklearn_naive_bayes",
    "river_logistic",
    "river_hoeffding",
)
"""The names in `querist.STREAMS`, for a help text that must not load them; a test keeps the two equal."""

APART = ("seed",)
SAY_EVERY = 2.0
"""Seconds between two lines of running accuracy."""


def stream(
    data: options.Vectors,
    method: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.")] = "bls",
    settings: options.Settings = None,
    labelled: Annotated[
        float, typer.Option(help="Share of the items whose label is seen: 0.1 is one in ten.")
    ] = 0.1,
    budget_labelled: Annotated[
        int | None, typer.Option(help="Labelled vectors kept; 150 by default.")
    ] = None,
    budget_unlabelled: Annotated[
        int | None, typer.Option(help="Unlabelled vectors kept; 300 by default.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Runs, each over another random order.")] = 3,
    order: Annotated[
        Literal["shuffled", "source"],
        typer.Option(help="A random order of the items, or that of the source."),
    ] = "shuffled",
    seed: options.Seed = 0,
    label: options.VectorLabel = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="All classes, where standard input cannot tell in time."),
    ] = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Count broken lines of standard input and go on.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the learner of standard input there, even after a broken line.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Predict every item of a stream, then learn from it.

    Reports the prequential accuracy, a fraction: how many items were predicted rightly before their label was
    seen; before anything is known, an item counts as wrong. Mean and standard deviation (of these runs,
    ddof = 0) are over runs on different orders.

    On standard input there is one run, in the order of the lines, and the accuracy so far is printed as it
    goes on. An empty label is unlabelled and not judged.
    """
    factory, chosen = _method(method, budget_labelled, budget_unlabelled, settings or [])
    if data == "-":
        from querist.tables.labels import as_label

        known = None if classes is None else [as_label(part) for part in classes.split(",")]
        _from_lines(method, factory, chosen, labelled, seed, label, known, skip_broken, save, as_json)
        return

    for option, value in (("--classes", classes), ("--save", save)):
        if value is not None:
            raise InputError(f"{option} is for standard input; leave it out")
    (X, codes, names, name), runs, _ = measured(
        "stream",
        data,
        partial(read_vectors, data, label),
        method,
        chosen,
        protocol={"labelled": labelled, "order": order},
        repeats=repeats,
        seed=seed,
    )
    seconds = sum(runs.values("seconds").tolist())
    report = _report(method, name, X.shape, labelled, factory, chosen) | {
        "accuracy": runs.spread("accuracy").as_dict(),
        "updates": sum(runs.values("updates").tolist()) / repeats,
        **_pace(seconds, codes.size * repeats),
    }
    about = f"{name}: {X.shape[0]:,} vectors of {X.shape[1]:,} features, {len(names)} classes"
    print_found(report, as_json, _print_report, about)


def _method(
    name: str, budget_labelled: int | None, budget_unlabelled: int | None, settings: list[str]
) -> tuple["Factory", dict[str, Any]]:
    """The factory, and what was chosen for it: the budgets are settings like any other."""
    from querist import STREAMS

    factory, given = STREAMS[name], list(settings)
    for option, value in (("budget_labelled", budget_labelled), ("budget_unlabelled", budget_unlabelled)):
        if value is None:
            continue
        if option not in parameters_of(factory):
            raise InputError(f"{name} has no {option}; leave --{option.replace('_', '-')} out, or use bls")
        given.append(f"{option}={value}")
    chosen = read_settings(factory, given, APART)
    factory(2, **chosen)  # refuses a value before the long work begins
    return factory, chosen


def _report(
    method: str,
    name: str,
    shape: tuple[int, int],
    labelled: float,
    factory: "Factory",
    chosen: Any,
) -> dict[str, Any]:
    """All but what came of it."""

    full = effective(factory, chosen, APART)
    budget = {
        kind: full.pop(f"budget_{kind}") for kind in ("labelled", "unlabelled") if f"budget_{kind}" in full
    }
    return {
        "method": method,
        "dataset": name,
        "rows": shape[0],
        "features": shape[1],
        "labelled": labelled,
        "parameters": full,
        "accuracy": None,
        "budget": budget or None,
    }


def _pace(seconds: float, items: int) -> dict[str, float]:
    return {"seconds": seconds, "instances_per_second": items / seconds if seconds > 0 else float("inf")}


def _print_report(report: dict[str, Any]) -> None:
    parameters = " ".join(f"{k}={v}" for k, v in report["parameters"].items() if v is not None)
    budget = report["budget"]
    kept = "" if budget is None else f", budget {budget['labelled']:,} + {budget['unlabelled']:,}"
    print_line(f"{report['method']}, {parameters}{kept}; {100 * report['labelled']:g} % labelled\n")
    accuracy = report["accuracy"]
    row = (
        report["method"],
        f"{100 * accuracy['mean']:.2f} ± {100 * accuracy['std']:.2f}",
        f"{len(accuracy['runs'])}",
        f"{report['updates']:,.0f}",
        f"{report['seconds']:.2f}",
        f"{report['instances_per_second']:,.0f}",
    )
    print_table(("", "accuracy %", "runs", "updates", "seconds", "items/s"), [row])


def _from_lines(
    method: str,
    factory: "Factory",
    chosen: dict[str, Any],
    labelled: float,
    seed: int,
    label: str | None,
    classes: list[Any] | None,
    skip_broken: bool,
    save: Path | None,
    as_json: bool,
) -> None:
    """Standard input: one run, the accuracy so far as it goes on."""
    from querist.atomic import check_writable
    from querist.budgeted.feed import Running, feed
    from querist.experiment.results import Spread
    from querist.tables.readers.lines import Lines

    if save is not None and method != "bls":
        raise InputError(f"{method} cannot be saved; leave --save out, or use bls")
    if sys.stdin is None:
        raise InputError("there is no standard input to read lines from: it is closed; give a file")
    if save is not None:
        check_writable(save)
    lines = Lines(label, skip_broken)
    running, learner, started, said = Running(), None, time.perf_counter(), 0.0
    blocks = lines.blocks(sys.stdin)
    try:
        for running, learner in feed(  # noqa: B007  (saved when it ends, however it ends)
            blocks,
            lambda n: factory(n, seed=seed, **chosen),
            classes=classes,
            labelled=labelled,
            seed=seed,
        ):
            now = time.perf_counter() - started
            if not as_json and now - said >= SAY_EVERY:
                said = now
                _say(running, now)
    finally:
        if save is not None and learner is not None:
            learner.save(save)
        if not as_json and running.rows:
            _say(running, time.perf_counter() - started)
    if running.rows == 0:
        raise InputError("standard input held no rows; give a header and a line a row, or JSON objects")
    seconds = time.perf_counter() - started
    shape = (running.rows, running.features)
    report = _report(method, "standard input", shape, labelled, factory, chosen) | {
        "accuracy": Spread((running.accuracy,)).as_dict(),
        "updates": float(running.updates),
        **_pace(seconds, running.rows),
    }
    if skip_broken:
        report["broken_lines"] = lines.broken
    print_found(report, as_json, _print_report)
    if lines.broken and not as_json:
        print_line(f"{lines.broken:,} broken lines were left out.")


def _say(running: Any, seconds: float) -> None:
    print_line(
        f"{running.rows:>12,} rows  accuracy {100 * running.accuracy:6.2f} %  "
        f"{running.rows / seconds:>10,.0f} rows/s"
    )
