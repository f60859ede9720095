"""The maths against independent, dense, slow or foreign implementations."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist import as_graph
from querist.collective.gmnr import GMNR, MRGM, PLSA, label_similarity
from querist.collective.iterative import ICA, counts as _counts, means as _means
from querist.collective.logistic import fit_logistic
from querist.collective.mixture import CountMatrix
from querist.collective.problem import pose, reach, smoothness
from querist.collective.relational import WVRN, Harmonic
from querist.collective.smoothing import Smoother
from querist.collective.sweeps import Sweeper
from querist_papers.rivals.iterative import SemiICA, regularise_labels
from querist_papers.rivals.latent import mixing_weights, similar_links

# -- a dense twin of mrgm15, written from the formulas ---------------------------------


def posterior(Y, F):
    """(n, M, K) P(c|x,w), eq. 8, explicitly."""
    joint = Y[:, None, :] * F[None, :, :]
    total = joint.sum(axis=2, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1), Y[:, None, :])


def dense_em(X, S, indicator, *, lam, lam_labels, clamp, smooth, iterations):
    """The whole algorithm with the NK x NK system of eq. 11, class by class in blocks."""
    n, K = indicator.shape
    seeds = indicator.any(axis=1)
    prior = indicator.sum(axis=0) / indicator.sum()
    fixed = indicator / np.maximum(indicator.sum(axis=1, keepdims=True), 1)
    Y = np.where(seeds[:, None], fixed, prior)
    W = X.T @ indicator + smooth
    F = W / np.where(W.sum(axis=0) > 0, W.sum(axis=0), 1)
    norms = np.linalg.norm(indicator, axis=0)
    similar = np.eye(K)
    for k in range(K):
        for other in range(K):
            if k != other and norms[k] * norms[other] > 0:
                similar[k, other] = indicator[:, k] @ indicator[:, other] / (norms[k] * norms[other])
    L = np.diag(S.sum(axis=1)) - S
    A = np.kron(np.eye(K), np.diag(X.sum(axis=1)) + lam * L)
    A += lam_labels * np.kron(np.diag(similar.sum(axis=1)) - similar, np.eye(n))
    for _ in range(iterations):
        P = posterior(Y, F)
        Z = np.einsum("ij,ijk->ik", X, P)
        G = np.einsum("ij,ijk->jk", X, P)
        Y = np.linalg.solve(A, Z.T.ravel()).reshape(K, n).T.copy()
        if clamp == "reset":
            Y[seeds] = fixed[seeds]
        F = G / np.where(G.sum(axis=0) > 0, G.sum(axis=0), 1)
    return Y, F


@st.composite
def networks(draw):
    """A weighted network, counts (every node has a word) and labels of a few nodes, several a node."""
    n, M, K = draw(st.integers(4, 9)), draw(st.integers(2, 6)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S = np.triu(rng.integers(0, 2, (n, n)) * rng.uniform(0.1, 3, (n, n)), 1)
    X = rng.integers(0, 4, (n, M)).astype(float)
    X[np.arange(n), rng.integers(0, M, n)] += 1
    indicator = np.zeros((n, K))
    for node in rng.permutation(n)[: rng.integers(1, n)]:
        indicator[node, rng.permutation(K)[: rng.integers(1, K + 1)]] = 1
    return X, S + S.T, indicator


@pytest.mark.slow
@given(
    networks(),
    st.sampled_from(["reset", "none"]),
    st.sampled_from([0.0, 1.0]),
    st.floats(0.1, 8),
    st.floats(0, 4),
)
def test_em_agrees_with_the_explicit_posterior_and_the_whole_system(network, clamp, smooth, lam, lam_labels):
    X, S, indicator = network
    settings = {"clamp": clamp, "smooth": smooth, "lam": lam, "lam_labels": lam_labels}
    expected_Y, expected_F = dense_em(X, S, indicator, iterations=3, **settings)
    graph = as_graph(sp.csr_array(S), attributes=X)
    model = MRGM(max_iter=3, **settings).fit(graph, indicator)
    assert model.distribution_ == pytest.approx(expected_Y, abs=1e-10)
    assert model.words_ == pytest.approx(expected_F, abs=1e-10)


@pytest.mark.slow
@given(networks(), st.sampled_from([0.05, 1.0, 40.0]))
def test_lam_chosen_by_itself_is_the_rule_from_one_fit(network, words):
    X, S, indicator = network
    X, n = words * X, len(S)
    edges = sum(S[i, j] > 0 for i in range(n) for j in range(i))
    graph = as_graph(sp.csr_array(S), attributes=X)
    with pytest.MonkeyPatch.context() as patch:
        passes = []
        expect = CountMatrix.expect
        patch.setattr(CountMatrix, "expect", lambda *given, **how: passes.append(1) or expect(*given, **how))
        model = MRGM(lam="auto", objective=False).fit(graph, indicator)
        assert len(passes) == model.n_iter_
    if edges:
        links, counts, weight = 2 * edges / n, X.sum() / n, S.sum() / n
        neighbours = min(60, max(links, min(10 * links, 2 * counts)))
        assert model.lam_ == pytest.approx(neighbours / weight)
        linked = GMNR(lam="auto", features="links").fit(graph, indicator)
        assert linked.lam_ == pytest.approx(min(10, 60 / max(1, links)))
    for kind in (GMNR, MRGM):
        one, other = (kind(lam=lam).fit(graph, indicator) for lam in ("auto", model.lam_))
        assert (one.probabilities_ == other.probabilities_).all() and other.lam_ == model.lam_


def plain_plsa(X, Y, F, seeds, iterations):
    """Hofmann's PLSA, node by node and word by word."""
    fixed = Y.copy()
    for _ in range(iterations):
        Z, G = np.zeros_like(Y), np.zeros_like(F)
        for i, j in zip(*np.nonzero(X), strict=True):
            p = Y[i] * F[j]
            p = X[i, j] * p / p.sum()
            Z[i] += p
            G[j] += p
        Y, F = Z / Z.sum(axis=1, keepdims=True), G / np.maximum(G.sum(axis=0), 1e-300)
        Y[seeds] = fixed[seeds]
    return Y, F


