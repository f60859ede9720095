"""Figures 5 and 6 of mrgm15 and its Theorem 2: how the objective goes, and what lambda does."""

from typing import Any, TypeAlias

import numpy as np

from querist.experiment import Result, Specification
from querist_papers import panels
from querist_papers.item import Cases, Cell, Entry, Figure, Found, Label, Shown, Statement, Table
from querist_papers.mrgm15.published import PAPER, SEVERAL, SINGLE, STOOD_IN, TITLES
from querist_papers.mrgm15.several import LAMBDA
from querist_papers.types import Floats

TRIALS = 10
ITERATIONS = 30
LABELLED = {"labelled": 0.05}
ONE: dict[str, Any] = {"lam_labels": LAMBDA}
"""One lambda for both regularisers, as printed."""


def _course(dataset: str, method: str, repeats: int = TRIALS, **parameters: Any) -> Specification:
    own = {"objective": True, "max_iter": ITERATIONS, "tol": 0.0, **parameters}
    return Specification("mrgm15.course", dataset, method, own, protocol=LABELLED, repeats=repeats)


# -- Figure 5 --------------------------------------------------------------------

_courses = Cases(
    {
        ("GMNR on Cora",): _course("cora", "gmnr"),
        ("MRGM, one lambda, on DBLP-A",): _course(SEVERAL["DBLP-A"], "mrgm", **ONE),
        ("MRGM, own lambda, on DBLP-A",): _course(SEVERAL["DBLP-A"], "mrgm"),
    },
    few=1,
)


def _change(result: Result) -> Floats:
    """(draws, iterations - 1) `(O(t+1) - O(t)) / |O(t)|`."""
    objective = result.curve("objective")
    return np.asarray(np.diff(objective, axis=1) / np.abs(objective[:, :-1]))


@_courses.item(PAPER, f"{TRIALS} draws, 5 % labelled, {ITERATIONS} iterations; |O(t+1) - O(t)| / |O(t)|.")
def figure5(found: Found) -> Shown:
    """Convergence."""
    changes = {str(title): np.abs(_change(result)) for (title,), result in found.items()}
    at = (2, 5, 10, 20, 30)
    rows: list[list[Entry]] = [
        [title, *(f"{change.mean(axis=0)[i - 2]:.1e}" for i in at)] for title, change in changes.items()
    ]

    def draw(canvas: Any) -> None:
        sides = canvas.subplots(1, len(changes))
        for axes, (title, change) in zip(sides, changes.items(), strict=True):
            series = {"change": (np.arange(2, ITERATIONS + 1), change)}
            panels.panel(axes, series, ("change",), title=title, x_label="iteration", log_y=True)
        sides[0].set_ylabel("relative change of the objective")

    caption = (
        "Relative change of the objective, 5 % labelled; a band is one standard deviation over the draws."
    )
    settled = ", ".join(f"{change.mean(axis=0)[8]:.1e} ({title})" for title, change in changes.items())
    return Shown(
        [Table("Relative change of the objective", ["model", *(f"iteration {i}" for i in at)], rows)],
        [Figure("course", draw, caption, (10.5, 3.4))],
        remarks=[
            STOOD_IN,
            f"At the tenth iteration the objective still changes by {settled}; the paper says that both "
            "models have converged by then.",
        ],
    )


# -- Theorem 2 -------------------------------------------------------------------

PRINTED, RESET = "as printed", "labelled rows reset"
DRAWS = 3
SAME = 1e-6
"""Parts of the objective that a numerical maximum may be off."""
_UPDATES: Label = ("GMNR", "path", PRINTED)
_rises = Cases(
    {
        (model, name, how): _course(
            {**SINGLE, **SEVERAL}[name], method, DRAWS, solver="cg", solver_tol=1e-8, clamp=clamp, **own
        )
        for model, method, name, own in (
            ("GMNR", "gmnr", "Cora", {}),
            ("MRGM, one lambda", "mrgm", "DBLP-A", ONE),
            ("MRGM, one lambda", "mrgm", "DBLP-B", ONE),
        )
        for how, clamp in ((PRINTED, "none"), (RESET, "reset"))
    }
    | {_UPDATES: Specification("mrgm15.update", "", "gmnr", {"lam": 5.0}, repeats=20)},
    few=1,
    hurried=lambda label: label[1] != "DBLP-B",
)


