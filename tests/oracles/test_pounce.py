"""POUNCE and nearest neighbour against slow twins, and pounce08's theorems on generated graphs.

The twin of POUNCE is Fig. 3 word by word: the pseudo-inverse by numpy, w as a vector in the span of its
columns, the nearest mistaken trial by a loop. It shares no code with the package.
"""

import tracemalloc
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import nnls
from sklearn.neighbors import KNeighborsClassifier

from querist import ALGORITHMS, InputError, Learner, as_graph, datasets, embed, from_points, memory
from querist.errors import TooLargeError
from querist.graph import Graph, laplacian
from querist.graph.laplacian import resistances
from querist.graph.neighbours import all_distances
from querist.online import POUNCE, Nearest
from querist.online.checks import Answer
from querist.operator.resistance import check_room, tree_coordinates
from querist_papers.theory import (
    minimiser,
    pounce08,
    relaxed_energy,
    resistance_diameter,
    separating_cover_numbers,
)


def random_graph(rng: np.random.Generator, n: int, signed: bool) -> Graph:
    """Connected, weighted over two orders of magnitude; a signed one with an odd triangle, so definite."""
    W = np.where(rng.random((n, n)) < 0.4, 10 ** rng.uniform(-1, 1, (n, n)), 0.0)
    W = np.triu(W, 1)
    for i in range(1, n):  # a random tree keeps it connected
        W[rng.integers(i), i] = 10 ** rng.uniform(-1, 1)
    if signed:
        W *= np.where(rng.random((n, n)) < 0.4, -1, 1)
        W[0, 1], W[0, 2], W[1, 2] = abs(W[0, 1]) or 1.0, abs(W[0, 2]) or 1.0, -(abs(W[1, 2]) or 1.0)
    return as_graph(W + W.T)


# -- the twin --------------------------------------------------------------------


class Twin:
    """pounce08, Fig. 3, one binary problem."""

    def __init__(self, graph: Graph) -> None:
        M = laplacian(graph).toarray()
        self.M, self.v = M, np.linalg.pinv(M, rcond=1e-12, hermitian=True)
        self.w = np.zeros(len(M))
        self.mistakes: list[tuple[int, int]] = []

    def distance(self, i: int, j: int) -> float:
        difference = self.v[:, i] - self.v[:, j]
        return float(difference @ self.M @ difference)

    def predict(self, i: int) -> float:
        if not self.mistakes:
            return 0.0
        distances = [self.distance(i, j) for j, _ in self.mistakes]
        self.eta = next(k for k, d in enumerate(distances) if d <= min(distances) + 1e-11)
        j, y = self.mistakes[self.eta]
        return y + self.w[i] - self.w[j]

    def learn(self, i: int, y: int) -> bool:
        score = self.predict(i)
        if score * y > 1e-11:
            return False
        if self.mistakes:
            j, other = self.mistakes[self.eta]
            x = self.v[:, i] - self.v[:, j]
            self.w = self.w + (y - other - (self.w[i] - self.w[j])) / self.distance(i, j) * x
        self.mistakes.append((i, y))
        return True


@given(st.integers(0, 10**6), st.integers(3, 9), st.booleans(), st.sampled_from(["graph", "rows"]))
def test_every_round_agrees(seed: int, n: int, signed: bool, kind: str) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, signed)
    place = graph if kind == "graph" else embed(graph, rank=n, normalised=False, constant=1.0, cache=False)
    labels, order = rng.integers(0, 2, n), rng.integers(0, n, 3 * n)
    twin, learner = Twin(graph), POUNCE(place, 2)
    for node in order.tolist():
        decision = learner.decide(node)
        assert decision.scores[0] == pytest.approx(twin.predict(node), abs=1e-8)
        learner.commit(decision)
        assert learner.learn(node, int(labels[node])) == twin.learn(node, 2 * int(labels[node]) - 1)
    assert learner.remembered().tolist() == [i for i, _ in twin.mistakes]
    expected = [twin.predict(i) for i in range(n)]
    np.testing.assert_allclose(learner.scores()[:, 0], expected, atol=1e-8)


