"""Budgeted least squares against direct solves, scikit-learn and brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.semi_supervised import LabelPropagation

from querist.budgeted import closed_form, inverse, similarity, step
from querist.budgeted.budget import empty
from querist.budgeted.catalogue import STREAMS
from querist.budgeted.learner import BLS
from querist_papers.rivals.clustered import SPASC
from querist_papers.rivals.reliable import ReSSL

# -- the inverse ---------------------------------------------------------------


def gram(b, seed, spare=3):
    """A positive definite matrix, and a larger buffer for the lower triangle of its inverse."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(b, max(1, b // 2)))
    A = B @ B.T + np.diag(rng.uniform(0.5, 2, size=b))
    H = np.full((b + spare, b + spare), np.nan)
    lower = np.tril_indices(b)
    H[lower] = np.linalg.inv(A)[lower]
    return A, H, rng


def symmetric(H, b):
    lower = np.tril(H[:b, :b])
    return lower + np.tril(lower, -1).T


SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 64, 101]


@pytest.mark.parametrize("b", SIZES)
def test_product_reads_the_lower_triangle_only(b):
    A, H, rng = gram(b, b)
    x, out = rng.normal(size=b + 3), np.full(b + 3, np.nan)
    inverse.product(H, b, x, out)
    np.testing.assert_allclose(out[:b], np.linalg.solve(A, x[:b]), rtol=1e-9, atol=1e-11)
    assert np.isnan(out[b:]).all()


@pytest.mark.parametrize("b", SIZES)
def test_grow_is_the_inverse_with_a_row_more(b):
    A, H, _ = gram(b + 1, b)
    H[:] = np.nan
    H[np.tril_indices(b)] = np.linalg.inv(A[:b, :b])[np.tril_indices(b)]
    k, a = A[:b, b].copy(), np.empty(b + 1)
    inverse.product(H, b, k, a)
    inverse.grow(H, b, a, A[b, b] - k @ a[:b])
    np.testing.assert_allclose(symmetric(H, b + 1), np.linalg.inv(A), rtol=1e-9, atol=1e-11)
    assert np.isnan(H[np.triu_indices(b + 1, 1)]).all(), "what lies above the diagonal is not touched"


