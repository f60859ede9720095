"""The paced learner and FastONL against their formulas, written out dense and without recursion."""

import numpy as np
import pytest

from querist import ALGORITHMS, InputError, Learner, as_graph, datasets, embed
from querist.online import algebra
from querist.online.checks import Answer


def blocks(n=120, classes=3, seed=0, extra=0):
    """A graph of communities with a fifth of the labels wrong, and `extra` nodes without an edge."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < (0.12 if y[i] == y[j] else 0.01)]
    labels = np.where(
        rng.random(n + extra) < 0.2, rng.integers(classes, size=n + extra), np.append(y, np.zeros(extra, int))
    )
    return as_graph(edges, nodes=range(n + extra)), labels.astype(np.int64), rng.permutation(n + extra)


# -- paced: the oracle -------------------------------------------------------------------


def unit(rows, local):
    """M and R with `M M' + R` of diagonal one."""
    R = np.zeros((len(rows), len(rows))) if local is None else local.toarray()
    length = np.sqrt((rows**2).sum(axis=1) + np.diag(R))
    length = np.where(length > 0, length, 1.0)
    return rows / length[:, None], R / length[:, None] / length


def expected(rows, local, order, labels, K, budget, *, rounds=None, pace=4.0, gamma=0.5, c=0.5, q=0.25,
             T=20.0, uniforms=None):  # fmt: skip
    """Rounds by batch formulas: P is inverted, W is solved for, every sum is over all learned nodes."""
    M, R = unit(np.asarray(rows), local)
    n, d = M.shape
    C = ((M @ M.T) ** 2).sum(axis=1) + (R**2).sum(axis=1)
    learned, s, target, b, values, seen = [], [], [], [], [], []
    rounds = n if rounds is None else rounds
    warm_up = 0 if budget is None else min(60, budget // 2)
    for t, i in enumerate(order):
        u = np.array(learned, dtype=int)
        weights = 1 / np.array(s)
        A = np.eye(d) + (M[u] * weights[:, None]).T @ M[u]
        W = np.linalg.solve(A, (M[u] * weights[:, None]).T @ np.array(target).reshape(-1, K))
        near = c * R[i, u] @ np.array(b).reshape(-1, K)
        f = M[i] @ W + near
        r = M[i] @ np.linalg.solve(A, M[i])
        l = max(R[i, i] - (R[i, u] ** 2 / (gamma + np.diag(R)[u])).sum(), 0.05 * R[i, i])  # noqa: E741
        p = np.exp(T * f / (1 + (r + l) / gamma))
        low, high = np.sort(p / p.sum())[-2:]
        value = (1 - (high - low)) * C[i] ** q if uniforms is None else uniforms[t]
        asked = budget is None or len(learned) < budget
        if asked and budget is not None:
            share = pace * (budget - len(learned)) / max(1, rounds - t)
            recent = np.array(values[-300:])
            asked = share >= 1 or t < warm_up or (recent > value).sum() <= share * recent.size
            values.append(value)
        seen.append((int(np.argmax(f)), asked, f, r + l, value))
        if asked:
            y = np.eye(K)[labels[i]]
            learned.append(i)
            s.append(gamma + l)
            target.append(y - near)
            b.append((y - f) / (gamma + l + r))
    return seen


CASES = {
    "no budget": ({}, {}),
    "budget": ({"budget": 25}, {}),
    "tiny budget": ({"budget": 3}, {}),
    "even": ({"budget": 40, "pace": 1.0}, {"pace": 1.0}),
    "settings": (
        {"budget": 30, "rounds": 200, "gamma": 3.0, "local": 1.0, "spread": 1.0, "sharpness": 2.0},
        {"rounds": 200, "gamma": 3.0, "c": 1.0, "q": 1.0, "T": 2.0},
    ),
    "rows alone": ({"budget": 20, "local": 0.0, "spread": 0.0}, {"c": 0.0, "q": 0.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("given", "formula"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("where", ["pagerank", "rows"])
def test_rounds_follow_the_formulas(given, formula, where):
    graph, labels, order = blocks(extra=3)
    found = embed(graph, 9, kind="pagerank", neighbours=10) if where == "pagerank" else embed(graph, 9).rows
    rows, local = (found.rows, found.local) if where == "pagerank" else (found, None)
    learner = ALGORITHMS["paced"](found, 3, **given)
    seen = expected(rows, local, order, labels, 3, given.get("budget"), **formula)
    for i, (prediction, asked, f, variance, value) in zip(order.tolist(), seen, strict=True):
        decision = learner.decide(i)
        np.testing.assert_allclose(decision.scores, f, atol=1e-8)
        assert decision.variance == pytest.approx(variance, abs=1e-8)
        assert decision.value == pytest.approx(value, abs=1e-8)
        assert decision.ask == asked
        if np.ptp(np.sort(f)[-2:]) > 1e-6:
            assert decision.prediction == prediction
        learner.commit(decision)
        if decision.ask:
            learner.learn(i, int(labels[i]))
    assert learner.questions == sum(asked for _, asked, *_ in seen)


def test_the_control_asks_at_the_same_pace_about_random_nodes():
    graph, labels, order = blocks()
    found = embed(graph, 9, kind="pagerank")
    learner = ALGORITHMS["paced"](found, 3, budget=30, at_random=True, seed=4)
    draws = [algebra.draw(4, t) for t in range(1, order.size + 1)]
    seen = expected(found.rows, found.local, order, labels, 3, 30, uniforms=draws)
    assert learner.run(order, labels).asked.tolist() == [asked for _, asked, *_ in seen]


# -- paced: what it promises -------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 1, 2, 7, 60, 119, 120, 500])
@pytest.mark.parametrize("pace", [0.5, 1.0, 4.0, 1e9])
def test_a_budget_is_spent_and_not_exceeded(budget, pace):
    graph, labels, order = blocks()
    trace = ALGORITHMS["paced"](graph, 3, budget=budget, pace=pace).run(order, labels)
    assert trace.questions <= min(budget, 120)
    if pace >= 1:
        assert trace.questions == min(budget, 120)


def test_a_higher_pace_asks_earlier():
    graph, labels, order = blocks()
    middles = [
        np.flatnonzero(ALGORITHMS["paced"](graph, 3, budget=30, pace=pace).run(order, labels).asked).mean()
        for pace in (1.0, 2.0, 4.0, 1e9)
    ]
    assert middles == sorted(middles, reverse=True)
    assert middles[0] > 35 and middles[-1] == 14.5


@pytest.mark.slow
def test_it_asks_better_questions_than_random_ones_do():
    """More right answers with the same questions, over ten graphs."""
    errors = {True: 0.0, False: 0.0}
    for seed in range(10):
        graph, labels, order = blocks(n=200, seed=seed)
        for at_random in errors:
            learner = ALGORITHMS["paced"](graph, 3, budget=30, at_random=at_random, seed=seed)
            errors[at_random] += learner.run(order, labels).error_rate / 10
    assert errors[False] < errors[True] - 0.01


def test_the_local_part_tells_neighbours_apart():
    """Pairs on a long ring: rows of rank 2 cannot know them, what is near can."""
    n = 400
    edges = [(i, (i + 1) % n, 1.0 if i % 2 == 0 else 0.1) for i in range(n)]
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(2, size=n // 2), 2)
    graph, order = as_graph(edges), rng.permutation(n)
    errors = [
        ALGORITHMS["paced"](embed(graph, 2, kind="pagerank"), 2, local=local).run(order, labels).error_rate
        for local in (0.0, 0.5)
    ]
    assert errors[1] < errors[0] - 0.1


GRAPHS = {
    "one node": (as_graph([], nodes=[0]), 1),
    "no edge": (as_graph([], nodes=range(5)), 5),
    "one edge": (as_graph([(0, 1)]), 2),
    "many components": (as_graph([(2 * i, 2 * i + 1) for i in range(30)], nodes=range(65)), 65),
    "light": (as_graph([(i, (i + 1) % 50, 1e-50) for i in range(50)]), 50),
    "heavy": (as_graph([(i, (i + 1) % 50, 1e50) for i in range(50)]), 50),
    "light and heavy": (as_graph([(i, (i + 1) % 50, 10.0 ** (50 * (-1) ** i)) for i in range(50)]), 50),
    "signed": (as_graph([(0, 1, 1.0), (1, 2, -1.0), (2, 0, 1.0)]), 3),
}


@pytest.mark.parametrize(("graph", "n"), GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("name", ["paced", "fastonl"])
@pytest.mark.parametrize("budget", [None, 2])
def test_strange_graphs(graph, n, name, budget):
    labels = np.arange(n) % 2
    learner = ALGORITHMS[name](graph, 2, budget=budget)
    trace = learner.run(np.append(np.arange(n), 0), labels)
    assert trace.questions == min(n + 1, n + 1 if budget is None else budget)
    assert np.isfinite(learner.scores()).all()
    assert np.isfinite(trace.margin).all() and np.isfinite(trace.variance).all()
    reached = np.isin(graph.components, graph.components[trace.row[trace.asked]])
    assert (learner.predict()[~reached] == -1).all()


@pytest.mark.parametrize("name", ["paced", "fastonl"])
def test_a_pair_is_answered_by_its_other_half(name):
    """What was learned at one end of an edge is said at the other, in every component."""
    graph = as_graph([(2 * i, 2 * i + 1) for i in range(30)])
    labels = np.repeat(np.arange(30) % 2, 2)
    learner = ALGORITHMS[name](graph, 2)
    learner.run(range(0, 60, 2), labels)
    assert learner.predict(range(1, 60, 2)).tolist() == labels[1::2].tolist()


@pytest.mark.parametrize("name", ["paced", "fastonl"])
def test_ids_and_files(name, tmp_path):
    """With a graph's own ids and a local part, a saved learner goes on as it was."""
    graph, labels, order = blocks()
    named = as_graph([(f"n{a}", f"n{b}") for a, b in zip(*graph.adjacency.nonzero(), strict=True)])
    node_order = [f"n{i}" for i in order.tolist() if f"n{i}" in named.nodes]
    answers = {node: int(labels[int(node[1:])]) for node in node_order}
    learner = ALGORITHMS[name](named, 3, budget=40)
    first = learner.run(node_order[:50], answers)
    assert first.node.tolist() == node_order[:50]
    learner.save(tmp_path / "learner.npz")
    other = Learner.load(tmp_path / "learner.npz")
    traces = [each.run(node_order[50:], answers) for each in (learner, other)]
    assert traces[0].asked.tolist() == traces[1].asked.tolist()
    assert learner.scores().tobytes() == other.scores().tobytes()


