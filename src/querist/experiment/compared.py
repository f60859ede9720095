"""What a comparison shows: a table and a figure a data set, every online learner beside its controls."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.experiment.comparison import Comparison
from querist.experiment.index import ROWS
from querist.experiment.item import Cell, Entry, Figure, Item, Paper, Shown, Table
from querist.experiment.results import CONTROL, MARGIN, Result
from querist.experiment.tasks import task_of
from querist.metrics import NAMES
from querist.report import charts
from querist.stats import paired_t
from querist.types import Floats

CONTROLS = {CONTROL: "random, as often", MARGIN: "margin, as often"}
"""The words for a control, by what the names of its numbers begin with."""
DRAWN_AT_RANDOM = ("collective", "label", "stream", "transduce")
NO_CHOICE = (
    "Classifiers and stream methods get their labels at random: nothing chooses whom to ask, so that a run "
    "is its own control."
)
AXES = (
    ("item", "accuracy", "item", "accuracy so far"),
    ("share", "accuracy", "share labelled", "accuracy"),
    ("share", "average_precision", "share labelled", "average precision"),
    ("share", "log_loss", "share labelled", "log-loss"),
    ("answer", "accuracy", "answers", "accuracy, quick learner"),
    ("mark", "final_accuracy", "answers", "accuracy, final labels"),
)
"""Curves that are drawn where results have them: x and y by name, and in words."""
BY_POINT = {
    ("share", "accuracy"): ("accuracy by share labelled", "{:.4g} %", 100.0),
    ("share", "average_precision"): ("average precision by share labelled", "{:.4g} %", 100.0),
    ("mark", "final_accuracy"): ("accuracy of the final labels by answers", "{:.0f}", 1.0),
}
"""Curves of few points, which get a table of their own: its title, and how a point is written."""


def as_item(comparison: Comparison) -> Item:
    """A comparison as something to run and show, like an item of a paper."""
    return Item(
        paper=Paper("comparison"),
        name="",
        title=comparison.title,
        protocol="Grids are tuned on held-out draws only.",
        plan=lambda quick: comparison.specifications,
        show=lambda results: show(comparison, results),
    )


def show(comparison: Comparison, results: Sequence[Result]) -> Shown:
    """A table and, where there are curves, a figure for each task and data set."""
    tables, figures = [], []
    named = list(zip(comparison.names, results, strict=True))
    groups = list(dict.fromkeys((r.specification.task, r.specification.dataset) for r in results))
    for task, dataset in groups:
        mine = [
            (n, r) for n, r in named if (r.specification.task, r.specification.dataset) == (task, dataset)
        ]
        data = dataset.rsplit("/", 1)[-1]
        title = f"{task} on {data}"
        tables.append(_table(title, mine, comparison.measures))
        tables += [_by_point(title, mine, *curve) for curve in BY_POINT if _drawn(mine, *curve)]
        name = f"{task}_{_word(data)}"
        panels = [axes for axes in AXES if _drawn(mine, *axes[:2])]
        if _drawn(mine, "round", "error_rate"):
            figures.append(_error_curves(name, data, mine))
        elif panels:
            figures.append(_curves(name, data, mine, panels))
    remarks = [NO_CHOICE] if any(task in DRAWN_AT_RANDOM for task, _ in groups) else []
    return Shown(tables, figures, (), remarks)


def _drawn(named: Sequence[tuple[str, Result]], x: str, y: str) -> bool:
    """Whether all have these curves; the average precision stands in where there is no accuracy."""
    curves = set.intersection(*(set(result.outcomes[0].curves) for _, result in named))
    return {x, y} <= curves and not (y == "average_precision" and "accuracy" in curves)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose `results.json` is of the papers: it would be lost."""
    path = folder / ROWS
    if path.is_file() and b'"published"' in path.read_bytes():
        raise InputError(f"{path} holds numbers of the papers, written by reproduce; take another folder")


def rows(comparison: Comparison, results: Sequence[Result]) -> list[dict[str, Any]]:
    """All numbers, ready for JSON: a row an experiment and measure."""
    return [
        {
            "name": name,
            "task": result.specification.task,
            "dataset": result.specification.dataset,
            "method": result.specification.method,
            "parameters": {**result.specification.as_dict().get("parameters", {}), **result.chosen},
            "tuned": sorted(result.chosen),
            "measure": measure,
            "mean": result.mean(measure),
            "std": result.std(measure),
            "runs": result.values(measure).tolist(),
            "specification": result.specification.key,
        }
        for name, result in zip(comparison.names, results, strict=True)
        for measure in result.measures
    ]


def _table(title: str, named: Sequence[tuple[str, Result]], wanted: Sequence[str]) -> Table:
    wanted = wanted or _main(named[0][1])
    measures = [m for m in named[0][1].measures if m in wanted]
    lines: list[list[Entry]] = []
    for name, result in named:
        tuned = ", ".join(f"{n} {_short(v)}" for n, v in result.chosen.items())
        lines.append([name, *(_cell(result, m) for m in measures), None, tuned or None])
        for control, words in _controls(result):
            cells = (_cell(result, control + m) for m in measures)
            lines.append([f"{name}: {words}", *cells, _p(result, control), None])
    head = ["", *(m.replace("_", " ") for m in measures), "p", "tuned"]
    used = [i for i in range(len(head)) if any(line[i] is not None for line in lines)]
    several = any(len(result.outcomes) > 1 for _, result in named)
    note = "Mean ± standard deviation of the runs (ddof = 0)." if several else "One run of each."
    if head.index("p") in used:
        judge = _judged_by(named[0][1]).replace("_", " ")
        note += f" p: paired t of the {judge} against that of the control."
    return Table(title, [head[i] for i in used], [[line[i] for i in used] for line in lines], note)


