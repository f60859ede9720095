"""The maths of a round of the paced learner, compiled.

The kernel is `K = M M' + R`, scaled to `K_ii = 1`: rows M (n, d) and a sparse R (n, n) for what they lack.
The learner is a Gaussian process with this kernel and noise gamma, exact in M and a shortcut in R. With
`P = (I + sum m m'/s)^-1` and weights W over learned nodes, and b_u what learning u taught about u itself,
node i has

    g = P m,   f = W m + c sum_u R_iu b_u,   r = m.g,   l = R_ii - sum_u learned R_iu^2/(gamma + R_uu),

l at least `LEAST R_ii`, and c the part of R that scores are moved by. Learning a target y is

    s = gamma + l,   e = (y - f)/(s + r),   W += e g',   P -= g g'/(s + r),   b_i += e.

Asking is worth `a_i C_i^q`: `a = 1 - (p1 - p2)`, the closeness of the two best classes by
`p = softmax(T f/(1 + (r + l)/gamma))`; and `C_i = sum_u K_iu^2`, how much of the graph the label bears on.

With j questions and t rounds left, this one among them, it asks if no more than a share `h j/t` of the
latest values (pace.py) are larger; h = 1 spends the questions evenly, more spends them early, while they
serve the most rounds. Until `warm_up` rounds are over, and where the share reaches 1, it asks in any case.
"""

from typing import Annotated, NamedTuple

import numpy as np

from querist.codec import Field, Finite
from querist.compiled import compiled
from querist.online.algebra import add_outer, subtract_square
from querist.online.kernels import Scratch, Verdict, margin_of, prediction_of, set_target
from querist.online.pace import standing
from querist.online.rules import TARGETS
from querist.triangle import dot, product
from querist.types import Bools, Codes, Floats

ONE_HOT = TARGETS.index("one-hot")

LEAST = 0.05
"""The part of a node's own R_ii that no neighbour can explain."""


class PacedRules(NamedTuple):
    """Parameters as numbers."""

    gamma: float
    local: float
    sharpness: float
    pace: Finite
    warm_up: int
    budget: int
    """The most questions; negative for none."""
    rounds: int
    at_random: bool
    """The draw is the value."""
    binary: bool
    n_classes: Annotated[int, Field(least=2)]


class PacedNodes(NamedTuple):
    """Where the nodes are: M, R as CSR arrays with its diagonal, and what is made of them."""

    rows: Annotated[Floats, Field("n d")]
    indptr: Annotated[Codes, Field("ends", least=0)]
    indices: Annotated[Codes, Field("entries", least=0, below="n")]
    entries: Annotated[Floats, Field("entries")]
    own: Annotated[Floats, Field("n")]
    """`R_ii`."""
    bearing: Annotated[Floats, Field("n")]
    """`C_i^q`."""
    component: Annotated[Codes, Field("n", least=0, below="components")]
    tie: Annotated[Floats, Field("n", least=0)]
    tie_order: Annotated[Codes, Field("K", least=0, below="K")]


class PacedState(NamedTuple):
    """Everything that learning changes.

    P, its lower triangle; left, `l` without its bound; recent, what the pace compares with (pace.py);
    touched, whether a label was learned in a component; counts of rounds, questions, updates.
    """

    P: Annotated[Floats, Field("d d")]
    W: Annotated[Floats, Field("K d")]
    b: Annotated[Floats, Field("n K")]
    left: Annotated[Floats, Field("n")]
    recent: Annotated[Floats, Field("ring", finite=False)]
    touched: Annotated[Bools, Field("components")]
    counts: Annotated[Codes, Field("3", least=0)]


# -- a round -------------------------------------------------------------------------


@compiled
def closeness(f: Floats, scale: float) -> float:
    """`1 - (p1 - p2)` of the two largest of `softmax(scale f)`."""
    best = -np.inf
    for value in f:
        best = max(best, value)
    total = first = second = 0.0
    for value in f:
        p = np.exp(scale * (value - best))
        total += p
        if p > first:
            first, second = p, first
        elif p > second:
            second = p
    return 1.0 - (first - second) / total


@compiled
def wanted(rules: PacedRules, state: PacedState, value: float) -> bool:
    """Whether to ask about a node of this value, by the pace."""
    rounds_left = max(1, rules.rounds - state.counts[0])
    share = rules.pace * (rules.budget - state.counts[1]) / rounds_left
    if rules.budget < 0 or share >= 1.0 or state.counts[0] < rules.warm_up:
        return True
    larger, _, size = standing(state.recent, value)
    return bool(larger <= share * size)


@compiled
def local_variance(state: PacedState, place: PacedNodes, node: int) -> float:
    """`l`."""
    return float(max(state.left[node], LEAST * place.own[node]))


@compiled
def decide_step(
    rules: PacedRules, state: PacedState, place: PacedNodes, node: int, u: float, work: Scratch
) -> Verdict:
    """Score a node and judge it; pure."""
    m, g, f = place.rows[node], work.g[0], work.f
    product(state.P, m.size, m, g)
    for k in range(f.size):
        f[k] = dot(state.W[k], m, m.size)
    for e in range(place.indptr[node], place.indptr[node + 1]):
        near, weight = state.b[place.indices[e]], rules.local * place.entries[e]
        for k in range(f.size):
            f[k] += weight * near[k]
    # Rounding may leave a variance a hair below 0 where it is 0.
    r = max(0.0, dot(m, g, m.size)) + local_variance(state, place, node)
    best = prediction_of(f, place.tie_order, place.tie[node])
    value = u
    if not rules.at_random:
        value = closeness(f, rules.sharpness / (1.0 + r / rules.gamma)) * place.bearing[node]
    work.r[0] = r
    work.asks[0] = wanted(rules, state, value)
    p = 1.0 if work.asks[0] else 0.0
    return Verdict(best, margin_of(f, best), r, p, work.asks[0], value)


@compiled
def absorb(
    rules: PacedRules, state: PacedState, place: PacedNodes, c: int, node: int, label: float, allowed: Bools,
    work: Scratch,
) -> None:  # fmt: skip
    """Learn an answer; `work` holds the scores and the product of the node under this state."""
    y, g = work.y, work.g[0]
    set_target(y, work.f, allowed, ONE_HOT, place.tie_order, place.tie[node])
    scale = rules.gamma + work.r[0]
    for k in range(y.size):
        y[k] = (y[k] - work.f[k]) / scale
        state.b[node, k] += y[k]
    add_outer(state.W, y, g)
    for i in range(g.size):
        g[i] /= np.sqrt(scale)
    subtract_square(state.P, g)
    for e in range(place.indptr[node], place.indptr[node + 1]):
        state.left[place.indices[e]] -= place.entries[e] ** 2 / (rules.gamma + place.own[node])
    state.touched[place.component[node]] = True
