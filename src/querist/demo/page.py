"""What the demonstration found, as one HTML file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.demo.play import GAMMA, RANK, TUNED_ON, DemoRuns, H
from querist.report import charts
from querist.report.figures import PAGE_SIZE, Figure, thumbnail
from querist.report.page import page
from querist.types import Codes

ASKED_SHOWN, MISSED_SHOWN = 60, 12
_WHITE_TO_BLACK = 16.0
REPORT = "report.html"
NAMES = {
    "msg": "MSG chooses",
    "margin": "by the margin, as many",
    "random": "at random, as many",
    "everything": "about every digit",
}
"""The ways of asking in words."""


def report(outcome: DemoRuns) -> str:
    """The page: all that `templates/demo.html` shows."""
    run, n, ways = outcome.first, outcome.graph.n_nodes, outcome.ways
    asked, missed = np.flatnonzero(run.asked), np.flatnonzero(run.mistaken & ~run.asked)
    questions = ways["msg"].questions["mean"]
    return page(
        "demo",
        title="Which digits are worth a question?",
        lede=f"Querist labelled {n:,} handwritten digits and asked for the answer to {questions:,.0f} of "
        "them. It chose which.",
        numbers=[
            (f"{questions:,.0f}", "questions asked", f"of {n:,} digits, {100 * questions / n:.1f} %"),
            *(
                (in_per_cent(ways[way].error_rate), words, about)
                for way, words, about in (
                    ("msg", "wrong guesses", "each made before any answer"),
                    ("random", "wrong with random questions", "as many"),
                    ("everything", "wrong when all is asked", f"{n:,} questions"),
                )
            ),
        ],
        comparison=[(name, count, wrong) for name, count, _, wrong in comparison(outcome)],
        shuffles=len(ways["msg"].error_rate["runs"]),
        n_nodes=f"{n:,}",
        n_edges=f"{outcome.graph.n_edges:,}",
        rank=RANK,
        gamma=f"{GAMMA:g}",
        h=f"{H:g}",
        tuned_on=TUNED_ON,
        seed=outcome.seed,
        curves=[_curves(outcome)],
        asked=_tiles(outcome, asked[:ASKED_SHOWN]),
        n_asked=asked.size,
        n_asked_wrong=int(run.mistaken[asked].sum()),
        missed=_tiles(outcome, missed[-MISSED_SHOWN:]),
        n_missed=missed.size,
        n_silent=f"{int((~run.asked).sum()):,}",
    )


def in_per_cent(share: Mapping[str, Any]) -> str:
    """A share in per cent, to one decimal, with its deviation."""
    return f"{100 * share['mean']:.1f} % ± {100 * share['std']:.1f}"


def comparison(outcome: DemoRuns) -> list[tuple[str, str, str, str]]:
    """A row per way of asking: name, questions, share asked, wrong guesses."""
    n = outcome.graph.n_nodes
    return [
        (
            NAMES[name],
            f"{way.questions['mean']:,.0f}",
            f"{100 * way.questions['mean'] / n:.1f} %",
            in_per_cent(way.error_rate),
        )
        for name, way in outcome.ways.items()
    ]


def _curves(outcome: DemoRuns) -> Figure:
    """Wrong guesses as the digits come by."""
    late = outcome.ways["msg"].seen >= 20
    series = {NAMES[name]: (way.seen[late], way.error_curve[:, late]) for name, way in outcome.ways.items()}

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        charts.curves(axes, series, x_label="digits seen", y_label="wrong guesses so far")
        axes.set_ylim(0, 0.5)
        axes.margins(x=0)
        charts.few_ticks(axes.xaxis)
        charts.few_ticks(axes.yaxis, percent=True)

    return Figure(
        "rounds",
        draw,
        "Wrong guesses so far, from the 20th digit on: the mean over "
        f"{len(outcome.ways['msg'].error_rate['runs'])} shuffles. Bands are one standard deviation to either "
        "side.",
        PAGE_SIZE,
        "As the digits come by",
        "Share of wrong guesses so far against digits seen, for four ways of asking.",
    )


def _tiles(outcome: DemoRuns, rounds: Codes) -> list[tuple[str, str, str, bool]]:
    """A small picture a round: its data, what it shows, the guess, whether that was wrong."""
    graph, run = outcome.graph, outcome.first
    assert graph.attributes is not None
    tiles = []
    for t in rounds.tolist():
        node, wrong = int(run.row[t]), bool(run.mistaken[t])
        pixels = graph.attributes[[node]].toarray().reshape(8, 8)
        guess, truth = graph.classes[int(run.predicted[t])], graph.classes[int(graph.codes[node])]
        said = f"{guess} ✗ {truth}" if wrong else f"{guess}"
        tiles.append((thumbnail(pixels, _WHITE_TO_BLACK), f"digit {truth}, guessed {guess}", said, wrong))
    return tiles
