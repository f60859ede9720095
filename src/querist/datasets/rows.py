"""The vectors that a name or a path stands for, with their classes as codes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from querist.types import Codes


def read_vectors(data: str, label: str | None = None) -> tuple[Any, "Codes", tuple[Any, ...], str]:
    """X, class codes (-1 where unlabelled), the classes and the name of a data set or file."""
    from querist.datasets import Vectors, load
    from querist.errors import InputError
    from querist.labels import encode
    from querist.tables.files import is_file_name, read_vectors

    if is_file_name(data, "vectors"):
        table = read_vectors(Path(data).expanduser(), label)
        X, labels, name = table.X, table.labels, table.name
    else:
        found = load(data)
        if not isinstance(found, Vectors):
            raise InputError(
                f"{found.name} holds a graph, not vectors; see online and classify (collective in TOML)"
            )
        X, labels, name = found.X, found.y.tolist(), found.name
    codes, classes = encode(labels)
    if len(classes) < 2:
        raise InputError(f"{name} has {len(classes)} classes, {list(classes)!r}; at least 2 are needed")
    return X, codes, classes, name
