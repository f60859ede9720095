"""Products of vectors with a narrow block: against float64, in all remainders of registers."""

import numpy as np
import pytest

from querist.operator import LocalSpace, lanes, narrow
from querist.operator.threads import one_blas_thread


@pytest.fixture
def random():
    return np.random.default_rng(3)


@pytest.mark.parametrize("columns", [16, 48])
@pytest.mark.parametrize("m", [0, 1, narrow.TOGETHER - 1, narrow.TOGETHER, 2 * narrow.TOGETHER + 3])
@pytest.mark.parametrize("rows", [(0, 0), (0, 1), (7, 7 + narrow.PIECE), (3, 1200)])
def test_products_are_those_of_float64(random, columns, m, rows):
    first, last = rows
    V = random.standard_normal((m + 2, 1207), dtype=np.float32)
    W = random.standard_normal((1207, columns), dtype=np.float32)
    H = random.standard_normal((m, columns), dtype=np.float32)
    own = V[:m, first:last].astype(np.float64)

    found = np.ones((m, columns), dtype=np.float32)
    narrow.add_products(V, W, found, m, first, last)
    np.testing.assert_allclose(found, 1 + own @ W[first:last].astype(np.float64), atol=2e-4)

    rest = W.copy()
    narrow.subtract_products(V, H, rest, m, first, last)
    np.testing.assert_allclose(rest[first:last], W[first:last] - own.T @ H.astype(np.float64), atol=2e-4)
    outside = np.r_[0:first, last:1207]
    assert np.array_equal(rest[outside], W[outside])


@pytest.mark.parametrize("columns", [(16, 16), (16, 48), (48, 16)])
@pytest.mark.parametrize("rows", [(0, 0), (5, 6), (3, 1200)])
def test_a_gram_matrix_is_that_of_float64(random, columns, rows):
    X, Y = (random.standard_normal((1207, k), dtype=np.float32) for k in columns)
    found = np.ones(columns)
    narrow.add_gram(X, Y, found, *rows)
    own = slice(*rows)
    np.testing.assert_allclose(found, 1 + X[own].astype(np.float64).T @ Y[own], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 15, 16, 32])
def test_a_basis_takes_its_part_out_of_a_block(random, dtype, columns):
    """Of whole lines and of others, in both precisions."""
    n, m = 9001, 37
    Q = np.linalg.qr(random.standard_normal((n, m)))[0].astype(dtype)
    W = random.standard_normal((n, columns)).astype(dtype)
    size = np.linalg.norm(W)
    with one_blas_thread():
        basis = LocalSpace(n, np.dtype(dtype)).basis(m + 1)
        basis.put(0, Q)
        H = basis.inner(m, W)
        np.testing.assert_allclose(H, Q.T @ W, atol=1e-5)
        basis.subtract(m, W, H)
    assert np.abs(Q.T @ W).max() < 1e-6 * size
    assert np.linalg.norm(W) < size


def test_a_block_in_other_memory_is_left_to_blas(random):
    """Columns of a wider block, and rows in the other order."""
    wide = random.standard_normal((64, 32), dtype=np.float32)
    assert narrow.fits(wide) and not narrow.fits(wide[:, :16])
    assert not narrow.fits(np.asfortranarray(wide)) and not narrow.fits(wide[:, 0])


def test_a_system_whose_features_llvm_does_not_know_has_none(monkeypatch):
    def unknown():
        raise RuntimeError("failed to get host cpu features")

    monkeypatch.setattr(lanes.binding, "get_host_cpu_features", unknown)
    assert not lanes.has("avx512f")
