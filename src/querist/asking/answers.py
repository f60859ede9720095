"""What an answer is: a class; or, where nodes may have several labels, a set of classes.

Inside, a class is its code, 0 to K - 1, and a set is the tuple of its codes, rising; the empty one, none of
the classes, is an answer like any other. Outside, a class is its name and a set the tuple of its names; an
event keeps a code as an integer or a list of them. Whoever asks, keeps and counts answers handles both alike;
what differs stands here.

As classes of a set are independent of each other to the model, probabilities (K,) of sets are those that a
node has each class, and that of a set is the product over all classes.
"""

from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any

import numpy as np

from querist.labels import Code, named
from querist.types import Floats


def as_code(kept: Any) -> Code:
    """The code in an event or a request."""
    return tuple(sorted(set(kept))) if isinstance(kept, list | tuple) else int(kept)


def as_kept(code: Code) -> int | list[int]:
    """As an event or a response has it."""
    return list(code) if isinstance(code, tuple) else code


def fault_of(given: Any, n_classes: int, multilabel: bool) -> str | None:
    """Why something that came from outside is no code; None where it is one."""
    members = given if multilabel and type(given) in (list, tuple) else [None] if multilabel else [given]
    if all(type(own) is int and 0 <= own < n_classes for own in members):
        return None
    what = "a list of the numbers of its classes, each" if multilabel else "the number of a class,"
    return f"label {given!r}; an answer has {what} 0 to {n_classes - 1}"


def named_or_none(kept: Any, classes: Sequence[Hashable]) -> Any:
    """The same of a code as an event keeps it; None stays None."""
    return None if kept is None else named(as_code(kept), classes)


def indicator(codes: Sequence[Code], n_classes: int) -> Floats:
    """(m, K) 1 where an answer has a class.

    >>> indicator([1, (0, 2), ()], 3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    found = np.zeros((len(codes), n_classes))
    for row, code in enumerate(codes):
        found[row, list(code) if isinstance(code, tuple) else code] = 1.0
    return found


def likeliest(p: Floats, multilabel: bool) -> Code:
    """The likeliest answer by the probabilities (K,) of the classes."""
    return tuple(np.flatnonzero(p > 0.5).tolist()) if multilabel else int(p.argmax())


def sureness(p: Floats, multilabel: bool) -> Floats:
    """(...,) the probability of the likeliest answer, by (..., K)."""
    return np.asarray(np.maximum(p, 1 - p).prod(axis=-1) if multilabel else p.max(axis=-1))


def likely(p: Floats, most: int, multilabel: bool) -> list[tuple[Code, float]]:
    """Up to `most` answers with their probabilities, falling; those (K,) of the classes are given.

    Of sets those that differ from the likeliest in classes that are most in doubt.

    >>> [(code, round(chance, 3)) for code, chance in likely(np.array([0.9, 0.2]), 2, multilabel=True)]
    [((0,), 0.72), ((0, 1), 0.18)]
    >>> likely(np.array([0.1, 0.6, 0.3]), 2, multilabel=False)
    [(1, 0.6), (2, 0.3)]
    """
    if not multilabel:
        return [(code, float(p[code])) for code in np.argsort(-p, kind="stable")[:most].tolist()]
    doubtful = np.argsort(np.abs(p - 0.5), kind="stable")[: max(1, most.bit_length() - 1)]
    found: list[tuple[Code, float]] = []
    for flips in product((False, True), repeat=doubtful.size):
        has = p > 0.5
        has[doubtful] ^= np.array(flips)
        found.append((tuple(np.flatnonzero(has).tolist()), float(np.where(has, p, 1 - p).prod())))
    return sorted(found, key=lambda each: -each[1])[:most]
