"""A rough score first: most items of a stream need no better one.

An item that teaches nothing needs only the sign of its score, and on which side of epsilon it lies.
In single precision, with a bound on the error, both are nearly always certain, and cheaper; where they
are not, the score is computed in full. So screening changes no prediction and no state.

Where most items teach something, the rough score is left out: it would be followed by a full one.

The budget is read once for a few items at a time, since it does not fit into the nearest cache. What enters
while some of them wait changes one kernel value of each.

In units of `sqrt(2 width)` the kernel is `exp(-z)` with `z = |x - y|^2`. Let `u = 2^-24`, and `reach`
be `|x|` plus the largest `|y|` in the budget. Rounding x and y, and their difference, moves `|x - y|` by at
most `e = 2.01 u reach`, and a sum of d squares in any order is off by `(d + 1) u` of itself; so
`|dz| <= 2 e sqrt(z) + e^2 + (d + 5) u z`. With `sqrt(z) exp(-z) <= 0.43`, `z exp(-z) <= 0.37` and
`|dz| < 0.01` that moves a kernel value by at most

    1.02 (0.86 e + e^2 + 0.37 (d + 5) u) + error of the rough exponential,

and the score by `sum_j |alpha_j|` times as much; it is summed in double precision.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from querist.budgeted.budget import zeros
from querist.budgeted.similarity import squared_norm
from querist.budgeted.step import FILL, SLOT, TEXT, BudgetRules, BudgetState, has_room, size
from querist.compiled import compiled, compiled_inside, compiled_lanes
from querist.types import Codes, Floats

Singles = npt.NDArray[np.float32]

UNCLEAR = -2
"""No class: the item needs its full score."""

UNIT = 2.0**-24
EXPONENTIAL = 4e-7
"""Relative error of the rough exponential, and more."""

FULL_SCORE = 1e-9
"""Error of the score in double precision, a coefficient, and much more."""

WORTH = 0.25
"""Above this bound on the error too few items would be clear."""

SHORTEST = 32
"""Items from which on a sketch of the budget pays."""

FEATURES, SLOTS = 4, 16
"""A sketch has room for whole groups of them, so that no loop has a rest."""

AHEAD = 4
"""Items that the budget is read for at a time."""

COST = 0.6
"""What a rough score costs, about, in full ones: where fewer items teach nothing, it does not pay."""

MEMORY = 64
"""Items that the share of those that teach nothing is taken over."""

LOG2_E, LN2_HIGH, LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
SHIFT, SMALLEST = np.float32(1.5 * 2.0**23), np.float32(-87.0)
C6, C5, C4, C3, C2, C1 = (np.float32(1 / n) for n in (720, 120, 24, 6, 2, 1))


class Sketch(NamedTuple):
    """The budget in single precision, in units of `sqrt(2 width)`, and the items ahead."""

    X: Singles  # (d, capacity), both rounded up: with zeros
    size: Floats  # (problems,): sum_j |alpha_j|
    longest: Floats  # (1,): at least the norm of every vector
    idle: Floats  # (1,): the share of items that taught nothing, of late
    span: Codes  # (2,): the first of the items ahead, and the one after the last
    x: Singles  # (AHEAD, d): they
    k: Singles  # (AHEAD, capacity): and their kernel with the budget
    column: Singles  # scratch from here: (AHEAD,)
    f: Floats  # (problems,)
    error: Floats  # (problems,)


def _blank(d: int, capacity: int, problems: int) -> Sketch:
    d, capacity = d + -d % FEATURES, capacity + -capacity % SLOTS
    return Sketch(
        zeros((d, capacity), np.float32),
        zeros((problems,)),
        zeros((1,)),
        zeros((1,)),
        zeros((2,), np.int64),
        zeros((AHEAD, d), np.float32),
        zeros((AHEAD, capacity), np.float32),
        zeros((AHEAD,), np.float32),
        zeros((problems,)),
        zeros((problems,)),
    )


NONE = _blank(0, 0, 0)
"""To do without a sketch; nobody writes to it."""


def sketch_of(state: BudgetState, rules: BudgetRules) -> Sketch:
    """A sketch of the budget."""
    found, b = _blank(state.X.shape[0], state.k.size, state.f.size), size(state)
    found.idle[0] = 1.0
    if b:
        unit = np.sqrt(2 * rules.width)
        with np.errstate(over="ignore"):
            found.X[: state.X.shape[0], :b] = state.X[:, :b] / unit
            found.longest[0] = np.sqrt(state.norms[:b].max()) / unit
        found.size[:] = abs(state.alpha[:, :b]).sum(axis=1)
    return found


@compiled_inside
def pays(sketch: Sketch) -> bool:
    """Whether to look at a rough score first."""
    return sketch.k.size > 0 and sketch.idle[0] >= COST


@compiled_inside
def note(sketch: Sketch, idle: bool) -> None:
    """Another item taught nothing, or did."""
    if sketch.k.size > 0:
        sketch.idle[0] += ((1.0 if idle else 0.0) - sketch.idle[0]) / MEMORY


@compiled_inside
def after(sketch: Sketch, state: BudgetState, rules: BudgetRules, x: Floats, entered: bool, t: int) -> None:
    """Follow what item t changed: its x took the slot that was just given, or only alpha moved."""
    b = size(state)
    for p in range(sketch.size.size):
        sketch.size[p] = absolute_sum(state.alpha[p], b)
    if entered:
        unit, slot = 1.0 / np.sqrt(2.0 * rules.width), state.counts[SLOT]
        for i in range(x.size):
            sketch.X[i, slot] = np.float32(x[i] * unit)
        sketch.longest[0] = max(sketch.longest[0], np.sqrt(squared_norm(x)) * unit)
        if t + 1 < sketch.span[1]:
            renew_column(sketch, slot)


@compiled
def renew_column(sketch: Sketch, slot: int) -> None:
    """The kernel of the items ahead with the vector that has just come."""
    for n in range(AHEAD):
        total = np.float32(0)
        for i in range(sketch.x.shape[1]):
            e = sketch.x[n, i] - sketch.X[i, slot]
            total += e * e
        sketch.column[n] = total
    decay(sketch.column, AHEAD)
    for n in range(AHEAD):
        sketch.k[n, slot] = sketch.column[n]


@compiled
def uncertainty(reach: float, d: int) -> float:
    """How far a rough kernel value may be off; infinite where the bound does not hold."""
    e = 2.01 * UNIT * reach
    if not (e <= 1e-4 and d * UNIT <= 5e-5):
        return np.inf
    return 1.02 * (0.86 * e + e * e + 0.37 * (d + 5) * UNIT) + EXPONENTIAL + FULL_SCORE


@compiled_lanes
def distances(X: Singles, b: int, x: Singles, k: Singles) -> None:
    """`k_nj = |x_n - X_j|^2` for the first b columns and four rows n, four features at a time."""
    k0, k1, k2, k3 = k[0], k[1], k[2], k[3]
    for i in range(0, x.shape[1], FEATURES):
        a0, a1, a2, a3 = x[0, i], x[0, i + 1], x[0, i + 2], x[0, i + 3]
        b0, b1, b2, b3 = x[1, i], x[1, i + 1], x[1, i + 2], x[1, i + 3]
        c0, c1, c2, c3 = x[2, i], x[2, i + 1], x[2, i + 2], x[2, i + 3]
        d0, d1, d2, d3 = x[3, i], x[3, i + 1], x[3, i + 2], x[3, i + 3]
        r0, r1, r2, r3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        for j in range(b):
            y0, y1, y2, y3 = r0[j], r1[j], r2[j], r3[j]
            k0[j] += ((a0 - y0) ** 2 + (a1 - y1) ** 2) + ((a2 - y2) ** 2 + (a3 - y3) ** 2)
            k1[j] += ((b0 - y0) ** 2 + (b1 - y1) ** 2) + ((b2 - y2) ** 2 + (b3 - y3) ** 2)
            k2[j] += ((c0 - y0) ** 2 + (c1 - y1) ** 2) + ((c2 - y2) ** 2 + (c3 - y3) ** 2)
            k3[j] += ((d0 - y0) ** 2 + (d1 - y1) ** 2) + ((d2 - y2) ** 2 + (d3 - y3) ** 2)


@compiled
def decay(k: Singles, b: int) -> None:
    """`k_j <- exp(-k_j)`: `similarity.decay` in single precision, by a Taylor series of degree 6."""
    for j in range(b):
        x = max(-k[j], SMALLEST)
        shifted = x * LOG2_E + SHIFT
        n = shifted - SHIFT
        r = (x - n * LN2_HIGH) - n * LN2_LOW
        e = C6 * r + C5
        e = e * r + C4
        e = e * r + C3
        e = e * r + C2
        e = (e * r) * r + r + C1
        exponent = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
        k[j] = e * exponent.view(np.float32)


@compiled_lanes
def absolute_sum(alpha: Floats, b: int) -> float:
    """`sum_j |alpha_j|`."""
    total = 0.0
    for j in range(b):
        total += abs(alpha[j])
    return total


@compiled_lanes
def weighted_sum(alpha: Floats, k: Singles, b: int) -> float:
    """`sum_j alpha_j k_j` in double precision."""
    total = 0.0
    for j in range(b):
        total += alpha[j] * np.float64(k[j])
    return total


@compiled_inside
def look_ahead(sketch: Sketch, X: Floats, t: int, stop: int, b: int, unit: float) -> None:
    """The kernel of the budget's b vectors with the items from t on, as many as there are."""
    sketch.span[0], sketch.span[1] = t, min(t + AHEAD, stop)
    slots = b + -b % SLOTS
    for n in range(AHEAD):
        x = X[min(t + n, stop - 1)]
        for i in range(x.size):
            sketch.x[n, i] = np.float32(x[i] * unit)
        for j in range(slots):
            sketch.k[n, j] = np.float32(0)
    distances(sketch.X, slots, sketch.x, sketch.k)
    for n in range(AHEAD):
        decay(sketch.k[n], slots)


