"""A table of names: what is registered under each, and "did you mean" for one that is not."""

from collections import UserDict
from collections.abc import Iterator
from typing import TypeVar

from querist import plugins
from querist.errors import UnknownNameError

Value = TypeVar("Value")


class Registry(UserDict[str, Value]):
    """Values by name. `kind` says in words what they are, for the message about a name that is not there.

    A new value is registered by `registry[name] = value`. Names that plugins add under `plugin_kind` (see
    `querist.plugins`) are there from the start; their values are imported when first used.

    >>> colours = Registry("colour", {"red": 1, "green": 2})
    >>> colours["gren"]
    Traceback (most recent call last):
    ...
    querist.errors.UnknownNameError: unknown colour 'gren'; did you mean 'green'? known: green, red
    """

    def __init__(self, kind: str, values: dict[str, Value] | None = None, plugin_kind: str = "") -> None:
        super().__init__(values or {})
        self.kind, self.plugin_kind = kind, plugin_kind

    def _added(self) -> tuple[str, ...]:
        return plugins.names(self.plugin_kind) if self.plugin_kind else ()

    def __missing__(self, name: str) -> Value:
        if name not in self._added():
            raise UnknownNameError.of(self.kind, name, self)
        self[name] = plugins.load(self.plugin_kind, name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self._added()

    def __iter__(self) -> Iterator[str]:
        added = self._added()  # in the order of the plugins, whichever was used first
        return iter([name for name in self.data if name not in added] + [*added])

    def __len__(self) -> int:
        return len({*self.data, *self._added()})
