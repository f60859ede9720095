"""The operator against dense matrices and numpy's solver, on small graphs of every kind."""

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist.errors import InputError, QueristError, ResidualWarning
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian
from querist.operator import kernels, solve, threads
from querist.operator.local import empty_block
from querist.operator.value import LocalMatrix, Operator
from querist.types import Floats


@st.composite
def adjacencies(draw: st.DrawFn, most: int = 14) -> Floats:
    """Weighted or not, signed or not, with isolated nodes and hubs."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S = np.triu(rng.uniform(0.2, 5, (n, n)) * (rng.random((n, n)) < draw(st.floats(0.0, 0.9))), 1)
    if draw(st.booleans()):
        S *= np.where(rng.random((n, n)) < 0.4, -1, 1)
    return np.asarray(S + S.T)


def dense_laplacian(S: Floats, normalised: bool) -> Floats:
    d = np.abs(S).sum(axis=1)
    if not normalised:
        return np.asarray(np.diag(d) - S)
    root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return np.asarray(np.diag((d > 0).astype(float)) - root[:, None] * S * root)


dtypes = st.sampled_from([np.float32, np.float64])


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 70), dtypes, st.integers(0, 99))
def test_products_of_a_matrix_that_is_not_square(n: int, m: int, k: int, dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.4)
    B = rng.standard_normal((m, k)).astype(dtype)
    found = LocalMatrix.of(sp.csr_array(A), dtype) @ B
    assert found.dtype == dtype
    np.testing.assert_allclose(found, A @ B, atol=1e-12 if dtype == np.float64 else 2e-5)
    # Nothing beside the block is read: what lies behind it there is not a number.
    room = np.full((n + m, k), np.nan, dtype=dtype)
    room[:m] = B
    assert (LocalMatrix.of(sp.csr_array(A), dtype) @ room[:m]).tobytes() == found.tobytes()
    with pytest.raises(InputError, match=f"the matrix needs \\({m}, k\\)"):
        LocalMatrix.of(sp.csr_array(A), dtype) @ np.zeros((m + 1, k), dtype=dtype)


@given(adjacencies(), st.booleans(), dtypes, st.integers(1, 9), st.integers(1, 4))
def test_products_are_those_of_the_dense_matrix(
    S: Floats, normalised: bool, dtype: Any, k: int, parts: int
) -> None:
    L = dense_laplacian(S, normalised)
    M = Operator.laplacian(sp.csr_array(S), normalised=normalised, dtype=dtype)
    M.__dict__["_bounds"] = threads.cuts(M.indptr, parts)
    rng = np.random.default_rng(k)
    X, Z = rng.standard_normal((2, len(S), k)).astype(dtype)
    close = {"atol": 1e-12 if dtype == np.float64 else 2e-5 * max(1, np.abs(L).max())}
    np.testing.assert_allclose(M.matmat(X), L @ X, **close)
    np.testing.assert_allclose(M.diagonal(), np.diag(L), **close)
    expected = 0.5 * L @ X - 2 * X + 0.25 * Z
    np.testing.assert_allclose(M.combine(X, Z.copy(), scale=0.5, shift=-2, previous=0.25), expected, **close)
    assert M.matmat(X).dtype == dtype
    assert (M.n, M.shape, M.nnz) == (len(S), S.shape, np.count_nonzero(S))
    same = Operator.symmetric(sp.csr_array(L), dtype=dtype)
    np.testing.assert_allclose(same.matmat(X), L @ X, **close)
    np.testing.assert_allclose(same.diagonal(), np.diag(L), **close)


def random_graph(n: int, degree: float, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, int(n * degree / 2)))
    S = sp.coo_array((rng.uniform(0.5, 2, i.size), (i, j)), shape=(n, n)).tocsr()
    S = sp.csr_array(S + S.T)
    S.setdiag(0)
    S.eliminate_zeros()
    return sp.csr_array(S)


def test_threads_do_not_change_a_bit_and_scipy_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    S = random_graph(3000, 12)
    X = np.random.default_rng(0).standard_normal((3000, 40))
    monkeypatch.setenv("QUERIST_THREADS", "1")
    alone = Operator.laplacian(S, normalised=True).matmat(X)
    calls = []
    monkeypatch.setattr(threads, "SMALL", 1)
    monkeypatch.setattr(
        "querist.operator.value.combine_rows", lambda *a: (calls.append(1), kernels.combine_rows(*a))
    )
    for parts in (2, 3, 7):
        calls.clear()
        monkeypatch.setenv("QUERIST_THREADS", str(parts))
        together = Operator.laplacian(S, normalised=True).matmat(X)
        assert len(calls) == parts
        np.testing.assert_array_equal(alone, together)
    np.testing.assert_allclose(alone, laplacian(Graph(S), normalised=True) @ X, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_width_of_a_block_is_right_and_no_column_depends_on_the_others(dtype: Any, index: Any) -> None:
    S = random_graph(120, 7)
    S = sp.csr_array((S.data, S.indices.astype(index), S.indptr), shape=S.shape)
    M, L = Operator.laplacian(S, normalised=True, dtype=dtype), laplacian(Graph(S), normalised=True)
    M = Operator(M.indptr, M.indices.astype(index), M.values, M.centre)
    rng = np.random.default_rng(0)
    wide, before = rng.standard_normal((2, 120, 291)).astype(dtype)
    whole = M.combine(wide, before.copy(), scale=0.5, shift=-2, previous=0.25)
    expected = 0.5 * (L @ wide) - 2 * wide + 0.25 * before
    np.testing.assert_allclose(whole, expected, atol=1e-12 if dtype == np.float64 else 5e-6)
    for k in (*range(1, 40), 47, 64, 65, 100, 128, 145, 200):
        narrow = M.combine(wide[:, :k], before[:, :k].copy(), scale=0.5, shift=-2, previous=0.25)
        np.testing.assert_array_equal(narrow, whole[:, :k])


def test_patterns_that_are_slices_or_read_only_are_read_rightly() -> None:
    S = random_graph(90, 5)
    spread = np.repeat(S.indices, 2)[::2]
    assert not spread.flags.c_contiguous
    values = S.data.copy()
    values.flags.writeable = False
    X = np.random.default_rng(0).standard_normal((90, 6))
    X.flags.writeable = False
    M = Operator.laplacian(SimpleNamespace(indptr=S.indptr, indices=spread, data=values))
    np.testing.assert_allclose(M.matmat(X), laplacian(Graph(S)) @ X, atol=1e-12)


@pytest.mark.slow
def test_parts_are_worked_on_at_once_and_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERIST_THREADS", "3")
    meeting = Barrier(3)

    def work(part: slice) -> tuple[int, int]:
        meeting.wait(timeout=20)  # passes only when three are here together
        return part.start, part.stop

    assert threads.over_parts(work, 11, 4) == [(0, 4), (4, 8), (8, 11)]
    assert threads.over_parts(lambda part: part.start, 0, 4) == []
    done = []

    def failing(part: slice) -> None:
        done.append(part.start)
        if part.start >= 8:
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        threads.over_parts(failing, 100_000, 4)
    after = len(done)
    assert after < 1000
    time.sleep(0.05)
    assert len(done) == after  # nobody goes on


def test_cuts_share_the_work_of_a_hub() -> None:
    star = sp.csr_array(nx.to_scipy_sparse_array(nx.star_graph(1000)))
    bounds = threads.cuts(star.indptr.astype(np.int64), 4)
    assert bounds[0] == 0
    assert bounds[-1] == 1001
    assert bounds == sorted(bounds)
    work = np.diff(star.indptr[bounds] + np.array(bounds))
    assert work.max() <= 0.34 * work.sum()  # the hub alone is a third and cannot be cut


@pytest.mark.slow
def test_memory_mapped_arrays_with_int64_pointers_are_not_copied(tmp_path: Path) -> None:
    S = random_graph(400, 6)
    parts = {"indptr": S.indptr.astype(np.int64), "indices": S.indices.astype(np.int64), "data": S.data}
    for name, array in parts.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = SimpleNamespace(**{name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in parts})
    M = Operator.laplacian(mapped)
    for ours, theirs in ((M.values, mapped.data), (M.indices, mapped.indices), (M.indptr, mapped.indptr)):
        assert np.shares_memory(ours, theirs)
    X = np.random.default_rng(0).standard_normal((400, 5))
    expected = laplacian(Graph(S)) @ X
    np.testing.assert_allclose(M.matmat(X), expected, atol=1e-12)
    for options in ({"normalised": True}, {"dtype": np.float32}):
        np.testing.assert_array_equal(
            Operator.laplacian(mapped, **options).matmat(X), Operator.laplacian(S, **options).matmat(X)
        )


def test_several_threads_of_the_caller_may_use_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SMALL", 1)
    monkeypatch.setenv("QUERIST_THREADS", "3")
    M = Operator.laplacian(random_graph(2000, 8))
    blocks = np.random.default_rng(0).standard_normal((8, 2000, 6))
    with ThreadPoolExecutor(8) as pool:
        for block, found in zip(blocks, pool.map(M.matmat, blocks), strict=True):
            np.testing.assert_array_equal(found, M.matmat(block))


# -- solving -----------------------------------------------------------------------------------------


@given(
    adjacencies(), st.booleans(), st.sampled_from(["factor", "cg", "auto"]), st.floats(0, 20), st.booleans()
)
def test_solutions_are_those_of_numpy(
    S: Floats, normalised: bool, method: str, weight: float, warm: bool
) -> None:
    rng = np.random.default_rng(len(S))
    n, q = len(S), rng.uniform(0.1, 3, len(S))
    B, x0 = rng.standard_normal((2, n, 3))
    B[:, 1] = 0  # a column of zeros has the solution 0
    A = np.diag(q) + weight * dense_laplacian(S, normalised)
    M = Operator.laplacian(sp.csr_array(S), normalised=normalised)
    X, how = M.solve(B, diagonal=q, weight=weight, x0=x0 if warm else None, tol=1e-11, method=method)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), atol=1e-7)
    assert how.residual <= 1e-11
    assert how.method == ("factor" if method == "auto" else method)


def test_zeros_on_the_diagonal_are_fine_where_the_component_is_held() -> None:
    path = sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(5)))
    held = np.array([1.0, 0, 0, 0, 1])
    A = np.diag(held) + dense_laplacian(path.toarray().astype(float), False)
    B = np.arange(10.0).reshape(5, 2)
    for method in ("factor", "cg"):
        X, _ = Operator.laplacian(path).solve(B, diagonal=held, tol=1e-12, method=method)
        np.testing.assert_allclose(X, np.linalg.solve(A, B), atol=1e-9)


def test_the_choice_is_made_by_size_and_shape_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "FACTOR_WORK", 1e5)
    tree = Operator.laplacian(sp.csr_array(nx.to_scipy_sparse_array(nx.balanced_tree(2, 8))))
    filled = Operator.laplacian(random_graph(500, 12))
    small = Operator.laplacian(random_graph(50, 12))
    ask = {"diagonal": 1.0, "weight": 2.0, "tol": 1e-8}
    methods = [M.solve(np.ones((M.n, 2)), **ask)[1].method for M in (tree, filled, small)]
    assert methods == ["factor", "cg", "factor"]


def test_a_factor_is_kept_and_a_new_diagonal_makes_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = solve.factorise
    monkeypatch.setattr(solve, "factorise", lambda *a: (made.append(1), real(*a))[1])
    M = Operator.laplacian(random_graph(200, 5))
    B = np.random.default_rng(1).standard_normal((200, 2))
    for diagonal, weight, total in ((1.0, 1.0, 1), (1.0, 1.0, 1), (2.0, 1.0, 2), (2.0, 3.0, 3)):
        X, _ = M.solve(B, diagonal=diagonal, weight=weight)
        assert len(made) == total
        np.testing.assert_allclose(diagonal * X + weight * M.matmat(X), B, atol=1e-9)


def test_a_warm_start_saves_steps_and_an_exact_one_takes_none() -> None:
    M = Operator.laplacian(random_graph(2000, 8), dtype=np.float64)
    B = np.random.default_rng(2).standard_normal((2000, 4))
    ask = {"diagonal": 0.05, "weight": 1.0, "tol": 1e-8, "method": "cg"}
    X, cold = M.solve(B, **ask)
    _, warm = M.solve(B + 1e-4 * B[::-1], x0=X, **ask)
    _, exact = M.solve(B, x0=X, **ask)
    assert cold.iterations > warm.iterations > exact.iterations == 0


def test_float32_reaches_what_float32_can() -> None:
    S = random_graph(1500, 8)
    B = np.random.default_rng(3).standard_normal((1500, 3))
    exact, _ = Operator.laplacian(S).solve(B, diagonal=1.0, weight=5.0, tol=1e-12)
    X, how = Operator.laplacian(S, dtype=np.float32).solve(B, diagonal=1.0, weight=5.0, tol=1e-5, method="cg")
    assert X.dtype == np.float32
    assert how.residual <= 1e-5
    np.testing.assert_allclose(X, exact, atol=1e-4)


def test_what_is_not_solved_is_a_warning_that_carries_the_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "ITERATIONS", 2)
    monkeypatch.setattr(solve, "FACTOR_WORK", 10)
    M = Operator.laplacian(random_graph(300, 8))
    B = np.random.default_rng(4).standard_normal((300, 2))
    with pytest.warns(ResidualWarning, match="above tol") as caught:
        _, how = M.solve(B, diagonal=1e-3, tol=1e-10, method="cg")
    assert isinstance(caught[0].message, ResidualWarning)
    assert caught[0].message.residual == how.residual > 1e-10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, how = M.solve(B, diagonal=1e-3, tol=1e-10)  # left to itself it finds another way
    assert how.method == "cg, then factor"
    np.testing.assert_allclose(1e-3 * X + M.matmat(X), B, atol=1e-8)


# -- checked input ----------------------------------------------------------------------------------------


def test_what_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    S = random_graph(20, 4)
    M = Operator.laplacian(S)
    X = np.ones((20, 2))
    for wrong in (
        lambda: Operator.laplacian(S, dtype=np.int32),
        lambda: Operator.laplacian(sp.csr_array((S.data.astype(np.float16), S.indices, S.indptr))),
        lambda: M.matmat(np.ones((19, 2))),
        lambda: M.matmat(X, out=X),
        lambda: M.matmat(X, out=np.empty((20, 2), dtype=np.float32)),
        lambda: M.matmat(X, out=np.empty((20, 3))),
        lambda: M.solve(X, diagonal=-1.0),
        lambda: M.solve(X, diagonal=1.0, weight=-1.0),
        lambda: M.solve(X, diagonal=np.nan),
        lambda: M.solve(X * np.nan, diagonal=1.0),
        lambda: M.solve(X[:5], diagonal=1.0),
        lambda: M.solve(X, diagonal=1.0, x0=X[:, :1]),
        lambda: M.solve(X, diagonal=1.0, method="direct"),
    ):
        with pytest.raises(QueristError):
            wrong()
    monkeypatch.setenv("QUERIST_THREADS", "many")
    with pytest.raises(InputError, match="QUERIST_THREADS"):
        Operator.laplacian(S).matmat(X)
    monkeypatch.setenv("QUERIST_THREADS", "3")
    assert threads.available() == 3


INTERRUPTED = """
import numpy as np, os, signal, sys, threading
os.environ["QUERIST_THREADS"] = "2"
from querist.operator.value import Operator
import scipy.sparse as sp
n = 20000
S = sp.random_array((n, n), density=1e-3, format="csr", rng=np.random.default_rng(0))
M = Operator.laplacian(sp.csr_array(S + S.T))
X = np.ones((n, 64))
M.matmat(X)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        out = M.matmat(X)
except KeyboardInterrupt:
    pass
