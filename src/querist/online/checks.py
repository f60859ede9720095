"""What a learner accepts: rows, nodes, labels, draws, answers. Checked once, here."""

import operator
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.labels import UNLABELLED, plain
from querist.matrices import as_floats, checked_sparse
from querist.types import Bools, Codes, Floats


class Answer(Enum):
    """Answers that are not a class.

    >>> [answer.name for answer in Answer]
    ['UNSURE', 'NONE']
    """

    UNSURE = "unsure"
    NONE = "none of these"


Reply: TypeAlias = int | Set[int] | Answer
"""A class code, a set of codes ("one of these"), or an `Answer`.

>>> replies: list[Reply] = [1, {0, 2}, Answer.UNSURE]
>>> len(replies)
3
"""

LONGEST = 1e12
"""Largest |m|^2/gamma: beyond it rank-one updates have no digits left."""


def checked_rows(embedding: Any) -> Floats:
    """The (n, d) rows of an embedding, or of a bare array."""
    rows = np.ascontiguousarray(
        as_floats(
            getattr(embedding, "rows", embedding),
            f"a learner needs (n, d) rows, not {type(embedding).__name__}",
            "querist.embed(graph) makes them",
        )
    )
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InputError(f"the embedding must be an (n, d) array with n, d >= 1; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("the embedding holds NaN or infinite values; embed the graph again or mend the rows")
    return rows


def check_neighbours(place: Any) -> None:
    """Refuse a matrix of nodes in CSR arrays that point outside of it."""
    n = len(place.rows)
    parts = (place.entries, place.indices, place.indptr)
    checked_sparse(sp.csr_array(parts, shape=(n, n)), "neighbours")


def checked_components(embedding: Any, n: int) -> Codes:
    """(n,) component of every node; one for all where the embedding does not say."""
    found = getattr(embedding, "components", None)
    if found is None:
        return np.zeros(n, dtype=np.int64)
    components = np.ascontiguousarray(found, dtype=np.int64)
    if components.shape != (n,) or components.min() < 0:
        raise InputError(f"components must be one number, 0 or more, for each of {n} rows")
    # Numbers that leave gaps would make room for the gaps.
    return (
        components if components.max() < n else np.unique(components, return_inverse=True)[1].astype(np.int64)
    )


def checked_node(node: Any, n_nodes: int) -> int:
    """A row number inside."""
    try:
        row = operator.index(node)
    except TypeError:
        row = -1
    if not 0 <= row < n_nodes:
        raise InputError(f"node {node!r} is outside the {n_nodes} nodes (0..{n_nodes - 1})")
    return row


@dataclass(frozen=True, eq=False)
class Ids:
    """The user's own ids of the rows.

    Where none of them is a number, a whole number is taken as a row number; elsewhere it must be an id.
    """

    names: tuple[Hashable, ...]

    @cached_property
    def row_of(self) -> dict[Hashable, int]:
        """Row number of every id."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def _no_numbers(self) -> bool:
        return not any(isinstance(name, int | float) for name in self.names)

    def row(self, node: Any) -> int:
        """The row of an id."""
        name = plain(node)
        found = self.row_of.get(name) if isinstance(name, Hashable) else None
        if found is not None:
            return found
        number = isinstance(name, int) and not isinstance(name, bool)
        if number and self._no_numbers:
            return checked_node(name, len(self.names))
        numbers = " Row numbers are not taken, since they could be meant as ids." if number else ""
        raise InputError(
            f"node {name!r} is none of the graph's ids, which are like {self.names[0]!r}; give the id of a "
            f"node.{numbers}"
        )

    def rows(self, nodes: Iterable[Any]) -> Codes:
        """(m,) the rows of ids."""
        return np.array([self.row(node) for node in nodes], dtype=np.int64)

    def of(self, rows: Iterable[int]) -> Any:
        """(m,) the ids of rows; an array of objects."""
        numbers = list(rows)
        found = np.empty(len(numbers), dtype=object)
        found[:] = [self.names[row] for row in numbers]
        return found


def ids_of(given: Any) -> Ids | None:
    """The ids of what a learner is made from, a graph or an embedding; None where they are row numbers."""
    names = given.own_ids if hasattr(given, "own_ids") else getattr(given, "nodes", None)
    return None if names is None else Ids(tuple(names))


def grown_ids(ids: Ids | None, given: Any) -> Ids | None:
    """The ids of a graph that has grown, refused unless they begin with those there were."""
    found = None if ids is None else ids_of(given)
    if ids is not None and (found is None or found.names[: len(ids.names)] != ids.names):
        raise InputError(
            f"the learner knows {len(ids.names):,} nodes by ids, and the first ids of these rows are others, "
            "or none; take rows.follow(graph) of a graph that has the old nodes first, or learner.by_row()"
        )
    return found


def prior_variances(rows: Floats, gamma: float) -> Floats:
    """(n,) `|m|^2/gamma`, refused where no digits would be left."""
    prior = np.einsum("ij,ij->i", rows, rows) / gamma
    if not (prior <= LONGEST).all():
        raise InputError(
            f"the longest row has |m|^2/gamma = {prior.max():.3g}, beyond {LONGEST:.0e}: no digits would be "
            "left. Rescale the embedding, raise gamma, or embed with normalised=True"
        )
    return np.asarray(prior)


def checked_tie_order(order: Iterable[int] | None, n_classes: int) -> Codes:
    """(K,) classes by precedence among equal scores."""
    codes = np.arange(n_classes) if order is None else _array_of(order, "tie_order must name each class code")
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or sorted(codes.tolist()) != list(range(n_classes)):
        raise InputError(f"tie_order {codes.tolist()} must name each class code 0..{n_classes - 1} once")
    return codes.astype(np.int64)


def checked_nodes(nodes: Iterable[int], n_nodes: int) -> Codes:
    """Row numbers, all inside."""
    array = _array_of(nodes, "nodes must be a sequence of row numbers")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"nodes must be a sequence of row numbers; got {array.dtype}, shape {array.shape}")
    if array.min() < 0 or array.max() >= n_nodes:
        bad = array[(array < 0) | (array >= n_nodes)][0]
        raise InputError(f"node {bad} is outside the {n_nodes} nodes (0..{n_nodes - 1})")
    return np.ascontiguousarray(array, dtype=np.int64)


def _array_of(values: Any, need: str) -> Any:
    """An array of what is listed, or `need`."""
    try:
        return np.asarray(values if isinstance(values, np.ndarray) else list(values))
    except (TypeError, ValueError):
        raise InputError(f"{need}; got {type(values).__name__}") from None


def checked_labels(labels: Any, nodes: Codes, n_nodes: int, n_classes: int, ids: Ids | None = None) -> Codes:
    """(n,) class codes, valid at least at the nodes of the order; given so, or by node."""
    if isinstance(labels, Mapping):
        given = ids.rows(labels) if ids is not None else checked_nodes(labels, n_nodes)
        values = np.array([plain(code) for code in labels.values()] or [0])
        labels = np.full(n_nodes, UNLABELLED, dtype=values.dtype)
        labels[given] = values[: given.size]
    codes = _array_of(labels, f"labels must hold one class code for each of the {n_nodes} nodes")
    if codes.shape != (n_nodes,) or codes.dtype.kind not in "iub":
        raise InputError(
            f"labels must hold one class code for each of the {n_nodes} nodes; got {codes.dtype} of shape "
            f"{codes.shape}. The codes of a graph are in its `codes`"
        )
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    seen = codes[nodes]
    bad = (seen < 0) | (seen >= n_classes)
    if bad.any():
        row, code = int(nodes[bad][0]), seen[bad][0]
        node = row if ids is None else repr(ids.names[row])
        what = "is unlabelled; leave it out of the order" if code == UNLABELLED else f"has label {code}"
        raise InputError(f"node {node} {what} (classes are 0..{n_classes - 1})")
    return codes


def checked_uniforms(uniforms: Iterable[float], rounds: int) -> Floats:
    """(rounds,) draws in [0, 1)."""
    need = f"give {rounds} in [0, 1), one a round"
    u = np.ascontiguousarray(as_floats(_array_of(uniforms, f"uniforms: {need}"), "uniforms", need))
    if u.shape != (rounds,) or not ((u >= 0) & (u < 1)).all():
        raise InputError(f"uniforms must be {rounds} numbers in [0, 1), one a round; got shape {u.shape}")
    return u


def allowed_classes(answer: Reply, n_classes: int) -> Bools | None:
    """(K,) the classes an answer permits; None where it teaches nothing."""
    if answer is Answer.UNSURE:
        return None
    allowed = np.zeros(n_classes, dtype=np.bool_)
    if isinstance(answer, Answer):
        return allowed
    members = answer if isinstance(answer, Set) else (answer,)
    if not members:
        raise InputError("an empty set of classes; answer Answer.NONE for none of these")
    for code in members:
        if not (isinstance(code, int | np.integer) and 0 <= code < n_classes):
            raise InputError(
                f"answer {code!r} is not a class code (0..{n_classes - 1}); "
                "give a code, a set of codes, Answer.UNSURE or Answer.NONE"
            )
        allowed[code] = True
    return None if allowed.all() else allowed
