"""Class names <-> codes: the user's own labels outside, 0..K-1 inside.

A label is any hashable value. Unlabelled is `None`, a float NaN, or the value
given as `missing`; its code is -1. Where nobody says what is missing, -1 beside
class numbers of 0 and more means so too (`implied_missing`).

>>> from querist.labels import class_order
>>> class_order(["dog", "cat", "dog"])
('cat', 'dog')
"""

import inspect
import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.matrices import as_floats, checked_sparse
from querist.types import Bools, Codes, Floats

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

    >>> plain(np.float64(0.5)), plain("cat")
    (0.5, 'cat')
    """
    return value.item() if isinstance(value, np.generic) else value


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
        warnings.warn(
            f"-1 is taken as unlabelled, beside the classes {_some(others)}; say so with {parameter}=-1, or "
            f"{parameter}=float('nan') if -1 is a class",
            UserWarning,
            stacklevel=_outside(),
        )
    return UNLABELLED


_NUMBERS = (int, float, np.integer, np.floating)


def _some(names: Iterable[Any]) -> str:
    shown = sorted(names)
    return ", ".join(map(str, shown if len(shown) <= 5 else [*shown[:3], "...", shown[-1]]))


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
    if not isinstance(classes, Iterable):
        raise InputError(f"classes is {classes!r}; give a list of the classes")
    names = tuple(plain(name) for name in classes)
    for name in names:
        if not isinstance(name, Hashable) or is_missing(name) or _is_infinite(name):
            raise InputError(f"{name!r} is no class; name a class by text or a finite number")
    if len(set(names)) != len(names):
        raise InputError(f"classes {names!r} name a class twice; name each once")
    return names


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def encode(
    values: Iterable[Any],
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Codes (n,) and the classes they index.

    >>> encode(["b", None, "a", "b"])
    (array([ 1, -1,  0,  1]), ('a', 'b'))
    """
    items = [None if v is None else plain(v) for v in values]
    places = [k for k, v in enumerate(items) if v is not None and not is_missing(v, missing)]
    present = [items[k] for k in places]
    for value in present:
        if not isinstance(value, Hashable):
            raise InputError(f"label {value!r} is not hashable; use a string, a number or a tuple")
        if _is_infinite(value):
            raise InputError(f"label {value!r} is no class; name a class by text or a finite number")
    names = class_order(present) if classes is None else checked_names(classes)
    code = {name: k for k, name in enumerate(names)}
    unknown = next((v for v in present if v not in code), None)
    if unknown is not None:
        raise InputError(
            f"label {unknown!r} is not among the classes {names!r}; add it to classes or mend the label"
        )
    codes = np.full(len(items), UNLABELLED, dtype=np.int64)
    codes[places] = [code[v] for v in present]
    return codes, names


def decode(codes: Codes, classes: Sequence[Hashable]) -> list[Hashable | None]:
    """The user's label for every code; None where unlabelled.

    >>> decode(np.array([1, -1, 0]), ("cat", "dog"))
    ['dog', None, 'cat']
    """
    return [None if c < 0 else classes[c] for c in codes]


# -- the labels of a whole graph, in any form ------------------------------------


@dataclass(frozen=True)
class KnownLabels:
    """What is known of n nodes: `indicator` (n, K) holds 1 where a labelled node has a class.

    `form` remembers how the labels came, so that answers go out the same way:
    one "value" a node, a "set" of values a node, or a 0/1 "matrix".

    >>> KnownLabels(np.array([[1.0, 0.0], [0.0, 0.0]]), ("cat", "dog")).is_labelled
    array([ True, False])
    """

    indicator: Floats
    classes: tuple[Hashable, ...]
    form: Literal["value", "set", "matrix"] = "value"

    @property
    def is_labelled(self) -> Bools:
        """(n,) whether a node is labelled: it has a class."""
        return np.asarray(self.indicator.any(axis=1))

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several classes."""
        return self.form != "value"


def tabulate(
    labels: Any,
    nodes: Sequence[Hashable],
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
) -> KnownLabels:
    """Labels of the nodes in any form that people have.

    Parameters
    ----------
    labels : one of
        - a dict from node id to label; nodes it leaves out are unlabelled;
        - a value a node, in the order of the nodes: list, array, series;
        - a pandas Series whose index holds node ids: it counts by index, in any order and with
          nodes left out. An index 0..n-1 counts by position;
        - instead of values, sets of values: several labels a node. An empty set is unlabelled;
        - a table of two columns, ids of nodes and their labels (pandas, polars, Arrow), where one is called
          node or id, or where it is no 0/1 matrix;
        - an (n, K) 0/1 matrix, dense, sparse, nested lists or a data frame (its columns name the classes):
          several labels a node. A row of zeros, or of NaN, is unlabelled.
    nodes : the ids of the nodes, in order
    classes : in the order of their codes; those that occur, by default
    missing : the value that means "unlabelled", besides None and NaN; where it is not given, -1 may
        (`implied_missing`)

    >>> tabulate({"ann": "cat", "cy": "dog"}, ["ann", "bob", "cy"]).indicator
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    names, columns = None if classes is None else checked_names(classes), None
    if isinstance(labels, str):
        raise InputError(
            f"labels are the text {labels!r}; the name of a column is for querist.label and querist.ask with "
            "nodes=, a table of the nodes"
        )
    pairs = _pairs(labels, nodes)
    labels = labels if pairs is None else pairs
    if hasattr(labels, "index") and not callable(labels.index):
        labels, columns = _by_index(labels, nodes)
    if isinstance(labels, Mapping):
        labels = _by_id(labels, nodes)
    if isinstance(labels, list) and labels and all(isinstance(row, list | np.ndarray) for row in labels):
        if len({len(row) for row in labels}) > 1:
            raise InputError(
                "rows of labels differ in length; give a 0/1 value a class, or a set of classes a node"
            )
        labels = np.array(labels)
    if sp.issparse(labels) or _is_matrix(labels):
        matrix = _checked_matrix(labels, len(nodes))
        own = names or columns or tuple(range(matrix.shape[1]))
        if len(own) != matrix.shape[1]:
            raise InputError(f"{matrix.shape[1]} columns of labels for {len(own)} classes; give one a class")
        return KnownLabels(matrix, own, "matrix")
    numbers = np.asarray(labels).ravel() if hasattr(labels, "__array__") else None
    if numbers is not None and numbers.dtype.kind in "iuf" and len(numbers) == len(nodes) and names is None:
        codes, own = _encode_numbers(numbers, missing)
        return KnownLabels(one_hot(codes, len(own)), own)
    values = numbers.tolist() if numbers is not None else list(labels)
    if len(values) != len(nodes):
        raise InputError(
            f"{len(values)} labels for {len(nodes)} nodes; give one a node (None where unlabelled), or a "
            "dict from node id to label"
        )
    if any(isinstance(value, set | frozenset) for value in values):
        return _from_sets(values, names, missing)
    codes, own = encode(values, names, implied_missing(values, names, missing))
    return KnownLabels(one_hot(codes, len(own)), own)


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


