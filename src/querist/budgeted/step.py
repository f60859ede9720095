"""Items of a stream: score each, judge whether it should enter, let it in.

`run` is the only loop. It stops where Python must act (an event), with everything before item `at` learned
and nothing of it; the learner acts and goes on. One item at a time is the same function on a stream of one,
so both give the same bits.

Letters: `k` kernel of the item with the budget, `alpha` coefficients (one row a
problem: one for two classes, K above), `f = alpha'k`, `y` targets (+1, -1, or 0 for an
unlabelled item), `d` the item's ridge: `lambda1` labelled, `lambda1 (1 + 1/lambda2)`
unlabelled. That ridge is all that an unlabelled item is: bls19 eq. 7 is
`(K + D) alpha = [y; 0]`, so it acts as a sample of target 0 and weight
`lambda2/(1 + lambda2)`, and only shrinks f.

Maintenance when a budget is full (bls19, III-B):

- REMOVE (Alg. 1): the oldest of its kind makes room.
- PROJECT (Alg. 2): with room for a labelled item, it enters. Otherwise the model f' that
  contains it is projected on the span of the budget, `alpha'' = alpha' - c a + c d*` with
  `d* = (K + ridge I)^-1 k`, and the item enters only if that would move f' by more than
  `tau = log(t) |f|`. The paper's remark that `d*` equals `a = (K + D)^-1 k` would make the
  projection change nothing. The projected coefficients hold until the next update, which
  starts again from eq. 7.
- PERSIST: the same, but the next update starts from the projected coefficients. Not in
  the paper.

Conditions: ALGORITHM is line 3 of Alg. 3 (labelled: `y f <= 0`; unlabelled:
`|f| <= epsilon`); TEXT also lets in labelled items with `|f| <= epsilon`; FILL lets in
whatever comes while the budget of its kind has room (III-B: an update is too costly only
"once the budget is full"), and goes by ALGORITHM from then on. Projection has such room
for labelled items alone (Alg. 2, line 1). With several classes an item enters when any
class's condition holds.
"""

import math
from typing import Annotated, NamedTuple

from querist.budgeted.inverse import grow, replace, settle, without
from querist.budgeted.similarity import dense_row, sparse_row, squared_norm
from querist.codec import Field
from querist.compiled import compiled, compiled_inside
from querist.triangle import dot, product
from querist.types import Codes, Floats

REMOVE, PROJECT, PERSIST = 0, 1, 2
ALGORITHM, TEXT, FILL = 0, 1, 2
NOTHING, ADDED, REPLACED, PROJECTED = 0, 1, 2, 3
SINGULAR = -1
"""An answer of `learn`: the inverse has lost its digits; nothing was changed."""

SEEN, LABELLED, UNLABELLED, OLDEST_L, OLDEST_U, UPDATES, SINCE, SLOT = range(8)
"""Places in `State.counts`; SINCE counts updates since the inverse was last checked."""

DONE, DUE, FULL, STUCK = 0, 1, 2, 3
"""Events: all items done; the inverse is due for a check; no slot is left; the inverse has no digits."""

PERIOD = 256
"""Updates between two checks of the inverse."""


class BudgetRules(NamedTuple):
    """The numbers of a learner; they do not change, but for the width while it warms up."""

    kernel: int
    width: float
    maintenance: int
    condition: int
    lambda1: float
    lambda2: float
    epsilon: float
    ridge: float
    budget_labelled: int
    budget_unlabelled: int
    limit: int


class BudgetState(NamedTuple):
    """The budget and its model, in arrays with room for `room` vectors."""

    X: Annotated[Floats, Field("d room")]  # a vector per column
    norms: Annotated[Floats, Field("room")]  # |x|^2
    H: Annotated[Floats, Field("room room")]  # lower triangle of (K + D)^-1
    G: Annotated[Floats, Field("second second")]  # likewise of (K + ridge I)^-1; empty under REMOVE
    alpha: Annotated[Floats, Field("problems room")]
    base: Annotated[Floats, Field("problems second")]  # H Y, if alpha is a projection of it
    Y: Annotated[Floats, Field("problems room")]
    D: Annotated[Floats, Field("room")]
    items: Annotated[Codes, Field("room", least=0)]  # which item of the stream it was, from 1
    ring: Annotated[Codes, Field("2 room", least=0, below="room")]
    """Slots of labelled and unlabelled items, in the order of the first entry."""
    counts: Annotated[Codes, Field("8", least=0)]
    waiting_h: Annotated[Floats, Field("room")]  # a replacement that H does not show yet; see inverse.py
    waiting_v: Annotated[Floats, Field("room")]
    owed: Annotated[Floats, Field("4")]
    k: Annotated[Floats, Field("room", finite=False)]  # working room from here
    a: Annotated[Floats, Field("room", finite=False)]
    h: Annotated[Floats, Field("room", finite=False)]
    g: Annotated[Floats, Field("room", finite=False)]
    f: Annotated[Floats, Field("problems", finite=False)]
    y: Annotated[Floats, Field("problems", finite=False)]
    c: Annotated[Floats, Field("problems", finite=False)]


