"""The four pictures of docs/methods/index.md: `make pictures` draws them, then those of each method page.

Each shows a run of the method on a bundled data set; nothing is drawn by hand.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import method_pictures
import querist
from maps import bare, lines_of, map_of, mark
from querist.datasets import two_moons
from querist.datasets.bundled import digits, karate, messages
from querist.demo import GAMMA, RANK, H
from querist.graph import effective_resistance
from querist.report.charts import class_colour, curves
from querist.report.drawing import layout
from querist.report.figures import INK, MUTED, PAPER, Figure, standalone
from querist.report.page import write

DOCS = Path(__file__).parents[1] / "docs"
IMAGES, PAGE = DOCS / "images", DOCS / "methods" / "index.md"
QUESTIONS = 12
ITERATIONS = (1, 3, 10)


def pounce_moons() -> Figure:
    """The nodes that POUNCE remembers, and which of them each node is nearest to by resistance."""
    graph = two_moons(300, seed=1)
    assert graph.attributes is not None
    learner = querist.ALGORITHMS["pounce"](graph, 2)
    trace = learner.run(np.arange(graph.n_nodes), graph.codes)
    places = graph.attributes.toarray()
    kept = np.asarray(learner.remembered(), dtype=np.int64)
    nearest = kept[effective_resistance(graph)[:, kept].argmin(axis=1)]
    wrong = int(trace.mistaken.sum())

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        said = graph.codes[nearest]
        colours = [class_colour(int(code)) for code in said]
        for code in (0, 1):
            own = said == code
            look = {"color": class_colour(code), "linewidth": 0.6, "alpha": 0.5}
            lines_of(axes, places[own], places[nearest[own]], **look)
        axes.scatter(*places.T, s=9, c=colours, linewidths=0, zorder=2)
        remembered = [class_colour(int(code)) for code in graph.codes[kept]]
        axes.scatter(*places[kept].T, s=110, c=remembered, edgecolors=INK, linewidths=1.2, zorder=3)
        for number, place in enumerate(places[kept], start=1):
            axes.text(*place, str(number), ha="center", va="center", color=PAPER, fontsize=7, zorder=4)
        bare(axes)

    return Figure(
        "pounce_moons",
        draw,
        f"POUNCE on two moons: of {graph.n_nodes} points that arrived one by one, {wrong} were predicted "
        f"wrongly. POUNCE remembers {kept.size} nodes (numbered in order of arrival). Each point is joined "
        "to the remembered node that is nearest by effective resistance, and gets its class.",
        size=(5.2, 3.6),
        heading="How POUNCE covers two moons",
    )


def msg_digits() -> Figure:
    """When MSG asks on the digits, and about which."""
    graph = digits()
    assert graph.attributes is not None
    rows = querist.embed(graph.without_labels(), RANK, normalised=False, cache=False)
    learner = querist.ALGORITHMS["msg"](rows, graph.n_classes, gamma=GAMMA, h=H)
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    trace = learner.run(order, graph.codes)
    asked = np.flatnonzero(trace.asked)
    late = asked[asked > graph.n_nodes // 2][:24]
    pixels = graph.attributes.toarray().reshape(-1, 8, 8)

    def draw(canvas: Any) -> None:
        left, right = canvas.subfigures(1, 2, width_ratios=[1, 1.15])
        axes = left.subplots()
        seen = np.arange(1, graph.n_nodes + 1)
        wrong = trace.mistaken.cumsum()
        both = {"questions": (seen, trace.asked.cumsum()), "wrong predictions": (seen, wrong)}
        curves(axes, both, x_label="digits seen", y_label="so far")
        for place, t in zip(right.subplots(4, 6).ravel(), late, strict=True):
            place.imshow(pixels[trace.row[t]], cmap="gray_r")
            guess, true = int(trace.predicted[t]), int(graph.codes[trace.row[t]])
            bare(place)
            place.set_title(f"{guess}" if guess == true else f"{guess} → {true}", fontsize=8)

    return Figure(
        "msg_digits",
        draw,
        f"MSG on {graph.n_nodes:,} handwritten digits: {trace.asked.sum()} questions, half of them before "
        f"digit {int(asked[asked.size // 2]) + 1}. On the right, 24 digits that it asked about in the second "
        "half, with the prediction, and the true digit if the prediction was wrong.",
        size=(7.2, 3.4),
        heading="What MSG asks on digits",
    )


def gmnr_iterations() -> Figure:
    """What GMNR believes of the karate club after some iterations, from two labels."""
    club = karate()
    known = {0: club.labels[0], 33: club.labels[33]}
    places = layout(club.adjacency)
    heads, tails = club.adjacency.nonzero()
    fitted = [
        querist.CLASSIFIERS["gmnr"](features="links", max_iter=steps).fit(club, known) for steps in ITERATIONS
    ]
    right = [round(100 * model.score(club, club.labels)) for model in fitted]

    def draw(canvas: Any) -> None:
        for axes, steps, model, share in zip(
            canvas.subplots(1, len(ITERATIONS)), ITERATIONS, fitted, right, strict=True
        ):
            lines_of(axes, places[heads], places[tails], color=MUTED, linewidth=0.4, alpha=0.3)
            P = model.probabilities_
            colours = [class_colour(int(code)) for code in P.argmax(axis=1)]
            sure = np.clip(2 * P.max(axis=1) - 1, 0.12, 1.0)
            axes.scatter(*places.T, s=60, c=PAPER, zorder=2)
            axes.scatter(*places.T, s=60, c=colours, alpha=sure, linewidths=0, zorder=3)
            given = np.array([0, 33])
            axes.scatter(*places[given].T, s=80, facecolors="none", edgecolors=INK, linewidths=1.4, zorder=4)
            bare(axes, f"{steps} iteration{'s' if steps > 1 else ''}: {share} % right")

    return Figure(
        "gmnr_iterations",
        draw,
        "GMNR on the karate club from two known labels (ringed). Each node has the colour of its more likely "
        "class; faint colours mean low confidence. Iterations carry the classes along the edges.",
        size=(7.2, 2.7),
        heading="Iterations of GMNR",
    )


def pool_map() -> Figure:
    """The first questions of the pool on a map of the messages."""
    graph = messages()
    result = querist.ask(graph, graph.labels, budget=QUESTIONS, audit=0)
    asked = [graph.row_of[node] for node in result.answers]
    right = np.mean([found == true for found, true in zip(result.labels, graph.labels, strict=True)])
    where, codes = map_of(graph), graph.codes
    assert codes is not None

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        mark(axes, where, codes, numbered=asked)
        for code, name in enumerate(graph.classes or ()):
            axes.scatter([], [], s=14, color=class_colour(code), linewidths=0, label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return Figure(
        "pool_map",
        draw,
        f"The first {len(asked)} questions of `querist.ask` about {graph.n_nodes} short messages, numbered, "
        "on a map of their graph. Each is asked where an answer says most about other uncertain nodes. With "
        f"these answers, {100 * right:.0f} % of all messages are labelled correctly.",
        size=(6.4, 4.2),
        heading="The first questions on a map of the graph",
    )


PICTURES = (pounce_moons, msg_digits, gmnr_iterations, pool_map)


BETWEEN = re.compile(r"(<!-- pictures -->\n).*?(<!-- end of pictures -->)", re.DOTALL)


def on_page(page: str, figures: Sequence[Figure]) -> str:
    """The page with these figures and their captions."""
    shown = [
        f"<div markdown>\n\n![{one.heading}](../images/{one.name}.svg)\n\n*{one.caption}*\n\n</div>\n"
        for one in figures
    ]
    whole = f'\n<div class="pictures" markdown>\n{"".join(shown)}</div>\n\n'
    return BETWEEN.sub(lambda marks: marks[1] + whole + marks[2], page)


def main() -> None:
    """Draw all pictures and write their captions into the pages."""
    figures = [make() for make in PICTURES]
    for figure in figures:
        print(write(IMAGES / f"{figure.name}.svg", standalone(figure)))
    write(PAGE, on_page(PAGE.read_text(encoding="utf-8"), figures))
    method_pictures.main()


if __name__ == "__main__":
    main()
