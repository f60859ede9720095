"""A person answers: what is shown of a question, one key from a terminal, or a line where there is none."""

import codecs
import os
import re
import select
import sys
import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

from querist.asking.answers import named_or_none
from querist.asking.keys import COMMANDS, command_keys, keys_for
from querist.asking.nodes import NEIGHBOURS
from querist.asking.policy import most_unanswered
from querist.cli.screen import print_line, visible, width
from querist.errors import InputError
from querist.labels import Code, named
from querist.tables.formats import some
from querist.tables.labels import BETWEEN, EMPTY_SET, in_words
from querist.tables.names import COLUMNS

if TYPE_CHECKING:
    from querist.asking.campaign import Asking, Question
    from querist.asking.nodes import NodeDescriptions
    from querist.tables.names import NodeTexts

LONGEST = 200
"""Letters shown of one column; the rest is read on demand."""
TERMINAL = "CONIN$" if sys.platform == "win32" else "/dev/tty"
CTRL_D, AT_ONCE_BYTES = "\x04", 1024
NO_CHARACTER = re.compile(r"\x1b(?:[\[O][^@-~]*[@-~]?|[^\x1b])?")
"""An arrow key, Alt and a letter, or the like, whose letters are no answers (ECMA-48, 5.4)."""
BEGUN = re.compile(rb"\x1b(?:[\[O][^@-~]*)?$")
REST_SECONDS = 0.05
"""How long the rest of such a key is awaited: a slow connection may deliver it in pieces."""


def converse(asking: "Asking", texts: "NodeTexts", keyboard: "Keyboard") -> None:
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
        parts.append(f"{asking.unanswered} unanswered (at most {most_unanswered(asking.state)})")
    if (expected := asking.expected_accuracy) is not None:
        parts.append(f"expected accuracy {expected:.0%}")
    return f"[{_bar(asking.asked, asking.budget)}] {' | '.join(parts)}"


def _bar(done: int, total: int, size: int = 20) -> str:
    full = size if done >= total else size * done // total
    return "#" * full + "." * (size - full)


# -- what is typed ------------------------------------------------------------------------------------------


