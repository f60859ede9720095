"""A table or figure of a paper: what to run for it, and how to show what came.

An item plans specifications and shows results. Showing is a pure function of stored results, so a table can
be drawn again without running anything. A `Number` stands beside a published one; its verdict is computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from querist.experiment.results import Result, direction
from querist.experiment.specification import Specification
from querist.report import Figure

__all__ = [
    "BETTER", "NOT_REACHED", "REACHED", "Cell", "Entry", "Figure", "Item", "Number", "Shown", "Table",
]  # fmt: skip

REACHED, BETTER, NOT_REACHED = "reached", "better", "not reached"


@dataclass(frozen=True)
class Number:
    """A published number and ours.

    reached : None where there is nothing of ours to compare
    tolerance : how far from the published one still counts as reached, in its own unit
    post_hoc : a setting was chosen by looking at the published number
    """

    paper: str
    item: str
    dataset: str
    method: str
    measure: str
    published: float
    reached: float | None
    std: float | None = None
    tolerance: float = 0.0
    post_hoc: bool = False

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        return None if self.reached is None else self.reached - self.published

    @property
    def verdict(self) -> str:
        """Reached within the tolerance, better beyond it on the good side, else not reached."""
        if self.difference is None:
            return NOT_REACHED
        # 1.1 - 1.0 must not fail a tolerance of 0.1 by a rounding error.
        if abs(self.difference) <= self.tolerance + 1e-12 * max(1.0, abs(self.published)):
            return REACHED
        return BETTER if self.difference * direction(self.measure) > 0 else NOT_REACHED

    def as_dict(self) -> dict[str, Any]:
        """A row of results.json."""
        return {
            "paper": self.paper,
            "item": self.item,
            "dataset": self.dataset,
            "method": self.method,
            "measure": self.measure,
            "published": self.published,
            "reached": self.reached,
            "std": self.std,
            "difference": self.difference,
            "verdict": self.verdict,
            "post_hoc": self.post_hoc,
        }


@dataclass(frozen=True)
class Cell:
    """A number of a table with the deviation of its runs; `strong` makes it stand out."""

    value: float | None
    std: float | None = None
    digits: int = 4
    strong: bool = False

    @classmethod
    def of(
        cls, result: Result, measure: str, digits: int = 4, *, unit: float = 1.0, strong: bool = False
    ) -> "Cell":
        """Mean and deviation of a measure over the runs; a unit of 100 makes per cent."""
        std = result.std(measure)
        return cls(unit * result.mean(measure), None if std is None else unit * std, digits, strong)


Entry: TypeAlias = str | int | float | Cell | None


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers; plain floats are shown with `digits` decimals, None as nothing."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    digits: int = 4


@dataclass(frozen=True)
class Shown:
    """All that an item shows."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    numbers: Sequence[Number] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    plan : from `quick` (fewer repeats, smaller grids) to what must be run
    show : from the results, in the order of the plan, to what is seen
    """

    paper: str
    name: str
    title: str
    protocol: str
    plan: Callable[[bool], Sequence[Specification]]
    show: Callable[[Sequence[Result]], Shown]

    @property
    def label(self) -> str:
        """As it is called on the command line and in file names."""
        return f"{self.paper} {self.name}".strip()
