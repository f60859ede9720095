"""The only loop: rounds over many nodes, compiled, to the bits of the stepwise protocol.

It is written once for all families of learners. A family is a module of compiled functions: `decide_step`
scores a node and judges it, and `absorb` learns an answer in one problem; `learns` says which answers are
learned, and `close_round` ends a round, as in `pace.py` unless the family has its own. `Steps.of` puts them
into the functions here.

Compositions are also *screened* where most rounds learn nothing: the variances of a block of rows are
computed together (`quadratic_forms`), which is cheaper but has other last bits. Screened scores settle a
round only if it clearly learns nothing: the prediction is clear, and the rule decides the same with margin
and variance moved by `SLACK` either way. All other rounds go to `play`, so what is predicted, asked,
mistaken, updated and learned has the same bits. After an update the block is patched: with `s =
x.g/sqrt(1+r)` for a waiting row x, `r_x -= s^2` and `f0_x += s (y - f0)/sqrt(1+r)`.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from querist.compiled import compiled
from querist.online import kernels, pace
from querist.online.algebra import BLOCK, count, gather_columns, project, quadratic_forms
from querist.online.kernels import (
    NodeRows,
    OnlineRules,
    OnlineState,
    Scratch,
    absorb,
    ask_probability,
    close_round,
    decide_step,
    find_mistakes,
    learns,
    margin_of,
    prediction_of,
)
from querist.online.rules import CONFIDENCE
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
    safe: bool


class RunRecord(NamedTuple):
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


def screen(state: OnlineState, safe: bool) -> Screen:
    """Room for a block; `safe` says that its scores can be trusted to ten digits."""
    problems = state.variances.size
    heads, d = state.W.shape
    return Screen(
        columns=np.empty((d, BLOCK)),
        f0=np.empty((heads, BLOCK)),
        r=np.empty((problems, BLOCK)),
        half=np.empty((4, BLOCK)),
        safe=safe,
    )


def record(rounds: int, work: Scratch) -> RunRecord:
    """An empty record."""
    flags, by_problem = np.zeros((3, rounds), np.bool_), np.zeros((3, rounds, work.r.size), np.bool_)
    return RunRecord(np.zeros(rounds, dtype=np.int64), *flags, *np.zeros((2, rounds)), *by_problem)


# -- every family ----------------------------------------------------------------------


@compiled
def learn(
    rules: Any, state: Any, place: Any, node: int, certain: bool, allowed: Bools, work: Scratch
) -> bool:
    """Learn an answer in the problems of `work.asks`; returns whether any did.

    `work` holds the scores and mistakes of the node under this state. The label of a problem is 1 or -1, or 0
    if "one of these" leaves it open, which binary problems do not learn.
    """
    several = count(allowed) > 1
    for c in range(work.r.size):
        positive = allowed[1] if work.f.size == 1 else allowed[c]
        left_open = several and positive
        wanted = work.asks[c] and learns(rules, work.wrong[c], certain)
        work.learned[c] = wanted and not (left_open and rules.binary)
        if work.learned[c]:
            label = 0.0 if left_open else 1.0 if positive else -1.0
            absorb(rules, state, place, c, node, label, allowed, work)
    learned = count(work.learned) > 0
    state.counts[2] += learned
    return learned


@compiled
def play(
    rules: Any, state: Any, place: Any, node: int, i: int, u: float, spent: bool, allowed: Bools,
    work: Scratch, record: RunRecord,
) -> None:  # fmt: skip
    """Round i: predict, maybe ask, maybe learn."""
    verdict = decide_step(rules, state, place, node, u, work)
    mistaken = find_mistakes(rules.binary, verdict.prediction, allowed, place.tie[node], work.f, work.wrong)
    asked = not spent and count(work.asks) > 0
    for c in range(work.r.size):
        work.asks[c] = work.asks[c] and asked
        work.learned[c] = False
    close_round(rules, state, asked, work.asks, work.r, verdict.value)
    updated = asked and learn(rules, state, place, node, verdict.certain, allowed, work)
    note(record, i, verdict.prediction, asked, mistaken, updated, verdict.margin, verdict.variance, work)


@compiled
def note(
    record: RunRecord, i: int, predicted: int, asked: bool, mistaken: bool, updated: bool,
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
def play_all(
    rules: Any, state: Any, place: Any, order: Codes, labels: Codes, uniforms: Floats, budget: int,
    work: Scratch, record: RunRecord,
) -> None:  # fmt: skip
    """Rounds over `order`. A negative budget means none."""
    for i in range(order.size):
        node = order[i]
        spent = budget >= 0 and state.counts[1] >= budget
        work.allowed[labels[node]] = True
        play(rules, state, place, node, i, uniforms[i], spent, work.allowed, work, record)
        work.allowed[labels[node]] = False


@compiled
def learn_step(
    rules: Any, state: Any, place: Any, node: int, certain: bool, asks: Bools, allowed: Bools, work: Scratch
) -> bool:
    """Learn an answer under the state as it is now, for the problems that asked."""
    verdict = decide_step(rules, state, place, node, 1.0, work)
    for c in range(asks.size):
        work.asks[c] = asks[c]
    find_mistakes(rules.binary, verdict.prediction, allowed, place.tie[node], work.f, work.wrong)
    return learn(rules, state, place, node, certain, allowed, work)


@compiled
def score_all(rules: Any, state: Any, place: Any, nodes: Codes, work: Scratch, out: Floats) -> None:
    """(nodes, K) scores under the state as it is."""
    for i in range(nodes.size):
        decide_step(rules, state, place, nodes[i], 1.0, work)
        for k in range(work.f.size):
            out[i, k] = work.f[k]


class Steps(NamedTuple):
    """The compiled functions of a family: its own, and those above made of them."""

    decide_step: Callable[..., kernels.Verdict]
    close_round: Callable[..., None]
    learn_step: Callable[..., bool]
    play_all: Callable[..., None]
    score_all: Callable[..., None]

    @classmethod
    def of(cls, family: ModuleType) -> "Steps":
        """Those of a family.

        Numba knows functions by the names in a module, and keeps machine code by the name of a function: so
        each of those above is made again for the family, as if its text stood there.
        """
        own = vars(pace) | vars(family)
        names = ("__name__", "decide_step", "absorb", "learns", "close_round")
        scope: dict[str, Any] = globals() | {name: own[name] for name in names}
        for template in (learn, play, play_all, learn_step, score_all):
            code = getattr(template, "py_func", template).__code__
            again = FunctionType(code, scope)
            again.__qualname__ = f"{family.__name__}.{code.co_name}"
            scope[code.co_name] = compiled(again, family)
        return cls(*(scope[name] for name in cls._fields))


# -- compositions, by blocks that are screened ------------------------------------------


@compiled
def screen_block(state: OnlineState, place: NodeRows, order: Codes, start: int, screen: Screen) -> None:
    """Score BLOCK rounds from `start` (the last node repeated at the end of the order)."""
    gather_columns(place.rows, order, start, screen.columns)
    for k in range(screen.f0.shape[0]):
        project(screen.columns, state.W[k], screen.f0[k])
    for c in range(screen.r.shape[0]):
        quadratic_forms(state.P[c], screen.columns, screen.r[c], screen.half)


@compiled
def patch(screen: Screen, work: Scratch) -> None:
    """Carry the update that `absorb` left in `work` over to the block."""
    per_problem = work.f.size // work.r.size
    along = screen.half[0]
    for c in range(work.r.size):
        if not work.learned[c]:
            continue
        project(screen.columns, work.g[c], along)
        variance = screen.r[c]
        for b in range(BLOCK):
            variance[b] -= along[b] * along[b]
        root = np.sqrt(1.0 + work.r[c])
        for k in range(c * per_problem, (c + 1) * per_problem):
            scores, step = screen.f0[k], work.y[k] * root
            for b in range(BLOCK):
                scores[b] += along[b] * step


@compiled
def load_screen(rules: OnlineRules, screen: Screen, b: int, work: Scratch) -> None:
    """Screened scores into the working room."""
    per_problem = work.f.size // work.r.size
    for c in range(work.r.size):
        work.r[c] = max(0.0, screen.r[c, b])
        for k in range(c * per_problem, (c + 1) * per_problem):
            f0 = screen.f0[k, b]
            work.f0[k] = f0
            work.f[k] = f0 / (1.0 + work.r[c]) if rules.shrink else f0


@compiled
def clearly(
    rules: OnlineRules, t: int, margin: float, r: float, variances: float, u: float, doubt: float
) -> int:
    """1 asks and is certain, 2 asks by its draw, 0 does not ask, -1 cannot tell from screened scores.

    Every rule asks more readily at a smaller margin and a larger variance, so
    two corners decide.
    """
    wide = SLACK * (1.0 + r)
    p, certain = ask_probability(rules, t, max(0.0, margin - doubt), r + wide, variances)
    if not certain and u >= p + SLACK:
        return 0
    p, sure = ask_probability(rules, t, margin + doubt, max(0.0, r - wide), variances)
    if certain != sure or (not sure and u >= p - SLACK):
        return -1
    return 1 if sure else 2


@compiled
def settle(
    rules: OnlineRules,
    state: OnlineState,
    place: NodeRows,
    u: float,
    spent: bool,
    allowed: Bools,
    work: Scratch,
) -> tuple[bool, int, float]:
    """Whether screened scores leave no doubt that nothing is learned; the prediction; the margin.

    Fills `work.asks` and `work.wrong`.
    """
    f = work.f
    prediction = prediction_of(f, place.tie_order, 0.0)
    margin = abs(f[0]) if f.size == 1 else margin_of(f, prediction)
    doubt = SLACK * (1.0 + abs(f[0] if f.size == 1 else f[prediction]))
    clear = f.size == 1 or margin > doubt
    find_mistakes(rules.binary, prediction, allowed, 0.0, work.f, work.wrong)
    for c in range(work.r.size):
        own = abs(f[c]) if rules.binary else margin
        verdict = 0
        if not spent:
            verdict = clearly(rules, state.counts[0] + 1, own, work.r[c], state.variances[c], u, doubt)
        work.asks[c] = verdict > 0
        quiet = verdict == 0 or (
            # DGS sums the variances it asked at: only the step kernel's bits will do.
            verdict > 0 and rules.query != CONFIDENCE and not learns(rules, work.wrong[c], verdict == 1)
        )
        clear = clear and own > doubt and quiet
    return clear, prediction, margin


@compiled
def skip(
    rules: OnlineRules, state: OnlineState, i: int, prediction: int, margin: float, mistaken: bool,
    work: Scratch, record: RunRecord,
) -> None:  # fmt: skip
    """Round i by its screened scores: predict, maybe ask, learn nothing."""
    asked = count(work.asks) > 0
    close_round(rules, state, asked, work.asks, work.r, 0.0)
    variance = 0.0
    for c in range(work.r.size):
        variance = max(variance, work.r[c])
        work.learned[c] = False
    note(record, i, prediction, asked, mistaken, False, margin, variance, work)


@compiled
def play_block(
    rules: OnlineRules, state: OnlineState, place: NodeRows, order: Codes, labels: Codes, uniforms: Floats,
    budget: int, start: int, screening: bool, work: Scratch, screen: Screen, record: RunRecord,
) -> None:  # fmt: skip
    """BLOCK rounds from `start`, by their screened scores where these settle them."""
    for i in range(start, min(start + BLOCK, order.size)):
        node = order[i]
        spent = budget >= 0 and state.counts[1] >= budget
        work.allowed[labels[node]] = True
        clear, prediction, margin = False, 0, 0.0
        if screening:
            load_screen(rules, screen, i - start, work)
            clear, prediction, margin = settle(rules, state, place, uniforms[i], spent, work.allowed, work)
        if clear:
            mistaken = work.wrong[0] if work.f.size == 1 else not work.allowed[prediction]
            skip(rules, state, i, prediction, margin, mistaken, work, record)
        else:
            play(rules, state, place, node, i, uniforms[i], spent, work.allowed, work, record)
            if screening and record.updated[i]:
                patch(screen, work)
        work.allowed[labels[node]] = False


@compiled
def run_rounds(
    rules: OnlineRules, state: OnlineState, place: NodeRows, order: Codes, labels: Codes, uniforms: Floats,
    budget: int, work: Scratch, screen: Screen, record: RunRecord,
) -> None:  # fmt: skip
    """Rounds over `order`. A negative budget means none."""
    learned = BLOCK
    for start in range(0, order.size, BLOCK):
        # A round that learns is scored twice when screened: not worth it where many do. A pace compares
        # values, and must have those of the step kernel.
        screening = screen.safe and rules.second_order and state.recent.size == 0 and 5 * learned <= 2 * BLOCK
        if screening:
            screen_block(state, place, order, start, screen)
        before = state.counts[2]
        play_block(
            rules, state, place, order, labels, uniforms, budget, start, screening, work, screen, record
        )
        learned = state.counts[2] - before


@compiled
def learn_again(
    rules: OnlineRules, state: OnlineState, place: NodeRows, nodes: Codes, allowed: Bools, problems: Bools,
    work: Scratch,
) -> None:  # fmt: skip
    """Learn answers one after the other, each in the problems that learned it before."""
    for i in range(nodes.size):
        learn_step(rules, state, place, nodes[i], True, problems[i], allowed[i], work)
