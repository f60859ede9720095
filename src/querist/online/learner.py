"""The protocol of a round: decide / commit / learn / run. No maths here.

A learner holds the state; `checks.py` checks what comes in and `kernels.py` does
the rest. It speaks class codes, and the node ids of the graph it is made from;
row numbers where the graph has no ids of its own.

- `decide(node)` changes nothing; asking twice answers the same.
- `commit(decision)` closes the round and remembers the open question.
- `learn(node, answer)` comes at once or later, in any order.
- `run(order, labels)` is that loop, compiled, to the same bits.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import astuple, dataclass
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from querist.display import as_html
from querist.errors import InputError
from querist.labels import UNLABELLED
from querist.locks import OwnLock, one_at_a_time
from querist.online import algebra, checks, kernels, loop
from querist.online.checks import Reply
from querist.online.pace import ring, spending
from querist.online.rules import MarginUncertainty, QueryRule, Scheme, Target, Update
from querist.online.trace import Decision, Problems, Trace
from querist.parameters import checked_count
from querist.types import Bools, Codes, Floats

SHOWN = 10
"""Open questions that are shown in a notebook; the rest is counted."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question: what `learn` must remember of the round that asked."""

    round: int
    certain: bool
    asks: tuple[bool, ...]


class Learner:
    """An online learner on a graph: embedding x state x query rule x update rule.

    Several threads may use it: each call is done before the next one begins, and a decision that another
    thread's round has overtaken is refused by `commit`.

    Parameters
    ----------
    embedding : an `Embedding`, or an (n, d) array of rows
    n_classes : K >= 2
    query, update, target : the rules (see `rules.py`)
    gamma : > 0; `A` starts at gamma I (mu in sslgc13). Ignored by a first-order learner
    second_order : False keeps `A` at the identity: a perceptron
    shrink : score under the A that contains the node (msg16) or not (sslgc13)
    scheme : one problem over all classes, or one binary problem a class
    seed : of the draws, taken modulo 2^63; the draw of a round depends on (seed, round) alone
    budget : the most questions ever asked, or None
    pace : None asks by the rule as it is until the budget is spent. A number lets the rule choose, but spends
        the budget in turn (see `pace.py`): 1 evenly over the rounds still to come, more early
    rounds : how many rounds a paced budget is for; the number of nodes unless given
    tie_order : classes by precedence among equal scores; by code unless given

    >>> from querist import ALGORITHMS, datasets, embed
    >>> karate = datasets.load_graph("karate")
    >>> learner = ALGORITHMS["msg"](embed(karate, rank=8, cache=False), 2, budget=5)
    >>> trace = learner.run(range(34), karate.codes)
    >>> trace.questions
    5
    """

    _maths: ClassVar[Any] = kernels
    _parts: ClassVar[Any] = (kernels.OnlineRules, kernels.NodeRows, kernels.OnlineState)
    """The compiled steps of a round. Another family of learners has another module of the same shape."""

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        query: QueryRule,
        update: Update,
        target: Target = Target.RIVAL,
        gamma: float = 1.0,
        second_order: bool = True,
        shrink: bool = True,
        scheme: Scheme = Scheme.MULTICLASS,
        seed: int = 0,
        budget: int | None = None,
        pace: float | None = None,
        rounds: int | None = None,
        tie_order: Iterable[int] | None = None,
    ) -> None:
        self._begin(n_classes, scheme, seed, budget, ids=checks.ids_of(embedding))
        binary = scheme is Scheme.ONE_VS_REST
        if binary and isinstance(query, MarginUncertainty):
            raise InputError("MSG's margin compares classes: it has no one-vs-rest form; use multiclass")
        rows = checks.checked_rows(embedding)
        self._rules = kernels.OnlineRules(
            query=query.code,
            numbers=np.array(astuple(query) or (0.0,), dtype=np.float64),
            update=int(update),
            target=int(target),
            second_order=second_order,
            shrink=shrink,
            binary=binary,
            n_classes=self.n_classes,
            **spending(pace, budget, rounds, len(rows)),
        )
        prior = checks.prior_variances(rows, gamma if second_order else 1.0)
        self._place = kernels.NodeRows(
            rows=rows,
            component=checks.checked_components(embedding, len(rows)),
            tie=1e-12 * np.minimum(1.0, prior),
            tie_order=checks.checked_tie_order(tie_order, self.n_classes),
        )
        problems = 1 if not binary or n_classes == 2 else self.n_classes
        d = rows.shape[1]
        self._state = kernels.OnlineState(
            P=np.repeat(np.eye(d)[None] / gamma, problems, axis=0)
            if second_order
            else np.empty((problems, 0, 0)),
            W=np.zeros((1 if binary and n_classes == 2 else self.n_classes, d)),
            variances=np.zeros(problems),
            touched=np.zeros(int(self._place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
            recent=ring(self._rules),
        )
        self._work = kernels.scratch(self._rules, self._state)
        self._safe = bool(prior.max() <= loop.SAFE)

    def _begin(
        self,
        n_classes: int,
        scheme: Scheme,
        seed: int,
        budget: int | None,
        notes: tuple[str, ...] = (),
        ids: checks.Ids | None = None,
    ) -> None:
        """What every learner has, whatever its maths."""
        self.n_classes = checked_count("n_classes", n_classes, 2)
        self.budget = None if budget is None else checked_count("budget", budget, 0)
        self.seed = checks.checked_seed(seed) % 2**63
        self.scheme = scheme
        self.notes = notes
        self.ids = ids
        self._pending: dict[int, deque[OpenQuestion]] = {}
        self.own_lock = OwnLock()

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
        """`f0 = W m`."""
        return np.asarray(self._place.rows[rows] @ self._state.W.T)

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
        verdict = self._maths.decide_step(self._rules, self._state, self._place, row, draw, work)
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
        self._maths.close_round(
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
        return bool(
            self._maths.learn_step(
                self._rules, self._state, self._place, int(node), question.certain, asks, allowed, self._work
            )
        )

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
        return self._trace(nodes, record, np.ones(nodes.size, dtype=np.bool_))

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        """The compiled loop; a negative budget means none."""
        loop.run_rounds(
            self._rules,
            self._state,
            self._place,
            nodes,
            codes,
            u,
            budget,
            self._work,
            loop.screen(self._state, self._safe),
            record,
        )

    def _run_oracle(self, nodes: Codes, oracle: Callable[[Any], Reply], uniforms: Floats) -> Trace:
        record = loop.record(nodes.size, self._work)
        judged = np.zeros(nodes.size, dtype=np.bool_)
        for i, node in enumerate(nodes.tolist()):
            decision = self._decide(node, uniforms[i])
            record.predicted[i] = decision.prediction
            record.margin[i], record.variance[i] = decision.margin, decision.variance
            if not decision.ask:
                self.commit(decision)
                continue
            # The oracle may fail or be interrupted: nothing is committed before it has answered well.
            allowed = self._allowed(oracle(decision.node))
            self.commit(decision)
            record.asked[i] = True
            record.problem_asked[i] = decision.asks
            # Questions that were open before stay open: this answer is to this round's own.
            record.updated[i] = self._answered(node, self._close(node, newest=True), allowed)
            if allowed is not None:
                judged[i] = True
                self._work.f[:] = decision.scores
                tie = self._place.tie[node]
                record.mistaken[i] = kernels.find_mistakes(
                    self._rules.binary, decision.prediction, allowed, tie, self._work.f, self._work.wrong
                )
                record.problem_mistaken[i] = self._work.wrong
                record.problem_updated[i] = self._work.learned
        return self._trace(nodes, record, judged)

    def _trace(self, nodes: Codes, record: loop.RunRecord, judged: Bools) -> Trace:
        problems = None
        if self.scheme is Scheme.ONE_VS_REST:
            problems = Problems(record.problem_asked, record.problem_mistaken, record.problem_updated)
        return Trace(
            row=nodes,
            predicted=record.predicted,
            asked=record.asked,
            mistaken=record.mistaken,
            updated=record.updated,
            margin=record.margin,
            variance=record.variance,
            judged=judged,
            problems=problems,
            ids=self.ids,
        )

    # -- saved state -----------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` gives the same bits."""
        from querist.online.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> "Learner":
        """The learner that `save` wrote."""
        from querist.online.storage import load

        return load(path)

    # -- the door --------------------------------------------------------------

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
