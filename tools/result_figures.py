"""The figures of the guides, drawn from the tables of docs/appendix: `make pictures` writes them.

Every number is read from a table, so a figure and its table always agree.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from querist.report.charts import class_colour
from querist.report.figures import INK, MUTED, Figure, standalone
from querist.report.page import write

DOCS = Path(__file__).parents[1] / "docs"
APPENDIX, IMAGES = DOCS / "appendix", DOCS / "images" / "results"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")

Rows = list[list[str]]


def table(page: str, start: str, after: str = "") -> Rows:
    """The rows of the table whose first line begins with `start`, below the line `after`.

    >>> table("rare_classes", "| problem |")[0][:2]
    ['uai2010 1%', '3']
    """
    text = (APPENDIX / f"{page}.md").read_text(encoding="utf-8")
    text = text[text.index(after) :]
    lines = text[text.index(f"\n{start}") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[2:]]


def number(cell: str) -> float:
    """The first number of a cell."""
    found = NUMBER.search(cell)
    assert found is not None, cell
    return float(found[0])


def dots(axes: Any, names: Sequence[str], series: dict[str, Sequence[float]], label: str) -> None:
    """One line per name, with one dot per series."""
    places = list(range(len(names)))[::-1]
    for place, values in zip(places, zip(*series.values(), strict=True), strict=True):
        axes.plot([min(values), max(values)], [place, place], color=MUTED, linewidth=1, alpha=0.5, zorder=1)
    for code, (name, values) in enumerate(series.items()):
        axes.scatter(values, places, s=36, color=class_colour(code), label=name, zorder=2)
    axes.set_yticks(places, names)
    axes.set_xlabel(label)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False)
    plain(axes)


def plain(axes: Any) -> None:
    """Without the lines above and at the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def label_accuracy() -> Figure:
    """Mean accuracy of `auto` and of the graph neural networks, by the share of labels."""
    shares = ("1", "2", "5")
    columns = {"label": 2, "GPR-GNN": 14, "GRAND": 13, "APPNP": 12, "GCN": 11}
    means = {}
    for share in shares:
        rows = table("label_accuracy", "| data set |", f"### {share}% of each class")
        row = next(row for row in rows if row[0] == "reported")
        means[share] = {name: 100 * number(row[column]) for name, column in columns.items()}

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for code, name in enumerate(columns):
            values = [means[share][name] for share in shares]
            width = 2.4 if name == "label" else 1.2
            axes.plot(range(3), values, marker="o", color=class_colour(code), linewidth=width, label=name)
        axes.set_xticks(range(3), [f"{share} %" for share in shares])
        axes.set_xlabel("labelled nodes of each class")
        axes.set_ylabel("mean accuracy (%)")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        plain(axes)

    return Figure("label_accuracy", draw, size=(5.6, 3.4), heading="Mean accuracy on the main data sets")


def rare_classes() -> Figure:
    """F1 of the rare class with the goal f1 and with the more likely class."""
    rows = table("rare_classes", "| problem |")
    series = {
        "more likely class": [number(row[5]) for row in rows],
        "goal f1": [number(row[3]) for row in rows],
        "best threshold in hindsight": [number(row[4]) for row in rows],
    }
    return Figure(
        "rare_classes",
        lambda canvas: dots(canvas.subplots(), [row[0] for row in rows], series, "F1 of the rare class"),
        size=(6.4, 4.2),
        heading="F1 of the rare class",
    )


def questions() -> Figure:
    """Points of accuracy that the default strategy is ahead of random questions."""
    text = (APPENDIX / "questions.md").read_text(encoding="utf-8")
    ahead = {}
    for name, block in re.findall(r"^(\w+), mean of the starts.*?\n(.*?)(?=\n\n|```)", text, re.M | re.S):
        line = next(line for line in block.splitlines() if line.startswith("pool"))
        ahead[name] = [float(value) for value in re.findall(r"([-+]\d+\.\d)", line)]
    marks = ("50", "100", "200")

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for code, (name, values) in enumerate(ahead.items()):
            axes.plot(range(3), values, marker="o", color=class_colour(code), label=name)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xticks(range(3), marks)
        axes.set_xlabel("answers")
        axes.set_ylabel("points ahead of random questions")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        plain(axes)

    return Figure("questions", draw, size=(6.4, 3.6), heading="Accuracy gained over random questions")


