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

`exp(-a d)` leaves the range of doubles where a d > 745. A common factor changes no prediction, so the weights
are then `exp(-a (d - c))` with c in the middle of what must be kept: the edges of the shortest spanning tree.
Weights that still underflow belong to edges that carry nothing.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, get_args

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError, refuse
from querist.graph.graph import Graph
from querist.labels import encode
from querist.lazy import needing
from querist.matrices import as_floats, checked_sparse, with_short_indices
from querist.options import Options, lists_options, option
from querist.parameters import Range
from querist.tables.formats import some
from querist.types import Codes, Floats

Kind: TypeAlias = Literal["knn", "epsilon", "heat", "exponential"]
Weight: TypeAlias = Literal["unit", "heat", "exponential"]
Bandwidth: TypeAlias = Literal["median", "mean", "max", "local"]
Method: TypeAlias = Literal["auto", "exact", "approximate"]

EXACT_UP_TO = 20_000
"""Points up to which neighbours are searched exactly unless told otherwise."""

DENSE_UP_TO = 20_000
"""Points up to which everybody may be joined with everybody."""


WIDEST = 650.0
"""Largest exponent, either way, that is kept: sums of weights must not overflow either."""


class PointKeywords(TypedDict, total=False):
    """The fields of `PointOptions` as keywords; a test compares the two."""

    kind: Kind
    k: int
    epsilon: float | None
    mutual: bool
    weight: Weight | None
    bandwidth: Bandwidth | float
    a: float | None
    metric: str | Callable[[Floats, Floats], float]
    method: Method
    seed: int


@dataclass(frozen=True, kw_only=True)
class PointOptions(Options):
    """How points become a graph.

    >>> PointOptions(kind="heat", k=3)
    Traceback (most recent call last):
    ...
    querist.errors.InputError: k = 3 does nothing with kind = 'heat'; leave it out, or pass kind = 'knn'
    """

    kind: Kind = option("knn", "Who is joined: knn, epsilon, or all pairs: heat, exponential")
    k: Annotated[int, Range(1)] = option(10, "Nearest neighbours of each point", only=("kind", ("knn",)))
    epsilon: Annotated[float | None, Range(gt=0)] = option(
        None, "Largest discrepancy that joins", only=("kind", ("epsilon",))
    )
    mutual: bool = option(False, "Join only pairs that name each other", only=("kind", ("knn",)))
    weight: Weight | None = option(
        None, "Weights of the edges", default_words="heat, or the name of the kind for all pairs"
    )
    bandwidth: Bandwidth | float = option(
        "median",
        "Bandwidth of heat weights: a number above 0, or median, mean, max or local of the neighbours",
    )
    a: Annotated[float | None, Range(gt=0)] = option(None, "Rate of exponential weights, which need it")
    metric: str | Callable[[Floats, Floats], float] = option(
        "euclidean", "A name that SciPy knows, a function of two rows, or precomputed: X holds discrepancies"
    )
    method: Method = option(
        "auto",
        "Search for neighbours: exact, approximate (pynndescent) or auto, which is exact up to 20,000 points",
        only=("kind", ("knn",)),
    )
    seed: Annotated[int, Range(0)] = option(
        0, "Random seed of the approximate search", only=("kind", ("knn",))
    )


