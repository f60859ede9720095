"""What the demonstration found, as one HTML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from querist.atomic import check_writable
from querist.demo.play import GAMMA, RANK, TUNED_ON, DemoRun, DemoRuns, H
from querist.errors import InputError
from querist.report import PAGE_SIZE, Figure, charts, page, standalone, thumbnail, write
from querist.types import Codes, Floats

ASKED_SHOWN, MISSED_SHOWN = 60, 12
_WHITE_TO_BLACK = 16.0


def make_folder(folder: Path) -> Path:
    """The folder for the report; made now, so that a bad name is found before the work."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the report")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "report.html")
    return folder


def write_report(outcome: DemoRuns, folder: Path) -> Path:
    """Write `report.html` and its first figure, `curve.svg`, into a folder; returns the report's path."""
    write(folder / "curve.svg", standalone(_curves(outcome)[0]))
    return write(folder / "report.html", report(outcome))


def report(outcome: DemoRuns) -> str:
    """The page: all that `templates/demo.html` shows."""
    run, n = outcome.chosen, outcome.graph.n_nodes
    asked, missed = np.flatnonzero(run.asked), np.flatnonzero(run.mistaken & ~run.asked)
    return page(
        "demo",
        title="Which digits are worth a question?",
        lede=f"Querist labelled {n:,} handwritten digits and asked for the answer to "
        f"{outcome.questions:,} of them. It chose which.",
        numbers=_numbers(outcome),
        comparison=[(name, count, wrong, rest) for name, count, _, wrong, rest in comparison(outcome)],
        draws=len(outcome.random),
        n_nodes=f"{n:,}",
        n_edges=f"{outcome.graph.n_edges:,}",
        rank=RANK,
        gamma=f"{GAMMA:g}",
        h=f"{H:g}",
        tuned_on=TUNED_ON,
        seed=outcome.seed,
        curves=_curves(outcome),
        asked=_tiles(outcome, asked[:ASKED_SHOWN]),
        n_asked=asked.size,
        n_asked_wrong=int(run.mistaken[asked].sum()),
        missed=_tiles(outcome, missed[-MISSED_SHOWN:]),
        n_missed=missed.size,
        n_silent=f"{int((~run.asked).sum()):,}",
    )


def percent(share: float) -> str:
    """A share in per cent, to one decimal."""
    return f"{100 * share:.1f} %"


def comparison(outcome: DemoRuns) -> list[tuple[str, str, str, str, str]]:
    """A row a way of asking: name, questions, share asked, wrong guesses, wrong on the rest at the end."""
    n, random, rest = outcome.graph.n_nodes, outcome.random_error, outcome.random_rest_wrong
    count = outcome.questions
    return [
        (
            "MSG chooses",
            f"{count:,}",
            percent(count / n),
            percent(outcome.chosen.error_rate),
            percent(float(outcome.chosen.rest_wrong[-1])),
        ),
        (
            "by the margin, as many",
            f"{count:,}",
            percent(count / n),
            percent(outcome.margin.error_rate),
            percent(float(outcome.margin.rest_wrong[-1])),
        ),
        (
            "at random, as many",
            f"{count:,}",
            percent(count / n),
            f"{percent(random.mean)} ± {100 * random.std:.1f}",
            f"{percent(rest.mean)} ± {100 * rest.std:.1f}",
        ),
        ("about every digit", f"{n:,}", percent(1.0), percent(outcome.everything.error_rate), "none left"),
    ]


def _numbers(outcome: DemoRuns) -> list[tuple[str, str, str]]:
    n, random = outcome.graph.n_nodes, outcome.random_error
    return [
        (f"{outcome.questions:,}", "questions asked", f"of {n:,} digits, {percent(outcome.questions / n)}"),
        (percent(outcome.chosen.error_rate), "wrong guesses", "each made before any answer"),
        (
            percent(random.mean),
            "wrong with random questions",
            f"as many; ± {100 * random.std:.1f} over draws",
        ),
        (percent(outcome.everything.error_rate), "wrong when all is asked", f"{n:,} questions"),
    ]


def _curves(outcome: DemoRuns) -> list[Figure]:
    """Wrong guesses as the digits come by, and what is wrong on the rest after every question."""
    seen = np.arange(1, outcome.chosen.node.size + 1)[19:]
    grid = np.arange(outcome.questions + 1)
    spread = f"The band is one standard deviation of {len(outcome.random)} draws to either side."
    rounds = {
        "MSG chooses": (seen, outcome.chosen.error_curve()[19:]),
        "at random, as many": (seen, np.stack([run.error_curve()[19:] for run in outcome.random])),
        "about every digit": (seen, outcome.everything.error_curve()[19:]),
        "by the margin, as many": (seen, outcome.margin.error_curve()[19:]),
    }
    questions = {
        "MSG chooses": (grid, _at(grid, outcome.chosen)),
        "at random": (grid, np.stack([_at(grid, run) for run in outcome.random])),
        "by the margin": (grid, _at(grid, outcome.margin)),
    }
    return [
        Figure(
            "rounds",
            lambda canvas: _shares(canvas, rounds, 0.5, "digits seen", "wrong guesses so far"),
            f"Wrong guesses so far, from the 20th digit on. {spread}",
            PAGE_SIZE,
            "As the digits come by",
            "Share of wrong guesses so far against digits seen, for four ways of asking.",
        ),
        Figure(
            "questions",
            lambda canvas: _shares(canvas, questions, 0.3, "questions asked", "wrong on the rest"),
            "If it stopped asking now: how many of the digits not asked about so far would be labelled "
            "wrongly. At first it asks about nearly every digit, which is no better than asking at "
            f"random; the choice pays once it knows a little. {spread}",
            PAGE_SIZE,
            "What another question buys",
            "Share of the digits not asked about that are labelled wrongly, against questions asked.",
        ),
    ]


def _shares(canvas: Any, series: Mapping[str, Any], top: float, x_label: str, y_label: str) -> None:
    axes = canvas.add_subplot()
    charts.curves(axes, series, x_label=x_label, y_label=y_label)
    axes.set_ylim(0, top)
    axes.margins(x=0)
    charts.few_ticks(axes.xaxis)
    charts.few_ticks(axes.yaxis, percent=True)


def _tiles(outcome: DemoRuns, rounds: Codes) -> list[tuple[str, str, str, bool]]:
    """A small picture a round: its data, what it shows, the guess, whether that was wrong."""
    graph, run = outcome.graph, outcome.chosen
    assert graph.attributes is not None
    assert graph.codes is not None
    tiles = []
    for t in rounds.tolist():
        node, wrong = int(run.node[t]), bool(run.mistaken[t])
        pixels = graph.attributes[[node]].toarray().reshape(8, 8)
        guess, truth = graph.classes[int(run.predicted[t])], graph.classes[int(graph.codes[node])]
        said = f"{guess} ✗ {truth}" if wrong else f"{guess}"
        tiles.append((thumbnail(pixels, _WHITE_TO_BLACK), f"digit {truth}, guessed {guess}", said, wrong))
    return tiles


def _at(grid: Codes, run: DemoRun) -> Floats:
    """The share wrong on the rest after each number of questions."""
    return np.interp(grid, run.questions, run.rest_wrong)
