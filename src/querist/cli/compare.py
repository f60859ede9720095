"""`querist evaluate`: how right a method is on labelled data, by one protocol per kind of method; and
`querist experiment`: a comparison that a TOML file describes.
"""

import math
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from querist.asking.options import CampaignOptions
from querist.cli import options
from querist.cli.appearance import Verb, group
from querist.cli.runs import measured, print_runs, read_graph, read_vectors
from querist.cli.screen import print_json, print_line, print_tables, running
from querist.errors import InputError
from querist.labelling.options import LabelOptions
from querist.options import with_options
from querist.parameters import effective, read_settings

if TYPE_CHECKING:
    from querist.experiment.results import Result
    from querist.tables.readers.lines import Lines

APART = ("seed",)
"""Parameters that are not for `--set`: every run has a seed of its own."""
WITH_DATA = ("classes", "missing", "progress")
"""Parameters of a classifier that are not for `--set`: they come with the data."""
STREAM_REPEATS = 3
SECONDS_BETWEEN_LINES = 2.0
"""Between two lines of running accuracy."""

evaluate = group(
    "evaluate",
    """Measure how well a method does on labelled data.

Examples:

querist evaluate label edges.csv --nodes nodes.csv
querist evaluate ask cora --budget 60
""",
)
Labelled = Annotated[
    float, typer.Option(help="Share of each class that is labelled, rounded up: 0.05 is 5 %.")
]


# -- on a graph -------------------------------------------------------------------------


def _on_graph(
    task: str,
    given: options.Values,
    method: str,
    chosen: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    representation: Mapping[str, Any] = MappingProxyType({}),
    protocol: Mapping[str, Any] = MappingProxyType({}),
    details: Callable[[Any], Mapping[str, Any]],
) -> None:
    """Run a task on a graph, as `given` says (see `options.on_graph`), and print what comes of it.

    details : of what the task prepared, for the JSON; the rest is as in `measured` and `print_runs`
    """
    columns = {"nodes": None, **given}
    data, repeats, seed, component, nodes, as_json = map(
        columns.pop, ("data", "repeats", "seed", "component", "nodes", "as_json")
    )
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


@evaluate.command(cls=Verb)
@options.on_graph(10)
@with_options("settings", options.declared(LabelOptions, "experiment"))
def label(
    settings: options.Values = MappingProxyType({}),
    labelled: Labelled = 0.05,
    given: options.Values = MappingProxyType({}),
) -> None:
    """Measure `querist label` on labelled data.

    Every repeat draws a share of each class and labels it; the other nodes are the test. The table has the
    mean and the standard deviation over the repeats (ddof = 0), the calibration error of the probabilities,
    and the accuracy that `label` expected, if it had at least 50 labels to judge by. A node that no label
    reaches counts as wrong.

    Examples:

    querist evaluate label cora
    querist evaluate label edges.csv --nodes nodes.csv --labelled 0.02 --json
    """
    _on_graph(
        "label",
        given,
        LabelOptions(**settings).method,
        {},
        {},
        protocol={"labelled": (labelled,)},
        details=lambda _: {"share": labelled},
    )


@evaluate.command(cls=Verb)
@options.on_graph(5)
@with_options("campaign", options.declared(CampaignOptions, "experiment"))
def ask(
    campaign: options.Values = MappingProxyType({}),
    start: Annotated[
        int, typer.Option(min=0, help="Number of random labels that are known at the start.")
    ] = 1,
    given: options.Values = MappingProxyType({}),
) -> None:
    """Measure `querist ask` on labelled data.

    The labels of the data answer the questions. The table has the accuracy on the nodes that nobody was asked
    about, as the mean and the standard deviation over the repeats (ddof = 0): that of the model behind the
    questions, on average over the campaign and at its end, and that of the labels that `querist label` makes
    from all answers. The control asks as many questions at random.

    Examples:

    querist evaluate ask cora --budget 60
    querist evaluate ask edges.csv --nodes nodes.csv --strategy margin --json
    """
    own = CampaignOptions(**campaign)
    _on_graph(
        "ask",
        given,
        own.method,
        {name: value for name, value in campaign.items() if name != "method"},
        {"strategy": own.strategy, "budget": own.budget, "stop": own.stop},
        protocol={"start": start, "marks": (own.budget,)},
        details=lambda _: {"start": start},
    )


