"""The maths of a round, compiled.

Letters, as in msg16 and sslgc13. A learner solves one *problem* over all K
classes, or one binary problem a class. A problem `c` has

- `P = A^-1` (d, d), where `A = gamma I + sum m m'` over learned rows `m`; only its
  lower triangle is kept up to date,
- `W = P B` transposed: one row of weights a class it scores,

and a node with row `m` gives

    g = P m,   r = m.g,   f0 = W m,   f = f0/(1+r)

where `f` is the score under the A that already contains the node. Learning a
target `y` is

    W += (y - f0) g'/(1+r),   P -= g g'/(1+r).

A first-order learner (the perceptron) keeps `P` at the identity: `g = m`,
`W += y m'`.

The stepwise protocol and the loop (loop.py) call the same compiled functions, so
both give the same bits.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from querist.codec import Field, Finite
from querist.compiled import compiled
from querist.online.algebra import add_outer, subtract_square
from querist.online.pace import asks_in_turn, remember
from querist.online.rules import (
    CONFIDENCE,
    EPSILON,
    LOG_CONFIDENCE,
    MARGIN,
    MARGIN_UNCERTAINTY,
    RANDOM,
    TARGETS,
    UPDATES,
    VARIANCE,
)
from querist.triangle import dot, product
from querist.types import Bools, Codes, Floats

# Numba freezes plain integers into the code.
LEARN_ALL, LEARN_CERTAIN, RIVAL = UPDATES.index("always"), UPDATES.index("certain"), TARGETS.index("rival")


class OnlineRules(NamedTuple):
    """A composition as numbers."""

    query: int
    numbers: Annotated[Floats, Field("numbers")]
    update: int
    target: int
    second_order: bool
    shrink: bool
    """Scores are f, under the A that contains the node; otherwise f0."""
    binary: bool
    n_classes: Annotated[int, Field(least=2)]
    gamma: Finite
    # How the budget is spent (pace.py).
    pace: Finite
    budget: int
    rounds: int


class OnlineState(NamedTuple):
    """Everything that learning changes.

    P (C, d, d), empty for a first-order learner; W (K, d), or (1, d) for two classes one-vs-rest;
    variances, the sum of r over earlier asks, where the rule needs it (DGS); touched, whether a label was
    learned in a component; counts of rounds, questions, updates; recent, what a pace compares with (pace.py).
    """

    P: Annotated[Floats, Field("C p p")]
    W: Annotated[Floats, Field("heads d")]
    variances: Annotated[Floats, Field("C", least=0)]
    touched: Annotated[Bools, Field("components")]
    counts: Annotated[Codes, Field("3", least=0)]
    recent: Annotated[Floats, Field("ring", finite=False)]


class NodeRows(NamedTuple):
    """Where the nodes are."""

    rows: Annotated[Floats, Field("n d")]
    component: Annotated[Codes, Field("n", least=0, below="components")]
    tie: Annotated[Floats, Field("n", least=0)]
    """Two scores closer than this are equal."""
    tie_order: Annotated[Codes, Field("K", least=0, below="K")]
    """Classes by precedence among equals."""


# -- scores --------------------------------------------------------------------


@compiled
def best_of(f: Floats, tie_order: Codes, tie: float) -> int:
    """The class with the largest score; equals go by `tie_order`."""
    best = tie_order[0]
    for k in tie_order:
        if f[k] > f[best] + tie:
            best = k
    return int(best)


@compiled
def margin_of(f: Floats, best: int) -> float:
    """Best score minus second best."""
    second = -np.inf
    for k in range(f.size):
        if k != best and f[k] > second:
            second = f[k]
    return float(max(0.0, f[best] - second))


@compiled
def prediction_of(f: Floats, tie_order: Codes, tie: float) -> int:
    """The class that the scores point to; one score alone speaks for class 1 against class 0."""
    if f.size > 1:
        return best_of(f, tie_order, tie)
    if abs(f[0]) <= tie:
        return int(tie_order[0])
    return 1 if f[0] > 0.0 else 0


@compiled
def predict_rows(f: Floats, tie_order: Codes, tie: Floats, out: Codes) -> None:
    """`prediction_of` every row of scores."""
    for i in range(out.size):
        out[i] = prediction_of(f[i], tie_order, tie[i])


# -- rules ---------------------------------------------------------------------


@compiled
def theta(margin: float, r: float, n_classes: int) -> float:
    """`Delta^2/2 + 2 Delta - K r/(1+r)` (msg16, eq. 10)."""
    return 0.5 * margin * margin + 2.0 * margin - n_classes * r / (1.0 + r)


@compiled
def ask_probability(
    rules: OnlineRules, t: int, margin: float, r: float, variances: float
) -> tuple[float, bool]:
    """With what probability a node is asked about, and whether for certain (no draw)."""
    x = rules.numbers
    ask = True
    if rules.query == RANDOM:
        return x[0], False
    if rules.query == MARGIN_UNCERTAINTY:
        value = theta(margin, r, rules.n_classes)
        if value < 0.0:
            return 1.0, True
        return 2.0 * x[0] / (2.0 * x[0] + value), False
    if rules.query == VARIANCE:
        ask = r / (1.0 + r) > t ** -x[0]
    elif rules.query == EPSILON:
        ask = r / (1.0 + r) >= x[0]
    elif rules.query == CONFIDENCE:
        ask = margin * margin <= r * (x[1] + x[2] * variances + x[3] * np.log(t / x[0]))
    elif rules.query == LOG_CONFIDENCE:
        ask = margin * margin <= x[0] * r * np.log(t + 1.0)
    elif rules.query == MARGIN:
        ask = margin <= x[0]
    return (1.0 if ask else 0.0), ask


@compiled
def need(rules: OnlineRules, t: int, margin: float, r: float, variances: float, u: float) -> float:
    """How much the rule wishes to ask, larger for sooner: its inequality, solved for its own threshold.

    `ask_probability` and the draw u ask where this exceeds (or reaches) a number that does not depend on the
    node: -2h for MSG, which asks iff `Theta u/(1-u) < 2h`; eps; 1 for DGS and BBQ; -tau. Rules that look at
    nothing wish the same everywhere.
    """
    x, spread, square = rules.numbers, r / (1.0 + r), margin * margin
    value = 0.0
    if rules.query == MARGIN_UNCERTAINTY:
        value = -theta(margin, r, rules.n_classes)
        if value < 0.0:
            value *= u / (1.0 - u)
    elif rules.query == VARIANCE:
        value = spread * t ** x[0]
    elif rules.query == EPSILON:
        value = spread
    elif rules.query == MARGIN:
        value = -margin
    elif rules.query == CONFIDENCE:
        bound = r * (x[1] + x[2] * variances + x[3] * np.log(t / x[0]))
        value = bound / square if square > 0.0 else np.inf
    elif rules.query == LOG_CONFIDENCE:
        value = x[0] * r * np.log(t + 1.0) / square if square > 0.0 else np.inf
    return value


@compiled
def learns(rules: OnlineRules, mistaken: bool, certain: bool) -> bool:
    """Whether an answer is learned."""
    return mistaken or rules.update == LEARN_ALL or (rules.update == LEARN_CERTAIN and certain)


@compiled
def set_target(y: Floats, f: Floats, allowed: Bools, target: int, tie_order: Codes, tie: float) -> None:
    """Write the target vector of an answer into `y` (K,).

    `allowed` marks the classes the answer permits: one, several ("one of
    these", read as the best-scored of them), or none ("none of these").
    """
    right = -1
    rival = -1
    for k in tie_order:
        y[k] = 0.0
        if allowed[k]:
            if right < 0 or f[k] > f[right] + tie:
                right = k
        elif rival < 0 or f[k] > f[rival] + tie:
            rival = k
    if right >= 0:
        y[right] = 1.0
    if rival >= 0 and target == RIVAL:
        y[rival] = -1.0


# -- a round -------------------------------------------------------------------


class Scratch(NamedTuple):
    """Working room of a round: C problems, K score rows."""

    g: Floats  # (C, d) P m
    f0: Floats  # (K,)
    f: Floats  # (K,)
    y: Floats  # (K,)
    r: Floats  # (C,)
    asks: Bools  # (C,) which problems ask
    wrong: Bools  # (C,) which problems are mistaken
    learned: Bools  # (C,) which problems learned
    allowed: Bools  # (n_classes,)
    more: Any
    """What a family of learners needs besides."""


def scratch(n_classes: int, problems: int, heads: int, d: int = 0, more: Any = ()) -> Scratch:
    """Working room for so many problems, rows of scores and columns."""
    f0, f, y = np.empty((3, heads))
    asks, wrong, learned = np.zeros((3, problems), dtype=np.bool_)
    allowed = np.zeros(n_classes, dtype=np.bool_)
    return Scratch(np.empty((problems, d)), f0, f, y, np.empty(problems), asks, wrong, learned, allowed, more)


class Verdict(NamedTuple):
    """What a round comes to, over all its problems."""

    prediction: int
    margin: float
    variance: float
    probability: float
    certain: bool
    value: float
    """How much the rule wishes to ask; a pace compares it between rounds."""


@compiled
def multiply(rules: OnlineRules, state: OnlineState, c: int, m: Floats, g: Floats) -> None:
    """`P m` of problem c; the row itself for a first-order learner."""
    if rules.second_order:
        product(state.P[c], m.size, m, g)
    else:
        for i in range(m.size):
            g[i] = m[i]


@compiled
def score(rules: OnlineRules, state: OnlineState, m: Floats, work: Scratch) -> None:
    """r, f0 and f of every problem from its product g."""
    per_problem = state.W.shape[0] // work.r.size
    for c in range(work.r.size):
        # Rounding may leave a variance a hair below 0 where it is 0.
        r = max(0.0, dot(m, work.g[c], m.size))
        work.r[c] = r
        for k in range(c * per_problem, (c + 1) * per_problem):
            f0 = dot(state.W[k], m, m.size)
            work.f0[k] = f0
            work.f[k] = f0 / (1.0 + r) if rules.shrink else f0


@compiled
def judge(
    rules: OnlineRules, state: OnlineState, place: NodeRows, node: int, u: float, work: Scratch
) -> Verdict:
    """Prediction, margin and the wish to ask; fills `work.asks`. Changes no state."""
    f = work.f
    best = prediction_of(f, place.tie_order, place.tie[node])
    margin = abs(f[0]) if f.size == 1 else margin_of(f, best)
    p_most, some_certain, r_most, value = 0.0, False, 0.0, -np.inf
    t = state.counts[0] + 1
    for c in range(work.r.size):
        own = abs(f[c]) if rules.binary else margin
        p, certain = ask_probability(rules, t, own, work.r[c], state.variances[c])
        work.asks[c] = certain or u < p
        p_most = max(p_most, p)
        r_most = max(r_most, work.r[c])
        some_certain = some_certain or certain
        value = max(value, need(rules, t, own, work.r[c], state.variances[c], u))
    if state.recent.size > 0:
        asks = asks_in_turn(rules, state, value, u)
        # The label is told to every problem, whichever wished for it.
        for c in range(work.asks.size):
            work.asks[c] = asks
        p_most = 1.0 if asks else 0.0
        draws = rules.query in (RANDOM, MARGIN_UNCERTAINTY)
        some_certain = asks and (some_certain or not draws)
    return Verdict(best, margin, r_most, p_most, some_certain, value)


@compiled
def find_mistakes(binary: bool, prediction: int, allowed: Bools, tie: float, f: Floats, wrong: Bools) -> bool:
    """Which problems are `wrong`, by their own score or by the predicted class; returns whether the round is.

    A binary score of 0 is wrong whatever the label (sslgc13's sign(0)).
    """
    for c in range(wrong.size):
        positive = allowed[1] if f.size == 1 else allowed[c]
        by_sign = f[c] <= tie if positive else f[c] >= -tie
        wrong[c] = by_sign if binary else not allowed[prediction]
    return wrong[0] if f.size == 1 else not allowed[prediction]


@compiled
def absorb(
    rules: OnlineRules, state: OnlineState, place: NodeRows, c: int, node: int, label: float, allowed: Bools,
    work: Scratch,
) -> None:  # fmt: skip
    """Learn an answer in problem c; `work` holds the scores and products of the node under this state.

    Leaves `g/sqrt(1+r)` in `g` and `(y - f0)/(1+r)` in `y`.
    """
    own = slice(c, c + 1) if rules.binary else slice(0, work.y.size)
    y, f0, g, r = work.y[own], work.f0[own], work.g[c], work.r[c]
    if rules.binary:
        y[0] = label
    else:
        set_target(y, work.f, allowed, rules.target, place.tie_order, place.tie[node])
    if rules.second_order:
        for k in range(y.size):
            y[k] = (y[k] - f0[k]) / (1.0 + r)
    add_outer(state.W[own], y, g)
    if rules.second_order:
        root = np.sqrt(1.0 + r)
        for i in range(g.size):
            g[i] /= root
        subtract_square(state.P[c], g)
    state.touched[place.component[node]] = True


@compiled
def close_round(
    rules: OnlineRules, state: OnlineState, asked: bool, asks: Bools, r: Floats, value: float
) -> None:
    """The round is over: counters and the sums that rules keep advance."""
    remember(rules, state, value)
    state.counts[0] += 1
    if asked:
        state.counts[1] += 1
        if rules.query == CONFIDENCE:
            for c in range(r.size):
                if asks[c]:
                    state.variances[c] += r[c]


@compiled
def decide_step(
    rules: OnlineRules, state: OnlineState, place: NodeRows, node: int, u: float, work: Scratch
) -> Verdict:
    """Score a node and judge it; pure."""
    m = place.rows[node]
    for c in range(work.r.size):
        multiply(rules, state, c, m, work.g[c])
    score(rules, state, m, work)
    return judge(rules, state, place, node, u, work)