@given(st.integers(0, 10**6))
def test_late_answers_use_the_state_as_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, labels = random_graph(rng, 7, False), rng.integers(0, 2, 7)
    twin, learner = Twin(graph), POUNCE(graph, 2)
    waiting: list[int] = []
    for node in rng.permutation(7).tolist():
        learner.commit(learner.decide(node))
        waiting.append(node)
        if rng.random() < 0.5:
            late = waiting.pop(int(rng.integers(len(waiting))))
            assert learner.learn(late, int(labels[late])) == twin.learn(late, 2 * int(labels[late]) - 1)
    assert learner.pending == tuple(waiting)
    assert learner.remembered().tolist() == [i for i, _ in twin.mistakes]


@pytest.mark.parametrize("make", [POUNCE, Nearest])
@pytest.mark.parametrize("kind", ["graph", "rows"])
def test_equally_near_trials_go_to_the_earliest(make: Any, kind: str) -> None:
    """The middle of a star is as far from every leaf, up to rounding; the first leaf seen decides."""
    rng = np.random.default_rng(0)
    star = as_graph([(0, leaf) for leaf in range(1, 7)])
    place = star if kind == "graph" else embed(star, rank=7, normalised=False, cache=False)
    for _ in range(20):
        learner, leaves = make(place, 2), rng.permutation(np.arange(1, 7))
        labels = rng.integers(0, 2, 7)
        for leaf in leaves.tolist():
            learner.commit(learner.decide(leaf))
            learner.learn(leaf, int(labels[leaf]))
        learner.decide(0)
        assert learner._work.more.near[0] == leaves[0]


def test_a_contradiction_replaces_the_label() -> None:
    learner = POUNCE(datasets.load_graph("karate"), 2)
    for node, answer in ((0, 1), (33, 0), (0, 0), (0, 0)):
        learner.commit(learner.decide(node))
        learner.learn(node, answer)
    assert learner.remembered().tolist() == [0, 33]
    assert learner.predict([0, 33]).tolist() == [0, 0]
    assert np.isfinite(learner.scores()).all()


@pytest.mark.parametrize("make", [POUNCE, Nearest])
def test_on_a_graph_run_is_step_and_a_saved_learner_goes_on_bit_for_bit(make: Any, tmp_path: Path) -> None:
    clusters = datasets.three_clusters(8)
    order = np.random.default_rng(0).integers(0, 24, 60)
    whole, halves, steps = (make(clusters, 3) for _ in range(3))
    trace = whole.run(order, clusters.codes)
    halves.run(order[:30], clusters.codes)
    halves.commit(halves.decide(5))
    halves.save(tmp_path / "learner.npz")
    back = Learner.load(tmp_path / "learner.npz")
    assert type(back) is type(halves) and back.notes == halves.notes and back.pending == (5,)
    for node in order.tolist():
        decision = steps.decide(node)
        steps.commit(decision)
        steps.learn(node, int(clusters.codes[node]))
    for state in zip(whole._state, steps._state, strict=True):
        np.testing.assert_array_equal(*state)
    for learner in (halves, back):
        learner.learn(5, int(clusters.codes[5]))
        learner.run(order[30:], clusters.codes)
    for state in zip(halves._state, back._state, strict=True):
        np.testing.assert_array_equal(*state)
    assert trace.updated.sum() == whole.updates == steps.updates


def test_answers_that_are_no_class() -> None:
    learner = POUNCE(datasets.load_graph("karate"), 3)
    assert (learner.predict() == -1).all()
    for node, answer, sizes in (
        (0, Answer.UNSURE, [0, 0, 0]),
        (1, {0, 1}, [0, 0, 1]),  # not class 2; nothing is said of 0 and 1
        (2, Answer.NONE, [1, 1, 1]),
        (3, 2, [1, 1, 2]),
    ):
        learner.commit(learner.decide(node))
        learner.learn(node, answer)
        assert learner._state.sizes.tolist() == sizes
    assert (learner.predict() >= 0).all()


# -- what is refused --------------------------------------------------------------


