"""Closed forms on draws of the labelled rows of a set of vectors. Numbers: accuracy, seconds."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from querist.budgeted.closed_form import transduce
from querist.budgeted.experiment import transduce_once
from querist.budgeted.similarity import gram_of, mean_distance
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    scaled_to_unit,
    settings,
    share,
    try_out,
    vectors_of,
)
from querist.types import Codes, Floats

LARGEST = 20_000
"""Rows beyond which a dense kernel matrix is refused."""


def bls(*, lambda1: float = 1.0, lambda2: float = 0.1) -> None:
    """Semi-supervised least squares (bls19)."""


def lp(*_: Any) -> None:
    """Label propagation: the harmonic solution."""


def rlp(*, ridge: float = 1.0) -> None:
    """Label propagation with a ridge."""


METHODS: Mapping[str, Callable[..., None]] = {"bls": bls, "lp": lp, "rlp": rlp}


def representation(
    *,
    kernel: Literal["rbf", "linear"] = "rbf",
    width: float | None = None,
    scaled: bool = False,
    label: str | None = None,
) -> dict[str, Any]:
    """The kernel; `width` is by default the mean distance over all pairs.

    `label` is the column of a file that holds the labels.
    """
    return dict(locals())


def protocol(*, labelled: float = 0.2) -> dict[str, Any]:
    """The share that carries its label."""
    return dict(locals())


@dataclass
class Alike:
    """The kernel matrix of a set, and its classes."""

    K: Floats
    codes: Codes
    n_classes: int


class Transduce:
    """See the module."""

    name = "transduce"
    measures = ("accuracy", "seconds")
    tuned_by = "accuracy"

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the kernel matrix would fit."""
        factory = checked_method(spec, METHODS, ())
        small: Any = partial(transduce, np.eye(2), np.array([0, 1]))
        try_out(spec, factory, partial(small, method=spec.method), ())
        how = settings(spec, "representation", representation)
        share(spec, complete(spec, "protocol", protocol)["labelled"], most=1 - 1e-12)
        if spec.method != "bls" and how.get("kernel") == "linear":
            with blame("representation", "kernel"):
                raise InputError(f'{spec.method} needs weights that are not negative; use kernel = "rbf"')
        with blame(*(("representation", "label") if how.get("label") else ("dataset",))):
            codes = vectors_of(spec.dataset, how.get("label"))[1]
        with blame("dataset"):
            if codes.size > LARGEST:
                raise InputError(
                    f"{spec.dataset} has {codes.size:,} rows, more than {LARGEST:,}; use a stream"
                )

    def prepare(self, spec: Specification) -> Alike:
        """The kernel matrix."""
        how = complete(spec, "representation", representation)
        X, codes, n_classes = vectors_of(spec.dataset, how["label"])
        if how["scaled"]:
            X = scaled_to_unit(X)
        width = how["width"] or (mean_distance(X) if how["kernel"] == "rbf" else 1.0)
        return Alike(np.asarray(gram_of(how["kernel"], width)(X, X)), codes, n_classes)

    def run(
        self, spec: Specification, prepared: Alike, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels."""
        own = checked(parameters, METHODS[spec.method], "parameters")
        how = complete(spec, "protocol", protocol)
        started = time.perf_counter()
        accuracy = transduce_once(
            prepared.K,
            prepared.codes,
            prepared.n_classes,
            method=spec.method,  # type: ignore[arg-type]
            labelled=how["labelled"],
            seed=seed + repeat,
            **own,
        )
        return Outcome({"accuracy": accuracy, "seconds": time.perf_counter() - started})


TRANSDUCE = register(Transduce())
