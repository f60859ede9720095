"""What a predictor that learns nothing would reach: a verdict that it earns too says little.

The constant one knows the commonest class of the data, the random one guesses each class as often. Both are
computed from the labels of the data set that was run.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from querist.datasets import load
from querist.errors import InputError
from querist.experiment.results import Outcome
from querist.experiment.runner import run
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.store import Store
from querist.experiment.tasks import prepared_of, register
from querist.experiment.verdicts import Number
from querist.graph import Graph
from querist.types import Codes


class Classes:
    """The classes of a data set in numbers.

    majority : the share of the commonest class
    one_vs_rest : the share that a constant answer has wrong, averaged over the classes, each against the rest
    """

    name = "classes"
    measures = ("classes", "majority", "one_vs_rest")
    tuned_by = "majority"

    def check(self, spec: Specification) -> None:
        """Whether the data are there."""
        with blame("dataset"):
            prepared_of(spec, self)

    def prepare(self, spec: Specification) -> Codes:
        """How many there are of each class."""
        found = load(spec.dataset)
        if isinstance(found, Graph):
            graph = found.largest_component() if spec.representation.get("component") == "largest" else found
            if graph.codes is None:
                raise InputError(f"{spec.dataset} has no class for each node; choose a set that has one")
            return np.bincount(graph.codes[graph.codes >= 0])
        return np.unique(found.y, return_counts=True)[1]

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
        data = _data_of(number)
        if data is not None and data not in known:
            known[data] = _counted(data, store)
        found = known[data] if data is not None else {}
        judged.append(replace(number, **_reached(number, found)) if found else number)
    return judged


def _data_of(number: Number) -> Specification | None:
    """What counts the classes behind a number; None for one that only a learner can have."""
    spec = number.specification
    if spec is None or not spec.dataset or not number.own or number.measure not in MEASURES:
        return None
    where = {key: value for key, value in spec.representation.items() if key == "component"}
    return Specification("classes", spec.dataset, representation=where, repeats=1)


def _counted(data: Specification, store: Store) -> Mapping[str, float]:
    with suppress(SpecificationError):  # runs are kept, and their data may no longer be there
        return run([data], store)[0].outcomes[0].numbers
    return {}


def _reached(number: Number, known: Mapping[str, float]) -> dict[str, Any]:
    if number.measure == "accuracy":
        return {"majority": known["majority"], "random": 1 / known["classes"]}
    if number.paper.one_vs_rest:
        return {"majority": known["one_vs_rest"], "random": 0.5}
    return {"majority": 1 - known["majority"], "random": 1 - 1 / known["classes"]}
