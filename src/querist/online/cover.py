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

from querist.codec import Field, Finite
from querist.compiled import compiled
from querist.online.kernels import Scratch, Verdict, margin_of, prediction_of
from querist.online.nearby import View, bound_distances, measure, nearest, nearest_screened
from querist.online.pace import asks_in_turn
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


class CoverRoom(NamedTuple):
    """Working room of a round, beside that of every learner; there `r` is the distance to the nearest."""

    distance: Floats  # (n,) to the nodes in any cover
    near: Codes  # (C,) the nearest remembered node, -1 if none
    rest: Floats  # (C,) w(i) - w(eta)
    block: View  # of the nodes that are screened together, or of nothing


# -- the nearest, and scores ---------------------------------------------------------


@compiled
def look(rules: CoverRules, state: CoverState, place: CoverNodes, node: int, work: Scratch) -> None:
    """The nearest remembered node of every problem, into `near`, and its distance, into `work.r`.

    If the node is not in a block that is screened, all are measured.
    """
    room = work.more
    rows, distance, view = place.rows, room.distance, room.block
    screened = view.product.size > 0
    if place.distance.size:
        distance = place.distance[node]
    elif screened:
        bound_distances(view, view.turn[node], rows, node, state.met, state.counts[3])
    else:
        measure(rows, node, state.met, state.counts[3], distance)
    for c in range(work.r.size):
        if c and not rules.binary:
            eta = room.near[0]
        elif screened:
            eta = nearest_screened(view, rows, node, state.known[c], state.sizes[c], distance)
        else:
            eta = nearest(state.known[c], state.sizes[c], distance)
        room.near[c] = eta
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
def decide_step(
    rules: CoverRules, state: CoverState, place: CoverNodes, node: int, u: float, work: Scratch
) -> Verdict:
    """Score a node by the nearest of every problem; pure. Every round asks, but for a pace."""
    look(rules, state, place, node, work)
    f, room = work.f, work.more
    variance, asks = 0.0, state.recent.size == 0 or asks_in_turn(rules, state, 0.0, u)
    for c in range(f.size):
        eta = room.near[c]
        room.rest[c] = rise(place, state.w[c], node, eta) if rules.project and eta >= 0 else 0.0
        f[c] = state.sign[c, eta] + room.rest[c] if eta >= 0 else 0.0
        work.asks[c] = asks
        variance = max(variance, work.r[c])
    best = prediction_of(f, place.tie_order, place.tie[node])
    margin = abs(f[0]) if f.size == 1 else margin_of(f, best)
    return Verdict(best, margin, variance, 1.0 if asks else 0.0, asks, 0.0)


# -- answers -------------------------------------------------------------------


@compiled
def learns(rules: CoverRules, mistaken: bool, certain: bool) -> bool:
    """Whether an answer is learned."""
    return mistaken or rules.remember_all


@compiled
def absorb(
    rules: CoverRules, state: CoverState, place: CoverNodes, c: int, node: int, y: float, allowed: Bools,
    work: Scratch,
) -> None:  # fmt: skip
    """Remember label y of a node in problem c; project where there is a node to project against."""
    eta = work.more.near[c]
    if eta >= 0:
        if work.r[c] <= place.least[0]:
            state.sign[c, eta] = y
            return
        if rules.project:
            step = (y - state.sign[c, eta] - work.more.rest[c]) / work.r[c]
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
