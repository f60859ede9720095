"""Class names <-> codes: the user's own labels outside, 0..K-1 inside.

`tabulate` reads labels in any form that people have, and `Labels.names` gives them back. In between there is
one form, `Labels`: a code per node, or a sparse 0/1 matrix if nodes may have several labels.

A label is any hashable value. Unlabelled is `None`, a float NaN, or the value
given as `missing`; its code is -1. Where nobody says what is missing, -1 beside
class numbers of 0 and more means so too (`implied_missing`).

>>> from querist.labels import class_order
>>> class_order(["dog", "cat", "dog"])
('cat', 'dog')
"""

import datetime
import inspect
import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.matrices import as_floats, checked_sparse
from querist.memory import check_classes
from querist.types import Bools, Codes, Floats, Sparse

UNLABELLED = -1
"""The code of a node that has no label.

>>> UNLABELLED
-1
"""

NODE = ("node", "id")
"""What the column with the ids of the nodes is called, in any case; `tables/names.py` has the others.

>>> "id" in NODE
True
"""


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; anything else as it is.

    >>> plain(np.float64(0.5)), plain("cat"), plain(np.datetime64("2020-01-02"))
    (0.5, 'cat', datetime.datetime(2020, 1, 2, 0, 0))
    """
    if isinstance(value, np.datetime64):  # of any unit, as pandas has it; finer or further ones stay
        moment = value.astype("datetime64[us]")
        return moment.item() if moment == value and not isinstance(moment.item(), int) else value
    return value.item() if isinstance(value, np.generic) else value


class RowOf(dict[Hashable, int]):
    """Row numbers by node id; a NumPy scalar is looked up as the Python value it stands for, a midnight that
    is no id as its date.

    >>> RowOf({7: 0})[np.int32(7)], RowOf({datetime.date(2020, 1, 2): 0})[np.datetime64("2020-01-02")]
    (0, 0)
    """

    def __missing__(self, node: Hashable) -> int:
        name = plain(node)
        day = name.date() if isinstance(name, datetime.datetime) and name.time() == datetime.time() else name
        rows = [super(RowOf, self).get(own) for own in (name, day)]
        if rows == [None, None]:
            raise KeyError(node)
        return next(row for row in rows if row is not None)

    def __contains__(self, node: object) -> bool:
        return self.get(node) is not None

    def get(self, node: Any, default: Any = None) -> Any:
        """The row of a node."""
        try:
            return self[node]
        except KeyError:
            return default


def is_missing(value: Any, missing: Hashable = None) -> bool:
    """Whether a (plain) label value means "unlabelled"; a text `missing` stands for a number written so.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(-1, missing="-1")
    (True, True, False, True)
    """
    try:
        # Only NaN differs from itself.
        nan = bool(value != value)  # noqa: PLR0124
        own = str(value) if isinstance(missing, str) else value
        return value is None or nan or (missing is not None and bool(own == missing))
    except (TypeError, ValueError):
        # pandas.NA has no truth value, and an array has many.
        return type(value).__name__ == "NAType"


def implied_missing(
    values: Iterable[Any],
    classes: Iterable[Any] | None = None,
    missing: Hashable = None,
    parameter: str | None = "missing",
) -> Hashable:
    """What means "unlabelled" besides None and NaN: `missing`, or -1 by scikit-learn's habit.

    Nobody said (`missing` is None), -1 occurs, and the other labels (all `classes`, where they are named) are
    whole numbers of 0 or more with two values at least: then -1 is no class, and a warning says how to say
    otherwise, by `parameter`; None for no warning. {-1, 1} stay two classes, and text is never taken so.

    >>> implied_missing([0, 1, -1], parameter=None), implied_missing([1, -1], parameter=None)
    (-1, None)
    """
    if missing is not None:
        return missing
    values = list(values)
    numbers = {plain(v) for v in values if isinstance(v, _NUMBERS)}
    if UNLABELLED not in numbers:
        return None
    named = values if classes is None else classes
    others = {plain(v) for v in named if isinstance(v, Hashable) and not is_missing(plain(v))}
    if classes is None:
        others.discard(UNLABELLED)
    whole = all(isinstance(v, int | float) and not isinstance(v, bool) and v == v // 1 >= 0 for v in others)
    if not whole or len(others) < 2:
        return None
    if parameter is not None:
        names = sorted(others)
        shown = names if len(names) <= 5 else [*names[:3], "...", names[-1]]
        warnings.warn(
            f"-1 is taken as unlabelled, beside the classes {', '.join(map(str, shown))}; say so with "
            f"{parameter}=-1, or {parameter}=float('nan') if -1 is a class",
            UserWarning,
            stacklevel=_outside(),
        )
    return UNLABELLED


_NUMBERS = (int, float, np.integer, np.floating)


def _outside() -> int:
    """The stack level, seen from the caller, of the first line that is not this library's."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    return level


