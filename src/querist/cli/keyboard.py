"""One key from a terminal, or a line where there is none."""

import string
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

RESERVED = {"s": "skip", "?": "unsure", "u": "undo", "q": "leave"}
"""Keys that mean the same in every question."""

KEYS = [key for key in string.digits[1:] + string.ascii_lowercase if key not in RESERVED]
"""Keys of the classes, in order."""


def keys_for(count: int) -> list[str]:
    """What is typed for each class: one key, or beyond the keys that there are a number and Enter.

    >>> keys_for(3), keys_for(40)[38:]
    (['1', '2', '3'], ['39', '40'])
    """
    return KEYS[:count] if count <= len(KEYS) else [str(k + 1) for k in range(count)]


def legend(names: Sequence[str]) -> str:
    """All keys and what they mean, in one text."""
    own = [f"[{key}] {name}" for key, name in zip(keys_for(len(names)), names, strict=True)]
    return "   ".join([*own, *(f"[{key}] {what}" for key, what in RESERVED.items())])


class Keyboard:
    """What the person types; `count` classes can be answered.

    On a terminal a key is enough. Where the input is a file or a pipe, and where the classes outnumber the
    keys, it is a line; there a class may be called by its name too.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.keys = keys_for(len(self.names))
        self.by_line = not sys.stdin.isatty() or len(self.names) > len(KEYS)

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
        line = sys.stdin.readline()
        return line.strip() if line else None

    def _key(self) -> str | None:
        with _single_keys():
            key = sys.stdin.read(1)
        # Ctrl-D ends the input, as it would a line.
        return None if key in ("", "\x04") else key.strip().lower()


@contextmanager
def _single_keys() -> Iterator[None]:
    """The terminal gives every key at once, and shows none; Ctrl-C still interrupts."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: a key and Enter
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        # Keys that were typed before the question was shown stay: a quick hand is not punished.
        tty.setcbreak(terminal, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