def _by_point(title: str, named: Sequence[tuple[str, Result]], x: str, y: str) -> Table:
    """A row a method, and one for its control; a column a point of the curve."""
    what, form, unit = BY_POINT[x, y]
    points = list(dict.fromkeys(point for _, result in named for point in result.curve(x)[0].tolist()))
    lines: list[list[Entry]] = []
    for name, result in named:
        for prefix, words in (("", name), *((c, f"{name}: {what}") for c, what in CONTROLS.items())):
            if prefix + y in result.outcomes[0].curves:
                at, values = result.curve(x)[0].tolist(), result.curve(prefix + y)
                std = values.std(axis=0) if len(values) > 1 else [None] * len(at)
                cells = dict(zip(at, map(Cell, values.mean(axis=0), std), strict=True))
                lines.append([words, *(cells.get(point) for point in points)])
    note = "Mean ± standard deviation of the runs (ddof = 0)."
    return Table(f"{title}: {what}", ["", *(form.format(unit * p) for p in points)], lines, note)


def _main(result: Result) -> Sequence[str]:
    main: Sequence[str] = getattr(task_of(result.specification.task), "shown", result.measures)
    # Without an accuracy there are several labels a node, and each measure tells something of its own.
    return main if main[0] in result.measures else NAMES


def _judged_by(result: Result) -> str:
    """What a method is compared with its controls by."""
    return "error_rate" if "error_rate" in result.measures else "accuracy"


def _controls(result: Result) -> list[tuple[str, str]]:
    """Those that a result has."""
    return [each for each in CONTROLS.items() if each[0] + _judged_by(result) in result.measures]


def _p(result: Result, control: str) -> float | str | None:
    """Whether a control differs, where there are runs enough to tell."""
    judge = _judged_by(result)
    if len(result.outcomes) < 2:
        return None
    p = paired_t(result.values(judge), result.values(control + judge)).p
    return "< 0.0001" if p < 1e-4 else p


def _cell(result: Result, measure: str) -> Cell | None:
    if measure not in result.measures:
        return None
    return Cell.of(result, measure, 1 if result.mean(measure) >= 10 else 4)


def _error_curves(name: str, dataset: str, named: Sequence[tuple[str, Result]]) -> Figure:
    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        errors: dict[str, Any] = {}
        asked: dict[str, Any] = {}
        looks: dict[str, Any] = {}
        for i, (label, result) in enumerate(named):
            at = result.curve("round")[0]
            looks |= _looks(label, i)
            errors[label] = (at, result.curve("error_rate"))
            asked[label] = (at, result.curve("queries"))
            errors |= _beside(label, result, at, "error_rate")
        charts.curves(left, errors, x_label="round", y_label="error rate so far", looks=looks)
        left.set_ylim(bottom=0)
        charts.curves(right, asked, x_label="round", y_label="questions so far", looks=looks)
        right.set_ylim(bottom=0)

    return Figure(name, draw, f"{dataset}: mean over the runs; bands are one standard deviation.", (9.6, 4.2))


def _curves(
    name: str, dataset: str, named: Sequence[tuple[str, Result]], panels: Sequence[tuple[str, str, str, str]]
) -> Figure:
    """A panel for each curve, every control beside its method."""

    def draw(figure: Any) -> None:
        for axes, (x, y, x_label, y_label) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            lines: dict[str, Any] = {}
            looks: dict[str, Any] = {}
            for i, (label, result) in enumerate(named):
                looks |= _looks(label, i)
                lines[label] = (result.curve(x)[0], result.curve(y))
                lines |= _beside(label, result, result.curve(x)[0], y)
            charts.curves(axes, lines, x_label=x_label, y_label=y_label, looks=looks)

    caption = f"{dataset}: mean over the runs; bands are one standard deviation."
    return Figure(name, draw, caption, (6.4, 4.0) if len(panels) == 1 else (9.6, 4.2))


def _looks(label: str, i: int) -> dict[str, Any]:
    """Of the i-th method and its controls; that by the margin is dashed where the random one is dotted."""
    own = charts.look_of(i)
    faint = charts.fainter(own)
    dashes = {CONTROL: faint["linestyle"], MARGIN: charts.DASHES[1]}
    return {label: own} | {f"{label}: {CONTROLS[c]}": {**faint, "linestyle": dashes[c]} for c in CONTROLS}


def _beside(label: str, result: Result, at: Floats, y: str) -> dict[str, tuple[Floats, Floats]]:
    """The curves of the controls that a result has."""
    curves = result.outcomes[0].curves
    return {f"{label}: {CONTROLS[c]}": (at, result.curve(c + y)) for c in CONTROLS if c + y in curves}


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _word(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)