class StreamRows(NamedTuple):
    """Vectors of a stream: dense rows and the numbers of all features, or CSR parts with `values` (0, 0)."""

    values: Floats
    indptr: Codes
    indices: Codes
    data: Floats


class StreamRecord(NamedTuple):
    """What comes out, item by item."""

    predicted: Codes  # (n,)
    scores: Floats  # (n, problems), or (0, problems) where nobody wants them
    actions: Codes  # (n,)


@compiled_inside
def size(state: BudgetState) -> int:
    """Vectors in the budget."""
    return int(state.counts[LABELLED] + state.counts[UNLABELLED])


@compiled
def settled(state: BudgetState) -> None:
    """See to it that H is the inverse now."""
    settle(state.H, size(state), state.waiting_h, state.waiting_v, state.owed)


@compiled_inside
def score(state: BudgetState) -> int:
    """`f = alpha'k`; the predicted class, or -1 where all scores are 0 and nothing can be said."""
    b, f = size(state), state.f
    for p in range(f.size):
        f[p] = dot(state.alpha[p], state.k, b)
    if f.size == 1:
        return 1 if f[0] > 0 else 0 if f[0] < 0 else -1
    best, any_score = 0, f[0] != 0
    for p in range(1, f.size):
        any_score = any_score or f[p] != 0
        if f[p] > f[best]:
            best = p
    return best if any_score else -1


@compiled_inside
def has_room(state: BudgetState, rules: BudgetRules, label: int) -> bool:
    """Whether an item of this kind would enter without another making room or being projected."""
    if label >= 0:
        return bool(state.counts[LABELLED] < rules.budget_labelled)
    return bool(rules.maintenance == REMOVE and state.counts[UNLABELLED] < rules.budget_unlabelled)


@compiled_inside
def wanted(state: BudgetState, rules: BudgetRules, label: int) -> bool:
    """Set the targets y, and say whether the item should enter."""
    if label < 0 and rules.budget_unlabelled == 0:
        return False
    enters = rules.condition == FILL and has_room(state, rules, label)
    for p in range(state.f.size):
        f = state.f[p]
        if label < 0:
            y = 0.0
        elif state.f.size == 1:
            y = 1.0 if label == 1 else -1.0
        else:
            y = 1.0 if label == p else -1.0
        state.y[p] = y
        unsure = abs(f) <= rules.epsilon and (label < 0 or rules.condition == TEXT)
        enters = enters or unsure or (label >= 0 and y * f <= 0)
    return enters


@compiled
def learn(state: BudgetState, rules: BudgetRules, kxx: float, label: int) -> int:
    """Take in an item that is wanted; what was done, or SINGULAR. Its slot is in `counts[SLOT]`."""
    kind = 1 if label < 0 else 0
    d = rules.lambda1 * (1.0 + 1.0 / rules.lambda2) if label < 0 else rules.lambda1
    if rules.maintenance != REMOVE:
        return _project(state, rules, kxx, d, kind)
    room = rules.budget_unlabelled if label < 0 else rules.budget_labelled
    if state.counts[LABELLED + kind] < room:
        return _append(state, kxx, d, kind)
    return _renew(state, kxx, d, kind, room)


@compiled_inside
def _append(state: BudgetState, kxx: float, d: float, kind: int) -> int:
    b, k, a = size(state), state.k, state.a
    settled(state)
    product(state.H, b, k, a)
    s = kxx + d - dot(k, a, b)
    if not s > 0:
        return SINGULAR
    for p in range(state.f.size):
        state.c[p] = (state.y[p] - state.f[p]) / s
        _extend(state.alpha[p], b, a, state.c[p])
    grow(state.H, b, a, s)
    _enter(state, b, d, kind)
    return ADDED


@compiled_inside
def _renew(state: BudgetState, kxx: float, d: float, kind: int, room: int) -> int:
    """The oldest of a kind leaves, the item takes its slot."""
    b, k, a, h = size(state), state.k, state.a, state.h
    i = state.ring[kind, state.counts[OLDEST_L + kind]]
    k[i] = 0.0
    without(state.H, b, i, k, h, a, state.waiting_h, state.waiting_v, state.owed)
    s = kxx + d - dot(k, a, b)
    if not (s > 0 and h[i] > 0):
        return SINGULAR
    for p in range(state.f.size):
        alpha = state.alpha[p]
        share = alpha[i] / h[i]
        for j in range(b):
            alpha[j] -= share * h[j]
        alpha[i] = 0.0
        c = (state.y[p] - dot(alpha, k, b)) / s
        for j in range(b):
            alpha[j] -= c * a[j]
        alpha[i] = c
    replace(b, i, h, a, s, state.waiting_h, state.waiting_v, state.owed)
    state.counts[OLDEST_L + kind] = (state.counts[OLDEST_L + kind] + 1) % room
    _write(state, i, d)
    return REPLACED


