"""Covers of a set by few sets of small diameter, or by few path-connected sets (pounce08, eq. 8, 25-27).

With a discrepancy d on the points X:

- the cover number `N(X, rho)` is the least number of sets of diameter at most rho that contain X;
- the component cover number `C(X, rho)` is the least number of rho-path-connected sets: the components of
  the graph of all pairs within rho;
- with labels, the separating numbers are their minima over `rho < delta`, delta being the smallest
  discrepancy between different labels. Both fall as rho grows, so rho stands just below delta.

`N` is the fewest colours of the graph of pairs beyond rho. It is found exactly for small sets, by colouring
the node with the most colours around it first and backtracking (DSATUR); for large ones by complete linkage,
whose clusters have a diameter at most the height they are cut at. A `Cover` says which.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csgraph
from scipy.spatial.distance import pdist, squareform

from querist import InputError
from querist.extend import compiled
from querist_papers.types import Bools, Codes, Floats

EXACT_UP_TO = 40
"""Points up to which covers are searched exactly unless told otherwise."""

STEPS = 20_000
"""Colours tried before an exact search gives up."""


def distances(points: Any) -> Floats:
    """(n, n) Euclidean distances, exactly symmetric.

    >>> distances([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    # Differences first: an expanded square loses the digits of near points.
    return np.asarray(squareform(pdist(points)))


class Cover(NamedTuple):
    """A number of sets, the diameter they may have, and whether fewer are known not to do.

    >>> cover_number(np.array([[0.0, 1.0], [1.0, 0.0]]), rho=0.5)
    Cover(number=2, rho=0.5, exact=True)
    """

    number: int
    rho: float
    exact: bool


def cover_number(distance: Floats, rho: float, exact: bool | None = None) -> Cover:
    """`N(X, rho)` from the (n, n) discrepancies; `exact` says how, by size unless given.

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> cover_number(line, 1.0)
    Cover(number=3, rho=1.0, exact=True)
    """
    d = checked_discrepancies(distance)
    greedy = _linkage_number(_merge_heights(d), rho)
    if not (len(d) <= EXACT_UP_TO if exact is None else exact):
        return Cover(greedy, rho, exact=greedy == 1)
    return _coloured(d, rho, greedy)


def cover_profile(distance: Floats) -> list[Cover]:
    """Every cover number there is, each at the smallest rho that has it; from n points at rho = 0 to one.

    >>> [cover.number for cover in cover_profile(np.array([[0.0, 1.0], [1.0, 0.0]]))]
    [2, 1]
    """
    d = checked_discrepancies(distance)
    n = len(d)
    heights = _merge_heights(d)
    search = n <= EXACT_UP_TO
    candidates = np.unique(d[np.triu_indices(n, 1)] if search else heights)
    profile: list[Cover] = []
    for rho in (0.0, *candidates[candidates > 0].tolist()):
        greedy = min(_linkage_number(heights, rho), profile[-1].number if profile else n)
        found = _coloured(d, rho, greedy) if search else Cover(greedy, rho, exact=greedy == 1)
        if not profile or found.number < profile[-1].number:
            profile.append(found)
    return profile


def component_cover_number(distance: Floats, rho: float) -> int:
    """`C(X, rho)`: components of the pairs within rho. Exact at any size.

    >>> component_cover_number(np.array([[0.0, 1.0], [1.0, 0.0]]), rho=1.0)
    1
    """
    d = checked_discrepancies(distance)
    count, _ = csgraph.connected_components(d <= rho, directed=False)
    return int(count)


def separation(distance: Floats, codes: Codes) -> tuple[float, float]:
    """delta, the smallest discrepancy between different labels; and the largest one below it.

    >>> separation(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 3.0], [3.0, 3.0, 0.0]]), np.array([0, 0, 1]))
    (3.0, 1.0)
    """
    d = checked_discrepancies(distance)
    labels = np.asarray(codes)
    if labels.shape != (len(d),):
        raise InputError(f"{labels.size} labels for {len(d)} points; give one a point")
    apart = d[labels[:, None] != labels[None, :]]
    delta = float(apart.min()) if apart.size else float("inf")
    below = d[(d < delta) & np.isfinite(d)]
    return delta, float(below.max()) if below.size else 0.0


def separating_cover_numbers(distance: Floats, codes: Codes) -> tuple[Cover | None, int | None]:
    """The separating-cover number N° and the component separating-cover number C° (pounce08, Definition 7).

    None stands for infinity: two points coincide and have different labels.

    >>> separating_cover_numbers(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]))
    (Cover(number=2, rho=0.0, exact=True), 2)
    """
    delta, rho = separation(distance, codes)
    if delta == 0:
        return None, None
    return cover_number(distance, rho), component_cover_number(distance, rho)


def checked_discrepancies(distance: Floats) -> Floats:
    """(n, n) symmetric, 0 or more, 0 on the diagonal; infinity is allowed."""
    d = np.asarray(distance, dtype=np.float64)
    if d.ndim != 2 or d.shape[0] != d.shape[1] or d.shape[0] == 0:
        raise InputError(f"discrepancies of shape {d.shape}; give an (n, n) matrix, n >= 1")
    if np.isnan(d).any() or (d < 0).any() or d.diagonal().any() or not np.array_equal(d, d.T):
        raise InputError("discrepancies must be symmetric, 0 or more, and 0 on the diagonal")
    return d


# -- greedy ----------------------------------------------------------------------


def _merge_heights(d: Floats) -> Floats:
    """(n - 1,) diameters at which complete linkage merges clusters, growing."""
    if len(d) == 1:
        return np.empty(0)
    finite = d[np.isfinite(d)]
    # Linkage takes no infinities: beyond the largest finite discrepancy they merge last.
    beyond = 2 * float(finite.max()) + 1.0
    tree = linkage(squareform(np.where(np.isfinite(d), d, beyond), checks=False), "complete")
    return np.sort(np.where(tree[:, 2] >= beyond, np.inf, tree[:, 2]))


def _linkage_number(heights: Floats, rho: float) -> int:
    return 1 + int((heights > rho).sum())


# -- exact -----------------------------------------------------------------------


def _coloured(d: Floats, rho: float, greedy: int) -> Cover:
    """The exact cover number, unless the search gives up; `greedy` is known to do."""
    conflict = d > rho
    colour, steps = np.full(len(d), -1), np.array([STEPS])
    by_degree = np.argsort(-conflict.sum(axis=1), kind="stable")
    lower = pairwise_conflicting(conflict, by_degree, colour.copy())
    number = fewest_colours(conflict, greedy, lower, colour, 0, steps)
    return Cover(int(number), rho, exact=bool(steps[0] > 0))


@compiled
def pairwise_conflicting(conflict: Bools, order: Codes, kept: Codes) -> int:
    """A lower bound: points of which no two may share a set, picked greedily from every start."""
    best = 1
    for start in order:
        kept[0] = start
        size = 1
        for v in order:
            fits = True
            for s in range(size):
                fits = fits and conflict[v, kept[s]]
            if fits:
                kept[size] = v
                size += 1
        best = max(best, size)
    return best


@compiled
def most_constrained(conflict: Bools, colour: Codes, used: int) -> int:
    """The uncoloured node with the most colours among its neighbours, then the most neighbours; -1: none."""
    best, best_around, best_degree = -1, -1, -1
    for v in range(colour.size):
        if colour[v] < 0:
            around, degree = 0, conflict[v].sum()
            for c in range(used):
                around += clashes(conflict, colour, v, c)
            if around > best_around or (around == best_around and degree > best_degree):
                best, best_around, best_degree = v, around, degree
    return best


@compiled
def fewest_colours(conflict: Bools, best: int, lower: int, colour: Codes, used: int, steps: Codes) -> int:
    """The fewest colours of a graph if below `best`; `steps` (1,) counts down the tries that are left.

    `colour` holds `used` colours, and -1 for nodes without one. A new colour is tried once, after the old
    ones: permuted colours are the same colouring.
    """
    steps[0] -= 1
    v = most_constrained(conflict, colour, used)
    if v < 0:
        return min(best, used)
    for c in range(used + 1):
        # Where as many colours stand already as the best has, none of the rest can be better.
        if best > max(lower, used, c + 1) and steps[0] > 0 and not clashes(conflict, colour, v, c):
            colour[v] = c
            best = fewest_colours(conflict, best, lower, colour, max(used, c + 1), steps)
            colour[v] = -1
    return int(best)


@compiled
def clashes(conflict: Bools, colour: Codes, v: int, c: int) -> bool:
    """Whether a neighbour of v has colour c."""
    for w in range(conflict.shape[0]):  # noqa: SIM110 - a kernel has no generators
        if conflict[v, w] and colour[w] == c:
            return True
    return False
