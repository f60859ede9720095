"""Classifiers of whole graphs on draws of the labelled nodes: the protocol of mrgm15, section 4.4.

Numbers: every measure of `querist.metrics` that fits the labels, reached, iterations, labelled, seconds.
Nobody asks here: the labelled nodes are drawn at random, so that a run is its own random-asking control.

In trial t of a seed, `ceil(p n_c)` nodes of every class are drawn from `default_rng((seed, t))` and
labelled; all other nodes with a known label are the test. So a trial is the same whatever the method. With
several labels a node, `ceil(p n)` are drawn of all: a draw a class would take the nodes with many
labels first and leave the easy ones for the test.

Where a node is not reached, the likeliest class of the labels is its answer (the paper is silent);
`reached` says how many were.
"""

import math
import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from querist.collective.catalogue import CLASSIFIERS
from querist.collective.threshold import decide
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    WARM,
    Share,
    checked,
    checked_method,
    complete,
    graph_for,
    try_out,
    warm_up,
)
from querist.graph import Graph
from querist.labels import Labels
from querist.metrics import NAMES, measure
from querist.types import Bools, Floats

APART = ("classes", "missing", "progress")


def representation(*, component: Literal["all", "largest"] = "all", nodes: str | None = None) -> None:
    """Which part of the graph; the table of its nodes, for a graph in a file."""


def protocol(*, labelled: Share = 0.05) -> None:
    """The share of each class that is labelled."""


class CollectiveTask:
    """See the module.

    >>> CollectiveTask().tuned_by
    'accuracy'
    """

    name = "collective"
    measures: tuple[str, ...] = (*NAMES, "reached", "iterations", "labelled", "seconds")
    unless_multilabel: tuple[str, ...] = ("accuracy",)
    """Numbers that there are for one label a node only."""
    shown: tuple[str, ...] = ("accuracy", "macro_f1", "reached", "seconds")
    tuned_by = "accuracy"

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """Some are for one label a node."""
        multilabel = truth_of(self.prepare(spec)).multilabel
        return tuple(name for name in self.measures if not (multilabel and name in self.unless_multilabel))

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the data have labels."""
        factory = checked_method(spec, CLASSIFIERS, APART)
        complete(spec, "protocol", protocol)
        graph = self.prepare(spec)
        with blame("dataset"):
            truth_of(graph)
        try_out(spec, factory, partial(_fit_small, factory, small_graph(graph)), APART)

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_for(spec, complete(spec, "representation", representation))

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw of the labels."""
        factory = CLASSIFIERS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        how = complete(spec, "protocol", protocol)
        warm_up(WARM, spec.method, lambda: _fit_small(factory, small_graph(prepared), **own))
        known = truth_of(prepared)
        seeds = draw(known, how["labelled"], seed, repeat)
        test, truth = tested(known, seeds, how["labelled"]), known.indicator
        model, bare = factory(**own), prepared.without_labels()
        started = time.perf_counter()
        model.fit(bare, known.only(seeds))
        seconds = time.perf_counter() - started
        P = np.asarray(model.probabilities_, dtype=np.float64)[test]
        multilabel = known.multilabel
        answers = (
            decide(P, model.threshold, model.top_k)
            if multilabel
            else Labels(P.argmax(axis=1), known.classes).indicator
        )
        return Outcome(
            {
                **measure(truth[test], answers.astype(np.float64), P),
                "reached": float(model.reached_[test].mean()),
                "iterations": float(model.n_iter_),
                "labelled": float(seeds.sum()),
                "seconds": seconds,
            },
            self.curves(model.history_.objective),
        )

    def curves(self, objective: Floats) -> dict[str, list[float]]:
        """What to keep of the objective after each iteration: nothing here."""
        return {}


# -- one draw of the labels ---------------------------------------------------------


def draw(known: Labels, share: float, seed: int, trial: int, by_class: bool = True) -> Bools:
    """(n,) the nodes that are labelled in a trial: `ceil(share n_c)` of every class, or of all."""
    generator = np.random.default_rng((seed, trial))
    chosen = np.zeros(len(known), dtype=bool)
    by_class = by_class and not known.multilabel
    groups = [known.codes == k for k in range(len(known.classes))] if by_class else [known.known]
    for group in groups:
        members = np.flatnonzero(group)
        # 0.07 * 100 is 7.000000000000001: no eighth node for a rounding error.
        count = math.ceil(share * members.size * (1 - 1e-12))
        chosen[generator.choice(members, size=count, replace=False)] = True
    return chosen


def tested(known: Labels, seeds: Bools, labelled: float) -> Bools:
    """(n,) the nodes with a known label that are no seeds, at least one."""
    test: Bools = known.known & ~seeds
    if not test.any():
        raise InputError(f"labelled = {labelled}: no node is left to be tested; label fewer")
    return test


def truth_of(graph: Graph) -> Labels:
    """The labels of a graph; refused if nothing can be tested by them."""
    known = graph.known
    if known is None or not (known.multilabel or (known.known.any() and len(known.classes) > 1)):
        raise InputError(
            f"{graph.name} has no labels of at least 2 classes and so nothing can answer or be tested; use a "
            "labelled set, or a table of its nodes with the columns node and label (--nodes, in a file "
            "representation.nodes)"
        )
    return known


def small_graph(like: Graph | None = None) -> Graph:
    """Two cliques of four with words, or what another graph has of them: no words, or negative entries."""
    cliques, words = (np.kron(np.eye(2), block) for block in (1 - np.eye(4), np.ones((4, 3))))
    if like is None:
        return Graph(sp.csr_array(cliques), attributes=sp.csr_array(words))
    if like.adjacency.nnz and like.adjacency.data.min() < 0:
        cliques[0, 1] = cliques[1, 0] = -1
    if like.attributes is None:
        return Graph(sp.csr_array(cliques), name=like.name)
    if like.attributes.nnz and like.attributes.data.min() < 0:
        words[0, 0] = like.attributes.data.min()
    return Graph(sp.csr_array(cliques), attributes=sp.csr_array(words), name=like.name)


def _fit_small(factory: Any, graph: Graph, **parameters: Any) -> None:
    """Fit a small graph: classifiers refuse data and values when they are fitted, not before."""
    seeds = np.array(["a", None, None, None, "b", None, None, None], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factory(**parameters, classes=("a", "b")).fit(graph, seeds)


COLLECTIVE = register(CollectiveTask())
