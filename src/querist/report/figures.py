"""A figure: a value that draws itself, as a file of its own or as a part of a page.

matplotlib draws it with the light colours of the style sheet. On a page each of these becomes the sheet's
variable, so that a figure follows light and dark; letters stay letters.
"""

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from querist.lazy import needing
from querist.types import Floats

with needing("report", "a figure"):
    from markupsafe import Markup

_SHEET = files("querist.report").joinpath("templates/style.css").read_text(encoding="utf-8")
LIGHT: dict[str, str]
DARK: dict[str, str]
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for block in re.findall(r":root {(.*?)}", _SHEET, re.DOTALL)
)
"""The colours of the style sheet by name, on light and on dark paper."""

INK, MUTED, LINE, PAPER = LIGHT["ink"], LIGHT["muted"], LIGHT["line"], "#ffffff"
COLOURS = tuple(colour for name, colour in LIGHT.items() if name.startswith("series-"))
CLASS_COLOURS = tuple(colour for name, colour in LIGHT.items() if name.startswith("class-"))
"""Colours of classes, the largest first; further classes share the grey of `MUTED`."""

# What matplotlib draws in black or white is meant as ink and paper.
_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items() if name != "alarm"} | {
    PAPER: "var(--paper)",
    "#000000": "var(--ink)",
}
_TITLE = "title: "

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
}

PAGE_SIZE = (4.4, 3.0)
"""Inches of a figure that shares a row of a page: small, so that it can be read on a telephone.

>>> PAGE_SIZE
(4.4, 3.0)
"""


@dataclass(frozen=True)
class Figure:
    """A drawing: `draw` gets an empty matplotlib Figure of this size, in the style of all figures.

    >>> line = Figure("line", lambda figure: figure.subplots().plot([1, 2]), caption="it grows")
    >>> line.svg[:5], line.caption
    (b'<?xml', 'it grows')
    """

    name: str
    """A word of its own among the figures of a page or of an item."""
    draw: Callable[[Any], None]
    caption: str = ""
    size: tuple[float, float] = (6.4, 4.0)
    """Width and height in inches."""
    heading: str = ""
    description: str = ""
    """What a listener hears instead of the figure; the caption unless given."""

    @cached_property
    def svg(self) -> bytes:
        """As a file; the same bytes each time."""
        with warnings.catch_warnings():
            # A letter that the font of the measurements has not got: whoever shows the file has others.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            return self._saved(format="svg", metadata={"Date": None})

    @cached_property
    def png(self) -> bytes:
        """As a picture."""
        return self._saved(format="png", dpi=160)

    def _saved(self, **options: Any) -> bytes:
        with needing("report", "a figure"):
            from matplotlib.figure import Figure as Canvas

        with house_style(self.name):
            canvas, target = Canvas(figsize=self.size, layout="constrained"), io.BytesIO()
            self.draw(canvas)
            canvas.savefig(target, **options)
        return target.getvalue()


@contextmanager
def house_style(salt: str = "querist") -> Iterator[None]:
    """Whatever is drawn inside is drawn our way; `salt` makes the ids of an SVG the same each time."""
    with needing("report", "a figure"):
        import matplotlib

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        yield


def entitle(artist: Any, text: str) -> None:
    """Let a bar or a point say something when the pointer rests on it, on a page."""
    artist.set_gid(_TITLE + text)


def on_page(figure: Figure, prefix: str = "") -> Markup:
    """A figure as a part of a page: no addresses, the page's colours and letters, ids after `prefix`.

    >>> "<svg" in on_page(Figure("line", lambda figure: figure.subplots().plot([1, 2])))
    True
    """
    svg, name = figure.svg.decode(), f"{prefix}{figure.name}"
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # matplotlib escapes text and attributes: what stands between < and > is a tag and never a name.
    svg = re.sub(r"<[^>]*>", lambda tag: _adapted(tag.group(), name), svg)
    said = Markup('role="img" aria-label="{}" fill="var(--ink)"').format(
        figure.description or figure.caption or figure.heading or figure.name
    )
    return Markup(
        re.sub(r'<svg(?: width="[^"]*")?(?: height="[^"]*")?', lambda _: f"<svg {said}", svg, count=1)
    )


def standalone(figure: Figure) -> str:
    """A figure as a file with the page's colours, light and dark.

    >>> "<svg" in standalone(Figure("line", lambda figure: figure.subplots().plot([1, 2])))
    True
    """
    light, dark = (
        "".join(f"--{name}: {colour}; " for name, colour in each.items()) for each in (LIGHT, DARK)
    )
    rules = f"svg {{ {light}background: var(--paper) }}"
    rules += f" @media (prefers-color-scheme: dark) {{ svg {{ {dark}}} }}"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    opening, rest = str(on_page(figure)).split(">", 1)  # a `Markup` would escape what is put in
    return f"{opening.replace('<svg', f'<svg {names}')}><style>{rules}</style>{rest}\n"


def thumbnail(pixels: Floats, top: float) -> str:
    """A small grey picture, 0 white and `top` black, as a data URI.

    >>> import numpy as np
    >>> thumbnail(np.zeros((2, 2)), top=1.0)[:22]
    'data:image/png;base64,'
    """
    with needing("report", "a picture"):
        from matplotlib.image import imsave

    target = io.BytesIO()
    bare: dict[str, Any] = {"Software": None}
    imsave(target, pixels, cmap="gray_r", vmin=0, vmax=top, format="png", metadata=bare)
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"


def _adapted(tag: str, name: str) -> str:
    """A tag of matplotlib's SVG as the page wants it."""
    if said := re.fullmatch(rf"""<g id=(["']){_TITLE}(.*)\1>""", tag, flags=re.DOTALL):
        return f"<g><title>{said[2]}</title>"
    tag = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", tag)
    tag = re.sub(r'\bid="|href="#|url\(#', rf"\g<0>{name}-", tag)
    tag = tag.replace("'DejaVu Sans', sans-serif", "system-ui, sans-serif")
    return re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour.group(), colour.group()), tag)
