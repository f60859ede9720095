"""The maths of a round for learners that remember nodes and look for the nearest, compiled.

A problem keeps a *cover*: the nodes it has remembered, each with its label +-1 (0 where the answer left it
open). A node i has in the cover a nearest node eta, by squared distance `R`, and the score

    f = y_eta + w(i) - w(eta).

POUNCE (pounce08, Fig. 3) remembers mistakes and moves `w` by the projection that makes the two labels right:

    w += (y - y_eta - (w(i) - w(eta))) / R(i, eta) * (v_i - v_eta).

The nearest-neighbour learner leaves w at 0. A problem with an empty cover scores 0, which is a mistake for
either label, so the first answer is remembered and moves nothing (Fig. 3's M = {1}).

Distances come in one of two forms. From a matrix R (n, n), `w` is a value a node; only its differences
matter, so `v_i - v_eta` may be taken as `(R_eta - R_i)/2`, which is it but for a constant. From rows (n, d)
with `R = |x_i - x_j|^2`, `w` is a weight vector and `w(i) = w.x_i`.

Equal distances go to the earliest trial (`nearby.py`, which also finds the nearest row). Coinciding nodes
cannot be told apart by any w: a mistake at distance 0 replaces the remembered label.
"""

from typing import Annotated, NamedTuple

import numpy as np

from querist.codec import Field, Finite
from querist.compiled import compiled
from querist.online.algebra import count
from querist.online.kernels import Verdict, find_mistakes, margin_of, prediction_of
from querist.online.loop import RunRecord, note
from querist.online.nearby import View, bound_distances, measure, nearest, nearest_screened, unscreened
from querist.online.pace import asks_in_turn, close_round
from querist.types import Bools, Codes, Floats


class CoverRules(NamedTuple):
    """What a learner does with its cover."""

    project: bool
    """Move w (POUNCE), or leave it at 0 (nearest neighbour)."""
    remember_all: bool
    """Every answer enters the cover, not only mistakes."""
    binary: bool
    """A problem is mistaken by its own sign; otherwise by the predicted class."""
    n_classes: Annotated[int, Field(least=2)]
    # How the budget is spent (pace.py).
    pace: Finite
    budget: int
    rounds: int


class CoverState(NamedTuple):
    """Everything that learning changes, for C problems and n nodes."""

    known: Annotated[Codes, Field("C n", least=0, below="n")]
    """Remembered nodes, earliest first."""
    sizes: Annotated[Codes, Field("C", least=0)]
    """How many."""
    sign: Annotated[Floats, Field("C n")]
    """The remembered label of a node: 1, -1, 0 if open or unknown."""
    w: Annotated[Floats, Field("C wide")]
    """(C, n) values, or (C, d) weights."""
    met: Annotated[Codes, Field("n", least=0, below="n")]
    """Nodes in any cover."""
    in_cover: Annotated[Bools, Field("n")]
    """Whether a node is in any cover."""
    counts: Annotated[Codes, Field("4", least=0)]
    """Rounds, questions, updates, nodes met."""
    recent: Annotated[Floats, Field("ring", finite=False)]
    """What a pace compares with (pace.py)."""


class CoverNodes(NamedTuple):
    """Where the nodes are."""

    distance: Annotated[Floats, Field("measured measured", finite=False)]
    """(n, n) squared distances, or (0, 0)."""
    rows: Annotated[Floats, Field("n d")]
    """(n, d) points; (n, 0) if the distances are there."""
    prior: Annotated[Floats, Field("n", finite=False)]
    """The variance of a node while nothing is known: its largest distance, or the square of its row."""
    least: Annotated[Floats, Field("1", least=0)]
    """Nodes no farther apart than this coincide."""
    tie: Annotated[Floats, Field("n", least=0)]
    """Scores closer than this are equal."""
    tie_order: Annotated[Codes, Field("K", least=0, below="K")]
    """Classes by precedence among equals."""


