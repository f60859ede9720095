"""Harmonic solutions against networkx, scikit-learn, dense algebra and the paper's identity with BLS."""

import json
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from networkx.algorithms.node_classification import harmonic_function
from sklearn.semi_supervised import LabelPropagation

from querist.errors import InputError
from querist.graph import as_graph
from querist.operator import solve
from querist.operator.harmonic import harmonic, reached


@st.composite
def problems(draw, weights=(0.25, 1.0, 3.0)):
    """A graph with several components, some labelled nodes and +-1 columns for them."""
    n = draw(st.integers(2, 10))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.sampled_from(weights)), max_size=20))
    graph = as_graph(edges, nodes=n)
    labelled = np.array(draw(st.lists(ends, min_size=1, max_size=n, unique=True)))
    targets = draw(st.lists(st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3), min_size=n, max_size=n))
    return graph, labelled, np.array(targets)[: labelled.size]


@pytest.mark.slow
@given(problems(), st.sampled_from([0.0, 0.1, 10.0]), st.booleans())
def test_it_solves_the_system_it_states(problem, ridge, dense):
    graph, labelled, targets = problem
    S = graph.adjacency.toarray()
    f = harmonic(S if dense else graph.adjacency, labelled, targets, ridge=ridge)
    np.testing.assert_array_equal(f[labelled], targets)
    touched = reached(graph.adjacency, labelled)
    inside = touched & ~np.isin(np.arange(graph.n_nodes), labelled)
    left = (graph.degrees[inside, None] + ridge) * f[inside] - S[inside] @ f
    np.testing.assert_allclose(left, 0, atol=1e-10)
    assert not f[~touched].any()
    np.testing.assert_array_equal(touched, np.isin(graph.components, graph.components[labelled]))


@pytest.mark.slow
@given(problems(weights=(-2.0, -0.5, 1.0)))
def test_negative_weights_pull_apart(problem):
    graph, labelled, targets = problem
    f = harmonic(graph.adjacency, labelled, targets, ridge=0.5)
    inside = reached(graph.adjacency, labelled) & ~np.isin(np.arange(graph.n_nodes), labelled)
    left = (graph.degrees[inside, None] + 0.5) * f[inside] - graph.adjacency[inside] @ f
    np.testing.assert_allclose(left, 0, atol=1e-10)


def test_networkx_gives_the_same_classes():
    theirs = nx.karate_club_graph()
    labels = {0: "a", 33: "b", 8: "b", 5: "a"}
    nx.set_node_attributes(theirs, labels, "label")
    expected = harmonic_function(theirs, max_iter=2000)
    targets = np.array([[1.0, 0.0] if labels[i] == "a" else [0.0, 1.0] for i in labels])
    f = harmonic(as_graph(theirs).adjacency, np.array(list(labels)), targets)
    assert ["ab"[k] for k in f.argmax(axis=1)] == expected
    np.testing.assert_allclose(f.sum(axis=1), 1)


