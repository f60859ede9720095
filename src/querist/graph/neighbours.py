"""Graphs from points: who is joined to whom, and how strongly.

A discrepancy `d(x, y)` (symmetric, 0 only for equal points; any metric, and more) becomes a graph by two
choices. Who is joined:

- *knn*: `i ~ j` when either is among the other's k nearest (or, `mutual`, both are);
- *epsilon*: when `d <= epsilon`;
- *heat* and *exponential*: everybody with everybody.

And how strongly: *unit* weights 1; *heat* `exp(-d^2/s^2)`, s a bandwidth; *exponential* `exp(-a d)`, the
embedding of pounce08, Definition 6, whose Theorem 8 wants a large `a`.

Bandwidths by name, from the distances to neighbours: "median", "mean", "max"; "local" takes `s^2 = s_i s_j`
with s_i the distance from i to its farthest neighbour (self-tuning: Zelnik-Manor and Perona).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError, check_name, refuse
from querist.graph.graph import Graph
from querist.graph.weights import Pairs, pair_weights
from querist.labels import encode
from querist.lazy import needing
from querist.matrices import as_floats, checked_sparse
from querist.types import Codes, Floats

Kind: TypeAlias = Literal["knn", "epsilon", "heat", "exponential"]
Weight: TypeAlias = Literal["unit", "heat", "exponential"]
Bandwidth: TypeAlias = Literal["median", "mean", "max", "local"]
Method: TypeAlias = Literal["auto", "exact", "approximate"]

EXACT_UP_TO = 20_000
"""Points up to which neighbours are searched exactly unless told otherwise."""

DENSE_UP_TO = 20_000
"""Points up to which everybody may be joined with everybody."""


def from_points(
    X: Any,
    *,
    kind: Kind = "knn",
    k: int = 10,
    epsilon: float | None = None,
    mutual: bool = False,
    weight: Weight | None = None,
    bandwidth: Bandwidth | float = "median",
    a: float | None = None,
    metric: str | Callable[[Floats, Floats], float] = "euclidean",
    method: Method = "auto",
    seed: int = 0,
    labels: Iterable[Any] | None = None,
    classes: Sequence[Hashable] | None = None,
    nodes: Sequence[Hashable] | None = None,
    name: str = "points",
) -> Graph:
    """A graph of feature vectors, or of any things with a discrepancy.

    Parameters
    ----------
    X : (n, m) array or sparse matrix of points; with metric="precomputed" the (n, n) discrepancies
    kind : who is joined: "knn", "epsilon", or all pairs: "heat", "exponential"
    k : neighbours, 1 to n - 1; mutual : only pairs that name each other
    epsilon : > 0, the largest discrepancy that joins; needed by "epsilon"
    weight : "heat" unless given; all-pairs kinds have the weight of their name
    bandwidth : of heat weights: a number > 0, or "median", "mean", "max" or "local" of the neighbours
    a : > 0, of exponential weights; needed by them
    metric : a name that SciPy knows, a function of two rows, or "precomputed"
    method : "exact", "approximate" (pynndescent; knn only) or "auto": exact up to 20,000 points
    seed : of the approximate search
    labels, classes, nodes, name : as in `as_graph`; labels hold one value a point, None where unlabelled

    >>> line = from_points([[0.0], [1.0], [3.0]], k=1, weight="unit")
    >>> line.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    points = _points(X, metric)
    n = points.shape[0]
    chosen = _weight(kind, weight)
    _check_numbers(kind, chosen, k, n, epsilon, a, bandwidth)
    if kind == "knn":
        distance, neighbour, exact = nearest(points, k, metric, method, seed)
        pairs = neighbour_pairs(distance, neighbour, mutual)
        who = f"{k} nearest neighbours" + ("" if exact else " (found approximately)")
    else:
        pairs = pairs_within(all_distances(points, metric), np.inf if epsilon is None else epsilon)
        who = "all pairs" if kind != "epsilon" else f"pairs within {epsilon:g}"
    weights, said = pair_weights(pairs, chosen, bandwidth, a)
    half = sp.csr_array((weights, (pairs.first, pairs.second)), shape=(n, n))
    codes, names = (None, tuple(classes or ())) if labels is None else encode(labels, classes)
    return Graph(
        sp.csr_array(half + half.T),
        nodes=() if nodes is None else nodes,
        attributes=None if metric == "precomputed" else sp.csr_array(points),
        codes=codes,
        classes=names,
        name=name,
        notes=(f"{who}, {said[0]}", *said[1:]),
    )


# -- the door ------------------------------------------------------------------


def _points(X: Any, metric: Any) -> Any:
    sparse = sp.issparse(X)
    points: Any = sp.csr_array(checked_sparse(X, "X"), dtype=np.float64) if sparse else as_floats(X, "X")
    if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] == 0:
        raise InputError(f"X has shape {points.shape}; give at least 2 points, a row each: (n, m)")
    values = points.data if sparse else points
    if metric != "precomputed":
        if not np.isfinite(values).all():
            raise InputError("X holds NaN or infinite values; remove or replace them")
        return points
    if sparse or points.shape[0] != points.shape[1]:
        raise InputError(f"discrepancies of shape {points.shape}; metric='precomputed' needs a dense (n, n)")
    if np.isnan(points).any() or (points < 0).any() or not np.allclose(points, points.T, rtol=1e-9, atol=0):
        raise InputError("discrepancies must be symmetric and 0 or more; infinite means never joined")
    return points


