"""Exact values of bls19: closed forms to fifty digits, and every step of the streams that are offered.

`budgeted.json` also holds readings that were rejected (`d_star` "Kl1" and "H"): with them a projection
changes nothing. The reference projects with the plain inverse; a ridge of 1e-12 comes within 1e-10 of it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from querist.budgeted import closed_form, step
from querist.budgeted.learner import BLS
from querist.budgeted.similarity import gram_of, mean_distance

GOLDEN = json.loads((Path(__file__).parent / "budgeted.json").read_text())
ACTIONS = {"none": 0, "add": 1, "replace": 2, "project": 3}
STRATEGY = {
    ("remove", None, None): "remove",
    ("project", "K", "eq7"): "projection",
    ("project", "K", "krls"): "projection-persistent",
}
RUNS = [
    pytest.param(stream, run, id=f"{i}-{STRATEGY[key]}-{run['rule']}")
    for i, stream in enumerate(GOLDEN["streams"])
    for run in stream["runs"]
    if (key := (run["strategy"], run["d_star"], run["alpha_prime"])) in STRATEGY
]


def learner_for(stream, run):
    return BLS(
        2,
        maintenance=STRATEGY[run["strategy"], run["d_star"], run["alpha_prime"]],
        condition={"alg3": "algorithm", "text": "text"}[run["rule"]],
        width=1 / (2 * stream["gamma"]),
        lambda1=stream["lambda1"],
        lambda2=stream["lambda2"],
        epsilon=stream["eps"],
        budget_labelled=stream["B_L"],
        budget_unlabelled=stream["B_U"],
        ridge=1e-12,
        limit=100,
    )


def codes_of(stream):
    return np.array([{1: 1, -1: 0, 0: -1}[y] for y in stream["y_visible"]])


def test_all_offered_readings_are_there():
    assert len(RUNS) == 15


@pytest.mark.parametrize(("stream", "run"), RUNS)
def test_every_step_of_a_stream(stream, run):
    learner, codes = learner_for(stream, run), codes_of(stream)
    X = np.array(stream["X"])
    for expected in run["steps"]:
        i = expected["t"] - 1
        assert learner.scores(X[i : i + 1])[0, 0] == pytest.approx(expected["f"], abs=1e-9)
        done = learner.run(X[i : i + 1], codes[i : i + 1])
        assert done.actions[0] == ACTIONS[expected["action"]]
        state, b = learner.state, sum(learner.sizes)
        by_age = np.argsort(state.items[:b])
        assert state.items[:b][by_age].tolist() == expected["ids"]
        np.testing.assert_allclose(state.alpha[0, :b][by_age], expected["alpha"], atol=1e-9, rtol=0)
        labelled = state.D[:b] == stream["lambda1"]
        assert sorted(state.items[:b][labelled]) == expected["labeled_ids"]
        assert sorted(state.items[:b][~labelled]) == expected["unlabeled_ids"]
    assert learner.updates == run["n_update"]


@pytest.mark.parametrize(("stream", "run"), RUNS)
def test_the_whole_stream_at_once(stream, run):
    learner = learner_for(stream, run)
    done = learner.run(np.array(stream["X"]), codes_of(stream))
    assert done.actions.tolist() == [ACTIONS[action] for action in run["actions"]]
    f = np.array([expected["f"] for expected in run["steps"]])
    assert done.predicted.tolist() == [-1 if v == 0 else int(v > 0) for v in f]
    b = sum(learner.sizes)
    by_age = np.argsort(learner.state.items[:b])
    np.testing.assert_allclose(
        learner.state.alpha[0, :b][by_age], run["steps"][-1]["alpha"], atol=1e-9, rtol=0
    )
    assert learner.state.counts[step.SEEN] == len(run["steps"])


def test_the_width_of_the_static_set():
    assert mean_distance(np.array(GOLDEN["static"]["X"])) == pytest.approx(
        GOLDEN["static"]["sigma2"], abs=1e-10
    )


@pytest.mark.parametrize(
    "case", GOLDEN["static"]["cases"], ids=lambda c: f"{c['kernel']}-{c['lambda1']}-{c['lambda2']}"
)
def test_closed_forms(case):
    static = GOLDEN["static"]
    X, n_l = np.array(static["X"]), static["n_labeled"]
    codes = np.full(len(X), -1)
    codes[:n_l] = np.array(static["y_labeled"]) > 0
    gram = gram_of(case["kernel"], mean_distance(X))
    Y = closed_form.targets(codes, 2)
    found = closed_form.solve(gram(X, X), Y, codes >= 0, case["lambda1"], case["lambda2"])
    np.testing.assert_allclose(found.z[n_l:, 0], case["z"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(found.alpha[:, 0], case["alpha"], atol=1e-9, rtol=0)
    f_new = gram(np.array(static["X_new"]), X) @ found.alpha[:, 0]
    np.testing.assert_allclose(f_new, case["f_new"], atol=1e-9, rtol=0)
