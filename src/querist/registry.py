"""A table of names: what is registered under each, and "did you mean" for one that is not."""

from collections.abc import Iterator, MutableMapping
from typing import TypeVar

from querist import plugins
from querist.errors import UnknownNameError

Value = TypeVar("Value")


class Registry(MutableMapping[str, Value]):
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
        self.kind, self.plugin_kind, self.values_here = kind, plugin_kind, dict(values or {})

    def _added(self) -> tuple[str, ...]:
        return plugins.names(self.plugin_kind) if self.plugin_kind else ()

    def __getitem__(self, name: str) -> Value:
        if name not in self.values_here:
            if name not in self._added():
                raise UnknownNameError.of(self.kind, name, self)
            self.values_here[name] = plugins.load(self.plugin_kind, name)
        return self.values_here[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self.values_here[name] = value

    def __delitem__(self, name: str) -> None:
        del self.values_here[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values_here or name in self._added()

    def __iter__(self) -> Iterator[str]:
        added = self._added()  # in the order of the plugins, whichever was used first
        return iter([name for name in self.values_here if name not in added] + [*added])

    def __len__(self) -> int:
        return len({*self.values_here, *self._added()})
