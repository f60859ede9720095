"""What a comparison shows: a table and a figure a data set, every online learner beside its control."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.experiment.comparison import Comparison
from querist.experiment.index import ROWS
from querist.experiment.item import Cell, Entry, Figure, Item, Shown, Table
from querist.experiment.results import CONTROL, Result
from querist.metrics import NAMES
from querist.report import charts
from querist.stats import paired_t

RANDOM = "random, as often"
MAIN = {
    "online": ("error_rate", "queries", "updates", "seconds"),
    "collective": ("accuracy", "macro_f1", "reached", "seconds"),
    "stream": ("accuracy", "updates", "seconds"),
    "transduce": ("accuracy", "seconds"),
}
"""What a table shows where the file names no measures; `results.json` has all."""
NO_CHOICE = (
    "Classifiers and stream methods get their labels at random: nothing chooses whom to ask, so that a run "
    "is its own control."
)


def as_item(comparison: Comparison) -> Item:
    """A comparison as something to run and show, like an item of a paper."""
    return Item(
        paper="comparison",
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
        tables.append(_table(f"{task} on {data}", mine, comparison.measures))
        name = f"{task}_{_word(data)}"
        if any("error_rate" in r.outcomes[0].curves for _, r in mine):
            figures.append(_error_curves(name, data, mine))
        elif any("accuracy" in r.outcomes[0].curves for _, r in mine):
            figures.append(_accuracy_curves(name, data, mine))
    remarks = [NO_CHOICE] if any(task != "online" for task, _ in groups) else []
    return Shown(tables, figures, (), remarks)


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
        if CONTROL + "error_rate" in result.measures:
            lines.append(
                [f"{name}: {RANDOM}", *(_cell(result, CONTROL + m) for m in measures), _p(result), None]
            )
    head = ["", *(m.replace("_", " ") for m in measures), "p", "tuned"]
    used = [i for i in range(len(head)) if any(line[i] is not None for line in lines)]
    several = any(len(result.outcomes) > 1 for _, result in named)
    note = "Mean ± standard deviation of the runs (ddof = 0)." if several else "One run of each."
    if head.index("p") in used:
        note += " p: paired t of the error rate against that of the control."
    return Table(title, [head[i] for i in used], [[line[i] for i in used] for line in lines], note)


def _main(result: Result) -> Sequence[str]:
    main = MAIN.get(result.specification.task, result.measures)
    # Without an accuracy there are several labels a node, and each measure tells something of its own.
    return main if main[0] in result.measures else NAMES


def _p(result: Result) -> float | str | None:
    """Whether the control's error rates differ, where there are runs enough to tell."""
    if len(result.outcomes) < 2 or CONTROL + "error_rate" not in result.measures:
        return None
    p = paired_t(result.values("error_rate"), result.values(CONTROL + "error_rate")).p
    return "< 0.0001" if p < 1e-4 else p


def _cell(result: Result, measure: str) -> Cell | None:
    if measure not in result.measures:
        return None
    return Cell.of(result, measure, 1 if result.mean(measure) >= 10 else 4)


def _error_curves(name: str, dataset: str, named: Sequence[tuple[str, Result]]) -> Figure:
    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        errors, asked, looks = {}, {}, {}
        for i, (label, result) in enumerate(named):
            at = result.curve("round")[0]
            looks[label] = charts.look_of(i)
            looks[f"{label}: {RANDOM}"] = charts.fainter(looks[label])
            errors[label] = (at, result.curve("error_rate"))
            asked[label] = (at, result.curve("queries"))
            if CONTROL + "error_rate" in result.outcomes[0].curves:
                errors[f"{label}: {RANDOM}"] = (at, result.curve(CONTROL + "error_rate"))
        charts.curves(left, errors, x_label="round", y_label="error rate so far", looks=looks)
        left.set_ylim(bottom=0)
        charts.curves(right, asked, x_label="round", y_label="questions so far", looks=looks)
        right.set_ylim(bottom=0)

    return Figure(name, draw, f"{dataset}: mean over the runs; bands are one standard deviation.", (9.6, 4.2))


def _accuracy_curves(name: str, dataset: str, named: Sequence[tuple[str, Result]]) -> Figure:
    def draw(figure: Any) -> None:
        lines = {label: (r.curve("item")[0], r.curve("accuracy")) for label, r in named}
        charts.curves(figure.add_subplot(), lines, x_label="item", y_label="accuracy so far")

    return Figure(name, draw, f"{dataset}: mean over the runs; bands are one standard deviation.")


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _word(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)
