"""`querist evaluate transduce`: label the rest of a set of vectors from a share of it."""

from functools import partial
from typing import Annotated, Literal

import typer

from querist.cli import options
from querist.cli.data import measured, read_vectors
from querist.cli.evaluate.report import print_runs
from querist.parameters import effective, read_settings


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
