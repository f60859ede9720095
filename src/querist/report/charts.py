"""Charts on axes of a figure: curves with bands, and how far a probability can be trusted.

Series differ by marker and dash as well as by colour, so that a print in grey can be read. Names are drawn
as they are: a dollar in one begins no formula.

>>> import matplotlib.figure
>>> axes = matplotlib.figure.Figure().subplots()
>>> curves(axes, {"ours": ([1, 2, 3], [0.3, 0.2, 0.1])}, x_label="answers", y_label="error")
>>> axes.get_xlabel()
'answers'
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from querist.report.figures import CLASS_COLOURS, COLOURS, INK, LINE, MUTED, PAPER, entitle
from querist.stats import wilson
from querist.types import Bools, Codes, Floats

__all__ = [
    "COLOURS",
    "INK",
    "MARKERS",
    "MUTED",
    "curve",
    "few_ticks",
    "finish",
    "look_of",
    "written",
]

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)),
    (0, (2, 2)), (0, (1, 3)),
)  # fmt: skip


# -- series -----------------------------------------------------------------------------------------------


def curves(
    axes: Any,
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x_label: str = "",
    y_label: str = "",
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Named curves with a legend; `looks` replaces the look of some. The first is drawn last, on top."""
    for i, (name, (x, y)) in reversed(list(enumerate(series.items()))):
        curve(axes, name, x, y, (looks or {}).get(name, look_of(i)))
    finish(axes, x_label, y_label)
    handles, names = axes.get_legend_handles_labels()
    for text in axes.legend(handles[::-1], names[::-1]).get_texts():
        text.set_parse_math(False)


def curve(
    axes: Any, name: str, x: ArrayLike, y: ArrayLike, look: Mapping[str, Any], markers: int = 8
) -> None:
    """x (points,) and y (points,) or (repeats, points); a band is one standard deviation.

    `markers` is about how many markers it gets.
    """
    where, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    middle = values if values.ndim == 1 else values.mean(axis=0)
    if values.ndim == 2 and len(values) > 1:
        spread = values.std(axis=0)
        axes.fill_between(
            where, middle - spread, middle + spread, color=look["color"], alpha=0.15, linewidth=0
        )
    axes.plot(where, middle, label=name, markevery=max(1, where.size // markers), **look)


def look_of(i: int) -> dict[str, Any]:
    """Colour, marker and dashes of the i-th series."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": DASHES[i % len(DASHES)],
        "linewidth": 1.6,
        "markersize": 4.5,
    }


def fainter(look: Mapping[str, Any]) -> dict[str, Any]:
    """The same colour and marker, dotted and hollow: for what stands beside a series."""
    return {**look, "linestyle": DASHES[2], "markerfacecolor": PAPER, "linewidth": 1.2}


# -- axes -------------------------------------------------------------------------------------------------


def finish(axes: Any, x_label: str, y_label: str, log_x: bool = False, log_y: bool = False) -> None:
    """Labels and scales."""
    axes.set(xlabel=x_label, ylabel=y_label)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")


def few_ticks(axis: Any, most: int = 6, percent: bool = False) -> None:
    """At most so many ticks, at round numbers, written out."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %" if percent else written(x)))