def paced() -> Figure:
    """Errors of `paced`, MSG and random questions with the same budget."""
    rows = [row for row in table("online", "| data set | questions | paced |") if row[1]]
    series = {
        "random questions": [100 * number(row[3]) for row in rows],
        "MSG": [100 * number(row[6]) for row in rows],
        "paced": [100 * number(row[2]) for row in rows],
    }
    names = [f"{row[0]}, {row[1]}" for row in rows]
    return Figure(
        "paced",
        lambda canvas: dots(canvas.subplots(), names, series, "error (%) with that number of questions"),
        size=(6.4, 5.4),
        heading="Error with a budget of questions",
    )


def stream_speed() -> Figure:
    """Speed of BLS relative to river, with and without slots for unlabelled vectors."""
    rows = table("streams", "| data | 150 + 300")
    series = {
        "150 labelled + 300 unlabelled": [number(row[1]) for row in rows],
        "450 labelled": [number(row[4]) for row in rows],
    }

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        dots(axes, [row[0] for row in rows], series, "speed relative to river (log scale)")
        axes.set_xscale("log")
        axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
        axes.minorticks_off()
        axes.axvline(1, color=INK, linewidth=0.8, zorder=0)

    return Figure("stream_speed", draw, size=(6.4, 3.6), heading="Speed on streams with one label in ten")


def embedding_speed() -> Figure:
    """Seconds of each solver that reached the residual."""
    fastest: dict[str, dict[str, float]] = {}
    for data in ("pubmed", "debian_sections"):
        for row in table("embedding", f"| on {data} |"):
            solver = "Querist" if row[0] == "querist" else row[0].split(", ncv")[0]
            if row[1] and "does not count" not in row[3]:
                seconds = fastest.setdefault(data, {})
                seconds[solver] = min(number(row[1]), seconds.get(solver, float("inf")))

    def draw(canvas: Any) -> None:
        for axes, (data, seconds) in zip(canvas.subplots(1, 2), fastest.items(), strict=True):
            names = list(seconds)[::-1]
            colours = [class_colour(0) if name == "Querist" else MUTED for name in names]
            axes.barh(range(len(names)), [seconds[name] for name in names], color=colours, height=0.6)
            axes.set_yticks(range(len(names)), [name.replace("eigsh Lanczos", "eigsh") for name in names])
            axes.set_xlabel("seconds")
            axes.set_title(data)
            plain(axes)

    return Figure("embedding_speed", draw, size=(7.2, 2.4), heading="Seconds for an embedding of rank 100")


def gpu() -> Figure:
    """Seconds on the GPU beside another solver or the CPU."""
    rows = table("gpu", "| task | size")
    pairs = {}
    for name, task, size in (
        ("embedding, 10^7 edges, rank 32\n(other: cupyx eigsh)", "embedding, rank 32", "10^7"),
        ("embedding, 10^7 edges, rank 100\n(other: cupyx eigsh)", "embedding, rank 100", "the same"),
        ("label on PubMed\n(other: 16 CPU threads)", "`label`", "PubMed"),
    ):
        cell = next(row[2] for row in rows if row[0].startswith(task) and size in row[1])
        pairs[name] = (number(cell), number(cell[re.search(r"cupyx|16 threads", cell).end() :]))  # type: ignore[union-attr]
    series = {
        "other": [other for _, other in pairs.values()],
        "Querist on the GPU": [own for own, _ in pairs.values()],
    }

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        dots(axes, list(pairs), series, "seconds")
        axes.set_xlim(left=0)
        axes.margins(y=0.2)

    return Figure("gpu", draw, size=(6.4, 2.6), heading="Seconds on one GPU")


FIGURES = (label_accuracy, rare_classes, questions, paced, stream_speed, embedding_speed, gpu)


def main() -> None:
    """Write all figures."""
    for make in FIGURES:
        figure = make()
        print(write(IMAGES / f"{figure.name}.svg", standalone(figure)))


if __name__ == "__main__":
    main()
