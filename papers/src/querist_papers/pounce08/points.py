"""Figures 1 and 4 of pounce08: two moons and their covers, and what unlabelled points are worth."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from querist.experiment import charts
from querist_papers import panels
from querist_papers.item import Cases, Entry, Figure, Found, Number, Shown, Statement, Table
from querist_papers.pounce08.tasks import LOOKS, PAPER, case, counted, largest
from querist_papers.pounce08.worlds import crescent_outline, crescent_space
from querist_papers.theory import component_cover_number, separation
from querist_papers.theory.covers import distances
from querist_papers.types import Codes, Floats

SIDES = {0: charts.COLOURS[0], 1: charts.COLOURS[1]}
MARKS = {0: "o", 1: "s"}

# -- Figure 1 --------------------------------------------------------------------

MOONS: dict[str, dict[str, Any]] = {
    "POUNCE": {"bound": "theorem 8", "picture": True},
    "nearest, no preview": {},
}
_moons = Cases({(name,): case(name, "crescents", **how) for name, how in MOONS.items()}, few=5)


def cover_of(points: Floats, rho: float) -> list[Floats]:
    """Sets of diameter at most rho that hold all points, by complete linkage."""
    distance = distances(points)
    member = fcluster(linkage(squareform(distance, checks=False), "complete"), rho, "distance")
    return [points[member == k] for k in range(1, int(member.max()) + 1)]


def enclosing(points: Floats) -> tuple[Floats, float]:
    """Centre and radius of a circle around points, the smallest but for a part in a thousand.

    By steps towards the farthest point, each shorter than the last (Badoiu and Clarkson 2003).
    """
    centre = points.mean(axis=0)
    for step in range(1, 1000):
        farthest = points[((points - centre) ** 2).sum(axis=1).argmax()]
        centre = centre + (farthest - centre) / (step + 1)
    return centre, float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))


@_moons.item(
    PAPER,
    "Two crescents of radius 1; 30 points on them, joined by exp(-a d); 20 draws of the points and orders.",
    {"": "moons of radius 1 and width 0.2, 30 points evenly along them"},
)
def figure1(found: Found) -> Shown:
    """Covering the two moons."""
    space, labels = crescent_space()
    delta, rho = separation(distances(space), labels)
    balls = cover_of(space, rho)
    pounce, blind = found["POUNCE",], found["nearest, no preview",]
    components = largest(pounce, "components")
    rows: list[list[Entry]] = [
        ["POUNCE", counted(pounce), int(largest(pounce)), int(components) + 1, "C° + 1"],
        ["nearest, no preview", counted(blind), int(largest(blind)), len(balls), "N°"],
    ]
    numbers = [
        Number(PAPER, "figure1", "two moons", "", "nodes", 30, largest(pounce, "nodes"), by_definition=True),
        Number(PAPER, "figure1", "two moons", "", "components", 2, components, by_definition=True),
        Number(PAPER, "figure1", "two moons", "", "balls", 42, None),
        Number(
            *(PAPER, "figure1", "two moons", "POUNCE", "bound", 3, largest(pounce, "bound")),
            by_definition=True,
        ),
    ]
    first = pounce.outcomes[0].curves
    black = np.column_stack([first["x"], first["y"]])
    sides = np.array(first["label"], dtype=np.int64)
    caption = (
        f"Two moons, a class each, {delta:.2f} apart. Left: {len(balls)} sets of diameter {rho:.2f}, less "
        f"than that, cover them. Right: {len(black)} points, each within that distance of the next, cover "
        f"them by {int(components)} path-connected sets."
    )
    return Shown(
        [
            Table(
                "Mistakes on the moons, and their bounds",
                ["learner", "mistakes", "most", "bound", "which is"],
                rows,
                "Random orders of the black points. N° covers the whole moons, C° the points that are known.",
                digits=1,
            )
        ],
        [Figure("moons", lambda canvas: _draw_moons(canvas, balls, black, sides, rho), caption, (7.8, 2.7))],
        numbers=numbers,
        remarks=[
            f"The moons of the paper's drawing are not given, so its 42 balls cannot be counted again; the "
            f"moons drawn here take {len(balls)}, by complete linkage."
        ],
    )


def _draw_moons(canvas: Any, balls: list[Floats], black: Floats, sides: Codes, rho: float) -> None:
    from matplotlib.patches import Circle, Polygon

    left, right = canvas.subplots(1, 2)
    for axes in (left, right):
        for side in (0, 1):
            axes.add_patch(
                Polygon(crescent_outline(side), closed=True, color=SIDES[side], alpha=0.3, linewidth=0)
            )
        axes.set_aspect("equal")
        axes.set(xticks=[], yticks=[], xlim=(-1.2, 2.2), ylim=(-0.75, 1.25))
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    for ball in balls:
        centre, radius = enclosing(ball)
        left.add_patch(
            Circle((centre[0], centre[1]), radius, fill=False, edgecolor=charts.INK, linewidth=0.8)
        )
    left.set_title(f"N° = {len(balls)} balls", loc="left")
    near = distances(black) <= rho
    for i, j in np.argwhere(np.triu(near, 1)):
        right.plot(*black[[i, j]].T, color=charts.MUTED, linewidth=1, zorder=1)
    for side in (0, 1):
        right.plot(*black[sides == side].T, MARKS[side], color=charts.INK, markersize=4, zorder=2)
    chains = component_cover_number(distances(black), rho)
    right.set_title(f"C° = {chains} chains of {len(black)} points", loc="left")


# -- Figure 4 --------------------------------------------------------------------

NUMBERS = (5, 10, 20, 40, 80)
PREVIEW = ("POUNCE", "nearest by resistance", "nearest, no preview")
_value = Cases(
    {
        (name, n): case(name, "figure_4", n=n, picture=name == "POUNCE" and n == NUMBERS[1])
        for name in PREVIEW
        for n in NUMBERS
    },
    few=5,
)


@_value.item(
    PAPER,
    "n points to be predicted, labelled by coin tosses, and the points that tie them to their side; 20 draws "
    "for every n.",
    {"": "nearest neighbour stands for any learner without a preview"},
)
def figure4(found: Found) -> Shown:
    """The value of unlabelled data."""
    rows: list[list[Entry]] = []
    for n in NUMBERS:
        lines = [found[name, n] for name in PREVIEW]
        rows.append([n, int(largest(lines[0], "nodes")), *(counted(line) for line in lines)])
    blind = np.sum([found[PREVIEW[2], n].values("mistakes") for n in NUMBERS], axis=0) / sum(NUMBERS)
    counts = np.concatenate([found["POUNCE", n].values("mistakes") for n in NUMBERS])
    numbers = [
        Number(
            *(PAPER, "figure4", "Figure 4", "any without a preview", "mistaken share", 0.5),
            reached=float(blind.mean()),
            std=float(blind.std()) if blind.size > 1 else None,
            n=blind.size,
            published_std=0.0,
        )
    ]
    says = "POUNCE errs at most 3 times, however many points"
    caption = (
        "Left: the points for n = 10; the middle row is to be predicted, the others are never asked about "
        "and tie it to its side. Right: mistakes, with bands of one standard deviation; the thin line is n/2."
    )
    return Shown(
        [
            Table(
                "Mistakes on n points, with and without the others",
                ["n", "points", *PREVIEW],
                rows,
                "There are 6n - 2 points, not 6n. Without a preview, labels are coin tosses.",
            )
        ],
        [Figure("unlabelled", lambda canvas: _draw_value(canvas, found), caption, (7.8, 3.6))],
        numbers=numbers,
        statements=[Statement(PAPER, "figure4", "Figure 4", says, counts > 3)],
        remarks=[
            f"POUNCE makes at most {counts.max():.0f} mistakes, whatever n; the paper's bound is 3.",
            "Nearest neighbour stands in for any algorithm without a preview.",
        ],
    )


def _draw_value(canvas: Any, found: Found) -> None:
    left, right = canvas.subplots(1, 2)
    drawn = found["POUNCE", NUMBERS[1]].outcomes[0].curves
    x, y, label = (np.array(drawn[name]) for name in ("x", "y", "label"))
    asked = np.arange(x.size) < NUMBERS[1]
    for side in (0, 1):
        of = label == side
        left.plot(x[of & ~asked], y[of & ~asked], MARKS[side], color=SIDES[side], markersize=3.5, alpha=0.7)
        left.plot(
            *(x[of & asked], y[of & asked], MARKS[side]),
            color=SIDES[side],
            markersize=8,
            markeredgecolor=charts.INK,
            label=("negative", "positive")[side],
        )
    left.set(xlabel="first coordinate", ylabel="second coordinate", yticks=(0, 0.5, 1, 1.5, 2))
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    series = {
        name: (NUMBERS, panels.columns([found[name, n] for n in NUMBERS], "mistakes")) for name in PREVIEW
    }
    panels.panel(right, series, LOOKS, x_label="points to be predicted, n", y_label="mistakes")
    right.plot(NUMBERS, [n / 2 for n in NUMBERS], color=charts.INK, linewidth=0.8, label="n/2")
    panels.shared_legend(canvas, [right], (*LOOKS, "n/2"))
