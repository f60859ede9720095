"""Runs that only sslgc13 makes: asking at random two ways, and watching the clock."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.experiment import CONTROL, OnlineTask, Outcome, Specification

PERCEPTRON = "perceptron_"
RANDOM_GPA = {"p": 0.5, "second_order": False, "update": "mistake", "scheme": "one-vs-rest"}
"""The paper's control: a perceptron that asks at random."""


class Clock(OnlineTask):
    """An online run in stretches, with the seconds up to each in the curve `seconds`.

    A run in stretches is the run in one go, bit by bit; only the clock is read more often. Seconds are those
    of the processor, so that what else the machine does is not counted.
    """

    name = "sslgc13.clock"

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One shuffle."""
        task, order = (prepared, spec.method, parameters, seed, repeat), self.order(prepared, seed, repeat)
        if spec.method not in prepared.warm:  # compiles, so that the clock below counts rounds alone
            self.learner(*task).run(order[:1], prepared.graph.codes)
            prepared.warm.add(spec.method)
        at = self.points(order.size, int(spec.protocol.get("curve", 1)))
        learner = self.learner(*task)
        mistaken, asked, seconds = [], [], []
        for stretch in np.split(order, at[:-1] + 1):
            started = time.thread_time()
            trace = learner.run(stretch, prepared.graph.codes)
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
                "error_rate": (np.cumsum(errors) / np.arange(1, errors.size + 1))[at].tolist(),
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
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One shuffle, three times."""
        found = super().run(spec, prepared, parameters, seed, repeat)
        numbers, asked = dict(found.numbers), round(found.numbers["queries"])
        fair = self.control_of(spec.method, parameters)
        for prefix, kind in ((CONTROL, fair), (PERCEPTRON, RANDOM_GPA)):
            trace = self.played(prepared, "random_sampling", kind, seed, repeat, asked)
            numbers |= {prefix + "error_rate": trace.error_rate, prefix + "queries": trace.queries}
        return Outcome(numbers, found.curves)
