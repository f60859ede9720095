"""A user's own comparison: a TOML file of several specifications, and how its results are shown.

There is a table and a figure per data set, with every online learner beside its controls.

What stands above the first `[[experiment]]` holds for all of them; an experiment's own keys come before it.
`dataset`, `method` and, of `ask`, `strategy` may be lists: every combination is an experiment. A file without
`[[experiment]]` is one experiment. Beside every online learner stand its controls, asking as often at random
and by the margin; they cannot be left out. Classifiers and stream methods get their labels at random: nothing
chooses whom to ask, and a run is its own control.

    title = "Who asks least on karate?"
    task = "online"
    dataset = "karate"
    repeats = 5

    [[experiment]]
    method = "msg"
    [experiment.grid]
    h = [0.01, 0.1]

    [[experiment]]
    method = "bbq"
"""

import os
import tomllib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from querist.errors import InputError
from querist.experiment import runner
from querist.experiment.results import CONTROL, MARGIN, Result
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.store import Store, conditions
from querist.experiment.tables import Cell, Entry, Shown, Table, html
from querist.experiment.tasks import OPEN, task_of
from querist.experiment.writing import Section, make_folder, put, write_section
from querist.metrics import NAMES
from querist.progress import Progress
from querist.report import charts
from querist.report.figures import Figure
from querist.report.page import page
from querist.stats import paired_t

Where: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers within arrays of tables: `("experiment", 0, "parameters", "gamma")`."""
EXPERIMENT = "experiment"
CURVE_POINTS = 50
_OWN = ("title", "measures", EXPERIMENT)
"""Keys of the file that are not of a specification; `name` is of an experiment."""
NAME = "comparison"
"""What its files are called."""
PROTOCOL = "Grids are tuned on held-out draws only."
CONTROLS = {CONTROL: "random, as often", MARGIN: "margin, as often"}
"""The words for a control, by what the names of its numbers begin with."""
DRAWN_AT_RANDOM = ("collective", "label", "stream", "transduce")
NO_CHOICE = (
    "Classifiers and stream methods get their labels at random: nothing chooses whom to ask, so that a run "
    "is its own control."
)
CURVES = {
    ("round", "error_rate"): ("round", "error rate so far"),
    ("round", "queries"): ("round", "questions so far"),
    ("item", "accuracy"): ("item", "accuracy so far"),
    ("share", "accuracy"): ("share labelled", "accuracy"),
    ("share", "average_precision"): ("share labelled", "average precision"),
    ("share", "log_loss"): ("share labelled", "log-loss"),
    ("answer", "accuracy"): ("answers", "accuracy, quick learner"),
    ("mark", "final_accuracy"): ("answers", "accuracy, final labels"),
}
"""Curves that are drawn if all results of a data set have them: x and y by name, and in words."""
BY_POINT = {
    ("share", "accuracy"): ("accuracy by share labelled", "{:.4g} %", 100.0),
    ("share", "average_precision"): ("average precision by share labelled", "{:.4g} %", 100.0),
    ("mark", "final_accuracy"): ("accuracy of the final labels by answers", "{:.0f}", 1.0),
}
"""Curves of few points, which get a table of their own: its title, and how a point is written."""
MEAN = "Mean ± standard deviation of the runs (ddof = 0)."

Named: TypeAlias = Sequence[tuple[str, Result]]


@dataclass(frozen=True)
class Comparison:
    """Named specifications, and which of their numbers to show (all, where none are named).

    >>> spec = Specification("online", "karate", "msg", {"rank": 4}, repeats=2)
    >>> Comparison("one method", ["msg"], [spec], measures=["error"]).names
    ['msg']
    """

    title: str
    names: Sequence[str]
    specifications: Sequence[Specification]
    measures: Sequence[str] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Comparison":
        """From a file; everything in it is checked, and what is wrong is told with its line."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            content = tomllib.loads(text)
        except ValueError as problem:
            raise InputError(f"{file}: read as UTF-8, it is not TOML: {problem}") from problem
        try:
            return _comparison(content, file.stem)
        except SpecificationError as problem:
            line = _line(text, problem.where)
            place = f"{file}, line {line}" if line else str(file)
            raise InputError(f"{place}: {problem}") from problem


