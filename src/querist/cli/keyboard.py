"""One key from a terminal, or a line where there is none."""

import codecs
import os
import string
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from querist.errors import InputError

RESERVED = {"s": "skip", "?": "unsure", "u": "undo", "q": "leave"}
"""Keys that mean the same in every question."""

KEYS = [key for key in string.digits[1:] + string.ascii_lowercase if key not in RESERVED]
"""Keys of the classes, in order."""

TERMINAL = "/dev/tty"
ESCAPE, CTRL_D = "\x1b", "\x04"
PATIENCE = 0.05
"""Seconds in which the rest of an arrow key follows its first byte."""


def keys_for(count: int) -> list[str]:
    """What is typed for each class: one key, or beyond the keys that there are a number and Enter.

    >>> keys_for(3), keys_for(40)[38:]
    (['1', '2', '3'], ['39', '40'])
    """
    return KEYS[:count] if count <= len(KEYS) else [str(k + 1) for k in range(count)]


def legend(names: Sequence[str], width: int = 1000) -> str:
    """All keys and what they mean, in lines of at most this width where the names allow it."""
    own = [f"[{key}] {name}" for key, name in zip(keys_for(len(names)), names, strict=True)]
    lines = [""]
    for item in [*own, *(f"[{key}] {what}" for key, what in RESERVED.items())]:
        longer = f"{lines[-1]}   {item}" if lines[-1] else item
        if len(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(item)
    return "\n".join(lines)


class Keyboard:
    """What the person types.

    On a terminal a key is enough. Where the input is a file or a pipe, and where the classes outnumber the
    keys, it is a line; there a class may be called by its name too. When the edges came by way of the
    standard input (`taken`), the person types at the terminal itself.
    """

    def __init__(self, names: Sequence[str], taken: bool = False) -> None:
        self.names = list(names)
        self.keys = keys_for(len(self.names))
        self._file: IO[str] = _terminal() if taken else sys.stdin
        self.by_line = not self._file.isatty() or len(self.names) > len(KEYS)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> tuple[str, int]:
        """("answer", which class) or (one of `RESERVED`'s meanings, -1); "leave" when the input has ended."""
        while True:
            typed = self._line() if self.by_line else self._key()
            if typed is None:
                return "leave", -1
            if typed in RESERVED:
                return RESERVED[typed], -1
            if typed in self.keys:
                return "answer", self.keys.index(typed)
            if self.by_line and typed in self.names:
                return "answer", self.names.index(typed)
            if typed:
                print(f"  {typed!r} is none of the keys", flush=True)

    def _line(self) -> str | None:
        line = self._file.readline()
        return line.strip() if line else None

    def _key(self) -> str | None:
        """The next key, lower case; nothing for one that is no character; None at the end."""
        with _single_keys(self._file.fileno()):
            key = self._next()
            if key == ESCAPE:
                self._pass_over()
                return ""
        # Ctrl-D ends the input, as it would a line.
        return None if key in ("", CTRL_D) else key.strip().lower()

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


def _terminal() -> IO[str]:
    try:
        return open(TERMINAL, encoding="utf-8", errors="replace")
    except OSError:
        raise InputError(
            "the edges come by way of the standard input, and there is no terminal to answer at; give the "
            "edges as a file"
        ) from None


@contextmanager
def _single_keys(terminal: int) -> Iterator[None]:
    """The terminal gives every key at once, and shows none; Ctrl-C still interrupts."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: a key and Enter
        yield
        return
    before = termios.tcgetattr(terminal)
    try:
        # Keys that were typed before the question was shown stay: a quick hand is not punished.
        tty.setcbreak(terminal, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
