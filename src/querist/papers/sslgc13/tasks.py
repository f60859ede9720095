"""Runs that only sslgc13 makes: counting its data, asking at random two ways, and watching the clock."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.experiment.results import CONTROL, Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks.common import checked, few_points, graph_of, running_mean
from querist.experiment.tasks.online import (
    APART,
    EmbeddedGraph,
    Online,
    control_parameters,
    learner_seed,
    shuffled,
    shuffled_run,
)
from querist.online.catalogue import ALGORITHMS
from querist.parameters import effective

PERCEPTRON = "perceptron_"
RANDOM_GPA = {"p": 0.5, "second_order": False, "update": "mistake", "scheme": "one-vs-rest"}
"""The paper's control: a perceptron that asks at random."""


class DataCounts:
    """A graph in numbers: its largest component, a link counted in both directions, and the whole of it."""

    name = "sslgc13.data"
    measures = ("nodes", "links", "classes", "whole_nodes", "whole_links", "class_size")
    tuned_by = "nodes"

    def check(self, spec: Specification) -> None:
        """Whether the data are there."""
        with blame("dataset"):
            graph_of(spec.dataset)

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_of(spec.dataset)

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Count."""
        part = prepared.largest_component()
        counts = (part.n_nodes, part.adjacency.nnz, part.n_classes, prepared.n_nodes, prepared.n_edges)
        size = part.n_nodes / part.n_classes
        return Outcome(dict(zip(self.measures, (*map(float, counts), size), strict=True)))


class Clock(Online):
    """An online run in stretches, with the seconds up to each in the curve `seconds`.

    A run in stretches is the run in one go, bit by bit; only the clock is read more often. Seconds are those
    of the processor, so that what else the machine does is not counted.
    """

    name = "sslgc13.clock"

    def run(
        self,
        spec: Specification,
        prepared: EmbeddedGraph,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One shuffle."""
        graph, factory = prepared.graph, ALGORITHMS[spec.method]
        where, own = prepared.of(spec.method), checked(parameters, factory, "parameters", APART)
        if spec.method not in prepared.warm:  # compiles, so that the clock below counts rounds alone
            shuffled_run(where, graph.codes, graph.n_classes, factory, own, seed=seed, rounds=1)
            prepared.warm.add(spec.method)
        order = shuffled(graph.codes, seed, repeat)
        at = few_points(order.size, int(spec.protocol.get("curve", 1)))
        learner = factory(where, graph.n_classes, seed=learner_seed(seed, repeat), **own).by_row()
        mistaken, asked, seconds = [], [], []
        for stretch in np.split(order, at[:-1] + 1):
            started = time.thread_time()
            trace = learner.run(stretch, graph.codes)
            seconds.append(time.thread_time() - started)
            flags = trace if trace.problems is None else trace.problems
            mistaken.append(flags.mistaken.reshape(stretch.size, -1).mean(axis=1))
            asked.append(flags.asked.reshape(stretch.size, -1).mean(axis=1))
        errors, questions = np.concatenate(mistaken), np.cumsum(np.concatenate(asked))
        return Outcome(
            {
                "error_rate": float(errors.mean()),
                "queries": float(questions[-1]),
                "rounds": float(order.size),
                "seconds": sum(seconds),
            },
            {
                "round": (at + 1.0).tolist(),
                "error_rate": running_mean(errors)[at].tolist(),
                "queries": questions[at].tolist(),
                "seconds": np.cumsum(seconds).tolist(),
            },
        )


class AskingWithControls(Clock):
    """The same, with both controls: the fair one, and the paper's perceptron.

    Both ask at random in the same shuffle, exactly as often. The numbers of the perceptron begin with
    `perceptron_`, those of the fair control with `control_`, as everywhere.
    """

    name = "sslgc13.asking"
    measures = (*Clock.measures, PERCEPTRON + "error_rate", PERCEPTRON + "queries")

    def run(
        self,
        spec: Specification,
        prepared: EmbeddedGraph,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One shuffle, three times."""
        found = super().run(spec, prepared, parameters, seed, repeat)
        numbers, factory = dict(found.numbers), ALGORITHMS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        fair = control_parameters(effective(factory, own, APART))
        graph, random = prepared.graph, ALGORITHMS["random_sampling"]
        for prefix, kind in ((CONTROL, fair), (PERCEPTRON, RANDOM_GPA)):
            task = (prepared.of("random_sampling"), graph.codes, graph.n_classes, random, kind)
            trace = shuffled_run(*task, seed=seed, shuffle=repeat, questions=round(numbers["queries"]))
            numbers |= {prefix + "error_rate": trace.error_rate, prefix + "queries": trace.queries}
        return Outcome(numbers, found.curves)
