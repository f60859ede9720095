"""Learners that several threads use at once: every promise holds as for one."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

import querist
from querist.budgeted.learner import BLS
from querist.errors import InputError
from querist.locks import OwnLock

N, BUDGET, THREADS, TURNS = 60, 25, 4, 30


@pytest.fixture(autouse=True)
def impatient():
    """Threads that change places as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Do `work(number)` in many threads; the first problem of any is raised."""
    problems = []

    def call(number):
        try:
            work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=call, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        raise problem


@pytest.mark.slow
@pytest.mark.parametrize("name", ["msg", "sslgc", "pounce", "fastonl", "paced"])
def test_a_learner_of_several_threads_keeps_its_budget_and_counts_every_round(name):
    graph = querist.as_graph([(k, (k + step) % N) for k in range(N) for step in (1, 2)])
    more = {"rounds": 500} if name == "paced" else {}
    on = graph if name in ("pounce", "fastonl", "paced") else querist.embed(graph, rank=8)
    learner = querist.ALGORITHMS[name](on, 3, budget=BUDGET, seed=0, **more)
    played, learned, refused = [], [], []

    def work(number):
        for turn in range(TURNS):
            node = (7 * number + turn) % N
            decision = learner.decide(node)
            learner.predict()
            try:
                learner.commit(decision)
            except InputError as problem:
                refused.append(str(problem))
                continue
            played.append(decision)
            if decision.ask:
                learned.append(learner.learn(node, node % 3))

    together(work)
    assert len(played) + len(refused) == TURNS * THREADS
    assert all("decide again" in problem for problem in refused)
    assert learner.round == len(played)
    assert sorted(decision.round for decision in played) == list(range(1, len(played) + 1))
    assert learner.questions == sum(decision.ask for decision in played) <= BUDGET
    assert learner.updates == sum(learned)
    assert not learner.pending
    assert np.isfinite(learner.scores()).all()


def test_a_stream_of_several_threads_learns_every_item_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(TURNS, 3))
    learner = BLS(2, width=1.0, budget_labelled=10, budget_unlabelled=10)

    def work(number):
        for row in range(len(X)):
            learner.run(X[row : row + 1], np.array([row % 2 if row % 3 else -1]))
            assert np.isfinite(learner.scores(X[:5])).all()

    together(work)
    assert learner.seen == THREADS * len(X)
    assert learner.sizes[0] <= 10
    assert learner.sizes[1] <= 10


def test_questions_that_several_threads_answer_are_kept_once_each(tmp_path):
    karate = querist.load_graph("karate")
    kept = {"classes": ["a", "b"], "budget": BUDGET, "journal": tmp_path / "journal"}
    asking = querist.ask(karate, **kept)
    answered = []

    def work(number):
        while (question := asking.question) is not None:
            try:
                asking.answer("ab"[question.row % 2], node=question.node)
            except InputError:  # another thread was first
                continue
            answered.append(question.node)

    together(work)
    asking.close()
    assert len(answered) == len(set(answered)) == asking.asked == BUDGET
    again = querist.ask(karate, **kept)
    assert again.answers == asking.answers
    assert np.array_equal(again.state.model.scores, asking.state.model.scores)
    again.close()


def test_a_copy_has_a_lock_of_its_own():
    learner = BLS(2, width=1.0)
    for other in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert isinstance(other.own_lock, OwnLock)
        assert other.own_lock is not learner.own_lock
        with learner.own_lock:
            thread = threading.Thread(target=other.run, args=([[0.0]], [0]))
            thread.start()
            thread.join(60)
            assert not thread.is_alive()
