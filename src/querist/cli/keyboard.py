"""One key from a terminal, or a line where there is none."""

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from querist.asking.keys import COMMANDS, command_keys, keys_for
from querist.cli.screen import visible
from querist.errors import InputError
from querist.labels import Code
from querist.tables.labels import BETWEEN, EMPTY_SET

TERMINAL = "CONIN$" if sys.platform == "win32" else "/dev/tty"
ESCAPE, CTRL_D = "\x1b", "\x04"
PATIENCE = 0.05
"""Seconds in which the rest of an arrow key follows its first byte."""


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
        self.names = list(names)
        keys = keys_for(self.names)
        self.keys = keys or []
        self.commands = {key: what for what, key in command_keys(self.names).items()}
        self._file: IO[str] = _terminal() if taken else standard_input()
        self.by_line = not self._file.isatty() or keys is None or not _gives_single_keys()
        self.multilabel = multilabel
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def sending(self) -> str:
        """How an answer of several classes is sent; nothing where an answer is one class."""
        if not self.multilabel:
            return ""
        return f"[{BETWEEN}] between them, alone: {EMPTY_SET}" if self.by_line else "[Enter] these, or none"

    def read(self) -> tuple[str, Code]:
        """("answer", which class or classes) or (one of `COMMANDS`, -1); "leave" when the input has ended."""
        marked = set[int]()
        while True:
            typed = self._line() if self.by_line else self._key()
            if typed is None:
                return "leave", -1
            if self.multilabel and self.by_line and (codes := self._several(typed)) is not None:
                return "answer", codes
            if self.multilabel and not self.by_line and typed in ("\n", "\r"):
                return "answer", tuple(sorted(marked))
            found = self._found(typed)
            if found is None and typed.strip():
                print(f"  {typed!r} is none of the keys", flush=True)
            elif found is not None and (found[0] != "answer" or not self.multilabel):
                return found
            elif found is not None:
                marked ^= {found[1]}
                names = f"{BETWEEN} ".join(self.names[code] for code in sorted(marked))
                print(f"  {names or EMPTY_SET}", flush=True)

    def _found(self, typed: str) -> tuple[str, int] | None:
        meant = (self._meant(form) for form in (typed, typed.lower(), typed.upper()))
        return next((each for each in meant if each is not None), None)

    def _several(self, line: str) -> tuple[int, ...] | None:
        """The classes in a line; None where it is something else."""
        found = [self._found(part) for each in line.split(BETWEEN) if (part := each.strip())]
        if not line.strip() or not all(each is not None and each[0] == "answer" for each in found):
            return None
        return tuple(sorted({each[1] for each in found if each is not None}))

    def _meant(self, typed: str) -> tuple[str, int] | None:
        """What was typed means; a class goes before a command, a whole name before the beginning of one."""
        if typed in self.keys:
            return "answer", self.keys.index(typed)
        if self.by_line and typed in self.names:
            return "answer", self.names.index(typed)
        if typed in self.commands:
            return self.commands[typed], -1
        if self.by_line and typed in COMMANDS:
            return typed, -1
        begun = [k for k, name in enumerate(self.names) if name.lower().startswith(typed.lower())]
        return ("answer", begun[0]) if self.by_line and typed and len(begun) == 1 else None

    def _line(self) -> str | None:
        line = self._file.readline()
        return (line.strip() or line.rstrip("\r\n")) if line else None

    def _key(self) -> str | None:
        """The next key; nothing for one that is no character; None at the end."""
        with _single_keys(self._file.fileno()):
            key = self._next()
            if key == ESCAPE:
                self._pass_over()
                return ""
        # Ctrl-D ends the input, as it would a line.
        return None if key in ("", CTRL_D) else key

    def _next(self) -> str:
        """One character; nothing at the end of the input."""
        while True:
            try:
                # Not by the file, which would keep what follows where select cannot see it.
                byte = os.read(self._file.fileno(), 1)
            except OSError:  # the terminal is gone
                return ""
            if not byte:
                return ""
            if found := self._decoder.decode(byte):
                return found

    def _pass_over(self) -> None:
        """Take the rest of an arrow key or the like, whose letters are no answers (ECMA-48, 5.4)."""
        if not self._waiting():
            return
        if self._next() in ("[", "O"):
            while self._waiting() and not "@" <= self._next() <= "~":
                pass

    def _waiting(self) -> bool:
        import select

        return bool(select.select([self._file.fileno()], [], [], PATIENCE)[0])


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