def _comparison(content: Mapping[str, Any], title: str) -> Comparison:
    """What a file says, refused if it cannot be run or shown, before anything is run."""
    shared = {name: value for name, value in content.items() if name not in _OWN}
    given = content.get(EXPERIMENT, [{}])
    if not isinstance(given, list) or not given:
        raise SpecificationError(f"{EXPERIMENT} must be [[{EXPERIMENT}]], a table each", (EXPERIMENT,))
    for name, kind in (("title", str), ("measures", list)):
        if not isinstance(content.get(name, kind()), kind):
            what = "a text" if kind is str else "a list of names"
            raise SpecificationError(f"{name} = {content[name]!r}; it must be {what}", (name,))
    names, specifications = list[str](), list[Specification]()
    measures = content.get("measures", ())
    for i, own in enumerate(given):
        with blame(EXPERIMENT, i):
            for name, spec in _expanded(_merged(shared, own)):
                runner.check(spec)
                names.append(name)
                specifications.append(spec)
    for spec in specifications:
        with blame("measures"):
            for measure in measures:
                runner.check_measure(spec, str(measure))
    return Comparison(content.get("title", title), _distinct(names, specifications), specifications, measures)


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's own keys before the shared ones; tables are merged key by key."""
    found = dict(shared)
    for name, value in own.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **value} if both else value
    # A parameter that is tuned here need not be the shared one.
    for name in (own.get("grid") or {}) if isinstance(own.get("grid"), dict) else ():
        if isinstance(found.get("parameters"), dict) and name not in (own.get("parameters") or {}):
            found["parameters"] = {n: v for n, v in found["parameters"].items() if n != name}
    return found


def _expanded(given: dict[str, Any]) -> list[tuple[str, Specification]]:
    """Every combination of data sets, methods and query strategies; a strategy is a parameter of `ask`."""
    name = given.pop("name", "")
    lists = [given.get("dataset", ""), given.get("method", ""), given.pop("strategy", None)]
    many = [each if isinstance(each, list) else [each] for each in lists]
    found = []
    for dataset, method, strategy in product(*many):
        spec = Specification.from_dict({**given, "dataset": dataset, "method": method})
        if strategy is not None:
            with blame("strategy"):
                if spec.task != "ask":
                    raise InputError(f'{spec.task} has no strategy; leave it out, or take task = "ask"')
            spec = replace(spec, parameters={**spec.parameters, "strategy": strategy})
        found.append((name or strategy or method, _with_control(spec)))
    return found


def _with_control(spec: Specification) -> Specification:
    """The same with its control and with curves to draw, where the task has them."""
    if "." in spec.task:
        with blame("task"):
            raise InputError(f"{spec.task!r} is not for comparisons; take one of {', '.join(OPEN)}")
    if spec.task not in ("online", "stream"):
        return spec
    control = spec.protocol.get("control", True)
    if control is not True:
        with blame("protocol", "control"):
            raise InputError(
                f"control = {control!r}; the controls always stand beside an online learner: leave it out"
            )
    return replace(spec, protocol={"curve": CURVE_POINTS, **spec.protocol})


def _distinct(names: Sequence[str], specifications: Sequence[Specification]) -> list[str]:
    """Names that tell rows of one data set apart: the parameters are added where they must be."""
    seen = Counter((spec.dataset, name) for name, spec in zip(names, specifications, strict=True))
    settings = [", ".join(f"{n} {v}" for n, v in spec.parameters.items()) for spec in specifications]
    return [
        f"{name} ({own})" if own and seen[spec.dataset, name] > 1 else name
        for name, spec, own in zip(names, specifications, settings, strict=True)
    ]


def _line(text: str, where: Where) -> int | None:
    """The line to blame: the key in its experiment, or shared by all, or what stands around it."""
    within = where[:1] == (EXPERIMENT,) and len(where) > 1
    header, key = (where[:2], where[2:]) if within else ((), where)
    tried = [key[:length] for length in range(len(key), -1, -1)]
    if key == ("parameters", "strategy"):  # it may stand by itself
        tried.insert(1, key[1:])
    paths = [path for own in tried for path in ((*header, *own), own) if path]
    return next(filter(None, (line_of(text, path) for path in paths)), None)