TWO_PAIRS = as_graph([(0, 1), (2, 3)])
BALANCED = as_graph(np.array([[0, 1, -1], [1, 0, -1], [-1, -1, 0.0]]))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (TWO_PAIRS, "reducible.*largest_component"),
        (embed(TWO_PAIRS, rank=3, cache=False), "reducible.*largest_component"),
        (BALANCED, "balanced.*positive definite"),
    ],
)
def test_reducible_laplacians_are_refused(place: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        POUNCE(place, 2)


def test_memory_is_refused_before_it_is_taken() -> None:
    with pytest.raises(InputError, match=r"1,000,000 nodes needs about 42,000.* GB.*embedding"):
        check_room(1_000_000)
    check_room(1000)


@pytest.mark.parametrize("spread", [0, 12])
def test_resistances_that_do_not_fit_are_refused_before_they_are_computed(spread: int) -> None:
    rng, n = np.random.default_rng(0), 500
    pairs = [*zip(range(n - 1), range(1, n), strict=True), *rng.integers(0, n, (2 * n, 2)).tolist()]
    weights = 10.0 ** rng.uniform(-spread, spread, len(pairs))
    graph, again = (as_graph(pairs, weights=weights) for _ in range(2))
    tracemalloc.start()
    exact = resistances(graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bool(exact.notes) == (spread > 0)
    with memory.at_most(0.9 * peak), pytest.raises(TooLargeError, match="the exact kernel of 500 nodes"):
        resistances(again)


def test_rows_are_said_to_be_approximate() -> None:
    karate = datasets.load_graph("karate")
    assert "approximation" in POUNCE(embed(karate, rank=8, cache=False), 2).notes[0]
    assert POUNCE(karate, 2).notes == ()


# -- nearest neighbour ------------------------------------------------------------


@pytest.mark.parametrize("distance", ["resistance", "geodesic", "points"])
def test_nearest_neighbour_is_scikit_learns(distance: str) -> None:
    moons = datasets.two_moons(n=80, seed=2)
    order = np.random.default_rng(0).permutation(80)
    D = {
        "resistance": resistances(moons).all(),
        "geodesic": floyd_warshall(moons),
        "points": all_distances(moons.attributes.toarray(), "euclidean"),
    }[distance]
    trace = Nearest(moons, 2, distance=distance).run(order, moons.codes)
    for t in range(1, 80):
        known = order[:t]
        peer = KNeighborsClassifier(1, metric="precomputed").fit(D[np.ix_(known, known)], moons.codes[known])
        assert trace.predicted[t] == peer.predict(D[order[t], known][None])[0]


def floyd_warshall(graph: Graph) -> np.ndarray:
    W = graph.adjacency.toarray()
    D = np.where(W > 0, 1 / np.where(W > 0, W, 1), np.inf)
    np.fill_diagonal(D, 0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, [k]] + D[[k]])
    return D


def test_geodesics_keep_apart_what_is_near_beside_a_very_long_path() -> None:
    """Two tight pairs, 1e15 times as far from each other as their members are."""
    W = np.zeros((4, 4))
    W[0, 1] = W[2, 3] = 1e15
    W[1, 2] = 1.0
    learner = Nearest(as_graph(W + W.T), 2, distance="geodesic")
    learner.run([0, 1, 2, 3], np.array([0, 1, 0, 1]))
    assert learner.predict(range(4)).tolist() == [0, 1, 0, 1]


def test_geodesics_need_a_graph() -> None:
    with pytest.raises(InputError, match="needs a graph"):
        Nearest(np.eye(3), 2, distance="geodesic")


# -- resistances at every scale -----------------------------------------------------


def exact_resistances(W: np.ndarray) -> np.ndarray:
    """By Gaussian elimination in rational numbers, last node grounded."""
    n = len(W) - 1
    w = [[Fraction(x) for x in row] for row in W]
    A = [
        [sum(w[i]) if i == j else -w[i][j] for j in range(n)] + [Fraction(int(i == j)) for j in range(n)]
        for i in range(n)
    ]
    for k in range(n):
        pivot = A[k][k]
        A[k] = [x / pivot for x in A[k]]
        for i in range(n):
            if i != k and A[i][k]:
                A[i] = [x - A[i][k] * y for x, y in zip(A[i], A[k], strict=True)]
    K = [[A[i][n + j] for j in range(n)] + [Fraction(0)] for i in range(n)] + [[Fraction(0)] * (n + 1)]
    return np.array([[float(K[i][i] + K[j][j] - 2 * K[i][j]) for j in range(n + 1)] for i in range(n + 1)])


@pytest.mark.parametrize(("a", "rtol"), [(1.0, 1e-12), (20.0, 1e-12), (100.0, 1e-11)])
def test_resistances_keep_their_digits_however_far_weights_are_apart(a: float, rtol: float) -> None:
    X = np.random.default_rng(1).normal(size=(9, 2))
    graph = from_points(X, kind="exponential", a=a)
    expected = exact_resistances(graph.adjacency.toarray())
    if a == 100.0:
        assert expected.max() / expected[expected > 0].min() > 1e30
    np.testing.assert_allclose(resistances(graph).all(), expected, rtol=rtol)


def test_both_ways_to_resistances_agree() -> None:
    karate = datasets.load_graph("karate")
    rows = tree_coordinates(laplacian(karate))
    D = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(D, resistances(karate).all(), atol=1e-12)


# -- the theorems ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_theorem_2_over_generated_graphs(signed: bool) -> None:
    """Many graphs, covers exact: no violation; and the bound is sometimes nearly reached."""
    closest = np.inf
    for seed in range(500):
        rng = np.random.default_rng((int(signed), seed))
        n = int(rng.integers(3, 9))
        graph = random_graph(rng, n, signed)
        labels = rng.integers(0, 2, n)
        order = rng.permutation(n) if seed % 2 else rng.integers(0, n, 2 * n)
        trace = POUNCE(graph, 2).run(order, labels)
        bound = pounce08.theorem_2(graph, order, 2 * labels[order] - 1, trace.mistaken)
        assert bound.respected, (seed, bound)
        assert "exact" in bound.note
        closest = min(closest, bound.value - bound.observed)
    assert closest < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_theorem_5_over_generated_graphs(signed: bool) -> None:
    """`u_i y_i >= 1` allows no less energy than `u_i = y_i`, by non-negative least squares, to 1e-12."""
    for seed in range(300):
        rng = np.random.default_rng((7, int(signed), seed))
        n = int(rng.integers(3, 10))
        graph = random_graph(rng, n, signed)
        nodes = rng.choice(n, int(rng.integers(1, n)), replace=False)
        y = rng.choice([-1.0, 1.0], nodes.size)
        _, energy = minimiser(graph, nodes, y)
        # Without the free nodes: Schur complement S, u = y (1 + s), s >= 0.
        M = laplacian(graph).toarray()
        free = np.setdiff1d(np.arange(n), nodes)
        S = M[np.ix_(nodes, nodes)]
        S = S - M[np.ix_(nodes, free)] @ np.linalg.solve(M[np.ix_(free, free)], M[np.ix_(free, nodes)])
        values, vectors = np.linalg.eigh((S + S.T) / 2)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        _, norm = nnls(root * y, -root @ y)
        assert energy == pytest.approx(norm**2, rel=1e-12, abs=1e-12)
        assert relaxed_energy(graph, nodes, y) == pytest.approx(norm**2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.08])
