"""A table or figure of a paper: what to run for it, and how to show what came.

An item plans specifications and shows results. Showing is a pure function of stored results, so a table can
be drawn again without running anything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from querist.experiment.results import Result
from querist.experiment.specification import Specification
from querist.experiment.verdicts import Number, Paper, Published
from querist.report import Figure

__all__ = ["Cell", "Entry", "Figure", "Item", "Number", "Paper", "Published", "Shown", "Table"]


@dataclass(frozen=True)
class Cell:
    """A number of a table with the deviation of its runs; `strong` makes it stand out.

    >>> Cell(0.81, std=0.02).digits
    4
    """

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
    """Rows of texts and numbers; plain floats are shown with `digits` decimals, None as nothing.

    >>> Table("errors", ["method", "error"], [["msg", Cell(0.2)]]).columns
    ['method', 'error']
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    digits: int = 4


@dataclass(frozen=True)
class Shown:
    """All that an item shows.

    >>> Shown(remarks=["20 shuffles"]).tables
    ()
    """

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    numbers: Sequence[Number] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    plan : from `quick` (fewer repeats, smaller grids) to what must be run
    show : from the results, in the order of the plan, to what is seen

    >>> from querist.papers import item_of
    >>> item_of("sslgc13", "table2").title
    'Online learning and selective sampling on four graphs'
    """

    paper: Paper
    name: str
    title: str
    protocol: str
    plan: Callable[[bool], Sequence[Specification]]
    show: Callable[[Sequence[Result]], Shown]

    @property
    def label(self) -> str:
        """As it is called on the command line and in file names."""
        return f"{self.paper.name} {self.name}".strip()
