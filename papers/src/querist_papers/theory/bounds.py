"""A bound as a value: the number, what it is made of, and whether it may be relied on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SLACK = 1e-9
"""Rounding that a comparison forgives, in parts of the bound."""


@dataclass(frozen=True)
class Bound:
    """`observed <= value`, said by a theorem about mistakes, questions or regret.

    Parameters
    ----------
    source : the theorem, as in "pounce08, Theorem 2"
    what : what is bounded: "mistakes", "questions" or "regret"
    value : the bound
    observed : what the run counted
    terms : the numbers that the value is made of
    assumptions : what the theorem needs, each with whether it holds here
    in_expectation : the theorem speaks of the mean over the learner's draws, not of one run
    sure : what the proof keeps below the value in every single run; the count itself unless the theorem is
        one in expectation, None where one run proves nothing
    note : what a reader should know
    problem : the positive class of a binary problem, None where there is one problem only

    >>> bound = Bound("pounce08, Theorem 2", "mistakes", value=8.0, observed=3)
    >>> bound.respected
    True
    """

    source: str
    what: Literal["mistakes", "questions", "regret"]
    value: float
    observed: float
    terms: Mapping[str, float] = field(default_factory=dict)
    assumptions: Mapping[str, bool] = field(default_factory=dict)
    in_expectation: bool = False
    sure: float | None = None
    note: str = ""
    problem: int | None = None

    @property
    def applies(self) -> bool:
        """Whether every assumption holds."""
        return all(self.assumptions.values())

    @property
    def respected(self) -> bool:
        """Whether this run keeps the bound, up to rounding."""
        checked = self.sure if self.in_expectation else self.observed
        return checked is None or checked <= self.value + SLACK * (1 + abs(self.value))

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {**asdict(self), "respected": self.respected, "applies": self.applies}
