"""Class names <-> codes: the user's own labels outside, 0..K-1 inside.

A label is any hashable value. Unlabelled is `None`, a float NaN, or the value
given as `missing`; its code is -1.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.types import Codes

UNLABELLED = -1


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any, missing: Hashable = None) -> bool:
    """Whether a (plain) label value means "unlabelled"."""
    try:
        return value is None or bool(value != value) or (missing is not None and bool(value == missing))
    except (TypeError, ValueError):
        # pandas.NA has no truth value, and an array has many.
        return type(value).__name__ == "NAType"


def class_order(values: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Distinct values, sorted where they can be compared, else by first appearance."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(distinct)


def encode(
    values: Iterable[Any],
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Codes (n,) and the classes they index.

    >>> encode(["b", None, "a", "b"])
    (array([ 1, -1,  0,  1]), ('a', 'b'))
    """
    items = [plain(v) for v in values]
    present = [v for v in items if not is_missing(v, missing)]
    for value in present:
        if not isinstance(value, Hashable):
            raise InputError(f"label {value!r} is not hashable; use a string, a number or a tuple")
    names = class_order(present) if classes is None else tuple(plain(c) for c in classes)
    if len(set(names)) != len(names):
        raise InputError(f"classes {names!r} name a class twice; name each once")
    code = {name: k for k, name in enumerate(names)}
    unknown = next((v for v in present if v not in code), None)
    if unknown is not None:
        raise InputError(
            f"label {unknown!r} is not among the classes {names!r}; add it to classes or mend the label"
        )
    codes = np.array([UNLABELLED if is_missing(v, missing) else code[v] for v in items], dtype=np.int64)
    return codes, names


def decode(codes: Codes, classes: Sequence[Hashable]) -> list[Hashable | None]:
    """The user's label for every code; None where unlabelled."""
    return [None if c < 0 else classes[c] for c in codes]
