"""Closed forms on draws of the labelled rows of a set of vectors. Numbers: accuracy, seconds."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from querist.budgeted.closed_form import transduce
from querist.budgeted.similarity import gram_of, mean_distance
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    Share,
    checked,
    checked_method,
    complete,
    scaled_to_unit,
    try_out,
    vectors_of,
)
from querist.types import Bools, Codes, Floats

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
) -> None:
    """The kernel; `width` is by default the mean distance over all pairs.

    `label` is the column of a file that holds the labels.
    """


def protocol(*, labelled: Share = 0.2) -> None:
    """The share that carries its label."""


@dataclass
class Alike:
    """The kernel matrix of a set, and its classes."""

    K: Floats
    codes: Codes
    n_classes: int
    width: float | None
    """Of the kernel, where it has one."""


def cover(codes: Codes, n_classes: int, labelled: float, seed: int) -> Bools:
    """(n,) which rows are labelled: a share at random, drawn again where it misses a class.

    Nothing could be said about a class without a label.
    """
    rng, count = np.random.default_rng(seed), max(n_classes, round(labelled * codes.size))
    for _ in range(1000):
        visible = np.zeros(codes.size, dtype=np.bool_)
        visible[rng.permutation(codes.size)[:count]] = True
        if np.unique(codes[visible]).size == n_classes:
            return visible
    raise InputError(
        f"{count} labels of {codes.size} never cover all {n_classes} classes; label a larger share"
    )


class TransduceTask:
    """See the module.

    >>> int(TransduceTask.cover(np.array([0, 1, 1, 0]), 2, 0.5, seed=0).sum())
    2
    """

    name = "transduce"
    measures = ("accuracy", "seconds")
    tuned_by = "accuracy"
    cover = staticmethod(cover)

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the kernel matrix would fit."""
        factory = checked_method(spec, METHODS, ())
        small: Any = partial(transduce, np.eye(2), np.array([0, 1]))
        try_out(spec, factory, partial(small, method=spec.method), ())
        how = complete(spec, "representation", representation)
        complete(spec, "protocol", protocol)
        if spec.method != "bls" and how.get("kernel") == "linear":
            with blame("representation", "kernel"):
                raise InputError(f'{spec.method} needs weights that are not negative; use kernel = "rbf"')
        if how.get("kernel") == "linear" and how.get("width") is not None:
            with blame("representation", "width"):
                raise InputError('width is of the kernel "rbf"; leave it out, or use that kernel')
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
        width = how["width"] or (mean_distance(X) if how["kernel"] == "rbf" else None)
        return Alike(np.asarray(gram_of(how["kernel"], width or 1.0)(X, X)), codes, n_classes, width)

    def run(
        self, spec: Specification, prepared: Alike, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels."""
        own = checked(parameters, METHODS[spec.method], "parameters")
        how = complete(spec, "protocol", protocol)
        method: Any = spec.method
        codes, n_classes = prepared.codes, prepared.n_classes
        started = time.perf_counter()
        visible = cover(codes, n_classes, how["labelled"], seed + repeat)
        found = transduce(prepared.K, np.where(visible, codes, -1), n_classes, method=method, **own)
        accuracy = float(np.mean(found[~visible] == codes[~visible]))
        return Outcome({"accuracy": accuracy, "seconds": time.perf_counter() - started})


TRANSDUCE = register(TransduceTask())