def test_theorem_8_on_two_moons(noise: float) -> None:
    moons = datasets.two_moons(n=400, noise=noise, seed=1)
    X = moons.attributes.toarray()
    d = all_distances(X, "euclidean")
    a = 1.001 * pounce08.scale_needed(d, moons.codes)
    graph = from_points(X, kind="exponential", a=a, labels=moons.codes)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(400)
        mistakes = int(POUNCE(graph, 2).run(order, moons.codes).mistaken.sum())
        bound = pounce08.theorem_8(d, moons.codes, mistakes, a)
        assert bound.applies and bound.value == 3
        assert mistakes <= 3


def figure_4(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The points of pounce08, Figure 4, and their labels; the first n are to be predicted."""
    positive = rng.random(n) < 0.5
    column, fine = np.arange(1.0, n + 1), np.arange(2.0, 2 * n + 1) / 2
    parts = [
        (column, np.full(n, 1.0), positive),
        (fine, np.zeros(2 * n - 1), np.ones(2 * n - 1, dtype=bool)),
        (fine, np.full(2 * n - 1, 2.0), np.zeros(2 * n - 1, dtype=bool)),
        (column, np.where(positive, 0.5, 1.5), positive),
    ]
    x, y, labels = (np.concatenate(values) for values in zip(*parts, strict=True))
    return np.column_stack([x, y]), labels.astype(np.int64)


def test_theorem_8_on_figure_4() -> None:
    """At most 3 mistakes for every n = 5..40; nearest neighbour without a preview errs on about half."""
    blind = []
    for n in range(5, 41):
        rng = np.random.default_rng(n)
        X, labels = figure_4(n, rng)
        assert len(X) == 6 * n - 2
        d = all_distances(X, "euclidean")
        if n % 7 == 5:
            assert separating_cover_numbers(d, labels)[1] == 2
        a = 1.001 * pounce08.scale_needed(d, labels)
        graph = from_points(X, kind="exponential", a=a, labels=labels)
        order = rng.permutation(n)
        mistakes = int(POUNCE(graph, 2).run(order, labels).mistaken.sum())
        assert mistakes <= 3
        blind.append(Nearest(X, 2, distance="points").run(order, labels).mistaken.mean())
    assert np.mean(blind) > 0.35


def test_three_clusters_are_hard_for_the_perceptron_and_not_for_pounce() -> None:
    """Cliques of 6 to 192 (pounce08, section 2.2)."""
    worst_perceptron = []
    for size in (6, 12, 24, 48, 96, 192):
        clusters = datasets.three_clusters(size)
        rows = embed(clusters, rank=3 * size, normalised=False, cache=False)
        perceptron = []
        for positive in range(3):
            labels = (clusters.codes == positive).astype(np.int64)
            for seed in range(2):
                order = np.random.default_rng(seed).permutation(3 * size)
                assert POUNCE(clusters, 2).run(order, labels).mistaken.sum() <= 20
                first = ALGORITHMS["gpa"](rows, 2, scheme="one-vs-rest")
                perceptron.append(int(first.run(order, labels).mistaken.sum()))
        worst_perceptron.append(max(perceptron))
    assert sorted(worst_perceptron) == worst_perceptron
    assert worst_perceptron[-1] >= 5 * worst_perceptron[0]


def test_the_perceptron_bound_has_its_diameter() -> None:
    """pounce08, eq. 4 on two cliques joined by links: the resistance diameter is at most 5/links."""
    size, links = 20, 8
    W = np.kron(np.eye(2), np.ones((size, size)))
    W[np.arange(links), size + np.arange(links)] = W[size + np.arange(links), np.arange(links)] = 1.0
    np.fill_diagonal(W, 0)
    assert resistance_diameter(as_graph(W)) <= 5 / links


# -- section 6: a line that is cut once ---------------------------------------------


def line(n: int) -> Graph:
    return as_graph([(i, i + 1) for i in range(n - 1)])


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_search_of_all_orders_is_every_order(n: int) -> None:
    """Every order of the nodes and every cut, played by the twin."""
    graph, most = line(n), 0
    for cut in range(1, n):
        signs = np.where(np.arange(n) < cut, 1, -1)
        for order in permutations(range(n)):
            twin = Twin(graph)
            most = max(most, sum(twin.learn(node, int(signs[node])) for node in order))
    assert pounce08.most_mistakes_on_line(n) == most == int(np.ceil(np.log2(n))) + 1


def test_no_order_on_a_line_costs_more_than_a_bisection() -> None:
    for n in (7, 8, 9, 15, 16, 17, 31, 32):
        assert pounce08.most_mistakes_on_line(n) == int(np.ceil(np.log2(n))) + 1


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_halving_is_a_vote_of_all_labellings(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    labels, order = (np.arange(n) >= rng.integers(0, n + 1)).astype(int), rng.permutation(n)
    left = {tuple(int((i < k) ^ flip) for i in range(n)) for k in range(n + 1) for flip in (False, True)}
    assert len(left) == 2 * n
    expected = []
    for node in order.tolist():
        ones = sum(guess[node] for guess in left)
        expected.append(int(2 * ones > len(left)) != labels[node])
        left = {guess for guess in left if guess[node] == labels[node]}
    found = pounce08.halving_on_line(order, labels)
    assert found.tolist() == expected
    assert found.sum() <= np.log2(2 * n)


@pytest.mark.parametrize("n", [3, 8, 17, 30])
def test_theorem_2_on_a_line_is_theorem_2(n: int) -> None:
    """With exact covers, and mistakes on both sides of the cut, so that u* has all the energy there is."""
    signs = np.where(np.arange(n) < n // 2, 1, -1)
    mistaken = np.isin(np.arange(n), [n // 2 - 1, n // 2])
    bound = pounce08.theorem_2(line(n), np.arange(n), signs, mistaken)
    assert bound.value == pytest.approx(pounce08.theorem_2_on_line(n))
