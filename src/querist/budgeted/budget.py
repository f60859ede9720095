"""The arrays of a budget: made, enlarged, factored anew, checked.

What happens now and then, and needs LAPACK or memory; what happens at every item is in
step.py.
"""

import math
from typing import Any

import numpy as np
import scipy.linalg

from querist import memory
from querist.budgeted.inverse import inverted
from querist.budgeted.similarity import dense_row, gram_triangle
from querist.budgeted.step import (
    PERIOD,
    PERSIST,
    REMOVE,
    SINCE,
    UPDATES,
    BudgetRules,
    BudgetState,
    settled,
    size,
)
from querist.triangle import product
from querist.types import Floats

FINE = 1e-10
"""Residual of the inverse that is never worth a factorisation."""

WORSE = 8.0
"""How much the residual may grow over that of a fresh factorisation."""

FIRST_ROOM = 64
"""Slots beyond the labelled budget that a projecting learner starts with."""

LINE = 64
"""Bytes of a cache line. Vector lanes that lie across two of them are read and written twice."""


def zeros(shape: tuple[int, ...], dtype: type = np.float64) -> Any:
    """An array of zeros that begins on a cache line."""
    count = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(count + LINE, dtype=np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + count].view(dtype).reshape(shape)


def housed(state: BudgetState) -> BudgetState:
    """The same state in arrays that begin on cache lines and can be written to."""
    return _copied(state, BudgetState(*(zeros(array.shape, array.dtype.type) for array in state)))


def _copied(state: BudgetState, larger: BudgetState) -> BudgetState:
    for old, new in zip(state, larger, strict=True):
        new[tuple(slice(n) for n in old.shape)] = old
    return larger


