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

from querist.collective.catalogue import CLASSIFIERS
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.collective import (
    check_labelled,
    draw,
    representation,
    seeds_of,
    small_graph,
    tested,
    truth_of,
)
from querist.experiment.tasks.common import (
    checked_method,
    complete,
    graph_for,
    settings,
    share,
    warm_up,
)
from querist.experiment.tasks.online import learner_seed
from querist.graph import Graph
from querist.labelling import MEMBERS, Labelling, label
from querist.labelling.decisions.calibrate import calibration_error
from querist.labels import one_hot
from querist.metrics import NAMES, measure
from querist.types import Bools, Floats

ONE_LABEL = ("accuracy", "log_loss", "calibration_error", "estimate")
"""Numbers that there are for one label a node only."""


def protocol(
    *, labelled: tuple[float, ...] = (0.05,), draw: Literal["class", "all"] = "class"
) -> dict[str, Any]:
    """Shares that are labelled, rising: of each class, or of all nodes whatever their class."""
    return dict(locals())


def _no_parameters() -> None:
    """`querist.label` takes a method by its name alone."""


_warm: set[str] = set()
"""Methods that have been used in this process."""


class LabelTask:
    """See the module."""

    name = "label"
    measures = (*NAMES, *ONE_LABEL[1:], "reached", "labelled", "seconds")
    shown: tuple[str, ...] = ("accuracy", "log_loss", "calibration_error", "seconds")
    tuned_by = "accuracy"

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """Some are for one label a node."""
        several = self.prepare(spec).label_matrix is not None
        return tuple(name for name in self.measures if not (several and name in ONE_LABEL))

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the method has something to work on."""
        checked_method(spec, dict.fromkeys(("auto", *MEMBERS, *CLASSIFIERS), _no_parameters), ())
        shares = complete(spec, "protocol", protocol)["labelled"]
        for each in shares:
            share(spec, each, most=1 - 1e-12)
        with blame("protocol", "labelled"):
            if list(shares) != sorted(set(shares)):
                raise InputError(f"labelled = {list(shares)}; give rising shares, each once")
        graph = self.prepare(spec)
        with blame("dataset"):
            check_labelled(graph)
        with blame("method"):
            _label_small(spec.method, graph)

    def prepare(self, spec: Specification) -> Graph:
        """The graph."""
        return graph_for(spec, settings(spec, "representation", representation))

    def run(
        self, spec: Specification, prepared: Graph, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels for each share."""
        how = complete(spec, "protocol", protocol)
        warm_up(_warm, spec.method, lambda: _label_small(spec.method, prepared))
        (truth, several), bare = truth_of(prepared), prepared.without_labels()
        found = []
        for each in how["labelled"]:
            seeds = draw(truth, each, seed, repeat, several or how["draw"] == "all")
            test = tested(truth, seeds, each)
            started = time.perf_counter()
            labelling = label(
                bare,
                seeds_of(prepared, truth, seeds, several),
                method=spec.method,
                multilabel=several,
                classes=prepared.classes,
                seed=learner_seed(seed, repeat),
            )
            seconds = time.perf_counter() - started
            own = {"reached": float(labelling.reached[test].mean()), "labelled": float(seeds.sum())}
            found.append({**judged(labelling, truth, test), **own, "seconds": seconds})
        if len(found) == 1:
            return Outcome(found[0])
        curves = {name: [numbers[name] for numbers in found] for name in found[0] if name != "seconds"}
        return Outcome(found[-1], {"share": list(how["labelled"]), **curves})


def judged(labelling: Labelling, truth: Floats, test: Bools) -> dict[str, float]:
    """How right it is on the tested nodes; one that is not reached has no answer, and no likelier class."""
    P, T, reached = labelling.probabilities[test], truth[test], labelling.reached[test]
    if labelling.multilabel:
        codes = {name: k for k, name in enumerate(labelling.classes)}
        answers = np.zeros(T.shape)
        for row, node in enumerate(np.flatnonzero(test).tolist()):
            names: Any = labelling.labels[node] or ()
            answers[row, [codes[name] for name in names]] = 1
        return measure(T, answers, P)
    answers = one_hot(P.argmax(axis=1), P.shape[1]) * reached[:, None]
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
