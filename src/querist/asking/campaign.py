"""A campaign of questions: the open question, its answer, and what came of it.

A question is written to the journal before it is shown, an answer before it is learned. So a process that is
killed at any moment continues, from the same journal, with the very question that was open.
"""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from querist.asking import results
from querist.asking.answers import Code, as_code, as_kept, in_words, likely, named
from querist.asking.arrivals import KIND, arrival
from querist.asking.choosers import Pick
from querist.asking.journal import Journal
from querist.asking.model import RANKS, QuickModel
from querist.asking.oracles import checked_answer, fresh_labels
from querist.asking.people import DOUBT, Person
from querist.asking.prefetch import Prefetcher
from querist.asking.specification import RANDOM, CampaignSpec
from querist.asking.state import CampaignState, upcoming
from querist.asking.store.events import Event
from querist.asking.turns import Turn
from querist.display import as_html
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling.labelling import Labelling, label
from querist.labelling.rows import quick_rows
from querist.locks import OwnLock, one_at_a_time
from querist.progress import Progress, count, shown, silent
from querist.tables.formats import some

BUDGET = 100
ASKED_FOR = "asked again: a second answer was wanted"
LEAST_UNANSWERED = 10
"""Questions that may be left unanswered however small the budget is, where nobody says how many."""
FORESEEN = 8
"""Likely answers whose next question is worked out while the person thinks."""


@dataclass(frozen=True)
class Question:
    """The `number`-th question, about `node`; the model's `guess`, None where it has none, and why it asks.

    `second` is the likeliest class but one. An `audit` question is part of the random sample; one put `again`
    was answered before. `chance` is that of the class that is looked for, where one is. Where nodes may have
    several labels, guesses are sets, as tuples, and `probabilities` has that of each class.

    >>> asked = Question(1, node="ann", row=0, audit=False, reason="first of its cluster", guess="cat")
    >>> asked.node, asked.guess, asked.reason
    ('ann', 'cat', 'first of its cluster')
    """

    number: int
    node: Hashable
    row: int
    audit: bool
    reason: str
    guess: Hashable | None = None
    probability: float | None = None
    second: Hashable | None = None
    second_probability: float | None = None
    again: bool = False
    chance: float | None = None
    probabilities: Mapping[Hashable, float] | None = None

    def _repr_html_(self) -> str:
        guesses = [(self.guess, self.probability), (self.second, self.second_probability)]
        rows = [(in_words(name), chance) for name, chance in guesses if name is not None]
        line = f"Question {self.number}: node {self.node}"
        return as_html(line, [self.reason], ["guess", "probability"], rows)


