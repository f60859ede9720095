"""The protocol of a round: decide / commit / learn / run. No maths here.

A learner holds the state; `checks.py` checks what comes in and `kernels.py` does
the rest. It speaks class codes, and the node ids of the graph it is made from;
row numbers where the graph has no ids of its own.

- `decide(node)` changes nothing; asking twice answers the same.
- `commit(decision)` closes the round and remembers the open question.
- `learn(node, answer)` comes at once or later, in any order.
- `run(order, labels)` is that loop, compiled, to the same bits.
- `follow(embedding)` goes on in a graph that has grown.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from os import PathLike
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypedDict

import numpy as np

from querist import codec
from querist.codec import Field
from querist.display import as_html
from querist.errors import InputError
from querist.labels import UNLABELLED
from querist.locks import OwnLock, one_at_a_time
from querist.online import algebra, checks, kernels, loop
from querist.online.checks import Reply
from querist.online.rules import SchemeName
from querist.online.trace import Decision, Problems, Trace
from querist.parameters import (
    LARGEST_COUNT,
    Default,
    Range,
    check_values,
    checked_count,
    parameters_of,
    refusing_others,
    settled,
)
from querist.types import Bools, Codes, Floats

known_of = cache(parameters_of)
"""The keywords of a class, read once."""

SHOWN = 10
"""Open questions that are shown in a notebook; the rest is counted."""


class LearnerOptions(TypedDict, total=False):
    """What every algorithm takes besides its own parameters; `Learner` says what each option does."""

    seed: Annotated[int, Default(0)]
    budget: Annotated[int | None, Default(None), Range(0, LARGEST_COUNT)]
    pace: Annotated[float | None, Default(None), Range(gt=0)]
    rounds: Annotated[int | None, Default(None), Range(1, LARGEST_COUNT)]
    tie_order: Annotated[Iterable[int] | None, Default(None)]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question: what `learn` must remember of the round that asked."""

    round: int
    certain: bool
    asks: tuple[bool, ...]


class Learned(NamedTuple):
    """Answers that were learned, in turn: nodes, the classes that each allows, the problems that learned."""

    nodes: Annotated[Codes, Field("answers", least=0, below="n")]
    allowed: Annotated[Bools, Field("answers K")]
    problems: Annotated[Bools, Field("answers C")]


