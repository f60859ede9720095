"""Everything that follows from the events of a campaign: turns, model, chooser, the graph, what comes next.

Nothing here is kept anywhere else, and nothing here is random but by the seed: the same events give the same
state. An undo gives the state as if the answer had never been there.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from querist.asking.answers import Code, as_code, as_kept, likely
from querist.asking.arrivals import KIND, Arrival, joined
from querist.asking.choosers import Chooser, Outlook, Pick, chooser_of
from querist.asking.model import QuickModel, scoring_place
from querist.asking.people import DOUBT, VOTES, Opinions, SetOpinions, Vote
from querist.asking.rules import RULES
from querist.asking.specification import CampaignSpec
from querist.asking.store.events import Event
from querist.asking.turns import Turn, Turns
from querist.embedding import Embedding
from querist.graph import Graph
from querist.labelling.growth import keep_up
from querist.tables.formats import some
from querist.types import Bools

REMEMBERED = 32
"""Models kept to take back as many answers at once; beyond them the answers are learned anew."""

WINDOW = 10
"""Questions over which the expected gain is averaged before it can end a campaign."""

AGAIN = "asked again: one answer may be wrong, and this is the least sure"
SECOND = "asked again: another person's answer is wanted"
AUDITED = "drawn at random to measure the accuracy; nothing is learned from it"


class CampaignState:
    """What is known after some events.

    The nodes are put into a random order once. Its first `audit` nodes without a known label are the audit;
    the others, and nodes that arrive later, are those that a chooser may ask about. `known` are labels that
    nobody was asked for, class codes by row: they are learned before all answers. `budget` is the most
    answers; only a chooser that paces them looks at it. `device` is where all nodes are scored (model.py):
    the events do not depend on it.
    """

    def __init__(
        self,
        specification: CampaignSpec,
        graph: Graph,
        rows: Embedding,
        budget: int,
        *,
        device: str | None = None,
    ) -> None:
        self.specification, self.graph, self.rows, self.budget = specification, graph, rows, budget
        self.place = scoring_place(rows, len(specification.classes), budget, device)
        self._drawn: list[int] = np.random.default_rng(specification.seed).permutation(graph.n_nodes).tolist()
        self.known: dict[int, Code] = {}
        self.turns = Turns()
        self.settled: dict[int, Code] = {}
        """Classes that somebody decided on, whatever was answered, by row."""
        self.audit_rows: list[int]
        self.order: list[int]
        self._deal()
        self.model: QuickModel
        self.opinions: Opinions | None
        """Where answers may be wrong; None where each is the truth."""
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
            self.turns.apply(event)
            codes = map(as_code, event.body["codes"])
            self._know(dict(zip(event.body["rows"], codes, strict=True)))
            return
        if event.kind == "verdict":
            self.turns.apply(event)
            self.settled[event.body["row"]] = as_code(event.body["code"])
            self._learn_anew()
            return
        # The models kept are those before the last answers of all.
        latest = self.turns.last_closed() if event.kind == "undo" else None
        turn = self.turns.apply(event)
        if turn is None:
            return
        if event.kind == "question":
            self.chooser.asked(turn)
        elif event.kind == "undo":
            if self._past and self.foresees and latest is not None and latest.opened == turn.opened:
                self.model = self._past.pop()
            else:
                self._learn_anew()
        elif self.opinions is None and turn.again and turn.outcome == "answer":
            self._learn_anew()
        else:
            self._past.append(self.model)
            self._learn(turn, after)

    def _learn(self, turn: Turn, after: QuickModel | None = None) -> None:
        self.chooser.closed(turn)
        if after is not None:
            self.model = after
        elif turn.outcome == "answer" and not turn.audit and turn.row not in self.settled:
            if self.opinions is None:
                self.model = self.model.learn(turn.row, turn.code)
            else:
                self.model = self.opinions.vote(self.model, Vote(turn.row, turn.code, turn.person))

    def _learn_anew(self) -> None:
        self._past.clear()
        own, K = self.specification, len(self.specification.classes)
        rule = RULES.get(own.choose)
        centred = own.find is not None or (rule is not None and rule.centred)
        self.model = QuickModel.start(
            self.rows, K, centred=centred, several=own.multilabel, device=self.place.device
        )
        self.opinions = None
        if self._doubted:
            self.opinions = SetOpinions(own.noise, K) if own.multilabel else Opinions(own.noise)
        audit = set(self.audit_rows)
        given = self.known | {row: code for row, code in self.settled.items() if row not in audit}
        if given:
            self.model = self.model.learn_all(list(given), list(given.values()))
        self.chooser = chooser_of(own, self.model, self.order, self.known, self.budget)
        # Answers in the order they came, not that of their questions.
        for turn in self.turns.by_closing():
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

    def _know(self, labels: dict[int, Code]) -> None:
        """Labels that are known without asking; an open question about one of them is withdrawn."""
        self.known |= labels
        if self.turns:
            put = self.turns.rows
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
    def opens(self) -> list[Turn]:
        """The turns whose questions wait for an answer, the oldest first."""
        return self.turns.opens

    @property
    def open(self) -> Turn | None:
        """The oldest of them."""
        return next(iter(self.opens), None)

    @property
    def foresees(self) -> bool:
        """Whether the next question can be worked out for answers that are not given yet."""
        return self.chooser.foresees and self.opinions is None and self.turns.n_open <= 1

    @property
    def _doubted(self) -> bool:
        """Whether answers may be wrong: it was said so, or somebody was asked again."""
        own = self.specification
        said = own.noise > 0 or own.repeats > 0 or own.second_opinions or own.overlap > 1
        return said or any(turn.again and turn.outcome == "answer" for turn in self.turns)

    @property
    def asked(self) -> int:
        """Questions that were answered: what is spent of the budget."""
        return self.turns.asked

    @property
    def unanswered(self) -> int:
        """Questions that were skipped, or answered with "unsure"."""
        return self.turns.unanswered

    @property
    def unaudited(self) -> list[int]:
        """Nodes of the audit that no question was put about, in order."""
        put = self.turns.rows
        return [row for row in self.audit_rows if row not in put]

    @property
    def free(self) -> Bools:
        """(n,) the nodes that a chooser may ask about now."""
        free = np.ones(self.graph.n_nodes, dtype=np.bool_)
        free[self.audit_rows] = False
        free[list(self.known)] = False
        free[list(self.turns.rows)] = False
        free[list(self.settled)] = False
        return free

    def answers(self, audit: bool | None = None) -> dict[int, Code]:
        """The code by row, of all answers or of those in the audit, or not in it.

        Where answers may be wrong, the likeliest by them; those in the audit stand as they are.
        """
        believed = {} if self.opinions is None else self.opinions.believed()
        return {
            turn.row: self.settled.get(turn.row, believed.get(turn.row, turn.code))
            for turn in self.turns
            if turn.outcome == "answer" and (audit is None or turn.audit == audit)
        }

    # -- what comes next -------------------------------------------------------------

    def pick(self, left: int = 1) -> Pick | None:
        """The next question of the chooser, with `left` answers to come; open ones count as asked."""
        return next(iter(self.picks(1, left)), None)

    def picks(self, count: int, left: int) -> list[Pick]:
        """The next `count` questions, each chosen with those before it open; fewer where no more are left."""
        found = (pick for some in self.picking(left) for pick in some)
        return list(islice(found, count))

    def picking(self, left: int, at_once: int = 1, put: Sequence[int] = ()) -> Iterator[list[Pick]]:
        """One question after another, each chosen with those before it open; `at_once` that many, which do
        not know of each other. `put` are rows of questions that this state has not heard of yet."""
        free = self.free
        unheard = [row for row in dict.fromkeys(put) if row < free.size and free[row]]
        asked = [turn.row for turn in self.opens if not turn.audit and not turn.again]
        model = self.model.opened([*asked, *unheard])
        free[unheard] = False
        while some := self.chooser.several(model, Outlook(free, self.turns, left), at_once):
            yield some
            rows = [pick.row for pick in some]
            free[rows], left = False, left - len(rows)
            model = model.opened(rows)

    def pick_again(self, person: str | None = None) -> Pick | None:
        """The answered node that is least sure, of another person's if there is one; None where none is."""
        rows = [
            (not another(self.turns, row, person), sure, row)
            for row, sure, votes in self.votes()
            if votes < VOTES and self.turns.open_about(row) is None
        ]
        return Pick(min(rows)[2], AGAIN, again=True) if rows else None

    def wanting(self) -> list[int]:
        """Answered rows that want the answer of another person, the least sure first: below the overlap, or
        in doubt and not asked about `VOTES` times."""
        own = self.specification
        most = VOTES if own.second_opinions else 0
        rows = [
            (sure, row)
            for row, sure, votes in self.votes()
            if votes < own.overlap or (votes < most and sure < DOUBT)
        ]
        return [row for _, row in sorted(rows)]

    def votes(self) -> list[tuple[int, float, int]]:
        """(row, belief, votes) of the answered rows nobody has decided on."""
        if self.opinions is None:
            return []
        found = self.opinions.sureness()
        return [each for each in found if each[0] not in self.settled] if self.settled else found

    def foreseen(self, code: Code, left: int = 1) -> tuple[QuickModel, Pick | None]:
        """The model and the next question if the open one were answered so; -1: with nothing."""
        turn = self.open
        assert turn is not None
        model = self.model if code == -1 or turn.audit else self.model.learn(turn.row, code)
        return model, self.chooser.pick(model, Outlook(self.free, self.turns, left))

    def about(self, row: int) -> dict[str, Any]:
        """What the model thinks of a node: the two likeliest answers with their probabilities; where an
        answer is a set also those of all classes."""
        several = self.model.several
        (p,), (reached,) = self.model.beliefs_at([row])
        (first, sure), (second, less) = likely(p, 2, several)
        found = {
            "guess": as_kept(first) if reached else None,
            "probability": sure if reached else None,
            "second": as_kept(second) if reached else None,
            "second_probability": less if reached else None,
        }
        if several:
            found["probabilities"] = np.round(p, 4).tolist() if reached else None
        return found


