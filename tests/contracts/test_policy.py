"""One policy: after the same events `ask` and a served campaign do the same, whatever the options.

Both are driven step by step: several people ask for questions, answer them, skip them and take answers back;
a manager pauses the campaign, decides on nodes and changes options; both are closed and opened
again. Every question is compared with all that is kept of it, and every reason to stop.
"""

import importlib.util
import sys
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import querist.asking.campaign
import querist.asking.policy
import querist.serve.campaign
import querist.serve.server
from querist.asking.files import from_files
from querist.asking.policy import AGAIN, AUDITED, SECOND, STOP_RULES, Stop, next_action, next_actions
from querist.asking.store.sqlite import SqliteStore
from querist.errors import InputError
from querist.serve.opening import create, open_campaign
from querist.serve.server import arrive
from querist.serve.writing import RefusedError

HAPPENS = ("undo", "pause", "resume", "verdict", "budget", "stop", "reopen", "arrive")
PEOPLE = ("ann", "bob", "cem")
MR_HI = "Mr. Hi"
OPTIONS = {
    "plain": {"budget": 12},
    "to the last node": {"budget": 40},
    "random": {"strategy": "random", "audit": 4, "budget": 16},
    "audit": {"audit": 6, "budget": 20},
    "repeats": {"repeats": 6, "budget": 20},
    "repeats and audit": {"repeats": 5, "audit": 4, "budget": 20},
    "second opinions": {"second_opinions": True, "noise": 0.3, "budget": 24},
    "second opinions and repeats": {"second_opinions": True, "repeats": 6, "noise": 0.2, "budget": 24},
    "overlap": {"overlap": 2, "audit": 3, "budget": 24},
    "find": {"find": MR_HI, "budget": 20, "audit": 3},
    "stop": {"stop": 0.05, "budget": 30, "audit": 5},
    "stop and repeats": {"stop": 0.05, "repeats": 6, "budget": 30},
    "stop and find": {"find": MR_HI, "stop": 0.9, "budget": 30},
    "unanswered": {"unanswered": 5, "budget": 25, "audit": 3},
    "several labels": {"multilabel": True, "audit": 3, "repeats": 4, "budget": 16},
    "several labels, stop": {"multilabel": True, "stop": 0.3, "second_opinions": True, "budget": 20},
}


class Synchronous:
    """A learner of a served campaign that has learned each event when it is written."""

    complete, curve, failed, lock = True, (), None, threading.RLock()

    def __init__(self, asking, seq, fresh, busy):
        self.state, self.seq = asking.state, seq
        self.pick, self.doubts = self.state.pick, self.state.doubts

    def feed(self, events):
        for event in events:
            self.state.apply(event)
            self.seq = event.seq

    def want(self, count): ...

    def wait(self, timeout, since): ...

    def caught_up(self, seq, timeout):
        return True

    def close(self): ...


class Asked:
    """What `ask` does."""

    def __init__(self, journal, options):
        self.journal = journal
        self.open(**options)

    def open(self, **options):
        self.asking = from_files("karate", journal=self.journal, **options).asking
        self.turns = self.asking.state.turns

    def reopen(self):
        self.asking.close()
        self.open()

    def questions(self, person, count):
        self.asking.person = person
        return self.asking.questions(count), self.asking.stopped

    def close(self, person, row, outcome, code):
        node = self.asking.graph.nodes[row]
        if outcome != "answer":
            return getattr(self.asking, outcome)(node=node, person=person)
        names = self.asking.classes
        given = {names[each] for each in code} if isinstance(code, list) else names[code]
        return self.asking.answer(given, node=node, person=person)

    def undo(self, person):
        try:
            return self.asking.undo(person=person)
        except InputError as problem:
            return str(problem)

    def arrive(self, edges):
        self.asking.extend(edges)

    def happens(self, kind, **body):
        if kind != "options":
            return self.asking._write(kind, **body)
        self.asking.close()
        try:
            self.open(**{name: value for name, value in body.items() if name != "person"})
        except InputError as problem:
            self.open()
            return str(problem)


