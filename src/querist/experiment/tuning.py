"""A grid, tuned on draws that are not reported unless a protocol says so.

Every combination is run on the same `protocol.tuning` held-out draws (1 by default). The best mean of
`protocol.tuned_by` wins, the earliest where several are equal. With `protocol.tuned_on = "reported"` the
draws are the first of the reported ones: what a paper does that records the best of a grid. With
`protocol.tuned_with` another method of the same task is run in tuning, with `protocol.tuned_parameters`, and
what suits it best is taken (SSLGC takes OLLGC's mu, sslgc13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.experiment.results import direction
from querist.experiment.specification import TUNING_KEYS, Specification, SpecificationError, blame
from querist.experiment.store import TUNING, Draw, Record, draw_of
from querist.experiment.tasks import Task


def draws(spec: Specification) -> int:
    """Held-out draws a combination."""
    return int(spec.protocol.get("tuning", 1))


def measure_of(spec: Specification, task: Task) -> str:
    """What is tuned by."""
    return str(spec.protocol.get("tuned_by", task.tuned_by))


def combinations(spec: Specification) -> list[dict[str, Any]]:
    """Every choice of the grid, in its order; one empty choice where there is no grid."""
    return [dict(zip(spec.grid, values, strict=True)) for values in product(*spec.grid.values())]


def tuned_as(spec: Specification, task: Task) -> Specification:
    """What is run in tuning: the same without control and curves, or the method that it is tuned with."""
    protocol = {name: value for name, value in spec.protocol.items() if name not in TUNING_KEYS}
    protocol |= getattr(task, "in_tuning", {})
    other = spec.protocol.get("tuned_with", "")
    if not other:
        return replace(spec, protocol=protocol)
    given = spec.protocol.get("tuned_parameters", {})
    return replace(spec, method=other, parameters=given, protocol=protocol)


def check(spec: Specification, task: Task, measures: Sequence[str]) -> None:
    """Refuse what cannot be tuned."""
    if not spec.grid:
        return
    measure = measure_of(spec, task)
    where = ("protocol", "tuned_by") if "tuned_by" in spec.protocol else ("grid",)
    with blame(*where):
        check_measure(spec, measure, measures)
        if direction(measure) == 0:
            raise SpecificationError(
                f"{measure} is neither better when larger nor when smaller; tune by another"
            )
    if spec.protocol.get("tuned_with"):
        with blame("protocol", "tuned_with"):
            task.check(tuned_as(spec, task))


def check_measure(spec: Specification, measure: str, measures: Sequence[str]) -> None:
    """Refuse a measure that runs of this specification do not have."""
    if measure not in measures:
        nearest = UnknownNameError.of("measure", measure, measures)
        raise InputError(f"{measure!r} does not fit {spec.task} on {spec.dataset}: {nearest}")


def choose(spec: Specification, task: Task, finished: Mapping[Draw, Record]) -> dict[str, Any]:
    """The best combination, from all finished tuning runs."""
    if not spec.grid:
        return {}
    measure = measure_of(spec, task)
    means = [
        np.mean(
            [
                finished[draw_of(TUNING, choice, repeat)].outcome.numbers[measure]
                for repeat in range(draws(spec))
            ]
        )
        for choice in combinations(spec)
    ]
    # A run that came to nothing must not win: NaN is worse than anything.
    best = np.argmax(np.nan_to_num(direction(measure) * np.array(means), nan=-np.inf))
    return combinations(spec)[int(best)]
