"""`querist evaluate stream`: learn from a stream that is mostly unlabelled, in bounded memory."""

import math
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from querist.cli import options
from querist.cli.data import measured, read_vectors
from querist.cli.evaluate.report import print_runs
from querist.cli.screen import print_line
from querist.errors import InputError
from querist.parameters import effective, read_settings

if TYPE_CHECKING:
    from querist.experiment.results import Result

APART = ("seed",)
REPEATS = 3
SAY_EVERY = 2.0
"""Seconds between two lines of running accuracy."""


def stream(
    data: options.Vectors,
    method: Annotated[
        str, options.named("querist.budgeted:STREAMS", "Stream learner; `querist algorithms` lists them.")
    ] = "bls",
    settings: options.Settings = None,
    labelled: Annotated[
        float, typer.Option(help="Share of the items whose label is seen: 0.1 is one in ten.")
    ] = 0.1,
    repeats: options.Repeats = REPEATS,
    order: Annotated[
        Literal["shuffled", "source"],
        typer.Option(help="A random order of the items, or that of the source."),
    ] = "shuffled",
    seed: options.Seed = 0,
    label: options.VectorLabel = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="All classes, where standard input cannot tell in time."),
    ] = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Count broken lines of standard input and go on.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the learner of standard input there, even after a broken line.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure a method that learns from a stream item by item.

    Most labels are hidden (--labelled says how many are seen), and every item is predicted before it is
    learned. The table has the prequential accuracy, the share of items predicted correctly, as the mean and
    the standard deviation over the repeats (ddof = 0); an item counts as wrong as long as nothing is known.

    Standard input is one run, in the order of the lines; the accuracy so far is printed as it goes on. An
    empty label is unlabelled and not judged.

    Examples:

    querist evaluate stream rows.csv --label-column kind --labelled 0.05
    cat rows.csv | querist evaluate stream - --label-column kind
    """
    from querist.budgeted import STREAMS

    chosen = read_settings(STREAMS[method], settings or [], APART)
    STREAMS[method](2, **chosen)  # refuses a value before the long work begins
    if data == "-":
        from querist.tables.labels import as_label

        given = {"--repeats": repeats != REPEATS, "--order": order != "shuffled"}
        options.refuse_beside("standard input, which is one run in the order of its lines", given)
        known = None if classes is None else [as_label(part) for part in classes.split(",")]
        _from_lines(method, chosen, labelled, seed, label, known, skip_broken, save, as_json)
        return

    for option, value in (("--classes", classes), ("--save", save), ("--skip-broken", skip_broken or None)):
        if value is not None:
            raise InputError(f"{option} is for standard input; leave it out")
    (X, _, names, name), runs, _ = measured(
        "stream",
        data,
        partial(read_vectors, data, label),
        method,
        chosen,
        protocol={"labelled": labelled, "order": order},
        repeats=repeats,
        seed=seed,
    )
    about = f"{name}: {X.shape[0]:,} vectors of {X.shape[1]:,} features, {len(names)} classes"
    _print(runs, name, about, X.shape, {"share": labelled}, as_json)


def _print(
    runs: "Result", name: str, about: str, shape: tuple[int, int], details: Mapping[str, Any], as_json: bool
) -> None:
    from querist.budgeted import STREAMS

    spec, seconds = runs.specification, runs.mean("seconds")
    per_second = shape[0] / seconds if seconds > 0 else math.inf
    found = {"rows": shape[0], "features": shape[1], "instances_per_second": per_second, **details}
    parameters = effective(STREAMS[spec.method], spec.parameters, APART)
    print_runs(runs, name, about, found, parameters, as_json)


def _from_lines(
    method: str,
    chosen: Mapping[str, Any],
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
    from querist.budgeted import STREAMS
    from querist.budgeted.feed import Running, feed
    from querist.experiment import Outcome, Result, Specification
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
            lambda n: STREAMS[method](n, seed=seed, **chosen),
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
    numbers = {"accuracy": running.accuracy, "updates": float(running.updates), "seconds": seconds}
    spec = Specification("stream", method=method, parameters=chosen, repeats=1, seed=seed)
    about = f"standard input: {running.rows:,} vectors of {running.features:,} features"
    details = {"share": labelled, **({"broken_lines": lines.broken} if skip_broken else {})}
    shape = (running.rows, running.features)
    _print(Result(spec, {}, (Outcome(numbers),)), "standard input", about, shape, details, as_json)
    if lines.broken and not as_json:
        print_line(f"{lines.broken:,} broken lines were left out.")


def _say(running: Any, seconds: float) -> None:
    print_line(
        f"{running.rows:>12,} rows  accuracy {100 * running.accuracy:6.2f} %  "
        f"{running.rows / seconds:>10,.0f} rows/s"
    )