class Served:
    """What the server does."""

    def __init__(self, store, options):
        self.store = SqliteStore(store)
        self.campaign = create(self.store, "karate", **{"second_opinions": False, "noise": 0.0} | options)

    @property
    def turns(self):
        return self.campaign.turns

    def reopen(self):
        self.campaign.close()
        self.store.close()
        self.store = SqliteStore(self.store.path)
        self.campaign = open_campaign(self.store, self.campaign.id)

    def questions(self, person, count):
        return self.campaign.lease(person, count)

    def close(self, person, row, outcome, code):
        self.campaign.close_question(person, row, outcome, code)

    def undo(self, person):
        try:
            return self.campaign.undo(person)["row"] is not None
        except RefusedError as problem:
            return str(problem)

    def arrive(self, edges):
        arrive(self.campaign, edges, None)

    def happens(self, kind, **body):
        own, person = self.campaign, body.pop("person")
        if kind == "verdict":
            return own.verdict(person, **body) and None
        try:
            own.change(person, **({"paused": kind == "pause"} if kind in ("pause", "resume") else body))
        except RefusedError as problem:
            return str(problem)


def kept(turn):
    """All that is kept of a question and its answer, but for its lease."""
    about = {name: value for name, value in turn.about.items() if name not in ("person", "until")}
    return replace(turn, about=about)


def compare(seed, options, steps=45, often=()):
    """Drive both, and let some things happen often; the number of questions and the reasons to stop."""
    with TemporaryDirectory() as folder:
        both = Asked(f"{folder}/journal", options), Served(f"{folder}/store", options)
        return drive(both, seed, options, steps, often)


def drive(both, seed, options, steps, often):
    draw = np.random.default_rng(seed)
    several, asked, reasons, person = options.get("multilabel", False), 0, set(), PEOPLE[0]
    for step in range(steps):
        what = draw.choice([*HAPPENS, *["ask"] * 24, *often])
        if what == "undo":
            first, second = (each.undo(person) for each in both)
            assert first == second
            continue  # the same person goes on: the server leases the question to them
        if what == "reopen":
            for each in both:
                each.reopen()
        elif what == "arrive":
            edges = [(f"new {step}", both[0].asking.graph.nodes[row]) for row in draw.integers(34, size=2)]
            for each in both:
                each.arrive(edges)
        elif what in ("pause", "resume", "verdict", "budget", "stop"):
            row, code = int(draw.integers(34)), [int(draw.integers(2))] if several else int(draw.integers(2))
            spent = both[1].campaign.status.spent
            body = {
                "verdict": {"row": row, "code": code},
                "budget": {"budget": max(1, spent - 1 + int(draw.integers(10)))},
                "stop": {"stop": draw.choice([None, 0.02, 0.5])},
            }.get(what, {})
            kind = "options" if what in ("budget", "stop") else str(what)
            first, second = (each.happens(kind, person="boss", **body) for each in both)
            assert (first or None) == (second or None)
        else:
            person = PEOPLE[int(draw.integers(3))] if not both[1].campaign.held(person) else person
        count, held = int(draw.integers(1, 3)), both[1].campaign.held(person)
        (mine, why), (theirs, why_theirs) = (each.questions(person, count) for each in both)
        if both[0].asking.state.paused and held:  # a question that somebody has on the server stays theirs
            assert not mine and {each.row for each in theirs} <= set(held)
            mine = theirs
        assert mine == theirs, f"step {step}"
        if len(mine) < count and not both[0].turns.n_open:
            assert why == why_theirs is not None, f"step {step}"
            reasons.add(why)
        assert [*map(kept, both[0].turns)] == [*map(kept, both[1].turns)], f"step {step}"
        for question in mine:
            outcome = str(draw.choice(["answer", "answer", "answer", "answer", "skip", "unsure"]))
            code = int((question.row + draw.integers(4) // 3) % 2)
            code = list(range(draw.integers(3))) if several else code
            for each in both:
                each.close(person, question.row, outcome, code if outcome == "answer" else None)
            asked += 1
    assert both[1].campaign.status.stopped == both[0].asking.state.stopped
    both[0].asking.close()
    both[1].campaign.close()
    both[1].store.close()
    return asked, reasons


@pytest.fixture(autouse=True)
def synchronous(monkeypatch):
    monkeypatch.setattr(querist.serve.campaign, "BackgroundLearner", Synchronous)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", OPTIONS)
def test_both_do_the_same_after_the_same_events(name, seed):
    asked, _ = compare(seed, OPTIONS[name])
    assert asked >= 8


def without(what):
    """The policy with one rule changed: instead of this, the best new question."""

    def changed(status, candidates, person=None, held=(), picked=()):
        action = next_action(status, candidates, person, held, picked)
        if isinstance(action, what) if isinstance(what, type) else getattr(action, "reason", None) == what:
            return candidates.pick({*held, *(pick.row for pick in picked)}) or action
        return action

    def several(*given):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(querist.asking.policy, "next_action", changed)
            return next_actions(*given)

    return several


@pytest.mark.slow
@pytest.mark.parametrize("place", [querist.asking.campaign, querist.serve.campaign])
@pytest.mark.parametrize(
    ("name", "what"),
    [("audit", AUDITED), ("repeats", AGAIN), ("second opinions", SECOND), ("stop", Stop), ("plain", Stop)],
)
def test_a_rule_that_is_changed_in_one_place_is_noticed(monkeypatch, place, name, what):
    monkeypatch.setattr(place, "next_actions", without(what))
    with pytest.raises((AssertionError, RefusedError)):
        [compare(seed, OPTIONS[name]) for seed in range(3)]


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        (querist.asking.campaign, "arrived"),
        (querist.serve.server, "arrived"),
        (querist.asking.campaign, "undo_refusal"),
        (querist.serve.campaign, "undo_refusal"),
        (querist.asking.campaign, "change_refusal"),
        (querist.serve.campaign, "change_refusal"),
    ],
)
def test_a_rule_that_is_left_out_in_one_place_is_noticed(monkeypatch, place, rule):
    monkeypatch.setattr(place, rule, lambda *given: None)
    often = [{"arrived": "arrive", "undo_refusal": "undo", "change_refusal": "budget"}[rule]] * 12
    with pytest.raises((AssertionError, RefusedError)):
        [compare(seed, {"budget": 6, "audit": 2}, often=often) for seed in range(6)]


