"""The promises of the online family, each one test over the whole catalogue.

Every algorithm of `querist.ALGORITHMS`, in both schemes where it has both, under several settings, with and
without a budget. "Bitwise" is meant literally: arrays are compared as bytes.
"""

import io
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from hypothesis import HealthCheck, given, settings, strategies as st

import querist
from querist import ALGORITHMS, Embedding, InputError, Learner, QueristError
from querist.online import algebra
from querist.online.checks import Answer
from querist.online.composition import OnlineParts
from querist.parameters import parameters_of

# -- the catalogue ------------------------------------------------------------------

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "gpa": [{}, {"update": "always"}],
    "ollgc": [{}, {"mu": 0.01, "update": "always"}],
    "sslgc": [{}, {"mu": 0.01, "kappa": 0.9}],
    "cmog": [{}, {"gamma": 0.01, "update": "always"}, {"target": "one-hot"}],
    "cmog_selected": [{"h": 1e-4}, {"h": 10.0, "gamma": 0.01}],
    "msg": [{"h": 1e-6, "gamma": 0.01}, {}, {"h": 100.0}, {"h": 1e-3, "target": "one-hot"}],
    "bbq": [{}, {"kappa": 0.8, "gamma": 0.01}, {"update": "mistake", "target": "one-hot"}],
    "bbq_eps": [{}, {"eps": 0.3}, {"eps": 0.05, "gamma": 0.01, "update": "mistake"}],
    "dgs": [
        {},
        {"base": 0.02, "history": 0.01, "log": 0.01},
        {"base": 1.0, "history": 0.5, "log": 0.1, "update": "mistake"},
        {"alpha": 0.02},
        {"alpha": 1.0, "gamma": 0.01},
    ],
    "random_sampling": [
        {},
        {"p": 0.05, "gamma": 0.01},
        {"p": 0.3, "second_order": False, "update": "mistake"},
        {"p": 0.2, "update": "mistake"},
    ],
    "margin_threshold": [
        {"tau": 1.0},
        {"tau": 0.7, "gamma": 0.01, "target": "one-hot"},
        {"tau": 8.0, "second_order": False, "update": "mistake"},
    ],
}


class Case(NamedTuple):
    name: str
    settings: dict[str, Any]

    def learner(self, embedding: Any, n_classes: int, **protocol: Any) -> Learner:
        return ALGORITHMS[self.name](embedding, n_classes, **self.settings, **protocol)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.settings.items())])


def catalogue() -> Iterator[Case]:
    for name, make in ALGORITHMS.items():
        schemes = ["multiclass", "one-vs-rest"] if "scheme" in parameters_of(make) else [None]
        for given_settings in SETTINGS.get(name, [{}]):
            for scheme in schemes:
                case = Case(name, given_settings | ({"scheme": scheme} if scheme else {}))
                try:
                    case.learner(np.eye(3), 3)
                except InputError:
                    assert name not in SETTINGS  # an algorithm of another family may have one scheme only
                else:
                    yield case


