"""A person answers: what is shown of a question, what a key does, and what the answers brought so far."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from querist.asking.answers import Code, in_words, named
from querist.asking.texts import COLUMNS
from querist.cli.keyboard import Keyboard, legend
from querist.cli.screen import print_line, visible, width
from querist.tables.formats import some
from querist.types import Codes

if TYPE_CHECKING:
    from querist.asking.asking import Asking, Question
    from querist.asking.texts import NodeTexts

NEIGHBOURS = 8
"""Shown of a node; the rest is counted, and read on demand."""
LONGEST = 200
"""Letters shown of one column; the rest is read on demand."""
LAST = 5
"""Answers of which is said what they brought."""
PAGE_OFF_SCREEN = 40
"""Lines of a page where there is no screen."""


def converse(asking: "Asking", texts: "NodeTexts", keyboard: Keyboard) -> None:
    """Put questions until the person leaves or none is left."""
    where = asking.journal.path
    if asking.resumed:
        print_line(f"Going on after {some(asking.asked, 'answer')}, from {where}.")
    elif where is not None:
        print_line(f"Answers are kept in {where}; the same command goes on from there.")
    sitting, page, pages = Sitting(asking), 0, list[list[str]]()
    while (question := asking.question) is not None:
        room = width()
        if page:
            lines = [*pages[page - 1], f"(page {page} of {len(pages)})"]
        else:
            lines = wrapped(map(visible, described(asking, question, texts)), room)
        for line in (
            *lines,
            *wrapped([legend(keyboard.names, room, keyboard.sending), sitting.line()], room),
        ):
            print_line(line)
        print("> ", end="", flush=True)
        what, code = keyboard.read()
        if what == "leave":
            print_line("left")
            asking.leave("left by the person")
            return
        if what == "more":
            pages = pages or _pages(wrapped(map(visible, in_full(asking, question, texts)), room))
            page = (page + 1) % (len(pages) + 1)  # after the last page the question is shown again
            print_line("")
            continue
        page, pages = 0, []
        print_line(_taken(asking, what, code))
        sitting.note()


def _taken(asking: "Asking", what: str, code: Code) -> str:
    """Do what the key says; what to say of it."""
    if what == "answer":
        return f"{visible(in_words(asking.answer(named(code, asking.classes))))}: kept\n"
    if what == "undo":
        return "taken back\n" if asking.undo() else "there is no answer to take back\n"
    (asking.skip if what == "skip" else asking.unsure)()
    return f"{what}: kept\n"


def wrapped(lines: Sequence[str] | Iterator[str], room: int) -> list[str]:
    """Lines that fit the screen; what goes on is indented, and pictures stay as they are."""
    return [
        part
        for text in lines
        for line in text.split("\n")
        for part in (
            [line]
            if len(line) <= room
            else textwrap.wrap(line, room, subsequent_indent="    ", break_on_hyphens=False)
        )
    ]


def _pages(lines: Sequence[str]) -> list[list[str]]:
    """Lines by the screenful, with room left for the keys."""
    high = shutil.get_terminal_size().lines - 6 if sys.stdout.isatty() else PAGE_OFF_SCREEN
    size = max(5, high)
    return [list(lines[first : first + size]) for first in range(0, len(lines), size)]


# -- a question ---------------------------------------------------------------------------------------------


def described(asking: "Asking", question: "Question", texts: "NodeTexts") -> Iterator[str]:
    """What is shown of a question, by line."""
    yield f"Question {question.number} of {asking.budget}: {texts.heading(question)}"
    yield from texts.picture(question.row)
    values = texts.values(question.row)
    for name, text in values[:COLUMNS]:
        yield f"  {name}: {text[:LONGEST]}{' ...' if len(text) > LONGEST else ''}"
    if len(values) > COLUMNS:
        yield f"  and {len(values) - COLUMNS} more columns"
    near, count = _neighbours(asking, question, texts, NEIGHBOURS)
    more = f" and {count - len(near)} more" if count > len(near) else ""
    yield f"  neighbours: {', '.join(near) or 'none'}{more}"
    yield f"  guess: {_guess(question)}"
    yield f"  why: {question.reason}"
    yield from (f"    {line}" for line in reasons(asking, question, texts, most=2))


def in_full(asking: "Asking", question: "Question", texts: "NodeTexts") -> Iterator[str]:
    """All that is known of a question: every column and every neighbour, uncut."""
    yield f"Question {question.number} of {asking.budget}: {texts.heading(question)}"
    for name, text in texts.values(question.row):
        yield f"  {name}: {text}"
    near, count = _neighbours(asking, question, texts)
    yield f"  {some(count, 'neighbour')}{':' if near else ''}"
    yield from (f"    {line}" for line in near)
    yield f"  guess: {_guess(question)}"
    yield f"  why: {question.reason}"
    yield from (f"    {line}" for line in reasons(asking, question, texts, most=5))


def _neighbours(
    asking: "Asking", question: "Question", texts: "NodeTexts", most: int | None = None
) -> tuple[list[str], int]:
    """Neighbours with their labels, those answered first, a guess with a `?`; and how many there are."""
    near = sorted(asking.neighbours(question.node), key=lambda each: not each[2])
    shown = [
        f"{texts.name_of(asking, node)} ({'no guess' if name is None else in_words(name)}"
        f"{'' if known or name is None else '?'})"
        for node, name, known in near[:most]
    ]
    return shown, len(near)


def _guess(question: "Question") -> str:
    if question.guess is None or question.probability is None:
        return "none yet"
    second = ""
    if question.second is not None and question.second_probability is not None:
        second = f", then {in_words(question.second)} {question.second_probability:.0%}"
    each = ""
    if question.probabilities is not None:
        falling = sorted(question.probabilities.items(), key=lambda own: -own[1])[:COLUMNS]
        each = f" ({', '.join(f'{name} {chance:.0%}' for name, chance in falling)})"
    return f"{in_words(question.guess)} {question.probability:.0%}{second}{each}"


def reasons(asking: "Asking", question: "Question", texts: "NodeTexts", most: int) -> Iterator[str]:
    """Which answers pull this node to each of its two likeliest classes, by line."""
    found = asking.pulls(question.node, most)
    for name, own in groupby(found, key=lambda pull: pull.label):
        by = [(texts.name_of(asking, pull.node), pull) for pull in own]
        pulls = [f"{who}{' (neighbour)' if pull.adjacent else ''} {pull.weight:.2f}" for who, pull in by]
        yield f"towards {name}: {'; '.join(pulls)}"
    if not found and asking.asked:
        yield "no answer so far pulls it anywhere"


# -- what came of the answers -------------------------------------------------------------------------------


class Sitting:
    """What the answers of this sitting brought: the expected accuracy, and the guesses that changed."""

    def __init__(self, asking: "Asking") -> None:
        self.asking = asking
        self._asked, self._past = asking.asked, [self._now()]

    def note(self) -> None:
        """Something was done; where that was an answer, given or taken back, it counts."""
        more = self.asking.asked - self._asked
        if more > 0:
            self._past.append(self._now())
        elif more < 0:
            self._past = self._past[:-1] or [self._now()]
        self._asked = self.asking.asked

    def line(self) -> str:
        """How far the campaign is, how right the labels would be now, and what the last answers changed."""
        asking, (expected, guesses) = self.asking, self._past[-1]
        parts = [f"{asking.asked} of {asking.budget} answers"]
        if asking.unanswered:
            parts.append(f"{asking.unanswered} of {asking.most_unanswered} left unanswered")
        if expected is not None:
            parts.append(f"expected accuracy {expected:.0%}")
        before, old = self._past[-1 - LAST] if len(self._past) > LAST else self._past[0]
        given = min(LAST, len(self._past) - 1)
        if given:
            gain = "" if before is None or expected is None else f" {100 * (expected - before):+.1f} points,"
            changed = int((guesses != old[: len(guesses)]).any(axis=1).sum())
            which = f"the last {given} answers" if given > 1 else "the last answer"
            parts.append(f"{which}:{gain} {some(changed, 'guess', 'es')} changed")
        return f"[{_bar(asking.asked, asking.budget)}] {' | '.join(parts)}"

    def _now(self) -> tuple[float | None, Codes]:
        model = self.asking.state.model
        own = np.packbits(model.scores > 0, axis=1) if model.several else model.scores.argmax(axis=1)[:, None]
        return self.asking.expected_accuracy, np.where(model.reached[:, None], own.astype(np.int64), -1)


def _bar(done: int, total: int, size: int = 20) -> str:
    full = size if done >= total else size * done // total
    return "#" * full + "." * (size - full)
