"""The only loop: rounds over many nodes, compiled, to the bits of the stepwise protocol.

Three things make it fast, and none changes a bit of what is predicted, asked,
mistaken, updated or learned:

1. *Pairs.* `P` is read once for two rows (`kernels.products`). The second row
   is scored ahead of its round, and again only if the first one was learned.
2. *Debts.* The downdate `P -= s s'` of an update waits for the next product,
   and both are done in one pass over `P`.
3. *Screening.* The variances of a block of rows are computed together
   (`quadratic_forms`), which differs from the step kernel in the last bits.
   These scores settle a round only if the prediction is clear and the rule
   would not ask even with the margin lowered and the variance raised by
   `SLACK`. All other rounds go to the step kernel. After
   an update the block is patched: with `s = x.g/sqrt(1+r)` for a waiting row
   x, `r_x -= s^2` and `f0_x += s (y - f0)/sqrt(1+r)`.
"""

from typing import NamedTuple

import numpy as np

from querist.compiled import compiled
from querist.online.algebra import (
    BLOCK,
    count,
    downdate,
    downdate_products,
    gather_columns,
    project,
    quadratic_forms,
)
from querist.online.kernels import (
    Place,
    Rules,
    Scratch,
    State,
    ask_probability,
    best_of,
    close_round,
    find_mistakes,
    judge,
    learn,
    margin_of,
    multiply,
    score,
)
from querist.types import Bools, Codes, Floats

SLACK = 1e-9
SAFE = 1e4
"""Largest |m|^2/gamma for which screened scores keep ten digits."""


class Screen(NamedTuple):
    """Scores of the current block, good to about ten digits."""

    columns: Floats  # (d, BLOCK) the rows of the block, one a column: loops run along the block
    f0: Floats  # (heads, BLOCK)
    r: Floats  # (C, BLOCK)
    half: Floats  # (4, BLOCK) working room
    ahead: Bools  # (C,) which problems have scored the coming round by the step kernel
    owing: Bools  # (C,) which P owe a downdate
    debt: Floats  # (C, d) by what
    safe: bool


class Record(NamedTuple):
    """Arrays a run fills: one entry a round, and one a round and problem."""

    predicted: Codes
    asked: Bools
    mistaken: Bools
    updated: Bools
    margin: Floats
    variance: Floats
    problem_asked: Bools
    problem_mistaken: Bools
    problem_updated: Bools


def screen(state: State, safe: bool) -> Screen:
    """Room for a block; `safe` says that its scores can be trusted to ten digits."""
    problems = state.variances.size
    heads, d = state.W.shape
    return Screen(
        columns=np.empty((d, BLOCK)),
        f0=np.empty((heads, BLOCK)),
        r=np.empty((problems, BLOCK)),
        half=np.empty((4, BLOCK)),
        ahead=np.zeros(problems, dtype=np.bool_),
        owing=np.zeros(problems, dtype=np.bool_),
        debt=np.empty((problems, d)),
        safe=safe,
    )


def record(rounds: int, work: Scratch) -> Record:
    """An empty record."""
    problems = work.r.size
    return Record(
        predicted=np.zeros(rounds, dtype=np.int64),
        asked=np.zeros(rounds, dtype=np.bool_),
        mistaken=np.zeros(rounds, dtype=np.bool_),
        updated=np.zeros(rounds, dtype=np.bool_),
        margin=np.zeros(rounds),
        variance=np.zeros(rounds),
        problem_asked=np.zeros((rounds, problems), dtype=np.bool_),
        problem_mistaken=np.zeros((rounds, problems), dtype=np.bool_),
        problem_updated=np.zeros((rounds, problems), dtype=np.bool_),
    )


@compiled
def screen_block(state: State, place: Place, order: Codes, start: int, screen: Screen) -> None:
    """Score BLOCK rounds from `start` (the last node repeated at the end of the order)."""
    gather_columns(place.rows, order, start, screen.columns)
    for k in range(screen.f0.shape[0]):
        project(screen.columns, state.W[k], screen.f0[k])
    for c in range(screen.r.shape[0]):
        quadratic_forms(state.P[c], screen.columns, screen.r[c], screen.half)


