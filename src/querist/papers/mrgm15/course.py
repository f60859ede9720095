"""Figures 5 and 6 of mrgm15: how the objective settles, and what lambda does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from querist.experiment.item import Cell, Entry, Figure, Item, Shown, Table
from querist.experiment.results import Result
from querist.experiment.specification import Specification
from querist.papers import panels
from querist.papers.cases import Cases, Label
from querist.papers.mrgm15.published import PAPER, SEVERAL, SINGLE, STOOD_IN

TRIALS = 10
ITERATIONS = 30

# -- Figure 5 --------------------------------------------------------------------

COURSES = {"GMNR on Cora": ("gmnr", "cora"), "MRGM on dblp_multilabel": ("mrgm", SEVERAL["DBLP-A"])}
_courses = Cases(
    {
        (title,): Specification(
            "mrgm15.course",
            dataset,
            method,
            {"objective": True, "max_iter": ITERATIONS, "tol": 0.0},
            protocol={"labelled": 0.05},
            repeats=TRIALS,
        )
        for title, (method, dataset) in COURSES.items()
    },
    few=1,
)


def _show_courses(results: Sequence[Result]) -> Shown:
    found = _courses.read(results)
    at = (2, 5, 10, 20, 30)
    rows: list[list[Entry]] = [
        [title, *(f"{result.curve('change').mean(axis=0)[i - 2]:.1e}" for i in at)]
        for (title,), result in found.items()
    ]

    def draw(canvas: Any) -> None:
        sides = panels.grid(canvas, 1, len(COURSES))[0]
        for axes, ((title,), result) in zip(sides, found.items(), strict=True):
            change = result.curve("change")
            series = {"change": (result.curve("iteration")[0], change)}
            panels.panel(axes, series, ("change",), title=str(title), x_label="iteration", log_y=True)
        sides[0].set_ylabel("relative change of the objective")

    caption = (
        "Relative change of the objective, 5 % labelled; a band is one standard deviation over the draws."
    )
    return Shown(
        [Table("Relative change of the objective", ["model", *(f"iteration {i}" for i in at)], rows)],
        [Figure("course", draw, caption, (7.6, 3.4))],
        remarks=[
            STOOD_IN,
            "At the tenth iteration the objective still changes by "
            + ", ".join(f"{r.curve('change').mean(axis=0)[8]:.1e} ({title})" for (title,), r in found.items())
            + "; the paper says that both have converged by then.",
            "The objective is not proven to rise (docs/collective.md).",
        ],
    )


FIGURE_5 = Item(
    PAPER,
    "figure5",
    "Convergence",
    f"{TRIALS} draws, 5 % labelled, {ITERATIONS} iterations; |O(t+1) - O(t)| / |O(t)|.",
    _courses.plan,
    _show_courses,
)

# -- Figure 6 --------------------------------------------------------------------

LAMBDAS = (0.0, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0)
WEIGHTED = {
    **{dataset: ("gmnr", data, "accuracy") for dataset, data in SINGLE.items()},
    **{data: ("mrgm", data, "average_precision") for data in SEVERAL.values()},
}
_lambdas = Cases(
    {
        (title, weight): Specification(
            "collective", data, method, {"lam": weight}, protocol={"labelled": 0.05}, repeats=TRIALS
        )
        for title, (method, data, _) in WEIGHTED.items()
        for weight in LAMBDAS
        if method == "gmnr" or weight < 60
    },
    few=1,
    hurried=lambda label: label[1] in (0.0, 5.0, 20.0),
)
PARTS = {"GMNR, accuracy": tuple(SINGLE), "MRGM, average precision": tuple(SEVERAL.values())}


def _show_lambdas(results: Sequence[Result]) -> Shown:
    found = _lambdas.read(results)
    weights = sorted({weight for _, weight in found if isinstance(weight, float)})
    rows: list[list[Entry]] = []
    for title, (_, _, measure) in WEIGHTED.items():
        lines = [found.get((title, weight)) for weight in weights]
        cells = [None if line is None else Cell.of(line, measure, 3) for line in lines]
        rows.append([title, *cells])
    best = {title: _best(found, title) for title in WEIGHTED}
    caption = (
        "What lambda does at 5 % of the labels: accuracy of GMNR, average precision of MRGM. Bands are one "
        "standard deviation over the draws. The paper's best is 5."
    )
    return Shown(
        [Table("By lambda", ["data", *(f"{weight:g}" for weight in weights)], rows)],
        [Figure("lambda", lambda canvas: _draw_lambdas(canvas, found), caption, (8.4, 3.8))],
        remarks=[
            "The best lambda of those tried: " + ", ".join(f"{t} {w:g}" for t, w in best.items()) + ".",
            STOOD_IN,
        ],
    )


def _best(found: dict[Label, Result], title: str) -> float:
    measure = WEIGHTED[title][2]
    means = {weight: result.mean(measure) for (name, weight), result in found.items() if name == title}
    return float(max(means, key=lambda weight: means[weight]))


def _draw_lambdas(canvas: Any, found: dict[Label, Result]) -> None:
    sides = panels.grid(canvas, 1, len(PARTS))[0]
    for axes, (label, titles) in zip(sides, PARTS.items(), strict=True):
        series = {}
        for title in titles:
            lines = {w: found[title, w] for w in LAMBDAS if (title, w) in found}
            measure = WEIGHTED[title][2]
            series[title] = (list(lines), np.column_stack([line.values(measure) for line in lines.values()]))
        panels.panel(axes, series, titles, title=label, x_label="lambda", markers=len(LAMBDAS))
        axes.legend()


FIGURE_6 = Item(
    PAPER,
    "figure6",
    "What lambda does",
    f"{TRIALS} draws, 5 % labelled; the label regulariser of MRGM keeps its own weight.",
    _lambdas.plan,
    _show_lambdas,
)
