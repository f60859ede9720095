"""Stream learners on shuffles of a set of vectors: every item is predicted, then learned.

Numbers: accuracy (prequential), updates, kept_labelled, kept_unlabelled, seconds. Curves, where
`protocol.curve` points are asked for: `item` and the accuracy up to it.

Which items carry their label is drawn at random, so that a run is its own random-asking control.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from querist.budgeted.catalogue import STREAMS
from querist.budgeted.experiment import run_stream, warm_up
from querist.budgeted.similarity import mean_distance
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    few_points,
    running_mean,
    scaled_to_unit,
    share,
    try_out,
    vectors_of,
)
from querist.parameters import parameters_of
from querist.types import Codes

APART = ("seed",)
PAIRS = 10_000
"""Pairs of rows that a whole sample's kernel width is taken from (bls19)."""


def representation(
    *,
    scaled: bool = False,
    width: Literal["stream", "sample"] = "stream",
    rows: int | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """Features in [-1, 1] or as they are; kernel width from the stream, or from the whole sample (bls19).

    `rows` takes only the first; `label` is the column of a file that holds the labels.
    """
    return dict(locals())


def protocol(
    *, labelled: float = 0.1, order: Literal["shuffled", "source"] = "shuffled", curve: int = 0
) -> dict[str, Any]:
    """The share that carries its label, the order, points of the curve."""
    return dict(locals())


@dataclass
class StreamSample:
    """Vectors and their classes; `width` where it is that of the whole sample."""

    X: Any
    codes: Codes
    n_classes: int
    width: float | None
    warm: set[str] = field(default_factory=set)


class StreamTask:
    """See the module."""

    name = "stream"
    measures = ("accuracy", "updates", "kept_labelled", "kept_unlabelled", "seconds")
    tuned_by = "accuracy"
    in_tuning: Mapping[str, Any] = {"curve": 0}

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether every row has a label to judge by."""
        factory = checked_method(spec, STREAMS, APART)
        label = complete(spec, "representation", representation)["label"]
        share(spec, complete(spec, "protocol", protocol)["labelled"])
        with blame(*(("representation", "label") if label else ("dataset",))):
            n_classes = vectors_of(spec.dataset, label)[2]
        try_out(spec, factory, partial(factory, n_classes), APART)

    def prepare(self, spec: Specification) -> StreamSample:
        """The rows, and their kernel width where the whole sample gives it."""
        how = complete(spec, "representation", representation)
        X, codes, n_classes = vectors_of(spec.dataset, how["label"])
        if how["rows"] is not None:
            X, codes = X[: how["rows"]], codes[: how["rows"]]
        if how["scaled"]:
            X = scaled_to_unit(X)
        width = mean_distance(X, pairs=PAIRS) if how["width"] == "sample" else None
        return StreamSample(X, codes, n_classes, width)

    def run(
        self,
        spec: Specification,
        prepared: StreamSample,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One stream."""
        factory = STREAMS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        how = complete(spec, "protocol", protocol)
        if prepared.width is not None and "width" in parameters_of(factory) and "width" not in own:
            own["width"] = prepared.width

        def make(own_seed: int) -> Any:
            return factory(prepared.n_classes, seed=own_seed, **own)

        X, codes = prepared.X, prepared.codes
        if spec.method not in prepared.warm:
            warm_up(make, X, codes)
            prepared.warm.add(spec.method)
        run = run_stream(make, X, codes, labelled=how["labelled"], seed=seed + repeat, order=how["order"])
        curves = {}
        if how["curve"]:
            at = few_points(codes.size, how["curve"])
            right = running_mean(run.stream.predicted == run.truth)
            curves = {"item": [float(i + 1) for i in at], "accuracy": right[at].tolist()}
        return Outcome(
            {
                "accuracy": run.accuracy,
                "updates": float(run.stream.updates),
                "kept_labelled": float(run.budget[0]),
                "kept_unlabelled": float(run.budget[1]),
                "seconds": run.seconds,
            },
            curves,
        )


STREAM = register(StreamTask())
