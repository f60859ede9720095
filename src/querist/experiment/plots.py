"""Figures in the house style: curves with bands, bars, and whatever an item draws; SVG and PNG.

Series differ by marker and dash, and bars by hatching, as well as by colour, so that a print in grey can be
read. The colours are those of the pages.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from querist.experiment.item import Figure

INK, MUTED, LINE, PAPER = "#1d2126", "#5b636d", "#d9dad4", "#ffffff"
COLOURS = ("#14508c", "#b4581a", "#5f6b76", "#2e7d5b", "#8a2f6b", "#a08a00", "#3a9ab8", "#a8231c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)),
    (0, (2, 2)), (0, (1, 3)),
)  # fmt: skip
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo", "--")

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "hatch.linewidth": 0.6,
}


@contextmanager
def house_style(salt: str = "querist") -> Iterator[None]:
    """Whatever is drawn inside is drawn our way; `salt` makes the ids of an SVG the same each time."""
    import matplotlib

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        yield


@lru_cache(maxsize=64)
def rendered(figure: Figure) -> Mapping[str, bytes]:
    """`{"svg": ..., "png": ...}`; drawn once for the file and for the page."""
    from matplotlib.figure import Figure as Canvas

    with house_style(figure.name):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        found = {}
        for kind, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 160})):
            target = io.BytesIO()
            canvas.savefig(target, format=kind, **options)
            found[kind] = target.getvalue()
    return found


def curves(
    axes: Any,
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    markers: int = 8,
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Named curves: x (points,) and y (points,) or (repeats, points); a band is one standard deviation.

    `markers` is about how many markers a curve gets; `looks` replaces the look of some curves.
    """
    for i, (name, (x, y)) in enumerate(series.items()):
        where, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        middle = values if values.ndim == 1 else values.mean(axis=0)
        look = (looks or {}).get(name, look_of(i))
        if values.ndim == 2 and len(values) > 1:
            spread = values.std(axis=0)
            axes.fill_between(
                where, middle - spread, middle + spread, color=look["color"], alpha=0.15, linewidth=0
            )
        axes.plot(where, middle, label=name, markevery=max(1, where.size // markers), **look)
    finish(axes, x_label, y_label, log_x, log_y)
    axes.legend()


def bars(
    axes: Any,
    groups: Sequence[str],
    series: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
    *,
    y_label: str = "",
) -> None:
    """Bars side by side in groups: a series has a height a group, and perhaps a deviation."""
    width = 0.8 / max(len(series), 1)
    for i, (name, (heights, spread)) in enumerate(series.items()):
        at = np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width
        axes.bar(
            at,
            np.asarray(heights, dtype=np.float64),
            width * 0.92,
            yerr=None if spread is None else np.asarray(spread, dtype=np.float64),
            label=name,
            color=COLOURS[i % len(COLOURS)],
            hatch=HATCHES[i % len(HATCHES)],
            edgecolor=PAPER,
            linewidth=0.5,
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": INK},
        )
    axes.set_xticks(np.arange(len(groups)), groups)
    axes.grid(axis="x", visible=False)
    finish(axes, "", y_label)
    axes.legend()


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


def finish(axes: Any, x_label: str, y_label: str, log_x: bool = False, log_y: bool = False) -> None:
    """Labels and scales."""
    axes.set(xlabel=x_label, ylabel=y_label)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
