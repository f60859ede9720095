"""Nodes on a map, as the pictures of the documentation draw them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.graph import Graph
from querist.report.charts import class_colour
from querist.report.drawing import backbone, layout
from querist.report.figures import INK, MUTED, PAPER
from querist.types import Bools, Codes, Floats


@dataclass(frozen=True)
class Map:
    """Places (n, 2) of nodes, and the edges (heads, tails) to draw between them."""

    places: Floats
    edges: tuple[Codes, Codes] | None = None


def map_of(graph: Graph) -> Map:
    """Nodes laid out by the edges that tell most."""
    bones = backbone(graph.adjacency)
    return Map(layout(bones), bones.nonzero())


def bare(axes: Any, title: str = "") -> None:
    """A map has no scales."""
    axes.set(aspect="equal", xticks=[], yticks=[], title=title)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def lines_of(axes: Any, starts: Floats, ends: Floats, **look: Any) -> None:
    """Straight lines between places, as one path: many would make a file large."""
    gaps = np.full_like(starts, np.nan)
    path = np.stack([starts, ends, gaps], axis=1).reshape(-1, 2)
    axes.plot(*path.T, zorder=1, **look)


def mark(
    axes: Any,
    where: Map,
    codes: Codes,
    ringed: Bools | None = None,
    crossed: Bools | None = None,
    title: str = "",
    *,
    numbered: Sequence[int] = (),
    strength: Floats | None = None,
) -> None:
    """Nodes coloured by class, some with a ring, a cross or a number; fainter where `strength` is below 1."""
    places = where.places
    if where.edges is not None:
        heads, tails = where.edges
        once = heads < tails
        lines_of(axes, places[heads[once]], places[tails[once]], color=MUTED, linewidth=0.4, alpha=0.25)
    colours = np.array([class_colour(int(code)) for code in codes])
    alpha = 1.0 if strength is None else np.clip(strength, 0.12, 1.0)
    axes.scatter(*places.T, s=14, c=colours, alpha=alpha, linewidths=0, zorder=2)
    if ringed is not None:
        axes.scatter(*places[ringed].T, s=34, facecolors="none", edgecolors=INK, linewidths=0.8, zorder=3)
    if crossed is not None:
        axes.scatter(*places[crossed].T, s=30, c=INK, marker="x", linewidths=1.0, zorder=4)
    asked = list(numbered)
    axes.scatter(*places[asked].T, s=110, c=colours[asked], edgecolors=INK, linewidths=0.8, zorder=5)
    for number, place in enumerate(places[asked], start=1):
        axes.text(*place, str(number), ha="center", va="center", color=PAPER, fontsize=6.5, zorder=6)
    bare(axes, title)
