"""One key from a terminal, or a line where there is none."""

import codecs
import os
import re
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
CTRL_D, AT_ONCE_BYTES = "\x04", 1024
NO_CHARACTER = re.compile(r"\x1b(?:[\[O][^@-~]*[@-~]?)?")
"""An arrow key or the like, whose letters are no answers (ECMA-48, 5.4)."""


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
        """What a key stands for; of a line also the only class whose name begins so."""
        for form in (typed, typed.strip(), typed.strip().lower(), typed.strip().upper()):
            if form in self._meanings:
                return self._meanings[form]
        begun = [k for k, name in enumerate(self.names) if name.lower().startswith(typed.strip().lower())]
        return ("answer", begun[0]) if self.by_line and typed.strip() and len(begun) == 1 else None

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
