"""Public names of a room that are loaded when first used, so that an import is quick."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

from querist.errors import MissingLibraryError


def names_of(
    room: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a room whose public names live in the modules `homes`.

    A module is named from the room, as `.labelling`; a name that is a module of the room itself has "".

    >>> get, names, _ = names_of("querist", {"InputError": ".errors", "labels": ""})
    >>> get("InputError").__name__, get("labels").__name__, names()
    ('InputError', 'querist.labels', ['InputError', 'labels'])
    """
    public = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module = importlib.import_module(homes[name] or f".{name}", room)
        return getattr(module, name) if homes[name] else module

    return get, lambda: public, public


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """While a library of an extra is imported: where it is missing, say what to install, and for what.

    >>> with needing("files", "a parquet file"):
    ...     import no_such_library
    Traceback (most recent call last):
    ...
    querist.errors.MissingLibraryError: a parquet file needs no_such_library; pip install 'querist[files]'
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        name = (missing.name or "a library").partition(".")[0]
        if name == "querist":
            raise
        raise MissingLibraryError(f"{what} needs {name}; pip install 'querist[{extra}]'") from None


class Library:
    """A module of another library that is imported when something of it is first asked for.

    `extra` says what to install where it is missing, and `what` for; `otherwise` is a module of ours that
    then takes its place.

    >>> text = Library("textwrap")
    >>> text.shorten("a long story", 8)
    'a [...]'
    >>> Library("no_such_library", otherwise="textwrap").shorten("a long story", 8)
    'a [...]'
    """

    def __init__(self, name: str, *, extra: str = "", what: str = "", otherwise: str = "") -> None:
        self._name, self._extra, self._what, self._otherwise = name, extra, what, otherwise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @cached_property
    def _module(self) -> Any:
        if not self._otherwise:
            with needing(self._extra, self._what) if self._extra else nullcontext():
                return importlib.import_module(self._name)
        try:
            return importlib.import_module(self._name)
        except ModuleNotFoundError as missing:
            if missing.name != self._name.partition(".")[0]:
                raise
            return importlib.import_module(self._otherwise)
