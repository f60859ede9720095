"""Embeddings against golden numbers, dense decompositions and each other.

Eigenvectors are only known up to sign, and up to rotation inside a multiple eigenvalue, so Gram matrices
`rows @ rows.T` are compared, and only when the eigenvalues on both sides of the cut differ clearly.
"""

import json
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings, strategies as st

from querist.embedding import Embedding, embed
from querist.embedding.kinds.diffusion import diffusion
from querist.graph.graph import Graph
from querist.labels import Labels
from querist.online.catalogue import ALGORITHMS
from querist.operator.eigen import pool, solve
from querist.progress import silent
from querist.types import Floats

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "online.json").read_text())["graphs"]
DATA = os.environ.get("QUERIST_DATA")
CLEAR = 1e-4


def graph_of(S: Any, attributes: Any = None) -> Graph:
    X = None if attributes is None else sp.csr_array(np.asarray(attributes, dtype=float))
    return Graph(sp.csr_array(np.asarray(S, dtype=float)), attributes=X)


def gram(rows: Floats) -> Floats:
    return rows @ rows.T


# -- golden ------------------------------------------------------------------------------------------


def golden_graph(name: str) -> tuple[Graph, dict[str, Any]]:
    record = GOLDEN[name]
    S = np.zeros((record["n"], record["n"]))
    for i, j, weight in record["edges"]:
        S[int(i), int(j)] = S[int(j), int(i)] = weight
    return graph_of(S), record


@pytest.mark.parametrize("name", ["karate", "barbell3_weighted"])
def test_golden_gram_with_and_without_constant(name: str) -> None:
    graph, record = golden_graph(name)
    d = record["d"]
    bare = embed(graph, d, normalised=False, constant=0)
    np.testing.assert_allclose(gram(bare.rows), record["gram_rank_d"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(bare.eigenvalues, record["laplacian_eigenvalues"][1 : d + 1], atol=1e-9)
    # The papers' shape: the constant is one more column, so rank d + 1 holds the same d eigenvectors.
    full = embed(graph, d + 1, normalised=False, constant=3.0)
    assert full.rows.shape == (record["n"], d + 1)
    np.testing.assert_allclose(gram(full.rows), np.array(record["gram_rank_d"]) + 9, atol=1e-9, rtol=0)
    if record["eigengap_after_d"] is not None:
        ahead = record["laplacian_eigenvalues"][d + 1]
        assert bare.eigengap == pytest.approx(record["eigengap_after_d"] / ahead, abs=1e-9)


@pytest.mark.parametrize("name", ["karate", "barbell3_weighted"])
def test_full_rank_rows_give_the_pseudo_inverse(name: str) -> None:
    graph, record = golden_graph(name)
    found = embed(graph, record["n"], normalised=False, constant=0)
    np.testing.assert_allclose(gram(found.rows), record["pinv_laplacian"], atol=1e-9, rtol=0)
    assert found.eigengap == 1.0
    assert found.residual < 1e-12


# -- a dense oracle ----------------------------------------------------------------------------------


def dense_laplacian(S: Floats, normalised: bool) -> Floats:
    d = np.abs(S).sum(axis=1)
    if not normalised:
        return np.diag(d) - S
    root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return np.diag((d > 0).astype(float)) - root[:, None] * S * root


def oracle_gram(S: Floats, rank: int, normalised: bool, constant: float) -> Floats | None:
    """By one dense decomposition of the whole matrix; None where the cut is not clear."""
    values, vectors = np.linalg.eigh(dense_laplacian(S, normalised))
    null = values < 1e-9 * max(1, values[-1])
    wanted = rank - int(constant != 0 and null.any())
    values, vectors = values[~null], vectors[:, ~null]
    if wanted < values.size and (wanted == 0 or values[wanted] - values[wanted - 1] < CLEAR * values[wanted]):
        return None
    V = vectors[:, :wanted] / np.sqrt(values[:wanted])
    # The null space of D - S holds a +-1 signature a component: its projector, made +-1, is their Gram.
    w, U = np.linalg.eigh(dense_laplacian(S, False))
    N = U[:, w < 1e-9 * max(1, w[-1])]
    return np.asarray(V @ V.T + constant**2 * np.sign(np.round(N @ N.T, 9)))


@st.composite
def adjacencies(draw: st.DrawFn, signed: bool = False, most: int = 12) -> Floats:
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S = np.triu(rng.uniform(0.2, 5, (n, n)) * (rng.random((n, n)) < draw(st.floats(0.05, 0.7))), 1)
    if draw(st.booleans()):
        S = (S > 0).astype(float)
    if signed:
        S *= np.where(rng.random((n, n)) < draw(st.floats(0, 1)), -1, 1)
    return np.asarray(S + S.T)


options = st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, 3.0]))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.booleans().flatmap(lambda signed: adjacencies(signed=signed)), options, st.floats(0, 1))
def test_dense_oracle(S: Floats, option: tuple[bool, float], part: float) -> None:
    normalised, constant = option
    rank = 1 + int(part * (len(S) - 1))
    columns = {"max_constants": len(S)} if constant else {}
    found = embed(graph_of(S), rank, normalised=normalised, constant=constant, **columns)
    assert np.isfinite(found.rows).all()
    assert found.residual < 1e-12
    assert found.n_columns >= 1 or constant == 0
    expected = oracle_gram(S, rank, normalised, constant)
    assume(expected is not None)
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-9 * max(1, np.abs(expected).max()))


