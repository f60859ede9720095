"""Finding a class: scores and chances against closed forms; finds against controls."""

import numpy as np
import pytest
from scipy.optimize import minimize

from querist import as_graph, ask
from querist.asking.choosers import PRIOR, Chance, target_scores
from querist.asking.model import QuickModel
from querist.embedding import Embedding


def test_the_score_is_a_regression_on_the_class_less_its_prior():
    rng = np.random.default_rng(0)
    rows = Embedding(rng.standard_normal((12, 4)), np.zeros(12, dtype=np.int64), kind="given")
    model, codes = QuickModel.start(rows, 3, (1.0, 1.0)), [0, 2, 1, 0]
    for row, code in enumerate(codes):
        model = model.learn(row, code)
    M = model.regressions[0].rows
    y = (np.array(codes) == 0) - PRIOR
    w = np.linalg.solve(np.eye(4) + M[:4].T @ M[:4], M[:4].T @ y)
    np.testing.assert_allclose(target_scores(model, 0), PRIOR + M @ w, atol=1e-10)


def test_the_chance_is_the_likeliest_curve():
    rng = np.random.default_rng(1)
    z = rng.random(80)
    y = rng.random(80) < z**2

    def cost(w):
        logits = w[0] + w[1] * (z - 0.5)
        return np.sum(np.logaddexp(0, logits) - y * logits) + w[0] ** 2 / 2 + (w[1] - 6) ** 2 / 8

    level, slope = minimize(cost, [0.0, 6.0], tol=1e-12).x
    found = Chance.learned(z.tolist(), y.tolist())
    assert (found.level, found.slope) == (pytest.approx(level, abs=1e-4), pytest.approx(slope, abs=1e-3))


def rare(n=400, seed=0):
    """A tenth of the nodes link and write alike."""
    rng = np.random.default_rng(seed)
    rare = np.arange(n) < n // 10
    edges = [
        (i, j)
        for i in range(n)
        for j in range(i)
        if rng.random() < (0.15 if rare[i] and rare[j] else 0.01 if rare[i] == rare[j] else 0.003)
    ]
    words = (rng.random((n, 20)) < np.where(rare[:, None] & (np.arange(20) < 4), 0.4, 0.1)).astype(float)
    graph = as_graph(edges, nodes=range(n), attributes=words)
    return graph, {i: "fraud" if r else "fine" for i, r in enumerate(rare)}


@pytest.mark.slow
def test_finding_finds_several_times_what_chance_does():
    graph, truth = rare()
    found = {}
    for way in ("greedy", "random"):
        asking = ask(graph, truth, budget=20, find="fraud", strategy=way, labels={0: "fraud"})
        found[way] = sum(name == "fraud" for name in asking.answers.values())
    assert found["greedy"] >= 12
    assert found["greedy"] >= 3 * found["random"]


@pytest.mark.slow
def test_the_search_says_what_it_found_what_it_expects_and_when_it_is_not_worth_more():
    graph, truth = rare()
    asking = ask(graph, truth, budget=15, find="fraud", labels={0: "fraud"})
    search = asking.finding
    assert search.found == sum(name == "fraud" for name in asking.answers.values())
    assert 0 < search.expected(10) < 10
    assert search.expected(10) < search.expected(50)
    assert f"{search.found} fraud found in 15 answers" in str(search)
    assert asking.summary()["finding"]["found"] == search.found
    ended = ask(graph, truth, budget=400, find="fraud", labels={0: "fraud"}, stop=0.3)
    assert "a question finds one with a chance of" in ended.stopped
    assert ended.asked < 120
    assert ended.finding.found >= 30
