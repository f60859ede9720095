"""Weights of joined pairs: 1, the heat kernel `exp(-d^2/s^2)`, or the exponential `exp(-a d)`.

`exp(-a d)` leaves the range of doubles where a d > 745. A common factor changes no prediction, so the weights
are then `exp(-a (d - c))` with c in the middle of what must be kept: the edges of the shortest spanning tree.
Weights that still underflow belong to edges that carry nothing.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.matrices import with_short_indices
from querist.tables.formats import some
from querist.types import Codes, Floats

WIDEST = 650.0
"""Largest exponent, either way, that is kept: sums of weights must not overflow either."""


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