def class_order(values: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Distinct values, sorted where they can be compared, else by first appearance.

    >>> class_order(["dog", "cat", "dog"]), class_order(["dog", 7])
    (('cat', 'dog'), ('dog', 7))
    """
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(distinct)


def checked_names(classes: Any) -> tuple[Hashable, ...]:
    """Classes by name, each a value that equals itself, is finite and can be looked up, and comes once.

    >>> checked_names(["cat", "dog"])
    ('cat', 'dog')
    """
    if not isinstance(classes, Iterable) or getattr(classes, "shape", None) == ():
        raise InputError(f"classes is {classes!r}; give a list of the classes")
    names = tuple(plain(name) for name in classes)
    for name in names:
        infinite = isinstance(name, float) and math.isinf(name)
        if not isinstance(name, Hashable) or is_missing(name) or infinite:
            raise InputError(f"{name!r} is no class; name a class by text or a finite number")
    if len(set(names)) != len(names):
        raise InputError(f"classes {names!r} name a class twice; name each once")
    return names


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)  # a tuple may hold a list
    except TypeError:
        return False
    return True


Code: TypeAlias = int | tuple[int, ...]
"""The label of one node: the code of its class; if it may have several, those of its classes, rising."""

MOST_CLASSES = 1_000_000
"""Of classes that are only counted, not named."""


def class_codes(classes: Sequence[Hashable]) -> dict[Hashable, int]:
    """Codes by class, and by its text: a number in one file may be text in another.

    >>> class_codes(["1", 2])
    {'1': 0, '2': 1, 2: 1}
    """
    found: dict[Hashable, int] = {str(name): code for code, name in enumerate(classes)}
    return found | {name: code for code, name in enumerate(classes)}  # "1" is the class "1" before 1


def named(code: Code, classes: Sequence[Hashable]) -> Any:
    """The class, or the classes, by name.

    >>> named(1, ("cat", "dog")), named((0, 1), ("cat", "dog"))
    ('dog', ('cat', 'dog'))
    """
    return tuple(classes[own] for own in code) if isinstance(code, tuple) else classes[code]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of n nodes.

    Parameters
    ----------
    codes : (n,) class codes, -1 where a node is unlabelled; if nodes may have several labels, an (n, K)
        sparse 0/1 matrix, whose empty rows are the unlabelled nodes
    classes : (K,) what the codes stand for
    skipped : how many labels of unknown nodes were left out

    >>> pets = Labels(np.array([1, -1, 0]), ("cat", "dog"))
    >>> pets.names(), pets.known, pets.multilabel
    (['dog', None, 'cat'], array([ True, False,  True]), False)
    """

    codes: Any
    classes: tuple[Hashable, ...]
    skipped: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_names(self.classes))
        check = _checked_indicator if sp.issparse(self.codes) else _checked_codes
        object.__setattr__(self, "codes", check(self.codes, len(self.classes)))

    @classmethod
    def at(cls, rows: Any, codes: Any, n: int, classes: Iterable[Hashable], multilabel: bool = False) -> Self:
        """The labels of n nodes: those at `rows` have the classes `codes` (both (m,)), the others none.

        >>> Labels.at([2, 2], [0, 1], 3, ("cat", "dog"), multilabel=True).names()
        [None, None, ('cat', 'dog')]
        """
        classes = tuple(classes)
        if multilabel:
            entries = np.ones(len(rows)), (rows, codes)
            return cls(sp.csr_array(entries, shape=(n, len(classes))), classes)
        found = np.full(n, UNLABELLED, dtype=np.int64)
        found[rows] = codes
        return cls(found, classes)

    @classmethod
    def of(cls, given: Mapping[int, Code], n: int, classes: Iterable[Hashable], multilabel: bool) -> Self:
        """The labels of n nodes from the code of each labelled one, by row."""
        sets = {row: code if isinstance(code, tuple) else (code,) for row, code in given.items()}
        rows = [row for row, code in sets.items() for _ in code]
        return cls.at(rows, [own for code in sets.values() for own in code], n, classes, multilabel)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels."""
        return sp.issparse(self.codes)

    @cached_property
    def known(self) -> Bools:
        """(n,) whether a node is labelled."""
        return np.asarray(np.diff(self.codes.indptr) > 0 if self.multilabel else self.codes >= 0)

    @cached_property
    def indicator(self) -> Floats:
        """(n, K) 1 where a node has a class, for the mathematics; rows of unlabelled nodes are zero."""
        check_classes(len(self), len(self.classes))
        return np.asarray(self.as_sets().codes.toarray())

    @property
    def sizes(self) -> Codes:
        """(K,) how many nodes have each class."""
        members = self.codes.indices if self.multilabel else self.codes[self.known]
        return np.bincount(members, minlength=len(self.classes))

    def by_row(self) -> dict[int, Code]:
        """The code of every labelled node, by row."""
        rows = np.flatnonzero(self.known).tolist()
        if not self.multilabel:
            return dict(zip(rows, self.codes[rows].tolist(), strict=True))
        indices, ends = self.codes.indices.tolist(), self.codes.indptr.tolist()
        return {row: tuple(indices[ends[row] : ends[row + 1]]) for row in rows}

    def names(self) -> list[Any]:
        """The label of every node by name: a class, or a tuple of classes; None if unlabelled."""
        given = self.by_row()
        return [named(given[row], self.classes) if row in given else None for row in range(len(self))]

    def select(self, rows: Any) -> Self:
        """The labels of the nodes at these rows, in this order; a row of -1 is an unlabelled node."""
        rows = np.asarray(rows, dtype=np.int64)
        if self.multilabel:
            blank = sp.csr_array((1, len(self.classes)))
            return replace(self, codes=sp.vstack([self.codes, blank], format="csr")[rows])
        return replace(self, codes=np.append(self.codes, UNLABELLED)[rows])

    def grown(self, n: int) -> Self:
        """The labels of the same nodes and of unlabelled ones after them, n in all."""
        return self.select(np.where(np.arange(n) < len(self), np.arange(n), -1))

    def only(self, which: Bools) -> Self:
        """The same nodes, but only `which` (n,) of them labelled."""
        return self.select(np.where(which, np.arange(len(self)), -1))

    def as_sets(self) -> Self:
        """The same labels where a node may have several."""
        if self.multilabel:
            return self
        rows = np.flatnonzero(self.known)
        sets = Labels.at(rows, self.codes[rows], len(self), self.classes, multilabel=True)
        return replace(self, codes=sets.codes)


def _checked_codes(codes: Any, n_classes: int) -> Codes:
    array = np.asarray(codes)
    if array.ndim != 1:
        raise InputError(f"label codes of shape {array.shape}; give one per node, -1 where unlabelled")
    if array.dtype.kind not in "iu":
        raise InputError(f"label codes are {array.dtype}; give integers, or labels of any kind to as_graph()")
    array = array.astype(np.int64)
    if array.size and (array.min() < UNLABELLED or array.max() >= n_classes):
        worst = array[(array < UNLABELLED) | (array >= n_classes)][0]
        raise InputError(f"label code {worst} is outside the {n_classes} classes (0..{n_classes - 1}, or -1)")
    return array


def _checked_indicator(matrix: Any, n_classes: int) -> Sparse:
    # Floats, so that products of 0/1 bytes do not overflow; a copy, as what follows works in place.
    M: Sparse = sp.csr_array(checked_sparse(matrix, "a matrix of labels"), dtype=np.float64, copy=True)
    if M.shape[1] != n_classes:
        raise InputError(f"{M.shape[1]} columns of labels for {n_classes} classes; give one per class")
    M.sum_duplicates()
    M.eliminate_zeros()
    if not (M.data == 1).all():
        raise InputError(
            "a matrix of labels holds other values than 0 and 1; write 1 where a node has a class, 0 where "
            "not, and a row of zeros or NaN for an unlabelled node"
        )
    return M


# -- names to codes --------------------------------------------------------------


def encode(
    values: Iterable[Any],
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
) -> Labels:
    """The labels of nodes with one each, from their names.

    >>> encode(["b", None, "a", "b"]).codes
    array([ 1, -1,  0,  1])
    """
    items = [None if v is None else plain(v) for v in values]
    places = [k for k, v in enumerate(items) if v is not None and not is_missing(v, missing)]
    present = [items[k] for k in places]
    for value in present:
        if not _is_hashable(value):
            raise InputError(f"label {value!r} is not hashable; use a string, a number or a tuple")
    names = checked_names(class_order(present) if classes is None else classes)
    code = {name: k for k, name in enumerate(names)}
    unknown = next((v for v in present if v not in code), None)
    if unknown is not None:
        raise InputError(
            f"label {unknown!r} is not among the classes {names!r}; add it to classes or mend the label"
        )
    return Labels.at(places, [code[v] for v in present], len(items), names)


def tabulate(
    labels: Any,
    nodes: Sequence[Hashable],
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
    *,
    ignore_unknown: bool | None = None,
    multilabel: bool | None = None,
) -> Labels:
    """Labels of the nodes, from any form that people have.

    Parameters
    ----------
    labels : one of
        - a dict from node id to label; nodes it leaves out are unlabelled;
        - a value per node, in the order of the nodes: list, array, series;
        - a pandas Series whose index holds node ids: it counts by index, in any order and with
          nodes left out. An index 0..n-1 counts by position;
        - instead of values, sets of values: several labels per node. An empty set is unlabelled. With
          `multilabel=True` tuples are sets too, so the labels of a result can be read again;
        - a table of two columns, ids of nodes and their labels (pandas, polars, Arrow), if one is called
          node or id, or if it is no 0/1 matrix;
        - an (n, K) 0/1 matrix, dense, sparse, nested lists or a data frame (its columns name the classes):
          several labels per node. A row of zeros, or of NaN, is unlabelled;
        - `Labels` of these nodes.
    nodes : the ids of the nodes, in order
    classes : in the order of their codes; those that occur, by default
    missing : the value that means "unlabelled", besides None and NaN; if it is not given, -1 may
        (`implied_missing`)
    ignore_unknown : skip labels of nodes that are not among `nodes`, and count them as `skipped`; otherwise
        they are refused. None if the user cannot choose: then the message does not suggest it
    multilabel : whether a node may have several labels: if False, sets and matrices are refused; if True, a
        value is a set of one. By default the form of the labels decides

    >>> tabulate({"ann": "cat", "cy": "dog"}, ["ann", "bob", "cy"]).codes
    array([ 0, -1,  1])
    """
    if isinstance(labels, Labels):
        found = labels
    else:
        found = _read(labels, nodes, classes, missing, ignore_unknown, multilabel)
    if len(found) != len(nodes):
        raise InputError(
            f"{len(found)} labels for {len(nodes)} nodes; give one per node (None where unlabelled), or a "
            "dict from node id to label"
        )
    if found.multilabel and multilabel is False:
        raise InputError(
            "labels are sets or a matrix: several classes per node; pass multilabel=True, or one class "
            "per node"
        )
    return found.as_sets() if multilabel else found


def _read(
    labels: Any,
    nodes: Sequence[Hashable],
    classes: Sequence[Hashable] | None,
    missing: Hashable,
    ignore_unknown: bool | None,
    multilabel: bool | None,
) -> Labels:
    if isinstance(labels, str):
        raise InputError(
            f"labels are the text {labels!r}; the name of a column is for querist.label and querist.ask with "
            "nodes=, a table of the nodes"
        )
    names, columns, skipped = None if classes is None else checked_names(classes), None, 0
    given = _pairs(labels, nodes)
    if given is None and hasattr(labels, "index") and not callable(labels.index):
        if len(labels.shape) == 2 and labels.shape[1] == 1:
            labels = labels.iloc[:, 0]
        columns = tuple(plain(c) for c in labels.columns) if hasattr(labels, "columns") else None
        by_position = list(labels.index) == list(range(len(nodes)))
        given, labels = (None, labels) if by_position else (_by_index(labels), None)
    if given is None and hasattr(labels, "isna"):  # of pandas
        nullable = columns is None and not isinstance(labels.dtype, np.dtype)
        labels = labels.tolist() if nullable else labels.to_numpy()
    if isinstance(labels, Mapping):
        given = {plain(node): value for node, value in labels.items()}
    if given is not None:
        row_of = RowOf(zip(nodes, range(len(nodes)), strict=True))
        skipped = _count_unknown(given, row_of, ignore_unknown)
        labels = [None if columns is None else np.zeros(len(columns))] * len(nodes)
        for node, value in given.items():
            if (row := row_of.get(node)) is not None:
                labels[row] = value
    if isinstance(labels, list) and labels and all(isinstance(row, list | np.ndarray) for row in labels):
        if len({len(row) for row in labels}) > 1:
            raise InputError(
                "rows of labels differ in length; give a 0/1 value per class, or a set of classes per node"
            )
        labels = np.array(labels)
        if labels.dtype.kind in "US":
            raise InputError("labels are lists of text; give one class per node, or a set of classes")
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if sp.issparse(labels) or (len(shape) == 2 and shape[1] > 1):
        own = names or columns
        if own is None and shape[1] > MOST_CLASSES:
            raise InputError(f"labels of shape {shape}; give a column per class, of at most {MOST_CLASSES:,}")
        return Labels(_matrix(labels), own or tuple(range(shape[1])), skipped)
    numbers = np.asarray(labels).ravel() if hasattr(labels, "__array__") else None
    if numbers is not None and numbers.dtype.kind in "iuf" and names is None:
        return _encode_numbers(numbers, missing)
    values = numbers.tolist() if numbers is not None else list(labels)
    if multilabel:
        values = [frozenset(v) if isinstance(v, tuple) and _is_hashable(v) else v for v in values]
    if any(isinstance(value, set | frozenset) for value in values):
        return replace(_from_sets(values, names, missing), skipped=skipped)
    return replace(encode(values, names, implied_missing(values, names, missing)), skipped=skipped)


def _pairs(labels: Any, nodes: Sequence[Hashable]) -> dict[Any, Any] | None:
    """A table of two columns, nodes and labels, as a dict; None where `labels` are no such table."""
    columns = getattr(labels, "column_names", getattr(labels, "columns", ()))
    if len(getattr(labels, "shape", ())) != 2 or len(columns) != 2:
        return None
    named = [k for k, column in enumerate(columns) if str(column).lower() in NODE]
    values = [labels[column] for column in columns]
    lists = [[plain(v) for v in (own.to_pylist() if hasattr(own, "to_pylist") else own)] for own in values]
    if not named and all(is_missing(v) or v in (0, 1) for own in lists for v in own):
        return None
    known = set(nodes)
    first, second = (all(v in known for v in own) for own in lists)
    ids = named[0] if named else int(second and not first)
    found: dict[Any, Any] = {}
    for node, value in zip(lists[ids], lists[1 - ids], strict=True):
        if found.setdefault(node, value) != value and not is_missing(value):
            raise InputError(
                f"node {node!r} is {found[node]!r} and {value!r}; give it one label, or a set of labels"
            )
    return found


def _by_index(labels: Any) -> dict[Any, Any]:
    """A pandas Series or data frame as a dict from node id to value, or to row."""
    # A list keeps nullable integers.
    rows = labels.to_numpy() if hasattr(labels, "columns") else labels.to_list()
    found = {plain(node): row for node, row in zip(labels.index, rows, strict=True)}
    if len(found) != len(labels):
        raise InputError("the index of the labels names a node twice; give each node one row")
    return found


def _count_unknown(given: Mapping[Any, Any], nodes: RowOf, ignore: bool | None) -> int:
    """How many labels are of unknown nodes; refused unless they are to be ignored, or if all are."""
    unknown = [node for node in given if node not in nodes]
    if unknown and (not ignore or len(unknown) == len(given)):
        many = "1 unknown node" if len(unknown) == 1 else f"{len(unknown):,} unknown nodes"
        like, option = next(iter(nodes)), "" if ignore is None else " (ignore_unknown=True)"
        raise InputError(
            f"labels for {many}, e.g. {unknown[0]!r} (nodes are like {like!r}); correct the ids, add such "
            f"nodes to the graph, or leave them out{option}. A Series in the order of the nodes needs its "
            "index reset"
        )
    return len(unknown)


def _encode_numbers(numbers: Any, missing: Hashable) -> Labels:
    """`encode` for an array of numbers, a million at a time."""
    missing = implied_missing(np.unique(numbers), None, missing)
    known = ~np.isnan(numbers)
    if missing is not None:
        known &= numbers != missing
    classes, inverse = np.unique(numbers[known], return_inverse=True)
    return Labels.at(known, inverse, numbers.size, classes.tolist())


def _matrix(labels: Any) -> Sparse:
    """A 0/1 matrix in any form; rows of NaN are rows of zeros."""
    if sp.issparse(labels):
        return cast(Sparse, labels)
    matrix = as_floats(labels, "a matrix of labels", "write 1 where a node has a class").copy()
    matrix[np.isnan(matrix).all(axis=1)] = 0.0
    return sp.csr_array(matrix)


def _from_sets(values: list[Any], names: tuple[Hashable, ...] | None, missing: Hashable) -> Labels:
    sets = [
        tuple(v) if isinstance(v, set | frozenset) else () if is_missing(plain(v), missing) else (v,)
        for v in values
    ]
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    members_of_all = [value for members in sets for value in members]
    found = encode(members_of_all, names, implied_missing(members_of_all, names, missing))
    return Labels.at(rows[found.known], found.codes[found.known], len(sets), found.classes, multilabel=True)