@lists_options(PointOptions)
def from_points(
    X: Any,
    options: PointOptions | None = None,
    *,
    labels: Iterable[Any] | None = None,
    classes: Sequence[Hashable] | None = None,
    nodes: Sequence[Hashable] | None = None,
    name: str = "points",
    **keywords: Unpack[PointKeywords],
) -> Graph:
    """A graph of feature vectors, or of any things with a discrepancy.

    Parameters
    ----------
    X : (n, m) array or sparse matrix of points; with metric="precomputed" the (n, n) discrepancies
    options : a `PointOptions`; or give its fields by name, as in `from_points(X, k=5)`
    labels, classes, nodes, name : as in `as_graph`; labels hold one value per point, None if unlabelled

    >>> line = from_points([[0.0], [1.0], [3.0]], k=1, weight="unit")
    >>> line.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    asked = PointOptions.resolve(options, keywords)
    kind, k, metric, epsilon = asked.kind, asked.k, asked.metric, asked.epsilon
    points = _points(X, metric)
    n = points.shape[0]
    chosen = _weight(asked, n)
    if kind == "knn":
        exact = _is_exact(asked, n)
        distance, neighbour = nearest(points, k, metric, exact, asked.seed)
        pairs = neighbour_pairs(distance, neighbour, asked.mutual)
        who = f"{k} nearest neighbours" + ("" if exact else " (found approximately)")
    else:
        pairs = pairs_within(all_distances(points, metric), np.inf if epsilon is None else epsilon)
        who = "all pairs" if kind != "epsilon" else f"pairs within {epsilon:g}"
    weights, said = pair_weights(pairs, chosen, asked.bandwidth, asked.a)
    half = sp.csr_array((weights, (pairs.first, pairs.second)), shape=(n, n))
    if labels is None and classes is not None:
        labels = [None] * n
    return Graph(
        sp.csr_array(half + half.T),
        nodes=() if nodes is None else nodes,
        attributes=None if metric == "precomputed" else sp.csr_array(points),
        known=None if labels is None else encode(labels, classes),
        name=name,
        notes=(f"{who}, {said[0]}", *said[1:]),
    )


# -- checked input -------------------------------------------------------------


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


def _weight(asked: PointOptions, n: int) -> Weight:
    """The weights of the edges; options that do not fit each other, or n points, are refused."""
    kind, k, width = asked.kind, asked.k, asked.bandwidth
    own: Weight | None = "heat" if kind == "heat" else "exponential" if kind == "exponential" else None
    weight = asked.weight or own or "heat"
    refuse(
        {
            f"kind={kind!r} with weight={weight!r}; all pairs have the weight of their kind": (
                own not in (None, weight)
            ),
            f"k = {k} neighbours of {n} points; give 1 <= k < {n}": kind == "knn" and k >= n,
            "kind='epsilon' needs the largest discrepancy that joins; give epsilon > 0": (
                kind == "epsilon" and asked.epsilon is None
            ),
            f"{weight} weights, a={asked.a}; give a > 0 with exponential weights, and only there": (
                (weight == "exponential") != (asked.a is not None)
            ),
            f"bandwidth = {width!r} does nothing with {weight} weights; leave it out": (
                weight != "heat" and width != "median"
            ),
            f"bandwidth = {width!r}; give a number above 0, or one of {', '.join(get_args(Bandwidth))}": (
                not isinstance(width, str) and not width > 0
            ),
            f"kind={kind!r} compares all pairs of {n:,} points; use kind='knn', or at most {DENSE_UP_TO:,}": (
                kind != "knn" and n > DENSE_UP_TO
            ),
        }
    )
    return weight


def _is_exact(asked: PointOptions, n: int) -> bool:
    """Whether the neighbours of n points are searched exactly; options without effect are refused."""
    given = isinstance(asked.metric, str) and asked.metric == "precomputed"
    exact = given or asked.method == "exact" or (asked.method == "auto" and n <= EXACT_UP_TO)
    refuse(
        {
            "method = 'approximate' does nothing with metric = 'precomputed': all discrepancies are known; "
            "leave it out": given and asked.method == "approximate",
            f"seed = {asked.seed} does nothing, since the neighbours of {n:,} points are searched exactly; "
            "leave it out, or pass method='approximate'": exact and asked.seed != 0,
        }
    )
    return exact


# -- who is joined ---------------------------------------------------------------


class Pairs(NamedTuple):
    """Joined pairs, each once, and what a bandwidth is taken from."""

    first: Codes
    second: Codes
    distance: Floats
    """(pairs,) discrepancy of every pair."""
    sample: Floats
    """Distances to neighbours, as each point sees them."""
    reach: Floats
    """(n,) distance from every point to its farthest neighbour, 0 without any."""


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


def nearest(points: Any, k: int, metric: Any, exact: bool, seed: int) -> tuple[Floats, Codes]:
    """(n, k) distances to the nearest points, and (n, k) which points they are.

    Ties go to the lower row number.
    """
    distance, neighbour = _exact(points, k, metric) if exact else _approximate(points, k, metric, seed)
    first = np.lexsort((neighbour, distance), axis=1)[:, :k]
    return np.take_along_axis(distance, first, axis=1), np.take_along_axis(neighbour, first, axis=1)


def _exact(points: Any, k: int, metric: Any) -> tuple[Floats, Codes]:
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


# -- how strongly ----------------------------------------------------------------


def pair_weights(pairs: Pairs, weight: str, bandwidth: Any, a: float | None) -> tuple[Floats, list[str]]:
    """Weights of the joined pairs, and what to say about them."""
    d = pairs.distance
    if weight == "unit" or not d.size:
        return np.ones(d.size), ["weights 1"]
    if weight == "heat":
        return np.exp(-((d / _scale(pairs, bandwidth)) ** 2)), ["heat-kernel weights"]
    assert a is not None
    return exponential_weights(pairs, a)


def _scale(pairs: Pairs, bandwidth: Any) -> Any:
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    if bandwidth == "local":
        scale = np.sqrt(pairs.reach[pairs.first] * pairs.reach[pairs.second])
        return np.where(scale > 0, scale, 1.0)
    # All neighbours coincide: every weight is 1.
    pick: dict[str, Any] = {"median": np.median, "mean": np.mean, "max": np.max}
    return float(pick[bandwidth](pairs.sample)) or 1.0


def exponential_weights(pairs: Pairs, a: float) -> tuple[Floats, list[str]]:
    """`exp(-a d)` of every pair, times a common factor where doubles need one."""
    d = pairs.distance
    shortest, bridge = float(d.min()), longest_bridge(pairs)
    said = [f"weights exp(-{a:g} d)"]
    if a * bridge <= WIDEST:
        centre = 0.0
    elif a * (bridge - shortest) <= 2 * WIDEST:
        centre = (bridge + shortest) / 2
        said.append(f"times exp({a:g} x {centre:.4g}), so that they can be written")
    else:
        raise InputError(
            f"a = {a:g}: exp(-a {shortest:.3g}) and exp(-a {bridge:.3g}) must both be written and are "
            f"too far apart; give a <= {2 * WIDEST / (bridge - shortest):.4g}"
        )
    with np.errstate(under="ignore"):
        weights = np.exp(-a * (d - centre))
    lost = int((weights == 0).sum())
    if lost:
        said.append(f"{some(lost, 'edge')} too weak to be written left out")
    return weights, said


def longest_bridge(pairs: Pairs) -> float:
    """The longest edge of the shortest spanning forest: what the graph cannot do without."""
    from scipy.sparse import csgraph

    n = pairs.reach.size
    # Ranks, because a sparse graph reads a distance of 0 as "no edge".
    order = np.argsort(pairs.distance, kind="stable")
    rank = np.argsort(order) + 1.0
    edges = sp.csr_array((rank, (pairs.first, pairs.second)), shape=(n, n))
    tree = csgraph.minimum_spanning_tree(with_short_indices(edges))
    return float(pairs.distance[order[int(tree.data.max()) - 1]])