class Learner:
    """An online learner on a graph; `ALGORITHMS` has them by name.

    Several threads may use it: each call is done before the next one begins, and a decision that another
    thread's round has overtaken is refused by `commit`.

    A learner with its own maths names `_steps`, its compiled functions (`loop.Steps`), and `_parts`: a named
    tuple of rules, places of the nodes and state, annotated with what a file may hold. Its `__init__` calls
    `_begin`, makes these parts, and gives them to `_hold`. An entry point `learner.NAME` names the class of a
    plugin, so that it can be loaded again.

    Parameters
    ----------
    embedding : an `Embedding`, or an (n, d) array of rows
    n_classes : K >= 2
    seed : of the draws, taken modulo 2^63; the draw of a round depends on (seed, round) alone
    budget : the most questions ever asked, or None
    pace : None asks by the rule as it is until the budget is spent. A number lets the rule choose, but spends
        the budget in turn (see `pace.py`): 1 evenly over the rounds still to come, more early
    rounds : how many rounds a paced budget is for; the number of nodes unless given
    tie_order : classes by precedence among equal scores; by code unless given

    Compositions, which are all but POUNCE, Nearest and Paced, take some of these besides:

    update, target : which answers are learned, and towards what (see `rules.py`)
    gamma : > 0; `A` starts at gamma I (mu in sslgc13). Ignored by a first-order learner
    scheme : one problem over all classes ("multiclass"), or one binary problem per class ("one-vs-rest")

    >>> from querist import ALGORITHMS, datasets, embed
    >>> karate = datasets.load_graph("karate")
    >>> learner = ALGORITHMS["msg"](embed(karate, rank=8, cache=False), 2, budget=5)
    >>> trace = learner.run(range(34), karate.codes)
    >>> trace.questions
    5
    """

    _steps: ClassVar[loop.Steps]
    _parts: ClassVar[Any]
    _learned: list[Learned] | None = None
    """What was learned, for `follow`; None if that is refused."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):  # type checkers see the parameters by name; so does who misspells one
            make: Any = cls.__init__

            @wraps(make)
            def checking(self: Any, *positional: Any, **given: Any) -> None:
                check_values(known_of(make), given)
                make(self, *positional, **given)

            cls.__init__ = refusing_others(checking, cls.__name__)  # type: ignore[method-assign]

    def _begin(
        self,
        embedding: Any,
        n_classes: int,
        given: Mapping[str, Any],
        options: Any = LearnerOptions,
        scheme: SchemeName = "multiclass",
    ) -> tuple[dict[str, Any], Codes]:
        """What every learner has, whatever its maths; its options and the checked order of ties."""
        chosen = settled(options, given)
        self.n_classes = checked_count("n_classes", n_classes, 2)
        budget, seed = chosen["budget"], int(chosen["seed"]) % 2**63
        self._open(checks.ids_of(embedding), None if budget is None else int(budget), seed, scheme)
        return chosen, checks.checked_tie_order(chosen["tie_order"], self.n_classes)

    def _open(
        self,
        ids: checks.Ids | None,
        budget: int | None,
        seed: int,
        scheme: SchemeName,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.ids, self.budget, self.seed, self.scheme, self.notes = ids, budget, seed, scheme, notes
        self._pending: dict[int, deque[OpenQuestion]] = {}
        self.own_lock = OwnLock()

    def _hold(self, parts: Any, safe: bool = False) -> None:
        """Rules, places and state, and working room for them; `safe` says whether rounds may be screened."""
        self._rules, self._place, self._state = parts
        self._work: kernels.Scratch = parts.work()
        self._safe = safe

    def __repr__(self) -> str:
        budget = "" if self.budget is None else f" of at most {self.budget:,}"
        return (
            f"<{type(self).__name__} of {self.n_nodes:,} nodes and {self.n_classes} classes: round "
            f"{self.round:,}, {self.questions:,} questions{budget}, {self.updates:,} answers learned>"
        )

    def _repr_html_(self) -> str:
        opened = [f"open question about node {node}" for node in self.pending[:SHOWN]]
        more = len(self.pending) - SHOWN
        left_out = [f"and {more:,} more"] if more > 0 else []
        return as_html(repr(self)[1:-1], [*self.notes, *opened, *left_out])

    def by_row(self) -> Self:
        """This learner, speaking row numbers from now on, whatever ids the graph has."""
        self.ids = None
        return self

    # -- what is known ----------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Nodes the embedding has rows for."""
        return int(self._place.rows.shape[0])

    @property
    def round(self) -> int:
        """Rounds closed so far. Set it to go on at another place of a stream."""
        return int(self._state.counts[0])

    @round.setter
    def round(self, closed: int) -> None:
        self._state.counts[0] = checked_count("round", closed, 0)

    @property
    def questions(self) -> int:
        """Questions asked so far, answered or not."""
        return int(self._state.counts[1])

    @property
    def updates(self) -> int:
        """Answers learned so far."""
        return int(self._state.counts[2])

    @property
    def pending(self) -> tuple[Any, ...]:
        """Nodes with an open question, oldest question first."""
        opened = sorted((q.round, row) for row, queue in self._pending.items() for q in queue)
        return tuple(self._name(row) for _, row in opened)

    @one_at_a_time
    def scores(self, nodes: Iterable[Any] | None = None) -> Floats:
        """(n, K) scores under the state as it is; one column for two classes one-vs-rest."""
        return self._scores(self._rows(nodes))

    @one_at_a_time
    def reached(self, nodes: Iterable[Any] | None = None) -> Bools:
        """Whether any learned label could reach the node."""
        return self._reached(self._rows(nodes))

    @one_at_a_time
    def predict(self, nodes: Iterable[Any] | None = None) -> Codes:
        """Class code of every node, -1 where no learned label reaches it."""
        rows = self._rows(nodes)
        f = self._scores(rows)
        codes = np.empty(len(f), dtype=np.int64)
        kernels.predict_rows(f, self._place.tie_order, self._place.tie[rows], codes)
        return np.where(self._reached(rows), codes, UNLABELLED)

    def _scores(self, rows: Codes | slice) -> Floats:
        nodes = np.arange(self.n_nodes)[rows]
        out = np.empty((nodes.size, self._work.f.size))
        self._steps.score_all(self._rules, self._state, self._place, nodes, self._work, out)
        return out

    def _reached(self, rows: Codes | slice) -> Bools:
        touched = self._state.touched[self._place.component[rows]]
        return np.asarray(touched & self._scores(rows).any(axis=1))

    # -- a round ---------------------------------------------------------------

    @one_at_a_time
    def decide(self, node: Any, u: float | None = None) -> Decision:
        """Predict a node and say whether to ask. Changes nothing.

        `u` replaces the learner's own draw, to replay a run.
        """
        return self._decide(self.row_of(node), u)

    def _decide(self, row: int, u: float | None) -> Decision:
        t = self.round + 1
        draw = algebra.draw(self.seed, t) if u is None else float(checks.checked_uniforms([u], 1)[0])
        work = self._work
        verdict = self._steps.decide_step(self._rules, self._state, self._place, row, draw, work)
        spent = self.budget is not None and self.questions >= self.budget
        return Decision(
            node=self._name(row),
            row=row,
            round=t,
            prediction=verdict.prediction,
            scores=work.f.copy(),
            margin=verdict.margin,
            variance=verdict.variance,
            ask=not spent and bool(work.asks.any()),
            probability=verdict.probability,
            certain=verdict.certain,
            spent=spent,
            asks=work.asks & (not spent),
            variances=work.r.copy(),
            value=verdict.value,
        )

    @one_at_a_time
    def commit(self, decision: Decision) -> None:
        """Close the round: counters and sums advance, the budget is spent, the question is open."""
        if decision.round != self.round + 1:
            raise InputError(
                f"the decision is of round {decision.round}, the learner is at round {self.round + 1}; "
                "decide again"
            )
        own = decision.asks.shape == decision.variances.shape == self._work.r.shape
        if not own or not 0 <= decision.row < self.n_nodes:
            raise InputError("the decision was made by another learner; decide with this one")
        self._steps.close_round(
            self._rules, self._state, decision.ask, decision.asks, decision.variances, decision.value
        )
        if decision.ask:
            question = OpenQuestion(decision.round, decision.certain, tuple(decision.asks.tolist()))
            self._pending.setdefault(decision.row, deque()).append(question)

    @one_at_a_time
    def learn(self, node: Any, answer: Reply) -> bool:
        """Take the answer to the oldest open question about `node`; whether anything was learned.

        Uses the reason of that question and the state as it is now.
        """
        row = self._asked_about(node)
        allowed = self._allowed(answer)
        return self._answered(row, self._close(row, newest=False), allowed)

    @one_at_a_time
    def withdraw(self, node: Any) -> None:
        """Take back the oldest open question about `node`: nothing is learned, the budget has it again."""
        row = self._asked_about(node)
        self._close(row, newest=False)
        self._state.counts[1] -= 1

    def _asked_about(self, node: Any) -> int:
        row = node if self.ids is None else self.ids.row(node)
        if not isinstance(row, Hashable) or row not in self._pending:
            raise InputError(f"no open question about node {node}; commit a decision that asks first")
        return int(row)

    def _close(self, node: int, newest: bool) -> OpenQuestion:
        """Take a question about `node` off the list of open ones."""
        queue = self._pending[node]
        question = queue.pop() if newest else queue.popleft()
        if not queue:
            del self._pending[node]
        return question

    def _answered(self, node: int, question: OpenQuestion, allowed: Bools | None) -> bool:
        """Learn what the answer to a question allows; whether that was anything."""
        if allowed is None:
            return False
        asks = np.array(question.asks, dtype=np.bool_)
        learned = self._steps.learn_step(
            self._rules, self._state, self._place, int(node), question.certain, asks, allowed, self._work
        )
        if learned:
            self._keep(np.array([node]), allowed[None], self._work.learned[None].copy())
        return bool(learned)

    def _keep(self, nodes: Codes, allowed: Bools, problems: Bools) -> None:
        """Keep what was learned, for `follow`."""
        if self._learned is not None:
            self._learned.append(Learned(nodes, allowed, problems))

    # -- many rounds -------------------------------------------------------------

    @one_at_a_time
    def run(self, order: Iterable[Any], labels: Any, uniforms: Iterable[float] | None = None) -> Trace:
        """Play the rounds of `order`.

        `labels` holds a class code a row, or is a dict from node to code; it is
        read only where the learner asks and to count mistakes. Or it is an oracle,
        called with a node when it is asked.
        `uniforms` replace the learner's own draws, one a round.
        """
        nodes = self._checked(order)
        if uniforms is None:
            u = np.empty(nodes.size)
            algebra.fill_draws(self.seed, self.round + 1, u)
        else:
            u = checks.checked_uniforms(uniforms, nodes.size)
        if callable(labels):
            return self._run_oracle(nodes, labels, u)
        codes = checks.checked_labels(labels, nodes, self.n_nodes, self.n_classes, self.ids)
        record = loop.record(nodes.size, self._work)
        self._play(nodes, codes, u, -1 if self.budget is None else self.budget, record)
        learned = nodes[record.updated]
        allowed = codes[learned, None] == np.arange(self.n_classes)
        self._keep(learned, allowed, record.problem_updated[record.updated])
        return self._trace(nodes, record, np.ones(nodes.size, dtype=np.bool_))

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        """The compiled loop; a negative budget means none."""
        parts = self._rules, self._state, self._place
        self._steps.play_all(*parts, nodes, codes, u, budget, self._work, record)

    def _run_oracle(self, nodes: Codes, oracle: Callable[[Any], Reply], uniforms: Floats) -> Trace:
        work = self._work
        record, judged = loop.record(nodes.size, work), np.zeros(nodes.size, dtype=np.bool_)
        for i, node in enumerate(nodes.tolist()):
            decision = self._decide(node, uniforms[i])
            # The oracle may fail or be interrupted: nothing is committed before it has answered well.
            allowed = self._allowed(oracle(decision.node)) if decision.ask else None
            self.commit(decision)
            mistaken = updated = False
            work.wrong[:] = work.learned[:] = False
            if decision.ask:
                # Questions that were open before stay open: this answer is to this round's own.
                updated = self._answered(node, self._close(node, newest=True), allowed)
            if allowed is not None:
                judged[i] = True
                work.f[:] = decision.scores
                best, tie = decision.prediction, self._place.tie[node]
                mistaken = kernels.find_mistakes(self._rules.binary, best, allowed, tie, work.f, work.wrong)
            work.asks[:] = decision.asks
            about = decision.prediction, decision.ask, mistaken, updated, decision.margin, decision.variance
            loop.note(record, i, *about, work)
        return self._trace(nodes, record, judged)

    def _trace(self, nodes: Codes, record: loop.RunRecord, judged: Bools) -> Trace:
        problems = Problems(*record[6:]) if self.scheme == "one-vs-rest" else None
        return Trace(nodes, *record[:6], judged, problems, self.ids)

    # -- a graph that grows ------------------------------------------------------

    @one_at_a_time
    def follow(self, embedding: Any) -> Self:
        """Go on, this same learner, in a graph that has grown: `learner.follow(rows.follow(larger))`.

        The first nodes are those there were. While the rows that it has learned from stand still, nothing is
        computed; once they have moved, the answers so far are learned again, in turn. Open questions, the
        budget, `rounds` and draws stay as they are.

        >>> from querist import ALGORITHMS, as_graph, embed
        >>> rows = embed(as_graph([(0, 1), (1, 2), (2, 3), (3, 0)]), rank=2, cache=False)
        >>> learner = ALGORITHMS["cmog"](rows, 2)
        >>> questions = learner.run([0, 1], [0, 1, 0, 1]).questions
        >>> larger = as_graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])
        >>> learner.follow(rows.follow(larger)).predict([4]).size
        1
        """
        raise InputError(
            f"{type(self).__name__} cannot go on in a graph that has grown, since new nodes move all "
            "others for it; make a new learner of that graph, and let it run over the answers so far"
        )

    def _answers(self) -> Learned | None:
        """All that was learned; None where it is not kept."""
        if self._learned is None:
            return None
        widths = self.n_classes, self._work.r.size
        none = Learned(np.empty(0, np.int64), *(np.empty((0, width), np.bool_) for width in widths))
        self._learned = [Learned(*map(np.concatenate, zip(none, *self._learned, strict=True)))]
        return self._learned[0]

    # -- saved state -----------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` gives the same bits."""
        from querist.online.storage import KIND, as_saved

        codec.write(path, KIND, as_saved(self))

    @staticmethod
    def load(path: str | PathLike[str]) -> "Learner":
        """The learner that `save` wrote."""
        from querist.online.storage import KIND, SavedLearner

        return codec.read(path, KIND, SavedLearner.learner)

    # -- checked input ---------------------------------------------------------

    def row_of(self, node: Any) -> int:
        """The row number of a node."""
        return checks.checked_node(node, self.n_nodes) if self.ids is None else self.ids.row(node)

    def _name(self, row: int) -> Any:
        return row if self.ids is None else self.ids.names[row]

    def _checked(self, nodes: Iterable[Any]) -> Codes:
        return checks.checked_nodes(nodes, self.n_nodes) if self.ids is None else self.ids.rows(nodes)

    def _rows(self, nodes: Iterable[Any] | None) -> Any:
        """Row numbers of these nodes, or of all: a slice, which copies nothing."""
        return slice(None) if nodes is None else self._checked(nodes)

    def _allowed(self, answer: Reply) -> Bools | None:
        allowed = checks.allowed_classes(answer, self.n_classes)
        # One binary problem for two classes: "neither" points to none of them.
        neither = allowed is not None and self._work.f.size == 1 and not allowed.any()
        return None if neither else allowed
