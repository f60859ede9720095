"""What the demonstration found, as one HTML file."""

from pathlib import Path

import numpy as np

from querist.demo.play import GAMMA, RANK, TUNED_ON, DemoRun, DemoRuns, H
from querist.errors import InputError
from querist.report import (
    Curve,
    Figure,
    Html,
    Tile,
    code,
    columns,
    curves,
    gallery,
    headline,
    page,
    prose,
    section,
    standalone,
    table,
    thumbnail,
)
from querist.types import Codes, Floats

ASKED_SHOWN, MISSED_SHOWN = 60, 12
_WHITE_TO_BLACK = 16.0


def make_folder(folder: Path) -> Path:
    """The folder for the report; made now, so that a bad name is found before the work."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the report")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_report(outcome: DemoRuns, folder: Path) -> Path:
    """Write `report.html` and its first figure, `curve.svg`, into a folder; returns the report's path."""
    _write(folder / "curve.svg", standalone(_learning_curve(outcome)))
    return _write(folder / "report.html", report(outcome))


def _write(path: Path, text: str) -> Path:
    """All or nothing."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text, encoding="utf-8")
    return draft.replace(path)


def report(outcome: DemoRuns) -> str:
    """The page, top to bottom."""
    n = outcome.graph.n_nodes
    lede = (
        f"Querist labelled {n:,} handwritten digits and asked for the answer to {outcome.questions:,} of "
        "them. It chose which."
    )
    return page(
        "Which digits are worth a question?",
        lede,
        [
            _numbers(outcome),
            _what_was_done(outcome),
            _curves(outcome),
            _asked(outcome),
            _missed(outcome),
            _again(outcome),
        ],
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
            "at random, as many",
            f"{count:,}",
            percent(count / n),
            f"{percent(random.mean)} ± {100 * random.std:.1f}",
            f"{percent(rest.mean)} ± {100 * rest.std:.1f}",
        ),
        ("about every digit", f"{n:,}", percent(1.0), percent(outcome.everything.error_rate), "none left"),
    ]


def _numbers(outcome: DemoRuns) -> Html:
    n, random = outcome.graph.n_nodes, outcome.random_error
    cards = [
        (f"{outcome.questions:,}", "questions asked", f"of {n:,} digits, {percent(outcome.questions / n)}"),
        (percent(outcome.chosen.error_rate), "wrong guesses", "each made before any answer"),
        (
            percent(random.mean),
            "wrong with random questions",
            f"as many; ± {100 * random.std:.1f} over draws",
        ),
        (percent(outcome.everything.error_rate), "wrong when all is asked", f"{n:,} questions"),
    ]
    rows = [(name, count, wrong, rest) for name, count, _, wrong, rest in comparison(outcome)]
    head = ("asking", "questions", "wrong guesses", "wrong on the rest")
    caption = (
        "Same digits, same order, same kind of learner. The rest are the digits never asked about, labelled "
        f"at the end. ± is the standard deviation over {len(outcome.random)} random draws."
    )
    return Html("\n".join(["<section>", headline(cards), table(head, rows, caption), "</section>"]))


def _what_was_done(outcome: DemoRuns) -> Html:
    graph = outcome.graph
    return section(
        "What was done",
        prose(
            f"Each of the {graph.n_nodes:,} digits, 8 by 8 pixels, is a node of a graph. It is joined to the "
            f"ten that look most like it; that makes {graph.n_edges:,} edges. No label is used for it. The "
            f"shape of the graph then gives every digit a place: a row of {RANK} numbers, from the Laplacian "
            "of the graph.",
            "The digits come by one at a time, in random order. The learner, MSG, makes a guess. Where its "
            "two best classes are close, or where it knows little about this part of the graph, it asks for "
            "the true class. Otherwise it is never told whether it was right.",
            "A guess counts before the answer comes: a digit that was asked about is a mistake all the same "
            "if the guess was wrong. Random asking learns every answer it gets, in the same order of digits.",
            f"The settings (rank {RANK}, combinatorial Laplacian, gamma {GAMMA:g}, h {H:g}) are those with "
            "the fewest wrong guesses among those tried that ask about at most one digit in eight. They were "
            f"chosen on 20 shuffles of these same digits, drawn with seed {TUNED_ON}. The shuffle shown here "
            f"is drawn with seed {outcome.seed}.",
        ),
    )


def _learning_curve(outcome: DemoRuns) -> Html:
    """Wrong guesses so far, as the digits come by."""
    rounds = np.arange(1, outcome.chosen.node.size + 1)
    guesses = np.stack([run.error_curve() for run in outcome.random])
    lead = np.searchsorted(rounds, 20)
    return curves(
        [
            Curve("MSG chooses", rounds[lead:], outcome.chosen.error_curve()[lead:]),
            _band("at random, as many", rounds[lead:], guesses[:, lead:]),
            Curve("about every digit", rounds[lead:], outcome.everything.error_curve()[lead:]),
        ],
        "digits seen",
        "wrong guesses so far",
        name="rounds",
        description="Share of wrong guesses so far against digits seen, for three ways of asking.",
        y_top=0.5,
        percent=True,
    )


def _curves(outcome: DemoRuns) -> Html:
    grid = np.arange(outcome.questions + 1)
    rest = np.stack([_at(grid, run) for run in outcome.random])
    n = len(outcome.random)
    left = _learning_curve(outcome)
    right = curves(
        [
            Curve("MSG chooses", grid, _at(grid, outcome.chosen)),
            _band("at random", grid, rest),
        ],
        "questions asked",
        "wrong on the rest",
        name="questions",
        description="Share of the digits not asked about that are labelled wrongly, against questions asked.",
        y_top=0.3,
        percent=True,
    )
    spread = f"The band is one standard deviation of {n} draws to either side."
    return section(
        "How it learned",
        columns(
            Figure(left, "As the digits come by", f"Wrong guesses so far, from the 20th digit on. {spread}"),
            Figure(
                right,
                "What another question buys",
                "If it stopped asking now: how many of the digits not asked about so far would be labelled "
                "wrongly. At first it asks about nearly every digit, which is no better than asking at "
                f"random; the choice pays once it knows a little. {spread}",
            ),
        ),
    )


def _asked(outcome: DemoRuns) -> Html:
    rounds = np.flatnonzero(outcome.chosen.asked)
    wrong = int(outcome.chosen.mistaken[rounds].sum())
    shown = rounds[:ASKED_SHOWN]
    return section(
        "What it asked about",
        prose(
            f"The first {shown.size} of {rounds.size} questions, in order. Under each digit stands the guess "
            f"before the answer; “3 ✗ 8” is a guess of 3 where the truth was 8. Of all {rounds.size} guesses "
            f"it asked about, {wrong} were wrong."
        ),
        gallery(_tiles(outcome, shown)),
    )


def _missed(outcome: DemoRuns) -> Html:
    rounds = np.flatnonzero(outcome.chosen.mistaken & ~outcome.chosen.asked)
    silent = int((~outcome.chosen.asked).sum())
    if not rounds.size:
        return section(
            "What it missed", prose(f"Of the {silent:,} digits it did not ask about, none was wrong.")
        )
    shown = rounds[-MISSED_SHOWN:]
    which = "all" if shown.size == rounds.size else f"the last {shown.size}"
    return section(
        "What it missed",
        prose(
            f"It did not ask about {silent:,} digits. Its guess was wrong for {rounds.size} of them, and "
            f"nobody told it. Here are {which}, in order."
        ),
        gallery(_tiles(outcome, shown)),
    )


def _again(outcome: DemoRuns) -> Html:
    line = (
        f"querist online digits --algorithm msg --rank {RANK} --laplacian combinatorial "
        f"--set gamma={GAMMA:g} --set h={H:g} "
    )
    return section(
        "Do it again",
        prose("The same seed gives the same page. Another seed is another order of the digits."),
        code(f"querist demo --seed {outcome.seed}"),
        prose("The same run as numbers, then the shuffles on which the settings were chosen:"),
        code(f"{line}--shuffles 1 --seed {outcome.seed}"),
        code(f"{line}--shuffles 20 --seed {TUNED_ON}"),
    )


def _tiles(outcome: DemoRuns, rounds: Codes) -> list[Tile]:
    graph, run = outcome.graph, outcome.chosen
    assert graph.attributes is not None
    assert graph.codes is not None
    tiles = []
    for t in rounds.tolist():
        node, wrong = int(run.node[t]), bool(run.mistaken[t])
        pixels = graph.attributes[[node]].toarray().reshape(8, 8)
        guess, truth = graph.classes[int(run.predicted[t])], graph.classes[int(graph.codes[node])]
        tiles.append(
            Tile(
                thumbnail(pixels, _WHITE_TO_BLACK),
                f"digit {truth}, guessed {guess}",
                f"{guess} ✗ {truth}" if wrong else f"{guess}",
                wrong,
            )
        )
    return tiles


def _at(grid: Codes, run: DemoRun) -> Floats:
    """The share wrong on the rest after each number of questions."""
    return np.interp(grid, run.questions, run.rest_wrong)


def _band(name: str, x: Codes, y: Floats) -> Curve:
    mean, std = y.mean(axis=0), y.std(axis=0)
    return Curve(name, x, mean, np.maximum(mean - std, 0.0), mean + std)
