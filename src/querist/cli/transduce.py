"""`querist transduce`: label the rest of a set of vectors from a share of it."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, print_table, progress
from querist.cli.stream import Data, Label


class Method(StrEnum):
    """How labels spread."""

    BLS = "bls"
    LP = "lp"
    RLP = "rlp"


class Kernel(StrEnum):
    """How alike two vectors are."""

    RBF = "rbf"
    LINEAR = "linear"


LARGEST = 20_000
"""Rows beyond which a dense kernel matrix is refused."""


def _bls(*, lambda1: float = 1.0, lambda2: float = 0.1, width: float | None = None) -> None:
    """Parameters of BLS."""


def _lp(*, width: float | None = None) -> None:
    """Parameters of LP."""


def _rlp(*, ridge: float = 1.0, width: float | None = None) -> None:
    """Parameters of RLP."""


PARAMETERS = {Method.BLS: _bls, Method.LP: _lp, Method.RLP: _rlp}


def transduce(
    data: Data,
    method: Annotated[
        Method, typer.Option(help="Least squares, label propagation, or regularised.")
    ] = Method.BLS,
    kernel: Annotated[
        Kernel, typer.Option(help="Similarity of vectors; its values are the weights of lp.")
    ] = Kernel.RBF,
    labelled: Annotated[float, typer.Option(help="Share of the rows whose label is seen.")] = 0.2,
    trials: Annotated[int, typer.Option(min=1, help="Draws of the labelled rows.")] = 10,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the lambdas, or the ridge, on a held-out draw.")
    ] = False,
    label: Label = None,
    as_json: options.Json = False,
) -> None:
    """Label all rows of a set from a share of them.

    Counts how many of the others are right. bls is the closed form of semi-supervised least squares, lp
    the harmonic solution, rlp the regularised one. Mean and standard deviation (of these trials, ddof =
    0) are over draws of the labelled rows.
    """
    import numpy as np

    from querist.budgeted.experiment import transductive, tune_transductive
    from querist.budgeted.similarity import gram_of, mean_distance
    from querist.datasets.rows import read_vectors
    from querist.errors import InputError
    from querist.parameters import effective, read_settings

    chosen = read_settings(PARAMETERS[method], settings or [])
    if method is not Method.BLS and kernel is Kernel.LINEAR:
        raise InputError("lp and rlp need weights that are not negative; use --kernel rbf")
    if tune and any(name != "width" for name in chosen):
        raise InputError("--tune chooses the parameters itself; leave --set out, or --tune")
    with progress() as show:
        show("reading", 0.0, data)
        X, codes, classes, name = read_vectors(data, label)
        if codes.size > LARGEST:
            raise InputError(f"{name} has {codes.size:,} rows, more than {LARGEST:,}; use querist stream")
        if (codes < 0).any():
            raise InputError(f"{name} has rows without a label, which cannot be judged; leave them out")
        width = chosen.pop("width", None) or (mean_distance(X) if kernel is Kernel.RBF else None)
        K = np.asarray(gram_of(kernel.value, width or 1.0)(X, X))
        task: dict[str, Any] = {"method": method.value, "labelled": labelled, "seed": seed}
        if tune:
            show("tuning", 0.0)
            chosen = tune_transductive(K, codes, len(classes), **task)
        found = transductive(
            K,
            codes,
            len(classes),
            trials=trials,
            progress=lambda done, total: show("trials", done / total, f"{done} of {total}"),
            **task,
            **chosen,
        )
    report = {
        "method": method.value,
        "dataset": name,
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "classes": len(classes),
        "kernel": kernel.value,
        "labelled": labelled,
        "trials": trials,
        "seed": seed,
        "parameters": {**effective(PARAMETERS[method], chosen), "width": width},
        "tuned": tune,
        "accuracy": {"mean": float(np.mean(found)), "std": float(np.std(found)), "runs": list(found)},
    }
    if as_json:
        print_json(report)
    else:
        _print_report(report)


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