# -- a question of the chooser, one of the audit, or the end ------------------------------------------


def upcoming(
    state: CampaignState,
    budget: int,
    stop: float | None,
    found: tuple[Pick | None] | None,
    unanswered: int,
    person: str | None = None,
) -> Pick | str:
    """The next question, or why no more is asked; `found` is the chooser's pick where it was made before.

    `unanswered` is the most questions that may be left so.

    What is left of the audit is asked before a campaign ends, unless the budget is spent.
    """
    asked = state.asked + state.turns.n_open
    if asked >= budget:
        return f"the budget of {some(budget, 'answer')} is spent"
    if state.unanswered >= unanswered:
        return f"{some(state.unanswered, 'question')} left unanswered, as many as may be"
    left, own = state.unaudited, state.specification
    little = gained_little(state.turns, stop, own.find)
    enough = None if little is None else little[0]
    pick = None
    if not enough and not due(asked, own.audit - len(left), own.audit, budget):
        wanted = (row for row in state.wanting() if another(state.turns, row, person))
        pick = next((Pick(row, SECOND, again=True) for row in wanted), None)
        if pick is None and due(asked, state.turns.repeated, own.repeats, budget):
            pick = state.pick_again(person)
        if pick is None:
            pick = state.pick(budget - asked) if found is None else found[0]
    if pick is None and left:
        return Pick(left[0], AUDITED, audit=True)
    return pick or enough or "no node is left to ask about"


