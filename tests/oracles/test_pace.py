"""A paced budget against its formulas in plain Python, for every algorithm of the catalogue.

The value of a round is computed from the scores and variances of the decision by the papers' inequalities
(solved for their thresholds), the share from the plan, the standing by sorting; nothing is shared with the
kernels.
"""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from querist import ALGORITHMS, Learner
from querist.online import algebra
from querist.parameters import parameters_of

PACED = [name for name in ALGORITHMS if name != "paced"]  # that one has a pace of its own
OWN = {"dgs": [{}, {"alpha": 0.3}], "bbq": [{"kappa": 0.7}], "msg": [{}, {"h": 3.0}]}


def forms(names: list[str]) -> list[Any]:
    """Every algorithm in every form that it has."""
    found = []
    for name in names:
        has_both = "scheme" in parameters_of(ALGORITHMS[name]) and name != "pounce"
        for scheme in ({"scheme": "multiclass"}, {"scheme": "one-vs-rest"}) if has_both else ({},):
            for own in OWN.get(name, [{}]):
                given_settings = {**own, **scheme}
                found.append(pytest.param(name, given_settings, id=f"{name} {given_settings}"))
    return found


every_form = pytest.mark.parametrize(("name", "settings"), forms(PACED))


def world(rounds: int, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clusters with a fifth of the labels wrong, and nodes that come back."""
    rng = np.random.default_rng([seed, rounds, n_classes])
    n = rounds // 2 + 2
    cluster = rng.integers(n_classes, size=n)
    rows = 2 * rng.standard_normal((n_classes, 5))[cluster] + 0.4 * rng.standard_normal((n, 5))
    rows[rng.random(n) < 0.1] = rows[0]
    labels = np.where(rng.random(n) < 0.2, rng.integers(n_classes, size=n), cluster)
    return rows, labels, rng.integers(n, size=rounds)


def wish(name: str, own: dict[str, Any], t: int, u: float, margin: float, r: float, sums: float) -> float:
    """What a round is worth to the rule of an algorithm, whose margin and variance these are."""
    spread = r / (1 + r)
    if name in ("msg", "cmog_selected"):
        theta = margin**2 / 2 + 2 * margin - 3 * spread
        return -theta if theta < 0 else -theta * u / (1 - u)
    if name in ("bbq", "sslgc"):
        return spread * t ** own.get("kappa", 0.4)
    if name == "bbq_eps":
        return spread
    if name == "margin_threshold":
        return -margin
    if name == "dgs":
        bracket = 1 + 4 * sums + 36 * math.log(t / 0.1)
        if "alpha" in own:
            bracket = own["alpha"] * math.log(t + 1)
        return r * bracket / margin**2 if margin > 0 else math.inf
    return 0.0


@pytest.mark.slow
@every_form
@pytest.mark.parametrize(("budget", "pace", "rounds"), [(40, 1.0, 400), (25, 3.0, 400), (90, 0.5, 500)])
def test_rounds_follow_the_formulas(name, settings, budget, pace, rounds):
    rows, labels, order = world(400)
    learner = ALGORITHMS[name](rows, 3, seed=2, budget=budget, pace=pace, rounds=rounds, **settings)
    binary = settings.get("scheme") == "one-vs-rest"
    values: list[float] = []
    asked, sums = 0, np.zeros(3 if binary else 1)
    for t, node in enumerate(order.tolist(), 1):
        decision, u = learner.decide(node), algebra.draw(2, t)
        margins = np.abs(decision.scores) if binary else [decision.margin]
        if name in ("pounce", "nearest", "fastonl"):
            value = 0.0
        else:
            value = max(
                wish(name, settings, t, u, float(m), float(r), float(s))
                for m, r, s in zip(margins, decision.variances, sums, strict=True)
            )
        assert decision.value == pytest.approx(value, rel=1e-9)
        left = rounds - (t - 1)
        planned = budget * (left / rounds) ** pace
        j = budget - asked
        share = 1.0 if j >= left else pace * j / left * math.exp(j - planned)
        window = values[-300:]
        larger = sum(other > decision.value for other in window)
        equal = sum(other == decision.value for other in window)
        expected = asked < budget and larger + u * (equal + 1) < share * (len(window) + 1)
        assert decision.ask == expected
        assert decision.asks.tolist() == [expected] * decision.asks.size, "the label is told to every problem"
        if asked < budget:
            values.append(decision.value)
        learner.commit(decision)
        if decision.ask:
            asked += 1
            sums += decision.variances if sums.size == decision.variances.size else 0
            learner.learn(node, int(labels[node]))
    assert learner.questions == asked


@every_form
def test_a_budget_is_spent_to_the_last_question_and_never_exceeded(name, settings):
    rows, labels, order = world(120)
    for budget, pace in product((0, 1, 7, 60, 119, 120, 500), (0.3, 1.0, 5.0, 1e9)):
        learner = ALGORITHMS[name](rows, 3, budget=budget, pace=pace, rounds=120, **settings)
        assert learner.run(order, labels).questions == min(budget, 120)
        assert not learner.run(order, labels).asked[max(0, budget - 120) :].any()


@every_form
def test_questions_follow_the_plan(name, settings):
    """Never further behind than 1 - ln s; random asking drifts by the square root of the budget."""
    rows, labels, order = world(1500)
    for budget, pace in ((100, 1.0), (100, 3.0)):
        learner = ALGORITHMS[name](rows, 3, budget=budget, pace=pace, rounds=1500, **settings)
        asked = np.cumsum(learner.run(order, labels).asked)
        left = 1 - np.arange(1, 1501) / 1500
        behind = budget * (1 - left**pace) - asked
        with np.errstate(divide="ignore"):
            most = 1 - np.log(np.minimum(1.0, pace * budget * left ** (pace - 1) / 1500))
        assert (behind <= most + 1e-9).all()
        assert behind.min() > -8


@pytest.mark.slow
@every_form
def test_run_is_step_and_pieces_are_the_whole(name, settings, tmp_path):
    rows, labels, order = world(333)
    make = {"budget": 40, "pace": 1.5, "rounds": 333, "seed": 4, **settings}
    whole, pieces, stepwise = (ALGORITHMS[name](rows, 3, **make) for _ in range(3))
    trace = whole.run(order, labels)
    parts = []
    for start, stop in ((0, 1), (1, 64), (64, 200), (200, 333)):
        parts.append(pieces.run(order[start:stop], labels))
        pieces.save(tmp_path / "paced.npz")
        pieces = Learner.load(tmp_path / "paced.npz")
    asked = []
    for node in order.tolist():
        before = [array.tobytes() for array in stepwise._state]
        decision = stepwise.decide(node)
        assert stepwise.decide(node).ask == decision.ask
        assert [array.tobytes() for array in stepwise._state] == before
        stepwise.commit(decision)
        asked.append(decision.ask)
        if decision.ask:
            stepwise.learn(node, int(labels[node]))
    assert trace.asked.tolist() == asked == np.concatenate([part.asked for part in parts]).tolist()
    for other in (pieces, stepwise):
        for ours, theirs in zip(whole._state, other._state, strict=True):
            assert ours.tobytes() == theirs.tobytes()


RULES = {
    "msg": {"h": 0.05},
    "bbq": {"kappa": 0.5},
    "bbq_eps": {"eps": 0.2},
    "dgs": {"base": 0.3, "history": 0.0, "log": 0.1},
    "margin_threshold": {"tau": 0.3},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
@given(st.data())
def test_a_rule_never_prefers_a_round_of_less_value(name, data):
    """At the same time, if it asks in one round and not in another, the first has the larger value."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = rng.standard_normal((30, 4))
    learner = ALGORITHMS[name](rows, 3, **RULES[name])
    learner.run(rng.integers(30, size=data.draw(st.integers(0, 40))), rng.integers(3, size=30))
    u = st.floats(0, 0.999)
    decisions = [learner.decide(node, data.draw(u)) for node in range(30)]
    asked = [d.value for d in decisions if d.ask]
    rest = [d.value for d in decisions if not d.ask]
    assume(asked and rest)
    assert min(asked) >= max(rest)


def test_a_rule_that_looks_at_nothing_asks_at_random():
    """Every round asks with the planned probability: 400 seeds, first round and last alike."""
    rows, labels, order = world(60)
    asked = np.array(
        [
            ALGORITHMS["cmog"](rows, 3, budget=15, pace=1.0, rounds=60, seed=seed).run(order, labels).asked
            for seed in range(400)
        ]
    )
    by_tens = asked.reshape(400, 6, 10).mean(axis=(0, 2))
    np.testing.assert_allclose(by_tens, 0.25, atol=0.025)


def test_a_paced_margin_asks_better_questions_than_random_ones():
    errors = {"margin_threshold": 0.0, "random_sampling": 0.0}
    for seed in range(10):
        rows, labels, order = world(300, n_classes=5, seed=seed)
        for name in errors:
            learner = ALGORITHMS[name](rows, 5, budget=30, pace=1.0, rounds=300, seed=seed)
            errors[name] += learner.run(order, labels).error_rate / 10
    assert errors["margin_threshold"] < errors["random_sampling"] - 0.01
