"""Figures that sslgc13 and msg16 share: curves along the rounds, and the error by the ratio of queries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from querist.experiment.item import Entry, Figure, Shown, Table
from querist.experiment.results import Result
from querist.papers import panels
from querist.papers.cases import Label
from querist.papers.graphs import DATA, STOOD_IN, TITLES, cell

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
    columns = ["data", "method", *(measure.removesuffix("_rate") for measure in measures)]
    size = (10.5, 1.8 + 1.8 * len(measures))
    return Shown(
        [Table("Where the curves end", columns, rows)],
        [Figure("curves", lambda canvas: _draw(canvas, found, measures, looks), caption, size)],
        remarks=[STOOD_IN, *remarks],
    )


def _draw(
    canvas: Any, found: Mapping[Label, Result], measures: Mapping[str, str], looks: Sequence[str]
) -> None:
    table = panels.grid(canvas, len(measures), len(DATA))
    for column, dataset in enumerate(DATA):
        for row, (measure, label) in enumerate(measures.items()):
            lines = {name: found[dataset, name] for name in looks}
            panels.panel(
                table[row, column],
                {name: (line.curve("round")[0], line.curve(measure)) for name, line in lines.items()},
                looks,
                title="" if row else TITLES[dataset],
                x_label="round" if row == len(measures) - 1 else "",
                y_label="" if column else label,
                percent=measure == "error_rate",
            )
    panels.shared_legend(canvas, table.ravel(), looks)


def draw_ratios(canvas: Any, series_of: Callable[[str], panels.Series], looks: Sequence[str]) -> None:
    """A panel a data set: the error against the ratio of queried nodes."""
    table = panels.grid(canvas, 2, 2).ravel()
    for axes, dataset in zip(table, DATA, strict=True):
        panels.panel(
            axes,
            series_of(dataset),
            looks,
            title=TITLES[dataset],
            x_label="ratio of queried nodes",
            y_label="error rate",
            percent=True,
            markers=20,
        )
    panels.shared_legend(canvas, table, looks)