def first_capacity(rules: BudgetRules) -> int:
    """Slots to begin with: all of them where the budget is fixed, in whole cache lines."""
    if rules.maintenance == REMOVE:
        slots = rules.budget_labelled + rules.budget_unlabelled
        return slots + -slots % (LINE // 8)
    return min(rules.limit, rules.budget_labelled + FIRST_ROOM)


def empty(rules: BudgetRules, n_problems: int, n_features: int, capacity: int | None = None) -> BudgetState:
    """A budget with nothing in it."""
    room = first_capacity(rules) if capacity is None else capacity
    second = 0 if rules.maintenance == REMOVE else room
    numbers = room * (room + n_features + 2 * n_problems + 12.0) + second * (second + n_problems)
    memory.check(
        8 * numbers, f"a budget of {room:,} items", "give a smaller budget_labelled or budget_unlabelled"
    )
    return BudgetState(
        X=zeros((n_features, room)),
        norms=zeros((room,)),
        H=zeros((room, room)),
        G=zeros((second, second)),
        alpha=zeros((n_problems, room)),
        base=zeros((n_problems, second)),
        Y=zeros((n_problems, room)),
        D=zeros((room,)),
        items=zeros((room,), np.int64),
        ring=zeros((2, room), np.int64),
        counts=zeros((8,), np.int64),
        waiting_h=zeros((room,)),
        waiting_v=zeros((room,)),
        owed=zeros((4,)),
        k=zeros((room,)),
        a=zeros((room,)),
        h=zeros((room,)),
        g=zeros((room,)),
        f=zeros((n_problems,)),
        y=zeros((n_problems,)),
        c=zeros((n_problems,)),
    )


def resized(state: BudgetState, rules: BudgetRules, n_features: int, capacity: int) -> BudgetState:
    """The same budget in larger arrays; a feature that was not there before is 0."""
    return _copied(state, empty(rules, state.f.size, n_features, capacity))


def with_class(state: BudgetState, rules: BudgetRules) -> BudgetState:
    """The same budget with one class more, none of whose items it holds.

    One problem (two classes, +-1) becomes three. The new coefficients are `H y` with y = -1 on
    labelled vectors: exact, in O(b^2).
    """
    b = size(state)
    settled(state)
    labelled = np.where(rules.lambda1 == state.D, -1.0, 0.0) * (np.arange(state.D.size) < b)
    fresh = np.zeros(state.D.size)
    fresh[:b] = _times(labelled[None, :b], state.H[:b, :b])[0]

    def extended(old: Floats, new: Floats) -> Floats:
        before = np.stack([-old[0], old[0]]) if old.shape[0] == 1 else old
        return np.concatenate([before, new[None, : old.shape[1]]])

    problems = 3 if state.f.size == 1 else state.f.size + 1
    return state._replace(
        alpha=extended(state.alpha, fresh),
        base=extended(state.base, fresh),
        Y=extended(state.Y, labelled),
        f=np.zeros(problems),
        y=np.zeros(problems),
        c=np.zeros(problems),
    )


def refactor(state: BudgetState, rules: BudgetRules) -> float:
    """Compute the inverses and `alpha = H Y` afresh; the residual that is left.

    Coefficients that a projection has moved are kept: they are not a function of the budget.
    """
    b = size(state)
    state.counts[SINCE] = 0
    state.owed[0] = 0.0
    if b == 0:
        return 0.0
    K = np.zeros((b, b))
    gram_triangle(rules.kernel, rules.width, state.X, state.norms, b, K)
    H = inverted(K, state.D[:b], f"lambda1 = {rules.lambda1:g}", "lambda1")
    state.H[:b, :b] = np.tril(H)
    if rules.maintenance == REMOVE:
        state.alpha[:, :b] = _times(state.Y[:, :b], H)
    else:
        G = inverted(K, np.full(b, rules.ridge), f"ridge = {rules.ridge:g}", "ridge")
        state.G[:b, :b] = np.tril(G)
        if rules.maintenance != PERSIST:
            state.base[:, :b] = _times(state.Y[:, :b], H)
    return max(residual(state, rules, j) for j in {0, b // 2, b - 1})


def restart(state: BudgetState, rules: BudgetRules) -> float:
    """`refactor`, and forget projections: for a kernel that has changed under the coefficients."""
    b = size(state)
    left = refactor(state, rules)
    if rules.maintenance != REMOVE:
        state.alpha[:, :b] = _times(state.Y[:, :b], state.H[:b, :b])
        state.base[:, :b] = state.alpha[:, :b]
    return left


def drifted(state: BudgetState, rules: BudgetRules, tolerance: float) -> bool:
    """Whether the inverse is off by more than the tolerance, by a row of it, a different one each time."""
    state.counts[SINCE] = 0
    return not residual(state, rules, state.counts[UPDATES] // PERIOD % size(state)) <= tolerance


def residual(state: BudgetState, rules: BudgetRules, j: int) -> float:
    """How far row j of `(K + D) H` is from that of the identity.

    Under REMOVE also how far alpha is from solving its own row j.
    """
    b, k = size(state), state.k
    dense_row(rules.kernel, rules.width, state.X, b, state.X[:, j], k)
    settled(state)
    k[j] += state.D[j]
    worst = _off_identity(state.H, b, k, state.a, j)
    if rules.maintenance == REMOVE:
        other = np.abs(state.alpha[:, :b] @ k[:b] - state.Y[:, j]).max()
    else:
        k[j] += rules.ridge - state.D[j]
        other = _off_identity(state.G, b, k, state.a, j)
    return float(np.maximum(worst, other))  # not a number if one of them is not


def _off_identity(H: Floats, b: int, k: Floats, a: Floats, j: int) -> float:
    product(H, b, k, a)
    a[j] -= 1
    return float(np.abs(a[:b]).max())


def _times(Y: Floats, lower: Floats) -> Floats:
    """`Y H` for a symmetric H from its lower triangle."""
    found = np.empty(Y.shape)
    for p, row in enumerate(Y if Y.size else ()):
        found[p] = scipy.linalg.blas.dsymv(1.0, lower.T, row, lower=False)
    return found
