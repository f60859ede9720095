"""One self-contained HTML report of what was run, with its tables and figures.

>>> Section(["Run once."], (), Shown()).said
['Run once.']
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from querist.experiment import tables
from querist.experiment.results import Result
from querist.experiment.store import machine, versions
from querist.experiment.tables import Shown
from querist.report.page import page


@dataclass(frozen=True)
class Section:
    """What was run, how, and what it shows.

    >>> Section(["Run once."], (), Shown()).results
    ()
    """

    protocol: Sequence[str]
    results: Sequence[Result]
    shown: Shown

    @property
    def said(self) -> list[str]:
        """The protocol, with the seeds and repeats of the results."""
        return [*self.protocol, *([seeds(self.results)] if self.results else [])]


def report(title: str, section: Section, command: str) -> str:
    """The whole page; `command` made it.

    >>> "<h1>Two runs</h1>" in report("Two runs", Section([], (), Shown()), "querist experiment two.toml")
    True
    """
    return page(
        "comparison",
        title=title,
        lede="Every number of ours was computed by the command below.",
        command=command,
        protocol=section.said,
        tables=[tables.html(each) for each in section.shown.tables],
        figures=section.shown.figures,
        remarks=section.shown.remarks,
        conditions=", ".join(f"{name} {value}" for name, value in conditions().items()),
        n_specifications=len({result.specification.key for result in section.results}),
    )


def conditions() -> dict[str, Any]:
    """The machine and the versions of the libraries that results come from.

    >>> "numpy" in conditions()
    True
    """
    return {**machine(), **versions()}


def seeds(results: Sequence[Result]) -> str:
    """Seeds and repeats, in words.

    >>> from querist.experiment import Outcome, Specification
    >>> seeds([Result(Specification("online", "karate", "msg", repeats=2), {}, (Outcome({}),))])
    'Seed 0; 2 repeats; 1 specification.'
    """
    specs = [result.specification for result in results]
    repeats = sorted({spec.repeats for spec in specs})
    text = (
        f"Seed {_joined({spec.seed for spec in specs})}; {_joined(repeats)} "
        f"repeat{'' if repeats == [1] else 's'}; {len(specs)} specification{'s' if len(specs) > 1 else ''}."
    )
    held = {spec.held_out for spec in specs if spec.grid}
    return text + (f" Tuned on held-out draws from seed {_joined(held)}." if held else "")


def _joined(values: Iterable[int]) -> str:
    return ", ".join(f"{value:,}" for value in sorted(values))