def test_scikit_learn_gives_the_same_values():
    """Its iteration with hard clamping converges to the harmonic solution; self-loops do not matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.full(40, -1)
    y[:6] = [0, 1, 2, 0, 1, 2]
    theirs = LabelPropagation(kernel="rbf", gamma=1.5, max_iter=200_000, tol=1e-12).fit(X, y)
    K = np.exp(-1.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    f = harmonic(K, np.arange(6), np.eye(3)[y[:6]])
    np.testing.assert_allclose(f, theirs.label_distributions_, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_transductive_bls_is_the_regularised_solution_when_the_kernel_says_so(ridge):
    """bls19 III-D: `z` of eq. 6 with `K_hat = L` is the regularised harmonic solution."""
    rng = np.random.default_rng(1)
    S = rng.uniform(0, 0.05, size=(9, 9))
    S = S + S.T
    np.fill_diagonal(S, 0)
    L = np.diag(S.sum(axis=1)) - S
    y = np.array([1.0, -1.0, 1.0])
    z = -np.linalg.solve(L[3:, 3:] + ridge * np.eye(6), L[3:, :3] @ y)
    np.testing.assert_allclose(harmonic(S, np.arange(3), y, ridge=ridge)[3:], z, rtol=1e-12)


def test_golden_values_with_a_prior():
    """The reference computation of `harmonic` in collective.json."""
    path = Path(__file__).parents[1] / "golden" / "harmonic.json"
    golden = json.loads(path.read_text())
    graph = as_graph([tuple(edge) for edge in golden["edges"]], nodes=golden["N"])
    labelled = np.array(golden["labelled"])
    targets = np.eye(3)[np.array(golden["y"])[labelled]]
    f = harmonic(graph.adjacency, labelled, targets, ridge=1e-9, prior=np.full(3, 1 / 3))
    np.testing.assert_allclose(f, golden["P"], atol=1e-9)


def test_conjugate_gradients_agree_with_the_factorisation(monkeypatch):
    rng = np.random.default_rng(2)
    graph = as_graph(nx.random_geometric_graph(300, 0.12, seed=3))
    labelled = rng.choice(300, 20, replace=False)
    targets = np.eye(4)[rng.integers(4, size=20)]
    direct = harmonic(graph.adjacency, labelled, targets, ridge=1e-3)
    monkeypatch.setattr(solve, "FACTOR_WORK", 0)
    np.testing.assert_allclose(harmonic(graph.adjacency, labelled, targets, ridge=1e-3), direct, atol=1e-12)


@pytest.mark.parametrize("cheap", [True, False], ids=["factor", "cg"])
def test_a_few_labels_far_away_cost_no_digits(cheap, monkeypatch):
    """A ring of 3,000 nodes, two of them labelled: a condition number of about 1e6."""
    monkeypatch.setattr(solve, "FACTOR_WORK", 2e8 if cheap else 0)
    n = 3000
    ring = as_graph([(i, (i + 1) % n) for i in range(n)])
    f = harmonic(ring.adjacency, np.array([0, n // 2]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(f, np.minimum(np.arange(n), n - np.arange(n)) / (n // 2), rtol=1e-9)


def test_weights_of_any_scale():
    """A path of weights 1e-200 is as harmonic as one of weights 1."""
    path = as_graph([(i, i + 1) for i in range(9)])
    ends, values = np.array([0, 9]), np.array([0.0, 9.0])
    for scale in (1e-200, 1.0, 1e200):
        np.testing.assert_allclose(harmonic(path.adjacency * scale, ends, values), np.arange(10), atol=1e-9)
        dense = path.adjacency.toarray() * scale
        np.testing.assert_allclose(harmonic(dense, ends, values), np.arange(10), atol=1e-9)


def test_numerically_parted_camps_do_not_raise():
    """Two camps joined by a weight far below rounding: a result, finite, right in the labelled camp."""
    W = np.ones((6, 6))
    W[:3, 3:] = W[3:, :3] = 1e-40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = harmonic(W, np.array([0]), np.array([1.0]))
    assert np.isfinite(f).all()
    np.testing.assert_allclose(f[:3], 1)


@pytest.mark.parametrize(
    ("weights", "labelled", "targets", "options", "said"),
    [
        (np.ones((3, 2)), [0], [1.0], {}, "square"),
        (np.array([[0, np.nan], [np.nan, 0]]), [0], [1.0], {}, "NaN"),
        (np.array([[0.0, 1.0], [0.5, 0.0]]), [0], [1.0], {}, "not symmetric"),
        (np.ones((3, 3)), [], [], {}, "no node is labelled"),
        (np.ones((3, 3)), [0, 0], [1.0, 1.0], {}, "labelled twice"),
        (np.ones((3, 3)), [3], [1.0], {}, "row numbers"),
        (np.ones((3, 3)), [0], [1.0, 2.0], {}, "targets"),
        (np.ones((3, 3)), [0], [1.0], {"ridge": -1.0}, "ridge"),
        (np.ones((3, 3)), [0], [1.0], {"prior": np.zeros(2)}, "prior"),
    ],
)
def test_bad_input_is_refused(weights, labelled, targets, options, said):
    with pytest.raises(InputError, match=said):
        harmonic(weights, np.array(labelled, dtype=np.int64), np.array(targets), **options)