class CoverScratch(NamedTuple):
    """Working room of a round."""

    distance: Floats  # (n,) to the nodes in any cover
    near: Codes  # (C,) the nearest remembered node, -1 if none
    rest: Floats  # (C,) w(i) - w(eta)
    f: Floats  # (C,)
    r: Floats  # (C,) squared distance to the nearest
    asks: Bools  # (C,)
    wrong: Bools  # (C,)
    learned: Bools  # (C,)
    allowed: Bools  # (n_classes,)
    unscreened: View  # of nothing


def scratch(rules: CoverRules, state: CoverState) -> CoverScratch:
    """Working room for a learner of this make."""
    problems, n = state.known.shape
    flags = [np.zeros(problems, dtype=np.bool_) for _ in range(3)]
    return CoverScratch(
        distance=np.zeros(n),
        near=np.empty(problems, dtype=np.int64),
        rest=np.empty(problems),
        f=np.empty(problems),
        r=np.empty(problems),
        asks=flags[0],
        wrong=flags[1],
        learned=flags[2],
        allowed=np.zeros(rules.n_classes, dtype=np.bool_),
        unscreened=unscreened(),
    )


# -- the nearest, and scores ---------------------------------------------------------


@compiled
def look(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, view: View, i: int, work: CoverScratch
) -> None:
    """The nearest remembered node of every problem, into `work.near`, and its distance, into `work.r`.

    The node is the i-th of the block that `view` screens; where it screens nothing, all are measured.
    """
    rows, distance, screened = place.rows, work.distance, view.product.size > 0
    if place.distance.size:
        distance = place.distance[node]
    elif screened:
        bound_distances(view, i, rows, node, state.met, state.counts[3])
    else:
        measure(rows, node, state.met, state.counts[3], distance)
    for c in range(work.near.size):
        if c and not rules.binary:
            eta = work.near[0]
        elif screened:
            eta = nearest_screened(view, rows, node, state.known[c], state.sizes[c], distance)
        else:
            eta = nearest(state.known[c], state.sizes[c], distance)
        work.near[c] = eta
        work.r[c] = distance[eta] if eta >= 0 else place.prior[node]


@compiled
def rise(place: CoverNodes, w: Floats, node: int, eta: int) -> float:
    """`w(i) - w(eta)`; between rows the difference comes first, so that near nodes keep their digits."""
    if place.distance.size:
        return float(w[node] - w[eta])
    x, y = place.rows[node], place.rows[eta]
    total = 0.0
    for k in range(w.size):
        total += w[k] * (x[k] - y[k])
    return total


@compiled
def judge(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, u: float, work: CoverScratch
) -> Verdict:
    """Score a node by the nearest of every problem. Every round asks, but for a pace."""
    variance, asks = 0.0, state.recent.size == 0 or asks_in_turn(rules, state, 0.0, u)
    for c in range(work.f.size):
        eta = work.near[c]
        work.rest[c] = rise(place, state.w[c], node, eta) if rules.project and eta >= 0 else 0.0
        work.f[c] = state.sign[c, eta] + work.rest[c] if eta >= 0 else 0.0
        work.asks[c] = asks
        variance = max(variance, work.r[c])
    f = work.f
    best = prediction_of(f, place.tie_order, place.tie[node])
    margin = abs(f[0]) if f.size == 1 else margin_of(f, best)
    return Verdict(best, margin, variance, 1.0 if asks else 0.0, asks, 0.0)


@compiled
def decide_step(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, u: float, work: CoverScratch
) -> Verdict:
    """Score a node and judge it; pure."""
    return decide_in_block(rules, state, place, node, u, work.unscreened, 0, work)


@compiled
def decide_in_block(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, u: float, view: View, i: int,
    work: CoverScratch,
) -> Verdict:  # fmt: skip
    """The same to the last bit, for the i-th node of a block that may be screened."""
    look(rules, state, place, node, view, i, work)
    return judge(rules, state, place, node, u, work)


# -- answers -------------------------------------------------------------------


