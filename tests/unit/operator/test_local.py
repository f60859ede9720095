"""Blocks in the memory of this process."""

import numpy as np
import pytest

from querist.operator.local import LocalSpace
from querist.operator.threads import one_blas_thread


@pytest.mark.parametrize("kept", [40, 33])
@pytest.mark.parametrize("known", [True, False])
def test_a_block_of_single_precision_turns_in_float64(known, kept):
    """Also where columns are left out: against float64 alone."""
    rng = np.random.default_rng(1)
    n, k = 9000, 40
    X = np.linalg.qr(rng.standard_normal((n, k)))[0].astype(np.float32)
    Z = (np.eye(k) + 1e-3 * rng.standard_normal((k, k)))[:, :kept]
    v = rng.standard_normal(n) / np.sqrt(n) if known else None
    z = 1e-7 * rng.standard_normal(kept)
    found = LocalSpace(n, np.dtype(np.float64)).rotated(X, Z, v, z)
    expected = X.astype(np.float64) @ Z - (0 if v is None else np.outer(v, z))
    assert found.dtype == np.float64
    assert np.linalg.norm(found - expected, axis=0).max() < 1e-12


@pytest.mark.parametrize("columns", [1, 7, 8, 16, 32, 48, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_vector_is_taken_out_of_few_columns_and_of_many(columns, dtype):
    """And Gram matrices are those of float64, in all the ways there are."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5000, columns)).astype(dtype)
    v = (np.ones(5000) / np.sqrt(5000)).astype(dtype)
    space = LocalSpace(5000, np.dtype(dtype))
    exact = X.astype(np.float64)
    np.testing.assert_allclose(space.gram(X, X), exact.T @ exact, atol=1e-9)
    space.remove(X, v)
    assert np.abs(v @ X).max() < 1e-4 * (dtype == np.float32) + 1e-12
    np.testing.assert_allclose(X, exact - v[:, None] * (v @ exact), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 15, 16, 32])
def test_a_basis_takes_its_part_out_of_a_block(dtype, columns):
    rng = np.random.default_rng(3)
    n, m = 9001, 37
    Q = np.linalg.qr(rng.standard_normal((n, m)))[0].astype(dtype)
    W = rng.standard_normal((n, columns)).astype(dtype)
    size = np.linalg.norm(W)
    basis = LocalSpace(n, np.dtype(dtype)).basis(m + 1)
    basis.put(0, Q)
    with one_blas_thread():
        H = basis.inner(m, W)
        np.testing.assert_allclose(H, Q.T @ W, atol=1e-5)
        basis.subtract(m, W, H)
    assert np.abs(Q.T @ W).max() < 1e-6 * size
    assert np.linalg.norm(W) < size
