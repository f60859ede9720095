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
    room = np.empty((4, len(d) + 1), dtype=np.int64)
    by_degree = np.argsort(-conflict.sum(axis=1), kind="stable")
    lower = pairwise_conflicting(conflict, by_degree, room[0])
    if greedy <= lower:
        return Cover(greedy, rho, exact=True)
    number, done = fewest_colours(conflict, greedy, lower, STEPS, room[0], room[1], room[2], room[3])
    return Cover(int(number), rho, exact=bool(done))


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
    """The uncoloured node with the most colours among its neighbours; then the most neighbours."""
    best, best_around, best_degree = -1, -1, -1
    n = conflict.shape[0]
    for v in range(n):
        if colour[v] >= 0:
            continue
        around = 0
        for c in range(used):
            for w in range(n):
                if conflict[v, w] and colour[w] == c:
                    around += 1
                    break
        degree = 0
        for w in range(n):
            degree += conflict[v, w]
        if around > best_around or (around == best_around and degree > best_degree):
            best, best_around, best_degree = v, around, degree
    return best


@compiled
def fewest_colours(
    conflict: Bools, best: int, lower: int, steps: int,
    colour: Codes, chosen: Codes, tried: Codes, used: Codes,
) -> tuple[int, bool]:  # fmt: skip
    """The fewest colours of a graph if below `best`, and whether the search came to its end.

    At depth k the node chosen[k] has colour tried[k], and used[k] colours stood before it. A new colour is
    tried once, after the old ones: permuted colours are the same colouring.
    """
    n = conflict.shape[0]
    for v in range(n):
        colour[v] = -1
    depth = 0
    used[0] = 0
    chosen[0] = most_constrained(conflict, colour, 0)
    tried[0] = -1
    for _ in range(steps):
        if depth == n:
            best = int(used[n])
            depth -= 1
            if best <= lower:
                return best, True
        v = chosen[depth]
        colour[v] = -1
        c = tried[depth] + 1
        while c <= used[depth] and c + 1 < best and clashes(conflict, colour, v, c):
            c += 1
        # Where as many colours stand already as the best has, none of the rest can be better.
        if used[depth] < best and c <= used[depth] and c + 1 < best:
            colour[v] = c
            tried[depth] = c
            used[depth + 1] = max(used[depth], c + 1)
            depth += 1
            if depth < n:
                chosen[depth] = most_constrained(conflict, colour, used[depth])
                tried[depth] = -1
        else:
            depth -= 1
            if depth < 0:
                return best, True
    return best, False


@compiled
def clashes(conflict: Bools, colour: Codes, v: int, c: int) -> bool:
    """Whether a neighbour of v has colour c."""
    found = False
    for w in range(conflict.shape[0]):
        found = found or (conflict[v, w] and colour[w] == c)
    return found
