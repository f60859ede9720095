"""Figures 2 and 3 of mrgm15: several labels a node, on DBLP-A rebuilt and a set in the place of DBLP-B."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from querist.experiment.item import Cell, Entry, Figure, Item, Shown, Table
from querist.experiment.results import Result, direction
from querist.experiment.specification import Specification
from querist.papers import panels
from querist.papers.cases import Cases, Label
from querist.papers.mrgm15.published import PAPER, SEVERAL, STOOD_IN, TITLES

TRIALS = 10
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
MEASURES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
LAMBDA = 5.0
MRGM: dict[str, dict[str, Any]] = {
    "MRGM, one lambda": {"method": "mrgm", "parameters": {"lam_labels": LAMBDA}},
    "MRGM, own lambda": {"method": "mrgm"},
}
"""The paper gives the label regulariser the weight of the network's; ours has one of its own, 0.1."""

METHODS: dict[str, dict[str, Any]] = {
    **MRGM,
    "ICML": {"method": "icml"},
    "ICA": {"method": "ica", "parameters": {"bootstrap": False}},
    "ICA, bootstrapped": {"method": "ica"},
    "semiICA": {"method": "semiica"},
    "wvRN+RL": {"method": "wvrn"},
}
"""ICA as in Table 3: it learns from labelled neighbours only; bootstrapped, from predicted ones too."""

LOOKS = tuple(METHODS)
QUICK = {"DBLP-A": (0.05, 0.2), "DBLP-B": (0.05,)}
"""With 21 classes, one-against-all takes its time."""


def _cases(name: str) -> Cases:
    return Cases(
        {
            (method, share): Specification(
                "mrgm15.collective",
                SEVERAL[name],
                **METHODS[method],
                protocol={"labelled": share},
                repeats=TRIALS,
            )
            for share in SHARES
            for method in METHODS
        },
        few=1,
        hurried=lambda label: label[1] in QUICK[name],
    )


def _show(cases: Cases, name: str) -> Callable[[Sequence[Result]], Shown]:
    def show(results: Sequence[Result]) -> Shown:
        found = cases.read(results)
        rows: list[list[Entry]] = [
            [f"{share:.0%}", method, *(Cell.of(result, m, 3) for m in MEASURES)]
            for (method, share), result in found.items()
            if isinstance(share, float)
        ]
        columns = ["labelled", "method", *(measure.replace("_", " ") for measure in MEASURES)]
        caption = (
            f"Six measures on {TITLES[name]}; in the upper row less is better, in the lower more. Bands are "
            "one standard deviation over the draws."
        )
        return Shown(
            [Table(f"Several labels a node, {TITLES[name]}", columns, rows)],
            [Figure("measures", lambda canvas: _draw(canvas, found), caption, (10.5, 6.2))],
            remarks=[STOOD_IN, *(_wins(found, title) for title in MRGM)],
        )

    return show


def _draw(canvas: Any, found: dict[Label, Result]) -> None:
    table = panels.grid(canvas, 2, 3).ravel()
    shares = _shares(found)
    for axes, measure in zip(table, MEASURES, strict=True):
        panels.panel(
            axes,
            {
                name: (shares, np.column_stack([found[name, share].values(measure) for share in shares]))
                for name in METHODS
            },
            LOOKS,
            title=measure.replace("_", " "),
            x_label="share of labelled nodes",
            markers=len(shares),
        )
    panels.shared_legend(canvas, table, LOOKS)


def _shares(found: dict[Label, Result]) -> list[float]:
    return [share for share in SHARES if ("ICA", share) in found]


def _wins(found: dict[Label, Result], title: str) -> str:
    """At each share, on how many measures one MRGM is before all rivals; the paper says on all of them."""
    rivals = [name for name in METHODS if name not in MRGM]

    def leads(share: float, measure: str) -> bool:
        good = {name: direction(measure) * found[name, share].mean(measure) for name in (title, *rivals)}
        return max(good, key=lambda name: good[name]) == title

    said = [
        f"{sum(leads(share, measure) for measure in MEASURES)} of {len(MEASURES)} at {share:.0%}"
        for share in _shares(found)
    ]
    return f"{title}: measures on which it is before all rivals (the paper: all of them): {', '.join(said)}."


def _item(figure: str, name: str) -> Item:
    cases = _cases(name)
    return Item(
        PAPER,
        figure,
        f"Several labels a node ({TITLES[name]})",
        f"{TRIALS} draws of a share of all nodes; answers by maximum drop; one-against-all for wvRN+RL, "
        "ICA and semiICA.",
        cases.plan,
        _show(cases, name),
    )


FIGURE_2, FIGURE_3 = _item("figure2", "DBLP-A"), _item("figure3", "DBLP-B")
