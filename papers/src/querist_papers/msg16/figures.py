"""Figures 1 and 2 of msg16."""

from typing import Any

import numpy as np

from querist.experiment import CONTROL
from querist_papers import curves, panels
from querist_papers.graphs import DATA, STOOD_IN, TITLES, cell, words
from querist_papers.item import Cases, Entry, Found, Shown, Table
from querist_papers.msg16.published import EPSILONS, GAMMA, HS, KAPPAS, METHODS, PAPER, case, methods, msg

MEASURES = {"error_rate": "error rate", "queries": "queried nodes"}

# -- Figure 1 --------------------------------------------------------------------

_curves = Cases(
    {
        (dataset, name): case(dataset, method, {"curve": curves.POINTS})
        for dataset in DATA
        for name, method in methods(dataset).items()
    },
    few=2,
)


@_curves.item(PAPER, f"20 shuffles, read at {curves.POINTS} rounds; the settings of Table I.")
def figure1(found: Found) -> Shown:
    """Cumulative error and queries."""
    caption = (
        "Cumulative error rate and queried nodes against the rounds; bands are one standard deviation over "
        "the shuffles. Where curves coincide (CMOG and DGS ask and learn alike), one hides the other."
    )
    labels = {measure: f"{label} so far" for measure, label in MEASURES.items()}
    return curves.shown(found, labels, METHODS, caption)


# -- Figure 2 --------------------------------------------------------------------

GRIDS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "MSG": ("msg", "h", HS),
    "BBQ": ("bbq", "kappa", KAPPAS),
    "BBQ-eps": ("bbq_eps", "eps", EPSILONS),
}
RANDOM = "random, as often as MSG"
LOOKS = (*METHODS, RANDOM)
_ratios = Cases(
    {
        (dataset, name, value): case(
            dataset,
            msg(value)
            if name == "MSG"
            else {"method": method, "parameters": {"gamma": GAMMA, parameter: value}},
            {"control": name == "MSG"},
        )
        for dataset in DATA
        for name, (method, parameter, values) in GRIDS.items()
        for value in values
    },
    few=2,
    hurried=lambda label: label[1] != "BBQ" or label[2] in KAPPAS[1::2],
)


@_ratios.item(
    PAPER,
    "20 shuffles for every value of h (MSG, with the coin of Table I), kappa (BBQ) and eps (BBQ-eps); gamma "
    "0.01. Random asking as often as MSG in the same shuffles.",
)
def figure2(found: Found) -> Shown:
    """Error by ratio of queries."""
    rows: list[list[Entry]] = []
    for (dataset, name, value), line in found.items():
        control = cell(line, "error_rate", CONTROL) if name == "MSG" else None
        setting = f"{GRIDS[str(name)][1]} {value:g}"
        rows.append(
            [TITLES[str(dataset)], name, setting, curves.ratio(line), cell(line, "error_rate"), control]
        )

    def series(dataset: str) -> panels.Series:
        own = {name: _line(found, dataset, name) for name in GRIDS}
        return own | {RANDOM: _line(found, dataset, "MSG", CONTROL)}

    caption = (
        "Error against the ratio of queried nodes: MSG for h from 0.0001 to 1, BBQ and BBQ-eps for their "
        "parameters, and random questions as many as MSG's; bands are one standard deviation over the "
        "shuffles."
    )
    columns = ["data", "method", "setting", "ratio", "error", "error of random asking"]
    return Shown(
        [Table("Error by ratio of queries", columns, rows)],
        [curves.ratios(series, LOOKS, caption)],
        remarks=[STOOD_IN, _below(found)],
    )


def _line(found: Found, dataset: str, name: str, prefix: str = "") -> tuple[Any, Any]:
    """Ratios and errors of a method for its parameter's values, by growing ratio."""
    lines = sorted((line for label, line in found.items() if label[:2] == (dataset, name)), key=curves.ratio)
    return [curves.ratio(line) for line in lines], panels.columns(lines, prefix + "error_rate")


def _below(found: Found) -> str:
    """MSG against BBQ at equal ratios, by straight lines between BBQ's points."""
    counts = []
    for dataset in DATA:
        ratios, errors = _line(found, dataset, "BBQ")
        own_ratios, own_errors = _line(found, dataset, "MSG")
        theirs = np.interp(own_ratios, ratios, errors.mean(axis=0))
        below = int((own_errors.mean(axis=0) < theirs).sum())
        counts.append(f"{below} of {len(own_ratios)} on {TITLES[dataset]}")
    return f"Ratios at which MSG is below BBQ, interpolated: {words(counts)}. The paper says at all."