@compiled_inside
def screened(
    sketch: Sketch, state: BudgetState, rules: BudgetRules, X: Floats, t: int, stop: int, label: int
) -> int:
    """The class of item t of X if it certainly teaches nothing, or UNCLEAR; those below `stop` come next."""
    if rules.condition == FILL and has_room(state, rules, label):
        return UNCLEAR
    x, b, unit = X[t], size(state), 1.0 / np.sqrt(2.0 * rules.width)
    each = uncertainty(sketch.longest[0] + np.sqrt(squared_norm(x)) * unit, x.size)
    for p in range(sketch.f.size):
        sketch.error[p] = each * sketch.size[p]
        if not sketch.error[p] <= WORTH:
            return UNCLEAR
    if not sketch.span[0] <= t < sketch.span[1]:
        look_ahead(sketch, X, t, stop, b, unit)
    for p in range(sketch.f.size):
        sketch.f[p] = weighted_sum(state.alpha[p], sketch.k[t - sketch.span[0]], b)
    # Without slots for them, unlabelled items do not enter, however unsure.
    taught = label >= 0 or rules.budget_unlabelled > 0
    return judged(sketch.f, sketch.error, rules.condition, rules.epsilon if taught else 0.0, label)


@compiled
def judged(f: Floats, error: Floats, condition: int, epsilon: float, label: int) -> int:
    """The class where every score within the error gives the same one and enters nowhere."""
    for p in range(f.size):
        if label >= 0 and condition != TEXT:
            target = label == (1 if f.size == 1 else p)
            margin = f[p] if target else -f[p]
        else:
            margin = abs(f[p]) - epsilon
            if label >= 0 and (f[p] > 0) != (label == (1 if f.size == 1 else p)):
                return UNCLEAR
        if not margin > error[p]:
            return UNCLEAR
    if f.size == 1:
        return 1 if f[0] > 0 else 0
    best = 0
    for p in range(1, f.size):
        if f[p] > f[best]:
            best = p
    for p in range(f.size):
        if p != best and not f[best] - f[p] > error[best] + error[p]:
            return UNCLEAR
    return best
