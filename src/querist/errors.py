"""Errors and warnings about input, files and libraries.

Every error says what was given, what is needed and what to do. Each class is
also the built-in error a caller would expect, so `except ValueError` works.

>>> import querist
>>> issubclass(querist.errors.InputError, querist.errors.QueristError)
True
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any


class QueristError(Exception):
    """The family: catch this one to catch them all.

    >>> import querist
    >>> try:
    ...     querist.ALGORITHMS["mgs"]
    ... except QueristError as wrong:
    ...     print(type(wrong).__name__)
    UnknownNameError
    """


class InputError(QueristError, ValueError):
    """A value, array, graph or file that cannot be used as it is.

    >>> from querist.labels import checked_names
    >>> try:
    ...     checked_names(["cat", "cat"])
    ... except InputError as wrong:
    ...     print(type(wrong).__name__)
    InputError
    """


def refuse(faults: Mapping[str, Any]) -> None:
    """Raise an `InputError` with the first message that is true of what was given.

    >>> refuse({"budget -1; it must be 0 or more": -1 < 0})
    Traceback (most recent call last):
    ...
    querist.errors.InputError: budget -1; it must be 0 or more
    """
    for message, wrong in faults.items():
        if wrong:
            raise InputError(message)


class UnknownNameError(QueristError, KeyError):
    """A name that is not registered: a data set, an algorithm, a parameter.

    >>> print(UnknownNameError.of("colour", "gren", ["red", "green"]))
    unknown colour 'gren'; did you mean 'green'? known: green, red
    """

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])

    @classmethod
    def of(cls, kind: str, given: object, known: Iterable[str]) -> "UnknownNameError":
        """Say what was given, the nearest valid name, in capitals or not, and all of them."""
        names = sorted(known)
        spelled = {name.casefold(): name for name in reversed(names)}
        near = difflib.get_close_matches(str(given).casefold(), list(spelled), n=1)
        hint = f"did you mean {spelled[near[0]]!r}? " if near else ""
        return cls(f"unknown {kind} {given!r}; {hint}known: {', '.join(names) or 'none'}")


def shortened(value: object, most: int = 60) -> str:
    """A value as a message shows it, not too much of it.

    >>> shortened("ann"), shortened("a" * 9, 4)
    ("'ann'", "'aaa...")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def check_name(kind: str, given: object, known: Collection[str]) -> None:
    """Refuse a name that is none of those known.

    >>> check_name("colour", "red", ["red", "green"])
    >>> check_name("colour", "gren", ["red", "green"])
    Traceback (most recent call last):
    ...
    querist.errors.UnknownNameError: unknown colour 'gren'; did you mean 'green'? known: green, red
    """
    if given not in known:
        raise UnknownNameError.of(kind, given, known)


class MissingLibraryError(InputError, ImportError):
    """A library that only some of the work needs, and that is not installed; the message says what to do.

    >>> issubclass(MissingLibraryError, ImportError), issubclass(MissingLibraryError, InputError)
    (True, True)
    """


class TooLargeError(InputError, MemoryError):
    """A file or a piece of work that needs more memory than there is; nothing was allocated for it.

    >>> issubclass(TooLargeError, MemoryError), issubclass(TooLargeError, InputError)
    (True, True)
    """


class DownloadError(QueristError, OSError):
    """A data set that could not be fetched, or came with the wrong checksum.

    >>> issubclass(DownloadError, QueristError)
    True
    """


class SingularError(QueristError, RuntimeError):
    """A linear system that has no digits left: the caller knows which weights are to blame.

    >>> issubclass(SingularError, QueristError)
    True
    """


class ResidualWarning(UserWarning):
    """An eigen-solver stopped above its tolerance; `residual` says how far.

    >>> ResidualWarning("3 eigenvectors are not exact", residual=1e-3).residual
    0.001
    """

    def __init__(self, message: str, residual: float) -> None:
        super().__init__(message)
        self.residual = residual
