"""The compiled linear algebra of the second-order learners against NumPy, for sizes around every tile."""

import numpy as np
import pytest

from querist.online import algebra
from querist.triangle import dot, product

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 100]


def spoiled(P: np.ndarray) -> np.ndarray:
    """The same lower triangle, NaN above it: whoever reads there is found out."""
    return np.where(np.tri(len(P), dtype=bool), P, np.nan)


@pytest.fixture(params=SIZES, ids=lambda d: f"d={d}")
def world(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(request.param)
    M = rng.standard_normal((request.param, request.param))
    return M @ M.T + np.eye(request.param), rng


def test_products_read_the_lower_triangle(world: tuple[np.ndarray, np.random.Generator]) -> None:
    P, rng = world
    m, n = rng.standard_normal((2, len(P)))
    g = np.full(len(P), np.nan)
    product(spoiled(P), m.size, m, g)
    np.testing.assert_allclose(g, P @ m, rtol=1e-11, atol=1e-11)
    assert dot(m, n, m.size) == pytest.approx(m @ n, abs=1e-12)


def test_a_square_is_subtracted_in_the_lower_triangle(world: tuple[np.ndarray, np.random.Generator]) -> None:
    P, rng = world
    s = rng.standard_normal(len(P))
    changed = spoiled(P)
    algebra.subtract_square(changed, s)
    np.testing.assert_allclose(changed, spoiled(P - np.outer(s, s)), rtol=1e-12, atol=1e-12)


def test_blocks_of_columns(world: tuple[np.ndarray, np.random.Generator]) -> None:
    """The last node is repeated where the order ends inside a block."""
    P, rng = world
    d, block = len(P), algebra.BLOCK
    rows = rng.standard_normal((50, d))
    order = rng.integers(50, size=block + 10)
    for start in (0, block):
        X = np.full((d, block), np.nan)
        algebra.gather_columns(rows, order, start, X)
        expected = rows[order[np.minimum(start + np.arange(block), order.size - 1)]].T
        np.testing.assert_array_equal(X, expected)
    forms, weighed, half = np.full(block, np.nan), np.full(block, np.nan), np.empty((4, block))
    algebra.quadratic_forms(spoiled(P), X, forms, half)
    np.testing.assert_allclose(forms, np.einsum("ib,ij,jb->b", X, P, X), rtol=1e-10)
    algebra.project(X, P[:, 0].copy(), weighed)
    np.testing.assert_allclose(weighed, P[:, 0] @ X, rtol=1e-10, atol=1e-11)