CASES = list(catalogue())
COMPOSED = [case for case in CASES if case.learner(np.eye(3), 3)._parts is OnlineParts]
"""Those that keep P and W; other families keep other things, under the same protocol."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_composition = pytest.mark.parametrize("case", COMPOSED, ids=str)
budgets = pytest.mark.parametrize("budget", [None, 7], ids=["no-budget", "budget-7"])


def test_the_catalogue_is_whole() -> None:
    assert (
        {
            *("gpa", "ollgc", "sslgc", "cmog", "cmog_selected"),
            *("msg", "bbq", "bbq_eps", "dgs", "random_sampling", "margin_threshold"),
        }
        == set(SETTINGS)
        == {case.name for case in COMPOSED}
    )
    assert set(ALGORITHMS) == {case.name for case in CASES}


# -- a world to play in -------------------------------------------------------------


class World(NamedTuple):
    rows: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    n_classes: int


def world(length: int, d: int = 6, n_classes: int = 3, seed: int = 0, scale: float = 1.0) -> World:
    """Noisy clusters, a fifth of the labels wrong, in an order that comes back to some nodes.

    Clusters are learned soon, so that most later rounds ask little: the loop screens them.
    """
    rng = np.random.default_rng([seed, length, d, n_classes])
    n = max(2, (2 * length) // 3)
    cluster = rng.integers(n_classes, size=n)
    centres = rng.standard_normal((n_classes, d))
    rows = scale * (centres[cluster] + 0.3 * rng.standard_normal((n, d)))
    rows[rng.random(n) < 0.05] = rows[0]  # nodes that cannot be told apart
    labels = np.where(rng.random(n) < 0.2, rng.integers(n_classes, size=n), cluster)
    return World(rows, labels, rng.integers(n, size=length), n_classes)


def bits(learner: Learner) -> dict[str, Any]:
    """Everything that learning changes, as bytes, and the open questions."""
    arrays = learner._state._asdict().items()
    found: dict[str, Any] = {key: (value.dtype.str, value.shape, value.tobytes()) for key, value in arrays}
    return found | {"pending": [(node, list(queue)) for node, queue in learner._pending.items()]}


def step(learner: Learner, world: World, uniforms: Any = None) -> dict[str, list[Any]]:
    """The loop that `run` compiles: decide, commit, learn at once."""
    seen: dict[str, list[Any]] = {
        key: []
        for key in ("predicted", "asked", "mistaken", "updated", "margin", "variance", "problem_asked")
    }
    for i, node in enumerate(world.order.tolist()):
        decision = learner.decide(node) if uniforms is None else learner.decide(node, uniforms[i])
        learner.commit(decision)
        label = int(world.labels[node])
        wrong = decision.prediction != label
        if decision.scores.size == 1:  # a binary score of 0 is wrong whatever the label
            tie = learner._place.tie[node]
            wrong = bool(decision.scores[0] <= tie if label == 1 else decision.scores[0] >= -tie)
        seen["updated"].append(learner.learn(node, label) if decision.ask else False)
        seen["predicted"].append(decision.prediction)
        seen["asked"].append(decision.ask)
        seen["mistaken"].append(wrong)
        seen["margin"].append(decision.margin)
        seen["variance"].append(decision.variance)
        seen["problem_asked"].append(decision.asks.tolist())
    return seen


def same_trace(trace: querist.Trace, seen: dict[str, list[Any]]) -> None:
    for key in ("predicted", "asked", "mistaken", "updated"):
        assert getattr(trace, key).tolist() == seen[key], key
    for key in ("margin", "variance"):
        np.testing.assert_allclose(getattr(trace, key), seen[key], rtol=1e-10, atol=1e-10, err_msg=key)
    if trace.problems is not None:
        assert trace.problems.asked.tolist() == seen["problem_asked"]


# -- run = step -----------------------------------------------------------------------

SHAPES = [  # rounds, columns, classes
    *((1, 1, 2), (2, 2, 3), (63, 3, 4), (64, 4, 5), (65, 5, 6), (200, 7, 7), (1000, 8, 8), (200, 9, 2)),
    *((65, 33, 3), (200, 100, 4), (400, 1, 2), (300, 2, 5), (129, 6, 2)),
]


@pytest.mark.slow
@every_case
@budgets
def test_run_is_step(case: Case, budget: int | None) -> None:
    for length, d, n_classes in SHAPES:
        here = world(length, d, n_classes)
        stepwise, compiled = (case.learner(here.rows, n_classes, budget=budget, seed=3) for _ in range(2))
        seen = step(stepwise, here)
        same_trace(compiled.run(here.order, here.labels), seen)
        assert bits(compiled) == bits(stepwise)


@pytest.mark.slow
@every_case
@settings(max_examples=12)
@given(st.data())
def test_run_is_step_where_it_is_hard(case: Case, data: st.DataObject) -> None:
    """Few distinct rows, of very different lengths: exact ties, thresholds hit, blocks screened or not."""
    d, n_classes = data.draw(st.integers(1, 9)), data.draw(st.integers(2, 4))
    seed, length = data.draw(st.integers(0, 10**6)), data.draw(st.integers(1, 330))
    longest = data.draw(st.sampled_from([1.0, 1e-6, 10.0, 1e4]))
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    rows = rng.integers(-2, 3, size=(n, d)) * longest * 10.0 ** -rng.integers(0, 5, size=(n, 1))
    labels = rng.integers(n_classes, size=n)
    here = World(rows, labels, rng.integers(n, size=length), n_classes)
    uniforms = np.where(rng.random(length) < 0.3, 0.0, rng.random(length))
    budget = data.draw(st.sampled_from([None, None, 0, 1, 20]))
    stepwise, compiled = (case.learner(rows, n_classes, budget=budget) for _ in range(2))
    seen = step(stepwise, here, uniforms)
    same_trace(compiled.run(here.order, labels, uniforms), seen)
    assert bits(compiled) == bits(stepwise)


@every_case
def test_one_run_is_many(case: Case) -> None:
    here = world(333)
    whole, parts, replayed = (case.learner(here.rows, here.n_classes, seed=5) for _ in range(3))
    trace = whole.run(here.order, here.labels)
    cuts = [0, 0, 1, 40, 104, 105, 250, 333]
    pieces = [parts.run(here.order[start:stop], here.labels) for start, stop in pairwise(cuts)]
    own = [algebra.draw(5, t) for t in range(1, 334)]
    again = replayed.run(here.order, here.labels, own)
    for key in ("node", "predicted", "asked", "mistaken", "updated"):
        assert (
            np.concatenate([getattr(piece, key) for piece in pieces]).tolist() == getattr(trace, key).tolist()
        )
        assert getattr(again, key).tolist() == getattr(trace, key).tolist()
    assert bits(parts) == bits(whole) == bits(replayed)


@every_case
def test_an_oracle_is_as_good_as_labels(case: Case) -> None:
    here = world(150)
    by_labels, by_oracle = (case.learner(here.rows, here.n_classes, budget=60) for _ in range(2))
    expected = by_labels.run(here.order, here.labels)
    trace = by_oracle.run(here.order, lambda node: int(here.labels[node]))
    assert bits(by_oracle) == bits(by_labels)
    for key in ("node", "predicted", "asked", "updated"):
        assert getattr(trace, key).tolist() == getattr(expected, key).tolist()
    assert trace.judged.tolist() == expected.asked.tolist()
    assert trace.mistaken.tolist() == (expected.mistaken & expected.asked).tolist()


# -- decide is pure ----------------------------------------------------------------------


def everything(decision: querist.Decision) -> list[Any]:
    names = [name for name in dir(decision) if not name.startswith("_")]
    values = [getattr(decision, name) for name in names]
    return [value.tobytes() if isinstance(value, np.ndarray) else value for value in values]


@pytest.mark.slow
@every_case
def test_decide_changes_nothing(case: Case) -> None:
    here = world(80)
    learner, twin = (case.learner(here.rows, here.n_classes, seed=1, budget=30) for _ in range(2))
    for node in here.order.tolist():
        before = bits(learner)
        first = learner.decide(node)
        others = [everything(learner.decide(other)) for other in (0, len(here.rows) - 1, node)]
        learner.scores()
        learner.predict()
        assert (
            everything(first)
            == others[-1]
            == everything(learner.decide(node))
            == everything(twin.decide(node))
        )
        assert bits(learner) == before
        for each in (learner, twin):
            decision = each.decide(node)
            each.commit(decision)
            if decision.ask:
                each.learn(node, int(here.labels[node]))
    assert bits(learner) == bits(twin)


# -- seeds and draws -----------------------------------------------------------------------


@pytest.mark.parametrize("case", [c for c in COMPOSED if c.name == "random_sampling"], ids=str)
def test_a_seed_decides_the_draws(case: Case) -> None:
    here = world(200)
    asked = [
        tuple(case.learner(here.rows, here.n_classes, seed=seed).run(here.order, here.labels).asked)
        for seed in (0, 0, 1, 2, -1, 2**62)
    ]
    assert asked[0] == asked[1]
    assert len(set(asked)) == len(asked) - 1


def test_draws_are_uniform_and_independent() -> None:
    """Along rounds, along seeds, and between neighbouring rounds and seeds."""
    grid = np.array([[algebra.draw(seed, t) for t in range(1, 401)] for seed in range(400)])
    assert grid.min() >= 0
    assert grid.max() < 1
    assert np.unique(grid).size == grid.size
    assert scipy.stats.kstest(grid.ravel(), "uniform").pvalue > 1e-3
    by_row = [scipy.stats.kstest(line, "uniform").pvalue for line in (*grid, *grid.T)]
    assert scipy.stats.kstest(by_row, "uniform").pvalue > 1e-4
    for lag in (1, 2, 3, 64):
        bound = 4.5 / math.sqrt(grid.size)
        for a, b in (
            (grid[:, lag:], grid[:, :-lag]),
            (grid[lag:], grid[:-lag]),
            (grid[lag:, lag:], grid[:-lag, :-lag]),
            (grid[lag:, :-lag], grid[:-lag, lag:]),
        ):
            assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < bound
    low_bits = (grid * 2**53).astype(np.int64) % 16
    assert scipy.stats.chisquare(np.bincount(low_bits.ravel(), minlength=16)).pvalue > 1e-3


# -- budget ---------------------------------------------------------------------------------


@pytest.mark.slow
@every_case
@pytest.mark.parametrize("way", ["run", "step", "oracle", "unanswered"])
def test_a_budget_is_never_exceeded(case: Case, way: str) -> None:
    here = world(90)
    free = case.learner(here.rows, here.n_classes)
    wanted = free.run(here.order, here.labels).questions
    for budget in (0, 1, 2, 5, len(here.order)):
        learner = case.learner(here.rows, here.n_classes, budget=budget)
        calls: list[int] = []

        def oracle(node: int, calls: list[int] = calls) -> int:
            calls.append(node)
            return int(here.labels[node])

        if way == "run":
            asked = learner.run(here.order, here.labels).asked.tolist()
        elif way == "oracle":
            asked = learner.run(here.order, oracle).asked.tolist()
            assert len(calls) == sum(asked)
        elif way == "step":
            asked = step(learner, here)["asked"]
        else:
            asked = []
            for node in here.order.tolist():
                decision = learner.decide(node)
                learner.commit(decision)
                asked.append(decision.ask)
            assert len(learner.pending) == sum(asked)
        assert sum(asked) == learner.questions <= budget
        if way != "unanswered":
            assert learner.questions == min(budget, wanted)
        if learner.questions == budget:
            # Spent: rounds are counted, nothing else changes.
            spent = bits(learner)
            decision = learner.decide(0)
            assert decision.spent and not decision.ask and not decision.asks.any()
            trace = learner.run(here.order, here.labels)
            assert not trace.asked.any() and not trace.updated.any()
            after = bits(learner)
            assert {key for key in spent if spent[key] != after[key]} == {"counts"}
            assert learner.questions == budget


# -- answers: from the oracle alone, late, in any order -------------------------------------


@pytest.mark.slow
@every_case
def test_the_oracle_is_called_only_when_asked(case: Case) -> None:
    here = world(120)
    learner = case.learner(here.rows, here.n_classes)
    calls: list[int] = []

    def oracle(node: int) -> int:
        calls.append(node)
        assert learner.round == len(trace_so_far)
        return int(here.labels[node])

    trace_so_far: list[bool] = []
    for node in here.order.tolist():
        before = len(calls)
        piece = learner.run([node], oracle)
        trace_so_far.append(bool(piece.asked[0]))
        assert calls[before:] == ([node] if piece.asked[0] else [])
    at_once = case.learner(here.rows, here.n_classes)
    again: list[int] = []
    trace = at_once.run(here.order, lambda node: again.append(node) or int(here.labels[node]))
    assert again == calls == here.order[trace.asked].tolist()
    assert all(type(node) is int for node in again)


@every_case
def test_labels_that_were_not_asked_for_do_not_matter(case: Case) -> None:
    here = world(200, seed=8)
    order = np.random.default_rng(0).permutation(len(here.rows))
    learner = case.learner(here.rows, here.n_classes)
    trace = learner.run(order, here.labels)
    unseen = np.setdiff1d(order, order[trace.asked])
    corrupted = here.labels.copy()
    corrupted[unseen] = (corrupted[unseen] + 1) % here.n_classes
    fooled = case.learner(here.rows, here.n_classes)
    other = fooled.run(order, corrupted)
    assert bits(fooled) == bits(learner)
    for key in ("predicted", "asked", "updated", "margin", "variance"):
        assert getattr(other, key).tobytes() == getattr(trace, key).tobytes()
    assert other.mistaken[trace.asked].tolist() == trace.mistaken[trace.asked].tolist()


def asked_learner(case: Case, here: World, **protocol: Any) -> Learner:
    """A learner with open questions: it answers a few first, so that it knows something."""
    learner = case.learner(here.rows, here.n_classes, **protocol)
    learner.run(here.order[:8], here.labels, np.zeros(8))
    for node in here.order[8:].tolist():
        learner.commit(learner.decide(node, 0.0))
    return learner


@every_case
def test_answers_come_late_and_in_any_order(case: Case) -> None:
    here = world(40)
    learner = asked_learner(case, here)
    open_questions = list(learner.pending)
    asked = learner.questions
    assert len(open_questions) > 2
    rng = np.random.default_rng(1)
    for left in range(len(open_questions), 0, -1):
        node = open_questions.pop(int(rng.integers(left)))
        before = learner.updates
        learned = learner.learn(node, int(here.labels[node]))
        assert learner.updates == before + learned
        assert sorted(learner.pending) == sorted(open_questions)
        assert learner.questions == asked
    assert learner.pending == ()
    assert all(np.isfinite(array).all() for array in learner._state if array.dtype.kind == "f")


def test_a_run_answers_its_own_questions() -> None:
    """Questions that were open before stay open, with labels and with an oracle alike."""
    here = world(40)
    different = []
    for case in CASES:
        by_labels, by_oracle = (asked_learner(case, here) for _ in range(2))
        before = by_labels.pending
        by_labels.run(here.order, here.labels)
        by_oracle.run(here.order, lambda node: int(here.labels[node]))
        if bits(by_oracle) != bits(by_labels) or by_labels.pending != before:
            different.append(str(case))
    assert not different


@every_case
def test_a_node_asked_twice_is_answered_twice(case: Case) -> None:
    here = world(40)
    learner = case.learner(here.rows, here.n_classes)
    learner.run(here.order[:8], here.labels, np.zeros(8))
    for _ in range(60):
        learner.commit(learner.decide(1, 0.0))
    times = len(learner.pending)
    assert learner.pending == (1,) * times
    assert times > 1 or case.name in ("dgs", "margin_threshold")  # these are soon sure of a node
    for left in range(times, 0, -1):
        learner.learn(1, 0)
        assert learner.pending == (1,) * (left - 1)
    with pytest.raises(InputError, match="open question"):
        learner.learn(1, 0)


@every_case
def test_a_question_that_is_withdrawn_was_never_spent(case: Case) -> None:
    here = world(40)
    learner = case.learner(here.rows, here.n_classes, budget=2)
    learner.run(here.order[:1], here.labels, [0.0])
    taken_back = 0
    for node in here.order[1:].tolist():
        decision = learner.decide(node, 0.0)
        learner.commit(decision)
        if decision.ask:
            state = {name: array.tobytes() for name, array in learner._state._asdict().items()}
            learner.withdraw(node)
            after = {name: array.tobytes() for name, array in learner._state._asdict().items()}
            assert {name for name in state if state[name] != after[name]} == {"counts"}
            taken_back += 1
            assert learner.pending == () and not learner.decide(node).spent
            with pytest.raises(InputError, match="open question"):
                learner.withdraw(node)
    assert taken_back > 2


@every_case
def test_a_bad_answer_changes_nothing(case: Case) -> None:
    here = world(40)
    learner = asked_learner(case, here)
    before = bits(learner)
    unasked = next(node for node in range(len(here.rows)) if node not in learner.pending)
    for node in (unasked, -1, len(here.rows), 10**9):
        with pytest.raises(InputError, match="open question"):
            learner.learn(node, 0)
    first, second, *_ = learner.pending
    for answer in (-1, 3, 1.0, "a", None, set(), {0, 3}, {-1}, [0], [0, 1], (), np.array([0, 1]), np.nan):
        with pytest.raises(InputError):
            learner.learn(first, answer)
        assert bits(learner) == before
    # These are good, and teach nothing.
    assert learner.learn(first, Answer.UNSURE) is False
    assert learner.learn(second, {0, 1, 2}) is False
    after = bits(learner)
    assert {key for key in before if before[key] != after[key]} == {"pending"}


@every_case
def test_a_round_is_closed_once(case: Case) -> None:
    here = world(20)
    learner = case.learner(here.rows, here.n_classes)
    old = learner.decide(0)
    learner.commit(old)
    before = bits(learner)
    with pytest.raises(InputError, match="decide again"):
        learner.commit(old)
    assert bits(learner) == before


def test_decisions_of_other_learners_are_refused() -> None:
    """A node that is no row here, other problems: compiled code would read beyond its arrays."""
    learner = make("cmog", n_classes=3)
    before = bits(learner)
    for stranger in (
        make("cmog", rows=np.ones((99, 3))),
        make("gpa", rows=np.ones((99, 3)), scheme="one-vs-rest"),
        make("gpa", n_classes=5, scheme="one-vs-rest"),
    ):
        with pytest.raises(InputError):
            learner.commit(stranger.decide(stranger.n_nodes - 1))
        assert bits(learner) == before


@every_case
def test_a_failing_oracle_loses_nothing(case: Case) -> None:
    """An exception or a bad answer in the middle leaves the rounds before it, and no half round."""
    here = world(60)
    for fault in (KeyboardInterrupt, "nonsense"):
        learner, twin = (case.learner(here.rows, here.n_classes) for _ in range(2))
        calls = 0

        def oracle(node: int, fault: Any = fault) -> Any:
            nonlocal calls
            calls += 1
            if calls == 4:
                if isinstance(fault, str):
                    return fault
                raise fault
            return int(here.labels[node])

        try:
            learner.run(here.order, oracle)
        except (KeyboardInterrupt, InputError):
            assert calls == 4
        done = learner.round
        twin.run(here.order[:done], lambda node: int(here.labels[node]))
        assert bits(learner) == bits(twin)
        learner.run(here.order[done:], lambda node: int(here.labels[node]))
        twin.run(here.order[done:], here.labels)
        assert bits(learner) == bits(twin)


# -- save, load, resume ---------------------------------------------------------------------


@pytest.mark.slow
@every_case
@budgets
def test_save_load_resume(case: Case, budget: int | None, tmp_path: Path) -> None:
    here = world(260)
    learner = case.learner(here.rows, here.n_classes, seed=11, budget=budget and 25, tie_order=[2, 0, 1])
    learner.run(here.order[:100], here.labels)
    for node in here.order[100:120].tolist():
        learner.commit(learner.decide(node))
    learner.save(tmp_path / "first.npz")
    resumed = Learner.load(tmp_path / "first.npz")
    assert bits(resumed) == bits(learner)
    assert resumed.pending == learner.pending
    assert type(resumed) is type(learner)
    assert (resumed.budget, resumed.seed, resumed.n_classes) == (learner.budget, learner.seed, 3)
    for node in range(5):
        assert everything(resumed.decide(node)) == everything(learner.decide(node))
    assert resumed.predict().tolist() == learner.predict().tolist()
    for node in learner.pending[::-1]:
        assert resumed.learn(node, int(here.labels[node])) == learner.learn(node, int(here.labels[node]))
    traces = [each.run(here.order[120:], here.labels) for each in (learner, resumed)]
    assert bits(resumed) == bits(learner)
    for key in ("predicted", "asked", "mistaken", "updated", "margin", "variance"):
        assert getattr(traces[0], key).tobytes() == getattr(traces[1], key).tobytes()
    # Saved again, it is the same learner; and a file does not depend on what happens after.
    resumed.save(tmp_path / "second.npz")
    assert bits(Learner.load(tmp_path / "second.npz")) == bits(learner)
    assert Learner.load(tmp_path / "first.npz").round == 120
    with np.load(tmp_path / "first.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def saved(tmp_path: Path, name: str = "msg") -> tuple[Learner, Path]:
    here = world(60)
    learner = ALGORITHMS[name](here.rows, here.n_classes)
    learner.run(here.order, here.labels)
    learner.commit(learner.decide(0, 0.0))
    learner.save(tmp_path / "learner.npz")
    return learner, tmp_path / "learner.npz"


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def zipped(**files: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


NOT_A_LEARNER = {
    "empty": b"",
    "text": b"edges,nodes\n1,2\n",
    "an array": npy(np.arange(3)),
    "a pickle": npy(np.array([{"a": 1}], dtype=object)),
    "other arrays": npz(rows=np.eye(3), components=np.zeros(3)),
    "no arrays": zipped(readme=b"hello"),
    "pickled entry": zipped(**{"saved.npy": npy(np.array([{}], dtype=object))}),
    "saved is a number": npz(saved=np.array(3)),
    "saved is a list": npz(saved=np.frombuffer(b"[]", np.uint8)),
    "saved is no JSON": npz(saved=np.frombuffer(b"{", np.uint8)),
}


@pytest.mark.parametrize("content", NOT_A_LEARNER.values(), ids=NOT_A_LEARNER)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="other"):
        Learner.load(path)


def test_absent_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Learner.load(tmp_path / "absent.npz")
    with pytest.raises(InputError):
        Learner.load(tmp_path)


@pytest.mark.slow
def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """A file cut anywhere is refused; one with a byte changed is refused, or loads to the same bits."""
    learner, path = saved(tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in {*rng.integers(len(whole), size=60).tolist(), len(whole) - 1}:
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"learner\.npz"):
            Learner.load(path)
    headers = [i for i in range(len(whole)) if whole[i : i + 2] == b"PK"]
    near = [start + offset for start in headers for offset in range(40) if start + offset < len(whole)]
    harmless = 0
    for position in [*rng.integers(len(whole), size=250).tolist(), *near]:
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            loaded = Learner.load(path)
        except InputError:
            continue
        harmless += 1
        assert bits(loaded) == bits(learner)
    assert harmless < 0.5 * (250 + len(near))


def test_a_failing_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, path = saved(tmp_path)
    old, savez = path.read_bytes(), np.savez

    def full(file: Any, **arrays: Any) -> None:
        savez(file, saved=arrays["saved"])
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        learner.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["learner.npz"]
    monkeypatch.undo()
    learner.run([0, 1, 2], np.zeros(learner.n_nodes, dtype=int))
    learner.save(path)
    assert os.listdir(tmp_path) == ["learner.npz"]
    assert bits(Learner.load(path)) == bits(learner)


# -- a graph that grows -----------------------------------------------------------------------


def grown(case: Case, moved: bool, steps: int, budget: int | None) -> tuple[Learner, list[Any]]:
    """A learner that saw 40 nodes, then the others in so many steps, with a question left open."""
    here = world(220)
    n = len(here.rows)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0] if moved else np.eye(6)
    learner = case.learner(here.rows[:40], here.n_classes, budget=budget)
    traces = [learner.run(here.order[here.order < 40], here.labels[:40])]
    asking = learner.decide(3, 0.0)
    learner.commit(asking)
    for size in np.linspace(40, n, steps + 1).astype(int)[1:]:
        learner.follow(here.rows[:size] @ turn if moved else here.rows[:size])
    if asking.ask:
        learner.learn(3, int(here.labels[3]))
    traces.append(learner.run(here.order, here.labels))
    assert budget is None or learner.questions <= budget
    return learner, traces


@pytest.mark.slow
@every_composition
@budgets
@pytest.mark.parametrize("moved", [False, True], ids=["still", "moved"])
def test_growing_in_one_step_or_in_ten(case: Case, budget: int | None, moved: bool) -> None:
    (one, first), (ten, second) = (grown(case, moved, steps, budget) for steps in (1, 10))
    assert bits(one) == bits(ten)
    for a, b in zip(first, second, strict=True):
        assert all(getattr(a, key).tobytes() == getattr(b, key).tobytes() for key in ("predicted", "asked"))


@every_composition
@budgets
def test_growing_while_rows_stand_still_changes_nothing(case: Case, budget: int | None) -> None:
    here = world(220)
    early = here.order[here.order < 40]
    whole = case.learner(here.rows, here.n_classes, budget=budget)
    part = case.learner(here.rows[:40], here.n_classes, budget=budget)
    whole.run(early, here.labels)
    part.run(early, here.labels[:40])
    assert part.follow(here.rows) is part
    assert part._place.tie.tobytes() == whole._place.tie.tobytes() and part._safe == whole._safe
    whole.run(here.order, here.labels)
    part.run(here.order, here.labels)
    assert bits(part) == bits(whole)


@pytest.mark.slow
@every_composition
def test_rows_that_turned_are_learned_again(case: Case, tmp_path: Path) -> None:
    """Turned rows say the same; so must a learner that follows them, also after `load`."""
    here = world(120)
    codes = {node: int(code) for node, code in enumerate(here.labels)}
    learner = case.learner(here.rows, here.n_classes)
    learner.run(here.order[:60], here.labels)
    learner.run(here.order[60:80].tolist(), lambda node: {codes[node], 1})
    for node in here.order[80:].tolist():
        decision = learner.decide(node)
        learner.commit(decision)
        if decision.ask:
            learner.learn(node, codes[node])
    learner.save(tmp_path / "learner.npz")
    again = Learner.load(tmp_path / "learner.npz")
    scores, reached, counts = learner.scores(), learner.reached(), learner._state.counts.tolist()
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    wider = np.hstack([here.rows @ turn, np.zeros((len(here.rows), 2))])
    for each in (learner, again):
        np.testing.assert_allclose(each.follow(wider).scores(), scores, rtol=1e-6, atol=1e-8)
        assert each._state.counts.tolist() == counts and (each.reached() == reached).all()
        each.run(here.order, here.labels)
    assert bits(again) == bits(learner)


@every_case
def test_what_cannot_be_followed_is_refused_and_changes_nothing(case: Case) -> None:
    here = world(60)
    n = len(here.rows)
    learner = case.learner(here.rows, here.n_classes)
    learner.run(here.order, here.labels)
    before = bits(learner)
    if learner._parts is OnlineParts:
        with pytest.raises(InputError, match=f"{n - 1} rows for a learner that knows {n} nodes"):
            learner.follow(here.rows[:-1])
        with pytest.raises(InputError, match="no digits would be left"):
            learner.follow(1e30 * np.vstack([here.rows, here.rows]))
    else:
        with pytest.raises(InputError, match="cannot go on in a graph that has grown"):
            learner.follow(here.rows)
    assert bits(learner) == before and learner.n_nodes == n


def test_components_that_grow_together_reach_each_other() -> None:
    rows = querist.embed(querist.as_graph([(0, 1), (1, 2), (3, 4)]), rank=2, cache=False)
    learner = ALGORITHMS["cmog"](rows, 2)
    learner.run([0], [1, 0, 0, 0, 0])
    assert learner.reached([2, 3, 4]).tolist() == [True, False, False]
    larger = querist.as_graph([(0, 1), (1, 2), (3, 4), (4, 5), (2, 5)])
    learner.follow(querist.embed(larger, rank=3, cache=False))
    assert learner.reached().all()


# -- relabelling permutes, and nothing else --------------------------------------------------


@every_case
def test_node_relabelling(case: Case) -> None:
    here = world(220)
    n = len(here.rows)
    number = np.random.default_rng(2).permutation(n)  # old row i is new row number[i]
    rows, labels = np.empty_like(here.rows), np.empty_like(here.labels)
    rows[number], labels[number] = here.rows, here.labels
    learner = case.learner(here.rows, here.n_classes)
    other = case.learner(rows, here.n_classes)
    trace = learner.run(here.order, here.labels)
    moved = other.run(number[here.order], labels)
    for key in ("predicted", "asked", "mistaken", "updated", "margin", "variance"):
        assert getattr(moved, key).tobytes() == getattr(trace, key).tobytes(), key
    assert moved.node.tolist() == number[trace.node].tolist()
    np.testing.assert_allclose(other.scores()[number], learner.scores(), rtol=1e-12, atol=1e-12)
    if learner._parts is OnlineParts:
        assert bits(other) == bits(learner)


@every_composition
def test_class_relabelling(case: Case) -> None:
    """Classes renamed, and their precedence among equals with them: the same round by round."""
    for n_classes in (2, 3, 5):
        here = world(220, n_classes=n_classes)
        rng = np.random.default_rng(n_classes)
        for precedence in (np.arange(n_classes), rng.permutation(n_classes)):
            name = np.roll(np.arange(n_classes), 1) if n_classes > 2 else np.array([1, 0])
            learner = case.learner(here.rows, n_classes, tie_order=precedence)
            other = case.learner(here.rows, n_classes, tie_order=name[precedence])
            trace = learner.run(here.order, here.labels)
            renamed = other.run(here.order, name[here.labels])
            assert renamed.predicted.tolist() == name[trace.predicted].tolist()
            for key in ("asked", "mistaken", "updated", "margin", "variance"):
                assert getattr(renamed, key).tobytes() == getattr(trace, key).tobytes(), key
            ours, theirs = learner._state, other._state
            if len(ours.W) == 1:  # one line between two classes: it points the other way
                assert np.array_equal(theirs.W, -ours.W)
                assert theirs.P.tobytes() == ours.P.tobytes()
            else:
                assert theirs.W[name].tobytes() == ours.W.tobytes()
                own = len(ours.P) == n_classes
                assert (theirs.P[name] if own else theirs.P).tobytes() == ours.P.tobytes()
            assert (
                other.predict().tolist()
                == np.where(learner.predict() < 0, -1, name[learner.predict()]).tolist()
            )


@pytest.fixture(scope="module")
def renumbered_graphs() -> list[tuple[querist.Graph, querist.Graph, np.ndarray, int]]:
    """Graphs with a clear eigengap at a rank, the same with nodes in another order, and where they went."""
    found = []
    for graph, rank in (
        (querist.load_graph("karate"), 4),
        (querist.datasets.sbm([20, 20, 20], 0.5, 0.05, seed=1), 3),
    ):
        number = np.random.default_rng(5).permutation(graph.n_nodes)
        back = np.argsort(number)
        found.append((graph, graph.subgraph(back), number, rank))
    return found


@every_composition
def test_node_relabelling_of_a_graph(case: Case, renumbered_graphs: Any) -> None:
    for graph, other, number, rank in renumbered_graphs:
        ours, theirs = (querist.embed(each, rank, normalised=False, cache=False) for each in (graph, other))
        assert ours.eigengap > 0.01
        order = np.random.default_rng(0).permutation(graph.n_nodes)
        learners = [case.learner(each, graph.n_classes).by_row() for each in (ours, theirs)]
        trace = learners[0].run(order, graph.codes)
        moved = learners[1].run(number[order], other.codes)
        for key in ("predicted", "asked", "mistaken", "updated"):
            assert getattr(moved, key).tolist() == getattr(trace, key).tolist(), key
        np.testing.assert_allclose(moved.margin, trace.margin, rtol=1e-8, atol=1e-8)


# -- disconnected graphs --------------------------------------------------------------------


@pytest.mark.slow
@every_composition
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("constants", [None, 1], ids=["own-constants", "shared-constant"])
def test_components_without_a_label_are_not_reached(
    case: Case, normalised: bool, constants: int | None
) -> None:
    """Two triangles, a path and two isolated nodes; the first triangle and one isolated node are played."""
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (6, 7), (7, 8)]
    graph = querist.as_graph(np.array(edges), nodes=11, kind="edges")
    where = querist.embed(graph, 7, normalised=normalised, max_constants=constants, cache=False)
    learner = case.learner(where, 3)
    assert learner.predict().tolist() == [-1] * 11
    labels = np.array([2, 2, 2, 0, 0, 0, 1, 1, 1, 1, 0])
    trace = learner.run([0, 1, 2, 9] * 12, labels, np.zeros(48))
    assert set(trace.predicted.tolist()) <= {0, 1, 2}
    touched = set(where.components[trace.node[trace.updated]].tolist())
    assert touched  # otherwise this proves nothing
    reached = np.isin(where.components, list(touched))
    assert (learner.predict() >= 0).tolist() == reached.tolist() == learner.reached().tolist()
    assert learner.predict()[:3].tolist() == [2, 2, 2] or not reached[0]
    for node in range(11):
        decision = learner.decide(node)
        assert 0 <= decision.prediction < 3
        assert np.isfinite(decision.scores).all() and np.isfinite([decision.margin, decision.variance]).all()


# -- never NaN ------------------------------------------------------------------------------

PALETTES = [
    [1.0],
    [1.0, 2.0, 0.5],
    [1e-12, 1.0],
    [1e12, 1.0],
    [1e-150, 1e150],
    [1e-300, 1e-290],
    [1e300],
    [1.0, -1.0],
    [3.0, -1e-6, 1e6],
]


BY_FORM: dict[tuple[str, Any], list[Case]] = {}
for _case in COMPOSED:
    BY_FORM.setdefault((_case.name, _case.settings.get("scheme")), []).append(_case)


@st.composite
def graphs(draw: st.DrawFn) -> querist.Graph:
    """Weighted, signed, disconnected; one node, no edges, star, complete, path, or anything."""
    n = draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["any", "any", "any", "empty", "star", "complete", "path"]))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    chosen = {
        "any": draw(st.integers(0, 2 ** len(pairs) - 1)),
        "empty": 0,
        "star": sum(1 << k for k, (i, _) in enumerate(pairs) if i == 0),
        "complete": 2 ** len(pairs) - 1,
        "path": sum(1 << k for k, (i, j) in enumerate(pairs) if j == i + 1),
    }[kind]
    palette = draw(st.sampled_from(PALETTES))
    pick = draw(st.integers(0, 10**6))
    adjacency = np.zeros((n, n))
    for k, (i, j) in enumerate(pairs):
        if chosen >> k & 1:
            adjacency[i, j] = adjacency[j, i] = palette[(pick * (k + 1) >> 3) % len(palette)]
    return querist.as_graph(adjacency, kind="adjacency")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::querist.errors.ResidualWarning")
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(graphs(), st.integers(0, 2**32 - 1))
def test_no_graph_gives_nan(graph: querist.Graph, seed: int) -> None:
    """Rows that are too long for gamma may be refused, with an InputError; everything else must work."""
    rng = np.random.default_rng(seed)
    n, n_classes = graph.n_nodes, int(rng.integers(2, 5))
    try:
        where = querist.embed(
            graph,
            int(rng.integers(1, n + 1)),
            normalised=bool(rng.random() < 0.5),
            constant=float(rng.choice([1.0, 1.0, 3.0, 0.0, 1e-5])),
            cache=False,
        )
    except InputError:
        assert not np.isfinite(graph.degrees).all()
        return
    assert np.isfinite(where.rows).all()
    labels = rng.integers(n_classes, size=n)
    order = rng.integers(n, size=2 * n + 3)
    too_long = (where.rows**2).sum(axis=1).max(initial=0.0) > 1e12 * 0.01
    for choices in BY_FORM.values():
        case = choices[int(rng.integers(len(choices)))]
        try:
            learner = case.learner(where, n_classes, budget=None if rng.random() < 0.7 else 3, seed=seed)
        except InputError:
            if too_long or where.n_columns == 0:
                continue
            raise
        trace = learner.run(order, labels)
        assert set(trace.predicted.tolist()) <= set(range(n_classes))
        for array in (trace.margin, trace.variance, *learner._state, learner.scores()):
            assert np.isfinite(array).all()
        assert (trace.margin >= 0).all() and (trace.variance >= 0).all()
        touched = np.isin(where.components, where.components[trace.node[trace.updated]])
        predicted = learner.predict()
        assert (predicted[~touched] == -1).all()
        assert ((predicted >= 0) == (touched & learner.scores().any(axis=1))).all()


# -- what is refused ------------------------------------------------------------------------

ROWS = np.arange(12.0).reshape(4, 3) / 10


def make(name: str = "cmog", rows: Any = ROWS, n_classes: Any = 3, **parameters: Any) -> Learner:
    return ALGORITHMS[name](rows, n_classes, **parameters)


NAN_ROWS = np.where(np.eye(4, 3) > 0, np.nan, 0.0)

BAD_CONSTRUCTION: dict[str, dict[str, Any]] = {
    "one class": {"n_classes": 1},
    "no class": {"n_classes": 0},
    "NaN rows": {"rows": NAN_ROWS},
    "infinite rows": {"rows": np.full((2, 2), np.inf)},
    "flat rows": {"rows": np.ones(4)},
    "no rows": {"rows": np.empty((0, 3))},
    "no columns": {"rows": np.empty((3, 0))},
    "gamma 0": {"gamma": 0.0},
    "gamma < 0": {"gamma": -1.0},
    "gamma NaN": {"gamma": math.nan},
    "gamma inf": {"gamma": math.inf},
    "mu 0": {"name": "ollgc", "mu": 0.0},
    "mu < 0": {"name": "sslgc", "mu": -1e-9},
    "budget < 0": {"budget": -1},
    "half a question": {"budget": 2.5},
    "budget NaN": {"budget": math.nan},
    "half a class": {"n_classes": 2.5},
    "a graph": {"rows": querist.load_graph("karate")},
    "components": {"rows": SimpleNamespace(rows=ROWS, components=np.zeros(3, dtype=int))},
    "h 0": {"name": "msg", "h": 0.0},
    "h < 0": {"name": "cmog_selected", "h": -0.1},
    "h NaN": {"name": "msg", "h": math.nan},
    "h inf": {"name": "msg", "h": math.inf},
    "p > 1": {"name": "random_sampling", "p": 1.1},
    "p < 0": {"name": "random_sampling", "p": -0.1},
    "p NaN": {"name": "random_sampling", "p": math.nan},
    "kappa > 1": {"name": "bbq", "kappa": 1.01},
    "kappa < 0": {"name": "sslgc", "kappa": -0.01},
    "eps < 0": {"name": "bbq_eps", "eps": -1e-9},
    "delta 0": {"name": "dgs", "delta": 0.0},
    "delta > 1": {"name": "dgs", "delta": 1.5},
    "base < 0": {"name": "dgs", "base": -1.0},
    "history < 0": {"name": "dgs", "history": -1.0},
    "log < 0": {"name": "dgs", "log": -1.0},
    "alpha < 0": {"name": "dgs", "alpha": -1.0},
    "tau < 0": {"name": "margin_threshold", "tau": -0.1},
    "tau NaN": {"name": "margin_threshold", "tau": math.nan},
    "pace 0": {"budget": 3, "pace": 0.0},
    "pace < 0": {"budget": 3, "pace": -1.0},
    "pace NaN": {"budget": 3, "pace": math.nan},
    "pace inf": {"budget": 3, "pace": math.inf},
    "pace without a budget": {"pace": 1.0},
    "no round": {"budget": 3, "pace": 1.0, "rounds": 0},
    "half a round": {"budget": 3, "pace": 1.0, "rounds": 2.5},
    "unknown scheme": {"name": "gpa", "scheme": "all-vs-all"},
    "unknown update": {"update": "sometimes"},
    "unknown target": {"target": "softmax"},
    "tie order too short": {"tie_order": [0, 1]},
    "tie order twice": {"tie_order": [0, 1, 1]},
    "tie order outside": {"tie_order": [1, 2, 3]},
    "long rows": {"rows": 1e7 * np.eye(3)},
    "long rows for gamma": {"rows": np.eye(3), "gamma": 1e-13},
    "long rows, first order": {"name": "gpa", "rows": 1e7 * np.eye(3)},
    "unknown parameter": {"name": "gpa", "gamma": 1.0},
}


@pytest.mark.parametrize("bad", BAD_CONSTRUCTION.values(), ids=BAD_CONSTRUCTION)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(QueristError):
        make(**bad)


LABELS = np.array([0, 1, 2, 0])

BAD_RUNS: dict[str, tuple[Any, ...]] = {
    "node too large": ([0, 4], LABELS),
    "node negative": ([0, -1], LABELS),
    "nodes not whole": ([0.0, 1.0], LABELS),
    "nodes as text": (["0"], LABELS),
    "nodes as a mask": ([True, False, True, True], LABELS),
    "nodes in a square": (np.zeros((2, 2), dtype=int), LABELS),
    "labels too short": ([0, 1], LABELS[:3]),
    "labels too long": ([0, 1], np.zeros(5, dtype=int)),
    "label outside": ([0, 1], np.array([0, 3, 0, 0])),
    "label below": ([0, 1], np.array([0, -2, 0, 0])),
    "unlabelled": ([0, 1], np.array([0, -1, 0, 0])),
    "labels as floats": ([0, 1], LABELS.astype(float)),
    "labels as text": ([0, 1], np.array(["a", "b", "c", "a"])),
    "labels are None": ([0, 1], None),
    "too few draws": ([0, 1], LABELS, [0.5]),
    "too many draws": ([0, 1], LABELS, [0.5] * 3),
    "a draw of 1": ([0, 1], LABELS, [0.5, 1.0]),
    "a draw below 0": ([0, 1], LABELS, [0.5, -1e-9]),
    "a draw of NaN": ([0, 1], LABELS, [0.5, math.nan]),
}


@every_case
def test_bad_runs_are_refused_and_change_nothing(case: Case) -> None:
    learner = case.learner(ROWS, 3)
    learner.run([0, 1, 2], LABELS)
    before = bits(learner)
    for bad in BAD_RUNS.values():
        with pytest.raises(InputError):
            learner.run(*bad)
        assert bits(learner) == before


@pytest.mark.parametrize("node", [-1, 4, 10**12, 1.5, math.nan])
def test_bad_nodes_are_refused(node: Any) -> None:
    learner = make()
    looks: list[Callable[[Any], Any]] = [
        learner.decide,
        lambda node: learner.predict([node]),
        lambda node: learner.scores([node]),
    ]
    for look in looks:
        with pytest.raises(InputError):
            look(node)


@pytest.mark.parametrize("seed", [2**63, 2**64, 2**127 + 1, -(2**63) - 1])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    """numpy's own entropy has 128 bits."""
    learner = make("random_sampling", seed=seed)
    assert learner.decide(0).round == 1
    assert len(learner.run([0, 1], LABELS)) == 2