@evaluate.command(cls=Verb)
@options.on_graph(20)
@options.with_embedding
def online(
    method: Annotated[
        str, options.named("querist.online:ALGORITHMS", "Algorithm; `querist algorithms` lists them.")
    ] = "msg",
    rank: options.Rank = None,
    how: options.Values = MappingProxyType({}),
    budget: options.Budget = None,
    pace: options.Pace = None,
    settings: options.Settings = None,
    given: options.Values = MappingProxyType({}),
) -> None:
    """Measure an algorithm that predicts, asks and learns node by node.

    The nodes arrive one at a time, in a random order per repeat. The table has the mean and the standard
    deviation over the repeats (ddof = 0) of the error rate, the questions and the learned answers. Two
    controls ask as many questions with the same kind of learner: at random, and at the smallest margin.
    One-vs-rest numbers are averages over the binary problems.

    With --budget and --pace every algorithm asks the same number of questions at the same times, so only its
    choice of nodes counts.

    pounce, nearest and paced take the graph itself, unless --rank asks for an embedding.

    `querist algorithms` lists the parameters that --set takes.

    Examples:

    querist evaluate online cora --method msg
    querist evaluate online edges.csv --nodes nodes.csv --budget 100 --pace 1
    """
    from querist.experiment.tasks.online import on_graph
    from querist.online import ALGORITHMS

    if any(setting.partition("=")[0].strip() in APART for setting in settings or []):
        raise InputError("a seed is not a setting: every shuffle has a seed of its own; use --seed")
    spent = {"budget": budget, "pace": pace}
    limits = [f"{name}={value}" for name, value in spent.items() if value is not None]
    chosen = read_settings(ALGORITHMS[method], [*(settings or []), *limits], APART)
    own = dict(how)
    kind = own.pop("embedding")
    _on_graph(
        "online",
        given,
        method,
        chosen,
        effective(ALGORITHMS[method], chosen, APART),
        representation={"rank": rank, "kind": kind, **own},
        details=lambda place: {
            "rank": place.rows.rank,
            "embedding": "none" if rank is None and on_graph(method) else kind,
            "embedding_seconds": place.rows.seconds,
            "laplacian": "normalised" if own.get("normalised", True) else "combinatorial",
            "constant": own.get("constant", 1.0),
            "component": given["component"],
        },
    )


@evaluate.command(cls=Verb)
@options.on_graph(10)
def collective(
    method: Annotated[
        str, options.named("querist.collective:CLASSIFIERS", "Classifier; `querist algorithms` lists them.")
    ] = "gmnr",
    labelled: Labelled = 0.05,
    settings: options.Settings = None,
    device: options.Device = None,
    given: options.Values = MappingProxyType({}),
) -> None:
    """Measure a method that labels a whole graph at once.

    Every repeat draws a share of each class and labels it; the other nodes are the test. The table has the
    mean and the standard deviation over the repeats (ddof = 0). A node that no label reaches gets the
    commonest class among the labels.

    Examples:

    querist evaluate collective cora
    querist evaluate collective edges.csv --nodes nodes.csv --method harmonic
    """
    from querist.collective import CLASSIFIERS

    factory = CLASSIFIERS[method]
    chosen = read_settings(factory, settings or [], WITH_DATA)
    if device is not None:
        if "device" not in signature(factory).parameters:
            raise InputError(f"{method} knows no device; take gmnr, mrgm or plsa, or leave --device out")
        chosen["device"] = device
    _on_graph(
        "collective",
        given,
        method,
        chosen,
        effective(factory, chosen, WITH_DATA),
        protocol={"labelled": labelled},
        details=lambda _: {"share": labelled},
    )


# -- on vectors -------------------------------------------------------------------------


