"""Figure 3 of msg16.

With gamma = 1, as the paper states, the error falls as the rank grows, as the paper says. With the 0.01 that
reaches Table I at rank 100 it does not fall throughout: Table I and Figure 3 are not reached by one gamma.
"""

from querist_papers import panels
from querist_papers.graphs import Method, cell, place
from querist_papers.item import Cases, Entry, Figure, Found, Label, Shown, Table
from querist_papers.msg16.figures import MEASURES
from querist_papers.msg16.published import GAMMA, METHODS, PAPER, RANKS, STATED, case, methods

QUICK_RANKS = (10, 100, 250)
STUDIED = ("Coauthor", "Cora")


def _at_rank(dataset: str) -> dict[Label, Method]:
    """With gamma as stated; and MSG and CMOG with the one that reaches Table I at rank 100."""
    stated: dict[Label, Method] = {(name, STATED): m for name, m in methods(dataset, STATED).items()}
    return stated | {(name, GAMMA): methods(dataset)[name] for name in ("MSG", "CMOG")}


_ranks = Cases(
    {
        (dataset, *label, rank): case(dataset, method, representation=place(rank))
        for dataset in STUDIED
        for rank in RANKS
        for label, method in _at_rank(dataset).items()
    },
    few=2,
    hurried=lambda label: label[3] in QUICK_RANKS,
)


@_ranks.item(
    PAPER,
    "20 shuffles of Coauthor and Cora, ranks 10 to 1000, gamma = 1 as the paper states (and 0.01 for MSG and "
    "CMOG), the other settings of Table I.",
)
def figure3(found: Found) -> Shown:
    """Rank against error and queries."""
    ranks = sorted({int(rank) for *_, rank in found})
    rows: list[list[Entry]] = [
        [dataset, name, f"{gamma:g}", int(rank), *(cell(line, measure) for measure in MEASURES)]
        for (dataset, name, gamma, rank), line in found.items()
    ]
    caption = (
        "Rank of the representation against error and queried nodes, gamma = 1 as the paper states; bands "
        "are one standard deviation over the shuffles. (GPA has no gamma.)"
    )
    drawn = [
        [
            (
                {n: (ranks, panels.columns([found[d, n, STATED, r] for r in ranks], m)) for n in METHODS},
                {
                    "title": d if m == "error_rate" else "",
                    "x_label": "" if m == "error_rate" else "rank d",
                    "y_label": label if d == STUDIED[0] else "",
                    "percent": m == "error_rate",
                },
            )
            for d in STUDIED
        ]
        for m, label in MEASURES.items()
    ]
    return Shown(
        [Table("Error and queries by rank", ["data", "method", "gamma", "rank", "error", "queries"], rows)],
        [Figure("rank", panels.drawn(drawn, METHODS), caption, (7.4, 6.0))],
        remarks=[_trend(found, ranks, gamma) for gamma in (STATED, GAMMA)],
    )


def _trend(found: Found, ranks: list[int], gamma: float) -> str:
    said = []
    for dataset in STUDIED:
        first, last = (found[dataset, "MSG", gamma, r].mean("error_rate") for r in (ranks[0], ranks[-1]))
        least = min(ranks, key=lambda r: found[dataset, "MSG", gamma, r].mean("error_rate"))
        said.append(f"{first:.4f} to {last:.4f} on {dataset}, least at rank {least}")
    return f"With gamma {gamma:g}, from rank {ranks[0]} to {ranks[-1]}, MSG's error goes {'; '.join(said)}."
