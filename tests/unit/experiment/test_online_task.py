"""Shuffles, and the control that is fair."""

from dataclasses import replace

import numpy as np
import pytest

from querist import ALGORITHMS, datasets, embed
from querist.errors import InputError
from querist.experiment import Outcome, Result, Specification
from querist.experiment.runner import run_here
from querist.experiment.tasks.online import (
    control_parameters,
    learner_seed,
    pace_of,
    random_rounds,
    shuffled,
)


def runs(graph, method, parameters=None, repeats=20, seed=0, rank=10, progress=None) -> Result:
    rows = {"rank": rank, "normalised": True}
    spec = Specification(
        "online", "moons", method, parameters or {}, representation=rows, repeats=repeats, seed=seed
    )
    return run_here(spec, graph, progress=progress)[0]


@pytest.fixture(scope="module")
def moons():
    return datasets.two_moons()


def test_a_summary_is_the_runs_one_by_one(moons):
    rows, codes = embed(moons, 10, cache=False), moons.codes
    found = runs(moons, "msg", {"h": 0.1}, repeats=3, seed=4)
    for s in range(3):
        learner = ALGORITHMS["msg"](rows, 2, h=0.1, seed=learner_seed(4, s))
        trace = learner.run(np.random.default_rng((4, s)).permutation(codes.size), codes)
        assert found.values("error_rate")[s] == trace.error_rate
        assert found.values("queries")[s] == trace.queries
    assert (found.values("rounds") == codes.size).all()


def test_five_shuffles_of_karate():
    found = runs(datasets.load_graph("karate"), "msg", repeats=5, rank=8)
    words = f"{found.mean('queries'):.1f} questions, {found.mean('error_rate'):.1%} wrong"
    assert words == "11.4 questions, 12.9% wrong"


def test_runs_differ_and_are_counted(moons):
    seen = []
    found = runs(moons, "bbq", repeats=5, progress=lambda *told: seen.append(told))
    assert seen == [(k / 5, f"running, {k} of 5") for k in range(6)]
    assert len(set(found.values("queries"))) > 1
    assert len({learner_seed(0, s) for s in range(100)}) == 100


def test_the_control_asks_as_often_in_the_same_shuffles(moons):
    found = runs(moons, "msg", {"update": "certain"}, repeats=4)
    assert (found.values("control_queries") == found.values("queries")).all()
    assert (found.values("control_updates") == found.values("queries")).all(), "it learns every answer"


def test_the_margin_asks_as_often_and_as_early(moons):
    rows, codes = embed(moons, 10, cache=False), moons.codes
    for method, settings in (("msg", {}), ("sslgc", {"kappa": 0.2}), ("bbq", {"kappa": 0.3})):
        found = runs(moons, method, settings, repeats=3)
        assert found.values("margin_queries") == pytest.approx(found.values("queries"), abs=0.5)
        learner = ALGORITHMS[method](rows, 2, seed=learner_seed(0, 1), **settings)
        theirs = learner.run(shuffled(codes, 0, 1), codes)
        spent = {"budget": round(theirs.queries), "pace": pace_of(theirs.asked), "rounds": codes.size}
        ours = ALGORITHMS["margin_threshold"](rows, 2, **spent).run(shuffled(codes, 0, 1), codes)
        early = [np.flatnonzero(trace.asked).mean() / codes.size for trace in (ours, theirs)]
        assert early[0] == pytest.approx(early[1], abs=0.05), method


def test_a_pace_is_over_the_labelled_nodes(moons):
    some = np.where(np.arange(moons.codes.size) % 4 == 0, moons.codes, -1)
    found = runs(
        replace(moons, known=replace(moons.known, codes=some)), "bbq", {"budget": 10, "pace": 1.0}, repeats=2
    )
    assert found.values("queries").tolist() == [10, 10]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"gamma": 0.1, "update": "certain", "target": "one-hot"},
            (0.1, True, "always", "one-hot", "multiclass"),
        ),
        (
            {"mu": 3.0, "update": "mistake", "scheme": "one-vs-rest"},
            (3.0, True, "mistake", "rival", "one-vs-rest"),
        ),
        ({"update": "mistake", "scheme": "multiclass"}, (1.0, False, "mistake", "rival", "multiclass")),
    ],
)
def test_the_control_is_the_same_kind_of_learner(given, expected):
    made = control_parameters(given)
    assert tuple(made[name] for name in ("gamma", "second_order", "update", "target", "scheme")) == expected


def test_unlabelled_nodes_are_left_out(moons):
    codes = moons.codes
    some = np.where(np.arange(codes.size) % 3 == 0, -1, codes)
    assert set(shuffled(some, 0, 0)) == set(np.flatnonzero(some >= 0))
    partly = runs(replace(moons, known=replace(moons.known, codes=some)), "cmog", repeats=1)
    assert partly.values("rounds") == (some >= 0).sum()
    with pytest.raises(InputError, match="nothing can answer"):
        runs(replace(moons, known=moons.known.only(codes < -1)), "cmog")
    with pytest.raises(InputError, match="1 or more"):
        runs(moons, "cmog", repeats=0)


@pytest.mark.parametrize("count", [0, 1, 30])
def test_random_rounds_are_exactly_as_many(count):
    uniforms = random_rounds(30, count, (1, 2))
    assert (uniforms < 0.5).sum() == count


def test_spread_is_of_the_runs_themselves():
    found = Result(Specification("online"), {}, (Outcome({"queries": 1.0}), Outcome({"queries": 3.0})))
    assert found.spread("queries") == {"mean": 2.0, "std": 1.0, "runs": [1.0, 3.0]}
