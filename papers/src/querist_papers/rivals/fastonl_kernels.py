"""The maths of a round of FastONL, compiled.

With a kernel M and, for every learned node u, a gradient g_u over the classes, node i has

    v = sum_u M_iu g_u,   psi = -v / sqrt(A + K T),

and the class of the largest psi is predicted. Let `tau = (sum_S psi - 1)/|S|` over the set S of classes with
`psi >= tau`, which is found from the largest down. An answer y has the gradient

    1/|S| on S, less 1 at y,                       where y is in S,
    h at the best other class, -h at y,            otherwise, h = |S|/(|S| + 1),

and learning is `A += 2 g.v + M_ii |g|^2`, `T -= M_ii`, from `A = 0`, `T = 2 n^2`.

M is `2 n alpha (I - (1 - alpha) S)^-1`, a column at a time by local pushes; or `2 n m_i.m_u` of rows.
"""

from typing import Annotated, NamedTuple

import numpy as np

from querist.extend import compiled, steps
from querist_papers.types import Bools, Codes, Floats


class FastonlRules(NamedTuple):
    """Parameters as numbers."""

    alpha: float
    eps: float
    binary: bool
    n_classes: Annotated[int, steps.Field(least=2)]
    # How the budget is spent (pace.py).
    pace: steps.Finite
    budget: int
    rounds: int


class FastonlNodes(NamedTuple):
    """Where the nodes are: S as CSR arrays and the roots of the degrees, or rows (n, d)."""

    rows: Annotated[Floats, steps.Field("n d")]
    indptr: Annotated[Codes, steps.Field("ends", least=0)]
    indices: Annotated[Codes, steps.Field("entries", least=0, below="n")]
    entries: Annotated[Floats, steps.Field("entries")]
    roots: Annotated[Floats, steps.Field("nodes", least=0)]
    component: Annotated[Codes, steps.Field("n", least=0, below="components")]
    tie: Annotated[Floats, steps.Field("n", least=0)]
    tie_order: Annotated[Codes, steps.Field("K", least=0, below="K")]


class FastonlState(NamedTuple):
    """Everything that learning changes.

    gradients (n, K) summed by node, or (0, K); W `sum g_u m_u'` of rows; sums A and T; touched, whether a
    label was learned in a component; counts of rounds, questions, updates; recent, what a pace compares with
    (pace.py).
    """

    gradients: Annotated[Floats, steps.Field("nodes K")]
    W: Annotated[Floats, steps.Field("K d")]
    sums: Annotated[Floats, steps.Field("2")]
    touched: Annotated[Bools, steps.Field("components")]
    counts: Annotated[Codes, steps.Field("3", least=0)]
    recent: Annotated[Floats, steps.Field("ring", finite=False)]


class FastonlRoom(NamedTuple):
    """Working room of a round, beside that of every learner: `f0` is v, `f` psi, `y` the gradient."""

    inside: Bools  # (K,) the set S
    own: Floats  # (1,) M_ii
    push: steps.PushRoom


# -- a round -------------------------------------------------------------------------


@compiled
def look(
    rules: FastonlRules, state: FastonlState, place: FastonlNodes, node: int, work: steps.Scratch
) -> None:
    """`v` and `M_ii` of a node."""
    n, d = place.rows.shape
    v, room = work.f0, work.more
    for k in range(v.size):
        v[k] = 2.0 * n * steps.dot(state.W[k], place.rows[node], d)
    room.own[0] = 2.0 * n * steps.dot(place.rows[node], place.rows[node], d)
    if d > 0:
        return
    S = steps.Walkable(place.indptr, place.indices, place.entries, place.roots)
    met = steps.push(S, 1.0 - rules.alpha, rules.eps * place.roots[node], node, room.push)
    for a in range(met):
        u = room.push.met[a]
        weight = 2.0 * n * rules.alpha * room.push.x[u]
        for k in range(v.size):
            v[k] += weight * state.gradients[u, k]
    room.own[0] = 2.0 * n * rules.alpha * room.push.x[node]
    steps.clear(room.push, met)


@compiled
def fill(psi: Floats, inside: Bools) -> int:
    """The set S, marked; returns its size."""
    size, total = 0, 0.0
    for k in range(psi.size):
        inside[k] = False
    while size < psi.size:
        best = -1
        for k in range(psi.size):
            if not inside[k] and (best < 0 or psi[k] > psi[best]):
                best = k
        if psi[best] < (total + psi[best] - 1.0) / (size + 1):
            break
        inside[best] = True
        total += psi[best]
        size += 1
    return size


@compiled
def decide_step(
    rules: FastonlRules, state: FastonlState, place: FastonlNodes, node: int, u: float, work: steps.Scratch
) -> steps.Verdict:
    """Score a node and judge it; pure but for the room, which is left as it was. All ask, but for a pace."""
    look(rules, state, place, node, work)
    # Nodes that come again may use up what T has; the scores then keep their last scale.
    scale = np.sqrt(max(state.sums[0] + work.f.size * state.sums[1], 1.0))
    for k in range(work.f.size):
        work.f[k] = -work.f0[k] / scale
    asks = state.recent.size == 0 or steps.asks_in_turn(rules, state, 0.0, u)
    work.asks[0], work.r[0] = asks, 1.0
    best = steps.best_of(work.f, place.tie_order, place.tie[node])
    return steps.Verdict(best, steps.margin_of(work.f, best), 1.0, 1.0 if asks else 0.0, asks, 0.0)


@compiled
def absorb(
    rules: FastonlRules, state: FastonlState, place: FastonlNodes, c: int, node: int, label: float,
    allowed: Bools, work: steps.Scratch,
) -> None:  # fmt: skip
    """Learn an answer; `work` holds the scores of the node under this state.

    "One of these" is read as the best-scored of them; "none of these" has no class to be pulled to.
    """
    psi, gradient, inside, own = work.f, work.y, work.more.inside, work.more.own[0]
    size = fill(psi, inside)
    right, rival = -1, -1
    for k in place.tie_order:
        gradient[k] = 0.0
        if allowed[k]:
            if right < 0 or psi[k] > psi[right] + place.tie[node]:
                right = k
        elif rival < 0 or psi[k] > psi[rival] + place.tie[node]:
            rival = k
    if right < 0 or inside[right]:
        for k in range(psi.size):
            gradient[k] = 1.0 / size if inside[k] else 0.0
        if right >= 0:
            gradient[right] -= 1.0
    else:
        gradient[rival] = size / (size + 1.0)
        gradient[right] = -size / (size + 1.0)
    square = steps.dot(gradient, gradient, psi.size)
    state.sums[0] += 2.0 * steps.dot(gradient, work.f0, psi.size) + own * square
    state.sums[1] = max(0.0, state.sums[1] - own)
    for k in range(psi.size):
        for i in range(state.W.shape[1]):
            state.W[k, i] += gradient[k] * place.rows[node, i]
    if len(state.gradients) > 0:
        for k in range(psi.size):
            state.gradients[node, k] += gradient[k]
    state.touched[place.component[node]] = True