class Asking:
    """A campaign of questions, and what came of it. Make it with `ask`.

    >>> from querist.asking import ask
    >>> from querist.datasets import karate
    >>> campaign = ask(karate().without_labels(), classes=["Mr. Hi", "Officer"])
    >>> campaign.question.number, campaign.question.guess
    (1, None)
    >>> campaign.answer("Officer")
    'Officer'
    >>> len(campaign.answers)
    1
    """

    def __init__(
        self,
        graph: Graph,
        specification: CampaignSpec,
        journal: Journal,
        *,
        budget: int = BUDGET,
        unanswered: int | None = None,
        stop: float | None = None,
        method: str = "auto",
        prefetch: bool = False,
        person: str | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.own_lock = OwnLock()
        self.specification, self.journal, self.budget, self.stop = specification, journal, budget, stop
        self.method, self.person, self.device = method, person, device
        self.most_unanswered = max(budget, LEAST_UNANSWERED) if unanswered is None else unanswered
        """Questions that may be skipped or answered with "unsure"; they are not counted in the budget."""
        self.stopped: str | None = None
        """Why no more is asked, once it is so."""
        self.seconds: list[float] = []
        """How long each question of this process took to choose."""
        self._prefetch = prefetch
        self._ahead: Prefetcher[tuple[QuickModel, Pick | None]] | None = None
        self._next: tuple[Pick | None] | None = None
        self.progress = progress
        self._labellings: dict[Any, Labelling] = {}
        events = journal.events()
        self._last = events[-1].kind if events else ""
        if events:
            specification.check_same(CampaignSpec.of(events[0].body), str(journal.path))
        rows = quick_rows(graph, max(RANKS), device=device, progress=progress)
        self.state = CampaignState(specification, graph, rows, budget, device=device)
        scoring = f"Scoring {graph.n_nodes:,} nodes for {some(budget, 'question')}"
        said = {"Embedding": rows.place, scoring: self.state.place.said}
        self.places = [f"{what} {where}." for what, where in said.items() if where]
        """Where the graph was embedded and nodes are scored, and about how long that takes; nothing of what
        takes a moment."""
        if not events:
            self._write("campaign", **specification.body())
        self.resumed = len(events) > 1
        """Whether the journal held questions when it was opened."""
        for event in events[1:]:
            self.state.apply(event)

    # -- a question and its answer -----------------------------------------------------

    @property
    @one_at_a_time
    def question(self) -> Question | None:
        """The oldest open question, or the next one; None when no more is asked (`stopped` says why)."""
        if self.state.open is None and not self._open_next():
            return None
        turn = self.state.open
        assert turn is not None
        if self._prefetch and self._ahead is None and self.state.foresees:
            left = self.budget - self.asked - 1
            self._ahead = Prefetcher(lambda code: self.state.foreseen(code, left), self._likely(turn))
        return self.shown(turn)

    @one_at_a_time
    def questions(self, count: int) -> list[Question]:
        """Up to `count` open questions, about different nodes, to be answered in any order; fewer where no
        more are to be asked.

        Each is chosen as if those before it were answered, whatever the answers are: the variance has them,
        the scores stay as they are. So they differ from each other instead of being one doubt `count` times.
        """
        if count > 1 and not self.state.chooser.foresees:
            raise InputError(
                f"{self.specification.choose} decides at one node after another and allows one open question "
                'at a time; choose "pool" to have several'
            )
        self.forget()
        while len(self.state.opens) < count and self._open_next():
            pass
        return [self.shown(turn) for turn in self.state.opens[:count]]

    @one_at_a_time
    def again(self, node: Hashable) -> Question:
        """Put the question about an answered node once more, to the same or another person."""
        row = self.graph.row_of.get(node)
        if row not in self.state.answers(audit=False):
            raise InputError(
                f"node {node!r} was not answered yet, or is part of the audit; ask about it first"
            )
        if any(turn.row == row for turn in self.state.opens):
            raise InputError(f"a question about node {node!r} is open; answer it first")
        self.forget()
        self._put(Pick(row, ASKED_FOR, again=True))
        return self.shown(self.state.opens[-1])

    @one_at_a_time
    def answer(self, given: Any, node: Hashable = None, person: str | None = None) -> Any:
        """The class of the node whose question is open, of the oldest one unless named; None is "unsure".

        Where nodes may have several labels it is a set of classes, perhaps the empty one. `person` says who
        answers; unless given, the one that the campaign was opened with. Returns what was kept.
        """
        turn = self._pending(node)
        code = checked_answer(given, self.classes, self._node(turn.row), several=self.multilabel)
        self._close("unsure" if code == -1 else "answer", turn, code, person)
        return None if code == -1 else named(code, self.classes)

    @one_at_a_time
    def unsure(self, node: Hashable = None, person: str | None = None) -> None:
        """Nobody can tell: the node is not asked about again. It is not counted in the budget."""
        self._close("unsure", self._pending(node), person=person)

    @one_at_a_time
    def skip(self, node: Hashable = None, person: str | None = None) -> None:
        """Put the node aside: it is not asked about again, and not counted."""
        self._close("skip", self._pending(node), person=person)

    @one_at_a_time
    def undo(self, person: str | None = None) -> bool:
        """Take the last answer back, that of a person if one is named, and put its question again; False
        when there is none."""
        back = self.state.turns.last_closed(person)
        if back is None:
            return False
        self.forget()
        who = {} if person is None else {"person": person}
        self.state.apply(self._write("undo", row=back.row, **who))
        return True

    @one_at_a_time
    def extend(self, edges: Any = None, nodes: Any = None) -> "Asking":
        """New edges, and nodes with them, in any form that `growth.join` takes. What is there already is not
        added again."""
        from querist.labelling.growth import join

        came = arrival(self.graph, join(self.graph, edges, nodes))
        if came:
            self.forget()
            self._labellings.clear()
            self.state.apply(self._write(KIND, **came.body()))
        return self

    @one_at_a_time
    def tell(self, labels: Any, missing: Hashable = None) -> "Asking":
        """Labels that are known without asking, in any form: learned before all answers, never asked about,
        not counted. Those that are there already change nothing; one that contradicts them is refused."""
        before = {**self.state.answers(), **self.state.known}
        fresh = fresh_labels(labels, self.graph, self.classes, before, missing, several=self.multilabel)
        if fresh:
            self.forget()
            self.state.apply(
                self._write("known", rows=list(fresh), codes=[as_kept(code) for code in fresh.values()])
            )
        return self

    def run(self, oracle: Callable[[Any], Any], after: Callable[[Question, Any], None] | None = None) -> None:
        """Put every question to the oracle; `after` is called when an answer is safe in the journal."""
        with shown(self.progress) as show:
            while (question := self.question) is not None:
                given = self.answer(oracle(question.node))
                count(show, self.asked, self.budget, "questions answered")
                if after is not None:
                    after(question, given)

    def leave(self, why: str) -> None:
        """Write down that no more is asked for now, and why; the same journal can go on."""
        self.stopped = why
        if self._last != "stop":
            self._write("stop", why=why)

    def close(self) -> None:
        """Let go of the journal."""
        self.forget()
        self.journal.close()

    # -- what came of it -----------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """As it is now."""
        return self.state.graph

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """What an answer may be."""
        return self.specification.classes

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels; then an answer is a set of classes."""
        return self.specification.multilabel

    @property
    def asked(self) -> int:
        """Questions that were answered: what is spent of the budget."""
        return self.state.asked

    @property
    def unanswered(self) -> int:
        """Questions that were skipped, or answered with "unsure"."""
        return self.state.unanswered

    @property
    def answers(self) -> dict[Hashable, Any]:
        """All answers, by node, in the order they were given; sets are tuples."""
        return self._named(self.state.answers())

    @property
    def known(self) -> dict[Hashable, Any]:
        """Labels that nobody was asked for, by node."""
        return self._named(self.state.known)

    @property
    def labelling(self) -> Labelling:
        """A label for every node, by `querist.label` from all answers; answered nodes keep their answer."""
        return self.label_from(self.state.answers())

    @property
    def labels(self) -> list[Any]:
        """The label of every node, None where no answer reaches."""
        return self.labelling.labels

    @property
    def people(self) -> list[Person]:
        """What is believed of everybody who answered; nothing where every answer is the truth."""
        return [] if self.state.opinions is None else self.state.opinions.persons(self.state.model)

    @property
    def doubts(self) -> dict[Hashable, float]:
        """Answered nodes whose class is believed less than `people.DOUBT`, with the belief, by doubt."""
        rows = sorted((belief, row) for row, belief, _ in self.state.votes() if belief < DOUBT)
        return {self._node(row): belief for belief, row in rows}

    audit = property(results.audited)
    finding = property(results.found)
    neighbours = results.neighbours
    pulls = results.pulls
    expected_accuracy = property(results.expected_accuracy)
    summary = results.summary
    __repr__ = results.in_words
    _repr_html_ = results.as_html

    def write(self, path: str | PathLike[str], *, safe_csv: bool = False) -> None:
        """One row a node, as CSV or parquet by the path's extension.

        `safe_csv` puts an apostrophe before a text that a spreadsheet would run; such a file does not read
        back as it was.
        """
        from querist.labelling.storage import write

        write(self.labelling, path, self.progress or silent, safe_csv=safe_csv)

    # -- inside ----------------------------------------------------------------------------

    def _write(self, kind: str, **body: Any) -> Event:
        event = self.journal.append(kind, **body)
        self._last = kind
        return event

    def _pending(self, node: Hashable = None) -> Turn:
        """The oldest open turn, or that about the node."""
        opens = [turn for turn in self.state.opens if node is None or self._node(turn.row) == node]
        if not opens:
            about = "" if node is None else f" about node {node!r}"
            raise InputError(f"no question{about} is open; look at `question` first")
        return opens[0]

    def _close(self, kind: str, turn: Turn, code: Code = -1, person: str | None = None) -> None:
        """Keep an outcome, then learn it; what was worked out ahead for it is taken."""
        who = self.person if person is None else person
        body = {"code": None if code == -1 else as_kept(code), "person": who}
        given = {name: value for name, value in body.items() if value is not None}
        event = self._write(kind, row=turn.row, **given)
        ahead, self._ahead = self._ahead, None
        found = None if ahead is None else ahead.take(-1 if turn.audit else code)
        self.state.apply(event, None if found is None else found[0])
        self._next = None if found is None else (found[1],)

    def _open_next(self) -> bool:
        """Choose the next question and keep it; False when no more is to be asked."""
        started = time.perf_counter()
        pick = upcoming(self.state, self.budget, self.stop, self._next, self.most_unanswered, self.person)
        self._next = self.stopped = None
        if isinstance(pick, str):
            if not self.state.opens:
                self.leave(pick)
            return False
        self._put(pick)
        self.seconds.append(time.perf_counter() - started)
        return True

    def _put(self, pick: Pick) -> None:
        """Write a question down, then open it."""
        gain = pick.chance
        if gain is None and self.stop is not None and not pick.audit and self.specification.find is None:
            gain = self.state.model.expected_gain(pick.row)
        more = {"again": pick.again or None, "chance": pick.chance}
        event = self._write(
            "question",
            row=pick.row,
            audit=pick.audit,
            reason=pick.reason,
            round=pick.round,
            value=pick.value,
            gain=gain,
            **self.state.about(pick.row),
            **{name: value for name, value in more.items() if value is not None},
        )
        self.state.apply(event)

    def _likely(self, turn: Turn) -> list[Code]:
        """Codes by falling probability, then -1 for none; of an audit only that, as nothing is learned."""
        if turn.audit:
            return [-1]
        p = self.state.model.probabilities[turn.row]
        return [*(code for code, _ in likely(p, FORESEEN, self.multilabel)), -1]

    def forget(self) -> None:
        """Work nothing out ahead any more."""
        if self._ahead is not None:
            self._ahead.stop()
        self._ahead = self._next = None

    def shown(self, turn: Turn, number: int | None = None) -> Question:
        """A turn as the question that is put; `number` is its own unless others are asked about it."""
        about = turn.about
        if number is None:
            number = self.asked + 1 + sum(other.opened < turn.opened for other in self.state.opens)

        def name(kept: Any) -> Any:
            return None if kept is None else named(as_code(kept), self.classes)

        each = about.get("probabilities")
        return Question(
            number=number,
            node=self._node(turn.row),
            row=turn.row,
            audit=turn.audit,
            reason=about["reason"],
            guess=name(about["guess"]),
            probability=about["probability"],
            second=name(about["second"]),
            second_probability=about["second_probability"],
            again=turn.again,
            chance=about.get("chance"),
            probabilities=None if each is None else dict(zip(self.classes, each, strict=True)),
        )

    def label_from(self, answers: Mapping[int, Code]) -> Labelling:
        """A label for every node from these answers, codes by row, and from all known labels.

        Nodes answered with none of the classes keep that; `label` learns from those that have one.
        """
        given = {**self.state.known, **answers}
        if not given:
            raise InputError("there is no answer yet to label the graph from; answer a question first")
        key = (self.method, tuple(given.items()))
        if key not in self._labellings:
            without = [row for row, code in given.items() if code == ()]
            if len(without) == len(given):
                raise InputError(
                    "all answers so far are none of the classes, and there is nothing to label the graph "
                    "from; answer on"
                )
            found = label(
                self.graph,
                {self._node(row): self._label(code) for row, code in given.items() if code != ()},
                method=self.method,
                multilabel=self.multilabel,
                picked=self.specification.choose != RANDOM,
                classes=self.classes,
                seed=self.specification.seed,
                device=self.device,
                progress=self.progress,
            )
            if without:
                found = found.with_no_class(without)
            # One from all answers and one for the audit, at most.
            self._labellings = {**dict(list(self._labellings.items())[-1:]), key: found}
        return self._labellings[key]

    def _node(self, row: int) -> Hashable:
        return self.graph.nodes[row]

    def _label(self, code: Code) -> Any:
        """As `label` takes it."""
        name = named(code, self.classes)
        return set(name) if self.multilabel else name

    def _named(self, answers: Mapping[int, Code]) -> dict[Hashable, Any]:
        return {self._node(row): named(code, self.classes) for row, code in answers.items()}