def _weight(kind: str, weight: str | None) -> str:
    check_name("kind of graph", kind, get_args(Kind))
    own = kind if kind in ("heat", "exponential") else None
    found = own or "heat" if weight is None else weight
    check_name("weight", found, get_args(Weight))
    if own not in (None, found):
        raise InputError(f"kind={kind!r} with weight={weight!r}; all pairs have the weight of their kind")
    return found


def _check_numbers(
    kind: str, weight: str, k: int, n: int, epsilon: float | None, a: float | None, bandwidth: Any
) -> None:
    if isinstance(bandwidth, str):
        check_name("bandwidth", bandwidth, get_args(Bandwidth))
    refuse(
        {
            f"k = {k} neighbours of {n} points; give 1 <= k < {n}": kind == "knn" and not 0 < k < n,
            f"kind={kind!r}, epsilon={epsilon}; give epsilon > 0 with kind='epsilon', and only there": (
                (kind == "epsilon") != (epsilon is not None) or (epsilon is not None and not epsilon > 0)
            ),
            f"{weight} weights, a={a}; give a > 0 with exponential weights, and only there": (
                (weight == "exponential") != (a is not None) or (a is not None and not 0 < a < np.inf)
            ),
            f"bandwidth = {bandwidth!r}; give a number above 0, or one of {', '.join(get_args(Bandwidth))}": (
                not isinstance(bandwidth, str) and not 0 < bandwidth < np.inf
            ),
            f"kind={kind!r} compares all pairs of {n:,} points; use kind='knn', or at most {DENSE_UP_TO:,}": (
                kind in ("epsilon", "heat", "exponential") and n > DENSE_UP_TO
            ),
        }
    )


# -- who is joined ---------------------------------------------------------------


def all_distances(points: Any, metric: Any) -> Floats:
    """(n, n) discrepancies, exactly symmetric, with a zero diagonal."""
    if isinstance(metric, str) and metric == "precomputed":
        return np.asarray(np.minimum(points, points.T))
    if metric == "euclidean" and not sp.issparse(points):
        from scipy.spatial.distance import pdist, squareform

        # Differences first: an expanded square loses the digits of near points.
        return np.asarray(squareform(pdist(points)))
    from sklearn.metrics import pairwise_distances

    d = np.asarray(pairwise_distances(points, metric=metric), dtype=np.float64)
    return np.asarray(np.minimum(d, d.T))


def pairs_within(distance: Floats, most: float) -> Pairs:
    """All pairs of finite discrepancy up to `most`, from an (n, n) matrix."""
    first, second = np.nonzero(np.triu((distance <= most) & np.isfinite(distance), 1))
    d = distance[first, second]
    reach = np.zeros(len(distance))
    np.maximum.at(reach, first, d)
    np.maximum.at(reach, second, d)
    return Pairs(first, second, d, d, reach)


def neighbour_pairs(distance: Floats, neighbour: Codes, mutual: bool) -> Pairs:
    """Pairs of which either names the other among its k nearest; `mutual`: both do. From (n, k) arrays."""
    n, k = neighbour.shape
    own = np.repeat(np.arange(n), k)
    other, d = neighbour.ravel(), distance.ravel()
    key = np.minimum(own, other) * n + np.maximum(own, other)
    key, pair, times = np.unique(key, return_inverse=True, return_counts=True)
    # The two ends may see it with another last bit: the smaller one, whatever the order of the points.
    smaller = np.full(key.size, np.inf)
    np.minimum.at(smaller, pair, d)
    keep = times == 2 if mutual else times > 0
    return Pairs(key[keep] // n, key[keep] % n, smaller[keep], d, distance.max(axis=1))


def nearest(points: Any, k: int, metric: Any, method: str, seed: int) -> tuple[Floats, Codes, bool]:
    """(n, k) distances to the nearest, (n, k) who they are, and whether the search was exact.

    Ties go to the lower row number.
    """
    check_name("method", method, get_args(Method))
    wanted = method == "exact" or (method == "auto" and points.shape[0] <= EXACT_UP_TO)
    exact = wanted or (isinstance(metric, str) and metric == "precomputed")
    distance, neighbour = (_exact if exact else _approximate)(points, k, metric, seed)
    first = np.lexsort((neighbour, distance), axis=1)[:, :k]
    distance = np.take_along_axis(distance, first, axis=1)
    return distance, np.take_along_axis(neighbour, first, axis=1), exact


def _exact(points: Any, k: int, metric: Any, seed: int) -> tuple[Floats, Codes]:
    from sklearn.neighbors import NearestNeighbors

    # A few more than k, so that ties go to the lower row number and not to the search tree.
    search = NearestNeighbors(metric=metric).fit(points)
    distance, neighbour = search.kneighbors(n_neighbors=min(k + 8, points.shape[0] - 1))
    return distance, neighbour.astype(np.int64)


def _approximate(points: Any, k: int, metric: Any, seed: int) -> tuple[Floats, Codes]:
    with needing("peers", f"the search among {points.shape[0]:,} points (or method='exact' without)"):
        from pynndescent import NNDescent

    # It lists a point among its own neighbours, mostly in the first place.
    index = NNDescent(points, metric=metric, n_neighbors=max(2 * k, 30) + 1, random_state=seed)
    neighbour, distance = (np.asarray(part) for part in index.neighbor_graph)
    own = neighbour == np.arange(len(neighbour))[:, None]
    return np.where(own, np.inf, distance).astype(np.float64), neighbour.astype(np.int64)
