"""Several panels in one figure: one look a name wherever it is drawn, one legend for all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from querist.experiment import Result, charts
from querist_papers.types import Floats

Series = Mapping[str, tuple[ArrayLike, ArrayLike]]


def columns(lines: Iterable[Result], measure: str) -> Floats:
    """(repeats, lines) of a measure."""
    return np.column_stack([line.values(measure) for line in lines])


def drawn(
    rows: Sequence[Sequence[tuple[Series, Mapping[str, Any]]]],
    looks: Sequence[str],
    wide: int = 6,
    **labels: Any,
) -> Callable[[Any], None]:
    """What draws rows of panels, each its series and labels of its own, over one legend of so many columns.

    `labels` are those that all panels have.
    """

    def draw(canvas: Any) -> None:
        table = canvas.subplots(len(rows), len(rows[0]), squeeze=False).ravel()
        for axes, (series, own) in zip(table, chain.from_iterable(rows), strict=True):
            panel(axes, series, looks, **{**labels, **own})
        shared_legend(canvas, table, looks, wide)

    return draw


def panel(
    axes: Any,
    series: Series,
    looks: Sequence[str],
    *,
    title: str = "",
    percent: bool = False,
    markers: int = 8,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Curves by name: x (points,), y (points,) or (repeats, points) with a band of one deviation.

    The look of a curve is the place of its name among `looks`; the first is drawn last, on top.
    """
    for name in sorted(series, key=lambda name: -looks.index(name)):
        charts.curve(axes, name, *series[name], charts.look_of(looks.index(name)), markers)
    charts.finish(axes, x_label, y_label, log_x, log_y)
    axes.set_title(title, loc="left")
    if not log_x:  # thousands are wide: fewer of them fit under a panel
        charts.few_ticks(axes.xaxis, 6 if axes.get_xlim()[1] < 1000 else 4)
    if not log_y:
        charts.few_ticks(axes.yaxis, percent=percent)


def plain_log(axes: Any, x: Sequence[float], y: Sequence[float]) -> None:
    """Ticks of logarithmic axes where they are wanted, written out."""
    from matplotlib.ticker import FixedLocator, NullLocator

    for axis, values in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_major_locator(FixedLocator(list(values)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: charts.written(value))


def shared_legend(canvas: Any, panels: Sequence[Any], looks: Sequence[str], columns: int = 6) -> None:
    """The series of all panels, each once and in the order of `looks`, under the figure."""
    known: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    names = [name for name in looks if name in known]
    canvas.legend(
        [known[name] for name in names], names, loc="outside lower center", ncols=min(columns, len(names))
    )
