"""Everything that follows from the events of a campaign: turns, model, chooser, the graph, what comes next.

Nothing here is kept anywhere else, and nothing here is random but by the seed: the same events give the same
state. An undo gives the state as if the answer had never been there.
"""

from collections import deque
from typing import Any

import numpy as np

from querist.asking.arrivals import KIND, Arrival, joined
from querist.asking.choosers import Chooser, Pick, chooser_of
from querist.asking.journal import Event
from querist.asking.model import QuickModel
from querist.asking.rules import RULES
from querist.asking.specification import CampaignSpec
from querist.asking.turns import CLOSING, Turn, apply
from querist.embedding import Embedding
from querist.graph import Graph
from querist.labelling.growth import keep_up
from querist.tables.formats import some
from querist.types import Bools

REMEMBERED = 32
"""Models kept to take back as many answers at once; beyond them the answers are learned anew."""

WINDOW = 10
"""Questions over which the expected gain is averaged before it can end a campaign."""

AUDITED = "drawn at random to measure the accuracy; nothing is learned from it"


class CampaignState:
    """What is known after some events.

    The nodes are put into a random order once. Its first `audit` nodes without a known label are the audit;
    the others, and nodes that arrive later, are those that a chooser may ask about. `known` are labels that
    nobody was asked for, class codes by row: they are learned before all answers. `budget` is the most
    answers; only a chooser that paces them looks at it.
    """

    def __init__(self, specification: CampaignSpec, graph: Graph, rows: Embedding, budget: int) -> None:
        self.specification, self.graph, self.rows, self.budget = specification, graph, rows, budget
        self._drawn: list[int] = np.random.default_rng(specification.seed).permutation(graph.n_nodes).tolist()
        self.known: dict[int, int] = {}
        self.turns: list[Turn] = []
        self.audit_rows: list[int]
        self.order: list[int]
        self._deal()
        self.model: QuickModel
        self.chooser: Chooser
        self._past: deque[QuickModel] = deque(maxlen=REMEMBERED)
        self._learn_anew()

    # -- events ------------------------------------------------------------------

    def apply(self, event: Event, after: QuickModel | None = None) -> None:
        """One event more. `after` is the model that an answer gives, where it was worked out before."""
        if event.kind == KIND:
            self._grow(Arrival.of(event.body))
            return
        if event.kind == "known":
            self._know(dict(zip(event.body["rows"], event.body["codes"], strict=True)))
            return
        apply(self.turns, event)
        if event.kind == "question":
            self.chooser.asked(self.turns[-1])
        elif event.kind == "undo":
            if self._past and self.chooser.foresees:
                self.model = self._past.pop()
            else:
                self._learn_anew()
        elif event.kind in CLOSING:
            self._past.append(self.model)
            self._learn(self.turns[-1], after)

    def _learn(self, turn: Turn, after: QuickModel | None = None) -> None:
        self.chooser.closed(turn)
        if after is not None:
            self.model = after
        elif turn.outcome == "answer" and not turn.audit:
            self.model = self.model.learn(turn.row, turn.code)

    def _learn_anew(self) -> None:
        self._past.clear()
        rule = RULES.get(self.specification.choose)
        self.model = QuickModel.start(
            self.rows, len(self.specification.classes), centred=rule is not None and rule.centred
        )
        if self.known:
            self.model = self.model.learn_all(list(self.known), list(self.known.values()))
        self.chooser = chooser_of(self.specification, self.model, self.order, self.known, self.budget)
        for turn in self.turns:
            self.chooser.asked(turn)
            if turn.outcome is not None:
                self._learn(turn)

    def _grow(self, came: Arrival) -> None:
        before = self.graph.n_nodes
        self.graph = joined(self.graph, came)
        self.rows = keep_up(self.rows, self.graph, weighting="tfidf")
        draw = np.random.default_rng([self.specification.seed, before])
        fresh = (before + draw.permutation(len(came.nodes))).tolist()
        self._drawn, self.order = [*self._drawn, *fresh], [*self.order, *fresh]
        self._learn_anew()

    def _know(self, labels: dict[int, int]) -> None:
        """Labels that are known without asking; an open question about one of them is withdrawn."""
        self.known |= labels
        if self.open is not None and self.open.row in self.known:
            self.turns.pop()
        if self.turns:
            put = {turn.row for turn in self.turns}
            self.audit_rows = [row for row in self.audit_rows if row in put or row not in self.known]
        else:
            self._deal()
        self._learn_anew()

    def _deal(self) -> None:
        """Part the nodes into the audit and those to choose from."""
        unknown, size = [row for row in self._drawn if row not in self.known], self.specification.audit
        self.audit_rows, self.order = unknown[:size], unknown[size:]

    # -- what is known -------------------------------------------------------------

    @property
    def open(self) -> Turn | None:
        """The turn whose question waits for an answer."""
        return self.turns[-1] if self.turns and self.turns[-1].outcome is None else None

    @property
    def asked(self) -> int:
        """Questions that were answered: what is spent of the budget."""
        return sum(turn.counted for turn in self.turns)

    @property
    def unanswered(self) -> int:
        """Questions that were skipped, or answered with "unsure"."""
        return sum(turn.unanswered for turn in self.turns)

    @property
    def unaudited(self) -> list[int]:
        """Nodes of the audit that no question was put about, in order."""
        put = {turn.row for turn in self.turns}
        return [row for row in self.audit_rows if row not in put]

    @property
    def free(self) -> Bools:
        """(n,) the nodes that a chooser may ask about now."""
        free = np.ones(self.graph.n_nodes, dtype=np.bool_)
        free[self.audit_rows] = False
        free[list(self.known)] = False
        free[[turn.row for turn in self.turns]] = False
        return free

    def answers(self, audit: bool | None = None) -> dict[int, int]:
        """Class code by row, of all answers or of those in the audit, or not in it."""
        return {
            turn.row: turn.code
            for turn in self.turns
            if turn.outcome == "answer" and (audit is None or turn.audit == audit)
        }

    # -- what comes next -------------------------------------------------------------

    def pick(self) -> Pick | None:
        """The next question of the chooser."""
        return self.chooser.pick(self.model, self.free)

    def foreseen(self, code: int) -> tuple[QuickModel, Pick | None]:
        """The model and the next question if the open one were answered with this class; -1: with none."""
        turn = self.open
        assert turn is not None
        model = self.model if code < 0 or turn.audit else self.model.learn(turn.row, code)
        return model, self.chooser.pick(model, self.free)

    def about(self, row: int) -> dict[str, Any]:
        """What the model thinks of a node: the two likeliest classes with their probabilities."""
        p = self.model.beliefs[row]
        first, second = np.argsort(-p, kind="stable")[:2].tolist()
        reached = bool(self.model.reached[row])
        return {
            "guess": first if reached else None,
            "probability": float(p[first]) if reached else None,
            "second": second if reached else None,
            "second_probability": float(p[second]) if reached else None,
        }


