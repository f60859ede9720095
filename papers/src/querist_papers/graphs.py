"""What sslgc13 and msg16 share: four graphs, one representation, and how numbers are compared and drawn.

Both take the largest component and the combinatorial Laplacian, rank 100: 99 eigenvectors over the roots of
their eigenvalues, and a constant column of 3. The constant is *post hoc*. Second-order learners hardly notice
it, the perceptron does.

IMDB with 17,046 movies is not to be had. `imdb_coactor`, with other movies and other classes, is run in its
place and shown as what it is; the published numbers of IMDB have nothing here to be compared with.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from querist.experiment import CONTROL, Result, Specification
from querist_papers import panels
from querist_papers.item import Cell, Entry, Figure, Found, Number, Paper, Shown, Table

Method: TypeAlias = dict[str, Any]
"""What a specification says of a method: its name, parameters, grid and tuning."""

DATA = {"Coauthor": "dblp_four_area_1711", "Cora": "cora", "IMDB": "imdb_coactor", "PubMed": "pubmed"}
"""The papers' names, and ours."""

STAND_IN = "IMDB"
TITLES = {name: "IMDB (stand-in)" if name == STAND_IN else name for name in DATA}
STOOD_IN = (
    "IMDB with 17,046 movies is not to be had; imdb_coactor stands in (3,864 other movies, 3 classes). Its "
    "numbers are shown, but not held against the published ones."
)

RANK, CONSTANT = 100, 3.0
SHUFFLES = 20
"""The runs behind every published number."""

POINTS = 60
"""Rounds at which curves are read."""

DIGITS = {"error_rate": 4, "queries": 0, "seconds": 4}


def place(rank: int = RANK, constant: float = CONSTANT) -> dict[str, Any]:
    """The representation of both papers."""
    return {"rank": rank, "normalised": False, "constant": constant, "component": "largest", "tol": 1e-6}


def case(
    task: str,
    dataset: str,
    method: Method,
    protocol: Mapping[str, Any] | None = None,
    representation: Mapping[str, Any] | None = None,
) -> Specification:
    """A method on a data set of the papers, 20 shuffles; the protocol given adds to the method's own."""
    return Specification(
        task=task,
        dataset=DATA[dataset],
        representation=place() if representation is None else representation,
        repeats=SHUFFLES,
        **{**method, "protocol": method.get("protocol", {}) | dict(protocol or {})},
    )


def compared(
    paper: Paper,
    item: str,
    lines: Mapping[tuple[str, str], Sequence[tuple[float, float]]],
    measures: Sequence[str],
    found: Mapping[Any, Result],
    post_hoc: Callable[[str, str], bool],
    asking: str,
) -> list[Number]:
    """A `Number` for every measure of every line (data, method) of a published table.

    Where a method asks equally often in every shuffle, it asks about every node: that is no result. The idea
    of the method `asking` is whom to ask about: without it, as many questions are random, and each node is
    asked about. That of the other own systems is to learn in the second order: without it they are GPA.
    """
    return [
        Number(
            *(paper, item, dataset, method, measure, value),
            published_std=std,
            published_n=SHUFFLES,
            post_hoc=post_hoc(dataset, method),
            by_definition=measure == "queries" and std == 0,
            without=_without(found, dataset, method, measure, asking)
            if paper.proposes(method) and dataset != STAND_IN and measure in WITHOUT
            else None,
        ).beside(None if dataset == STAND_IN else found[dataset, method])
        for (dataset, method), printed in lines.items()
        for measure, (value, std) in zip(measures, printed, strict=True)
    ]


WITHOUT = {"error_rate": CONTROL + "error_rate", "queries": "rounds"}
"""What stands for each measure if a system does not choose its questions."""


def _without(found: Mapping[Any, Result], dataset: str, method: str, measure: str, asking: str) -> float:
    if method == asking:
        return found[dataset, method].mean(WITHOUT[measure])
    return found[dataset, "GPA"].mean(measure)