def legend(names: Sequence[str], width: int = 1000, sending: str = "") -> str:
    """All keys and what they mean, in lines of at most this width where the names allow it; `sending` is
    what is said of how an answer of several classes is sent."""
    keys = keys_for(names)
    shown = [visible(name) for name in names]
    own = [f"[{visible(key)}] {name}" for key, name in zip(keys, shown, strict=True)] if keys else shown
    others = [
        f"[{'space' if key == ' ' else key}] {COMMANDS[what][1]}" for what, key in command_keys(names).items()
    ]
    lines = [""]
    for item in [*own, *([sending] if sending else []), *others]:
        longer = f"{lines[-1]}   {item}" if lines[-1] else item
        if len(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(item)
    return "\n".join(lines)


class Keyboard:
    """What the person types.

    On a terminal a key is enough. Where the input is a file or a pipe, where the classes outnumber the keys,
    and where the system gives only whole lines (Windows), it is a line: a key, the name of a class or its
    beginning, or the name of a command. When the edges came by the standard input (`taken`), the person types
    at the terminal itself.

    Where an answer is a set (`multilabel`), keys mark classes, or take the mark away, and Enter sends them. A
    line has `;` between classes, and alone it is the empty set.
    """

    def __init__(self, names: Sequence[str], taken: bool = False, multilabel: bool = False) -> None:
        self.names, self.multilabel = list(names), multilabel
        keys = keys_for(self.names)
        self._file: IO[str] = _terminal() if taken else standard_input()
        self.by_line = not self._file.isatty() or keys is None or not _gives_single_keys()
        # A class goes before a command, a key before a name; of equal names the first is meant.
        meanings = {key: (what, -1) for what, key in command_keys(self.names).items()}
        if self.by_line:
            meanings = {what: (what, -1) for what in COMMANDS} | meanings
        for texts in (self.names if self.by_line else (), keys or ()):
            meanings |= {text: ("answer", k) for k, text in reversed(list(enumerate(texts)))}
        self._meanings: dict[str, tuple[str, int]] = meanings
        self._decoder, self._typed = codecs.getincrementaldecoder("utf-8")("replace"), ""

    @property
    def sending(self) -> str:
        """How an answer of several classes is sent; nothing where an answer is one class."""
        if not self.multilabel:
            return ""
        return f"[{BETWEEN}] between them, alone: {EMPTY_SET}" if self.by_line else "[Enter] these, or none"

    def read(self) -> tuple[str, Code]:
        """("answer", which class or classes) or (one of `COMMANDS`, -1); "leave" when the input has ended."""
        marked = set[int]()
        while (typed := self._line() if self.by_line else self._key()) is not None:
            if self.multilabel and not self.by_line and typed in ("\n", "\r"):
                return "answer", tuple(sorted(marked))
            parts = typed.split(BETWEEN) if self.multilabel and self.by_line and typed.strip() else [typed]
            meant = [self._meaning(part) for part in parts if part.strip() or part == typed]
            codes = {each[1] for each in meant if each is not None and each[0] == "answer"}
            if self.multilabel and typed.strip() and all(each and each[0] == "answer" for each in meant):
                if self.by_line:
                    return "answer", tuple(sorted(codes))
                marked ^= codes
                names = f"{BETWEEN} ".join(self.names[code] for code in sorted(marked))
                print(f"  {names or EMPTY_SET}", flush=True)
            elif len(meant) == 1 and meant[0] is not None:
                return meant[0]
            elif typed.strip():
                print(f"  {typed!r} is none of the keys", flush=True)
        return "leave", -1

    def _meaning(self, typed: str) -> tuple[str, int] | None:
        """What a key stands for; of a line also the only class whose name begins so, before another case."""
        line = typed.strip()
        begun = [k for k, name in enumerate(self.names) if name.lower().startswith(line.lower())]
        only = ("answer", begun[0]) if self.by_line and line and len(begun) == 1 else None
        exact = next((self._meanings[form] for form in (typed, line) if form in self._meanings), only)
        return exact or self._meanings.get(line.lower()) or self._meanings.get(line.upper())

    def _line(self) -> str | None:
        line = self._file.readline()
        return (line.strip() or line.rstrip("\r\n")) if line else None

    def _key(self) -> str | None:
        """The next key; nothing for one that is no character; None at the end."""
        if not self._typed:
            file = self._file.fileno()
            with _single_keys(file), suppress(OSError):  # the terminal is gone
                # Not by the file, which would keep what was typed ahead where nobody sees it.
                data = os.read(file, AT_ONCE_BYTES)
                while BEGUN.search(data) and select.select([file], [], [], REST_SECONDS)[0]:
                    if not (more := os.read(file, AT_ONCE_BYTES)):
                        break
                    data += more
                self._typed = NO_CHARACTER.sub("", self._decoder.decode(data))
                if data and not self._typed:
                    return ""
        key, self._typed = self._typed[:1], self._typed[1:]
        # Ctrl-D ends the input, as it would a line.
        return None if key in ("", CTRL_D) else key


def standard_input() -> IO[str]:
    """Where answers come from; refused where it is closed."""
    if sys.stdin is None:
        raise InputError(
            "there is no standard input to answer at: it is closed; run it at a terminal, or let --oracle or "
            "--oracle-command answer"
        )
    return sys.stdin


def _terminal() -> IO[str]:
    try:
        return open(TERMINAL, encoding="utf-8", errors="replace")
    except OSError:
        raise InputError(
            "the edges come by way of the standard input, and there is no terminal to answer at; give the "
            "edges as a file"
        ) from None


def _gives_single_keys() -> bool:
    """Whether the system can be asked for a key without Enter after it."""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def _single_keys(terminal: int) -> Iterator[None]:
    """The terminal gives every key at once, and shows none; Ctrl-C still interrupts."""
    import termios
    import tty

    before = termios.tcgetattr(terminal)
    try:
        # Keys that were typed before the question was shown stay: a quick hand is not punished.
        tty.setcbreak(terminal, termios.TCSANOW)
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)
