"""`ask`: questions about the nodes that are worth most, answers kept in a journal, a label for every node.

result = querist.ask(graph, oracle, budget=100)      # oracle: a function of a node, or known labels
result.labels, result.labelling, result.audit

Without an oracle nothing is asked yet, and the questions can be answered one by one:

asking = querist.ask(graph, classes=["cat", "dog"], journal="pets.journal")
asking.question                                       # which node, the guess, and why it asks
asking.answer("cat"); asking.skip(); asking.unsure(); asking.undo()

A question is written to the journal before it is shown, an answer before it is learned. So a process that is
killed at any moment continues, from the same journal, with the very question that was open.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

from querist.asking import results
from querist.asking.answers import as_kept, named_or_none
from querist.asking.arrivals import KIND, arrival
from querist.asking.choosers import Pick
from querist.asking.model import RANKS
from querist.asking.options import OF_PROCESS, CampaignKeywords, CampaignOptions
from querist.asking.oracles import as_oracle, checked_answer, fresh_labels
from querist.asking.people import DOUBT, Person
from querist.asking.policy import (
    ASKED_FOR,
    arrived,
    audit_refusal,
    change_refusal,
    ends,
    may_answer,
    next_actions,
    undo_refusal,
)
from querist.asking.specification import (
    RANDOM,
    CampaignSpec,
    checked_classes,
    digest,
    logged_options,
    resolve_strategy,
)
from querist.asking.state import CampaignState
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import StoredCampaign, only_campaign
from querist.asking.turns import Turn, Turns
from querist.display import as_html
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.labelling.labelling import Labelling, label
from querist.labelling.members import uses_device
from querist.labelling.reading import check_weights, own_labels
from querist.labelling.rows import quick_rows
from querist.labels import Code, Labels, named, plain, tabulate
from querist.locks import OwnLock, one_at_a_time
from querist.operator.device.choice import check_device
from querist.options import lists_options
from querist.progress import Progress, count, shown, silent
from querist.tables.labels import in_words
from querist.tables.names import COLUMNS


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
    kept: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The same as an event and a server have it, where classes are codes: what `of` takes."""

    @staticmethod
    def of(about: Mapping[str, Any], classes: Sequence[Hashable]) -> "Question":
        """From what an event or a server keeps, where classes are codes."""
        usual = {"again": False, "chance": None, "probabilities": None}
        kept = usual | {name: about[name] for name in Question.__dataclass_fields__ if name in about}
        given = kept | {name: named_or_none(about[name], classes) for name in ("guess", "second")}
        if about.get("probabilities") is not None:
            given["probabilities"] = dict(zip(classes, about["probabilities"], strict=True))
        return Question(**given, kept=kept)

    @property
    def guess_in_words(self) -> str:
        """The two likeliest answers and, where nodes may have several labels, the likeliest classes."""
        guesses = [(self.guess, self.probability), (self.second, self.second_probability)]
        said = [f"{in_words(name)} {p:.0%}" for name, p in guesses if name is not None and p is not None]
        falling = sorted((self.probabilities or {}).items(), key=lambda own: -own[1])[:COLUMNS]
        each = f" ({', '.join(f'{name} {p:.0%}' for name, p in falling)})" if falling else ""
        return f"{', then '.join(said)}{each}" if said else "none yet"

    def _repr_html_(self) -> str:
        line = f"Question {self.number}: node {self.node}"
        return as_html(line, [self.reason, f"guess: {self.guess_in_words}"])


