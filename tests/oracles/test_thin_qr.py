"""Cholesky's thin QR beside Householder's, up to blocks that only the latter can hold."""

import warnings

import numpy as np
import pytest

from querist.operator.eigen.ritz import thin_qr
from querist.operator.local import LocalSpace


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("decay", [0, 3, 7, 12, 40])
def test_it_is_the_factorisation(kind: type, decay: float) -> None:
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.standard_normal((n, 24)))[0] for n in (9000, 24))
    block = (left * np.logspace(0, -decay, 24) @ right.T).astype(kind)
    Q, R = thin_qr(block, LocalSpace(len(block), block.dtype))
    assert Q.dtype == R.dtype == kind
    eps = float(np.finfo(kind).eps)
    np.testing.assert_allclose(Q.T @ Q, np.eye(24), atol=200 * eps)
    np.testing.assert_allclose(Q @ R, block, atol=50 * eps)
    np.testing.assert_array_equal(R, np.triu(R))
    expected = np.linalg.qr(block.astype(np.float64))[1]
    if decay <= 3:
        signs = np.sign(np.diag(expected)) * np.sign(np.diag(R))
        np.testing.assert_allclose(R, signs[:, None] * expected, atol=1e3 * eps)


@pytest.mark.parametrize(
    "block", [np.zeros((50, 3)), np.ones((50, 3)), np.eye(4)], ids=["zero", "equal", "square"]
)
def test_singular_blocks_are_held(block: np.ndarray) -> None:
    Q, R = thin_qr(block, LocalSpace(len(block), block.dtype))
    np.testing.assert_allclose(Q.T @ Q, np.eye(block.shape[1]), atol=1e-12)
    np.testing.assert_allclose(Q @ R, block, atol=1e-12)


def test_columns_too_small_for_their_precision_are_held_without_a_warning() -> None:
    block = np.zeros((50, 2), dtype=np.float32)
    block[0, 0], block[1, 1] = 1.0, 1e-40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Q, R = thin_qr(block, LocalSpace(len(block), block.dtype))
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(Q @ R, block, atol=1e-7)
