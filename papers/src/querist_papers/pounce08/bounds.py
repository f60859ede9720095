"""Theorems 2 and 8 of pounce08 on many graphs, the bound beside the mistakes; and Theorem 5, two energies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from querist.experiment import charts
from querist_papers import panels
from querist_papers.item import Cases, Entry, Figure, Found, Shown, Statement, Table
from querist_papers.pounce08.tasks import PAPER, case, counted, largest, stated

GRAPHS: dict[str, dict[str, Any]] = {
    "small graphs": {"world": "random_graph", "repeats": 1000},
    "small signed graphs": {"world": "random_graph", "signed": True, "repeats": 1000},
    "communities": {"world": "communities", "repeats": 200},
    "communities, 10 % flipped": {"world": "communities", "flipped": 0.1, "repeats": 200},
    "three clusters": {"world": "clusters", "size": 24, "repeats": 100},
}
POINTS: dict[str, dict[str, Any]] = {
    "two moons": {"world": "moons", "repeats": 100},
    "two moons, noisier": {"world": "moons", "noise": 0.08, "repeats": 100},
    "discs": {"world": "blobs", "repeats": 100},
    "Figure 4": {"world": "figure_4", "n": 20, "repeats": 100},
}


def _cases(families: Mapping[str, dict[str, Any]], bound: str, few: int) -> Cases:
    return Cases({(name,): case("POUNCE", bound=bound, **how) for name, how in families.items()}, few=few)


_graphs = _cases(GRAPHS, "theorem 2", 60)
BLIND = "nearest, no preview"
_points = Cases(
    {
        (learner, name): case(learner, bound=bound, **how)
        for learner, bound in (("POUNCE", "theorem 8"), (BLIND, "section 5"))
        for name, how in POINTS.items()
    },
    few=8,
)


MARKS = (1, 2, 5, 10, 20, 50, 100, 200)


def _table(found: Found, title: str, note: str, more: Mapping[str, str]) -> Table:
    rows: list[list[Entry]] = []
    for (name,), line in found.items():
        gap = float((line.values("bound") - line.values("mistakes")).min())
        violated = int(line.values("violations").sum())
        extra = [counted(line, measure) for measure in more]
        runs = len(line.outcomes)
        rows.append([name, runs, counted(line), counted(line, "bound"), *extra, round(gap, 2), violated])
    columns = ["graphs", "runs", "mistakes", "bound", *more.values(), "least gap", "above the bound"]
    return Table(title, columns, rows, note, digits=2)


def _scatter(axes: Any, found: Found, across: str, up: str, spread: float) -> None:
    """A mark a run; counts are spread a little, so that marks do not hide each other."""
    rng = np.random.default_rng(0)
    for i, ((name,), line) in enumerate(found.items()):
        x, y = line.values(across), line.values(up)
        look = charts.look_of(i)
        axes.plot(
            x * np.exp(spread * rng.uniform(-1, 1, x.size)),
            y * np.exp(spread * rng.uniform(-1, 1, y.size)),
            label=name,
            color=look["color"],
            marker=look["marker"],
            linestyle="",
            markersize=3.5,
            alpha=0.55,
            markeredgewidth=0,
        )
    axes.set(xscale="log", yscale="log")


def _square(axes: Any, marks: Sequence[float], high: float, x_label: str, y_label: str) -> None:
    """Both axes alike, with these marks, and the diagonal."""
    axes.plot([0.8, high], [0.8, high], color="#1d2126", linewidth=1)
    axes.set(xlim=(0.8, high), ylim=(0.8, high), xlabel=x_label, ylabel=y_label)
    panels.plain_log(axes, marks, marks)


# -- Theorem 2 -------------------------------------------------------------------


@_graphs.item(
    PAPER,
    "Random weighted and signed graphs of 3 to 8 nodes with random labels, communities with and without "
    "flipped labels, three clusters; POUNCE in a random order on each.",
)
def theorem2(found: Found) -> Shown:
    """Theorem 2 on many graphs: bound beside mistakes."""
    note = (
        "Theorem 2: N(X, rho) + |u*|^2 rho + 1 at its best rho. Covers are exact up to 40 nodes, greedy "
        "beyond. The least gap is the smallest bound less mistakes."
    )
    says = "POUNCE errs at most N(X, rho) + |u*|^2 rho + 1 times"
    caption = "A mark a run: its bound, and the mistakes it made. On or below the line, the theorem holds."

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        _scatter(axes, found, "bound", "mistakes", 0.04)
        _square(axes, MARKS, 200, "bound of Theorem 2", "mistakes of POUNCE")
        panels.shared_legend(canvas, [axes], list(GRAPHS), columns=3)

    return Shown(
        [_table(found, "Theorem 2, run by run", note, {})],
        [Figure("bound", draw, caption, (5.8, 5.0))],
        statements=[stated("theorem2", "Theorem 2", says, found.values())],
    )


# -- Theorem 5 -------------------------------------------------------------------

SAME = 1e-9
"""Energies that differ by this part of them are the same."""

_energies = _cases({name: {**GRAPHS[name], "repeats": 200} for name in list(GRAPHS)[:2]}, "theorem 5", 20)


@_energies.item(
    PAPER, "Random weighted and signed graphs of 3 to 8 nodes with random labels, at the mistakes of POUNCE."
)
def theorem5(found: Found) -> Shown:
    """Theorem 5 on small graphs: room beyond the labels allows no less energy."""
    rows: list[list[Entry]] = [
        [
            name,
            len(line.outcomes),
            *(counted(line, m, 2) for m in ("fixed", "relaxed")),
            f"{largest(line, 'apart'):.0e}",
        ]
        for (name,), line in found.items()
    ]
    columns = ["graphs", "runs", "energy, u = y", "energy, u y >= 1", "largest difference, in parts"]
    note = (
        "The least energy of any u that agrees with the labels at the mistakes, exactly or with room beyond."
    )
    says = "u y >= 1 allows no less energy than u = y"
    apart = [line.values("apart") for line in found.values()]
    return Shown(
        [Table("Theorem 5, run by run", columns, rows, note)],
        statements=[Statement(PAPER, "theorem5", "Theorem 5", says, np.concatenate(apart) > SAME)],
    )


# -- Theorem 8 -------------------------------------------------------------------


@_points.item(
    PAPER,
    "Points joined by exp(-a d) with the a that the theorem asks for; POUNCE in a random order on each. "
    "Draws whose a is too large for floating point are left out.",
)
def theorem8(runs: Found) -> Shown:
    """Theorem 8 on many sets of points: bound beside mistakes."""
    found, blind = (
        {label[1:]: line for label, line in runs.items() if label[0] == learner}
        for learner in ("POUNCE", BLIND)
    )
    note = (
        "Theorem 8: C° + 1, C° the fewest path-connected sets of one label; N° is the fewest balls (greedy "
        "beyond 40 points), which bounds a learner that is not shown the points beforehand."
    )
    caption = (
        "A mark a run. Left: mistakes against the bound C° + 1; on or below the line the theorem holds. "
        "Right: the two cover numbers; seeing all points beforehand is worth the way down from the line. "
        "Marks are spread a little."
    )

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        _scatter(left, found, "bound", "mistakes", 0.05)
        _square(left, (1, 2, 3, 5, 10), 12, "bound of Theorem 8, C° + 1", "mistakes of POUNCE")
        _scatter(right, found, "balls", "components", 0.05)
        _square(right, MARKS[:-1], 120, "balls of a separating cover, N°", "path-connected sets, C°")
        panels.shared_legend(canvas, [left], list(POINTS))

    return Shown(
        [
            _table(found, "Theorem 8, run by run", note, {"components": "C°", "balls": "N°"}),
            _table(blind, "Nearest neighbour without a preview, run by run", "Section 5: N°.", {}),
        ],
        [Figure("bound", draw, caption, (7.8, 4.2))],
        statements=[
            stated("theorem8", "Theorem 8", "POUNCE errs at most C° + 1 times if a is large", found.values()),
            stated("theorem8", "Section 5", "nearest neighbour errs at most N° times", blind.values()),
        ],
    )
