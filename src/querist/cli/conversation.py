"""A person answers: what is shown of a question, what a key does, and how far the campaign is."""

import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from querist.asking.answers import named_or_none
from querist.asking.nodes import NEIGHBOURS
from querist.cli.keyboard import Keyboard, legend
from querist.cli.screen import print_line, visible, width
from querist.labels import Code, named
from querist.tables.formats import some
from querist.tables.labels import in_words
from querist.tables.names import COLUMNS

if TYPE_CHECKING:
    from querist.asking.asking import Asking, Question
    from querist.asking.nodes import NodeDescriptions
    from querist.tables.names import NodeTexts

LONGEST = 200
"""Letters shown of one column; the rest is read on demand."""


def converse(asking: "Asking", texts: "NodeTexts", keyboard: Keyboard) -> None:
    """Put questions until the person leaves or none is left."""
    where = asking.store.path
    if asking.resumed:
        print_line(f"Going on after {some(asking.asked, 'answer')}, from {where}.")
    elif where is not None:
        print_line(f"Answers are kept in {where}; the same command goes on from there.")
    full = False
    while (question := asking.question) is not None:
        room = width()
        shown = [
            *map(visible, described(asking, question, texts, full)),
            legend(keyboard.names, room, keyboard.sending),
            progress_line(asking),
        ]
        print_line("\n".join(wrapped(shown, room)))
        print("> ", end="", flush=True)
        what, code = keyboard.read()
        if what == "leave":
            print_line("left")
            asking.leave("left by the person")
            return
        full = what == "more" and not full
        print_line("" if what == "more" else _taken(asking, what, code))


def _taken(asking: "Asking", what: str, code: Code) -> str:
    """Do what the key says; what to say of it."""
    if what == "answer":
        return f"{visible(in_words(asking.answer(named(code, asking.classes))))}: kept\n"
    if what == "undo":
        return "taken back\n" if asking.undo() else "there is no answer to take back\n"
    (asking.skip if what == "skip" else asking.unsure)()
    return f"{what}: kept\n"


def wrapped(lines: Sequence[str] | Iterator[str], room: int) -> list[str]:
    """Lines that fit the screen; what goes on is indented."""
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


# -- a question ---------------------------------------------------------------------------------------------


def described(
    asking: "Asking", question: "Question", texts: "NodeTexts", full: bool = False
) -> Iterator[str]:
    """What is shown of a question, by line; in `full` every column and every neighbour, uncut."""
    from querist.asking.nodes import NodeDescriptions

    nodes = NodeDescriptions(asking.state, asking.state, texts)
    node = nodes.full(question.row)
    called = texts.called(question.row, question.node)
    yield f"Question {question.number} of {asking.budget}: node {called}"
    values, count = node["values"], node["degree"]
    for column, text in values if full else values[:COLUMNS]:
        yield f"  {column}: {text if full else shortened(text)}"
    if not full and len(values) > COLUMNS:
        yield f"  and {len(values) - COLUMNS} more columns"
    near = [
        _labelled(each, asking.classes)
        for each in nodes.neighbours(question.row, None if full else NEIGHBOURS)
    ]
    if full:
        yield f"  {some(count, 'neighbour')}{':' if near else ''}"
        yield from (f"    {line}" for line in near)
    else:
        more = f" and {count - len(near)} more" if count > len(near) else ""
        yield f"  neighbours: {', '.join(near) or 'none'}{more}"
    yield f"  guess: {question.guess_in_words}"
    yield f"  why: {question.reason}"
    yield from (f"    {line}" for line in reasons(asking, question, nodes, most=5 if full else 2))


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return f"{text[:LONGEST]}{' ...' if len(text) > LONGEST else ''}"


def _labelled(node: Mapping[str, Any], classes: Sequence[Hashable]) -> str:
    """A node with its label; a guess has a `?`."""
    label = named_or_none(node["label"], classes)
    known = "" if node["known"] or label is None else "?"
    return f"{node['name']} ({'no guess' if label is None else in_words(label)}{known})"


def reasons(asking: "Asking", question: "Question", nodes: "NodeDescriptions", most: int) -> Iterator[str]:
    """Which answers pull this node to each of its two likeliest classes, by line."""
    found = asking.pulls(question.node, most)
    for name, own in groupby(found, key=lambda pull: pull.label):
        by = [(nodes.named(asking.graph.row_of[pull.node])["name"], pull) for pull in own]
        pulls = [f"{who}{' (neighbour)' if pull.adjacent else ''} {pull.weight:.2f}" for who, pull in by]
        yield f"towards {name}: {'; '.join(pulls)}"
    if not found and asking.asked:
        yield "no answer so far pulls it anywhere"


# -- how far it is ------------------------------------------------------------------------------------------


def progress_line(asking: "Asking") -> str:
    """How far the campaign is, and the expected accuracy (if known)."""
    parts = [f"{asking.asked} of {asking.budget} answers"]
    if asking.unanswered:
        parts.append(f"{asking.unanswered} unanswered (at most {asking.most_unanswered})")
    if (expected := asking.expected_accuracy) is not None:
        parts.append(f"expected accuracy {expected:.0%}")
    return f"[{_bar(asking.asked, asking.budget)}] {' | '.join(parts)}"


def _bar(done: int, total: int, size: int = 20) -> str:
    full = size if done >= total else size * done // total
    return "#" * full + "." * (size - full)
