"""Classifiers of whole graphs on draws of the labelled nodes.

Numbers: every measure of `querist.metrics` that fits the labels, reached, iterations, labelled, seconds.
Nobody asks here: the labelled nodes are drawn at random, so that a run is its own random-asking control.
"""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from querist.collective.catalogue import CLASSIFIERS
from querist.collective.trials import run_trial
from querist.errors import InputError, QueristError
from querist.experiment import tuning
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    graph_for,
    settings,
    share,
    try_out,
)
from querist.graph import Graph
from querist.metrics import NAMES, measure
from querist.types import Floats

APART = ("classes", "missing", "progress")


def representation(
    *, component: Literal["all", "largest"] = "all", nodes: str | None = None
) -> dict[str, Any]:
    """Which part of the graph; the table of its nodes, for a graph in a file."""
    return dict(locals())


def protocol(*, labelled: float = 0.05) -> dict[str, Any]:
    """The share of each class that is labelled."""
    return dict(locals())


_warm: set[str] = set()
"""Classifiers that have been fitted in this process."""


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
        try_out(spec, factory, partial(_fit_small, factory, _small()), APART)
        how = complete(spec, "protocol", protocol)
        share(spec, how["labelled"], most=1 - 1e-12)
        graph = self.prepare(spec)
        with blame("dataset"):
            if graph.label_matrix is None and (graph.codes is None or graph.n_classes < 2):
                raise InputError(
                    f"{graph.name} has no labels of at least 2 classes; nothing can be tested. Labels of a "
                    "graph in a file may stand in a table: representation.nodes"
                )
        with blame("method"):
            for choice in tuning.combinations(spec):
                own = checked({**spec.parameters, **choice}, factory, "parameters", APART)
                _fit_small(factory, _small(graph), **own)

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_for(spec, settings(spec, "representation", representation))

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels."""
        factory = CLASSIFIERS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        how = complete(spec, "protocol", protocol)
        if spec.method not in _warm:
            with suppress(QueristError):  # it is only to be compiled: seconds are those of the fit
                _fit_small(factory, _small(prepared), **own)
            _warm.add(spec.method)
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


def _small(like: Graph | None = None) -> Graph:
    """Two cliques of four with words, or what another graph has of them: no words, or negative entries."""
    cliques, words = (np.kron(np.eye(2), block) for block in (1 - np.eye(4), np.ones((4, 3))))
    if like is None:
        return Graph(sp.csr_array(cliques), None, sp.csr_array(words))
    if like.adjacency.nnz and like.adjacency.data.min() < 0:
        cliques[0, 1] = cliques[1, 0] = -1
    if like.attributes is None:
        return Graph(sp.csr_array(cliques), name=like.name)
    if like.attributes.nnz and like.attributes.data.min() < 0:
        words[0, 0] = like.attributes.data.min()
    return Graph(sp.csr_array(cliques), None, sp.csr_array(words), name=like.name)


def _fit_small(factory: Any, graph: Graph, **parameters: Any) -> None:
    """Fit a small graph: classifiers refuse data and values when they are fitted, not before."""
    seeds = np.array(["a", None, None, None, "b", None, None, None], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factory(**parameters, classes=("a", "b")).fit(graph, seeds)


COLLECTIVE = register(Collective())
