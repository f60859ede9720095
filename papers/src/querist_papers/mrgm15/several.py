"""Figures 2 and 3 of mrgm15: several labels a node, on DBLP-A rebuilt and a set in the place of DBLP-B."""

from collections.abc import Mapping
from typing import Any

from querist.experiment import Specification, direction
from querist_papers import panels
from querist_papers.item import Cases, Cell, Entry, Figure, Found, Shown, Table
from querist_papers.mrgm15.published import PAPER, SEVERAL, STOOD_IN, TITLES

TRIALS = 10
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
MEASURES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
LAMBDA = 5.0
MRGM: dict[str, dict[str, Any]] = {
    "MRGM, one lambda": {"method": "mrgm", "parameters": {"lam_labels": LAMBDA}},
    "MRGM, own lambda": {"method": "mrgm"},
}
"""The paper gives the label regulariser the weight of the network's; ours has one of its own, 0.1."""

ABLATED: dict[str, dict[str, Any]] = {
    "MRGM, no label regulariser": {"method": "mrgm", "parameters": {"lam_labels": 0.0}}
}
"""MRGM without the paper's idea: labels that say nothing of each other."""

METHODS: dict[str, dict[str, Any]] = {
    **MRGM,
    **ABLATED,
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


def _show(found: Found, name: str) -> Shown:
    shares = _shares(found)
    rows: list[list[Entry]] = [
        [f"{share:.0%}", method, *(Cell.of(result, m, 3) for m in MEASURES)]
        for (method, share), result in found.items()
        if isinstance(share, float)
    ]
    columns = ["labelled", "method", *(measure.replace("_", " ") for measure in MEASURES)]
    drawn: list[tuple[panels.Series, Mapping[str, Any]]] = [
        (
            {name: (shares, panels.columns([found[name, s] for s in shares], measure)) for name in METHODS},
            {"title": measure.replace("_", " ")},
        )
        for measure in MEASURES
    ]
    labels: dict[str, Any] = {"x_label": "share of labelled nodes", "markers": len(shares)}
    draw = panels.drawn([drawn[:3], drawn[3:]], LOOKS, **labels)
    caption = (
        f"Six measures on {TITLES[name]}; in the upper row less is better, in the lower more. Bands are "
        "one standard deviation over the draws."
    )
    return Shown(
        [Table(f"Several labels a node, {TITLES[name]}", columns, rows)],
        [Figure("measures", draw, caption, (10.5, 6.2))],
        remarks=[STOOD_IN, *(_wins(found, title) for title in MRGM), _gain(found)],
    )


def _shares(found: Found) -> list[float]:
    return [share for share in SHARES if ("ICA", share) in found]


def _wins(found: Found, title: str) -> str:
    """At each share, on how many measures one MRGM is before all rivals; the paper says on all of them."""
    rivals = [name for name in METHODS if name not in (*MRGM, *ABLATED)]

    def leads(share: float, measure: str) -> bool:
        good = {name: direction(measure) * found[name, share].mean(measure) for name in (title, *rivals)}
        return max(good, key=lambda name: good[name]) == title

    said = [
        f"{sum(leads(share, measure) for measure in MEASURES)} of {len(MEASURES)} at {share:.0%}"
        for share in _shares(found)
    ]
    return f"{title}: measures on which it is before all rivals (the paper: all of them): {', '.join(said)}."


def _gain(found: Found) -> str:
    """What the label regulariser adds to the average precision."""
    (ablated,) = ABLATED
    gains = {
        share: [
            found[title, share].mean("average_precision") - found[ablated, share].mean("average_precision")
            for title in MRGM
        ]
        for share in _shares(found)
    }
    said = ", ".join(f"{one:+.3f} and {own:+.3f} at {share:.0%}" for share, (one, own) in gains.items())
    return f"Average precision that the label regulariser adds, with one lambda and with its own: {said}."


PROTOCOL = (
    f"{TRIALS} draws of a share of all nodes; answers by maximum drop; one-against-all for wvRN+RL, ICA and "
    "semiICA."
)


@_cases("DBLP-A").item(PAPER, PROTOCOL)
def figure2(found: Found) -> Shown:
    """Several labels a node (DBLP-A, rebuilt)."""
    return _show(found, "DBLP-A")


@_cases("DBLP-B").item(PAPER, PROTOCOL)
def figure3(found: Found) -> Shown:
    """Several labels a node (IMDB for DBLP-B)."""
    return _show(found, "DBLP-B")
