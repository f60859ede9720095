"""What comes out: the outcome of one run, and all outcomes of a specification."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from querist.errors import UnknownNameError
from querist.experiment.specification import Specification
from querist.metrics import SMALLER_IS_BETTER
from querist.types import Floats

SMALLER = SMALLER_IS_BETTER | {"error_rate", "mistakes", "queries", "updates", "seconds", "bound"}
SMALLER |= {"log_loss", "calibration_error", "violations", "kept", "average_rank"}
LARGER = frozenset({"average_precision", "macro_f1", "micro_f1", "reached"})
CONTROL = "control_"
"""What the names of the numbers of the control begin with that asks at random.

>>> CONTROL + "error_rate"
'control_error_rate'
"""
MARGIN = "margin_"
"""The same of the control that asks by the margin."""


def direction(measure: str) -> int:
    """-1 where smaller is better, +1 where larger is, 0 where neither is.

    >>> direction("error_rate"), direction("control_accuracy"), direction("nodes")
    (-1, 1, 0)
    """
    name = measure.removeprefix(CONTROL).removeprefix(MARGIN)
    if name in SMALLER or name.endswith("seconds"):
        return -1
    return 1 if name in LARGER or name.endswith("accuracy") else 0


@dataclass(frozen=True)
class Outcome:
    """Of one run: named numbers, named curves, and details: plain values that say how a number came about.

    All are the same whenever and wherever the run is made, but for numbers whose name ends in `seconds`.

    >>> Outcome({"error": 0.2}, curves={"error": [0.5, 0.2]}).numbers["error"]
    0.2
    """

    numbers: Mapping[str, float]
    curves: Mapping[str, list[float]] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """All outcomes of a specification, in the order of its repeats; `chosen` is what tuning chose.

    >>> spec = Specification("online", "karate", "msg")
    >>> found = Result(spec, {}, (Outcome({"error": 0.2}), Outcome({"error": 0.4})))
    >>> found.values("error"), round(found.mean("error"), 3)
    (array([0.2, 0.4]), 0.3)
    """

    specification: Specification
    chosen: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the method was run with: the given and the chosen."""
        return {**self.specification.parameters, **self.chosen}

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its numbers."""
        return tuple(self.outcomes[0].numbers)

    def values(self, name: str) -> Floats:
        """(repeats,) a number of every run."""
        self._check(name, self.outcomes[0].numbers)
        return np.array([outcome.numbers[name] for outcome in self.outcomes], dtype=np.float64)

    def spread(self, name: str) -> dict[str, Any]:
        """`{"mean", "std", "runs"}` of a number, ready for JSON; `std` is within these runs (ddof = 0)."""
        runs = self.values(name)
        return {"mean": float(runs.mean()), "std": float(runs.std()), "runs": runs.tolist()}

    def mean(self, name: str) -> float:
        """Over the runs."""
        return float(self.values(name).mean())

    def std(self, name: str) -> float | None:
        """Over the runs, taken as all there are (ddof = 0); None where there is only one."""
        return None if len(self.outcomes) == 1 else float(self.values(name).std())

    def curve(self, name: str) -> Floats:
        """(repeats, points) a curve of every run."""
        self._check(name, self.outcomes[0].curves)
        return np.array([outcome.curves[name] for outcome in self.outcomes], dtype=np.float64)

    def _check(self, name: str, known: Mapping[str, Any]) -> None:
        if name not in known:
            raise UnknownNameError.of(f"number or curve of {self.specification.task}", name, known)