@compiled_inside
def _project(state: BudgetState, rules: BudgetRules, kxx: float, d: float, kind: int) -> int:
    b, k, a, g = size(state), state.k, state.a, state.g
    product(state.H, b, k, a)
    product(state.G, b, k, g)
    s = kxx + d - dot(k, a, b)
    within = dot(k, g, b)
    if not (s > 0 and kxx + rules.ridge - within > 0):
        return SINGULAR
    far = max(kxx - within, 0.0)
    # Unlabelled items may have taken all slots before the labelled ones had theirs.
    room = b < rules.limit
    enters = room and kind == 0 and state.counts[LABELLED] < rules.budget_labelled
    for p in range(state.f.size):
        start = state.f[p] if rules.maintenance == PERSIST else dot(state.base[p], k, b)
        c = (state.y[p] - start) / s
        state.c[p] = c
        tau = math.log(float(state.counts[SEEN])) * abs(state.f[p])
        enters = enters or (room and c * c * far > tau)
    for p in range(state.f.size):
        alpha, base, c = state.alpha[p], state.base[p], state.c[p]
        if rules.maintenance == PROJECT:
            for j in range(b):
                alpha[j] = base[j]
            if enters:
                _extend(base, b, a, c)
        if enters:
            _extend(alpha, b, a, c)
        else:
            for j in range(b):
                alpha[j] += c * (g[j] - a[j])
    if not enters:
        state.counts[UPDATES] += 1
        state.counts[SINCE] += 1
        return PROJECTED
    grow(state.H, b, a, s)
    grow(state.G, b, g, kxx + rules.ridge - within)
    _enter(state, b, d, kind)
    return ADDED


@compiled_inside
def _extend(alpha: Floats, b: int, a: Floats, c: float) -> None:
    """`alpha <- [alpha - c a; c]`."""
    for j in range(b):
        alpha[j] -= c * a[j]
    alpha[b] = c


@compiled_inside
def _enter(state: BudgetState, slot: int, d: float, kind: int) -> None:
    state.ring[kind, state.counts[LABELLED + kind]] = slot
    state.counts[LABELLED + kind] += 1
    _write(state, slot, d)


@compiled_inside
def _write(state: BudgetState, slot: int, d: float) -> None:
    for p in range(state.y.size):
        state.Y[p, slot] = state.y[p]
    state.D[slot] = d
    state.items[slot] = state.counts[SEEN]
    state.counts[SLOT] = slot
    state.counts[UPDATES] += 1
    state.counts[SINCE] += 1


@compiled_inside
def item(rows: StreamRows, t: int) -> tuple[Codes, Floats]:
    """The features of vector t and their values."""
    if rows.indptr.size == 0:
        return rows.indices, rows.values[t]
    own = slice(rows.indptr[t], rows.indptr[t + 1])
    return rows.indices[own], rows.data[own]


@compiled
def run(
    state: BudgetState,
    rules: BudgetRules,
    rows: StreamRows,
    labels: Codes,
    record: StreamRecord,
    start: int,
    stop: int,
    learning: bool,
) -> tuple[int, int]:
    """Items start to stop - 1; `(next item, event)`. Without learning, nothing changes but scratch."""
    dense = rows.indptr.size == 0
    for t in range(start, stop):
        if learning:
            if state.counts[SINCE] >= PERIOD:
                return t, DUE
            if full(state, rules):
                return t, FULL
        b, code, width, k = size(state), rules.kernel, rules.width, state.k
        indices, values = item(rows, t)
        if dense:
            kxx = dense_row(code, width, state.X, b, values, k)
        else:
            kxx = sparse_row(code, width, state.X, state.norms, b, indices, values, k)
        action = take(state, rules, record, t, labels[t], kxx, learning)
        if action == SINGULAR:
            return t, STUCK
        if action not in (NOTHING, PROJECTED):
            put(state, indices, values)
    return stop, DONE


@compiled_inside
def full(state: BudgetState, rules: BudgetRules) -> bool:
    """Whether an item that is projected might find no slot to enter."""
    b = size(state)
    return b == state.k.size and rules.maintenance != REMOVE and b < rules.limit


@compiled_inside
def take(
    state: BudgetState,
    rules: BudgetRules,
    record: StreamRecord,
    t: int,
    label: int,
    kxx: float,
    learning: bool,
) -> int:
    """Predict item t, whose kernel with the budget is in `k`, and learn it; what was done (step.py)."""
    record.predicted[t] = score(state)
    if record.scores.size > 0:
        for p in range(state.f.size):
            record.scores[t, p] = state.f[p]
    if not learning:
        return NOTHING
    state.counts[SEEN] += 1
    if not wanted(state, rules, label):
        return NOTHING
    action = learn(state, rules, kxx, label)
    if action == SINGULAR:
        state.counts[SEEN] -= 1
    else:
        record.actions[t] = action
    return action


@compiled_inside
def put(state: BudgetState, indices: Codes, values: Floats) -> None:
    """Write a vector, given by its features and their values, into the slot that was just given to it."""
    slot = state.counts[SLOT]
    for i in range(state.X.shape[0]):
        state.X[i, slot] = 0.0
    for n in range(values.size):
        state.X[indices[n], slot] = values[n]
    state.norms[slot] = squared_norm(values)
