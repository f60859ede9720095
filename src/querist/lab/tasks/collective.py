"""Classifiers of whole graphs on draws of the labelled nodes.

Numbers: every measure of `querist.metrics` that fits the labels, reached, iterations, labelled, seconds.
Nobody asks here: the labelled nodes are drawn at random, so that a run is its own random-asking control.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from querist.collective.catalogue import CLASSIFIERS
from querist.collective.trials import run_trial
from querist.errors import InputError
from querist.graph import Graph
from querist.lab.results import Outcome
from querist.lab.specification import Specification, blame
from querist.lab.tasks import register
from querist.lab.tasks.common import checked, checked_method, complete, graph_of, settings, share, try_out
from querist.metrics import NAMES, measure
from querist.types import Floats

APART = ("classes", "missing", "progress")


def representation(*, component: Literal["all", "largest"] = "all") -> dict[str, Any]:
    """Which part of the graph."""
    return dict(locals())


def protocol(*, labelled: float = 0.05) -> dict[str, Any]:
    """The share of each class that is labelled."""
    return dict(locals())


class Collective:
    """See the module."""

    name = "collective"
    measures = (*NAMES, "reached", "iterations", "labelled", "seconds")
    tuned_by = "accuracy"

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """Accuracy is for one label a node."""
        several = self.prepare(spec).label_matrix is not None
        return tuple(name for name in self.measures if not (several and name == "accuracy"))

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the data have labels."""
        factory = checked_method(spec, CLASSIFIERS, APART)
        try_out(spec, factory, partial(_fit_small, factory), APART)
        part = settings(spec, "representation", representation).get("component")
        how = complete(spec, "protocol", protocol)
        share(spec, how["labelled"], most=1 - 1e-12)
        with blame("dataset"):
            graph = graph_of(spec.dataset, part == "largest")
            if graph.label_matrix is None and (graph.codes is None or graph.n_classes < 2):
                raise InputError(f"{graph.name} has no labels of at least 2 classes; nothing can be tested")

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        part = settings(spec, "representation", representation).get("component")
        return graph_of(spec.dataset, part == "largest")

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels."""
        factory = CLASSIFIERS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        how = complete(spec, "protocol", protocol)
        found = run_trial(prepared, factory, own, measure, labelled=how["labelled"], seed=seed, trial=repeat)
        return Outcome(
            {
                **found.metrics,
                "reached": found.reached,
                "iterations": float(found.iterations),
                "labelled": float(found.labelled),
                "seconds": found.seconds,
            },
            self.curves(found.history.objective),
        )

    def curves(self, objective: Floats) -> dict[str, list[float]]:
        """What to keep of the objective after each iteration: nothing here."""
        return {}


def _fit_small(factory: Any, **parameters: Any) -> None:
    """Fit two cliques of four: classifiers refuse a value when they are fitted, not before."""
    cliques, words = (sp.csr_array(np.kron(np.eye(2), block)) for block in (1 - np.eye(4), np.ones((4, 3))))
    seeds = np.array(["a", None, None, None, "b", None, None, None], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factory(**parameters, classes=("a", "b")).fit(Graph(cliques, None, words), seeds)


COLLECTIVE = register(Collective())
