"""Whatever several people do on two servers of one store, in any order: the log never says that two of them
had the same question, that more was asked than the budget allows, or that an answer is lost or there twice.

The log is judged by a replay of its own (`Replay`), which shares no code with the campaign.
"""

import shutil
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from querist.asking.store.sqlite import SqliteStore
from querist.serve.campaign import LEASE
from querist.serve.opening import create, open_campaign
from querist.serve.writing import RefusedError

PEOPLE = ("ann", "bob", "cem")
BUDGET = 6


class Replay:
    """What the log says of leases and the budget."""

    def __init__(self):
        self.seen = 0
        self.budget = BUDGET
        self.holder, self.late = {}, {}
        """Of open questions, by row: who has it (None: nobody), whether it came late."""
        self.closed = defaultdict(list)
        """Of every person: (row, outcome, late)."""
        self.answers = {}

    def take(self, event):
        body, row, who = event.body, event.body.get("row"), event.body.get("person")
        if event.kind == "question":
            assert row not in self.holder
            self.holder[row], self.late[row] = who, bool(body.get("late"))
        elif event.kind == "lease":
            assert self.holder[row] is None
            self.holder[row] = who
        elif event.kind == "beat":
            assert self.holder[row] == who
        elif event.kind in ("expire", "release"):
            assert self.holder[row] == who
            self.holder[row] = None
        elif event.kind in ("answer", "skip", "unsure"):
            if "replaces" in body:
                ((before, late),) = [
                    (each, each[2]) for each in self.closed[who] if each[:2] == (row, "answer")
                ]
                self.closed[who].remove(before)
                self.answers = {seq: own for seq, own in self.answers.items() if own[::2] != (row, who)}
            else:
                del self.holder[row]
                late = self.late[row]
            self.closed[who].append((row, event.kind, late))
            if event.kind == "answer":
                assert (row, who) not in {own[::2] for own in self.answers.values()}
                self.answers[event.seq] = (row, body["code"], who)
        elif event.kind == "undo":
            before, kind, self.late[row] = self.closed[who].pop()
            assert before == row
            if kind == "answer":
                self.answers = {seq: own for seq, own in self.answers.items() if own[::2] != (row, who)}
            self.holder[row] = who
        elif event.kind == "verdict":
            self.holder.pop(row, None)
        elif event.kind == "options":
            self.budget = body.get("budget", self.budget)
        assert event.seq == self.seen + 1
        self.seen = event.seq
        assert self.asked + sum(not self.late[row] for row in self.holder) <= self.budget

    @property
    def asked(self):
        outcomes = [each for own in self.closed.values() for each in own]
        return sum(kind == "answer" and not late for _, kind, late in outcomes)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A store with one campaign, to be copied."""
    path = tmp_path_factory.mktemp("machine") / "store"
    store = SqliteStore(path)
    create(store, "karate", budget=BUDGET, audit=1).close()
    store.close()
    return path


class Leases(RuleBasedStateMachine):
    """Several people, two servers."""

    begun: Path
    given = Bundle("given")
    done = Bundle("done")

    def __init__(self):
        super().__init__()
        self.now = 1_000_000.0
        self.folder = tempfile.TemporaryDirectory(prefix="querist-")
        path = Path(self.folder.name) / "store"
        shutil.copyfile(self.begun, path)
        self.stores = [SqliteStore(path, clock=lambda: self.now) for _ in range(2)]
        self.id = self.stores[0].campaigns()[0].id
        self.servers = [self.opened(store) for store in self.stores]
        self.replay, self.keys, self.acknowledged = Replay(), 0, {}

    def opened(self, store):
        found = open_campaign(store, self.id)
        found.clock = lambda: self.now
        return found

    def teardown(self):
        one, two = self.servers
        for each in (one, two):
            each.catch_up()
            assert each.learner.caught_up(each.last, 60)
            each.close()
        assert [*one.turns] == [*two.turns]
        assert one.turns.leases == two.turns.leases
        assert np.array_equal(one.asking.state.model.scores, two.asking.state.model.scores)
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    server = st.integers(0, 1)
    person = st.sampled_from(PEOPLE)

    @rule(target=given, at=server, person=person, count=st.integers(1, 3))
    def lease(self, at, person, count):
        found, why = self.servers[at].lease(person, count)
        assert len(found) == count or why is not None
        return multiple(*((person, question.row) for question in found))

    @rule(target=done, at=server, given=given, code=st.integers(0, 1))
    def answer(self, at, given, code):
        return self.sent(at, *given, "answer", code)

    @rule(target=done, at=server, given=given, outcome=st.sampled_from(["skip", "unsure"]))
    def leave(self, at, given, outcome):
        return self.sent(at, *given, outcome, None)

    def sent(self, at, *request):
        self.keys += 1
        who, row, outcome, code = request
        mine = [seq for seq, own in self.acknowledged.items() if own[::2] == (row, who)]
        try:
            body = self.servers[at].close_question(*request, f"k{self.keys}")
        except RefusedError:
            assert mine and outcome != "answer"
            return multiple()
        if outcome == "answer":
            same = [seq for seq in mine if self.acknowledged[seq][1] == code]
            assert (body["seq"] in self.acknowledged) == bool(same)
            for seq in mine:
                del self.acknowledged[seq]
            self.acknowledged[body["seq"]] = (row, code, who)
        return request, f"k{self.keys}", body

    @rule(at=server, done=done)
    def again(self, at, done):
        request, key, body = done
        assert self.servers[at].close_question(*request, key) == body

    @rule(at=server, given=given)
    def beat(self, at, given):
        self.perhaps(self.servers[at].beat, *given)

    @rule(at=server, given=consumes(given))
    def give_back(self, at, given):
        self.perhaps(self.servers[at].give_back, *given)

    @rule(at=server, person=person)
    def undo(self, at, person):
        with suppress(RefusedError):
            row = self.servers[at].undo(person)["row"]
            kept = self.acknowledged.items()
            self.acknowledged = {seq: own for seq, own in kept if own[::2] != (row, person)}

    @rule(at=server, row=st.integers(0, 33), code=st.integers(0, 1))
    def verdict(self, at, row, code):
        self.servers[at].verdict("manager", row, code)

    @rule(at=server, paused=st.booleans(), budget=st.integers(BUDGET, BUDGET + 3))
    def change(self, at, paused, budget):
        self.perhaps(lambda: self.servers[at].change("manager", paused=paused, budget=budget))

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE + 1]))
    def wait(self, seconds):
        self.now += seconds

    @rule(at=server)
    def expire(self, at):
        self.servers[at].expire()

    @rule(at=server)
    def restart(self, at):
        self.servers[at].close()
        self.servers[at] = self.opened(self.stores[at])

    def perhaps(self, call, *values):
        with suppress(RefusedError):
            call(*values)

    @invariant()
    def the_log_makes_sense(self):
        for event in self.stores[0].events(self.id, after=self.replay.seen):
            self.replay.take(event)
        assert self.replay.answers == self.acknowledged


@pytest.mark.slow
def test_leases(begun):
    Leases.begun = begun
    few = settings(max_examples=max(8, settings().max_examples // 4), stateful_step_count=40)
    run_state_machine_as_test(Leases, settings=few)
