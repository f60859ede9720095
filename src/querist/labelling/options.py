"""The options of `label`, each declared once: see `querist.options`."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, TypedDict

from querist.errors import InputError
from querist.options import DEVICE, MISSING, Options, option
from querist.parameters import Range

Goal: TypeAlias = Literal["accuracy", "balanced", "f1"]
Costs: TypeAlias = Mapping[tuple[Hashable, Hashable], float]
"""What it costs to say the second class where the first is true. Other confusions cost 1 and right answers
nothing. With several labels per node (class, None) is a missed one, (None, class) a false one."""


def methods() -> Sequence[str]:
    """The names that `method` may have."""
    from querist.collective.catalogue import CLASSIFIERS
    from querist.labelling.members import MEMBERS

    return ("auto", *MEMBERS, *CLASSIFIERS)


class LabelKeywords(TypedDict, total=False):
    """The fields of `LabelOptions` as keywords; a test compares the two."""

    method: str
    multilabel: bool
    picked: bool
    goal: Goal
    costs: Costs | str | Path | None
    missing: Hashable
    ignore_unknown: bool
    seed: int
    device: str | None


@dataclass(frozen=True, kw_only=True)
class LabelOptions(Options):
    """How the nodes of a graph are labelled from a few labels.

    >>> LabelOptions(goal="f1").method
    'auto'
    >>> LabelOptions(goal="f1", costs={("fraud", "fine"): 20})
    Traceback (most recent call last):
    ...
    querist.errors.InputError: goal f1 and costs are both given; give one: costs are a goal of their own
    """

    method: str = option(
        "auto",
        "Method: auto chooses and combines models by cross-validation on the labels; or the name of a model "
        "or of a classifier",
        choices=methods,
        on=("command line", "http", "experiment"),
    )
    multilabel: bool = option(False, "A node may have several labels: one row per label in a table")
    picked: bool = option(
        False,
        "The labelled nodes were picked by a person or a program, not drawn at random: the number of labels "
        "of a class says nothing about its size, and no accuracy is estimated from them",
    )
    goal: Goal = option(
        "accuracy",
        "Metric to optimise: accuracy, balanced (mean recall of the classes) or f1 (mean F1 of the classes; "
        "of two classes that of the rarer); probabilities are the same for all",
    )
    costs: Costs | str | Path | None = option(
        None,
        "Table of what confusions cost, in place of a goal: true, said, cost; 1 for those that it does not "
        "name; with several labels per node an empty said is a missed class, an empty true a false one",
        metavar="FILE",
    )
    missing: Hashable = option(None, **MISSING, on=())
    ignore_unknown: bool = option(
        False, "Skip and count labels of nodes that are not in the graph; otherwise they are refused", on=()
    )
    seed: Annotated[int, Range(0)] = option(0, "Random seed")
    device: str | None = option(None, **DEVICE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.costs is not None and self.goal != "accuracy":
            raise InputError(
                f"goal {self.goal} and costs are both given; give one: costs are a goal of their own"
            )

    def with_costs_read(self) -> Self:
        """The same with the costs themselves, if they are in a file."""
        if not isinstance(self.costs, str | Path):
            return self
        from querist.tables.labels import read_costs

        return replace(self, costs=read_costs(self.costs))
