"""The pictures of the method pages: a run of each registered method on a bundled set, drawn on a map.

A page has its picture between `<!-- picture -->` and `<!-- end of picture -->`; `make pictures` draws it into
docs/images/methods and writes below it what the run gave. Pages that show a picture of another page have no
such marks. All methods of a family run on the same nodes, so that their pictures can be compared.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from registered import named_by

import querist
from maps import Map, map_of, mark
from querist.datasets import two_moons
from querist.datasets.bundled import digits, messages
from querist.experiment.tasks.online import on_graph
from querist.graph import Graph, from_points
from querist.report.charts import curves
from querist.report.figures import Figure, standalone
from querist.report.page import write
from querist.types import Bools, Codes, Floats

METHODS = Path(__file__).parents[1] / "docs" / "methods"
IMAGES = METHODS.parent / "images" / "methods"
BETWEEN = re.compile(r"(<!-- picture -->\n).*?(<!-- end of picture -->)", re.DOTALL)
POINTS, RANK, BUDGET = 300, 30, 30
EVERY = 6
"""Each sixth node has a label where some have one."""
QUESTIONS, SEARCHED, WANTED = 12, 24, "noise"
ALIKE = 10
MEASURED = ("own_gaussian",)
"""Models for attributes that are measurements: pixels, not counts of words."""
MOONS = "points of two overlapping moons"
ON_MAP = (
    "on a map of their graph. Every sixth has a known label (ringed). The colour is the predicted class; a "
    "cross marks a wrong prediction"
)
ONE_BY_ONE = "The colour is the predicted class; rings mark questions, crosses wrong predictions"


@dataclass(frozen=True)
class Part:
    """One registered name: what is seen, what the run gave, and drawings that stand side by side."""

    about: str
    said: str
    drawings: tuple[Callable[[Any], None], ...]


@cache
def moons(count: int = POINTS) -> Graph:
    """Points that overlap enough for some to be guessed wrong."""
    return two_moons(count, noise=0.2, seed=1)


@cache
def texts() -> Graph:
    """The messages that ship with querist."""
    return messages()


@cache
def pixels() -> Graph:
    """Some handwritten digits of five kinds."""
    full = digits()
    assert full.attributes is not None
    chosen = np.flatnonzero(codes_of(full) < 5)[: POINTS // 2]
    return from_points(
        full.attributes.toarray()[chosen], labels=codes_of(full)[chosen], classes=tuple(range(5))
    )


drawn = cache(map_of)


def codes_of(graph: Graph) -> Codes:
    """The true classes, which every set here has."""
    return graph.codes


def points_of(graph: Graph) -> Floats:
    """The coordinates, where attributes are such."""
    assert graph.attributes is not None
    return np.asarray(graph.attributes.toarray())


def so_far(asked: Bools, wrong: Bools, what: str) -> Callable[[Any], None]:
    """Two curves over the rounds."""
    seen = np.arange(1, len(wrong) + 1)

    def draw(axes: Any) -> None:
        both = {what: (seen, np.cumsum(asked)), "wrong predictions": (seen, np.cumsum(wrong))}
        curves(axes, both, x_label="points seen", y_label="so far")

    return draw


def online(name: str) -> Part:
    """Points of two moons, one by one: where it asks and where it guesses wrong."""
    graph = moons()
    given = graph if on_graph(name) else querist.embed(graph.without_labels(), RANK, cache=False)
    budget = {"budget": BUDGET, "rounds": POINTS} if name in ("paced", "fastonl") else {}
    trace = querist.ALGORITHMS[name](given, 2, **budget).run(np.arange(POINTS), codes_of(graph))
    where = Map(points_of(graph))
    return Part(
        f"{POINTS} {MOONS}, which arrive one by one. {ONE_BY_ONE}",
        f"`{name}` asks about {trace.asked.sum()} points and predicts {trace.mistaken.sum()} wrongly",
        (
            lambda axes: mark(axes, where, trace.predicted, trace.asked, trace.mistaken, name),
            so_far(trace.asked, trace.mistaken, "questions"),
        ),
    )


def stream(name: str) -> Part:
    """Points of two moons as vectors, one in ten with a label: what it guesses before it is told."""
    graph = moons(2 * POINTS)
    rows, codes = points_of(graph), codes_of(graph)
    labelled = np.arange(len(codes)) % 10 == 0
    guessed = querist.STREAMS[name](2).run(rows, codes, labelled).predicted
    wrong = guessed != codes
    late = slice(POINTS, None)
    return Part(
        f"A stream of {2 * POINTS} {MOONS}, of which every tenth has a label. The map shows the second half, "
        "coloured by predicted class, with rings for labels and crosses for wrong predictions",
        f"`{name}` predicts {wrong.sum()} wrongly, {wrong[late].sum()} of them in the second half",
        (
            lambda axes: mark(axes, Map(rows[late]), guessed[late], labelled[late], wrong[late], name),
            so_far(labelled, wrong, "labels"),
        ),
    )


def labelled_map(name: str, graph: Graph, what: str, find: Callable[[Graph, Any], Sequence[Any]]) -> Part:
    """What a method finds for every node of a graph from the labels of some."""
    codes, labels = codes_of(graph), graph.labels
    assert labels is not None
    given = np.arange(graph.n_nodes) % EVERY == 0
    found = find(graph.without_labels(), {graph.nodes[row]: labels[row] for row in np.flatnonzero(given)})
    guessed = codes_in(graph, found)
    wrong = guessed != codes
    return Part(
        f"{graph.n_nodes} {what} {ON_MAP}",
        f"`{name}` labels {100 * (1 - wrong[~given].mean()):.0f} % of the unlabelled nodes correctly",
        (lambda axes: mark(axes, drawn(graph), guessed, given, wrong, name),),
    )


def codes_in(graph: Graph, labels: Sequence[Any]) -> Codes:
    """Labels as numbers of the graph's classes."""
    place = {str(label): code for code, label in enumerate(graph.classes or ())}
    return np.array([place[str(label)] for label in labels])


