"""Theorems 2 and 8 of pounce08 on many graphs, the bound beside the mistakes; and Theorem 5, two energies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from querist.experiment.item import Entry, Figure, Item, Number, Shown, Table
from querist.experiment.results import Result
from querist.papers import panels
from querist.papers.cases import Cases, Label
from querist.papers.pounce08.play import PAPER, case, counted, largest
from querist.report.charts import look_of

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


_graphs, _points = _cases(GRAPHS, "theorem 2", 60), _cases(POINTS, "theorem 8", 8)


def _table(found: dict[Label, Result], title: str, note: str, more: Mapping[str, str]) -> Table:
    rows: list[list[Entry]] = []
    for (name,), line in found.items():
        gap = float((line.values("bound") - line.values("mistakes")).min())
        violated = int(line.values("violations").sum())
        extra = [counted(line, measure) for measure in more]
        runs = len(line.outcomes)
        rows.append([name, runs, counted(line), counted(line, "bound"), *extra, round(gap, 2), violated])
    columns = ["graphs", "runs", "mistakes", "bound", *more.values(), "least gap", "above the bound"]
    return Table(title, columns, rows, note, digits=2)


def _numbers(item: str, found: dict[Label, Result]) -> list[Number]:
    """A theorem says: never above the bound."""
    return [
        Number(PAPER, item, str(name), "POUNCE", "violations", 0, float(line.values("violations").sum()))
        for (name,), line in found.items()
    ]


def _said(found: dict[Label, Result]) -> str:
    runs = sum(len(line.outcomes) for line in found.values())
    violated = sum(int(line.values("violations").sum()) for line in found.values())
    return f"{violated} of {runs:,} runs are above their bound."


def _scatter(axes: Any, found: dict[Label, Result], across: str, up: str, spread: float) -> None:
    """A mark a run; counts are spread a little, so that marks do not hide each other."""
    rng = np.random.default_rng(0)
    for i, ((name,), line) in enumerate(found.items()):
        x, y = line.values(across), line.values(up)
        look = look_of(i)
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


def _diagonal(axes: Any, low: float, high: float) -> None:
    axes.plot([low, high], [low, high], color="#1d2126", linewidth=1)
    axes.set(xlim=(low, high), ylim=(low, high))


# -- Theorem 2 -------------------------------------------------------------------


def _show_2(results: Sequence[Result]) -> Shown:
    found = _graphs.read(results)
    note = (
        "Theorem 2: N(X, rho) + |u*|^2 rho + 1 at its best rho. Covers are exact up to 40 nodes, greedy "
        "beyond. The least gap is the smallest bound less mistakes."
    )
    caption = "A mark a run: its bound, and the mistakes it made. On or below the line, the theorem holds."

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        _scatter(axes, found, "bound", "mistakes", 0.04)
        _diagonal(axes, 0.8, 200)
        panels.plain_log(axes, (1, 2, 5, 10, 20, 50, 100, 200), (1, 2, 5, 10, 20, 50, 100, 200))
        axes.set(xlabel="bound of Theorem 2", ylabel="mistakes of POUNCE")
        panels.shared_legend(canvas, [axes], list(GRAPHS), columns=3)

    return Shown(
        [_table(found, "Theorem 2, run by run", note, {})],
        [Figure("bound", draw, caption, (5.8, 5.0))],
        _numbers("theorem2", found),
        [_said(found)],
    )


THEOREM_2 = Item(
    PAPER,
    "theorem2",
    "Theorem 2 on many graphs: bound beside mistakes",
    "Random weighted and signed graphs of 3 to 8 nodes with random labels, communities with and without "
    "flipped labels, three clusters; POUNCE in a random order on each.",
    _graphs.plan,
    _show_2,
)

# -- Theorem 5 -------------------------------------------------------------------

SAME = 1e-9
"""Energies that differ by this part of them are the same."""

_energies = _cases({name: {**GRAPHS[name], "repeats": 200} for name in list(GRAPHS)[:2]}, "theorem 5", 20)


def _show_5(results: Sequence[Result]) -> Shown:
    found = _energies.read(results)
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
    return Shown(
        [Table("Theorem 5, run by run", columns, rows, note)],
        numbers=[
            Number(
                PAPER,
                "theorem5",
                str(name),
                "",
                "violations",
                0,
                float((line.values("apart") > SAME).sum()),
                by_definition=True,
            )
            for (name,), line in found.items()
        ],
    )


THEOREM_5 = Item(
    PAPER,
    "theorem5",
    "Theorem 5 on small graphs: room beyond the labels allows no less energy",
    "Random weighted and signed graphs of 3 to 8 nodes with random labels, at the mistakes of POUNCE.",
    _energies.plan,
    _show_5,
)

# -- Theorem 8 -------------------------------------------------------------------


def _show_8(results: Sequence[Result]) -> Shown:
    found = _points.read(results)
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
        left, right = panels.grid(canvas, 1, 2)[0]
        _scatter(left, found, "bound", "mistakes", 0.05)
        _diagonal(left, 0.8, 12)
        panels.plain_log(left, (1, 2, 3, 5, 10), (1, 2, 3, 5, 10))
        left.set(xlabel="bound of Theorem 8, C° + 1", ylabel="mistakes of POUNCE")
        _scatter(right, found, "balls", "components", 0.05)
        _diagonal(right, 0.8, 120)
        panels.plain_log(right, (1, 2, 5, 10, 20, 50, 100), (1, 2, 5, 10, 20, 50, 100))
        right.set(xlabel="balls of a separating cover, N°", ylabel="path-connected sets, C°")
        panels.shared_legend(canvas, [left], list(POINTS))

    return Shown(
        [_table(found, "Theorem 8, run by run", note, {"components": "C°", "balls": "N°"})],
        [Figure("bound", draw, caption, (7.8, 4.2))],
        _numbers("theorem8", found),
        [_said(found)],
    )


THEOREM_8 = Item(
    PAPER,
    "theorem8",
    "Theorem 8 on many sets of points: bound beside mistakes",
    "Points joined by exp(-a d) with the a that the theorem asks for; POUNCE in a random order on each. "
    "Draws whose a is too large for floating point are left out.",
    _points.plan,
    _show_8,
)
