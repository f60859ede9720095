"""Shuffles, and the control that is fair."""

import numpy as np
import pytest

from querist import ALGORITHMS, datasets, embed
from querist.errors import InputError
from querist.online.experiment import (
    Spread,
    control_parameters,
    learner_seed,
    random_control,
    random_rounds,
    shuffled,
    shuffled_runs,
)


@pytest.fixture(scope="module")
def moons():
    graph = datasets.two_moons()
    return embed(graph, 10, cache=False), graph.codes, 2


def test_a_summary_is_the_runs_one_by_one(moons):
    rows, codes, k = moons
    summary = shuffled_runs(*moons, ALGORITHMS["msg"], {"h": 0.1}, shuffles=3, seed=4)
    for s in range(3):
        learner = ALGORITHMS["msg"](rows, k, h=0.1, seed=learner_seed(4, s))
        trace = learner.run(np.random.default_rng((4, s)).permutation(codes.size), codes)
        assert summary.error_rate.runs[s] == trace.error_rate
        assert summary.queries.runs[s] == trace.queries
    assert summary.rounds == codes.size
    assert summary.share == pytest.approx(np.mean(summary.queries.runs) / codes.size)


def test_runs_differ_and_are_counted(moons):
    seen = []
    summary = shuffled_runs(
        *moons, ALGORITHMS["bbq"], shuffles=5, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(k, 5) for k in range(1, 6)]
    assert len(set(summary.queries.runs)) > 1
    assert len({learner_seed(0, s) for s in range(100)}) == 100


def test_the_control_asks_as_often_in_the_same_shuffles(moons):
    runs = shuffled_runs(*moons, ALGORITHMS["msg"], shuffles=4)
    control = random_control(*moons, runs, {"gamma": 1.0, "update": "certain"})
    assert control.queries.runs == runs.queries.runs
    assert control.updates.runs == runs.queries.runs, "it learns every answer"


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
    rows, codes, k = moons
    some = np.where(np.arange(codes.size) % 3 == 0, -1, codes)
    assert set(shuffled(some, 0, 0)) == set(np.flatnonzero(some >= 0))
    assert shuffled_runs(rows, some, k, ALGORITHMS["cmog"], shuffles=1).rounds == (some >= 0).sum()
    with pytest.raises(InputError, match="no node is labelled"):
        shuffled_runs(rows, np.full(codes.size, -1), k, ALGORITHMS["cmog"])
    with pytest.raises(InputError, match="at least 1"):
        shuffled_runs(*moons, ALGORITHMS["cmog"], shuffles=0)


@pytest.mark.parametrize("count", [0, 1, 30])
def test_random_rounds_are_exactly_as_many(count):
    uniforms = random_rounds(30, count, (1, 2))
    assert (uniforms < 0.5).sum() == count


def test_spread_is_of_the_runs_themselves():
    assert Spread((1.0, 3.0)).as_dict() == {"mean": 2.0, "std": 1.0, "runs": [1.0, 3.0]}