def another(turns: Turns, row: int, person: str | None) -> bool:
    """Whether a person can give the further answer that a row wants: nobody has it open, and they did not
    answer it themselves."""
    return turns.open_about(row) is None and person not in {turn.person for turn in turns.about(row)}


def gained_little(turns: Turns, stop: float | None, find: Hashable = None) -> tuple[str, float] | None:
    """Why the expected gain is too small to go on, and what it is; None where it is not, or not known. It
    follows from the turns alone."""
    if not stop:
        return None
    gains = (turn.about.get("gain") for turn in reversed(turns) if not turn.audit)
    last = list(islice((gain for gain in gains if gain is not None), WINDOW))[::-1]
    if len(last) < WINDOW or np.mean(last) >= stop:
        return None
    gain = float(np.mean(last))
    if find is not None:
        return f"a question finds one with a chance of {gain:.1%}, less than {stop:.1%}", gain
    return f"an answer is expected to gain {gain:.3%} accuracy, less than {stop:.3%}", gain


def due(asked: int, audited: int, audit: int, budget: int) -> bool:
    """Whether the next question belongs to the audit, so that `audit` of `budget` are spread evenly.

    >>> [due(t, sum(due(s, s // 4, 2, 8) for s in range(t)), 2, 8) for t in range(8)]
    [False, False, False, True, False, False, False, True]
    """
    return audited < audit and (audited + 1) * budget <= (asked + 1) * audit
