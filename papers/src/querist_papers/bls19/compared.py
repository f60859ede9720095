"""A published number of bls19 beside ours, and a sentence for every one that we miss.

The paper tries each lambda in {10, 1, 0.1, 0.01} and says that "the best results are recorded", not for what
each choice holds. Three readings are shown. The published numbers are compared with the last one: its
deviations, and what projection keeps, are the nearest to those of the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from querist.experiment import Result, Specification
from querist_papers.bls19.published import PAPER
from querist_papers.item import Cell, Found, Label, Number
from querist_papers.types import Floats
from querist_papers.verdicts import NOT_REACHED

RUNS = 10
"""Draws, or streams, that a published mean and deviation are of."""

LAMBDAS = (10.0, 1.0, 0.1, 0.01)
LEAST_SQUARES = tuple({"lambda1": a, "lambda2": b} for a, b in product(LAMBDAS, LAMBDAS))
"""The combinations that the paper tries."""

READINGS = HELD_OUT, PER_CELL, PER_RUN = "held out", "best per cell", "best per run"
"""The combination with the best mean over other runs, over the reported ones, and the best of each run."""

CHOICES = (
    "Three choices from the grid are shown: the one that is best on held-out runs, the best one for all runs "
    "of a cell, and the best one for each run. The paper records the best results on the reported data; its "
    "numbers are compared with the last, as are the labelled items alone."
)
UNITS = {"accuracy": 100.0, "kept": 1.0}
"""In which the paper prints: per cent, and vectors."""


def grouped(found: Found) -> dict[Label, list[Result]]:
    """The results of all combinations, by the first three parts of their labels."""
    groups: dict[Label, list[Result]] = {}
    for label, result in found.items():
        groups.setdefault(label[:3], []).append(result)
    return groups


def by_reading(values: Floats, reported: Floats, held_out: Floats) -> dict[str, Floats]:
    """(runs, ...) of values (combinations, runs, ...), of the combination that a reading takes, by reading.

    reported, held_out : (combinations, runs) accuracies

    >>> reported, held_out = np.array([[0.5, 0.9], [0.8, 0.7]]), np.array([[0.1], [0.2]])
    >>> {name: each.tolist() for name, each in by_reading(reported, reported, held_out).items()}
    {'held out': [0.8, 0.7], 'best per cell': [0.8, 0.7], 'best per run': [0.8, 0.9]}
    """
    best = {
        HELD_OUT: held_out.mean(axis=1).argmax(),
        PER_CELL: reported.mean(axis=1).argmax(),
        PER_RUN: reported.argmax(axis=0),
    }
    return {name: values[rows, np.arange(reported.shape[1])] for name, rows in best.items()}


def number(
    item: str,
    name: str,
    method: str,
    measure: str,
    printed: tuple[float, float],
    ours: Mapping[str, Floats],
    spec: Specification | None,
    without: Floats | None = None,
) -> Number:
    """A printed mean and deviation beside the values of our runs by reading, the last of which is compared.

    One that was taken from several was chosen by looking at what is printed. `without` are the values without
    unlabelled items.
    """
    value, std = (part / UNITS[measure] for part in printed)
    mine = list(ours.values())[-1] if ours else np.empty(0)
    return Number(
        *(PAPER, item, name, method, measure, value),
        reached=float(mine.mean()) if mine.size else None,
        std=float(mine.std()) if mine.size > 1 else None,
        post_hoc=len(ours) > 1,
        n=max(mine.size, 1),
        published_std=std,
        published_n=RUNS,
        specification=spec,
        without=None if without is None else float(without.mean()),
        others={reading: float(values.mean()) for reading, values in list(ours.items())[:-1]},
    )


def shown(values: Floats | None, measure: str = "accuracy") -> Cell | None:
    """A mean with its deviation, as the paper prints it; nothing where it was not run."""
    if values is None:
        return None
    unit = UNITS[measure]
    return Cell(unit * float(values.mean()), unit * float(values.std()), 2 if measure == "accuracy" else 0)


def without_idea(numbers: Sequence[Number]) -> str:
    """What the unlabelled items bring, over all accuracies of the paper's own method."""
    gains = [
        100 * (each.reached - each.without)
        for each in numbers
        if each.measure == "accuracy" and each.reached is not None and each.without is not None
    ]
    return (
        f"Unlabelled items bring {np.mean(gains):+.2f} points of accuracy on average, from {min(gains):+.2f} "
        f"to {max(gains):+.2f}: the labelled items alone reach or exceed "
        f"{sum(gain <= 0 for gain in gains)} of {len(gains)} accuracies of BLS."
    )


def remarks_on(numbers: Sequence[Number], reason: Callable[[Number], str]) -> list[str]:
    """A sentence for every number of the paper's own method that is not reached, with a reason."""
    return [
        f"Not reached: {each.dataset}, {each.method}, {each.measure} "
        f"{UNITS[each.measure] * each.reached:.2f} against {UNITS[each.measure] * each.published:.2f}; "
        f"{reason(each)}."
        for each in numbers
        if each.own and each.verdict == NOT_REACHED and each.reached is not None
    ]
