"""A table or figure of a paper: what to run for it, and how to show what came.

An item plans specifications and shows results. Showing is a pure function of stored results, so a table can
be drawn again without running anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from querist import experiment
from querist.experiment import Cell, Figure, Result, Specification, Table
from querist_papers.verdicts import Number, Paper, Statement

__all__ = [
    "Cases", "Cell", "Entry", "Figure", "Found", "Item", "Label", "Number", "Paper", "Shown", "Statement",
    "Table",
]  # fmt: skip

Label: TypeAlias = tuple[str | int | float | bool, ...]
Found: TypeAlias = dict[Label, Result]

Entry: TypeAlias = str | int | float | Cell | None
"""What stands in a cell of a table."""


@dataclass(frozen=True)
class Shown(experiment.Shown):
    """All that an item shows; `numbers` stand beside the published ones, `statements` beside runs."""

    numbers: Sequence[Number] = ()
    statements: Sequence[Statement] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    plan : from `quick` (fewer repeats, smaller grids) to what must be run
    show : from the results, in the order of the plan, to what is seen
    readings : how the paper was read, by the first words of a method; "" stands for every other method

    >>> from querist_papers import item_of
    >>> item_of("sslgc13", "table2").title
    'Online learning and selective sampling on four graphs'
    """

    paper: Paper
    name: str
    title: str
    protocol: str
    plan: Callable[[bool], Sequence[Specification]]
    show: Callable[[Sequence[Result]], Shown]
    readings: Mapping[str, str] = field(default_factory=dict)

    def read(self, number: Number) -> Number:
        """The same number with the reading of its method."""
        known = [name for name in self.readings if number.method.startswith(name)]
        return replace(number, reading=self.readings[max(known, key=len)]) if known else number

    @property
    def label(self) -> str:
        """As it is called on the command line and in file names."""
        return f"{self.paper.name} {self.name}".strip()


@dataclass(frozen=True)
class Cases:
    """The runs of an item, by label: all of them, and those to make when in a hurry.

    A hurried run makes fewer repeats of fewer cases, and nothing else: its runs are among those of the full
    one, which does not make them again.

    full : every case, with its repeats
    few : repeats of a case when in a hurry
    hurried : whether a case is run then; every one is unless given
    """

    full: Mapping[Label, Specification]
    few: int = 3
    hurried: Callable[[Label], bool] = lambda label: True

    def plan(self, quick: bool) -> list[Specification]:
        """What to run."""
        if not quick:
            return list(self.full.values())
        return [
            replace(spec, repeats=min(spec.repeats, self.few))
            for label, spec in self.full.items()
            if self.hurried(label)
        ]

    def read(self, results: Sequence[Result]) -> Found:
        """The results by label, in the order of the cases; those that were not run are not there."""
        found = {result.specification.key: result for result in results}
        return {label: found[spec.key] for label, spec in self.full.items() if spec.key in found}

    def item(
        self, paper: Paper, protocol: str, readings: Mapping[str, str] | None = None
    ) -> Callable[[Callable[[Found], Shown]], Item]:
        """The item of these runs, as a decorator of the function that shows them: its name and its title."""

        def made(show: Callable[[Found], Shown]) -> Item:
            name, title = show.__name__, (show.__doc__ or show.__name__).removesuffix(".")
            return Item(
                *(paper, name, title, protocol, self.plan),
                show=lambda results: show(self.read(results)),
                readings=readings or {},
            )

        return made
