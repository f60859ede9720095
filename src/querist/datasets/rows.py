"""The vectors that a name or a path stands for, with their classes as codes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from querist.types import Codes


def read_vectors(data: str, label: str | None = None) -> tuple[Any, "Codes", tuple[Any, ...], str]:
    """X, class codes (-1 where unlabelled), the classes and the name of a data set or file."""
    from querist.datasets import load_vectors
    from querist.errors import InputError
    from querist.labels import encode

    found = load_vectors(data, label=label)
    codes, classes = encode(found.y.tolist())
    if len(classes) < 2:
        raise InputError(f"{found.name} has {len(classes)} classes, {list(classes)!r}; at least 2 are needed")
    return found.X, codes, classes, found.name