def written(x: float) -> str:
    """A number on an axis.

    >>> written(0.5), written(2500), written(15000), written(3_600_000)
    ('0.5', '2,500', '15k', '3.6M')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(x) >= max(unit, 10_000):
            return f"{x / unit:g}{name}"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:g}"


# -- probabilities and classes ----------------------------------------------------------------------------


def histogram(axes: Any, confidence: Floats, what: str, bins: int = 10) -> None:
    """How many of `what` have which probability."""
    counts, edges = np.histogram(confidence, bins=bins, range=(0.0, 1.0))
    drawn = axes.bar(edges[:-1] + 0.5 / bins, counts, 0.93 / bins, color=COLOURS[0])
    for bar, count, low in zip(drawn, counts.tolist(), edges.tolist(), strict=False):
        entitle(bar, f"{count:,} {what} between {low:.0%} and {low + 1 / bins:.0%}")
    finish(axes, "probability of the label", what)
    axes.grid(axis="x", visible=False)
    axes.set(xlim=(0, 1), ylim=(0, max(5, counts.max(initial=0))))
    few_ticks(axes.xaxis, percent=True)
    few_ticks(axes.yaxis)
    axes.set_ylim(0, axes.yaxis.get_major_locator().tick_values(*axes.get_ylim())[-1])


def reliability(axes: Any, confidence: Floats, correct: Bools, bins: int = 10) -> None:
    """The share that was right among held-out labels of about the same probability, with 95 % intervals."""
    points = []
    axes.plot([0, 1], [0, 1], color=MUTED, linestyle=DASHES[1], linewidth=1)
    for group in _groups(confidence, bins):
        mean, right = float(confidence[group].mean()), float(correct[group].mean())
        points.append((mean, right))
        axes.vlines(mean, *wilson(float(correct[group].sum()), group.size), color=COLOURS[0], alpha=0.55)
        (point,) = axes.plot(mean, right, MARKERS[0], color=COLOURS[0], clip_on=False)
        said = f"{group.size:,} held-out labels, probability {mean:.0%} on average, {right:.0%} right"
        entitle(point, said)
    axes.plot(*np.transpose(points), color=COLOURS[0])
    finish(axes, "probability said", "share right")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for axis in (axes.xaxis, axes.yaxis):
        few_ticks(axis, percent=True)


def _groups(confidence: Floats, bins: int) -> list[Codes]:
    """Held-out labels in order of probability, in groups of about equal size, at least 5 in each."""
    order = np.argsort(confidence, kind="stable")
    return [group for group in np.array_split(order, max(1, min(bins, order.size // 5))) if group.size]


# -- finding a class --------------------------------------------------------------------------------------


def gains(axes: Any, p: Floats, bounds: Sequence[tuple[int, float, float]], share: float) -> None:
    """How many of a class to expect among its likeliest nodes: p (n,) from the largest down.

    `bounds` are (nodes, least, most) of it; an order at random finds `share` of the nodes.
    """
    checked = np.arange(1, p.size + 1)
    if bounds:
        where, low, high = np.array(bounds, dtype=np.float64).T
        axes.fill_between(where, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.plot(checked, np.cumsum(p), color=COLOURS[0], label="the likeliest first")
    axes.plot(checked, share * checked, color=MUTED, linestyle=DASHES[1], linewidth=1, label="at random")
    finish(axes, "nodes checked", "found of the class")
    few_ticks(axes.xaxis)
    few_ticks(axes.yaxis)
    axes.set(xlim=(0, p.size), ylim=(0, None))
    axes.legend(loc="lower right")


def balance(axes: Any, rows: Sequence[tuple[str, int, float, float]]) -> None:
    """A pair of bars a class: (name, rank, share among the labels, share among the predictions)."""
    names = [name if len(name) <= 20 else f"{name[:19]}…" for name, *_ in rows]
    given, said = (np.array([row[k] for row in rows]) for k in (2, 3))
    places = np.arange(len(rows))
    for up, shares, colours, what in (
        (-0.19, said, [class_colour(rank) for _, rank, *_ in rows], "of all labels"),
        (0.19, given, LINE, "of those given"),
    ):
        drawn = axes.barh(places + up, shares, 0.34, color=colours)
        texts = [f"{share:.1%} {what}" if share > 0 or shares is said else "" for share in shares]
        axes.bar_label(drawn, texts, padding=3, color=MUTED, fontsize=7.5)
    axes.set_yticks(places, names, parse_math=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.6 * max(given.max(initial=0), said.max(initial=0)) or 1)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def class_colour(rank: int) -> str:
    """The colour of a class by its rank in size."""
    return CLASS_COLOURS[rank] if rank < len(CLASS_COLOURS) else MUTED