@settings(max_examples=60, deadline=None)
@given(st.booleans().flatmap(lambda signed: adjacencies(signed=signed)), st.booleans(), st.randoms())
def test_node_permutation_permutes_the_gram(S: Floats, normalised: bool, random: Any) -> None:
    order = list(range(len(S)))
    random.shuffle(order)
    rank = max(1, len(S) // 2)
    here = embed(graph_of(S), rank, normalised=normalised, max_constants=len(S))
    assume(here.eigengap > CLEAR)
    there = embed(graph_of(S[np.ix_(order, order)]), rank, normalised=normalised, max_constants=len(S))
    atol = 1e-9 * max(1, np.abs(here.rows).max() ** 2)
    np.testing.assert_allclose(gram(there.rows), gram(here.rows)[np.ix_(order, order)], atol=atol)
    assert there.eigengap == pytest.approx(here.eigengap, abs=1e-9)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("rank", [3, 12, 60])
def test_small_components_displace_the_pairs_of_large_ones(normalised: bool, rank: int) -> None:
    # Cliques come first and fill the pool; then every path has several pairs below all of theirs.
    rng = np.random.default_rng(0)
    parts = [nx.complete_graph(40), nx.complete_graph(50), *(nx.path_graph(k) for k in (24, 24, 31, 45, 12))]
    union = nx.disjoint_union_all(parts)
    for _, _, edge in union.edges(data=True):
        edge["weight"] = rng.uniform(0.5, 2)
    order = rng.permutation(len(union))
    S = nx.to_numpy_array(union)[np.ix_(order, order)]
    expected = oracle_gram(S, rank, normalised, 1.0)
    assert expected is not None
    found = embed(graph_of(S), rank, normalised=normalised, max_constants=len(parts))
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-9 * np.abs(expected).max())


# -- sparse solvers against the dense one ------------------------------------------------------------


def spider() -> nx.Graph:
    legs = nx.disjoint_union_all([nx.path_graph(20)] * 17)
    legs.add_edges_from(("hub", 20 * leg) for leg in range(17))
    return legs


# Graphs full of multiple eigenvalues, where Lanczos from one start misses copies.
REGULAR = {
    "tree": nx.balanced_tree(3, 5),
    "hypercube": nx.hypercube_graph(9),
    "torus": nx.grid_2d_graph(20, 20, periodic=True),
    "star": nx.star_graph(400),
    "path": nx.path_graph(400),
    "complete": nx.complete_graph(301),
    "bipartite": nx.complete_bipartite_graph(150, 200),
    "spider": spider(),
}


SOLVERS = {"shift-invert": solve.shift_invert_pairs, "chebyshev": solve.chebyshev_pairs}


def problem(S: Floats, count: int, normalised: bool, tol: float) -> solve.EigenProblem:
    """A component in units of its mean degree, as `smallest_pairs` hands it on."""
    null = np.sqrt(np.abs(S).sum(axis=1)) if normalised else np.ones(len(S))
    scaled = sp.csr_array(S if normalised else S / np.abs(S).sum(axis=1).mean())
    unit = null / np.linalg.norm(null)
    return solve.EigenProblem(scaled, unit, count, normalised, tol, 0, silent)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("normalised", [True, False])
def test_sparse_solvers_miss_no_copy(name: str, solver: str, normalised: bool) -> None:
    given = problem(nx.to_numpy_array(REGULAR[name]), 60, normalised, 1e-6)
    pairs = SOLVERS[solver](given)
    order = np.argsort(pairs.values)
    expected = np.linalg.eigvalsh(given.here.matrix().toarray())[1:61]
    np.testing.assert_allclose(pairs.values[order], expected, atol=1e-9)
    vectors = np.column_stack([pairs.vectors, given.u])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(61), atol=1e-9)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("density", [0.01, 0.2])