@pytest.mark.slow
@given(networks())
def test_without_the_network_it_is_plsa(network):
    X, S, indicator = network
    graph = as_graph(sp.csr_array(S), attributes=X)
    problem = pose(graph, indicator)
    W = X.T @ indicator + 1
    Y, F = plain_plsa(X, problem.rows.copy(), W / W.sum(axis=0), problem.seeds, 4)
    for model in (PLSA(max_iter=4), GMNR(lam=0.0, max_iter=4), MRGM(lam=0.0, lam_labels=0.0, max_iter=4)):
        model.fit(graph, indicator)
        assert model.distribution_ == pytest.approx(Y, abs=1e-10)
        assert model.words_ == pytest.approx(F, abs=1e-10)


def test_it_does_not_stop_where_all_classes_start_with_the_same_words():
    X = np.array([[2.0, 4.0], [1.0, 1.0], [1.0, 1.0], [3.0, 3.0]])
    indicator = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    graph = as_graph(sp.csr_array((4, 4)), attributes=X)
    Y, _ = plain_plsa(X, pose(graph, indicator).rows.copy(), np.full((2, 2), 0.5), indicator.any(axis=1), 4)
    model = PLSA(max_iter=4).fit(graph, indicator)
    assert model.history_.change[0] == 0
    assert model.n_iter_ == 4
    assert model.distribution_ == pytest.approx(Y, abs=1e-12)


@pytest.mark.slow
@given(networks())
def test_with_one_label_a_node_mrgm_is_gmnr(network):
    X, S, indicator = network
    labels = [int(row.argmax()) if row.any() else None for row in indicator]
    graph = as_graph(sp.csr_array(S), attributes=X)
    one, other = GMNR(lam=2.0).fit(graph, labels), MRGM(lam=2.0, lam_labels=3.0).fit(graph, labels)
    assert one.probabilities_ == pytest.approx(other.probabilities_, abs=1e-12)


