"""Figures 1 to 3 of sslgc13."""

from querist.experiment import CONTROL
from querist_papers import graphs, panels
from querist_papers.graphs import DATA, POINTS, STOOD_IN, TITLES, cell, place, ratio, words
from querist_papers.item import Cases, Entry, Figure, Found, Shown, Table
from querist_papers.sslgc13 import tasks
from querist_papers.sslgc13.published import KAPPAS, METHODS, PAPER, RANKS, case, chosen
from querist_papers.sslgc13.tables import RANDOM_GPA, RANDOM_OLLGC

LOOKS = ("SSLGC", "OLLGC", "GPA")
SECONDS = "Seconds are processor time of this machine and of compiled code, without the eigenvectors."
QUICK_RANKS, QUICK_KAPPAS = (10, 50, 100, 250), (0.1, 0.4, 0.7, 1.0)

# -- Figure 1 --------------------------------------------------------------------

_ranks = Cases(
    {
        (name, rank): case("Cora", method, representation=place(rank))
        for rank in RANKS
        for name, method in chosen("Cora").items()
    },
    few=2,
    hurried=lambda label: label[1] in QUICK_RANKS,
)


@_ranks.item(PAPER, "20 shuffles of Cora, one-vs-rest, ranks 10 to 1000, mu = 1 at all of them, kappa 0.4.")
def figure1(found: Found) -> Shown:
    """Rank against error and time (Cora)."""
    ranks = sorted({rank for _, rank in found if isinstance(rank, int)})
    rows: list[list[Entry]] = [
        [rank, *(cell(found[name, rank], m) for name in METHODS for m in ("error_rate", "seconds"))]
        for rank in ranks
    ]
    columns = ["rank", *(f"{name} {m}" for name in METHODS for m in ("error", "seconds"))]
    mean = {label: result.mean("error_rate") for label, result in found.items()}
    below = sum(mean[name, rank] < mean["GPA", rank] for name in ("OLLGC", "SSLGC") for rank in ranks)
    falls = [name for name in METHODS if mean[name, ranks[-1]] < mean[name, ranks[0]]]
    caption = (
        "Rank of the representation against error and time on Cora; bands are one standard deviation over "
        "the shuffles. The axis of time is logarithmic."
    )
    error, seconds = (
        {name: (ranks, panels.columns([found[name, r] for r in ranks], measure)) for name in METHODS}
        for measure in ("error_rate", "seconds")
    )
    labels = ({"y_label": "error rate", "percent": True}, {"y_label": "seconds a run", "log_y": True})
    cells = [(error, labels[0]), (seconds, labels[1])]
    draw = panels.drawn([cells], LOOKS, x_label="rank d", markers=len(ranks))
    return Shown(
        [Table("Error and time by rank, Cora", columns, rows)],
        [Figure("rank", draw, caption, (7.4, 3.4))],
        remarks=[
            f"OLLGC and SSLGC are below GPA in {below} of {2 * len(ranks)} cases; the paper says in all.",
            f"From rank {ranks[0]} to {ranks[-1]} the error falls for {words(falls)}.",
            SECONDS,
        ],
    )


# -- Figure 2 --------------------------------------------------------------------

_curves = Cases(
    {
        (dataset, name): case(dataset, method, protocol={"curve": POINTS})
        for dataset in DATA
        for name, method in chosen(dataset).items()
    },
    few=2,
)
ROWS = {"error_rate": "cumulative error rate", "queries": "queried nodes so far", "seconds": "seconds so far"}


@_curves.item(PAPER, f"20 shuffles, read at {POINTS} rounds; mu as chosen for Table 2.")
def figure2(found: Found) -> Shown:
    """Cumulative error, queries and time."""
    caption = (
        "Cumulative error rate, queried nodes and time against the rounds; bands are one standard deviation "
        "over the shuffles. The paper shows IMDB and PubMed."
    )
    return graphs.curves(found, ROWS, LOOKS, caption, SECONDS)


# -- Figure 3 --------------------------------------------------------------------

_ratios = Cases(
    {
        (dataset, kappa): case(dataset, chosen(dataset, kappa)["SSLGC"], "sslgc13.asking")
        for dataset in DATA
        for kappa in KAPPAS
    },
    few=2,
    hurried=lambda label: label[1] in QUICK_KAPPAS,
)
ASKERS = {"SSLGC": "", RANDOM_OLLGC: CONTROL, RANDOM_GPA: tasks.PERCEPTRON}


@_ratios.item(
    PAPER,
    "20 shuffles, kappa from 0.1 to 1, mu as chosen for Table 2. Both controls ask at random, as often as "
    "SSLGC did in the same shuffle.",
)
def figure3(found: Found) -> Shown:
    """Selective against random sampling, by ratio of queries."""
    kappas = sorted({kappa for _, kappa in found if isinstance(kappa, float)})
    rows: list[list[Entry]] = []
    for (dataset, kappa), line in found.items():
        errors = (cell(line, "error_rate", prefix) for prefix in ASKERS.values())
        rows.append([TITLES[str(dataset)], f"{kappa:g}", ratio(line), *errors])

    caption = (
        "Error against the ratio of queried nodes, kappa from 0.1 to 1: SSLGC, the fair control (random "
        "questions, OLLGC's learner) and the paper's (random questions, GPA's learner). Bands are one "
        "standard deviation over the shuffles."
    )
    return Shown(
        [Table("Error by ratio of queries", ["data", "kappa", "ratio", *ASKERS], rows)],
        [graphs.ratios(lambda dataset: _series(found, dataset), list(ASKERS), caption)],
        remarks=[
            STOOD_IN,
            *(_wins(found, kappas, name, prefix) for name, prefix in ASKERS.items() if prefix),
        ],
    )


def _series(found: Found, dataset: str) -> panels.Series:
    """SSLGC and both controls, by growing kappa."""
    lines = [line for (data, _), line in found.items() if data == dataset]
    return {
        name: ([ratio(line) for line in lines], panels.columns(lines, prefix + "error_rate"))
        for name, prefix in ASKERS.items()
    }


def _wins(found: Found, kappas: list[float], name: str, prefix: str) -> str:
    counts = []
    for dataset in DATA:
        lines = [found[dataset, kappa] for kappa in kappas]
        below = sum(line.mean("error_rate") < line.mean(prefix + "error_rate") for line in lines)
        counts.append(f"{below} of {len(kappas)} on {TITLES[dataset]}")
    return f"Ratios at which SSLGC is below {name}: {words(counts)}."