def line_of(text: str, path: Where) -> int | None:
    r"""The line of a TOML text on which a key or a header stands, counted from 1; None if it is not there.

    `tomllib` does not report lines. The key begins on the line that follows the longest beginning of the
    text that is TOML without it.

    >>> line_of('task = "online"\n[[experiment]]\nmethod = "msg"\n', ("experiment", 0, "method"))
    3
    """
    lines, ends = text.split("\n"), [0]
    for end in range(1, len(lines) + 1):
        with suppress(tomllib.TOMLDecodeError):  # a list or a text that goes on
            tomllib.loads("\n".join(lines[ends[-1] : end]))
            ends.append(end)
    at = bisect_left(ends, True, key=lambda end: _stands("\n".join(lines[:end]), path))
    return ends[at - 1] + 1 if at < len(ends) else None


def _stands(text: str, path: Where) -> bool:
    found: Any = tomllib.loads(text)
    with suppress(KeyError, IndexError, TypeError):
        for part in path:
            found = found[part]
        return True
    return False


# -- what it shows -------------------------------------------------------------------------


def compare(
    comparison: Comparison,
    out: str | os.PathLike[str],
    *,
    processes: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Section:
    """Run a comparison and write what it shows into a folder; runs that it holds already are not made again.

    The comparison has been checked; `command` is printed on the page.
    """
    folder = Path(out)
    store = Store(folder / "results")
    make_folder(folder, f"{NAME}.json")
    places: Any = {"processes": processes, "cluster": cluster, "progress": progress}
    results = runner.run(comparison.specifications, store, checked=True, **places)
    section = Section([PROTOCOL], results, show(comparison, results))
    write_section(section, folder, NAME, f"{NAME}: {comparison.title}")
    content = page(
        "comparison",
        title=comparison.title,
        lede="Every number of ours was computed by the command below.",
        command=command,
        protocol=section.said,
        tables=[html(each) for each in section.shown.tables],
        figures=section.shown.figures,
        remarks=section.shown.remarks,
        conditions=", ".join(f"{name} {value}" for name, value in conditions().items()),
        n_specifications=len({result.specification.key for result in section.results}),
    )
    put(folder / f"{NAME}.html", content)
    put(folder / f"{NAME}.json", rows(comparison, results))
    return section


def show(comparison: Comparison, results: Sequence[Result]) -> Shown:
    """A table and, if there are curves, a figure for each task and data set."""
    tables, figures = list[Table](), list[Figure]()
    groups = defaultdict[tuple[str, str], list[tuple[str, Result]]](list)
    for name, result in zip(comparison.names, results, strict=True):
        groups[result.specification.task, result.specification.dataset].append((name, result))
    for (task, dataset), named in groups.items():
        data = dataset.rsplit("/", 1)[-1]
        tables.append(_table(f"{task} on {data}", named, comparison.measures))
        shared = set.intersection(*(set(result.outcomes[0].curves) for _, result in named))
        if "accuracy" in shared:  # the average precision stands in where there is no accuracy
            shared.discard("average_precision")
        panels = [curve for curve in CURVES if shared.issuperset(curve)]
        tables += [_by_point(f"{task} on {data}", named, *curve) for curve in panels if curve in BY_POINT]
        if panels:
            word = "".join(c if c.isalnum() else "_" for c in data)
            figures.append(_curves(f"{task}_{word}", data, named, panels))
    random = any(task in DRAWN_AT_RANDOM for task, _ in groups)
    return Shown(tables, figures, [NO_CHOICE] if random else [])


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


def _table(title: str, named: Named, wanted: Sequence[str]) -> Table:
    first = named[0][1]
    wanted = wanted or _main(first)
    measures = [m for m in first.measures if m in wanted]
    judge = "error_rate" if "error_rate" in first.measures else "accuracy"
    lines: list[list[Entry]] = []
    for words, prefix, result in _ways(named, judge):
        tuned = ", ".join(
            f"{n} {v:g}" if isinstance(v, float) else f"{n} {v}" for n, v in result.chosen.items()
        )
        p = _p(result, judge, prefix) if prefix else None
        lines.append(
            [words, *(_cell(result, prefix + m) for m in measures), p, (not prefix and tuned) or None]
        )
    head = ["", *(m.replace("_", " ") for m in measures), "p", "tuned"]
    used = [i for i in range(len(head)) if any(line[i] is not None for line in lines)]
    note = MEAN if any(len(result.outcomes) > 1 for _, result in named) else "One run of each."
    if head.index("p") in used:
        note += f" p: paired t of the {judge.replace('_', ' ')} against that of the control."
    return Table(title, [head[i] for i in used], [[line[i] for i in used] for line in lines], note)


def _by_point(title: str, named: Named, x: str, y: str) -> Table:
    """A row per method, and one for its control; a column per point of the curve."""
    what, form, unit = BY_POINT[x, y]
    points = list(dict.fromkeys(point for _, result in named for point in result.curve(x)[0].tolist()))
    lines: list[list[Entry]] = []
    for words, prefix, result in _ways(named, y, curves=True):
        at, values = result.curve(x)[0].tolist(), result.curve(prefix + y)
        std = values.std(axis=0) if len(values) > 1 else [None] * len(at)
        cells = dict(zip(at, map(Cell, values.mean(axis=0), std), strict=True))
        lines.append([words, *(cells.get(point) for point in points)])
    return Table(f"{title}: {what}", ["", *(form.format(unit * p) for p in points)], lines, MEAN)


def _ways(named: Named, y: str, curves: bool = False) -> Iterator[tuple[str, str, Result]]:
    """Every method and its controls: its name, what the number or curve `y` of it begins with, its result."""
    for name, result in named:
        known: Collection[str] = result.outcomes[0].curves if curves else result.measures
        yield name, "", result
        for prefix, words in CONTROLS.items():
            if prefix + y in known:
                yield f"{name}: {words}", prefix, result


def _main(result: Result) -> Sequence[str]:
    main: Sequence[str] = getattr(task_of(result.specification.task), "shown", result.measures)
    # Without an accuracy there are several labels a node, and each measure tells something of its own.
    return main if main[0] in result.measures else NAMES


def _p(result: Result, judge: str, control: str) -> float | str | None:
    """Whether a control differs, if there are enough runs to tell."""
    if len(result.outcomes) < 2:
        return None
    p = paired_t(result.values(judge), result.values(control + judge)).p
    return "< 0.0001" if p < 1e-4 else p


def _cell(result: Result, measure: str) -> Cell | None:
    if measure not in result.measures:
        return None
    return Cell.of(result, measure, 1 if result.mean(measure) >= 10 else 4)


def _curves(name: str, dataset: str, named: Named, panels: Sequence[tuple[str, str]]) -> Figure:
    """A panel per curve, with the controls, except for the number of questions: they ask as often."""

    def draw(figure: Any) -> None:
        every = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (x, y) in zip(every, panels, strict=True):
            lines, looks = dict[str, Any](), dict[str, Any]()
            for i, one in enumerate(named):
                own, dashes = charts.look_of(i), {CONTROL: charts.DASHES[2], MARGIN: charts.DASHES[1]}
                for words, prefix, result in _ways([one], y, curves=True):
                    if not prefix or y != "queries":
                        lines[words] = (result.curve(x)[0], result.curve(prefix + y))
                        faint = {**charts.fainter(own), "linestyle": dashes[prefix]} if prefix else own
                        looks[words] = faint
            x_label, y_label = CURVES[x, y]
            charts.curves(axes, lines, x_label=x_label, y_label=y_label, looks=looks)
            if x == "round":
                axes.set_ylim(bottom=0)

    caption = f"{dataset}: mean over the runs; bands are one standard deviation."
    return Figure(name, draw, caption, (6.4, 4.0) if len(panels) == 1 else (9.6, 4.2))