def one_hot(codes: Codes, n_classes: int) -> Floats:
    """(n, K) with a 1 at each node's class; rows of unlabelled nodes are zero.

    >>> one_hot(np.array([1, -1]), 2)
    array([[0., 1.],
           [0., 0.]])
    """
    indicator = np.zeros((codes.size, n_classes))
    known = np.flatnonzero(codes != UNLABELLED)
    indicator[known, codes[known]] = 1.0
    return indicator


def _encode_numbers(numbers: Any, missing: Hashable) -> tuple[Codes, tuple[Hashable, ...]]:
    """`encode` for an array of numbers, a million at a time."""
    missing = implied_missing(np.unique(numbers), None, missing)
    known = ~np.isnan(numbers)
    if missing is not None:
        known &= numbers != missing
    classes, inverse = np.unique(numbers[known], return_inverse=True)
    if classes.dtype.kind == "f" and np.isinf(classes).any():
        raise InputError("labels hold infinite values; name a class by text or a finite number")
    codes = np.full(numbers.size, UNLABELLED, dtype=np.int64)
    codes[known] = inverse
    return codes, tuple(classes.tolist())


def _by_id(labels: Mapping[Any, Any], nodes: Sequence[Hashable]) -> list[Any]:
    known = set(nodes)
    unknown = [node for node in labels if plain(node) not in known]
    if unknown:
        raise InputError(
            f"labels for {len(unknown)} unknown nodes, e.g. {unknown[0]!r} (nodes are like {nodes[0]!r}); "
            "mend the ids"
        )
    given = {plain(node): value for node, value in labels.items()}
    return [given.get(node) for node in nodes]


def _by_index(labels: Any, nodes: Sequence[Hashable]) -> tuple[Any, tuple[Hashable, ...] | None]:
    """A pandas Series or data frame in the order of the nodes, and the names of its columns."""
    columns = tuple(plain(c) for c in labels.columns) if hasattr(labels, "columns") else None
    if list(labels.index) == list(range(len(nodes))):
        return labels.to_numpy(), columns
    row_of = {plain(node): row for row, node in enumerate(labels.index)}
    if len(row_of) != len(labels):
        raise InputError("the index of the labels names a node twice; give each node one row")
    if unknown := row_of.keys() - set(nodes):
        raise InputError(
            f"the index of the labels holds {len(unknown)} unknown nodes, e.g. {next(iter(unknown))!r} "
            f"(nodes are like {nodes[0]!r}); mend the ids, or reset the index of labels in the nodes' order"
        )
    rows = labels.to_numpy()
    if columns is None:
        return [rows[row_of[node]] if node in row_of else None for node in nodes], None
    table = np.zeros((len(nodes), len(columns)))
    known = [i for i, node in enumerate(nodes) if node in row_of]
    table[known] = rows[[row_of[nodes[i]] for i in known]]
    return table, columns


def _is_matrix(labels: Any) -> bool:
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def _checked_matrix(labels: Any, n: int) -> Floats:
    what = "a matrix of labels"
    if sp.issparse(labels):
        labels = sp.csr_array(cast(Any, checked_sparse(labels, what))).toarray()
    matrix = as_floats(labels, what, "write 1 where a node has a class").copy()
    if matrix.shape[0] != n:
        raise InputError(f"{matrix.shape[0]} rows of labels for {n} nodes; give one a node")
    matrix[np.isnan(matrix).all(axis=1)] = 0.0
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise InputError(
            "a matrix of labels holds other values than 0 and 1; write 1 where a node has a class, 0 where "
            "not, and a row of zeros or NaN for an unlabelled node"
        )
    return matrix


def _from_sets(values: list[Any], names: tuple[Hashable, ...] | None, missing: Hashable) -> KnownLabels:
    sets = [
        tuple(v) if isinstance(v, set | frozenset) else () if is_missing(plain(v), missing) else (v,)
        for v in values
    ]
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    members_of_all = [value for members in sets for value in members]
    missing = implied_missing(members_of_all, names, missing)
    codes, own = encode(members_of_all, names, missing)
    indicator = np.zeros((len(sets), len(own)))
    indicator[rows[codes >= 0], codes[codes >= 0]] = 1.0
    return KnownLabels(indicator, own, "set")