def collective(name: str) -> Part:
    """The messages from every sixth label."""
    return labelled_map(
        name,
        texts(),
        "short messages",
        lambda graph, known: querist.CLASSIFIERS[name]().fit(graph, known).predict(),
    )


def member(name: str) -> Part:
    """The messages from every sixth label; digits where attributes have to be measurements."""
    graph, what = (pixels(), "handwritten digits") if name in MEASURED else (texts(), "short messages")
    return labelled_map(
        name, graph, what, lambda graph, known: querist.label(graph, known, method=name).labels
    )


def rule(name: str) -> Part:
    """The first questions of the pool on the map of the messages."""
    graph = texts()
    result = querist.ask(graph, graph.labels, budget=QUESTIONS, strategy=name)
    asked = [graph.row_of[node] for node in result.answers]
    right = (codes_in(graph, result.labels) == codes_of(graph)).mean()
    return Part(
        f"The first {QUESTIONS} questions about {graph.n_nodes} short messages, numbered, on a map of their "
        "graph. The colour is the true class",
        f"with the answers to these questions, `{name}` leads to {100 * right:.0f} % correct labels",
        (lambda axes: mark(axes, drawn(graph), codes_of(graph), numbered=asked, title=name),),
    )


def embedding(name: str) -> Part:
    """How alike the rows of all messages are to the row of one."""
    graph = texts()
    codes = codes_of(graph)
    own = {"constant": 0} if name == "spectral" else {}
    made = querist.embed(graph.without_labels(), RANK, kind=name, cache=False, **own)
    K = made.rows @ made.rows.T
    if made.local is not None:
        K = K + made.local.toarray()
    size = np.sqrt(np.clip(np.diag(K), 1e-12, None))
    alike = np.clip(K / np.outer(size, size), 0, 1)
    nearest = np.argsort(2 * np.eye(len(codes)) - alike, axis=1, kind="stable")[:, :ALIKE]
    same = (codes[nearest] == codes[:, None]).mean()
    one = np.arange(len(codes)) == 0
    return Part(
        f"{graph.n_nodes} short messages on a map of their graph. The colour is the true class; the more "
        "similar the vector of a message is to that of the ringed one, the stronger the colour",
        f"of the {ALIKE} messages with the most similar vectors, {100 * same:.0f} % have the same class on "
        "average",
        (lambda axes: mark(axes, drawn(graph), codes, ringed=one, strength=alike[0] ** 0.5, title=name),),
    )


FAMILIES: dict[str, Callable[[str], Part]] = {
    "online": online,
    "streams": stream,
    "collective": collective,
    "members": member,
    "strategies": rule,
    "embeddings": embedding,
}


def pages() -> list[Path]:
    """The method pages that have a picture of their own."""
    return [page for page in sorted(METHODS.glob("*.md")) if BETWEEN.search(page.read_text(encoding="utf-8"))]


def figure_of(page: Path) -> Figure:
    """The picture of a page: a panel, or two, for every name that it speaks of."""
    parts = [FAMILIES[family](name) for family, name in named_by(page)]
    drawings = [draw for part in parts for draw in part.drawings]
    pairs = len(parts[0].drawings) == 2
    across = 2 if pairs else min(len(drawings), 3)
    down = -(-len(drawings) // across)

    def draw(canvas: Any) -> None:
        places = canvas.subplots(down, across, squeeze=False).ravel()
        for axes, one in zip(places, drawings, strict=False):
            one(axes)
        for axes in places[len(drawings) :]:
            axes.set_axis_off()

    width = {1: 4.4, 2: 7.0, 3: 8.4}[across]
    return Figure(
        page.stem,
        draw,
        " ".join(sentences(parts)),
        size=(width, down * (2.6 if pairs else 0.85 * width / across)),
        heading=page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "),
    )


def sentences(parts: Sequence[Part]) -> Iterator[str]:
    """What is seen, once for all parts that show the same, and after it what their runs gave."""
    for about in dict.fromkeys(part.about for part in parts):
        said = "; ".join(part.said for part in parts if part.about == about)
        yield f"{about}. {said[0].upper()}{said[1:]}."


def with_picture(text: str, figure: Figure) -> str:
    """A page with its picture and what it shows."""
    shown = f"\n![{figure.heading}](../images/methods/{figure.name}.svg)\n\n*{figure.caption}*\n\n"
    return BETWEEN.sub(lambda marks: marks[1] + shown + marks[2], text)


def main() -> None:
    """Draw all, and say on each page what it shows."""
    for page in pages():
        figure = figure_of(page)
        print(write(IMAGES / f"{figure.name}.svg", standalone(figure)))
        write(page, with_picture(page.read_text(encoding="utf-8"), figure))


if __name__ == "__main__":
    main()