@compiled
def absorb(
    rules: CoverRules, state: CoverState, place: CoverNodes, c: int, node: int, y: float, work: CoverScratch
) -> None:
    """Remember label y of a node in problem c; project where there is a node to project against."""
    eta = work.near[c]
    if eta >= 0:
        if work.r[c] <= place.least[0]:
            state.sign[c, eta] = y
            return
        if rules.project:
            step = (y - state.sign[c, eta] - work.rest[c]) / work.r[c]
            move(place, state.w[c], step, node, eta)
    state.known[c, state.sizes[c]] = node
    state.sizes[c] += 1
    state.sign[c, node] = y
    if not state.in_cover[node]:
        state.in_cover[node] = True
        state.met[state.counts[3]] = node
        state.counts[3] += 1


@compiled
def move(place: CoverNodes, w: Floats, step: float, node: int, eta: int) -> None:
    """`w += step (v_i - v_eta)`, up to a constant."""
    if place.distance.size:
        to_node, to_eta, half = place.distance[node], place.distance[eta], 0.5 * step
        for j in range(w.size):
            w[j] += half * (to_eta[j] - to_node[j])
    else:
        x, y = place.rows[node], place.rows[eta]
        for k in range(w.size):
            w[k] += step * (x[k] - y[k])


@compiled
def learn(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, allowed: Bools, work: CoverScratch
) -> bool:
    """Learn an answer in the problems of `work.asks`; returns whether any did.

    `work` holds the scores and mistakes of the node under this state.
    """
    several = count(allowed) > 1
    for c in range(work.f.size):
        positive = allowed[1] if work.f.size == 1 else allowed[c]
        # "One of these" says nothing about the classes it names.
        open_question = several and positive
        wanted = work.asks[c] and (work.wrong[c] or rules.remember_all)
        work.learned[c] = wanted and not (open_question and rules.binary)
        if work.learned[c]:
            absorb(rules, state, place, c, node, 0.0 if open_question else 1.0 if positive else -1.0, work)
    learned = count(work.learned) > 0
    state.counts[2] += learned
    return learned


@compiled
def learn_step(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, certain: bool, asks: Bools,
    allowed: Bools, work: CoverScratch,
) -> bool:  # fmt: skip
    """Learn an answer under the state as it is now, for the problems that asked."""
    verdict = decide_step(rules, state, place, node, 1.0, work)
    for c in range(asks.size):
        work.asks[c] = asks[c]
    find_mistakes(rules.binary, verdict.prediction, allowed, place.tie[node], work.f, work.wrong)
    return learn(rules, state, place, node, allowed, work)


@compiled
def run_rounds(
    rules: CoverRules, state: CoverState, place: CoverNodes, order: Codes, labels: Codes, uniforms: Floats,
    budget: int, view: View, work: CoverScratch, record: RunRecord,
) -> None:  # fmt: skip
    """Rounds over a block of nodes, by the steps above. A negative budget means none."""
    for i in range(order.size):
        node = order[i]
        work.allowed[labels[node]] = True
        verdict = decide_in_block(rules, state, place, node, uniforms[i], view, i, work)
        mistaken = find_mistakes(
            rules.binary, verdict.prediction, work.allowed, place.tie[node], work.f, work.wrong
        )
        asked = work.asks[0] and (budget < 0 or state.counts[1] < budget)
        for c in range(work.f.size):
            work.asks[c] = asked
            work.learned[c] = False
        close_round(rules, state, asked, work.asks, work.r, verdict.value)
        updated = asked and learn(rules, state, place, node, work.allowed, work)
        note(
            record, i, verdict.prediction, asked, mistaken, updated, verdict.margin, verdict.variance,
            work,  # type: ignore[arg-type]  # compiled for this Scratch, which has the fields it reads
        )  # fmt: skip
        work.allowed[labels[node]] = False


@compiled
def score_all(
    rules: CoverRules, state: CoverState, place: CoverNodes, nodes: Codes, view: View, work: CoverScratch,
    out: Floats,
) -> None:  # fmt: skip
    """(nodes, C) scores of a block under the state as it is."""
    for i in range(nodes.size):
        decide_in_block(rules, state, place, nodes[i], 1.0, view, i, work)
        for c in range(work.f.size):
            out[i, c] = work.f[c]
