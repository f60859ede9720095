"""A published number of bls19 beside ours, and a sentence for every one that we miss."""

from collections.abc import Callable, Sequence

import numpy as np

from querist.experiment.item import Number
from querist.experiment.specification import Specification
from querist.experiment.verdicts import NOT_REACHED
from querist.papers.bls19.published import PAPER
from querist.types import Floats

RUNS = 10
"""Draws, or streams, that a published mean and deviation are of."""

UNITS = {"accuracy": 100.0, "kept": 1.0}
"""In which the paper prints: per cent, and vectors."""


def number(
    item: str,
    name: str,
    method: str,
    measure: str,
    printed: tuple[float, float],
    ours: Floats | None,
    spec: Specification | None,
    post_hoc: bool = False,
) -> Number:
    """A printed mean and deviation beside the values of our runs; None where there is no counterpart."""
    value, std = (part / UNITS[measure] for part in printed)
    mine = np.empty(0) if ours is None else ours
    return Number(
        *(PAPER, item, name, method, measure, value),
        reached=float(mine.mean()) if mine.size else None,
        std=float(mine.std()) if mine.size > 1 else None,
        post_hoc=post_hoc,
        n=max(mine.size, 1),
        published_std=std,
        published_n=RUNS,
        specification=spec,
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
