"""How the items of pounce08 name what they run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from querist.experiment import Result, Specification
from querist_papers.item import Cell, Paper, Statement

PAPER = Paper(
    "pounce08",
    "Herbster, Exploiting Cluster-Structure to Predict the Labeling of a Graph (ALT 2008).",
    own=frozenset({"POUNCE"}),
    prose=Path(__file__).with_name("report.md"),
)
RIVALS: dict[str, dict[str, Any]] = {
    "POUNCE": {"method": "pounce"},
    "perceptron": {"method": "perceptron"},
    "halving": {"method": "halving"},
    "nearest by resistance": {"method": "nearest", "parameters": {"distance": "resistance"}},
    "nearest by path": {"method": "nearest", "parameters": {"distance": "geodesic"}},
    "nearest, no preview": {"method": "nearest", "parameters": {"distance": "points"}},
}
LOOKS = tuple(RIVALS)
"""The learners, in the order of their looks."""


def case(name: str, world: str, repeats: int = 20, **protocol: Any) -> Specification:
    """A learner in a world."""
    return Specification(
        "pounce08.worlds", protocol={"world": world, **protocol}, repeats=repeats, **RIVALS[name]
    )


def counted(result: Result, measure: str = "mistakes", digits: int = 1) -> Cell:
    """Mean and deviation of a count."""
    return Cell.of(result, measure, digits)


def largest(result: Result, measure: str = "mistakes") -> float:
    """Over the runs."""
    return float(result.values(measure).max())


def stated(item: str, name: str, says: str, lines: Iterable[Result]) -> Statement:
    """A statement that bounds the mistakes of each of these runs."""
    return Statement(PAPER, item, name, says, np.concatenate([run.values("violations") for run in lines]) > 0)