@evaluate.command(cls=Verb)
def stream(
    data: options.Vectors,
    method: Annotated[
        str, options.named("querist.budgeted:STREAMS", "Stream learner; `querist algorithms` lists them.")
    ] = "bls",
    settings: options.Settings = None,
    labelled: Annotated[
        float, typer.Option(help="Share of the items whose label is seen: 0.1 is one in ten.")
    ] = 0.1,
    repeats: options.Repeats = STREAM_REPEATS,
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

    factory = STREAMS[method]
    chosen = read_settings(factory, settings or [], APART)
    factory(2, **chosen)  # refuses a value before the long work begins
    details, broken = {"share": labelled}, 0
    if data == "-":
        from querist.tables.readers.lines import Lines

        given = {"--repeats": repeats != STREAM_REPEATS, "--order": order != "shuffled"}
        options.refuse_beside("standard input, which is one run in the order of its lines", given)
        name, kinds = "standard input", ""
        lines = Lines(label, skip_broken)
        runs, rows, features = _from_lines(lines, method, chosen, labelled, seed, classes, save, as_json)
        if skip_broken:
            details["broken_lines"] = broken = lines.broken
    else:
        idle = {"--classes": classes is not None, "--save": save is not None, "--skip-broken": skip_broken}
        for option in [option for option, is_given in idle.items() if is_given]:
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
        (rows, features), kinds = X.shape, f", {len(names)} classes"
    seconds = runs.mean("seconds")
    per_second = rows / seconds if seconds > 0 else math.inf
    details = {"rows": rows, "features": features, "instances_per_second": per_second, **details}
    about = f"{name}: {rows:,} vectors of {features:,} features{kinds}"
    print_runs(runs, name, about, details, effective(factory, chosen, APART), as_json)
    if broken and not as_json:
        print_line(f"{broken:,} broken lines were left out.")


def _from_lines(
    lines: "Lines",
    method: str,
    chosen: Mapping[str, Any],
    labelled: float,
    seed: int,
    classes: str | None,
    save: Path | None,
    as_json: bool,
) -> tuple["Result", int, int]:
    """One run over standard input, with its rows and features; the accuracy so far is said as it goes on."""
    from querist.atomic import check_writable
    from querist.budgeted import STREAMS
    from querist.budgeted.feed import Running, feed
    from querist.experiment import Outcome, Result, Specification
    from querist.tables.labels import as_label

    if save is not None and method != "bls":
        raise InputError(f"{method} cannot be saved; leave --save out, or use bls")
    if sys.stdin is None:
        raise InputError("there is no standard input to read lines from: it is closed; give a file")
    if save is not None:
        check_writable(save)
    running, learner, started, said = Running(), None, time.perf_counter(), 0.0
    try:
        for running, learner in feed(  # noqa: B007  (saved when it ends, however it ends)
            lines.blocks(sys.stdin),
            lambda n: STREAMS[method](n, seed=seed, **chosen),
            classes=None if classes is None else [as_label(part) for part in classes.split(",")],
            labelled=labelled,
            seed=seed,
        ):
            now = time.perf_counter() - started
            if not as_json and now - said >= SECONDS_BETWEEN_LINES:
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
    return Result(spec, {}, (Outcome(numbers),)), running.rows, running.features


def _say(running: Any, seconds: float) -> None:
    print_line(
        f"{running.rows:>12,} rows  accuracy {100 * running.accuracy:6.2f} %  "
        f"{running.rows / seconds:>10,.0f} rows/s"
    )


@evaluate.command(cls=Verb)
def transduce(
    data: options.Vectors,
    method: Annotated[
        Literal["bls", "lp", "rlp"], typer.Option(help="Least squares, label propagation, or regularised.")
    ] = "bls",
    kernel: Annotated[
        Literal["rbf", "linear"], typer.Option(help="Similarity of vectors; lp and rlp take rbf alone.")
    ] = "rbf",
    width: Annotated[
        float | None, typer.Option(help="Width of rbf; the mean distance over all pairs by default.")
    ] = None,
    settings: options.Settings = None,
    labelled: Annotated[float, typer.Option(help="Share of the rows whose label is seen.")] = 0.2,
    repeats: options.Repeats = 10,
    seed: options.Seed = 0,
    label: options.VectorLabel = None,
    as_json: options.Json = False,
) -> None:
    """Measure a method that labels all rows of a table at once.

    Every repeat draws the labelled rows; the others are the test. bls is the closed form of semi-supervised
    least squares, lp the harmonic solution, rlp the regularised one. The table has the mean and the standard
    deviation over the repeats (ddof = 0).

    Examples:

    querist evaluate transduce rows.csv --label-column kind
    querist evaluate transduce rows.csv --method lp --labelled 0.1 --repeats 5
    """
    from querist.experiment.tasks.transduce import METHODS

    chosen = read_settings(METHODS[method], settings or [])
    (X, _, classes, name), runs, alike = measured(
        "transduce",
        data,
        partial(read_vectors, data, label),
        method,
        chosen,
        {"kernel": kernel, "width": width},
        protocol={"labelled": labelled},
        repeats=repeats,
        seed=seed,
    )
    about = f"{name}: {X.shape[0]:,} vectors of {X.shape[1]:,} features, {len(classes)} classes"
    details = {"rows": X.shape[0], "features": X.shape[1], "share": labelled, "kernel": kernel}
    parameters = {**effective(METHODS[method], chosen), "width": alike.width}
    print_runs(runs, name, about, details, parameters, as_json)


# -- your own comparison ----------------------------------------------------------------


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run; see docs/experiments.md.")],
    out: options.Out = Path("querist-experiment"),
    processes: options.Processes = 0,
    cluster: options.Cluster = None,
    as_json: options.Json = False,
) -> None:
    """Run a comparison of your own.

    The file names data sets, learners, classifiers or stream methods, their parameters or a grid to tune, and
    how often to repeat. Everything in it is checked before anything runs. Beside every online learner stand
    its controls: asking as often at random, and where the margin is smallest.

    Every run is kept in the folder as it finishes: stop it, and start it again to go on. Tables (Markdown,
    CSV), figures (SVG, PNG) and a page to read (comparison.html) are written there.

    Examples:

    querist experiment comparison.toml
    querist experiment comparison.toml --out results --processes 1
    """
    from querist.experiment.comparison import Comparison, compare, rows

    with running(out) as (show, progress):
        show("checking", 0.0, file.name)
        comparison = Comparison.read(file)
        show("checking", 1.0, f"{len(comparison.specifications)} experiments")
        section = compare(
            comparison,
            out,
            processes=processes,
            cluster=cluster,
            progress=progress,
            command=f"querist experiment {file.name}",
        )
    if as_json:
        print_json(rows(comparison, section.results))
        return
    print_line("\n".join([comparison.title, *section.said, ""]))
    for table in section.shown.tables:
        print_tables([table])
        print_line("")
    read = f"Everything is in {out}; read {out / 'comparison.html'}."
    print_line("\n".join([*section.shown.remarks, read]))
