"""Figures that sslgc13 and msg16 share: curves along the rounds, and the error by the ratio of queries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from querist.experiment import Result
from querist_papers import panels
from querist_papers.graphs import DATA, STOOD_IN, TITLES, cell
from querist_papers.item import Entry, Figure, Label, Shown, Table

POINTS = 60
"""Rounds at which curves are read."""


def ratio(result: Result) -> float:
    """Queries a round."""
    return result.mean("queries") / result.mean("rounds")


def shown(
    found: Mapping[Label, Result],
    measures: Mapping[str, str],
    looks: Sequence[str],
    caption: str,
    remarks: Sequence[str] = (),
) -> Shown:
    """Every measure of every (data, method) against the rounds: where it ends, and its curve.

    measures : what is said beside the axis, by measure; looks : the methods, in the order of their looks
    """
    rows: list[list[Entry]] = [
        [TITLES[str(dataset)], name, *(cell(line, measure) for measure in measures)]
        for (dataset, name), line in found.items()
    ]
    drawn = [
        [
            (
                {n: (found[d, n].curve("round")[0], found[d, n].curve(measure)) for n in looks},
                {
                    "title": "" if row else TITLES[d],
                    "x_label": "round" if row == len(measures) - 1 else "",
                    "y_label": label if d == next(iter(DATA)) else "",
                    "percent": measure == "error_rate",
                },
            )
            for d in DATA
        ]
        for row, (measure, label) in enumerate(measures.items())
    ]
    columns = ["data", "method", *(measure.removesuffix("_rate") for measure in measures)]
    size = (10.5, 1.8 + 1.8 * len(measures))
    return Shown(
        [Table("Where the curves end", columns, rows)],
        [Figure("curves", panels.drawn(drawn, looks), caption, size)],
        remarks=[STOOD_IN, *remarks],
    )


def ratios(series_of: Callable[[str], panels.Series], looks: Sequence[str], caption: str) -> Figure:
    """A panel a data set: the error against the ratio of queried nodes."""
    one, two, *others = [(series_of(dataset), {"title": TITLES[dataset]}) for dataset in DATA]
    labels: dict[str, Any] = {"x_label": "ratio of queried nodes", "y_label": "error rate"}
    draw = panels.drawn([[one, two], others], looks, **labels, percent=True, markers=20)
    return Figure("ratio", draw, caption, (7.4, 6.0))
