"""Raw entries -> one clean symmetric adjacency, and a word on what was done.

Every source, whatever its library, is first read into `Entries`
`(head, tail, weight)` between row numbers, and what else the source knows of
its nodes. Numbering the user's ids, putting nodes in the order asked for and
merging the entries are then written once, here.

The rule for weights is the same everywhere: where an edge is given more than
once, in one direction or in both, `parallel` says which weight it gets, the
largest given by default. For unsigned graphs that is `S <- max(S, S')`. An edge
given in one direction only keeps its weight, negative or not: the direction
that is absent is not a zero. The two triangles of a matrix are one edge, and so
are the two directions of a list that gives every edge both ways alike: those
are never summed.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph_options import Parallel
from querist.labels import Labels, class_order, is_missing, plain
from querist.tables.formats import Entries, some
from querist.types import Bools, Codes, Floats, Sparse

# -- the user's ids -----------------------------------------------------------


def number(columns: Sequence[Any], where: str) -> tuple[list[Codes], tuple[Hashable, ...]]:
    """Row numbers for the ids in every column, and the id of every row.

    Rows are in the order of the ids where those can be sorted, else in the
    order of appearance. A column is an integer array or a list of hashables.

    >>> number([["b", "a"], ["a", "c"]], "edges")
    ([array([1, 0]), array([0, 2])], ('a', 'b', 'c'))
    """
    arrays = all(isinstance(c, np.ndarray) and c.dtype.kind in "iu" for c in columns)
    if (
        arrays and np.result_type(*columns).kind in "iu"
    ):  # numbers of 64 bits with and without a sign have none
        sizes = np.cumsum([len(c) for c in columns])[:-1]
        rows, integers = _number_integers(np.concatenate(columns))
        return np.split(rows, sizes), tuple(integers.tolist())
    lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns]
    try:
        name = {v: plain(v) for v in dict.fromkeys(v for column in lists for v in column)}
        ids = class_order(name.values())
    except TypeError:
        odd = next(v for column in lists for v in column if not isinstance(v, Hashable))
        raise InputError(
            f"{where}: node id {odd!r} is not hashable; use strings, numbers or tuples"
        ) from None
    if any(is_missing(v) for v in ids):
        raise InputError(
            f"{where}: some node ids are missing (None or NaN); drop those rows or name the nodes"
        )
    place = dict(zip(ids, range(len(ids)), strict=True))
    row = {v: place[own] for v, own in name.items()}
    return [np.fromiter(map(row.__getitem__, c), np.int64, len(c)) for c in lists], ids


def _number_integers(values: np.ndarray[Any, Any]) -> tuple[Codes, np.ndarray[Any, Any]]:
    if values.size == 0:
        return np.empty(0, dtype=np.int64), values
    if values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    low, high = values.min(), values.max()
    if int(high) - int(low) > 4 * values.size + 1024:
        integers, rows = np.unique(values, return_inverse=True)
        return rows.astype(np.int64), integers
    # Ids that lie close together need no sort: mark the ones that occur and count along.
    shifted = (values - low).astype(np.int64)
    occurs = np.zeros(int(high - low) + 1, dtype=bool)
    occurs[shifted] = True
    return (np.cumsum(occurs) - 1)[shifted], np.flatnonzero(occurs).astype(values.dtype) + low


def arrange(
    found: Entries,
    order: Iterable[Hashable],
    complete: bool,
    where: str,
    unlisted: str = "not in the node table",
) -> Entries:
    """The same with nodes in this order, nodes that only `order` knows being isolated.

    Nodes that `order` leaves out are an error if it claims to be `complete`,
    else they follow at the end, and `unlisted` is said of them.
    """
    wanted = tuple(order)
    old = found.ids if found.ids is not None else tuple(range(found.n))
    known = set(wanted)
    if len(known) != len(wanted):
        twice = Counter(wanted).most_common(1)[0][0]
        raise InputError(f"{where}: node id {twice!r} comes twice; list every node once")
    rest = [v for v in old if v not in known]
    if rest and (complete or len(rest) == len(old)):
        like = f" (they are like {wanted[0]!r})" if wanted else ""
        raise InputError(
            f"{where}: {some(len(rest), 'node')} of the edges, e.g. {rest[0]!r}, not among the "
            f"{len(wanted)} given{like}; list every node, with ids of the same type as in the edges"
        )
    ids = (*wanted, *rest)
    row = {v: k for k, v in enumerate(ids)}
    moved = np.fromiter((row[v] for v in old), np.int64, len(old))
    came_from = np.full(len(ids), -1, dtype=np.int64)
    came_from[moved] = np.arange(len(old))
    said = (f"{some(len(rest), 'node')} of the edges {unlisted}",) if rest else ()
    return replace(
        found,
        heads=moved[found.heads],
        tails=moved[found.tails],
        n=len(ids),
        ids=ids,
        fixed=True,
        attributes=rearranged(found.attributes, came_from),
        labels=rearranged(found.labels, came_from),
        notes=(*found.notes, *said),
    )


def rearranged(values: Any, came_from: Codes) -> Any:
    """Values of the nodes in a new order; a node that was not there (-1) has none."""
    if values is None:
        return None
    if isinstance(values, Labels):
        return values.select(came_from)
    if sp.issparse(values) or getattr(values, "ndim", 1) == 2:
        matrix = sp.csr_array(values)
        return sp.vstack([matrix, sp.csr_array((1, matrix.shape[1]))], format="csr")[came_from]
    return [values[k] if k >= 0 else None for k in came_from]


# -- the entries --------------------------------------------------------------


def merge(found: Entries, parallel: Parallel = "max") -> tuple[Sparse, tuple[str, ...]]:
    """The (n, n) symmetric adjacency of the entries, and a note on every repair.

    >>> i, j = np.array([0, 1, 0, 2, 2]), np.array([1, 0, 1, 2, 0])
    >>> S, notes = merge(Entries(i, j, 3, weights=np.array([1.0, 5.0, 2.0, 9.0, -1.0])))
    >>> S.toarray()
    array([[ 0.,  5., -1.],
           [ 5.,  0.,  0.],
           [-1.,  0.,  0.]])
    >>> for note in notes: print(note)
    1 self-loop dropped
    1 duplicate edge merged by max
    direction merged by max: 1 edge one way, 1 both ways (1 with different weights)
    1 negative weight
    """
    n = found.n
    weights = found.weights if found.weights is not None else np.ones(found.heads.size)
    loop = found.heads == found.tails
    zero = (weights == 0) & ~loop
    keep = ~(loop | zero)
    heads, tails, weights = found.heads[keep], found.tails[keep], weights[keep]
    low, high = np.minimum(heads, tails), np.maximum(heads, tails)
    backward = (heads > tails) & (found.directed is not False)

    # One key for an ordered pair: the unordered pair, then which way it points.
    key = 2 * (low * n + high) + backward
    order = np.argsort(key, kind="stable")
    key, weights = key[order], weights[order]
    one_way = _starts(key)
    duplicates = key.size - one_way.size
    key, weights = key[one_way], _reduce(_BY[parallel], weights, one_way)

    pair = _starts(key // 2)
    both = np.diff(pair, append=key.size) == 2
    largest, smallest = _reduce(np.maximum, weights, pair), _reduce(np.minimum, weights, pair)
    mirrored = bool(both.all() and (largest == smallest).all())
    by = "max" if found.matrix or mirrored else parallel
    merged = largest if by == "max" else _reduce(np.add, weights, pair)
    low, high = np.divmod(key[pair] // 2, n)
    S = sp.csr_array(
        (np.tile(merged, 2), (np.concatenate([low, high]), np.concatenate([high, low]))), shape=(n, n)
    )
    notes = (
        (int(loop.sum()), "self-loop", " dropped"),
        (int(zero.sum()), "zero-weight edge", " dropped"),
        (duplicates, "duplicate edge", f" merged by {parallel}"),
    )
    negative = int((merged < 0).sum())
    return S, (
        *(some(count, noun) + done for count, noun, done in notes if count),
        *_direction_note(found.directed, both, largest != smallest, by),
        *((some(negative, "negative weight"),) if negative else ()),
    )


def _starts(sorted_keys: Codes) -> Codes:
    """Where each run of equal keys begins."""
    return np.flatnonzero(np.diff(sorted_keys, prepend=sorted_keys[:1] - 1))


_BY: dict[str, np.ufunc] = {"max": np.maximum, "sum": np.add}


def _reduce(ufunc: np.ufunc, values: Floats, starts: Codes) -> Floats:
    """Each run reduced to one value."""
    # reduceat refuses an empty list of starts.
    return np.asarray(ufunc.reduceat(values, starts) if starts.size else values)


def _direction_note(directed: bool | None, both: Bools, differ: Bools, by: str) -> tuple[str, ...]:
    """What merging the directions meant; nothing for an undirected source.

    A list of pairs does not say whether it is directed. One that gives every
    edge once, or every edge both ways alike, is taken as undirected.
    """
    two, odd = int(both.sum()), int(differ.sum())
    one = both.size - two
    if not odd and (one == 0 or (two == 0 and directed is not True)):
        return ()
    unequal = f" ({odd:,} with different weights)" if odd else ""
    return (f"direction merged by {by}: {some(one, 'edge')} one way, {two:,} both ways{unequal}",)
