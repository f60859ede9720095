"""Table I of msg16."""

from collections.abc import Sequence

from querist.experiment.item import Entry, Item, Number, Shown, Table
from querist.experiment.results import CONTROL, Result
from querist.experiment.specification import Specification
from querist.experiment.verdicts import NOT_REACHED
from querist.papers.cases import Cases, Label
from querist.papers.graphs import DATA, DIGITS, STOOD_IN, TITLES, Method, cell, compared
from querist.papers.msg16.published import (
    GAMMA,
    HS,
    METHODS,
    PAPER,
    SETTINGS,
    STATED,
    TABLE_1 as LINES,
    case,
    methods,
)

MEASURES = ("error_rate", "queries")
CONTROL_NAME = "random, as often as MSG"
HELD_OUT = 5

CONSERVATIVE = "CMOG as printed"
TUNED = "MSG, h tuned"
AS_STATED: dict[str, Method] = {
    "MSG": {"method": "msg"},
    "CMOG": {"method": "cmog", "parameters": {"update": "always"}},
    CONSERVATIVE: {"method": "cmog"},
}
"""Three of them with gamma = 1."""


def _lines() -> dict[Label, Specification]:
    found: dict[Label, Specification] = {}
    for dataset in DATA:
        for name, method in methods(dataset).items():
            found[dataset, name] = case(dataset, method, {"control": name == "MSG"})
        found[dataset, CONSERVATIVE] = case(dataset, {"method": "cmog", "parameters": {"gamma": GAMMA}})
        tuned: Method = {"method": "msg", "parameters": {"gamma": GAMMA}, "grid": {"h": HS}}
        found[dataset, TUNED] = case(dataset, tuned, {"tuning": HELD_OUT})
        h = methods(dataset)["MSG"]["parameters"]["h"]
        for name, method in AS_STATED.items():
            own = {"h": h} if name == "MSG" else {}
            parameters = {**method.get("parameters", {}), **own, "gamma": STATED}
            found[dataset, name, STATED] = case(dataset, method | {"parameters": parameters})
    for h in HS:  # the runs of Figure 2
        if h != SETTINGS["Coauthor"]["h"]:
            by_h: Method = {"method": "msg", "parameters": {"gamma": GAMMA, "h": h}}
            found["Coauthor", "MSG", f"h {h:g}"] = case("Coauthor", by_h, {"control": True})
    return found


CASES = Cases(_lines())


def _show(results: Sequence[Result]) -> Shown:
    found = CASES.read(results)
    deviations = {label: [(value, var**0.5) for value, var in line] for label, line in LINES.items()}
    numbers = compared(PAPER, "table1", deviations, MEASURES, found, lambda dataset, name: True)
    return Shown(
        [_comparison(found), _stated(found), _tuned(found)],
        numbers=numbers,
        remarks=[
            STOOD_IN,
            "Post hoc, everywhere: gamma = 0.01 for the second-order methods, where the paper says 1; every "
            "answer learned by CMOG, DGS and BBQ, where CMOG is printed as learning mistakes only; the "
            "constant 3, which the perceptron feels; kappa, which the paper does not state.",
            _gain(found),
            *_misses(found, numbers),
        ],
    )


def _comparison(found: dict[Label, Result]) -> Table:
    rows: list[list[Entry]] = []
    for dataset in DATA:
        for name in METHODS:
            line, printed = found[dataset, name], LINES[dataset, name]
            pairs = [
                entry
                for measure, (mean, _) in zip(MEASURES, printed, strict=True)
                for entry in (cell(line, measure), f"{mean:,.{DIGITS[measure]}f}")
            ]
            rows.append([TITLES[dataset], name, _setting(line), *pairs])
        for name, line, prefix in (
            (CONSERVATIVE, found[dataset, CONSERVATIVE], ""),
            (CONTROL_NAME, found[dataset, "MSG"], CONTROL),
        ):
            error, queries = (cell(line, measure, prefix) for measure in MEASURES)
            rows.append([TITLES[dataset], name, "", error, "", queries, ""])
    return Table(
        "Comparison of the multi-class algorithms",
        ["data", "method", "setting", "error", "published", "queries", "published"],
        rows,
        "± are deviations over the shuffles; the published ± are variances and not shown. CMOG and DGS learn "
        "every answer here; CMOG as printed learns its mistakes. The random line asks as often as MSG in the "
        "same shuffles and learns every answer.",
    )