def comparison(
    found: Found,
    lines: Mapping[Any, Sequence[tuple[Any, Any]]],
    measures: Sequence[str],
    asking: str,
    controls: Mapping[str, str],
    note: str,
) -> Table:
    """All lines of an item, by data, method and setting, with what is published of them.

    controls : what runs of the method `asking` are held against, by the prefix of its measures
    """
    rows: list[list[Entry]] = []
    for label, line in found.items():
        data, name = str(label[0]), str(label[1])
        given = [f"{p} {line.parameters[p]:g}" for p in PARAMETERS if p in line.parameters]
        given += [part for part in label[2:] if isinstance(part, str)]
        values = lines.get(label, [(None, None)] * len(measures))
        pairs = [
            entry
            for m, (mean, _) in zip(measures, values, strict=True)
            for entry in (cell(line, m), "" if mean is None else f"{mean:,.{DIGITS[m]}f}")
        ]
        rows.append([TITLES[data], name, ", ".join(given), *pairs])
        for prefix, control in controls.items() if label[1:] == (asking,) else ():
            pairs = [entry for m in WITHOUT for entry in (cell(line, m, prefix), "")]
            rows.append([TITLES[data], control, "", *pairs, *[""] * (2 * (len(measures) - len(WITHOUT)))])
    heads = [head for m in measures for head in (m.removesuffix("_rate"), "published")]
    return Table("Ours beside the published numbers", ["data", "method", "setting", *heads], rows, note)


PARAMETERS = ("gamma", "mu", "h", "kappa", "eps")
"""What a setting is told by."""


def cell(result: Result, measure: str, prefix: str = "") -> Cell:
    """Mean and deviation of a measure of the runs."""
    return Cell.of(result, prefix + measure, DIGITS[measure])


def words(values: Sequence[str]) -> str:
    """Several names in a sentence.

    >>> words(["Cora", "PubMed", "IMDB"])
    'Cora, PubMed and IMDB'
    """
    return " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else list(values))


def ratio(result: Result) -> float:
    """Queries per round."""
    return result.mean("queries") / result.mean("rounds")


def by_measure(
    measures: Mapping[str, str],
    titles: Mapping[str, str],
    series: Callable[[str, str], panels.Series],
    looks: Sequence[str],
    x_label: str,
) -> Callable[[Any], None]:
    """What draws a row of panels per measure and a column per data set, with its label and its title."""
    first, last = next(iter(titles)), list(measures)[-1]
    rows = [
        [
            (
                series(data, measure),
                {
                    "title": title if measure == "error_rate" else "",
                    "x_label": x_label if measure == last else "",
                    "y_label": label if data == first else "",
                    "percent": measure == "error_rate",
                },
            )
            for data, title in titles.items()
        ]
        for measure, label in measures.items()
    ]
    return panels.drawn(rows, looks)


def curves(
    found: Found, measures: Mapping[str, str], looks: Sequence[str], caption: str, *remarks: str
) -> Shown:
    """Every measure of every (data, method) against the rounds: where it ends, and its curve.

    measures : what is said beside the axis, by measure; looks : the methods, in the order of their looks
    """
    rows: list[list[Entry]] = [
        [TITLES[str(dataset)], name, *(cell(line, measure) for measure in measures)]
        for (dataset, name), line in found.items()
    ]

    def series(data: str, measure: str) -> panels.Series:
        return {n: (found[data, n].curve("round")[0], found[data, n].curve(measure)) for n in looks}

    draw = by_measure(measures, TITLES, series, looks, "round")
    columns = ["data", "method", *(measure.removesuffix("_rate") for measure in measures)]
    return Shown(
        [Table("Where the curves end", columns, rows)],
        [Figure("curves", draw, caption, (10.5, 1.8 + 1.8 * len(measures)))],
        remarks=[STOOD_IN, *remarks],
    )


def ratios(series_of: Callable[[str], panels.Series], looks: Sequence[str], caption: str) -> Figure:
    """A panel per data set: the error against the ratio of queried nodes."""
    one, two, *others = [(series_of(dataset), {"title": TITLES[dataset]}) for dataset in DATA]
    labels: dict[str, Any] = {"x_label": "ratio of queried nodes", "y_label": "error rate"}
    draw = panels.drawn([[one, two], others], looks, **labels, percent=True, markers=20)
    return Figure("ratio", draw, caption, (7.4, 6.0))