class Asking:
    """A campaign of questions, and what came of it. Make it with `ask`.

    >>> from querist.asking import ask
    >>> from querist import load_graph
    >>> campaign = ask(load_graph("karate").without_labels(), classes=["Mr. Hi", "Officer"])
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
        stored: StoredCampaign,
        *,
        progress: Progress | None = None,
    ) -> None:
        self.own_lock = OwnLock()
        self.store, self.id, self._name = stored.store, stored.id, stored.name
        self.last = stored.events[-1].seq if stored.events else 0
        """The newest event that was read or written here."""
        self.person, self.device = specification.person, specification.device
        self.stopped: str | None = None
        """Why no more is asked, once it is so."""
        self.progress = progress
        self._labellings: dict[Any, Labelling] = {}
        begun = specification
        if stored.events:
            of_process = {name: getattr(specification, name) for name in OF_PROCESS}
            begun = CampaignSpec.of(stored.events[0].body, **of_process)
            specification.check_same(begun, str(self.store.path or self._name))
        rows = quick_rows(graph, max(RANKS), device=self.device, progress=progress)
        self.state = CampaignState(begun, graph, rows)
        self.places = [f"Embedding: {rows.place}."] if rows.place else []
        """Where the graph was embedded, if that was left to `device="auto"`."""
        self.resumed = len(stored.events) > 1
        """Whether the journal held questions when it was opened."""
        for event in stored.events[1:]:
            self.state.apply(event)
        now, wanted = self.specification.body(), specification.body()
        if not stored.events:
            self._write("campaign", **wanted)
        elif now != wanted:
            if refusal := change_refusal(self.state, specification):
                raise InputError(refusal)
            changed = {name: value for name, value in wanted.items() if value != now[name]}
            self._write("options", **changed, person=self.person)

    # -- a question and its answer -----------------------------------------------------

    @property
    @one_at_a_time
    def question(self) -> Question | None:
        """The oldest open question, or the next one; None when no more is asked (`stopped` says why)."""
        return next(iter(self.questions(1)), None)

    @one_at_a_time
    def questions(self, count: int) -> list[Question]:
        """Up to `count` open questions, about different nodes, to be answered in any order; fewer where no
        more are to be asked.

        Each is chosen as if those before it were answered, whatever the answers are: the variance has them,
        the scores stay as they are. So they differ from each other instead of being one doubt `count` times.
        """
        actions, why = next_actions(self.state, self.state, self.person, count)
        found = [self._put(action) if isinstance(action, Pick) else action for action in actions]
        self.stopped = None if self.state.turns.n_open else why
        if ends(self.state, why):
            self._write("stop", why=why)
        return [self.shown(turn) for turn in found]

    @one_at_a_time
    def again(self, node: Hashable) -> Question:
        """Put the question about an answered node once more, to the same or another person."""
        row = self.graph.row_of.get(node)
        if row not in self.state.answers(audit=False):
            raise InputError(
                f"node {node!r} was not answered yet, or is part of the audit; ask about it first"
            )
        if self.state.turns.open_about(row) is not None:
            raise InputError(f"a question about node {node!r} is open; answer it first")
        return self.shown(self._put(Pick(row, ASKED_FOR, again=True)))

    @one_at_a_time
    def answer(self, given: Any, node: Hashable = None, person: str | None = None) -> Any:
        """The class of the node whose question is open, of the oldest one unless named; None is "unsure".

        Where nodes may have several labels it is a set of classes, perhaps the empty one. `person` says who
        answers; unless given, the one that the campaign was opened with. Returns what was kept.
        """
        turn = self._pending(node, person)
        code = checked_answer(given, self.classes, self._node(turn.row), multilabel=self.multilabel)
        self._close("unsure" if code == -1 else "answer", turn, code, person)
        return None if code == -1 else named(code, self.classes)

    @one_at_a_time
    def unsure(self, node: Hashable = None, person: str | None = None) -> None:
        """Nobody can tell: the node is not asked about again. It is not counted in the budget."""
        self._close("unsure", self._pending(node, person), person=person)

    @one_at_a_time
    def skip(self, node: Hashable = None, person: str | None = None) -> None:
        """Put the node aside: it is not asked about again, and not counted."""
        self._close("skip", self._pending(node, person), person=person)

    @one_at_a_time
    def undo(self, person: str | None = None) -> bool:
        """Take the last answer back and put its question again; False when there is none.

        If a person is named, here or when the campaign was opened, it is their last answer.
        """
        person = self.person if person is None else person
        back = self.state.turns.last_closed(person)
        if back is None:
            return False
        if refusal := undo_refusal(self.state, back, person):
            raise InputError(refusal)
        self._write("undo", row=back.row, **{} if person is None else {"person": person})
        return True

    @one_at_a_time
    def extend(self, edges: Any = None, nodes: Any = None) -> "Asking":
        """New edges, and nodes with them, in any form that `growth.join` takes. What is there already is not
        added again. New nodes that the model is unsure of are asked about next (see `policy.arrived`)."""
        before, came = self.graph.n_nodes, arrival(self.graph, edges, nodes)
        if came:
            self._labellings.clear()
            self._write(KIND, **came)
        for row in range(before, self.graph.n_nodes):
            if pick := arrived(self.state, row, self.state.about(row)["probability"]):
                self._put(pick)
        return self

    @one_at_a_time
    def tell(self, labels: Any, missing: Hashable = None) -> "Asking":
        """Labels that are known without asking, in any form: learned before all answers, never asked about,
        not counted. Those that are there already change nothing; one that contradicts them is refused."""
        before = {**self.state.answers(), **self.state.known}
        fresh = fresh_labels(labels, self.graph, self.classes, before, missing, multilabel=self.multilabel)
        if fresh:
            self._write("known", rows=list(fresh), codes=[as_kept(code) for code in fresh.values()])
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
        if self.state.stopped != why:
            self._write("stop", why=why)

    def close(self) -> None:
        """Let go of the journal."""
        self.store.close()

    # -- what came of it -----------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """As it is now."""
        return self.state.graph

    @property
    def specification(self) -> CampaignSpec:
        """What the campaign is about, with its options as they are now."""
        return self.state.options

    @property
    def budget(self) -> int:
        """The most answers."""
        return self.specification.budget

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
        return self.state.turns.asked

    @property
    def unanswered(self) -> int:
        """Questions that were skipped, or answered with "unsure"."""
        return self.state.turns.unanswered

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
        """A label for every node, by `querist.label` from all answers; answered nodes keep their answer.

        Its `estimate` is the accuracy that the audit measured; unknown without an audit, unless all questions
        were random.
        """
        return results.with_audit(self.label_from(self.state.answers()), self.audit)

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
        return {self._node(row): belief for row, belief in self.state.doubts() if belief < DOUBT}

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

    def _write(self, kind: str, **body: Any) -> Turn | None:
        """Keep an event, then learn it; the turn that it opened or closed."""
        draft = Draft(kind, body)
        if self.last:
            (event,) = self.store.append(self.id, self.last, [draft])
        else:
            event = self.store.create(self.id, self._name, draft)
        self.last = event.seq
        return self.state.apply(event)

    def _pending(self, node: Hashable = None, person: str | None = None) -> Turn:
        """The open turn about the node, or the oldest one, if this person may answer it."""
        turns, who = self.state.turns, self.person if person is None else person
        opens = [turn for turn in turns.opens if node is None or self._node(turn.row) == node]
        own = [turn for turn in opens if may_answer(turns, turn, who)]
        if not own:
            about = "" if node is None else f" about node {node!r}"
            if opens:
                raise InputError(f"the open question{about} is for another person than {who!r}")
            raise InputError(f"no question{about} is open; look at `question` first")
        return own[0]

    def _close(self, kind: str, turn: Turn, code: Code = -1, person: str | None = None) -> None:
        """Keep an outcome and learn it."""
        who = self.person if person is None else person
        body = {"code": None if code == -1 else as_kept(code), "person": who}
        given = {name: value for name, value in body.items() if value is not None}
        self._write(kind, row=turn.row, **given)

    def _put(self, pick: Pick) -> Turn:
        """Write a question down; its turn, which that opened."""
        turn = self._write("question", **self.state.question(pick))
        assert turn is not None
        return turn

    def shown(self, turn: Turn, turns: Turns | None = None) -> Question:
        """An open turn as the question that is put; `turns` of a server may be ahead of those here."""
        known = self.state.turns if turns is None else turns
        number = known.asked + 1 + sum(other.opened < turn.opened for other in known.opens)
        return Question.of({**turn.about, "number": number, "node": self._node(turn.row)}, self.classes)

    def label_from(self, answers: Mapping[int, Code]) -> Labelling:
        """A label for every node from these answers, codes by row, and from all known labels.

        Nodes answered with none of the classes keep that; `label` learns from those that have one.
        """
        given = {**self.state.known, **answers}
        if not given:
            raise InputError("there is no answer yet to label the graph from; answer a question first")
        method = self.specification.method
        key = (method, tuple(given.items()))
        if key not in self._labellings:
            without = [row for row, code in given.items() if code == ()]
            if len(without) == len(given):
                raise InputError(
                    "all answers so far are none of the classes, and there is nothing to label the graph "
                    "from; answer on"
                )
            found = label(
                self.graph,
                Labels.of(given, self.graph.n_nodes, self.classes, self.multilabel),
                method=method,
                multilabel=self.multilabel,
                picked=self.specification.strategy != RANDOM,
                seed=self.specification.seed,
                device=self.device if uses_device(method) else None,
                progress=self.progress,
            )
            if without:
                found = found.with_no_class(without)
            # One from all answers and one for the audit, at most.
            self._labellings = {**dict(list(self._labellings.items())[-1:]), key: found}
        return self._labellings[key]

    def _node(self, row: int) -> Hashable:
        return self.graph.nodes[row]

    def _named(self, answers: Mapping[int, Code]) -> dict[Hashable, Any]:
        return {self._node(row): named(code, self.classes) for row, code in answers.items()}


@lists_options(CampaignOptions)
def ask(
    graph: Any,
    oracle: Any = None,
    options: CampaignOptions | None = None,
    *,
    nodes: Any = None,
    classes: Sequence[Hashable] | None = None,
    labels: Any = None,
    journal: str | PathLike[str] | StoredCampaign | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CampaignKeywords],
) -> Asking:
    """Ask about the nodes of a graph that are worth most, and label the rest from the answers.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; labels it holds are not looked at
    oracle : called with a node, gives its class or None; or known labels of the nodes, in any form that
        `querist.label` takes. None asks nothing yet
    options : a `CampaignOptions`; or give its fields by name, as in `ask(graph, oracle, budget=20)`
    nodes : a table of the nodes, as in `as_graph`, if `graph` holds edges alone
    classes : what an answer may be; needed unless the oracle is a set of labels, or the journal knows them
    labels : labels that are known already, in any form that `querist.label` takes. They are learned first,
        never asked about, not counted in the budget, and kept in the journal
    journal : a path; an interrupted campaign goes on from it. In memory by default. Options that are not
        given are as in the journal, which keeps changes too; one that a campaign cannot change is refused if
        it differs
    progress : called with (fraction done, what is being done) while the graph is embedded, asked about or
        labelled; in a notebook a bar shows it by default

    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
    >>> result = ask(karate, karate.labels, budget=4)
    >>> sum(found == true for found, true in zip(result.labels, karate.labels))
    33
    """
    given = CampaignOptions.given(options, keywords)
    check_device(given.get("device"))
    own, oracle, labels = _by_column(graph, nodes, oracle, labels)
    check_weights(own)
    stored = journal if isinstance(journal, StoredCampaign) else only_campaign(journal)
    before = logged_options(stored.events)
    asked = CampaignOptions(**{**before, **given})
    if given.get("missing") is not None and labels is None and (oracle is None or callable(oracle)):
        raise InputError(
            f"missing = {asked.missing!r} says which labels mean unlabelled, and no labels are given; leave "
            "it out, or give labels as oracle= or labels="
        )
    answer, names = as_oracle(oracle, own, classes, asked.missing, multilabel=asked.multilabel)
    if names is None:
        names = stored.events[0].body["classes"] if before else _classes_of(labels, own, asked.missing)
    strategy = resolve_strategy(asked.strategy, before.get("strategy"), own, find=asked.find is not None)
    specification = CampaignSpec(
        graph=digest(own),
        nodes=own.n_nodes,
        edges=own.n_edges,
        classes=checked_classes(names),
        **{**vars(asked), "strategy": strategy, "find": plain(asked.find)},
    )
    if not before and (refusal := audit_refusal(asked, labels is not None)):
        raise InputError(refusal)
    asking = Asking(own, specification, stored, progress=progress)
    if labels is not None:
        asking.tell(labels, asked.missing)
    if answer is not None:
        asking.run(answer)
    return asking


def _by_column(graph: Any, nodes: Any, oracle: Any, labels: Any) -> tuple[Graph, Any, Any]:
    """The graph without labels, the oracle and the known labels; a text names the column that holds them."""
    column = next((given for given in (oracle, labels) if isinstance(given, str)), None)
    if column is None:
        return as_graph(graph, nodes=nodes).without_labels(), oracle, labels
    if isinstance(oracle, str) and isinstance(labels, str):
        raise InputError(
            f"oracle={oracle!r} and labels={labels!r} both name a column; give one of them as a dict"
        )
    if isinstance(graph, Graph) and nodes is None:
        raise InputError(f"{column!r} names a column, and a Graph holds no table of nodes; pass it as nodes=")
    found = as_graph(graph, nodes=nodes, labels=column)
    held = own_labels(found)
    bare = found.without_labels()
    return (bare, held, labels) if isinstance(oracle, str) else (bare, oracle, held)


def _classes_of(labels: Any, graph: Graph, missing: Hashable) -> Sequence[Hashable]:
    """The classes that known labels have, where nobody named them."""
    if labels is None:
        raise InputError("classes are not given; name what an answer may be, as in classes=['cat', 'dog']")
    return tabulate(labels, graph.nodes, missing=missing).classes
