"""A table of names: what is registered under each, and "did you mean" for one that is not."""

from typing import TypeVar

from querist.errors import UnknownNameError

Value = TypeVar("Value")


class Registry(dict[str, Value]):
    """Values by name. `kind` says in words what they are, for the message about a name that is not there.

    A new value is registered by `registry[name] = value`; `get` and `in` do as those of any dict.

    >>> colours = Registry("colour", {"red": 1, "green": 2})
    >>> colours["gren"]
    Traceback (most recent call last):
    ...
    querist.errors.UnknownNameError: unknown colour 'gren'; did you mean 'green'? known: green, red
    """

    def __init__(self, kind: str, values: dict[str, Value] | None = None) -> None:
        super().__init__(values or {})
        self.kind = kind

    def __missing__(self, name: str) -> Value:
        raise UnknownNameError.of(self.kind, name, self)
