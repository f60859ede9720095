"""What a predictor that learns nothing would reach: a verdict that it earns too says little.

The constant one knows the commonest class of the data, the random one guesses each class as often. Both are
computed from the labels of the data set that was run.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from querist import InputError
from querist.experiment import Outcome, Specification, Store, register, run
from querist.extend import graph_of, vectors_of
from querist_papers.tasks import PaperTask
from querist_papers.types import Codes
from querist_papers.verdicts import Number


class Classes(PaperTask):
    """The classes of a data set in numbers.

    majority : the share of the commonest class
    one_vs_rest : the share that a constant answer has wrong, averaged over the classes, each against the rest
    """

    name = "classes"
    measures = ("classes", "majority", "one_vs_rest")

    def prepare(self, spec: Specification) -> Codes:
        """How many there are of each class."""
        try:
            graph = graph_of(spec.dataset, spec.representation.get("component") == "largest")
        except InputError:  # it has no graph
            return np.bincount(vectors_of(spec.dataset)[1])
        return np.bincount(graph.codes[graph.codes >= 0])

    def run(
        self, spec: Specification, prepared: Codes, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Count."""
        shares = prepared[prepared > 0] / prepared.sum()
        apart = np.minimum(shares, 1 - shares).mean()
        return Outcome({"classes": shares.size, "majority": float(shares.max()), "one_vs_rest": float(apart)})


register(Classes())

MEASURES = ("accuracy", "error_rate")
"""What is known of a predictor that learns nothing."""


def with_chance(numbers: Sequence[Number], store: Store) -> list[Number]:
    """Numbers of own systems that are accuracies or error rates get their `majority` and `random`."""
    known: dict[Specification, Mapping[str, float]] = {}
    judged = []
    for number in numbers:
        spec = number.specification
        if spec is not None and spec.dataset and number.own and number.measure in MEASURES:
            part = {key: value for key, value in spec.representation.items() if key == "component"}
            data = Specification("classes", spec.dataset, representation=part, repeats=1)
            if data not in known:
                known[data] = {}
                with suppress(InputError):  # runs are kept, and their data may no longer be there
                    known[data] = run([data], store)[0].outcomes[0].numbers
            judged.append(replace(number, **_reached(number, known[data])))
        else:
            judged.append(number)
    return judged


def _reached(number: Number, known: Mapping[str, float]) -> dict[str, Any]:
    if not known:
        return {}
    if number.measure == "accuracy":
        return {"majority": known["majority"], "random": 1 / known["classes"]}
    if number.paper.one_vs_rest:
        return {"majority": known["one_vs_rest"], "random": 0.5}
    return {"majority": 1 - known["majority"], "random": 1 - 1 / known["classes"]}
