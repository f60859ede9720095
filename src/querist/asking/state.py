"""Everything that follows from the events of a campaign.

`CampaignStatus` is what they say by themselves, without a model: enough for the policy to decide. A server
keeps one beside its requests, where it costs the same for every event. `CampaignState` has the model besides,
the chooser, the graph and the candidates.

Nothing here is kept anywhere else, and nothing here is random but by the seed: the same events give the same
state. An undo gives the state as if the answer had never been there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from querist.asking.answers import as_code, as_kept, indicator, likely
from querist.asking.arrivals import KIND, joined
from querist.asking.choosers import Chooser, Pick, chooser_of
from querist.asking.model import QuickModel
from querist.asking.people import Opinions, SetOpinions, Vote
from querist.asking.specification import CampaignSpec
from querist.asking.store.events import Event
from querist.asking.strategies import STRATEGIES
from querist.asking.turns import Turn, Turns
from querist.embedding import Embedding
from querist.graph import Graph
from querist.labelling.rows import quick_options
from querist.labels import Code
from querist.types import Bools, Floats

CHANGES_NOTHING = ("stop", "lease", "beat", "expire", "release", "comment")
"""Kinds of events after which a campaign that has stopped still has no question."""


class CampaignStatus:
    """Turns, labels that are known or decided on, the audit, and the options as they are now.

    The nodes are put into a random order once. Its first `audit` nodes without a known label are the audit;
    the others, and nodes that arrive later, are those that a chooser may ask about.
    """

    def __init__(self, options: CampaignSpec) -> None:
        self.options = options
        """Some may change during a campaign (see `CampaignOptions.changing`)."""
        self.turns = Turns()
        self.known: dict[int, Code] = {}
        """Labels that nobody was asked for, by row; they are learned before all answers."""
        self.settled: dict[int, Code] = {}
        """Classes that somebody decided on, whatever was answered, by row."""
        self.paused = False
        self.stopped: str | None = None
        """Why there is no more question, if that was written and nothing has changed since."""
        self.returned: set[tuple[int, str]] = set()
        """(row, person) of the questions that a person gave back."""
        self.audit_rows: dict[int, None]
        """Rows of the audit, in order."""
        self.order: list[int]
        """The other rows without a known label, at random."""
        self._drawn: list[int] = np.random.default_rng(options.seed).permutation(options.nodes).tolist()
        self._deal()

    def apply(self, event: Event) -> Turn | None:
        """One event more; the turn that it opened, closed or opened again."""
        kind, body = event.kind, event.body
        turn = self.turns.apply(event)
        if kind == KIND:
            self._grow(len(body["nodes"]))
        elif kind == "known":
            self._know(dict(zip(body["rows"], map(as_code, body["codes"]), strict=True)))
        elif kind == "verdict":
            self.settled[body["row"]] = as_code(body["code"])
        elif kind == "release":
            self.returned.add((body["row"], body["person"]))
        elif kind in ("pause", "resume"):
            self.paused = kind == "pause"
        elif kind == "options":
            changed = {name: value for name, value in body.items() if name != "person"}
            self.options = replace(self.options, **changed)
        if kind == "stop":
            self.stopped = body["why"]
        elif kind not in CHANGES_NOTHING:
            self.stopped = None
        return turn

    @property
    def unaudited(self) -> list[int]:
        """Rows of the audit that need an answer and have had no question, in order."""
        done = self.turns.rows
        return [row for row in self.audit_rows if row not in done and row not in self.settled]

    @property
    def spent(self) -> int:
        """Answers that are spent of the budget, or will be by the open questions; a late one is not."""
        return self.turns.asked + sum(not turn.about.get("late") for turn in self.turns.opens)

    @property
    def not_free(self) -> Sequence[Collection[int]]:
        """Rows that a chooser may not ask about: of the audit, known, asked about, decided on."""
        return self.audit_rows, self.known, self.turns.rows, self.settled

    def is_free(self, row: int) -> bool:
        """Whether a chooser may ask about a row."""
        return not any(row in rows for rows in self.not_free)

    def _grow(self, count: int) -> None:
        before = len(self._drawn)
        draw = np.random.default_rng([self.options.seed, before])
        fresh = (before + draw.permutation(count)).tolist()
        self._drawn, self.order = [*self._drawn, *fresh], [*self.order, *fresh]

    def _know(self, labels: dict[int, Code]) -> None:
        """Labels that are known without asking."""
        self.known |= labels
        if self.turns:
            put = self.turns.rows
            kept = (row for row in self.audit_rows if row in put or row not in self.known)
            self.audit_rows = dict.fromkeys(kept)
        else:
            self._deal()

    def _deal(self) -> None:
        """Part the nodes into the audit and those to choose from."""
        unknown, size = [row for row in self._drawn if row not in self.known], self.options.audit
        self.audit_rows, self.order = dict.fromkeys(unknown[:size]), unknown[size:]


class CampaignState(CampaignStatus):
    """What is known after some events, with a model of it: the `Candidates` of the policy come from here."""

    complete = True

    def __init__(self, options: CampaignSpec, graph: Graph, rows: Embedding) -> None:
        super().__init__(options)
        self.graph, self.rows = graph, rows
        self.model: QuickModel
        self.opinions: Opinions | None
        """Where answers may be wrong; None where each is the truth."""
        self.chooser: Chooser
        self._learn_anew()

    # -- events ------------------------------------------------------------------

    def apply(self, event: Event) -> Turn | None:
        """One event more."""
        turn = super().apply(event)
        if event.kind == KIND:
            self.graph = joined(self.graph, event.body)
            self.rows = self.rows.follow(self.graph, **quick_options(self.rows.kind))
        if event.kind in (KIND, "known", "verdict", "undo") or "replaces" in event.body:
            self._learn_anew()
        elif turn is None or event.kind == "question":
            pass
        elif self.opinions is None and turn.again and turn.outcome == "answer":
            self._learn_anew()
        else:
            self._learn(turn)
        return turn

    def _learn(self, turn: Turn) -> None:
        if turn.outcome == "answer" and not turn.audit and turn.row not in self.settled:
            if self.opinions is None:
                self.model = self.model.learn(turn.row, turn.code)
            else:
                self.model = self.opinions.vote(self.model, Vote(turn.row, turn.code, turn.person))

    def _learn_anew(self) -> None:
        own, K = self.options, len(self.options.classes)
        strategy = STRATEGIES.get(own.strategy)
        centred = own.find is not None or (strategy is not None and strategy.centred)
        self.model = QuickModel.start(self.rows, K, centred=centred, multilabel=own.multilabel)
        self.opinions = None
        if self._doubted:
            self.opinions = SetOpinions(own.noise, K) if own.multilabel else Opinions(own.noise)
        audit = set(self.audit_rows)
        given = self.known | {row: code for row, code in self.settled.items() if row not in audit}
        if given:
            self.model = self.model.learn_all(list(given), list(given.values()))
        self.chooser = chooser_of(own, self.order)
        for turn in self.turns.by_closing():
            if turn.outcome is not None:
                self._learn(turn)

    # -- what is known -------------------------------------------------------------

    @property
    def _doubted(self) -> bool:
        """Whether answers may be wrong: it was said so, or somebody was asked again."""
        own = self.options
        said = own.noise > 0 or own.repeats > 0 or own.second_opinions or own.overlap > 1
        return said or any(turn.again and turn.outcome == "answer" for turn in self.turns)

    @property
    def free(self) -> Bools:
        """(n,) the nodes that a chooser may ask about now."""
        free = np.ones(self.graph.n_nodes, dtype=np.bool_)
        for rows in self.not_free:
            free[list(rows)] = False
        return free

    def answers(self, audit: bool | None = None) -> dict[int, Code]:
        """The code by row, of all answers or of those in the audit, or not in it.

        If answers may be wrong, the likeliest by them; those in the audit stand as they are. A verdict counts
        as an answer, also about a node that nobody answered.
        """
        believed = {} if self.opinions is None else self.opinions.believed()
        found = {
            turn.row: believed.get(turn.row, turn.code)
            for turn in self.turns
            if turn.outcome == "answer" and (audit is None or turn.audit == audit)
        }
        others = {None: (), False: self.audit_rows, True: self.settled}[audit]
        return found | {row: code for row, code in self.settled.items() if row in found or row not in others}

    def targets(self) -> dict[int, Floats]:
        """(K,) what the model learned of each row: known labels, answers but for the audit, what votes make
        likely."""
        codes = {**self.known, **self.answers(audit=False)}
        learned = dict(zip(codes, indicator(list(codes.values()), self.model.n_classes), strict=True))
        if self.opinions is not None:
            learned |= zip(self.opinions.rows, self.opinions.targets, strict=True)
        return learned

    # -- candidates for the next question ----------------------------------------------

    def pick(self, taken: Collection[int] = ()) -> Pick | None:
        """The next question of the chooser; open ones, and those that are taken, count as asked."""
        return next((some[0] for some in self.picking(put=taken)), None)

    def picking(self, at_once: int = 1, put: Collection[int] = ()) -> Iterator[list[Pick]]:
        """One question after another, each chosen with those before it open; `at_once` that many, which do
        not know of each other. `put` are rows of questions that this state has not heard of yet."""
        free = self.free
        unheard = [row for row in dict.fromkeys(put) if row < free.size and free[row]]
        asked = [turn.row for turn in self.turns.opens if not turn.audit and not turn.again]
        model = self.model.opened([*asked, *unheard])
        free[unheard] = False
        while some := self.chooser(model, free, self.turns, at_once):
            yield [self._gaining(pick) for pick in some]
            rows = [pick.row for pick in some]
            free[rows] = False
            model = model.opened(rows)

    def _gaining(self, pick: Pick) -> Pick:
        """The same with what its answer is expected to gain, if a stop rule looks at it."""
        if not self.options.stop or pick.chance is not None:
            return pick
        return replace(pick, gain=self.model.expected_gain(pick.row))

    def doubts(self) -> list[tuple[int, float]]:
        """(row, belief) of the answered rows nobody has decided on, the least sure first."""
        found = [] if self.opinions is None else zip(self.opinions.rows, self.opinions.sure, strict=True)
        return sorted((each for each in found if each[0] not in self.settled), key=lambda each: each[::-1])

    def about(self, row: int) -> dict[str, Any]:
        """What the model thinks of a node: the two likeliest answers with their probabilities; where an
        answer is a set also those of all classes."""
        multilabel = self.model.multilabel
        (p,), (reached,) = self.model.beliefs_at([row])
        (first, sure), (second, less) = likely(p, 2, multilabel)
        found = {
            "guess": as_kept(first) if reached else None,
            "probability": sure if reached else None,
            "second": as_kept(second) if reached else None,
            "second_probability": less if reached else None,
        }
        if multilabel:
            found["probabilities"] = np.round(p, 4).tolist() if reached else None
        return found

    def question(self, pick: Pick) -> dict[str, Any]:
        """The body of the event that puts a question."""
        more = {"again": pick.again or None, "chance": pick.chance}
        return {
            "row": pick.row,
            "audit": pick.audit,
            "reason": pick.reason,
            "value": pick.value,
            "gain": pick.chance if pick.gain is None else pick.gain,
            **self.about(pick.row),
            **{name: value for name, value in more.items() if value is not None},
        }
