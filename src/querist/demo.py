"""The demonstration: label handwritten digits by asking about a few of them.

MSG sees the digits one at a time, guesses, and asks where it is unsure. Beside it, in the same shuffles,
stand the controls of every online learner: the same learner asking as often but at random, and as often and
on average as early where its margin is smallest. One more learner asks about every digit.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from querist.experiment.results import CONTROL, MARGIN, Result
from querist.experiment.runner import run
from querist.experiment.specification import Specification
from querist.experiment.store import Store
from querist.experiment.tasks import prepared_of
from querist.experiment.tasks.online import OnlineTask
from querist.graph import Graph
from querist.online import Trace
from querist.report import charts
from querist.report.figures import PAGE_SIZE, Figure, thumbnail
from querist.report.page import page
from querist.types import Codes

RANK, GAMMA, H = 25, 0.1, 0.001
SETTINGS = {"rank": RANK, "laplacian": "combinatorial", "constant": 1.0, "gamma": GAMMA, "h": H}
TUNED_ON = 1000
"""The settings were chosen on 20 shuffles of this seed: the fewest wrong guesses among those that ask about
at most one digit in eight. Tried: both Laplacians; rank 15, 20, 25, 30, 40, 60, 100; gamma .01, .1, 1, 10;
h 1e-4, 1e-3, 1e-2."""

SHUFFLES = 20
POINTS = 300
"""Of every curve."""
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

Show: TypeAlias = Callable[[str, float, str], None]
"""Called with (stage, fraction done, a few words)."""


@dataclass(frozen=True, eq=False)
class DemoRuns:
    """All ways of asking, what MSG did in the first shuffle, and the seconds it took."""

    graph: Graph
    seed: int
    ways: Mapping[str, tuple[Result, str]]
    """By name the runs, and what the names of their numbers begin with."""
    first: Trace
    seconds: float

    def spread(self, way: str, number: str) -> dict[str, Any]:
        """Mean, standard deviation and runs of a number of a way of asking."""
        result, prefix = self.ways[way]
        return result.spread(prefix + number)


def play(seed: int = 0, show: Show = lambda stage, fraction, text: None) -> DemoRuns:
    """Build the graph, embed it, and run everything on the shuffles of this seed."""
    started = time.perf_counter()
    show("embedding", 0.0, "joining each digit to the 10 nearest")
    own, every = (
        Specification(
            "online",
            "digits",
            method,
            {"gamma": GAMMA, **parameters},
            representation={"rank": RANK, "normalised": False},
            protocol={"curve": POINTS, "control": method == "msg"},
            repeats=SHUFFLES,
            seed=seed,
        )
        for method, parameters in (("msg", {"h": H}), ("random_sampling", {"p": 1.0}))
    )
    task = OnlineTask()
    place = prepared_of(own, task)
    show("embedding", 1.0, f"{place.rows.n_columns} numbers for each of {place.graph.n_nodes:,} digits")
    show("asking", 0.0, "compiling; the first time takes some seconds")
    chosen, everything = run([own, every], Store(), progress=partial(show, "asking"))
    learner = task.learner(place, "msg", own.parameters, seed, 0)
    return DemoRuns(
        place.graph,
        seed,
        {
            "msg": (chosen, ""),
            "margin": (chosen, MARGIN),
            "random": (chosen, CONTROL),
            "everything": (everything, ""),
        },
        learner.run(task.order(place, seed, 0), place.graph.codes),
        time.perf_counter() - started,
    )


# -- the page -----------------------------------------------------------------------------------------------


def report(outcome: DemoRuns) -> str:
    """The page: all that `templates/demo.html` shows."""
    run, n = outcome.first, outcome.graph.n_nodes
    asked, missed = np.flatnonzero(run.asked), np.flatnonzero(run.mistaken & ~run.asked)
    questions = outcome.spread("msg", "queries")["mean"]
    return page(
        "demo",
        title="Which digits are worth a question?",
        lede=f"Querist labelled {n:,} handwritten digits and asked for the answer to {questions:,.0f} of "
        "them. It chose which.",
        numbers=[
            (f"{questions:,.0f}", "questions asked", f"of {n:,} digits, {100 * questions / n:.1f} %"),
            *(
                (_wrong(outcome, way), words, about)
                for way, words, about in (
                    ("msg", "wrong guesses", "each made before any answer"),
                    ("random", "wrong with random questions", "as many"),
                    ("everything", "wrong when all is asked", f"{n:,} questions"),
                )
            ),
        ],
        comparison=[(name, count, wrong) for name, count, _, wrong in comparison(outcome)],
        shuffles=SHUFFLES,
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


def _wrong(outcome: DemoRuns, way: str) -> str:
    """The share of wrong guesses in per cent, to one decimal, with its deviation."""
    share = outcome.spread(way, "error_rate")
    return f"{100 * share['mean']:.1f} % ± {100 * share['std']:.1f}"


def comparison(outcome: DemoRuns) -> list[tuple[str, str, str, str]]:
    """A row per way of asking: name, questions, share asked, wrong guesses."""
    asked = {way: outcome.spread(way, "queries")["mean"] for way in outcome.ways}
    n = outcome.graph.n_nodes
    return [
        (NAMES[way], f"{count:,.0f}", f"{100 * count / n:.1f} %", _wrong(outcome, way))
        for way, count in asked.items()
    ]


def _curves(outcome: DemoRuns) -> Figure:
    """Wrong guesses as the digits come by."""
    series = {}
    for way, (result, prefix) in outcome.ways.items():
        seen = result.curve("round")[0]
        series[NAMES[way]] = (seen[seen >= 20], result.curve(prefix + "error_rate")[:, seen >= 20])

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
        f"Wrong guesses so far, from the 20th digit on: the mean over {SHUFFLES} shuffles. Bands are one "
        "standard deviation to either side.",
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
