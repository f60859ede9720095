"""The generative models at their edges: options, memory, nodes without words, how they were solved."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from querist import CLASSIFIERS, InputError, as_graph, load_graph
from querist.collective.gmnr import GMNR, MRGM, PLSA
from querist.collective.smoothing import Smoother
from querist.collective.threshold import decide, take_top


def random_network(n=300, words=50, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    heads, tails = rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n)
    keep = (codes[heads] == codes[tails]) | (rng.random(4 * n) < 0.1)
    S = sp.coo_array((np.ones(keep.sum()), (heads[keep], tails[keep])), shape=(n, n)).tocsr()
    X = rng.poisson(0.1 + 0.4 * (np.arange(words) % 3 == codes[:, None]))
    return as_graph(S, attributes=X.astype(float)), codes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lam": -1.0}, "lam = -1.0; it must be a finite number, 0 or more"),
        ({"lam": float("nan")}, "lam"),
        ({"smooth": -1.0}, "smooth"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter = 0; it must be a whole number, 1 or more"),
        ({"clamp": "hard"}, "clamp = 'hard'; it must be one of reset, none"),
        ({"dtype": "float16"}, "dtype"),
        ({"solver": "lu"}, "solver"),
        ({"features": "both"}, "features"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(InputError, match=words):
        GMNR(**options).fit(as_graph([(0, 1)], attributes=np.ones((2, 1))), {0: "a"})


def test_counts_must_not_be_negative():
    graph = as_graph([(0, 1)], attributes=np.array([[1.0], [-2.0]]))
    with pytest.raises(InputError, match="negative values"):
        GMNR().fit(graph, {0: "a"})


@pytest.mark.parametrize("clamp", ["reset", "none"])
@pytest.mark.parametrize("solver", ["auto", "factor", "cg", "jacobi"])
def test_labels_spread_where_there_are_no_words(clamp, solver):
    """0-1-2 and 5-6 have no words at all, 7 has neither words nor edges."""
    X = np.zeros((8, 2))
    X[3], X[4] = [2, 0], [1, 0]
    graph = as_graph([(0, 1), (1, 2), (3, 4), (5, 6)], nodes=8, attributes=X)
    model = GMNR(clamp=clamp, solver=solver).fit(graph, {0: "a", 3: "b", 5: "b"})
    assert np.isfinite(model.probabilities_).all()
    assert model.labels_[[1, 2, 4, 6]].tolist() == ["a", "a", "b", "b"]
    assert model.labels_[7] is None and not model.reached_[7]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PLSA, GMNR, MRGM])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_solvers_agree_on_labels_and_say_what_they_did(kind, dtype):
    graph, codes = random_network()
    given = np.where(np.arange(300) < 15, codes, -1)
    models = {
        solver: kind(missing=-1, dtype=dtype, **({"solver": solver} if kind is not PLSA else {})).fit(
            graph, given
        )
        for solver in ("factor", "cg", "jacobi")
    }
    exact = models["factor"]
    assert (exact.probabilities_.argmax(axis=1) == codes).mean() > 0.8
    for model in models.values():
        agree = (model.probabilities_.argmax(axis=1) == exact.probabilities_.argmax(axis=1)).mean()
        assert agree > 0.98
        assert model.probabilities_.dtype == dtype
    expected = {"division"} if kind is PLSA else {"factor", "cg", "10 Jacobi sweeps"}
    assert {model.solver_ for model in models.values()} == expected


def test_single_precision_labels_as_double_does():
    graph, codes = random_network(seed=1)
    given = np.where(np.arange(300) < 15, codes, -1)
    one, other = (GMNR(missing=-1, dtype=dtype).fit(graph, given) for dtype in ("float64", "float32"))
    assert (one.labels_ == other.labels_).mean() > 0.99
    assert other.history_.objective == pytest.approx(one.history_.objective, rel=1e-3)


def test_the_objective_can_be_left_out():
    graph, codes = random_network()
    given = np.where(np.arange(300) < 15, codes, -1)
    full, short = (GMNR(missing=-1, objective=wanted).fit(graph, given) for wanted in (True, False))
    assert (full.probabilities_ == short.probabilities_).all()
    assert len(full.history_.objective) == 10
    assert np.isfinite(full.history_.objective).all()


def test_memory_is_that_of_the_counts_and_the_answers():
    """Nothing of size n x M x K (here 1.9 GB): four times the input and a few arrays of (n + M) K."""
    n, M, K = 6000, 4000, 10
    X = sp.random_array((n, M), density=0.01, rng=np.random.default_rng(0), format="csr")
    heads = np.arange(n)
    S = sp.coo_array((np.ones(n), (heads, (heads + 1) % n)), shape=(n, n)).tocsr()
    graph = as_graph(S, attributes=X)
    given = np.where(np.arange(n) % 50 == 0, np.arange(n) // 50 % K, -1)
    model = GMNR(missing=-1, max_iter=3)
    model.fit(graph, given)
    stored = sum(part.nbytes for part in (X.data, X.indices, X.indptr, S.data, S.indices, S.indptr))
    tracemalloc.start()
    model.fit(graph, given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * stored + 12 * (n + M) * K * 8


def test_two_solves_share_one_factor():
    graph, _ = random_network()
    smoother = Smoother(graph.adjacency, np.ones(300), graph.components, np.eye(3), 2.0, 0.0)
    Y = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    smoother.solve(Y, Y)
    (kept,) = smoother._operators[0]._factors.values()
    smoother.solve(Y, Y)
    assert [*smoother._operators[0]._factors.values()] == [kept]


def test_deciding_classes():
    scores = np.array([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2]])
    assert decide(scores).astype(int).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert decide(scores, 0.3).astype(int).tolist() == [[1, 1, 0], [1, 1, 0]]
    assert decide(scores, top_k=2).astype(int).tolist() == [[1, 1, 0], [1, 1, 0]]
    assert take_top(scores, 1).astype(int).tolist() == [[1, 0, 0], [1, 0, 0]]
    assert decide(np.array([[0.7]])).tolist() == [[True]]
    for wrong in ({"top_k": 0}, {"top_k": 4}, {"threshold": "half"}, {"threshold": float("nan")}):
        with pytest.raises(InputError, match="it must"):
            decide(scores, **wrong)


@pytest.mark.parametrize("name", ["ica", "semiica", "icml"])
def test_attributes_without_columns_say_nothing(name):
    """The edges alone decide then; nothing breaks."""
    graph = as_graph([(0, 1), (2, 3)], nodes=5, attributes=np.zeros((5, 0)))
    model = CLASSIFIERS[name]().fit(graph, {0: "a", 2: "b", 3: "b"})
    assert np.isfinite(model.probabilities_).all()
    assert model.reached_.tolist() == [True] * 4 + [False]


def test_counts_that_would_overflow_are_refused():
    graph = as_graph([(0, 1), (1, 2)], attributes=1e200 * np.eye(3))
    with pytest.raises(InputError, match="scale them down"):
        GMNR().fit(graph, {0: "a", 2: "b"})
    for dtype in ("float64", "float32"):
        large = as_graph([(0, 1), (1, 2)], attributes=1e15 * np.eye(3))
        model = GMNR(dtype=dtype, solver="jacobi").fit(large, {0: "a", 2: "b"})
        assert np.isfinite(model.probabilities_).all() and np.isfinite(model.history_.change).all()


@pytest.mark.parametrize("method", ["ica", "semiica", "icml"])
def test_attributes_that_a_regression_never_ends_on_are_refused(method):
    graph = as_graph([(0, 1), (1, 2)], attributes=[[1e300], [-1e300], [1e299]])
    with pytest.raises(InputError, match=r"up to 1e\+300, above 1e\+15"):
        CLASSIFIERS[method]().fit(graph, {0: "a", 1: "b"})


@pytest.mark.parametrize("method", ["ica", "semiica"])
def test_weights_that_count_beside_attributes_are_not_scaled_away(method):
    graph = as_graph([(0, 1, 1e300), (1, 2, 1e300)], attributes=[[1.0], [0.0], [1.0]])
    with pytest.raises(InputError, match=r"weights such as 1e\+300"):
        CLASSIFIERS[method]().fit(graph, {0: "a", 1: "b"})


@pytest.mark.parametrize("features", ["attributes", "links"])
@pytest.mark.parametrize("kind", [GMNR, MRGM])
def test_lam_chosen_by_itself_does_not_depend_on_the_unit_of_weights(kind, features):
    club = load_graph("karate")
    labels = {0: "a", 33: "b"}

    def fitted(factor, attributes):
        graph = as_graph(club.adjacency * factor, attributes=attributes)
        return kind(lam="auto", features=features).fit(graph, labels)

    for attributes in (np.eye(34), np.zeros((34, 2))):
        near = fitted(1.0, attributes)
        for factor in (4.0**-90, 4.0**90):  # powers of four: to the last bit
            far = fitted(factor, attributes)
            assert (far.probabilities_ == near.probabilities_).all()
            assert far.lam_ * (factor if features == "attributes" else 1.0) == near.lam_
        for factor in (1e-50, 1e50):
            assert np.isfinite(fitted(factor, attributes).probabilities_).all()


def test_lam_is_chosen_where_there_is_little_to_choose_it_from():
    alone = as_graph([(0, 1), (1, 2)], nodes=6, attributes=np.zeros((6, 3)))
    assert GMNR(lam="auto").fit(alone, {0: "a", 5: "b"}).reached_.tolist() == [True] * 3 + [False] * 2 + [
        True
    ]
    apart = as_graph([], nodes=4, attributes=np.eye(4))
    assert GMNR(lam="auto").fit(apart, {0: "a", 3: "b"}).lam_ > 0
    heavy = as_graph([(0, 1, 1e-9), (1, 2, 1.0)], nodes=5, attributes=1e15 * np.eye(5)[:, :4])
    model = GMNR(lam="auto").fit(heavy, {0: "a", 2: "b"})
    assert model.lam_ > 0 and np.isfinite(model.probabilities_).all()
    with pytest.raises(
        InputError, match=r"lam = 'best'; it must be a finite number, 0 or more, or one of auto"
    ):
        GMNR(lam="best").fit(apart, {0: "a"})
