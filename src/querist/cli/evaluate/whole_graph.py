"""`querist evaluate collective` and `label`: label a whole graph from several draws of a few labels."""

from inspect import signature
from types import MappingProxyType
from typing import Annotated

import typer

from querist.cli import options
from querist.cli.evaluate.report import evaluate_on_graph
from querist.errors import InputError
from querist.labelling.options import LabelOptions
from querist.options import with_options
from querist.parameters import effective, read_settings

APART = ("classes", "missing", "progress")
"""Parameters of a classifier that are not for `--set`: they come with the data."""


Labelled = Annotated[
    float, typer.Option(help="Share of each class that is labelled, rounded up: 0.05 is 5 %.")
]


@options.on_graph
def collective(
    data: options.Data,
    method: Annotated[
        str, options.named("querist.collective:CLASSIFIERS", "Classifier; `querist algorithms` lists them.")
    ] = "gmnr",
    labelled: Labelled = 0.05,
    repeats: options.Repeats = 10,
    settings: options.Settings = None,
    given: options.Values = MappingProxyType({}),
    device: options.Device = None,
    as_json: options.Json = False,
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
    chosen = read_settings(factory, settings or [], APART)
    if device is not None:
        if "device" not in signature(factory).parameters:
            raise InputError(f"{method} knows no device; take gmnr, mrgm or plsa, or leave --device out")
        chosen["device"] = device
    evaluate_on_graph(
        "collective",
        data,
        given,
        method,
        chosen,
        effective(factory, chosen, APART),
        as_json,
        repeats=repeats,
        protocol={"labelled": labelled},
        details=lambda _: {"share": labelled},
    )


@options.on_graph
@with_options("settings", options.declared(LabelOptions, "experiment"))
def label(
    data: options.Data,
    settings: options.Values = MappingProxyType({}),
    labelled: Labelled = 0.05,
    repeats: options.Repeats = 10,
    given: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
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
    evaluate_on_graph(
        "label",
        data,
        given,
        LabelOptions(**settings).method,
        {},
        {},
        as_json,
        repeats=repeats,
        protocol={"labelled": (labelled,)},
        details=lambda _: {"share": labelled},
    )