@pytest.mark.parametrize(("b", "i"), [(b, i) for b in SIZES for i in sorted({0, b // 2, b - 1})])
def test_replace_is_the_inverse_with_another_row(b, i):
    A, H, _ = gram(b + 1, b + i)
    old, new = list(range(b)), list(range(b))
    new[i] = b
    H[np.tril_indices(b)] = np.linalg.inv(A[:b, :b])[np.tril_indices(b)]
    k = A[b, :b].copy()
    k[i] = 0.0
    h, a = np.empty(b), np.empty(b)
    waiting = np.empty(b), np.empty(b), np.zeros(4)
    inverse.without(H, b, i, k, h, a, *waiting)
    np.testing.assert_array_equal(h, symmetric(H, b)[i])
    rest = [j for j in old if j != i]
    np.testing.assert_allclose(
        a[rest], np.linalg.solve(A[np.ix_(rest, rest)], k[rest]), rtol=1e-8, atol=1e-10
    )
    assert a[i] == 0
    inverse.replace(b, i, h, a, A[b, b] - k @ a, *waiting)
    assert waiting[2][0] != 0
    inverse.settle(H, b, *waiting)
    np.testing.assert_allclose(symmetric(H, b), np.linalg.inv(A[np.ix_(new, new)]), rtol=1e-8, atol=1e-10)


@given(st.lists(st.sampled_from("gr"), max_size=30), st.integers(0, 10**6))
def test_any_sequence_of_changes_stays_the_inverse(changes, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3))
    K = points @ points.T + np.diag(rng.uniform(0.1, 1, size=40))
    H, h, a = np.zeros((20, 20)), np.empty(20), np.empty(20)
    waiting = np.empty(20), np.empty(20), np.zeros(4)
    inside: list[int] = []
    fresh = iter(range(40))
    for change in changes:
        b = len(inside)
        i = int(rng.integers(b)) if b else 0
        if change == "r" and b:
            new = next(fresh)
            k = K[new, inside].copy()
            k[i] = 0.0
            inverse.without(H, b, i, k, h, a, *waiting)
            inverse.replace(b, i, h, a, K[new, new] - k @ a[:b], *waiting)
            inside[i] = new
            continue
        inverse.settle(H, b, *waiting)
        if b < 20:
            new = next(fresh)
            k = K[new, inside].copy()
            inverse.product(H, b, k, a)
            inverse.grow(H, b, a, K[new, new] - k @ a[:b])
            inside.append(new)
    b = len(inside)
    inverse.settle(H, b, *waiting)
    np.testing.assert_allclose(
        symmetric(H, b), np.linalg.inv(K[np.ix_(inside, inside)]), rtol=1e-7, atol=1e-8
    )


# -- kernels -------------------------------------------------------------------


def test_decay_is_the_exponential_function():
    """To the last digits from 1 down to the smallest normal numbers, 0 below."""
    squares = np.concatenate(
        [[0.0, 1e-320, 1e-17, np.inf, 1e300], np.random.default_rng(0).uniform(0, 1400, 10**5)]
    )
    k = squares.copy()
    similarity.decay(k, k.size, 1.0)
    expected = np.exp(-0.5 * squares)
    np.testing.assert_allclose(k, expected, rtol=4e-16, atol=0)
    deep = np.array([1417.0, 1500.0, 1e9])
    similarity.decay(deep, 3, 1.0)
    assert deep.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("d", [1, 3, 4, 9, 15])
def test_rows_of_kernel_values(kernel, d):
    """Dense and sparse rows against scikit-learn, for any number of features."""
    rng = np.random.default_rng(d)
    B, x = rng.normal(size=(7, d)), rng.normal(size=d)
    x[0] = 0.0
    X, k = np.zeros((d, 9)), np.full(9, np.nan)
    X[:, :7] = B.T
    expected = rbf_kernel(x[None], B, gamma=1 / 3)[0] if kernel == "rbf" else B @ x
    code = similarity.CODES[kernel]
    kxx = similarity.dense_row(code, 1.5, X, 7, x, k)
    np.testing.assert_allclose(k[:7], expected, rtol=1e-13, atol=1e-15)
    assert np.isnan(k[7:]).all()
    assert kxx == pytest.approx(1.0 if kernel == "rbf" else x @ x)
    inside = np.flatnonzero(x)
    norms = (X**2).sum(axis=0)
    assert similarity.sparse_row(code, 1.5, X, norms, 7, inside, x[inside], k) == pytest.approx(kxx)
    np.testing.assert_allclose(k[:7], expected, rtol=1e-12, atol=1e-14)
    gram = similarity.gram_of(kernel, 1.5)
    np.testing.assert_allclose(gram(x[None], B)[0], expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        gram(sp.csr_array(x[None]), sp.csr_array(B))[0], expected, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("d", "b"), [(1, 1), (3, 7), (64, 12), (150, 9), (203, 33)])
def test_all_pairs_have_the_kernel_values_of_rows(kernel, d, b):
    """To the bit, whichever features are taken together; above the diagonal nothing is written."""
    rng = np.random.default_rng(d)
    X, code = rng.normal(size=(d, b + 2)), similarity.CODES[kernel]
    K, k = np.full((b, b), np.nan), np.empty(b)
    similarity.gram_triangle(code, d / 2, X, (X**2).sum(axis=0), b, K)
    for j in range(b):
        kxx = similarity.dense_row(code, d / 2, X, b, X[:, j].copy(), k)
        np.testing.assert_array_equal(K[j, :j], k[:j])
        assert K[j, j] == pytest.approx(kxx, rel=1e-13)
        assert np.isnan(K[j, j + 1 :]).all()
    V = X[:, :b].T
    full = rbf_kernel(V, gamma=1 / d) if kernel == "rbf" else V @ V.T
    lower = np.tril_indices(b)
    np.testing.assert_allclose(K[lower], full[lower], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("density", [0.0, 0.005, 0.3])
def test_the_mean_distance_of_sparse_rows(density):
    """By differences: an offset of 1e9 that all share costs no digits."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 700)) < density, rng.normal(size=(40, 700)), 0.0)
    X[:, 5] = 1e9
    X[7] = X[8]
    exact = pdist(X)
    for either in (X, sp.csr_array(X)):
        assert similarity.mean_distance(either) == pytest.approx(exact.mean() or 1.0, rel=1e-13)


def test_mean_distance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    exact = float(pdist(X).mean())
    assert similarity.mean_distance(X) == pytest.approx(exact, rel=1e-12)
    assert similarity.mean_distance(sp.csr_array(X)) == pytest.approx(exact, rel=1e-12)
    assert similarity.mean_distance(X, pairs=20_000) == pytest.approx(exact, rel=0.02)
    assert similarity.mean_distance(X * 1e300) == pytest.approx(exact * 1e300, rel=1e-12)
    assert similarity.mean_distance(np.ones((5, 2))) == 1.0
    assert similarity.mean_distance(np.ones((1, 2))) == 1.0


# -- closed forms ----------------------------------------------------------------


def points(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = rbf_kernel(X, gamma=0.3)
    y = np.where(rng.random((n, 1)) < 0.5, 1.0, -1.0)
    labelled = rng.random(n) < 0.4
    labelled[:2] = True
    return K, y, labelled


LAMBDAS = [(l1, l2) for l1 in (10.0, 1.0, 0.1, 0.01) for l2 in (10.0, 0.1)]


@pytest.mark.parametrize(("l1", "l2"), LAMBDAS)
def test_equations_6_and_7_as_they_are_printed(l1, l2):
    K, y, labelled = points()
    order = np.concatenate([np.flatnonzero(labelled), np.flatnonzero(~labelled)])
    n_l = int(labelled.sum())
    P = K[np.ix_(order, order)]
    hat = np.linalg.inv(np.eye(P.shape[0]) + P / l1)
    inner = np.linalg.inv(hat[n_l:, n_l:] + l2 * np.eye(P.shape[0] - n_l))
    z = -inner @ hat[n_l:, :n_l] @ y[labelled]
    alpha = hat @ np.concatenate([y[labelled], z]) / l1
    found = closed_form.solve(K, y, labelled, l1, l2)
    np.testing.assert_allclose(found.alpha[order], alpha, atol=1e-9)
    np.testing.assert_allclose(found.z[~labelled], z, atol=1e-9)
    np.testing.assert_array_equal(found.z[labelled], y[labelled])
    np.testing.assert_allclose((K @ found.alpha)[~labelled], (1 + l2) * z, atol=1e-9)


@pytest.mark.parametrize(("l1", "l2"), LAMBDAS)
def test_kernel_ridge_with_weights_is_the_closed_form(l1, l2):
    """An unlabelled point is a target of 0 with weight lambda2/(1 + lambda2)."""
    K, y, labelled = points(seed=1)
    weights = np.where(labelled, 1.0, l2 / (1 + l2))
    ridge = KernelRidge(alpha=l1, kernel="precomputed").fit(
        K, np.where(labelled, y[:, 0], 0.0), sample_weight=weights
    )
    found = closed_form.solve(K, y, labelled, l1, l2)
    np.testing.assert_allclose(found.alpha[:, 0], ridge.dual_coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("l1", "l2"), LAMBDAS[::3])
def test_the_solution_minimises_the_objective(l1, l2):
    """Eq. 3, at random steps away from the solution, in alpha and in z."""
    K, y, labelled = points(seed=2)
    found = closed_form.solve(K, y, labelled, l1, l2)

    def objective(alpha, z):
        target = np.where(labelled[:, None], y, z)
        fit = ((target - K @ alpha) ** 2).sum()
        return fit + l1 * (alpha * (K @ alpha)).sum() + l2 * (z[~labelled] ** 2).sum()

    best, rng = objective(found.alpha, found.z), np.random.default_rng(3)
    for scale in (1e-3, 1e-1):
        for _ in range(20):
            a, z = (rng.normal(size=y.shape) * scale for _ in range(2))
            assert objective(found.alpha + a, found.z) > best
            assert objective(found.alpha, found.z + z * ~labelled[:, None]) > best


def test_lp_beside_it_agrees_with_scikit_learn():
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 3])
    codes = np.repeat([0, 1], 30)
    seen = np.where(rng.random(60) < 0.2, codes, -1)
    seen[[0, 59]] = [0, 1]
    theirs = LabelPropagation(kernel="rbf", gamma=0.25, max_iter=100_000, tol=1e-10).fit(X, seen)
    ours = closed_form.transduce(rbf_kernel(X, gamma=0.25), seen, 2, method="lp")
    np.testing.assert_array_equal(ours, theirs.transduction_)


# -- streams -----------------------------------------------------------------------


def stream_of(n, d=4, seed=0, classes=2, labelled=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X[:, :2] @ rng.normal(size=(2, classes)) + 0.5 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X, np.where(rng.random(n) < labelled, codes, -1)


def kernel_matrix(learner, A, B):
    if learner.rules.kernel == similarity.RBF:
        return rbf_kernel(A, B, gamma=1 / (2 * learner.rules.width))
    return A @ B.T


def compare_with_direct_solves(learner, tolerance):
    state, b = learner.state, sum(learner.sizes)
    step.settled(state)
    V = state.X[:, :b].T
    K = kernel_matrix(learner, V, V)
    D = np.where(
        state.Y[0, :b] != 0, learner.rules.lambda1, learner.rules.lambda1 * (1 + 1 / learner.rules.lambda2)
    )
    np.testing.assert_array_equal(state.D[:b], D)
    A = K + np.diag(D)
    assert abs(symmetric(state.H, b) @ A - np.eye(b)).max() < tolerance
    exact = np.linalg.solve(A, state.Y[:, :b].T).T
    held = {0: state.alpha, 1: state.base}.get(learner.rules.maintenance)
    if held is not None:
        assert abs(held[:, :b] - exact).max() < tolerance * max(1.0, abs(exact).max())
    if learner.rules.maintenance:
        ridged = K + learner.rules.ridge * np.eye(b)
        G = symmetric(state.G, b)
        np.testing.assert_allclose(G @ K[:, 0], np.linalg.solve(ridged, K[:, 0]), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("l1", "l2"), LAMBDAS)
def test_a_long_stream_agrees_with_direct_solves(kernel, l1, l2):
    X, codes = stream_of(30_000, seed=5)
    learner = BLS(
        2, kernel=kernel, lambda1=l1, lambda2=l2, epsilon=0.5, budget_labelled=20, budget_unlabelled=30
    )
    moments = np.sort(np.random.default_rng(6).choice(np.arange(100, 30_000), 6, replace=False))
    for part in np.split(np.arange(30_000), moments):
        learner.run(X[part], codes[part])
        compare_with_direct_solves(learner, 1e-8)
    assert learner.updates > 500


@pytest.mark.parametrize("maintenance", ["remove", "projection", "projection-persistent"])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_paper_s_budgets_agree_with_direct_solves(maintenance, classes):
    X, codes = stream_of(4_000, d=8, seed=7, classes=classes)
    learner = BLS(classes, maintenance=maintenance, lambda1=0.1)
    for part in np.array_split(np.arange(4_000), 4):
        learner.run(X[part], codes[part])
        compare_with_direct_solves(learner, 1e-8)


@pytest.mark.parametrize("maintenance", ["projection", "projection-persistent"])
@pytest.mark.parametrize("labelled_only", [False, True])
def test_projections_keep_no_more_than_their_limit(maintenance, labelled_only):
    """Not even labelled items that have room in their budget: all slots may be taken by unlabelled ones."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    if not labelled_only:
        codes[rng.random(60) < 0.8] = -1

    def run(**room):
        learner = BLS(
            2, maintenance=maintenance, width=1.0, lambda1=1e-3, lambda2=1.0, epsilon=5.0,
            budget_labelled=4, budget_unlabelled=1, limit=4,
        )  # fmt: skip
        learner.state = empty(learner.rules, 1, 2, **room)
        return learner, learner.run(X, codes)

    # With slots to spare, one item too many is seen and spoils no other array.
    learner, stream = run(capacity=64)
    assert sum(learner.sizes) == 4
    assert (learner.sizes[0] == 4) == labelled_only
    full = np.flatnonzero(stream.actions == step.ADDED)[3]
    assert (codes[full + 1 :] >= 0).any()
    assert (stream.actions[full + 1 :] == step.PROJECTED).any()
    compare_with_direct_solves(learner, 1e-8)
    exact, same = run()
    assert exact.state.k.size == 4
    np.testing.assert_array_equal(same.predicted, stream.predicted)
    np.testing.assert_array_equal(same.actions, stream.actions)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_damaged_inverse_is_noticed_and_mended(kernel):
    """At the next check, not when the damaged vectors happen to have left."""
    X, codes = stream_of(1_500, seed=8)
    learner = BLS(2, kernel=kernel, lambda1=0.1, epsilon=0.5, budget_labelled=20, budget_unlabelled=30)
    learner.run(X[:-1], codes[:-1])
    step.settled(learner.state)
    learner.state.H[:50, :50] *= 1 + 1e-6
    learner.state.counts[step.SINCE] = step.PERIOD
    learner.run(X[-1:], codes[-1:])
    compare_with_direct_solves(learner, 1e-8)


def test_a_class_may_come_while_a_replacement_waits():
    X, codes = stream_of(600, seed=13)
    learner = BLS(2, width=1.0, epsilon=0.5, budget_labelled=9, budget_unlabelled=11)
    while learner.state is None or learner.state.owed[0] == 0:
        at = learner.seen
        learner.run(X[at : at + 1], codes[at : at + 1])
    learner.add_class()
    compare_with_direct_solves(learner, 1e-9)


def reference_remove(X, codes, K, l1, l2, epsilon, budgets, fill=False):
    """Algorithm 3 with direct solves: scores, and who is inside at the end.

    fill : while a budget has room, whatever comes enters
    """
    inside, scores = {0: [], 1: []}, []
    for t, code in enumerate(codes):
        rows = sorted(inside[0] + inside[1])
        f = 0.0
        if rows:
            D = np.diag([l1 if codes[i] >= 0 else l1 * (1 + 1 / l2) for i in rows])
            y = np.array([0.0 if codes[i] < 0 else 2.0 * codes[i] - 1 for i in rows])
            f = K[t, rows] @ np.linalg.solve(K[np.ix_(rows, rows)] + D, y)
        scores.append(f)
        kind = int(code < 0)
        room = fill and len(inside[kind]) < budgets[kind]
        if room or (abs(f) <= epsilon if kind else (2 * code - 1) * f <= 0):
            inside[kind] = [*inside[kind], t][-budgets[kind] :]
    return np.array(scores), sorted(inside[0] + inside[1])


@pytest.mark.parametrize("condition", ["algorithm", "fill"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_is_algorithm_3(seed, condition):
    X, codes = stream_of(250, d=3, seed=seed)
    K = rbf_kernel(X, gamma=0.5)
    scores, inside = reference_remove(X, codes, K, 0.5, 0.2, 0.25, (7, 11), condition == "fill")
    slots = {"budget_labelled": 7, "budget_unlabelled": 11}
    learner = BLS(2, condition=condition, width=1.0, lambda1=0.5, lambda2=0.2, **slots)
    done = learner.run(X, codes)
    np.testing.assert_array_equal(done.predicted, np.where(scores == 0, -1, scores > 0))
    assert sorted(learner.state.items[: sum(learner.sizes)] - 1) == inside


@pytest.mark.parametrize("maintenance", ["remove", "projection", "projection-persistent"])
def test_what_fills_a_budget_enters_unasked(maintenance):
    """Labelled items whatever their score, and unlabelled ones where the maintenance has slots for them."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=400)
    X = rng.normal(size=(400, 3)) + 6.0 * codes[:, None]
    shown = rng.random(400) < 0.5
    slots = {"budget_labelled": 20, "budget_unlabelled": 30}
    learner = BLS(2, maintenance=maintenance, condition="fill", width=9.0, lambda1=0.1, **slots)
    entered = np.flatnonzero(learner.run(X, codes, shown).actions == 1)
    assert set(np.flatnonzero(shown)[:20]) <= set(entered)
    full = maintenance == "remove"
    assert set(np.flatnonzero(~shown)[:30]).issubset(entered) == full
    assert learner.sizes[0] == 20 if full else learner.sizes[0] >= 20


def test_several_classes_share_one_inverse():
    """Each class's coefficients are those of its own one-vs-rest problem on the same budget."""
    X, codes = stream_of(400, seed=9, classes=3)
    learner = BLS(3, width=1.0, budget_labelled=15, budget_unlabelled=15)
    learner.run(X, codes)
    inside = learner.state.items[: sum(learner.sizes)] - 1
    K = rbf_kernel(X[inside], gamma=0.5)
    for p in range(3):
        y = np.where(codes[inside] == p, 1.0, -1.0)[:, None]
        alone = closed_form.solve(K, y, codes[inside] >= 0, 1.0, 0.1)
        np.testing.assert_allclose(learner.state.alpha[p, : inside.size], alone.alpha[:, 0], atol=1e-10)


def test_a_class_that_comes_late_enters_exactly():
    """As if it had been declared from the start and no item had been of it."""
    X, codes = stream_of(60, seed=10, classes=2)
    late = BLS(2, width=1.0, epsilon=10.0, condition="text")
    late.run(X, codes)
    late.add_class()
    declared = BLS(3, width=1.0, epsilon=10.0, condition="text")
    declared.run(X, codes)
    np.testing.assert_allclose(late.scores(X), declared.scores(X), atol=1e-10)


# -- rivals ------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("classes", [2, 3])
def test_passive_aggressive_against_its_definition(variant, classes):
    X, codes = stream_of(300, seed=11, classes=classes, labelled=0.6)
    learner = STREAMS[variant](classes, **({} if variant == "pa" else {"C": 0.3}))
    found = learner.run(X, codes).predicted
    W = np.zeros((classes, X.shape[1]))
    for x, code, predicted in zip(X, codes, found, strict=True):
        f = W @ x
        assert predicted == (-1 if not f.any() else f.argmax())
        if code < 0:
            continue
        rival = max((k for k in range(classes) if k != code), key=lambda k: f[k])
        # Two classes: W holds -w/2 and w/2, so that the difference is w.x.
        margin = f[code] - f[rival]
        loss, norm = max(0.0, 1 - margin), (x @ x) * (1 if classes == 2 else 2)
        tau = {"pa": loss / norm, "pa1": min(0.3, loss / norm), "pa2": loss / (norm + 1 / 0.6)}[variant]
        share = 0.5 if classes == 2 else 1.0
        W[code] += share * tau * x
        W[rival] -= share * tau * x
    expected = (W[1] - W[0])[None] if classes == 2 else W
    np.testing.assert_allclose(learner.W, expected, atol=1e-10)


@pytest.mark.parametrize("method", ["bls", "rlp", "lp"])
def test_one_inverse_serves_all_draws(method):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    codes = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    K = rbf_kernel(X, gamma=0.3)
    draws = np.array([np.where(rng.random(90) < share, codes, -1) for share in (0.1, 0.3, 0.5, 0.9)])
    for how in ({"lambda1": 0.01, "lambda2": 10.0}, {"lambda1": 10.0, "lambda2": 0.01}, {"ridge": 0.1}):
        found = closed_form.transduce(K, draws, method=method, **how)
        for codes_of, answers in zip(draws, found, strict=True):
            expected = closed_form.transduce(K, codes_of, method=method, **how)
            np.testing.assert_array_equal(answers, expected)


def micro_clusters(X, codes, learner):
    """ReSSL item by item as its sources describe it: lists of items, nothing kept up to date."""
    clusters, overall, t, found = [], np.zeros(learner.n_classes), 0, []

    def radius(c):
        return np.sqrt(np.mean(np.sum((np.array(c["x"]) - np.mean(c["x"], axis=0)) ** 2, axis=1)))

    def shares(c):
        counts = np.bincount([k for k in c["y"] if k >= 0], minlength=overall.size)
        return counts / counts.sum() if counts.sum() else counts * 0.0

    def entropy(p):
        return -np.sum(p[p > 0] * np.log(p[p > 0]))

    for n, (x, code) in enumerate(zip(X, codes, strict=True)):
        order = sorted(clusters, key=lambda c: np.linalg.norm(np.mean(c["x"], axis=0) - x))
        near, P = order[: learner.neighbours], overall / max(overall.sum(), 1)
        R = np.array([
            0.0 if not shares(c).any() else 1.0 if entropy(P) == 0
            else max(1 - entropy(shares(c)) / entropy(P), 0) * np.exp(sum((shares(c) - P)[P > 0] / P[P > 0]))
            for c in near
        ])  # fmt: skip
        voters = near[:1] if near and R[0] > R.mean() + R.std() else near
        votes = np.zeros(overall.size)
        for c, trust in zip(voters, R, strict=False):
            for k in set(c["y"]) - {-1}:
                mean = np.mean([v for v, y in zip(c["x"], c["y"], strict=True) if y == k], axis=0)
                votes[k] += trust * shares(c)[k] / max(np.linalg.norm(mean - x), 1e-12)
        found.append(votes.argmax() if votes.any() else overall.argmax() if overall.any() else -1)
        if near:
            first, far = near[0], np.linalg.norm(np.mean(near[0]["x"], axis=0) - x)
            r, size = radius(first), len(first["x"])
            if far >= r:
                if size > 1 and far > np.sqrt(2 * size * r**2 / (size - 1)):
                    first = None
                elif len(near) > 1:
                    border = np.linalg.norm(np.mean(near[1]["x"], axis=0) - x) - radius(near[1])
                    if border - (far - r) < 0.5 * r:
                        if len(clusters) == learner.most:
                            weights = [c["w"] * np.exp(-learner.fading * (t - c["t"])) for c in clusters]
                            clusters.pop(int(np.argmin(weights)))
                        first = {"x": [], "y": [], "w": 0.0, "t": t}
                        clusters.append(first)
            if first is not None:
                first["w"] = first["w"] * np.exp(-learner.fading * (t - first["t"])) + 1
                first["t"], t = t, t + 1
                first["x"].append(x)
                first["y"].append(code)
        if code >= 0:
            overall[code] += 1
        if n + 1 == learner.first:
            from sklearn.cluster import KMeans

            start = X[: learner.clusters]
            member = KMeans(len(start), init=start, n_init=1, max_iter=10, tol=0).fit_predict(X[: n + 1])
            for c in np.unique(member):
                inside = np.flatnonzero(member == c)
                last = t + len(inside) - 1
                w = sum(np.exp(-learner.fading * (last - i)) for i in range(t, last + 1))
                clusters.append({"x": list(X[inside]), "y": codes[inside].tolist(), "w": w, "t": last})
                t = last + 1
    return np.array(found)


@pytest.mark.parametrize("classes", [2, 3])
def test_reliable_micro_clusters_against_lists_of_items(classes):
    X, codes = stream_of(400, seed=5, classes=classes, labelled=0.3)
    learner = ReSSL(classes, first=30, clusters=8, most=12, neighbours=3, fading=0.01)
    found = learner.run(X, codes).predicted
    expected = micro_clusters(
        X, codes, ReSSL(classes, first=30, clusters=8, most=12, neighbours=3, fading=0.01)
    )
    np.testing.assert_array_equal(found, expected)


def test_a_batch_is_classified_before_its_labels_are_seen():
    """SPASC: labels of a batch change nothing within it, and everything after it."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    flipped = np.concatenate([codes[:200], 1 - codes[200:]])
    one, two = (SPASC(2, chunk=100, clusters=5, seed=1).run(X, y).predicted for y in (codes, flipped))
    assert (one[:100] == -1).all()
    np.testing.assert_array_equal(one, two)
    mirrored = SPASC(2, chunk=100, clusters=5, seed=1).run(X, 1 - codes).predicted
    assert np.mean(mirrored[100:] == one[100:]) < 0.5


@pytest.mark.parametrize(("name", "least"), [("spasc", 0.95), ("ressl", 0.9)])
def test_cluster_learners_find_clusters(name, least):
    """On well-parted clusters, one in ten labelled, they are nearly always right once warm."""
    rng = np.random.default_rng(12)
    codes = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 2)) + 12 * np.array([[0, 0], [1, 0], [0, 1]])[codes]
    done = STREAMS[name](3, seed=0).run(X, codes, rng.random(3000) < 0.1)
    assert np.mean(done.predicted[500:] == codes[500:]) > least