print(np.array_equal(M.matmat(X), out))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGINT to oneself")
def test_an_interrupt_leaves_nothing_broken() -> None:
    assert signal.getsignal(signal.SIGINT) is not None
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "True", done.stderr


# -- what a factor would cost ------------------------------------------------------------------------


@given(adjacencies(), st.integers(0, 5))
def test_fill_is_that_of_a_dense_elimination(S: Floats, seed: int) -> None:
    n = len(S)
    order = np.random.default_rng(seed).permutation(n)
    pattern = sp.csr_array(S)
    place, parent, counts = (np.empty(n, dtype=np.int64) for _ in range(3))
    place[order] = np.arange(n)
    mark = np.full(n, -1)
    indptr = pattern.indptr.astype(np.int64)
    total = solve.count_fill(indptr, pattern.indices, order, place, parent, mark, counts, 10**9)
    # Eliminating a node joins all its later neighbours.
    full = (S != 0)[np.ix_(order, order)]
    for k in range(n):
        later = np.flatnonzero(full[k, k + 1 :]) + k + 1
        full[np.ix_(later, later)] = True
    expected = [int(full[k, k + 1 :].sum()) for k in range(n)]
    np.testing.assert_array_equal(counts, expected)
    assert total == sum(expected)


def test_a_factor_fits_if_one_of_two_orders_does() -> None:
    complete = sp.csr_array(nx.to_scipy_sparse_array(nx.complete_graph(200)))
    entries = 200 * 199 // 2
    assert [solve.factor_fits(complete, limit, np.inf) for limit in (100, entries - 1, entries)] == [0, 0, 1]
    star = sp.csr_array(nx.to_scipy_sparse_array(nx.star_graph(99)))
    assert [solve.factor_fits(star, 99, work) for work in (98.0, 99.0)] == [False, True]
    path = sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(100)))
    assert [solve.factor_fits(path, limit, 99.0) for limit in (98, 99)] == [False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_starts_on_a_cache_line(dtype: Any) -> None:
    for shape in ((3, 5), (1000, 48), (1, 1)):
        block = empty_block(shape, dtype)
        assert block.ctypes.data % 64 == 0
        assert (block.shape, block.dtype, block.flags.c_contiguous) == (shape, dtype, True)
        block[:] = 1