# -- a question of the chooser, one of the audit, or the end ------------------------------------------


def upcoming(
    state: CampaignState, budget: int, stop: float | None, found: tuple[Pick | None] | None, unanswered: int
) -> Pick | str:
    """The next question, or why no more is asked; `found` is the chooser's pick where it was made before.

    `unanswered` is the most questions that may be left so.

    What is left of the audit is asked before a campaign ends, unless the budget is spent.
    """
    if state.asked >= budget:
        return f"the budget of {some(budget, 'answer')} is spent"
    if state.unanswered >= unanswered:
        return f"{some(state.unanswered, 'question')} were left unanswered, as many as may be"
    left, size = state.unaudited, state.specification.audit
    enough = gained_little(state, stop)
    pick = None
    if not enough and not due(state.asked, size - len(left), size, budget):
        pick = state.pick() if found is None else found[0]
    if pick is None and left:
        return Pick(left[0], AUDITED, audit=True)
    return pick or enough or "no node is left to ask about"


def gained_little(state: CampaignState, stop: float | None) -> str | None:
    """Why the expected gain is too small to go on, or None."""
    if stop is None:
        return None
    gains = [turn.about.get("gain") for turn in state.turns if not turn.audit]
    last = [gain for gain in gains if gain is not None][-WINDOW:]
    if len(last) < WINDOW or np.mean(last) >= stop:
        return None
    return f"an answer is expected to gain {np.mean(last):.3%} accuracy, less than {stop:.3%}"


def due(asked: int, audited: int, audit: int, budget: int) -> bool:
    """Whether the next question belongs to the audit, so that `audit` of `budget` are spread evenly.

    >>> [due(t, sum(due(s, s // 4, 2, 8) for s in range(t)), 2, 8) for t in range(8)]
    [False, False, False, True, False, False, False, True]
    """
    return audited < audit and (audited + 1) * budget <= (asked + 1) * audit