@pytest.mark.parametrize("name", ["paced", "fastonl"])
def test_answers_other_than_a_class(name):
    graph, labels, order = blocks()
    for answer, learns in (({0, 1}, True), (Answer.NONE, True), (Answer.UNSURE, False), ({0, 1, 2}, False)):
        learner = ALGORITHMS[name](graph, 3)
        learner.run(order[:20], labels)
        node = int(order[20])
        learner.commit(learner.decide(node))
        assert learner.learn(node, answer) is learns
        assert np.isfinite(learner.scores()).all()


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        *(("paced", {key: value}) for key in ("pace", "gamma", "sharpness") for value in (0.0, -1.0, np.inf)),
        *(("paced", each) for each in ({"local": 1.5}, {"spread": -0.1}, {"rounds": 0}, {"budget": -1})),
        *(("fastonl", each) for each in ({"alpha": 0.0}, {"alpha": 1.0}, {"eps": 0.0})),
    ],
)
def test_bad_settings_are_refused(name, setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        ALGORITHMS[name](np.eye(3), 2, **setting)


def test_a_graph_is_embedded_as_it_should_be():
    karate = datasets.load_graph("karate")
    ours = ALGORITHMS["paced"](karate, 2, budget=9)
    given = ALGORITHMS["paced"](embed(karate, kind="pagerank"), 2, budget=9)
    order = np.random.default_rng(0).permutation(34)
    assert ours.run(order, karate.codes).asked.tolist() == given.run(order, karate.codes).asked.tolist()
    assert ours.scores().tobytes() == given.scores().tobytes()


# -- FastONL ------------------------------------------------------------------------------


def fastonl_rounds(kernel, order, labels, K):
    """Rounds with a dense kernel; S is found by trying all sizes."""
    n = len(kernel)
    G, A, T = np.zeros((n, K)), 0.0, 2.0 * n**2
    seen = []
    for i in order:
        v = kernel[i] @ G
        psi = -v / np.sqrt(A + K * T)
        seen.append((int(np.argmax(psi)), psi))
        ranked = np.argsort(-psi, kind="stable")
        size = next(m for m in range(K, 0, -1) if psi[ranked[m - 1]] >= (psi[ranked[:m]].sum() - 1) / m)
        inside, y = ranked[:size], labels[i]
        g = np.zeros(K)
        if y in inside:
            g[inside] = 1 / size
            g[y] -= 1
        else:
            best = max((k for k in range(K) if k != y), key=lambda k: psi[k])
            g[best], g[y] = 1 / (1 + 1 / size), -1 / (1 + 1 / size)
        A += 2 * g @ v + kernel[i, i] * g @ g
        T -= kernel[i, i]
        G[i] = g
    return seen


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_fastonl_follows_its_formulas(alpha):
    graph, labels, order = blocks(extra=2)
    degrees = np.where(graph.degrees > 0, graph.degrees, 1.0)
    S = graph.adjacency.toarray() / np.sqrt(degrees)[:, None] / np.sqrt(degrees)
    kernel = 2 * graph.n_nodes * alpha * np.linalg.inv(np.eye(graph.n_nodes) - (1 - alpha) * S)
    learner = ALGORITHMS["fastonl"](graph, 3, alpha=alpha, eps=1e-14)
    for i, (prediction, psi) in zip(order.tolist(), fastonl_rounds(kernel, order, labels, 3), strict=True):
        decision = learner.decide(i)
        np.testing.assert_allclose(decision.scores, psi, atol=1e-8)
        if np.ptp(np.sort(psi)[-2:]) > 1e-6:
            assert decision.prediction == prediction
        assert decision.ask
        learner.commit(decision)
        learner.learn(i, int(labels[i]))


def test_fastonl_on_rows_takes_their_products():
    graph, labels, order = blocks()
    rows = embed(graph, 8).rows
    kernel = 2 * len(rows) * rows @ rows.T / (rows**2).sum(axis=1).max()
    learner = ALGORITHMS["fastonl"](rows, 3)
    for i, (_, psi) in zip(order.tolist(), fastonl_rounds(kernel, order, labels, 3), strict=True):
        decision = learner.decide(i)
        np.testing.assert_allclose(decision.scores, psi, atol=1e-8)
        learner.commit(decision)
        learner.learn(i, int(labels[i]))