def _setting(line: Result) -> str:
    own = {name: line.parameters[name] for name in ("h", "kappa", "eps") if name in line.parameters}
    return ", ".join(f"{name} {value:g}" for name, value in own.items())


def _stated(found: dict[Label, Result]) -> Table:
    rows: list[list[Entry]] = []
    for dataset in DATA:
        for name in AS_STATED:
            both = (found[dataset, name], found[dataset, name, STATED])
            rows.append([TITLES[dataset], name, *(cell(line, m) for line in both for m in MEASURES)])
    heads = [f"{m}, gamma {gamma:g}" for gamma in (GAMMA, STATED) for m in ("error", "queries")]
    return Table(
        "gamma as the paper states it",
        ["data", "method", *heads],
        rows,
        f"The paper says gamma = {STATED:g}; {GAMMA:g} is post hoc.",
    )


def _tuned(found: dict[Label, Result]) -> Table:
    rows: list[list[Entry]] = []
    for dataset in DATA:
        line = found[dataset, TUNED]
        rows.append([TITLES[dataset], f"{line.chosen['h']:g}", *(cell(line, m) for m in MEASURES)])
    return Table(
        "MSG with h chosen on held-out shuffles",
        ["data", "h", "error", "queries"],
        rows,
        f"h from {{{', '.join(f'{h:g}' for h in HS)}}} by the error on {HELD_OUT} held-out shuffles.",
    )


def _gain(found: dict[Label, Result]) -> str:
    gains = []
    for dataset in DATA:
        line = found[dataset, "MSG"]
        gain = line.mean(CONTROL + "error_rate") - line.mean("error_rate")
        gains.append(f"{gain:+.4f} on {TITLES[dataset]}")
    return f"Error of random asking less that of MSG, as many questions: {', '.join(gains)}."


def _misses(found: dict[Label, Result], numbers: Sequence[Number]) -> list[str]:
    """Why own systems miss, and what is known of the rivals that differ."""
    lines = [line for label, line in found.items() if label[:2] == ("Coauthor", "MSG")]
    by_h = {line.parameters["h"]: line for line in lines if line.parameters["gamma"] == GAMMA}
    asked = ", ".join(f"{by_h[h].mean('queries'):,.0f} with h {h:g}" for h in sorted(by_h))
    why = {
        ("Coauthor", "MSG", "queries"): f"no h of the paper's grid asks as often as published: {asked}. "
        "Held-out shuffles choose 0.1"
    }
    missed = [(n.dataset, n.method, n.measure) for n in numbers if n.verdict == NOT_REACHED]
    return [
        *(f"Not reached, {', '.join(miss)}: {why.get(miss, 'not explained')}." for miss in missed),
        "Of the rivals, GPA errs less here than in the paper, by far on PubMed: its multi-class form is not "
        "spelled out there, and it feels the constant. BBQ's kappa is not stated, and the grid of eps is "
        "coarse: on PubMed two of its values ask less and more often than published.",
    ]


TABLE_1 = Item(
    PAPER,
    "table1",
    "Comparison of the multi-class algorithms",
    "20 shuffles, multi-class, rank 100 (99 eigenvectors of the combinatorial Laplacian and the constant 3), "
    "gamma 0.01 (the paper: 1), every answer learned by CMOG, DGS and BBQ.",
    CASES.plan,
    _show,
)