@pytest.mark.slow
@given(networks(), st.sampled_from(["float64", "float32"]))
def test_single_precision_and_blocks_change_nothing_but_digits(network, dtype):
    X, S, indicator = network
    graph = as_graph(sp.csr_array(S), attributes=X)
    exact = MRGM(lam=2.0, lam_labels=1.0).fit(graph, indicator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("querist.collective.sweeps.BLOCK", 2)
        other = MRGM(lam=2.0, lam_labels=1.0, dtype=dtype).fit(graph, indicator)
        assert len(CountMatrix(graph.attributes).cuts) > 1
    assert other.probabilities_.dtype == dtype
    assert other.probabilities_ == pytest.approx(
        exact.probabilities_, abs=1e-10 if dtype == "float64" else 2e-3
    )


@pytest.mark.slow
@given(networks(), st.sampled_from(["cg", "jacobi"]), st.floats(0, 3))
def test_inexact_solvers_stay_on_the_simplex_and_arrive(network, solver, lam_labels):
    X, S, indicator = network
    rng = np.random.default_rng(0)
    Y = rng.dirichlet(np.ones(indicator.shape[1]), len(X))
    Z = X.sum(axis=1, keepdims=True) * rng.dirichlet(np.ones(indicator.shape[1]), len(X))
    graph = as_graph(sp.csr_array(S), attributes=X)
    args = (graph.adjacency, X.sum(axis=1), graph.components, label_similarity(indicator), 2.0, lam_labels)
    exact, how = Smoother(*args, solver="factor").solve(Z, Y)
    assert how == "factor"
    for sweeps in (1, 3):
        rough, _ = Smoother(*args, solver="jacobi", sweeps=sweeps).solve(Z, Y)
        assert (rough >= -1e-15).all()
        assert rough.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    near, _ = Smoother(*args, solver=solver, tol=1e-12, sweeps=5000).solve(Z, Y)
    assert near == pytest.approx(exact, abs=1e-8)


def test_objective_is_the_likelihood_less_the_divergences():
    """R and H as the sums over pairs of eq. 4 and 6; the paper's halves count each pair twice."""
    rng = np.random.default_rng(3)
    S = sp.random_array((7, 7), density=0.5, rng=rng).toarray()
    S = np.triu(S, 1) + np.triu(S, 1).T
    Y, F = rng.dirichlet(np.ones(3), 7), rng.uniform(0, 1, (3, 3))
    F = (F + F.T) / 2
    R = sum(S[i, s] * Y[i] @ np.log(Y[i] / Y[s]) for i in range(7) for s in range(7))
    H = sum(F[k, m] * Y[:, k] @ np.log(Y[:, k] / Y[:, m]) for k in range(3) for m in range(3))
    smoother = Smoother(sp.csr_array(S), np.ones(7), np.zeros(7, dtype=int), F, 2.0, 0.5)
    assert smoother.penalty(Y) == pytest.approx(2.0 * R + 0.5 * H, rel=1e-9)


# -- relational methods -------------------------------------------------------------------


@given(networks())
def test_wvrn_reports_the_smoothness_after_every_step(network):
    _, S, indicator = network
    graph, codes = as_graph(sp.csr_array(S)), np.where(indicator.any(axis=1), indicator.argmax(axis=1), -1)
    long = WVRN(max_iter=4, tol=0.0, missing=-1).fit(graph, codes)
    for done in range(1, long.n_iter_ + 1):
        short = WVRN(max_iter=done, tol=0.0, missing=-1).fit(graph, codes)
        assert long.history_.objective[done - 1] == pytest.approx(
            smoothness(graph, short.probabilities_), abs=1e-9
        )


@pytest.mark.slow
@given(networks())
def test_wvrn_heads_for_the_harmonic_solution_and_networkx_agrees(network):
    import networkx as nx
    from networkx.algorithms.node_classification import harmonic_function

    _, S, indicator = network
    codes = {int(i): int(indicator[i].argmax()) for i in np.flatnonzero(indicator.any(axis=1))}
    graph = as_graph(sp.csr_array(S))
    exact = Harmonic().fit(graph, codes)
    relaxed = WVRN(max_iter=20_000, decay=1 - 1e-9, tol=1e-13).fit(graph, codes)
    if relaxed.n_iter_ < 20_000:
        assert relaxed.probabilities_ == pytest.approx(exact.probabilities_, abs=1e-6)
    network = nx.from_scipy_sparse_array(graph.adjacency)
    nx.set_node_attributes(network, codes, "label")
    if len(set(codes.values())) == 1:
        return
    P = np.sort(exact.probabilities_, axis=1)
    clear = exact.reached_ & ~exact.problem_.seeds & (P[:, -1] - P[:, -2] > 1e-3)
    if clear.any():
        theirs = np.array(harmonic_function(network, max_iter=5000))
        ours = exact.classes_[exact.probabilities_.argmax(axis=1)]
        assert (theirs == ours)[clear].all()


def test_harmonic_is_scikit_learns_label_propagation(data):
    """`LabelPropagation` with the weights as its kernel, run to the end."""
    from sklearn.semi_supervised import LabelPropagation

    from querist.datasets import load_graph

    karate = load_graph("karate")
    S = karate.adjacency.toarray()
    codes = np.where(np.isin(np.arange(34), [0, 5, 33]), karate.codes, -1)
    peer = LabelPropagation(
        kernel=lambda a, b: S[a[:, 0].astype(int)][:, b[:, 0].astype(int)], max_iter=20_000, tol=1e-12
    )
    peer.fit(np.arange(34)[:, None], codes)
    ours = Harmonic(missing=-1).fit(karate, codes)
    assert ours.probabilities_ == pytest.approx(peer.label_distributions_, abs=1e-8)


@pytest.mark.slow
@given(networks())
def test_one_round_of_ica_is_a_regression_on_attributes_and_neighbours(network):
    from sklearn.linear_model import LogisticRegression

    X, S, indicator = network
    codes = np.where(indicator.any(axis=1), indicator.argmax(axis=1), -1)
    seeds = codes >= 0
    if len(set(codes[seeds])) < 2:
        return
    K = int(codes.max()) + 1
    graph = as_graph(sp.csr_array(S), attributes=X)
    model = ICA(max_iter=1, classes=range(K), missing=-1).fit(graph, codes)

    def regression(features):
        two = len(set(codes[seeds])) == 2
        return LogisticRegression(C=2.0 if two else 1.0, tol=1e-8, max_iter=5000).fit(
            features[seeds], codes[seeds]
        )

    first = regression(X)
    margins = np.sort(first.predict_proba(X)[~seeds], axis=1)
    if (margins[:, -1] - margins[:, -2] < 1e-3).any():
        return  # a tie in the first labels goes either way
    labels = np.where(seeds, codes, first.predict(X))
    neighbours = S @ np.eye(K)[labels]
    both = np.hstack([X, neighbours])
    second = regression(both)
    expected = np.zeros((len(X), K))
    expected[:, second.classes_] = second.predict_proba(both)
    assert model.probabilities_[~seeds] == pytest.approx(expected[~seeds], abs=2e-3)


def test_neighbours_labels_are_means_of_the_neighbours_that_count():
    S = sp.csr_array(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    H = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert _means(S, H) == pytest.approx(np.array([[1 / 3, 2 / 3], [1, 0], [1, 0]]))
    among = np.array([False, False, True])
    assert _means(S, H, among) == pytest.approx(np.array([[1, 0], [0, 0], [0, 0]]))
    assert _counts(S, H, among) == pytest.approx(np.array([[1, 0], [0, 0], [0, 0]]))
    assert _counts(S, H)[0] == pytest.approx([1, 2])


@pytest.mark.parametrize("weight", [0.0, 1.0, 50.0])
def test_label_regularisation_minimises_what_it_says(weight):
    """Against a minimiser without derivatives, on the objective written anew; two of three classes occur."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    X, C = rng.normal(size=(12, 2)), 0.7
    indicator = np.zeros((12, 3))
    indicator[[0, 1, 2], 0] = indicator[3, 2] = 1
    codes = np.array([0, 0, 0, 2])
    words = sp.csr_array(X)
    found = regularise_labels(fit_logistic(words[:4], codes, 3, C), words, indicator, C, weight)

    def objective(v):
        W, b = v[:4].reshape(2, 2), v[4:]
        P = np.exp(X @ W.T + b)
        P /= P.sum(axis=1, keepdims=True)
        q = P[4:].mean(axis=0)
        losses = -np.log(P[:3, 0]).sum() - np.log(P[3, 1])
        kl = 0.75 * np.log(0.75 / q[0]) + 0.25 * np.log(0.25 / q[1])
        return losses + (W**2).sum() / (2 * C) + weight * kl

    best = minimize(objective, np.zeros(6), method="Powell", options={"xtol": 1e-10, "ftol": 1e-12})
    own = np.concatenate([found.W[[0, 2]].ravel(), found.b[[0, 2]]])
    assert objective(own) == pytest.approx(best.fun, abs=1e-4)
    P = found.probabilities(X)
    assert (P[:, 1] == 0).all()
    if weight == 50:
        assert P[4:].mean(axis=0) == pytest.approx([0.75, 0, 0.25], abs=0.02)


def test_semiica_is_attributes_times_neighbours():
    """The last round anew, node by node: P(c|x) of the attributes times naive Bayes over the neighbours."""
    graph = as_graph(
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)],
        attributes=np.random.default_rng(1).integers(0, 3, size=(6, 4)).astype(float),
    )
    problem = pose(graph, {0: "a", 2: "a", 5: "b"})
    one, two = (SemiICA(max_iter=rounds).fit(graph, {0: "a", 2: "a", 5: "b"}) for rounds in (1, 2))
    labels = one.probabilities_.argmax(axis=1)
    start = fit_logistic(graph.attributes[problem.seeds], np.array([0, 0, 1]), 2, 1.0)
    prior = regularise_labels(start, graph.attributes, problem.known.indicator, 1.0, 30.0)
    seen = np.ones((2, 2))
    neighbours = [np.flatnonzero(row) for row in graph.adjacency.toarray()]
    for node, own in ((0, 0), (2, 0), (5, 1)):
        for other in neighbours[node]:
            seen[own, labels[other]] += 1
    chance = seen / seen.sum(axis=1, keepdims=True)
    for node in (1, 3, 4):
        weight = prior.probabilities(graph.attributes)[node]
        for other in neighbours[node]:
            weight = weight * chance[:, labels[other]]
        assert two.probabilities_[node] == pytest.approx(weight / weight.sum(), abs=1e-9)


@pytest.mark.slow
def test_latent_links_are_weighed_by_the_labels_they_join():
    """Against the stated sum of squares over pairs, minimised on a grid."""
    rng = np.random.default_rng(0)
    indicator = np.eye(3)[rng.integers(3, size=9)]
    upper = [np.triu(rng.random((12, 12)) < 0.4, 1).astype(float) for _ in range(2)]
    kinds = [one + one.T for one in upper]
    seeds = np.arange(2, 11)
    found = mixing_weights([sp.csr_array(one) for one in kinds], seeds, indicator)

    def squares(w):
        total = (w[0] - 1) ** 2 + (w[1] - 1) ** 2
        for a, i in enumerate(seeds):
            for b, j in enumerate(seeds):
                t = (indicator[a] == indicator[b]).all()
                total += (w[0] * kinds[0][i, j] + w[1] * kinds[1][i, j] - t) ** 2
        return total

    grid = [(x, y) for x in np.linspace(0, 1.5, 61) for y in np.linspace(0, 1.5, 61)]
    assert squares(found) <= min(map(squares, grid)) + 1e-9
    assert (found > 0).all()
    nothing = [sp.csr_array((12, 12))] * 2
    assert mixing_weights(nothing, seeds, indicator) == pytest.approx([1, 1])


@given(networks(), st.integers(0, 3))
def test_similar_links_are_the_largest_cosines(network, k):
    from sklearn.metrics.pairwise import cosine_similarity

    # Cosines of small counts tie, and a tie goes either way by a rounding error.
    X = network[0] + np.random.default_rng(0).uniform(0.01, 0.1, network[0].shape)
    similar = cosine_similarity(X)
    np.fill_diagonal(similar, -1)
    expected = np.zeros_like(similar)
    for i in range(len(X)):
        for j in np.argsort(-similar[i].round(12), kind="stable")[: min(k, len(X) - 1)]:
            expected[i, j] = similar[i, j] > 0
    expected = np.maximum(expected, expected.T)
    assert similar_links(sp.csr_array(X), k).toarray() == pytest.approx(expected)


@given(networks(), st.booleans())
def test_reach_is_a_walk_over_words_and_edges(network, with_edges):
    import networkx as nx

    X, S, indicator = network
    X = X * (X > 2)
    seeds = indicator.any(axis=1)
    walk = nx.Graph()
    walk.add_nodes_from(("node", i) for i in range(len(X)))
    walk.add_edges_from((("node", i), ("word", j)) for i, j in zip(*np.nonzero(X), strict=True))
    if with_edges:
        walk.add_edges_from((("node", i), ("node", j)) for i, j in zip(*np.nonzero(S), strict=True))
    expected = [
        any(nx.has_path(walk, ("node", i), ("node", j)) for j in np.flatnonzero(seeds)) for i in range(len(X))
    ]
    components = as_graph(sp.csr_array(S)).components if with_edges else None
    assert reach(sp.csr_array(X), seeds, components).tolist() == expected


def test_smoothness_counts_squared_differences_along_edges():
    graph = as_graph([(0, 1, 2.0), (1, 2, 0.5)])
    P = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert smoothness(graph, P) == pytest.approx(-(2.0 * 2 + 0.5 * 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("K", [1, 3, 4, 10])
def test_a_sweep_against_dense_products(K, dtype, monkeypatch):
    """Whatever lies in the block that is written to; blocks change nothing."""
    rng = np.random.default_rng(K)
    dense = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
    dense += dense.T
    S = sp.csr_array(dense.astype(dtype))
    rho, lam, Y, B = rng.uniform(1, 3, 30), 2.5, rng.random((30, K)), rng.random((30, K))
    A = np.diag(rho + lam * dense.sum(axis=1)) - lam * dense
    step = 1 / (np.diag(A) + 0.5)
    centre, steps, right, block = (a.astype(dtype) for a in (np.diag(A), step, B, Y))
    expected = Y + step[:, None] * (B - A @ Y)
    close = 1e-12 if dtype == "float64" else 1e-4
    for size in (100_000, 20):
        monkeypatch.setattr("querist.collective.sweeps.BLOCK", size)
        sweeper, out = Sweeper(S.indptr.astype(np.int64), S.indices, S.data), np.full_like(block, np.nan)
        residual = sweeper.sweep(centre, steps, lam, right, block, out)
        assert out == pytest.approx(expected, rel=close, abs=close)
        assert residual == pytest.approx(np.linalg.norm(B - A @ Y, axis=0), rel=close)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_divergence_against_dense_products(dtype):
    rng = np.random.default_rng(1)
    dense = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
    dense += dense.T
    S, Y = sp.csr_array(dense), rng.random((30, 4)).astype(dtype)
    smoother = Smoother(S, np.ones(30), np.zeros(30, dtype=int), np.eye(4), 1.0, 0.0, dtype=Y.dtype.type)
    expected = np.sum(Y * ((np.diag(dense.sum(axis=1)) - dense) @ np.log(Y)))
    close = 1e-9 if dtype == "float64" else 1e-4
    assert smoother.penalty(Y) == pytest.approx(expected, rel=close)


@pytest.mark.parametrize("lam", [0.1, 0.5, 500.0])
def test_auto_reaches_its_tolerance_where_a_factor_is_dear(lam, monkeypatch):
    """By sweeps where they shrink the residual well, otherwise by gradients; and it says which."""
    monkeypatch.setattr("querist.operator.solve.FACTOR_WORK", -1.0)
    rng = np.random.default_rng(0)
    S = sp.random_array((200, 200), density=0.05, rng=rng, format="csr")
    S = sp.csr_array(S + S.T)
    S.setdiag(0)
    S.eliminate_zeros()
    rho, Y = rng.uniform(1, 9, 200), rng.dirichlet(np.ones(4), 200)
    Z = rho[:, None] * rng.dirichlet(np.ones(4), 200)
    smoother = Smoother(S, rho, np.zeros(200, dtype=int), np.eye(4), lam, 0.0, tol=1e-4)
    found, how = smoother.solve(Z, Y)
    A = np.diag(rho + lam * S.sum(axis=1)) - lam * S.toarray()
    assert (np.linalg.norm(Z - A @ found, axis=0) <= 2e-4 * np.linalg.norm(Z, axis=0)).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(200), abs=1e-9)
    assert how.endswith("cg") == (lam == 500.0)
    assert "Jacobi sweeps" in how