@compiled
def patch(screen: Screen, c: int, own: slice, s: Floats, r: float, f0: Floats, y: Floats) -> None:
    """Carry an update of problem c over to the block; `s` is g/sqrt(1+r)."""
    along = screen.half[0]
    project(screen.columns, s, along)
    variance = screen.r[c]
    for b in range(BLOCK):
        variance[b] -= along[b] * along[b]
    root = np.sqrt(1.0 + r)
    for k in range(own.start, own.stop):
        scores, step = screen.f0[k], (y[k] - f0[k]) / root
        for b in range(BLOCK):
            scores[b] += along[b] * step


@compiled
def load_screen(rules: Rules, screen: Screen, b: int, work: Scratch) -> None:
    """Screened scores into the working room."""
    per_problem = work.f.size // work.r.size
    for c in range(work.r.size):
        work.r[c] = max(0.0, screen.r[c, b])
        for k in range(c * per_problem, (c + 1) * per_problem):
            f0 = screen.f0[k, b]
            work.f0[k] = f0
            work.f[k] = f0 / (1.0 + work.r[c]) if rules.shrink else f0


@compiled
def settle(
    rules: Rules, state: State, place: Place, u: float, spent: bool, work: Scratch
) -> tuple[bool, int, float]:
    """Whether screened scores leave no doubt that nobody asks; the prediction; the margin.

    Every rule asks more readily at a smaller margin and a larger variance, so
    one corner decides.
    """
    f = work.f
    best = 0
    margin = np.inf
    if f.size > 1:
        best = best_of(f, place.tie_order, 0.0)
        margin = margin_of(f, best)
    doubt = SLACK * (1.0 + abs(f[best]))
    clear = margin > doubt
    for c in range(work.r.size):
        own = abs(f[c]) if rules.binary else margin
        r = work.r[c] + SLACK * (1.0 + work.r[c])
        p, certain = ask_probability(rules, state.counts[0] + 1, max(0.0, own - doubt), r, state.variances[c])
        clear = clear and own > doubt and (spent or not (certain or u < p + SLACK))
    if f.size == 1:
        return clear, 1 if f[0] > 0.0 else 0, abs(f[0])
    return clear, best, margin


@compiled
def owe(rules: Rules, screen: Screen, c: int, s: Floats) -> None:
    """Remember that P of problem c is to be downdated by s."""
    screen.owing[c] = rules.second_order
    for i in range(s.size):
        screen.debt[c, i] = s[i]


@compiled
def pay(state: State, screen: Screen) -> None:
    """Downdate every P that owes it."""
    for c in range(screen.owing.size):
        if screen.owing[c]:
            downdate(state.P[c], screen.debt[c])
            screen.owing[c] = False


@compiled
def play(
    rules: Rules, state: State, place: Place, order: Codes, i: int, u: float, spent: bool,
    allowed: Bools, work: Scratch, screen: Screen, record: Record,
) -> None:  # fmt: skip
    """Round i by the step kernel: predict, maybe ask, maybe learn."""
    node = order[i]
    m = place.rows[node]
    slot = i % 2
    following = place.rows[order[min(i + 1, order.size - 1)]]
    for c in range(work.r.size):
        g, h = work.g[slot, c], work.g[1 - slot, c]
        if screen.ahead[c]:
            screen.ahead[c] = False
            continue
        if screen.owing[c]:
            downdate_products(state.P[c], screen.debt[c], m, following, g, h)
            screen.owing[c] = False
        else:
            multiply(rules, state, c, m, following, g, h)
        screen.ahead[c] = True
    score(rules, state, m, slot, work)
    verdict = judge(rules, state, place, node, u, work)
    mistaken = find_mistakes(rules, verdict.prediction, allowed, place.tie[node], work)
    asked = not spent and count(work.asks) > 0
    for c in range(work.r.size):
        work.asks[c] = work.asks[c] and asked
        work.learned[c] = False
    close_round(rules, state, asked, work.asks, work.r)
    updated = asked and learn(rules, state, place, node, slot, verdict.certain, allowed, work)
    for c in range(work.r.size):
        if work.learned[c]:
            screen.ahead[c] = False
            owe(rules, screen, c, work.g[slot, c])
    note(record, i, verdict.prediction, asked, mistaken, updated, verdict.margin, verdict.variance, work)


