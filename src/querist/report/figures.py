"""Figures as inline SVG that take their colours from the page.

matplotlib draws with stand-in colours; each is then replaced by one of the
page's CSS variables, so that a figure follows light and dark. Curves differ by
dashes as well as by colour: they can be told apart in grey.
"""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from querist.report.page import Html, style
from querist.types import Floats

# Stand-ins are colours that nobody would choose.
_INK, _MUTED, _LINE = "#000101", "#000102", "#000103"
_SERIES = ("#000104", "#000105", "#000106")
_PAGE = dict(
    zip(
        (_INK, _MUTED, _LINE, *_SERIES),
        ("--ink", "--muted", "--line", "--series-1", "--series-2", "--series-3"),
        strict=True,
    )
)
_DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1.2)))
_WIDTH, _HEIGHT = 4.4, 3.0
"""In inches of 72 units: small, so that the writing can be read on a telephone."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "text.color": _INK,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _MUTED,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Curve:
    """A named line, perhaps with a band around it. `y` may be NaN where nothing is known."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def curves(
    drawn: Sequence[Curve],
    x_label: str,
    y_label: str,
    *,
    name: str,
    description: str,
    y_top: float | None = None,
    percent: bool = False,
) -> Html:
    """Up to three curves over one axis, as SVG.

    `name` is a word of its own on the page, `description` what a listener hears instead of the figure.
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        # The first curve is the one to look at: it is drawn last, on top.
        for i in reversed(range(len(drawn))):
            _draw(axes, drawn[i], i)
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set_ylim(0, y_top)
        axes.margins(x=0)
        if percent:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        handles, names = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], names[::-1], loc="best")
        return _svg(figure, name, description)


def thumbnail(pixels: Floats, top: float) -> str:
    """A small grey picture, 0 white and `top` black, as a data URI."""
    from matplotlib.image import imsave

    target = io.BytesIO()
    bare: dict[str, Any] = {"Software": None}
    imsave(target, pixels, cmap="gray_r", vmin=0, vmax=top, format="png", metadata=bare)
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"


def standalone(figure: Html) -> str:
    """A figure of a page as a file of its own: the page's colours, light and dark, go with it."""
    colours = re.findall(r"--(?:paper|ink|muted|line|series-\d): [^;]+;", style())
    light, dark = colours[: len(colours) // 2], colours[len(colours) // 2 :]
    rules = f"svg {{ {' '.join(light)} background: var(--paper) }}"
    rules += f" @media (prefers-color-scheme: dark) {{ svg {{ {' '.join(dark)} }} }}"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    opening, rest = figure.split(">", 1)
    return f"{opening.replace('<svg', f'<svg {names}')}><style>{rules}</style>{rest}\n"


def _draw(axes: Any, curve: Curve, i: int) -> None:
    x, y = np.asarray(curve.x), np.asarray(curve.y)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(
            x, np.asarray(curve.low), np.asarray(curve.high), color=_SERIES[i], alpha=0.18, linewidth=0
        )
    axes.plot(
        x, y, color=_SERIES[i], linestyle=_DASHES[i], linewidth=2.2 if i == 0 else 1.6, label=curve.name
    )


def _svg(figure: Any, name: str, description: str) -> Html:
    target = io.StringIO()
    figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    return Html(inline(target.getvalue(), name, description))


def inline(svg: str, name: str, description: str) -> str:
    """An SVG file as a part of a page: no addresses, ids of its own, the page's colours and letters."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = svg.replace("'DejaVu Sans', sans-serif", "system-ui, sans-serif")
    for stand_in, variable in _PAGE.items():
        svg = svg.replace(stand_in, f"var({variable})")
    opening = f'<svg role="img" aria-label="{escape(description)}"'
    return re.sub(r'<svg(?: width="[^"]*")?(?: height="[^"]*")?', lambda _: opening, svg, count=1)
