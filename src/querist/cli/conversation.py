"""A person answers: what is shown of a question, what a key does, and what the answers brought so far."""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from querist.cli.keyboard import Keyboard, legend
from querist.cli.screen import print_line, width
from querist.errors import InputError
from querist.tables.formats import some
from querist.tables.names import NAME, listing, named, node_column
from querist.types import Codes, Floats

if TYPE_CHECKING:
    from querist.asking.asking import Asking, Question

NEIGHBOURS = 8
"""Shown of a node; the rest is counted, and read on demand."""
COLUMNS = 12
"""Shown of a node's row in the table; the rest is counted, and read on demand."""
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
            lines = wrapped(described(asking, question, texts), room)
        for line in (*lines, *wrapped([legend(keyboard.names, room), sitting.line()], room)):
            print_line(line)
        print("> ", end="", flush=True)
        what, code = keyboard.read()
        if what == "leave":
            print_line("left")
            asking.leave("left by the person")
            return
        if what == "more":
            pages = pages or _pages(wrapped(in_full(asking, question, texts), room))
            page = (page + 1) % (len(pages) + 1)  # after the last page the question is shown again
            print_line("")
            continue
        page, pages = 0, []
        print_line(_taken(asking, what, code))
        sitting.note()


def _taken(asking: "Asking", what: str, code: int) -> str:
    """Do what the key says; what to say of it."""
    if what == "answer":
        asking.answer(asking.classes[code])
        return f"{asking.classes[code]}: kept\n"
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
        f"{texts.name_of(asking, node)} ({'no guess' if name is None else name if known else f'{name}?'})"
        for node, name, known in near[:most]
    ]
    return shown, len(near)


def _guess(question: "Question") -> str:
    if question.guess is None or question.probability is None:
        return "none yet"
    second = ""
    if question.second is not None and question.second_probability is not None:
        second = f", then {question.second} {question.second_probability:.0%}"
    return f"{question.guess} {question.probability:.0%}{second}"


def reasons(asking: "Asking", question: "Question", texts: "NodeTexts", most: int) -> Iterator[str]:
    """Which answers pull this node to each of its two likeliest classes, by line."""
    found = asking.pulls(question.node, most)
    for name, own in groupby(found, key=lambda pull: pull.label):
        by = [(texts.name_of(asking, pull.node), pull) for pull in own]
        pulls = [f"{who}{' (neighbour)' if pull.adjacent else ''} {pull.weight:.2f}" for who, pull in by]
        yield f"towards {name}: {'; '.join(pulls)}"
    if not found and asking.asked:
        yield "no answer so far pulls it anywhere"


# -- the table of nodes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeTexts:
    """What a table says of the first nodes: their names, their rows, pictures where columns are pixels."""

    table: Any = None
    node: str | None = None
    name: str | None = None

    @staticmethod
    def of(table: Any, node: str | None = None, name: str | None = None) -> "NodeTexts":
        """`node` is the column of the ids, `name` the one that nodes are shown by, unless of a usual name."""
        if table is None:
            if name is not None:
                raise InputError(f"--name-column {name}: there is no table of nodes; give one as --nodes")
            return NodeTexts()
        columns = table.column_names
        if name is not None and name not in columns:
            raise InputError(f"--name-column {name}: no such column; there are {listing(columns)}")
        ids = node_column(columns, name=node if node in columns else None)
        return NodeTexts(table, ids, name or named(columns, NAME, but=(ids,)))

    def heading(self, question: "Question") -> str:
        """The node in question, with its name where it has one."""
        name = self._text(self.name, question.row)
        return f"node {question.node}{f', {name}' if name else ''}"

    def name_of(self, asking: "Asking", node: Any) -> str:
        """What a node is called: by its name, or its id where it has none."""
        return self._text(self.name, asking.graph.row_of[node]) or str(node)

    def values(self, row: int) -> list[tuple[str, str]]:
        """A node's row but for its id, name, pixels and what is empty; of a wide table also but for zeros."""
        if self.table is None:
            return []
        left_out = {self.node, self.name, *self._pixels}
        names = [name for name in self.table.column_names if name not in left_out]
        found = [(name, self._text(name, row)) for name in names]
        wide = len(names) > COLUMNS
        return [(name, text) for name, text in found if text and not (wide and text in ("0", "0.0", "False"))]

    def picture(self, row: int) -> list[str]:
        """The pixels of a node as lines of half blocks; none where its columns are no picture."""
        if not self._pixels or row >= self.table.num_rows:
            return []
        side = round(len(self._pixels) ** 0.5)
        pixels = np.array([self.table[name][row].as_py() or 0.0 for name in self._pixels], dtype=np.float64)
        return [f"    {line}".rstrip() for line in half_blocks(pixels.reshape(side, side))]

    @cached_property
    def _pixels(self) -> list[str]:
        """Columns that are numbered from 0 or 1, as many as a square has fields, and hold numbers."""
        if self.table is None:
            return []
        numbered = [re.fullmatch(r"(\D*)(\d+)", name) for name in self.table.column_names]
        found = [each for each in numbered if each is not None]
        side = round(len(found) ** 0.5)
        numbers = [int(each[2]) for each in found]
        square = side >= 4 and side * side == len(found) and len({each[1] for each in found}) == 1
        in_order = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        return [each[0] for each in found] if square and in_order and numbers[0] in (0, 1) else []

    def _text(self, column: str | None, row: int) -> str:
        if column is None or row >= self.table.num_rows:
            return ""
        value = self.table[column][row].as_py()
        return "" if value is None or value != value else " ".join(str(value).split())  # noqa: PLR0124


def half_blocks(pixels: Floats, scale: int = 2) -> list[str]:
    """A grey picture (h, w), 0 for paper, in characters whose upper and lower halves are pixels.

    Each pixel becomes `scale` by `scale`, smoothed in between, and is ink where it is dark enough.

    >>> half_blocks(np.array([[0.0, 9.0], [9.0, 9.0]]), scale=1)
    ['▄█']
    """
    fine = [np.linspace(0, size - 1, scale * size) for size in pixels.shape]
    rows = np.array([np.interp(fine[1], np.arange(pixels.shape[1]), row) for row in pixels])
    dark = np.array([np.interp(fine[0], np.arange(pixels.shape[0]), column) for column in rows.T]).T
    ink = dark > INK_FROM * max(float(pixels.max()), 1e-300)
    if len(ink) % 2:
        ink = np.vstack([ink, np.zeros((1, ink.shape[1]), dtype=bool)])
    return [
        "".join(" ▀▄█"[upper + 2 * lower] for upper, lower in zip(top, bottom, strict=True))
        for top, bottom in zip(ink[::2].astype(int), ink[1::2].astype(int), strict=True)
    ]


INK_FROM = 0.45
"""The share of the darkest pixel from which one is drawn."""


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
            changed = int((guesses != old[: len(guesses)]).sum())
            which = f"the last {given} answers" if given > 1 else "the last answer"
            parts.append(f"{which}:{gain} {some(changed, 'guess', 'es')} changed")
        return f"[{_bar(asking.asked, asking.budget)}] {' | '.join(parts)}"

    def _now(self) -> tuple[float | None, Codes]:
        model = self.asking.state.model
        return self.asking.expected_accuracy, np.where(model.reached, model.scores.argmax(axis=1), -1)


def _bar(done: int, total: int, size: int = 20) -> str:
    full = size if done >= total else size * done // total
    return "#" * full + "." * (size - full)
