"""Nodes put in an order that suits the caches: the same eigenpairs."""

import numpy as np
import pytest
import scipy.sparse as sp

from querist.operator.eigen import solve
from querist.progress import silent


def adjacency(n: int, *, signed: bool) -> np.ndarray:
    """A connected graph with rows of different lengths, whole weights, and leaves on one hub."""
    rng = np.random.default_rng(0)
    S = np.triu(rng.random((n, n)) < 0.1, 1) * rng.integers(1, 9, (n, n)).astype(float)
    S[np.arange(n - 1), np.arange(1, n)] = 1.0
    S[0, n // 2 :] = 1.0
    if signed:
        S *= np.where(rng.random(S.shape) < 0.3, -1, 1)
    return np.asarray(S + S.T)


def test_nodes_come_by_falling_degree() -> None:
    S = adjacency(300, signed=False)
    found, order = solve.by_degree(sp.csr_array(S))
    assert (np.diff(np.diff(found.indptr)) <= 0).all()
    np.testing.assert_array_equal(found.toarray(), S[np.ix_(order, order)])


@pytest.mark.parametrize("signed", [False, True])
def test_solutions_are_those_of_the_graph_as_it_was(monkeypatch: pytest.MonkeyPatch, signed: bool) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    S = adjacency(300, signed=signed)
    root = np.sqrt(np.abs(S).sum(axis=1))
    L = np.eye(300) - S / root[:, None] / root
    values = np.linalg.eigvalsh(L)
    first = 0 if signed else 1
    found = solve.smallest_pairs(
        sp.csr_array(S), None if signed else root, 8, normalised=True, tol=1e-8, seed=0, progress=silent
    )
    assert found.solver.startswith("chebyshev")
    np.testing.assert_allclose(found.values, values[first : first + 8], atol=1e-10)
    assert np.linalg.norm(L @ found.vectors - found.vectors * found.values, axis=0).max() < 1e-7
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-10)
