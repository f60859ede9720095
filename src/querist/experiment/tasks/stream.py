"""Stream learners on shuffles of a set of vectors: every item is predicted, then learned.

Numbers: accuracy (prequential), updates, kept_labelled, kept_unlabelled, seconds. Curves, where
`protocol.curve` points are asked for: `item` and the accuracy up to it.

Which items carry their label is drawn at random, so that a run is its own random-asking control.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from querist.budgeted.catalogue import STREAMS
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
    try_out,
    vectors_of,
    warm_up,
)
from querist.parameters import Range, parameters_of
from querist.types import Bools, Codes

OrderName: TypeAlias = Literal["shuffled", "source"]
APART = ("seed",)
PAIRS = 10_000
"""Pairs of rows that a whole sample's kernel width is taken from (bls19)."""

TUNED = 20_000
"""Items of a stream that a grid is tuned on: enough to tell settings apart."""


def representation(
    *,
    scaled: bool = False,
    width: Literal["stream", "sample"] = "stream",
    rows: int | None = None,
    label: str | None = None,
) -> None:
    """Features in [-1, 1] or as they are; kernel width from the stream, or from the whole sample (bls19).

    `rows` takes only the first; `label` is the column of a file that holds the labels.
    """


def protocol(
    *,
    labelled: Annotated[float, Range(le=1, gt=0)] = 0.1,
    order: OrderName = "shuffled",
    curve: Annotated[int, Range(0)] = 0,
    items: Annotated[int, Range(0)] = 0,
) -> None:
    """The share that carries its label, the order, points of the curve, and items to stop after (0: none)."""


def draw(n: int, labelled: float, seed: int, order: OrderName = "shuffled") -> tuple[Codes, Bools]:
    """The order of a run, and which items carry their label: a share, drawn at random."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n) if order == "shuffled" else np.arange(n)
    visible = np.zeros(n, dtype=np.bool_)
    visible[rng.permutation(n)[: round(labelled * n)]] = True
    return rows, visible


@dataclass
class StreamSample:
    """Vectors and their classes; `width` where it is that of the whole sample."""

    X: Any
    codes: Codes
    n_classes: int
    width: float | None
    warm: set[str] = field(default_factory=set)


class StreamTask:
    """See the module.

    >>> order, labelled = StreamTask.draw(4, 0.5, seed=0)
    >>> sorted(order.tolist()), int(labelled.sum())
    ([0, 1, 2, 3], 2)
    """

    name = "stream"
    measures = ("accuracy", "updates", "kept_labelled", "kept_unlabelled", "seconds")
    shown: tuple[str, ...] = ("accuracy", "updates", "seconds")
    tuned_by = "accuracy"
    in_tuning: Mapping[str, Any] = {"curve": 0, "items": TUNED}
    draw = staticmethod(draw)

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether every row has a label to judge by."""
        factory = checked_method(spec, STREAMS, APART)
        label = complete(spec, "representation", representation)["label"]
        complete(spec, "protocol", protocol)
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
        X, codes, n_classes, own_seed = prepared.X, prepared.codes, prepared.n_classes, seed + repeat
        warm_up(prepared.warm, spec.method, lambda: factory(n_classes, seed=0, **own).run(X[:2], codes[:2]))
        order, visible = draw(codes.size, how["labelled"], own_seed, how["order"])
        order, visible = order[: how["items"] or None], visible[: how["items"] or None]
        learner, items, truth = factory(n_classes, seed=own_seed, **own), X[order], codes[order]
        started = time.perf_counter()
        stream = learner.run(items, truth, visible)
        seconds = time.perf_counter() - started
        curves = {}
        if how["curve"]:
            at = few_points(truth.size, how["curve"])
            right = running_mean(stream.predicted == truth)
            curves = {"item": [float(i + 1) for i in at], "accuracy": right[at].tolist()}
        kept = getattr(learner, "sizes", (0, 0))
        return Outcome(
            {
                "accuracy": stream.accuracy(truth),
                "updates": float(stream.updates),
                "kept_labelled": float(kept[0]),
                "kept_unlabelled": float(kept[1]),
                "seconds": seconds,
            },
            curves,
        )


STREAM = register(StreamTask())
