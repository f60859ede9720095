"""`querist transduce`: label the rest of a set of vectors from a share of it."""

from functools import partial
from typing import Annotated, Any, Literal

import typer

from querist.cli import options
from querist.cli.data import measured, read_vectors
from querist.cli.screen import print_found, print_line, print_table
from querist.errors import InputError, UnknownNameError
from querist.parameters import effective, parameters_of, read_settings


def transduce(
    data: options.Vectors,
    method: Annotated[
        Literal["bls", "lp", "rlp"], typer.Option(help="Least squares, label propagation, or regularised.")
    ] = "bls",
    kernel: Annotated[
        Literal["rbf", "linear"],
        typer.Option(help="Similarity of vectors; its values are the weights of lp."),
    ] = "rbf",
    labelled: Annotated[float, typer.Option(help="Share of the rows whose label is seen.")] = 0.2,
    trials: Annotated[int, typer.Option(min=1, help="Draws of the labelled rows.")] = 10,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the lambdas, or the ridge, on a held-out draw.")
    ] = False,
    label: options.VectorLabel = None,
    as_json: options.Json = False,
) -> None:
    """Label all rows of a set from a share of them.

    Counts how many of the others are right. bls is the closed form of semi-supervised least squares, lp
    the harmonic solution, rlp the regularised one. Mean and standard deviation (of these trials, ddof =
    0) are over draws of the labelled rows.
    """
    from querist.experiment.specification import HELD_OUT
    from querist.experiment.tasks.transduce import GRIDS, METHODS, representation

    factory = METHODS[method]
    own: list[str] = []
    wide: list[str] = []
    for setting in settings or []:
        name = setting.partition("=")[0].strip()
        if "=" in setting and name not in {*parameters_of(factory), "width"}:
            raise UnknownNameError.of("parameter", name, {*parameters_of(factory), "width"})
        (wide if name == "width" else own).append(setting)
    chosen, width = read_settings(factory, own), read_settings(representation, wide).get("width")
    if method != "bls" and kernel == "linear":
        raise InputError("lp and rlp need weights that are not negative; use --kernel rbf")
    if tune and chosen:
        raise InputError("--tune chooses the parameters itself; leave --set out, or --tune")
    (X, _, classes, name), found, alike = measured(
        "transduce",
        data,
        partial(read_vectors, data, label),
        method,
        chosen,
        grid=GRIDS[method] if tune else {},
        representation={"kernel": kernel, "width": width},
        protocol={"labelled": labelled, **({"tuning": 10} if tune else {})},
        repeats=trials,
        seed=seed,
        held_out=seed + HELD_OUT,
    )
    report = {
        "method": method,
        "dataset": name,
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "classes": len(classes),
        "kernel": kernel,
        "labelled": labelled,
        "trials": trials,
        "seed": seed,
        "parameters": {**effective(factory, {**chosen, **found.chosen}), "width": alike.width},
        "tuned": tune,
        "accuracy": found.spread("accuracy").as_dict(),
    }
    print_found(report, as_json, _print_report)


def _print_report(report: dict[str, Any]) -> None:
    parameters = " ".join(f"{k}={v:.4g}" for k, v in report["parameters"].items() if v is not None)
    print_line(
        f"{report['dataset']}: {report['rows']:,} vectors of {report['features']:,} features, "
        f"{report['classes']} classes\n{report['kernel']} kernel, {parameters}; "
        f"{100 * report['labelled']:g} % labelled, {report['trials']} trials, seed {report['seed']}\n"
    )
    accuracy = report["accuracy"]
    shown = f"{100 * accuracy['mean']:.2f} ± {100 * accuracy['std']:.2f}"
    print_table(("", "accuracy %"), [(report["method"], shown)])
