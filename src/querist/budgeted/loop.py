"""Many items: the only loop over a stream, compiled.

It stops where Python must act (an event), with everything before item `at` learned and
nothing of it; the learner acts and goes on. One item at a time is the same function on a
stream of one, so both give the same bits.
"""

from typing import NamedTuple

from querist.budgeted.similarity import dense_row, sparse_row, squared_norm
from querist.budgeted.step import (
    NOTHING,
    PROJECTED,
    REMOVE,
    SEEN,
    SINCE,
    SINGULAR,
    SLOT,
    UPDATES,
    BudgetRules,
    BudgetState,
    drift,
    learn,
    score,
    size,
    wanted,
)
from querist.compiled import compiled, compiled_inside
from querist.types import Codes, Floats

DONE, DRIFTED, FULL, STUCK = 0, 1, 2, 3
"""Events: all items done; the inverse is off; no slot is left; the inverse has no digits."""

PERIOD = 256
"""Updates between two checks of the inverse."""


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
    tolerance: float,
) -> tuple[int, int]:
    """Items start to stop - 1; `(next item, event)`. Without learning, nothing changes but scratch.

    `tolerance` is how far the inverse may be off.
    """
    dense = rows.indptr.size == 0
    for t in range(start, stop):
        if learning:
            if state.counts[SINCE] >= PERIOD and drifted(state, rules, tolerance):
                return t, DRIFTED
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


@compiled
def drifted(state: BudgetState, rules: BudgetRules, tolerance: float) -> bool:
    """Whether the inverse is off by more than the tolerance, by a row of it, a different one each time."""
    state.counts[SINCE] = 0
    j = state.counts[UPDATES] // PERIOD % size(state)
    dense_row(rules.kernel, rules.width, state.X, size(state), state.X[:, j], state.k)
    return not drift(state, rules, j) <= tolerance


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


@compiled
def put(state: BudgetState, indices: Codes, values: Floats) -> None:
    """Write a vector, given by its features and their values, into the slot that was just given to it."""
    slot = state.counts[SLOT]
    for i in range(state.X.shape[0]):
        state.X[i, slot] = 0.0
    for n in range(values.size):
        state.X[indices[n], slot] = values[n]
    state.norms[slot] = squared_norm(values)
