"""Blocks in the memory of this process."""

import numpy as np
import pytest

from querist.operator import LocalSpace
from querist.operator.local import NEAR


@pytest.mark.parametrize("largest", [0.0, 0.5 * NEAR, 100 * NEAR])
@pytest.mark.parametrize("kept", [40, 33])
@pytest.mark.parametrize("known", [True, False])
def test_a_block_of_single_precision_turns_in_float64(largest, known, kept):
    """Whether it hardly turns or does, and where columns are left out: against float64 alone."""
    rng = np.random.default_rng(1)
    n, k = 9000, 40
    X = np.linalg.qr(rng.standard_normal((n, k)))[0].astype(np.float32)
    change = rng.standard_normal((k, k))
    Z = (np.eye(k) + change * (largest / np.abs(change).sum(axis=0).max()))[:, :kept]
    v = rng.standard_normal(n) / np.sqrt(n) if known else None
    z = 1e-7 * rng.standard_normal(kept)
    found = LocalSpace(n, np.dtype(np.float64)).rotated(X, Z, v, z)
    expected = X.astype(np.float64) @ Z - (0 if v is None else np.outer(v, z))
    assert found.dtype == np.float64
    assert np.linalg.norm(found - expected, axis=0).max() < 1e-12


def test_rows_are_summed_in_their_precision():
    X = np.arange(40_000, dtype=np.float32).reshape(10_000, 4)
    found = LocalSpace(10_000, np.dtype(np.float32)).row_sums(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, X.sum(axis=1, dtype=np.float64), rtol=1e-6)


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
