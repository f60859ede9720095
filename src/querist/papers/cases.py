"""The runs of an item, by label: all of them, and those to make when in a hurry.

A hurried run makes fewer repeats of fewer cases, and nothing else: its runs are among those of the full
one, which does not make them again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from querist.experiment.results import Result
from querist.experiment.specification import Specification

Label: TypeAlias = tuple[str | int | float | bool, ...]


@dataclass(frozen=True)
class Cases:
    """Specifications by label.

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

    def read(self, results: Sequence[Result]) -> dict[Label, Result]:
        """The results by label, in the order of the cases; those that were not run are not there."""
        found = {result.specification.key: result for result in results}
        return {label: found[spec.key] for label, spec in self.full.items() if spec.key in found}
