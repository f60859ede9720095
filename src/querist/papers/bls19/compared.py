"""A published number of bls19 beside ours, and a sentence for every one that we miss."""

from collections.abc import Mapping, Sequence

from querist.experiment.item import NOT_REACHED, Number
from querist.types import Floats

PAPER = "bls19"
OWN = ("BLS",)
"""What the methods begin with that the paper proposes; the others are its rivals."""

RUNS = 10
"""Draws, or streams, that a published mean and deviation are of."""


def number(
    item: str,
    name: str,
    method: str,
    measure: str,
    published: tuple[float, float],
    ours: Floats | None,
    *,
    unit: float = 1.0,
    post_hoc: bool = False,
) -> Number:
    """A published mean and deviation beside the values of our runs; None where we have none."""
    mean, std = (value / unit for value in published)
    own = None if ours is None or ours.size < 2 else float(ours.std())
    spread = std if own is None else own
    least = 0.05 * mean if measure == "kept" else 0.005
    tolerance = max(least, 2 * ((std**2 + spread**2) / RUNS) ** 0.5)
    return Number(
        *(PAPER, item, name, method, measure, mean),
        None if ours is None else float(ours.mean()),
        own,
        tolerance,
        post_hoc,
    )


def remarks_on(numbers: Sequence[Number], reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """A sentence for every number of the paper's own method that is not reached."""
    said = []
    for each in numbers:
        if each.verdict == NOT_REACHED and each.method.startswith(OWN) and each.reached is not None:
            unit = 100 if each.measure == "accuracy" else 1
            why = reasons.get((each.dataset, each.method), "")
            said.append(
                f"Not reached: {each.dataset}, {each.method}, {unit * each.reached:.2f} against "
                f"{unit * each.published:.2f}{'; ' if why else '.'}{why}"
            )
    return said