@_rises.item(
    PAPER,
    f"{DRAWS} draws, 5 % labelled, {ITERATIONS} iterations, systems solved to 1e-8; as printed, labels are "
    "only the start. 20 paths of six nodes with random counts: one update from a maximum.",
)
def theorem2(found: Found) -> Shown:
    """Does the objective rise? (Theorems 1 and 2)."""
    rises = found.pop(_UPDATES).values("rise")
    changes = {label: _change(result) for label, result in found.items()}
    falls = {label: int((change < 0).sum()) for label, change in changes.items()}
    rows: list[list[Entry]] = []
    for (model, name, how), change in changes.items():
        at = np.flatnonzero((change < 0).any(axis=0))
        first, worst = (str(at[0] + 2), f"{-change.min():.1e}") if at.size else ("none", "none")
        rows.append([model, TITLES[str(name)], how, change.size, falls[model, name, how], first, worst])
    columns = ["model", "data", "updates", "steps", "falls", "first at iteration", "largest relative fall"]
    return Shown(
        [Table("Does the objective rise?", columns, rows)],
        statements=[
            Statement(
                *(PAPER, "theorem2", name, f"an update of {model} never lowers its objective"),
                [*(rises < -SAME), *(count > 0 for count in lines)],
                "none known: from the usual start it rose in every step, from a maximum it falls",
            )
            for name, model in (("Theorem 1", "GMNR"), ("Theorem 2", "MRGM"))
            for lines in [
                [n for (m, _, how), n in falls.items() if how == PRINTED and str(m).startswith(model)]
            ]
        ],
        remarks=[
            "Both proofs replace a logarithm by the first term of its series (eq. 18). On paths of six "
            "nodes, one update from a maximum lowers the objective in "
            f"{int((rises < -SAME).sum())} of {rises.size} draws, by up to {-rises.min():.1e} of it. "
            "With one label per node the class Laplacian is zero and eq. 11 is eq. 10, so these runs are "
            "about Theorem 2 as well.",
            f"On the data: with the updates as printed the objective fell in "
            f"{sum(count for label, count in falls.items() if label[2] == PRINTED)} of "
            f"{sum(change.size for label, change in changes.items() if label[2] == PRINTED)} steps; with "
            "labelled rows reset, the reading that reaches the published accuracies, in "
            f"{sum(count for label, count in falls.items() if label[2] == RESET)}.",
        ],
    )


# -- Figure 6 --------------------------------------------------------------------

WEIGHTS = (0.0, 1.0, 2.5, 5.0, 10.0, 20.0)
Part: TypeAlias = tuple[str, str, tuple[float, ...], dict[str, tuple[str, bool]]]
PARTS: dict[str, Part] = {
    "GMNR": (
        "accuracy",
        "collective",
        (40.0, 60.0),
        {title: (data, False) for title, data in SINGLE.items()},
    ),
    "MRGM": (
        *("average_precision", "mrgm15.collective", (35.0, 50.0)),
        {
            f"{TITLES[name]}, {which} lambda": (data, which == "one")
            for name, data in SEVERAL.items()
            for which in ("one", "own")
        },
    ),
}
"""Measure, task, largest weights, and the data, each with whether the label regulariser has the same one."""

_lambdas = Cases(
    {
        (title, lam): Specification(
            *(task, data, model.lower(), {"lam": lam, "lam_labels": lam} if one else {"lam": lam}),
            protocol=LABELLED,
            repeats=TRIALS,
        )
        for model, (_, task, largest, titles) in PARTS.items()
        for title, (data, one) in titles.items()
        for lam in (*WEIGHTS, *largest)
    },
    few=1,
    hurried=lambda label: label[1] in (0.0, 5.0, 20.0),
)


@_lambdas.item(
    PAPER,
    f"{TRIALS} draws, 5 % labelled. One lambda: MRGM's label regulariser has the network's weight, as "
    "printed; own lambda: it keeps 0.1.",
)
def figure6(found: Found) -> Shown:
    """What lambda does."""
    tables, series, best = [], {}, []
    for model, (measure, _, _, titles) in PARTS.items():
        part = f"{model}, {measure.replace('_', ' ')}"
        lines = {t: {weight: run for (name, weight), run in found.items() if name == t} for t in titles}
        rows: list[list[Entry]] = [
            [title, *(Cell.of(run, measure, 3) for run in line.values())] for title, line in lines.items()
        ]
        weights = [f"{weight:g}" for weight in next(iter(lines.values()))]
        tables.append(Table(f"By lambda: {part}", ["data", *weights], rows))
        series[part] = {t: (list(line), panels.columns(line.values(), measure)) for t, line in lines.items()}
        for title, line in lines.items():
            means = {weight: run.mean(measure) for weight, run in line.items()}
            best.append(f"{title} {max(means, key=means.__getitem__):g}")

    def draw(canvas: Any) -> None:
        for axes, (part, lines) in zip(canvas.subplots(1, len(PARTS)), series.items(), strict=True):
            panels.panel(axes, lines, tuple(lines), title=part, x_label="lambda", markers=8)
            axes.legend()

    caption = (
        "What lambda does at 5 % of the labels: accuracy of GMNR, average precision of MRGM. Bands are one "
        "standard deviation over the draws. The paper's best is 5."
    )
    return Shown(
        tables,
        [Figure("lambda", draw, caption, (8.4, 3.8))],
        remarks=[f"The best lambda of those tried: {', '.join(best)}.", STOOD_IN],
    )
