"""Public names of a room that are loaded when first used, so that an import is quick."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


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


class Library:
    """A module of another library that is imported when something of it is first asked for.

    >>> text = Library("textwrap")
    >>> text.shorten("a long story", 8)
    'a [...]'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