class Late(Synchronous):
    """The same, but that it is rarely known what is in doubt."""

    def __init__(self, *given):
        super().__init__(*given)
        self.found, self.doubts = self.state.doubts(), lambda: self.found

    def feed(self, events):
        super().feed(events)
        if self.seq % 10 == 0:
            self.found = self.state.doubts()


@pytest.mark.parametrize(("name", "most"), [("overlap", 2), ("second opinions", 3), ("repeats", 3)])
def test_a_late_learner_lets_nobody_answer_too_often(monkeypatch, tmp_path, name, most):
    monkeypatch.setattr(querist.serve.campaign, "BackgroundLearner", Late)
    served = Served(tmp_path / "store", OPTIONS[name])
    for step in range(60):
        for question in served.questions("abcdef"[step % 6], 1)[0]:
            served.close("abcdef"[step % 6], question.row, "answer", step % 2)
    votes = Counter(turn.row for turn in served.turns if turn.outcome == "answer" and not turn.audit)
    assert max(votes.values()) == most
    served.campaign.close()
    served.store.close()


def test_a_question_for_another_person_takes_another_person():
    asking = from_files("karate", overlap=2, person="ann").asking
    first = asking.question
    asking.answer(MR_HI)
    asking.person = "bob"
    assert asking.question.node == first.node
    for close in (partial(asking.answer, MR_HI), asking.skip, asking.unsure):
        with pytest.raises(InputError, match="is for another person"):
            close(node=first.node, person="ann")
    asking.answer(MR_HI, node=first.node)
    assert [turn.person for turn in asking.state.turns] == ["ann", "bob"]


def test_undo_is_that_of_the_person_who_opened_the_campaign():
    def undone(**given):
        asking = from_files("karate", person="ann").asking
        first, second = asking.questions(2)
        asking.answer(MR_HI, node=first.node)
        asking.questions(2)
        asking.answer(MR_HI, node=second.node, person="bob")
        assert asking.undo(**given)
        return [turn.row for turn in asking.state.turns.opens], first.row

    opens, first = undone(person="ann")
    assert (opens, first) == undone() and first in opens and len(opens) == 2


MODULE = '''
"""A stop rule of somebody else."""

from querist.asking.policy import stop_rule


@stop_rule("toy_rule")
def by_classes(status, spent):
    """Every class has two answers."""
    codes = [turn.code for turn in status.turns if turn.outcome == "answer"]
    enough = all(codes.count(code) >= 2 for code in range(len(status.options.classes)))
    return "every class has two answers" if enough else None
'''


def test_a_stop_rule_is_one_module(tmp_path):
    path = tmp_path / "toy_rule.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_rule", path)
    sys.modules["toy_rule"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        asked, reasons = compare(0, OPTIONS["plain"])
        assert "every class has two answers" in reasons
    finally:
        del sys.modules["toy_rule"], STOP_RULES["toy_rule"]
    assert asked < compare(0, OPTIONS["plain"])[0]
