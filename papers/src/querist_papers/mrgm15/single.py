"""Tables 2, 3 and 4 and Figures 1 and 4 of mrgm15: one label a node."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from querist.experiment import Result, Specification
from querist_papers import panels
from querist_papers.item import Cases, Cell, Entry, Figure, Found, Number, Shown, Table
from querist_papers.mrgm15 import published
from querist_papers.mrgm15.published import PAPER, SEVERAL, SINGLE
from querist_papers.tasks import described

SHARES = tuple(sorted({share for _, share in published.TABLE_3}))
TRIALS = 10

METHODS: dict[str, dict[str, Any]] = {
    "wvRN+RL": {"method": "wvrn"},
    "ICA": {"method": "ica", "parameters": {"bootstrap": False}},
    "semiICA": {"method": "semiica"},
    "LNP": {"method": "lnp"},
    "GMNR": {"method": "gmnr"},
}
"""ICA learns from labelled neighbours only. The paper does not say so; its numbers do."""

OTHERS: dict[str, dict[str, Any]] = {
    "ICA, bootstrapped": {"method": "ica"},
    "harmonic": {"method": "harmonic"},
    "diffusion": {"method": "diffusion"},
    "PageRank": {"method": "pagerank"},
}
"""What the paper does not have: ICA that also learns from predicted neighbours, and what people would reach
for instead (diffusion and PageRank are scikit-network's)."""

ABLATED: dict[str, dict[str, Any]] = {"GMNR, no network": {"method": "gmnr", "parameters": {"lam": 0.0}}}
"""GMNR without the paper's idea: the words alone."""

FEW = (0.01, 0.02, 0.05, 0.1, 0.2)
LOOKS = ("GMNR", "semiICA", "LNP", "wvRN+RL", "ICA")
"""The order in which curves are drawn and named."""

POST_HOC = {"GMNR", "ICA", "semiICA", "LNP"}
"""The first two were chosen among readings by closeness to the published numbers; of the others, which follow
their sources, the accuracies of several settings had been seen before one was kept."""

READINGS = {
    "GMNR": "the nearest of some 35: lambda 5, 10 iterations, labelled rows reset after each",
    "wvRN+RL": "a node that no label reaches gets the commonest class",
    "ICA": "features from labelled neighbours only; regression and features are guesses",
    "semiICA": "from its authors' description, not from these numbers; details are guesses",
    "LNP": "from its authors' description, not from these numbers; how links are weighed is a guess",
}


def case(dataset: str, method: dict[str, Any], share: float, task: str = "collective") -> Specification:
    """A method on draws of a share of the labels of each class."""
    return Specification(
        task=task, dataset=SINGLE[dataset], **method, protocol={"labelled": share}, repeats=TRIALS
    )


def accuracy(result: Result) -> Cell:
    """Mean and deviation over the trials."""
    return Cell.of(result, "accuracy", 3)


# -- Table 2 ---------------------------------------------------------------------

_data = Cases(
    {
        (name,): Specification("mrgm15.data", dataset, repeats=1)
        for name, dataset in {**SINGLE, **SEVERAL}.items()
    }
)


@_data.item(PAPER, "All nodes are counted; a link is counted once.", {"": "all nodes; a link counts once"})
def table2(found: Found) -> Shown:
    """Description of the data sets."""
    rows, numbers = described(PAPER, "table2", published.TABLE_2, found, published.TITLES, "whole_")
    columns = ["data", *(head for m in published.TABLE_2["Cora"] for head in (m, "published"))]
    return Shown([Table("Data sets", columns, rows)], numbers=numbers, remarks=[published.STOOD_IN])


# -- Table 3 ---------------------------------------------------------------------

_table = Cases(
    {
        (dataset, name, share): case(dataset, method, share)
        for dataset in SINGLE
        for share in SHARES
        for name, method in {**METHODS, **ABLATED, **OTHERS}.items()
        if name not in OTHERS or share in FEW
    },
    few=2,
    hurried=lambda label: label[2] in (0.01, 0.05, 0.2) and label[1] not in OTHERS,
)


@_table.item(
    PAPER,
    f"{TRIALS} draws; ceil(p n_c) nodes of every class are labelled, all others tested. lambda 5, 10 "
    "iterations.",
    READINGS,
)
def table3(found: Found) -> Shown:
    """Accuracy by share of labels."""
    rows: list[list[Entry]] = []
    for (dataset, share), line in published.TABLE_3.items():
        if (dataset, "GMNR", share) in found:
            printed = [f"{value:.3f}" for value, _ in line] + [""] * (len(METHODS) - len(line))
            ours = [accuracy(found[dataset, name, share]) for name in (*METHODS, *ABLATED)]
            pairs: Iterable[Entry] = chain.from_iterable(zip(ours[:-1], printed, strict=True))
            rows.append([dataset, f"{share:.0%}", *pairs, ours[-1]])
    columns = ["data", "labelled", *(h for name in METHODS for h in (name, "published")), *ABLATED]
    note = (
        "Accuracy, ± deviations over the draws. The paper's text has lost GMNR at 1 % on two sets. A node "
        "that no label reaches counts with the commonest class among the labels."
    )
    return Shown(
        [Table("Accuracy by share of labels", columns, rows, note), _others(found)],
        [Figure("shares", _by_share(found), SHARES_CAPTION, (10.5, 3.8))],
        numbers=_numbers(found),
        remarks=[
            "Our file of Genes has other links and other features than the paper's. Why GMNR misses 1 % of "
            "Cora is not known: other lambdas and 15 iterations came to .743 at most in a trial.",
        ],
    )


def _others(found: Found) -> Table:
    rows: list[list[Entry]] = [
        [dataset, f"{share:.0%}", *(accuracy(found[dataset, name, share]) for name in OTHERS)]
        for dataset in SINGLE
        for share in FEW
        if all((dataset, name, share) in found for name in OTHERS)
    ]
    note = (
        "The same draws. The paper has none of these; bootstrapped ICA also learns from predicted neighbours."
    )
    return Table("Other methods", ["data", "labelled", *OTHERS], rows, note)


SHARES_CAPTION = (
    "Accuracy against the share of labelled nodes; bands are one standard deviation over the draws, crosses "
    "are the published numbers of GMNR."
)


def _numbers(found: Found) -> list[Number]:
    return [
        Number(
            *(PAPER, "table3", dataset, f"{name} {share:.0%}", "accuracy", printed),
            published_std=std,
            published_n=TRIALS,
            post_hoc=name in POST_HOC,
            without=_without(found, name, dataset, share),
        ).beside(found[dataset, name, share])
        for (dataset, share), line in published.TABLE_3.items()
        for name, (printed, std) in zip(published.TABLE_3_METHODS, line, strict=False)
        if (dataset, name, share) in found
    ]


def _without(found: Found, name: str, *where: str | float) -> float | None:
    """The accuracy of GMNR without the network."""
    (ablated,) = ABLATED
    return found[where[0], ablated, *where[1:]].mean("accuracy") if name == "GMNR" else None


def _by_share(found: Found) -> Callable[[Any], None]:
    """What draws the accuracies of each data set, and crosses for what is published of GMNR."""
    shares = [share for share in SHARES if ("Cora", "GMNR", share) in found]

    def series(dataset: str) -> panels.Series:
        lines = {name: [found[dataset, name, share] for share in shares] for name in METHODS}
        return {name: (shares, panels.columns(line, "accuracy")) for name, line in lines.items()}

    cells = [
        (series(dataset), {"title": dataset, "y_label": "accuracy" if dataset == "Cora" else ""})
        for dataset in SINGLE
    ]
    curves = panels.drawn(
        [cells], LOOKS, x_label="share of labelled nodes", percent=True, markers=len(shares)
    )

    def draw(canvas: Any) -> None:
        curves(canvas)
        for axes, dataset in zip(canvas.axes, SINGLE, strict=True):
            printed = {
                s: line[4][0] for (d, s), line in published.TABLE_3.items() if d == dataset and line[4:]
            }
            axes.plot(*zip(*printed.items(), strict=True), "x", color="black", markersize=5)

    return draw


# -- Table 4 and Figure 1 --------------------------------------------------------

_tasks = Cases(
    {
        (dataset, name): case(dataset, {**METHODS, **ABLATED}[name], 0.05, "mrgm15.sample")
        for dataset in SINGLE
        for name in (*published.TABLE_4_METHODS, *ABLATED)
    },
    few=4,
)


def _accuracies(found: Found, last: str = "GMNR") -> Any:
    """(tasks, methods), all data sets one after the other; another method may stand for GMNR."""
    names = (*published.TABLE_4_METHODS[:-1], last)
    return np.concatenate(
        [panels.columns([found[dataset, name] for name in names], "accuracy") for dataset in SINGLE]
    )


@_tasks.item(
    PAPER,
    f"{TRIALS} samples of each data set, 70 % of its nodes; 5 % labelled.",
    {name: f"{reading}; samples of 70 % of the nodes" for name, reading in READINGS.items()},
)
def table4(found: Found) -> Shown:
    """Thirty samples."""
    from querist.stats import friedman

    ours, ranks = _accuracies(found), friedman(_accuracies(found)).ranks
    titles = [f"{d} {i + 1}" for d in SINGLE for i in range(len(found[d, "GMNR"].outcomes))]
    rows: list[list[Entry]] = [[title, *line] for title, line in zip(titles, ours, strict=True)]
    rows.append(["average rank", *ranks])
    rows.append(["published", *published.AVERAGE_RANKS.values()])
    numbers = [
        Number(
            *(PAPER, "table4", dataset, name, "accuracy", float(np.mean(printed))),
            published_std=float(np.std(printed)),
            published_n=len(printed),
            post_hoc=True,
            without=_without(found, name, dataset),
        ).beside(found[dataset, name])
        for dataset, lines in published.TABLE_4.items()
        for name, printed in zip(published.TABLE_4_METHODS, lines, strict=True)
    ]
    without = friedman(_accuracies(found, *ABLATED)).ranks[-1]
    numbers += [
        Number(
            *(PAPER, "table4", "all", name, "average_rank", printed, float(rank)),
            tolerance=0.5,
            post_hoc=True,
            without=float(without) if name == "GMNR" else None,
        )
        for (name, printed), rank in zip(published.AVERAGE_RANKS.items(), ranks, strict=True)
    ]
    note = (
        "Accuracy on samples of 70 % of the nodes, 5 % labelled. The paper's samples are not known, so the "
        "mean of its ten per data set is held against the mean of ours, once. The 70 % are post hoc: "
        "bootstraps have 63 %."
    )
    return Shown([Table("Samples", ["sample", *published.TABLE_4_METHODS], rows, note, 3)], numbers=numbers)


@_tasks.item(PAPER, "The runs of Table 4; Friedman's test, then Nemenyi's at 0.05.")
def figure1(found: Found) -> Shown:
    """Friedman and Nemenyi on the samples."""
    from querist.stats import critical_distance, draw_ranks, friedman, nemenyi

    ours = _accuracies(found)
    theirs = np.column_stack([*published.TABLE_4.values()]).T
    tests = {"ours": ours, "published": theirs}
    rows: list[list[Entry]] = []
    for title, table in tests.items():
        test = friedman(table)
        distance = critical_distance(table.shape[1], len(table))
        rows.append([title, f"{test.chi2:.2f}", f"{test.F:.1f}", f"{test.p_F:.1g}", f"{distance:.3f}"])
    names = published.TABLE_4_METHODS
    alike = {title: _alike(nemenyi(table), names) for title, table in tests.items()}
    caption = (
        "Average ranks, the best on the left; a bar joins methods that do not differ by Nemenyi's test at "
        "0.05. Above: our runs. Below: the published accuracies, tested anew."
    )

    def draw(canvas: Any) -> None:
        for axes, (title, table) in zip(canvas.subplots(2, 1), tests.items(), strict=True):
            draw_ranks(axes, table, names)
            axes.set_title(title, loc="left")

    return Shown(
        [Table("Friedman's test", ["accuracies", "chi2", "F", "p of F", "critical distance"], rows)],
        [Figure("ranks", draw, caption, (6.8, 4.6))],
        remarks=[f"No significant difference, {title}: {pairs}." for title, pairs in alike.items()],
    )


def _alike(p: Any, names: Sequence[str]) -> str:
    pairs = combinations(range(len(names)), 2)
    return "; ".join(f"{names[i]} and {names[j]}" for i, j in pairs if p[i, j] >= 0.05) or "none"


# -- Figure 4 --------------------------------------------------------------------

TIMED = ("wvRN+RL", "ICA", "semiICA", "GMNR")
_timed = Cases(
    {
        (name, share): case("Citeseer", METHODS[name], share)
        for share in (0.01, 0.05, 0.1, 0.2)
        for name in TIMED
    },
    few=2,
    hurried=lambda label: label[1] in (0.01, 0.05, 0.2),
)


@_timed.item(
    PAPER, f"{TRIALS} draws a share, the time of a fit alone, one process. LNP is left out, as in the paper."
)
def figure4(found: Found) -> Shown:
    """Running time (Citeseer)."""
    shares = sorted({share for _, share in found})
    rows: list[list[Entry]] = [
        [f"{share:.0%}", *(Cell.of(found[n, share], "seconds", 3) for n in TIMED)] for share in shares
    ]
    series = {name: (shares, panels.columns([found[name, s] for s in shares], "seconds")) for name in TIMED}

    draw = panels.drawn(
        [[(series, {})]],
        LOOKS,
        x_label="share of labelled nodes",
        y_label="seconds a fit",
        log_y=True,
        markers=len(shares),
    )
    slowest = max(found[n, s].mean("seconds") / found["GMNR", s].mean("seconds") for n, s in found)
    return Shown(
        [Table("Seconds a fit, Citeseer", ["labelled", *(f"{name}, seconds" for name in TIMED)], rows)],
        [Figure("times", draw, "Seconds of a fit on Citeseer; the axis is logarithmic.")],
        remarks=[
            f"The slowest of them takes {slowest:.0f} times as long as GMNR. The paper reports about 10 s "
            "for GMNR in Matlab, on another machine."
        ],
    )
