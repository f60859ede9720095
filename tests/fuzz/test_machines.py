"""Whatever is done with a learner or a campaign, in any order, promises hold, and a saved copy is equal."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import reject, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from profiles import fuzzed
from promises import finite, probabilities, same

import querist
from querist import InputError

GRAPHS = {
    "path": [(i, i + 1) for i in range(7)],
    "star": [(0, i) for i in range(1, 8)],
    "pairs": [(2 * i, 2 * i + 1) for i in range(4)],
    "camps": [(i, j) for i in range(4) for j in range(i)]
    + [(i, j) for i in range(4, 8) for j in range(4, i)],
    "weak": [(i, (i + 1) % 8, 10.0 ** (-3 * i)) for i in range(8)],
}
NODES = 8
CLASSES = 3


def content(learner):
    """What can be seen of a learner: to the last bit, what it would say of every node."""
    counts = learner.round, learner.questions, learner.updates, learner.pending
    decisions = [learner.decide(node) for node in range(NODES)]
    verdicts = [(d.prediction, d.ask, d.margin, d.variance, d.probability) for d in decisions]
    return counts, verdicts, learner.scores().tobytes(), learner.predict().tobytes()


class OnlineMachine(RuleBasedStateMachine):
    """A learner that is decided with, committed to, taught late or never, saved and loaded in any order."""

    @initialize(
        name=st.sampled_from(sorted(querist.ALGORITHMS)),
        graph=st.sampled_from(sorted(GRAPHS)),
        budget=st.none() | st.integers(0, 5),
        seed=st.integers(0, 9),
    )
    def begin(self, name, graph, budget, seed):
        place = querist.embed(querist.as_graph(GRAPHS[graph], nodes=NODES), 4, cache=False)
        try:
            self.learner = querist.ALGORITHMS[name](place, CLASSES, seed=seed, budget=budget)
        except InputError:  # it takes no graph of several components
            reject()
        self.budget, self.asked, self.withdrawn, self.open = budget, 0, 0, []

    @rule(node=st.integers(0, NODES - 1))
    def decide(self, node):
        before = content(self.learner)
        decision, again = self.learner.decide(node), self.learner.decide(node)
        assert (decision.prediction, decision.ask) == (again.prediction, again.ask)
        assert content(self.learner) == before, "decide changed the learner"

    @rule(node=st.integers(0, NODES - 1))
    def play(self, node):
        decision = self.learner.decide(node)
        self.learner.commit(decision)
        if decision.ask:
            self.asked += 1
            self.open.append(node)
        with pytest.raises(InputError):
            self.learner.commit(decision)

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(),
        answer=st.integers(0, CLASSES - 1)
        | st.sampled_from([querist.Answer.UNSURE, querist.Answer.NONE, frozenset({0, 2}), frozenset({1})]),
    )
    def learn(self, data, answer):
        node = data.draw(st.sampled_from(self.open))
        self.learner.learn(node, answer)
        self.open.remove(node)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def withdraw(self, data):
        node = data.draw(st.sampled_from(self.open))
        self.learner.withdraw(node)
        self.open.remove(node)
        self.withdrawn += 1

    @rule(node=st.integers(-3, NODES + 3), answer=st.integers(-2, CLASSES + 2))
    def learn_out_of_turn(self, node, answer):
        if node in self.open and 0 <= answer < CLASSES:
            return
        before = content(self.learner)
        with pytest.raises(InputError):
            self.learner.learn(node, answer)
        assert content(self.learner) == before, "a refused answer changed the learner"

    @rule()
    def save_and_load(self):
        before = content(self.learner)
        with tempfile.TemporaryDirectory() as folder:
            self.learner.save(Path(folder) / "learner.npz")
            self.learner = type(self.learner).load(Path(folder) / "learner.npz")
        assert content(self.learner) == before

    @rule(order=st.lists(st.integers(0, NODES - 1), max_size=6))
    def run(self, order):
        trace = self.learner.run(order, np.arange(NODES) % CLASSES)
        self.asked += trace.questions

    @invariant()
    def promises(self):
        if not hasattr(self, "learner"):
            return
        finite(self.learner.scores(), "scores")
        found = self.learner.predict()
        assert ((found >= -1) & (found < CLASSES)).all()
        same(found, self.learner.predict(), "predictions of one state")
        assert self.learner.questions == self.asked - self.withdrawn
        assert sorted(self.learner.pending) == sorted(self.open)
        if self.budget is not None:
            assert self.learner.questions <= self.budget


class AskingMachine(RuleBasedStateMachine):
    """A campaign that is answered, skipped, undone and opened again in any order."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    @initialize(
        graph=st.sampled_from(sorted(GRAPHS)),
        budget=st.integers(1, 6),
        strategy=st.sampled_from(["pool", "random", "margin"]),
        audit=st.integers(0, 2),
        seed=st.integers(0, 3),
    )
    def begin(self, graph, budget, strategy, audit, seed):
        self.how = {
            "graph": querist.as_graph(GRAPHS[graph], nodes=NODES),
            "budget": budget,
            "classes": ["a", "b", "<b>"],
            "strategy": strategy,
            "audit": min(audit, budget - 1),
            "seed": seed,
            "journal": Path(self.folder.name) / "asked.journal",
        }
        self.asking = querist.ask(**self.how)
        self.done = []

    def now(self):
        """(node of the open question, answers): what another process would find."""
        question = self.asking.question
        return None if question is None else question.node, dict(self.asking.answers)

    @rule(given=st.sampled_from(["a", "b", "<b>"]))
    def answer(self, given):
        question = self.asking.question
        if question is None:
            with pytest.raises(InputError):
                self.asking.answer(given)
            return
        self.asking.answer(given)
        self.done.append((question.node, given))

    @rule(kind=st.sampled_from(["skip", "unsure"]))
    def leave_out(self, kind):
        question = self.asking.question
        if question is not None:
            getattr(self.asking, kind)()
            self.done.append((question.node, None))

    @rule(given=st.sampled_from(["c", 7, "", ("a",)]))
    def answer_badly(self, given):
        before = self.now()
        with pytest.raises(InputError):
            self.asking.answer(given)
        assert self.now() == before

    @rule()
    def undo(self):
        assert self.asking.undo() == bool(self.done)
        if self.done:
            node, _ = self.done.pop()
            assert self.asking.question is not None and self.asking.question.node == node

    @rule()
    def open_again(self):
        before = self.now()
        self.asking.close()
        self.asking = querist.ask(**self.how)
        assert self.now() == before, "opened again, it stands elsewhere"

    @invariant()
    def promises(self):
        if not hasattr(self, "asking"):
            return
        assert self.asking.asked <= self.how["budget"]
        assert self.asking.answers == {node: given for node, given in self.done if given is not None}

    def teardown(self):
        if hasattr(self, "asking"):
            if self.asking.answers:
                made = self.asking.labelling
                probabilities(made.probabilities[made.reached], "probabilities")
            self.asking.close()
        self.folder.cleanup()


@pytest.mark.slow
def test_online_machine():
    run_state_machine_as_test(OnlineMachine, settings=fuzzed(20, stateful_step_count=15))


def test_asking_machine():
    run_state_machine_as_test(AskingMachine, settings=fuzzed(6, stateful_step_count=10))