@pytest.mark.parametrize("u", [-0.1, 1.0, math.nan, math.inf])
def test_bad_draws_are_refused(u: float) -> None:
    with pytest.raises(InputError):
        make("random_sampling").decide(0, u)


def test_unlabelled_nodes_outside_the_order_are_fine() -> None:
    learner = make()
    trace = learner.run([0, 2], np.array([0, -1, 2, 99]))
    assert len(trace) == 2
    assert len(learner.run([], LABELS)) == 0


# -- the trace ------------------------------------------------------------------------------


@every_case
def test_trace_definitions(case: Case) -> None:
    here = world(150)
    learner = case.learner(here.rows, here.n_classes)
    trace = learner.run(here.order, here.labels)
    assert len(trace) == 150
    assert trace.judged.all()
    assert trace.questions == trace.asked.sum() == learner.questions
    assert learner.updates == trace.updated.sum()
    assert trace.mistaken.tolist() == (trace.predicted != here.labels[here.order]).tolist()
    np.testing.assert_allclose(trace.error_curve(), np.cumsum(trace.mistaken) / np.arange(1, 151))
    if case.settings.get("scheme") == "one-vs-rest":
        assert trace.problems is not None
        asked, mistaken, updated = trace.problems.asked, trace.problems.mistaken, trace.problems.updated
        assert asked.shape == mistaken.shape == updated.shape == (150, 3)
        assert trace.error_rate == pytest.approx(np.mean([mistaken[:, c].sum() / 150 for c in range(3)]))
        assert trace.queries == pytest.approx(np.mean([asked[:, c].sum() for c in range(3)]))
        assert trace.updates == pytest.approx(np.mean([updated[:, c].sum() for c in range(3)]))
        assert trace.asked.tolist() == asked.any(axis=1).tolist()
        assert trace.updated.tolist() == updated.any(axis=1).tolist()
        assert not (updated & ~asked).any()
    else:
        assert trace.problems is None
        assert trace.error_rate == trace.mistaken.mean()
        assert trace.queries == trace.asked.sum()
        assert trace.updates == trace.updated.sum()
    oracle = case.learner(here.rows, here.n_classes, budget=3).run(here.order, lambda node: 0)
    assert math.isnan(oracle.error_rate)
    assert math.isnan(case.learner(here.rows, 3).run([], here.labels).error_rate)


def test_the_variance_of_a_round_is_the_largest_of_its_problems() -> None:
    learner = make("sslgc", kappa=1.0)
    for node in (0, 1, 2, 3, 0, 1):
        decision = learner.decide(node)
        assert decision.variances.shape == (3,)
        assert decision.variance == decision.variances.max()
        learner.commit(decision)
        if decision.ask:
            learner.learn(node, node % 3)


def test_components_of_an_embedding_are_kept_apart() -> None:
    where = Embedding(np.ones((4, 1)), components=np.array([0, 0, 1, 1]))
    learner = ALGORITHMS["cmog"](where, 2)
    learner.run([1], np.array([1, 1, 0, 0]))
    assert learner.predict().tolist() == [1, 1, -1, -1]
    assert learner.predict([2, 0]).tolist() == [-1, 1]
    assert learner.reached([3, 1]).tolist() == [False, True]
