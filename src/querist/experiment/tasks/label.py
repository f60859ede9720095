"""A label for every node from draws of the labelled ones: `querist.label` by any of its methods, or "auto".

Numbers, of the last share in `protocol.labelled`: every measure of `querist.metrics` that fits the labels, on
the nodes with a known label that were not given; with one label a node also log_loss, calibration_error and
`estimate`, the accuracy that the labelling itself expected; reached, labelled, seconds. A node that is not
reached counts as wrong. Curves, where there are several shares: `share` and each of these numbers.

The labels are drawn at random, so that a run is its own random-asking control.
"""

import time
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.collective import (
    CollectiveTask,
    draw,
    small_graph,
    tested,
    truth_of,
)
from querist.experiment.tasks.common import (
    WARM,
    checked_method,
    complete,
    warm_up,
)
from querist.experiment.tasks.online import learner_seed
from querist.graph import Graph
from querist.labelling import Labelling, label
from querist.labelling.decisions.calibrate import calibration_error
from querist.labelling.options import methods
from querist.labels import Labels
from querist.metrics import NAMES, measure
from querist.types import Bools, Floats


def protocol(*, labelled: tuple[float, ...] = (0.05,), draw: Literal["class", "all"] = "class") -> None:
    """Shares that are labelled, rising: of each class, or of all nodes whatever their class."""


class LabelTask(CollectiveTask):
    """See the module."""

    name = "label"
    unless_multilabel = ("accuracy", "log_loss", "calibration_error", "estimate")
    measures = (*NAMES, *unless_multilabel[1:], "reached", "labelled", "seconds")
    shown = ("accuracy", "log_loss", "calibration_error", "seconds")

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the method has something to work on."""
        # `querist.label` takes a method by its name alone, without parameters.
        checked_method(spec, dict.fromkeys(methods(), _label_small), ())
        shares = complete(spec, "protocol", protocol)["labelled"]
        with blame("protocol", "labelled"):
            if list(shares) != sorted(set(shares)) or not 0 < shares[0] <= shares[-1] < 1:
                raise InputError(f"labelled = {list(shares)}; give rising shares between 0 and 1, each once")
        graph = self.prepare(spec)
        with blame("dataset"):
            truth_of(graph)
        with blame("method"):
            _label_small(spec.method, graph)

    def run(
        self, spec: Specification, prepared: Graph, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels for each share."""
        how = complete(spec, "protocol", protocol)
        warm_up(WARM, f"label {spec.method}", lambda: _label_small(spec.method, prepared))
        known, bare = truth_of(prepared), prepared.without_labels()
        found = []
        for each in how["labelled"]:
            seeds = draw(known, each, seed, repeat, how["draw"] == "class")
            test = tested(known, seeds, each)
            started = time.perf_counter()
            labelling = label(
                bare,
                known.only(seeds),
                method=spec.method,
                multilabel=known.multilabel,
                seed=learner_seed(seed, repeat),
            )
            seconds = time.perf_counter() - started
            own = {"reached": float(labelling.reached[test].mean()), "labelled": float(seeds.sum())}
            found.append({**judged(labelling, known.indicator, test), **own, "seconds": seconds})
        if len(found) == 1:
            return Outcome(found[0])
        curves = {name: [numbers[name] for numbers in found] for name in found[0] if name != "seconds"}
        return Outcome(found[-1], {"share": list(how["labelled"]), **curves})


def judged(labelling: Labelling, truth: Floats, test: Bools) -> dict[str, float]:
    """How right it is on the tested nodes; one that is not reached has no answer, and no likelier class."""
    P, T, reached = labelling.probabilities[test], truth[test], labelling.reached[test]
    if labelling.multilabel:
        return measure(T, labelling.said[test].astype(np.float64), P)
    answers = Labels(P.argmax(axis=1), labelling.classes).indicator * reached[:, None]
    chance = np.where(reached, (P * T).sum(axis=1), 1 / P.shape[1])
    right = (answers * T).sum(axis=1) > 0
    return {
        **measure(T, answers, P),
        "log_loss": float(-np.log(np.maximum(chance, 1e-15)).mean()),
        "calibration_error": calibration_error(P.max(axis=1), right),
        "estimate": labelling.estimate.accuracy,
    }


def _label_small(method: str, like: Graph) -> None:
    """Label a small graph with what another has of words: a method refuses data when used, not before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        label(small_graph(like), {0: "a", 1: "a", 4: "b", 5: "b"}, method=method)


LABEL = register(LabelTask())
