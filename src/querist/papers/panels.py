"""Several panels in one figure: one look a name wherever it is drawn, one legend for all."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from querist.experiment.plots import finish, look_of

Series = Mapping[str, tuple[ArrayLike, ArrayLike]]


def grid(canvas: Any, rows: int, columns: int) -> Any:
    """(rows, columns) axes, always as a table."""
    return canvas.subplots(rows, columns, squeeze=False)


def panel(
    axes: Any,
    series: Series,
    looks: Sequence[str],
    *,
    title: str = "",
    percent: bool = False,
    markers: int = 8,
    **labels: Any,
) -> None:
    """Curves by name: x (points,), y (points,) or (repeats, points) with a band of one deviation.

    The look of a curve is the place of its name among `looks`; the first is drawn last, on top. `labels` go
    to `plots.finish`.
    """
    for name in sorted(series, key=lambda name: -looks.index(name)):
        x, values = (np.asarray(part, dtype=np.float64) for part in series[name])
        look = look_of(looks.index(name))
        middle = values if values.ndim == 1 else values.mean(axis=0)
        if values.ndim == 2 and len(values) > 1:
            spread = values.std(axis=0)
            axes.fill_between(
                x, middle - spread, middle + spread, color=look["color"], alpha=0.15, linewidth=0
            )
        axes.plot(x, middle, label=name, markevery=max(1, x.size // markers), **look)
    finish(axes, labels.get("x_label", ""), labels.get("y_label", ""), *_logs(labels))
    axes.set_title(title, loc="left")
    _ticks(axes, percent, *_logs(labels))


def _logs(labels: Mapping[str, Any]) -> tuple[bool, bool]:
    return bool(labels.get("log_x")), bool(labels.get("log_y"))


def _ticks(axes: Any, percent: bool, log_x: bool, log_y: bool) -> None:
    """Few ticks, at round numbers, written out."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    plain = FuncFormatter(lambda x, _: written(x))
    share = FuncFormatter(lambda x, _: f"{100 * x:g} %")
    # Thousands are wide: fewer of them fit under a panel.
    across = 6 if axes.get_xlim()[1] < 1000 else 4
    for axis, log, most, form in (
        (axes.xaxis, log_x, across, plain),
        (axes.yaxis, log_y, 6, share if percent else plain),
    ):
        if not log:
            axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(form)


def plain_log(axes: Any, x: Sequence[float], y: Sequence[float]) -> None:
    """Ticks of logarithmic axes where they are wanted, written out."""
    from matplotlib.ticker import FixedLocator, NullLocator

    for axis, values in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_major_locator(FixedLocator(list(values)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: written(value))


def written(x: float) -> str:
    """A number on an axis.

    >>> written(0.5), written(2500), written(15000)
    ('0.5', '2,500', '15k')
    """
    if abs(x) >= 10_000:
        return f"{x / 1000:,g}k"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:g}"


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
