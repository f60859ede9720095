"""POUNCE beside nearest neighbour: by resistance, by shortest path, and without a preview (section 5).

The paper says that on a family of unweighted graphs nearest neighbour by path errs linearly while POUNCE is
bounded, and cites another paper for it. The family here is ours (`worlds.matched`).
"""

from typing import Any

from querist.experiment import Specification
from querist_papers import panels
from querist_papers.item import Cases, Cell, Entry, Figure, Found, Label, Shown, Table
from querist_papers.pounce08.tasks import LOOKS, PAPER, RIVALS, case, counted

SIZES = (4, 8, 16, 32, 64)
ON_GRAPHS = ("POUNCE", "nearest by resistance", "nearest by path")
ON_POINTS = (*ON_GRAPHS, "nearest, no preview")
POINTS: dict[str, dict[str, Any]] = {
    "two moons": {"world": "moons"},
    "Figure 4, n = 20": {"world": "figure_4", "n": 20},
    "discs": {"world": "blobs"},
}
REAL = {"karate": "karate", "Coauthor": "dblp_four_area_1711", "Cora": "cora"}


def _lines() -> dict[Label, Specification]:
    found: dict[Label, Specification] = {
        ("matched", name, size): case(name, "matched", repeats=5, size=size)
        for size in SIZES
        for name in ON_GRAPHS
    }
    for world, how in POINTS.items():
        for name in ON_POINTS:
            found["points", name, world] = case(name, **how)
    for data, dataset in REAL.items():
        for name in ON_GRAPHS:
            found["real", name, data] = Specification(
                "pounce08.nodes",
                dataset,
                representation={"component": "largest"},
                protocol={"control": False},
                repeats=10,
                **RIVALS[name],
            )
    return found


_cases = Cases(_lines(), few=2)


@_cases.item(
    PAPER,
    "POUNCE and online nearest neighbour by resistance, by shortest path and by the points alone, in the "
    "same worlds and orders; 20 draws of points, 10 shuffles of real graphs.",
)
def controls(found: Found) -> Shown:
    """Geodesic and nearest-neighbour controls."""
    caption = (
        "Two dense clusters in which the nearest node by path is always of the other one: mistakes by the "
        "number of matched pairs."
    )
    matched: list[list[Entry]] = [
        [size, 2 * size, *(counted(found["matched", name, size]) for name in ON_GRAPHS)] for size in SIZES
    ]
    points: list[list[Entry]] = [
        [world, *(counted(found["points", name, world]) for name in ON_POINTS)] for world in POINTS
    ]
    real: list[list[Entry]] = [
        [
            data,
            *(Cell.of(found["real", name, data], "class_error") for name in ON_GRAPHS),
            Cell.of(found["real", "POUNCE", data], "error_rate"),
        ]
        for data in REAL
    ]
    series = {
        name: (SIZES, panels.columns([found["matched", name, size] for size in SIZES], "mistakes"))
        for name in ON_GRAPHS
    }
    labels: dict[str, Any] = {"x_label": "matched pairs", "y_label": "mistakes", "log_x": True, "log_y": True}
    curves = panels.drawn([[(series, {})]], LOOKS, 2, **labels)

    def draw(canvas: Any) -> None:
        curves(canvas)
        panels.plain_log(canvas.axes[0], SIZES, (1, 2, 5, 10, 20, 50, 100))

    binary = "POUNCE, average of the binary problems"
    note = (
        "Largest components, every answer given. With more than two classes POUNCE is one-vs-rest, and the "
        "class of the largest score is predicted."
    )
    return Shown(
        [
            Table("Twins in two clusters: mistakes", ["pairs", "rounds", *ON_GRAPHS], matched),
            Table("Points joined by exp(-a d): mistakes", ["points", *ON_POINTS], points),
            Table(
                "Real graphs: share of nodes whose class is wrong", ["data", *ON_GRAPHS, binary], real, note
            ),
        ],
        [Figure("controls", draw, caption, (4.8, 3.4))],
        remarks=["The graphs of the first table are our own; the paper cites another for such a family."],
    )