@pytest.mark.parametrize("signed", [False, True])
def test_the_sparse_path_agrees_with_the_oracle(
    monkeypatch: pytest.MonkeyPatch, normalised: bool, density: float, signed: bool
) -> None:
    rng = np.random.default_rng(5)
    n = 240
    S = np.triu(rng.uniform(0.5, 2, (n, n)) * (rng.random((n, n)) < density), 1)
    S = S + S.T
    if signed:
        camp = np.where(np.arange(n) < n // 2, -1, 1)  # balanced: every component keeps a null vector
        S = S * np.outer(camp, camp)
    monkeypatch.setattr(solve, "DENSE", 40)
    monkeypatch.setattr(pool, "TINY", 3)
    found = embed(graph_of(S), 20, normalised=normalised, max_constants=n, tol=1e-8)
    assert ("chebyshev" if normalised else "shift-invert") in found.solver
    expected = oracle_gram(S, 20, normalised, 1.0)
    assert expected is not None
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-6)


# -- diffusion ---------------------------------------------------------------------------------------


def oracle_diffusion(S: Floats, X: Floats, rank: int, steps: int, damping: float) -> tuple[Floats, Floats]:
    """Gram and singular values, by dense smoothing and numpy's svd."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    X = X / np.where(length > 0, length, 1)
    neighbours = (S != 0).sum(axis=1)
    own = np.where(neighbours > 0, np.abs(S).sum(axis=1) / np.maximum(neighbours, 1), 1)
    A = S + np.diag(own)
    root = 1 / np.sqrt(np.abs(A).sum(axis=1))
    T = root[:, None] * A * root
    Z = X
    for _ in range(steps):
        Z = damping * T @ Z + (1 - damping) * X
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    return np.asarray((U[:, :rank] * s[:rank] ** 2) @ U[:, :rank].T), s


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.booleans().flatmap(lambda signed: adjacencies(signed=signed)), st.integers(1, 9), st.integers(0, 4))
def test_diffusion_oracle(S: Floats, m: int, steps: int) -> None:
    rng = np.random.default_rng(m)
    X = rng.poisson(0.7, (len(S), m)).astype(float)
    assume(X.any())
    rank = max(1, min(len(S), m) // 2)
    expected, s = oracle_diffusion(S, X, rank, steps, 0.8)
    assume(s.size == rank or s[rank - 1] - s[rank] > CLEAR * s[0])
    found = embed(graph_of(S, X), rank, kind="diffusion", steps=steps, **({"damping": 0.8} if steps else {}))
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-9)
    np.testing.assert_allclose(found.eigenvalues, s[:rank] ** 2, atol=1e-9)


def test_diffusion_sweeps_converge_to_the_dense_result() -> None:
    rng = np.random.default_rng(0)
    n, m, rank = 300, 200, 12
    S = np.triu(rng.random((n, n)) < 0.02, 1).astype(float)
    X = (rng.random((n, m)) < 0.05).astype(float)
    expected, s = oracle_diffusion(S + S.T, X, rank, 10, 0.9)
    found = diffusion(graph_of(S + S.T, X), rank, tol=1e-11, sweeps=2000)
    assert found.residual <= 1e-11
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-8)
    assert found.eigengap == pytest.approx(1 - (s[rank] / s[rank - 1]) ** 2, abs=1e-6)


# -- readings.md on real data ------------------------------------------------------------------------

needs_data = pytest.mark.skipif(not DATA, reason="QUERIST_DATA is not set")


def largest_component(name: str) -> Graph:
    assert DATA
    with np.load(Path(DATA) / f"{name}.npz", allow_pickle=False) as z:
        n, (i, j) = z["labels"].size, z["edges"].T
        S = sp.coo_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        parts = (z["features_data"].astype(float), z["features_indices"], z["features_indptr"])
        X = sp.csr_array(parts, shape=tuple(z["features_shape"]))
        codes = z["labels"].astype(np.int64)
    classes = tuple(range(int(codes.max()) + 1))
    return Graph(sp.csr_array(S), attributes=X, known=Labels(codes, tuple(classes))).largest_component()


def mean_error(graph: Graph, rows: Floats, shuffles: int, h: float | None) -> tuple[float, float]:
    """Error and queries of recursive least squares that always learns (h None), or of MSG, one-hot at h."""
    errors, queries = [], []
    for seed in range(shuffles):
        rng = np.random.default_rng(seed)
        P, W = np.eye(rows.shape[1]), np.zeros((rows.shape[1], graph.n_classes))
        wrong = asked = 0
        for i in rng.permutation(graph.n_nodes):
            m, y = rows[i], graph.codes[i]
            g = P @ m
            r = m @ g
            f0 = m @ W
            f = f0 / (1 + r)
            wrong += (mistaken := f.argmax() != y)
            target = np.eye(graph.n_classes)[y]
            if h is None:
                rival = np.where(target > 0, -np.inf, f).argmax()
                target[rival] = -1
                learn = ask = True
            else:
                second, best = np.sort(f)[-2:]
                theta = (best - second) ** 2 / 2 + 2 * (best - second) - graph.n_classes * r / (1 + r)
                ask = bool(theta < 0 or rng.random() < 2 * h / (2 * h + theta))
                learn = bool(theta < 0 or (ask and mistaken))
            asked += ask
            if learn:
                W += np.outer(g, (target - f0) / (1 + r))
                P -= np.outer(g, g / (1 + r))
        errors.append(wrong / graph.n_nodes)
        queries.append(asked)
    return float(np.mean(errors)), float(np.mean(queries))


@pytest.mark.slow
@needs_data
def test_cora_spectral_agrees_with_the_dense_solution_and_readings() -> None:
    graph = largest_component("cora")
    found = embed(graph, 100, cache=False, tol=1e-6)
    assert "chebyshev" in found.solver
    expected = oracle_gram(graph.adjacency.toarray(), 100, True, 1.0)
    assert expected is not None
    np.testing.assert_allclose(gram(found.rows), expected, atol=1e-6)
    for rows in (found.rows, embed(graph, 100, cache=False).rows):  # the default tolerance is loose
        error, _ = mean_error(graph, rows, 3, None)
        assert error == pytest.approx(0.1804, abs=0.005)


@needs_data
def test_cora_diffusion_reaches_readings() -> None:
    graph = largest_component("cora")
    error, queries = mean_error(graph, embed(graph, 100, kind="diffusion", cache=False).rows, 4, 1e-4)
    assert error == pytest.approx(0.140, abs=0.005)
    assert queries == pytest.approx(697, rel=0.06)


ALWAYS = {"cora": (0.1804, 0.1897), "pubmed": (0.2097, 0.2300)}
"""readings.md: update always, gamma 1, rank 100; normalised, combinatorial."""

TABLES = {
    ("cora", "msg"): ({"h": 0.01, "gamma": 0.01}, 0.1936, 921),
    ("cora", "ollgc"): ({"mu": 1.0}, 0.0760, 2485),
    ("pubmed", "msg"): ({"h": 1e-4, "gamma": 0.01}, 0.2151, 930),
    ("pubmed", "ollgc"): ({"mu": 1e-3}, 0.1801, 19717),
}
"""readings.md, the papers' tables (combinatorial, constant 3): parameters, error, queries."""


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(("name", "algorithm"), TABLES)
def test_the_papers_tables_on_the_default_tolerance(name: str, algorithm: str) -> None:
    graph = largest_component(name)
    options, error, queries = TABLES[name, algorithm]
    rows = embed(graph, 100, normalised=False, constant=3.0)
    runs = []
    for seed in range(6):
        learner = ALGORITHMS[algorithm](rows, graph.n_classes, seed=seed, **options).by_row()
        order = np.random.default_rng(seed).permutation(graph.n_nodes)
        runs.append(learner.run(order, graph.codes))
    assert np.mean([run.error_rate for run in runs]) == pytest.approx(error, abs=0.005)
    assert np.mean([run.queries for run in runs]) == pytest.approx(queries, rel=0.06)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("normalised", [True, False])
def test_learners_do_not_notice_the_tolerance(name: str, normalised: bool) -> None:
    graph = largest_component(name)
    constant = 1.0 if normalised else 3.0

    def error(rows: Embedding, algorithm: str, **options: Any) -> float:
        runs = []
        for seed in range(4):
            learner = ALGORITHMS[algorithm](rows, graph.n_classes, seed=seed, **options).by_row()
            order = np.random.default_rng(seed).permutation(graph.n_nodes)
            runs.append(float(learner.run(order, graph.codes).mistaken.mean()))
        return float(np.mean(runs))

    loose = embed(graph, 100, normalised=normalised, constant=constant)
    assert loose.residual <= (2e-3 if normalised else 1e-6)  # a factor is exact, whatever was asked for
    if normalised:
        exact = embed(graph, 100, tol=1e-6)
        assert exact.residual <= 1e-6
        for algorithm, options in (("msg", {"h": 0.01}), ("ollgc", {})):
            here, there = error(loose, algorithm, **options), error(exact, algorithm, **options)
            assert here == pytest.approx(there, abs=0.004), algorithm
    expected = ALWAYS[name][0 if normalised else 1]
    assert error(loose, "cmog", update="always") == pytest.approx(expected, abs=0.005)