@compiled
def skip(
    rules: Rules, state: State, i: int, prediction: int, margin: float,
    allowed: Bools, work: Scratch, screen: Screen, record: Record,
) -> None:  # fmt: skip
    """Round i by its screened scores: predict, do not ask."""
    mistaken = find_mistakes(rules, prediction, allowed, 0.0, work)
    variance = 0.0
    for c in range(work.r.size):
        variance = max(variance, work.r[c])
        work.asks[c] = False
        work.learned[c] = False
        screen.ahead[c] = False
    close_round(rules, state, False, work.asks, work.r)
    note(record, i, prediction, False, mistaken, False, margin, variance, work)


@compiled
def note(
    record: Record, i: int, predicted: int, asked: bool, mistaken: bool, updated: bool,
    margin: float, variance: float, work: Scratch,
) -> None:  # fmt: skip
    """Write round i down."""
    record.predicted[i] = predicted
    record.asked[i] = asked
    record.mistaken[i] = mistaken
    record.updated[i] = updated
    record.margin[i] = margin
    record.variance[i] = variance
    for c in range(work.r.size):
        record.problem_asked[i, c] = work.asks[c]
        record.problem_mistaken[i, c] = work.wrong[c]
        record.problem_updated[i, c] = work.learned[c]


@compiled
def play_block(
    rules: Rules, state: State, place: Place, order: Codes, labels: Codes, uniforms: Floats, budget: int,
    start: int, screening: bool, work: Scratch, screen: Screen, record: Record,
) -> None:  # fmt: skip
    """BLOCK rounds from `start`, by their screened scores where these settle them."""
    per_problem = work.f.size // work.r.size
    for i in range(start, min(start + BLOCK, order.size)):
        node = order[i]
        b = i - start
        spent = budget >= 0 and state.counts[1] >= budget
        work.allowed[labels[node]] = True
        clear, prediction, margin = False, 0, 0.0
        if screening:
            load_screen(rules, screen, b, work)
            clear, prediction, margin = settle(rules, state, place, uniforms[i], spent, work)
        if clear:
            skip(rules, state, i, prediction, margin, work.allowed, work, screen, record)
        else:
            play(rules, state, place, order, i, uniforms[i], spent, work.allowed, work, screen, record)
            if screening and record.updated[i]:
                for c in range(work.r.size):
                    if work.learned[c]:
                        own = slice(c * per_problem, (c + 1) * per_problem)
                        patch(screen, c, own, work.g[i % 2, c], work.r[c], work.f0, work.y)
        work.allowed[labels[node]] = False
    pay(state, screen)


@compiled
def run_rounds(
    rules: Rules, state: State, place: Place, order: Codes, labels: Codes, uniforms: Floats,
    budget: int, work: Scratch, screen: Screen, record: Record,
) -> None:  # fmt: skip
    """Rounds over `order`. A negative budget means none."""
    asked = BLOCK
    for c in range(work.r.size):
        screen.ahead[c] = False
    for start in range(0, order.size, BLOCK):
        # A round that asks is scored twice when screened: not worth it where many do.
        screening = screen.safe and rules.second_order and 3 * asked <= BLOCK
        if screening:
            screen_block(state, place, order, start, screen)
        before = state.counts[1]
        play_block(
            rules, state, place, order, labels, uniforms, budget, start, screening, work, screen, record
        )
        asked = state.counts[1] - before
