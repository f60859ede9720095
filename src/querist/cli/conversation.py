"""A person answers: what is shown of a question, and what a key does."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from querist.cli.keyboard import Keyboard, legend
from querist.cli.screen import print_line, width

if TYPE_CHECKING:
    from querist.asking.asking import Asking, Question

NEIGHBOURS = 8
"""Shown of a node; the rest is counted."""
COLUMNS = 12
"""Shown of a node's row in the table; the rest is counted."""
LONGEST = 200
"""Letters shown of one column."""


def converse(asking: "Asking", table: Any, keyboard: Keyboard) -> None:
    """Put questions until the person leaves or none is left; the first nodes have a row in `table`."""
    where = asking.journal.path
    if asking.resumed:
        print_line(f"Going on after {asking.asked} questions, from {where}.")
    elif where is not None:
        print_line(f"Answers are kept in {where}; the same command goes on from there.")
    while (question := asking.question) is not None:
        room = width()
        for line in described(asking, question, table):
            print_line(textwrap.fill(line, room, subsequent_indent="    ", break_on_hyphens=False))
        print_line(legend(keyboard.names, room))
        print("> ", end="", flush=True)
        what, code = keyboard.read()
        if what == "leave":
            print_line("left")
            asking.leave("left by the person")
            return
        print_line(_taken(asking, what, code))


def _taken(asking: "Asking", what: str, code: int) -> str:
    """Do what the key says; what to say of it."""
    if what == "answer":
        asking.answer(asking.classes[code])
        return f"{asking.classes[code]}: kept\n"
    if what == "undo":
        return "taken back\n" if asking.undo() else "there is no answer to take back\n"
    (asking.skip if what == "skip" else asking.unsure)()
    return f"{what}: kept\n"


def described(asking: "Asking", question: "Question", table: Any) -> Iterator[str]:
    """What is shown of a question, by line."""
    yield f"Question {question.number} of {asking.budget}: node {question.node}"
    if table is not None and question.row < table.num_rows:
        yield from _row(table, question.row)
    near = asking.neighbours(question.node)
    shown = [
        f"{node} ({'no guess' if name is None else name if known else f'{name}?'})"
        for node, name, known in near[:NEIGHBOURS]
    ]
    more = f" and {len(near) - NEIGHBOURS} more" if len(near) > NEIGHBOURS else ""
    yield f"  neighbours: {', '.join(shown) or 'none'}{more}"
    yield f"  guess: {_guess(question)}"
    yield f"  why: {question.reason}"


def _row(table: Any, row: int) -> Iterator[str]:
    """A node's row, but for its id and what is empty; of a wide table also but for zeros."""
    from querist.tables.names import node_column

    names = [name for name in table.column_names if name != node_column(table.column_names)]
    wide = len(names) > COLUMNS
    filled = []
    for name in names:
        value = table[name][row].as_py()
        text = "" if value is None or value != value else " ".join(str(value).split())  # noqa: PLR0124
        if text and not (wide and value in (0, False)):
            filled.append((name, text))
    for name, text in filled[:COLUMNS]:
        yield f"  {name}: {text[:LONGEST]}{' ...' if len(text) > LONGEST else ''}"
    if len(filled) > COLUMNS:
        yield f"  and {len(filled) - COLUMNS} more columns"


def _guess(question: "Question") -> str:
    if question.guess is None or question.probability is None:
        return "none yet"
    second = ""
    if question.second is not None and question.second_probability is not None:
        second = f", then {question.second} {question.second_probability:.0%}"
    return f"{question.guess} {question.probability:.0%}{second}"
