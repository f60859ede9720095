"""Twins taken together and nodes put in another order: the same eigenpairs, from less."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from querist.graph.graph import Graph
from querist.operator.eigen import compact, solve
from querist.operator.eigen.compact import compacted
from querist.progress import silent
from querist.types import Floats


def normalised(S: Floats) -> Floats:
    root = 1 / np.sqrt(np.abs(S).sum(axis=1))
    return np.asarray(np.eye(len(S)) - root[:, None] * S * root)


def with_twins(core: int, twins: int, seed: int, *, weighted: bool = True, signed: bool = False) -> Floats:
    """A connected graph; `twins` further nodes copy the links of a node of the core (in a power of two of its
    weights, so that proportions are exact), and a few leaves hang on one hub."""
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((core, core)) < 0.2, 1) * (rng.integers(1, 9, (core, core)) if weighted else 1.0)
    S = S + np.diag(np.ones(core - 1), 1) * (np.diag(S, 1) == 0).all()
    S = np.triu(S, 1) + np.diag((np.diag(S, 1) == 0).astype(float), 1)
    if signed:
        S = S * np.where(rng.random(S.shape) < 0.3, -1, 1)
    S = S + S.T
    for _ in range(twins):
        model, factor = int(rng.integers(core)), float(2.0 ** rng.integers(-2, 3)) if weighted else 1.0
        row = factor * S[model]
        S = np.block([[S, row[:, None]], [row[None, :], np.zeros((1, 1))]])
    return np.asarray(S[np.ix_(*[rng.permutation(len(S))] * 2)])


def dense_twins(S: Floats) -> Any:
    """(n,) the first node with a proportional row, by comparing all pairs."""
    shares = S / np.abs(S).sum(axis=1, keepdims=True)
    same = (shares[:, None, :] == shares[None, :, :]).all(axis=2)
    return same.argmax(axis=1)


@given(st.integers(4, 12), st.integers(0, 8), st.integers(0, 999), st.booleans(), st.booleans())
def test_twins_are_those_of_all_pairs(core: int, twins: int, seed: int, weighted: bool, signed: bool) -> None:
    S = with_twins(core, twins, seed, weighted=weighted, signed=signed)
    A = sp.csr_array(S)
    degrees = np.abs(S).sum(axis=1)
    first = compact.first_twins(A.indptr.astype(np.int64), A.indices, A.data, degrees)
    np.testing.assert_array_equal(first, dense_twins(S))


@given(st.integers(4, 12), st.integers(1, 8), st.integers(0, 999), st.booleans())
def test_what_is_lifted_are_eigenpairs_and_only_those_of_1_are_missing(
    core: int, twins: int, seed: int, signed: bool
) -> None:
    S = with_twins(core, twins, seed, signed=signed)
    smaller = compacted(sp.csr_array(S), 0)
    values, vectors = np.linalg.eigh(normalised(smaller.S.toarray()))
    lifted = smaller.lift(vectors)
    np.testing.assert_allclose(lifted.T @ lifted, np.eye(values.size), atol=1e-12)
    np.testing.assert_allclose(normalised(S) @ lifted, lifted * values, atol=1e-12)
    np.testing.assert_allclose(smaller.lower(lifted), vectors, atol=1e-12)
    np.testing.assert_allclose(smaller.lower(lifted[:, 0]), vectors[:, 0], atol=1e-12)
    whole = np.linalg.eigvalsh(normalised(S))
    hidden = len(S) - values.size
    assert hidden >= 1
    np.testing.assert_allclose(whole, np.sort(np.append(values, np.ones(hidden))), atol=1e-12)


def test_nodes_come_by_falling_degree_and_large_graphs_by_community(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    home = rng.permutation(np.repeat(np.arange(8), 100))
    S = np.triu(rng.random((800, 800)) < np.where(home[:, None] == home, 0.3, 0.003), 1)
    A = sp.csr_array((S + S.T).astype(float))
    plain = compacted(A, 0)
    lengths = np.diff(plain.S.indptr)
    assert (np.diff(lengths) <= 0).all()
    np.testing.assert_array_equal(plain.S.toarray()[np.ix_(plain.place, plain.place)], A.toarray())
    monkeypatch.setattr(compact, "LARGE", 1)
    monkeypatch.setattr(compact, "PIVOTS", 40)
    ordered = compacted(A, 0)
    np.testing.assert_array_equal(ordered.S.toarray()[np.ix_(ordered.place, ordered.place)], A.toarray())

    def neighbours_alike(place: Any) -> float:
        inverse = np.argsort(place)
        return float((home[inverse][1:] == home[inverse][:-1]).mean())

    assert neighbours_alike(plain.place) < 0.3
    assert neighbours_alike(ordered.place) > 0.8


@pytest.mark.parametrize("large", [False, True])
def test_solutions_are_those_of_the_whole_graph(monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    if large:
        monkeypatch.setattr(compact, "LARGE", 1)
        monkeypatch.setattr(compact, "PIVOTS", 20)
    S = with_twins(300, 150, 1)
    null = np.sqrt(S.sum(axis=1))
    found = solve.smallest_pairs(sp.csr_array(S), null, 8, normalised=True, tol=1e-8, seed=0, progress=silent)
    assert "150 twins aside" in found.solver
    values = np.linalg.eigvalsh(normalised(S))[1:9]
    np.testing.assert_allclose(found.values, values, atol=1e-10)
    rest = normalised(S) @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(rest, axis=0).max() < 1e-7
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ null, 0, atol=1e-10 * np.linalg.norm(null))


def star(leaves: int) -> Floats:
    S = np.zeros((leaves + 1, leaves + 1))
    S[0, 1:] = S[1:, 0] = 1
    return S


@pytest.mark.parametrize(
    ("S", "count", "dense"),
    [(star(200), 5, 20), (with_twins(100, 150, 3, weighted=False), 80, 120)],
    ids=["no vector is left", "the last wanted are hidden"],
)
def test_vectors_that_twins_hide_are_found_on_the_whole_graph(
    monkeypatch: pytest.MonkeyPatch, S: Floats, count: int, dense: int
) -> None:
    monkeypatch.setattr(solve, "DENSE", dense)
    smaller = compacted(sp.csr_array(S), 0)
    assert smaller.S.shape[0] < len(S) / 2
    found = solve.smallest_pairs(
        sp.csr_array(S), np.sqrt(S.sum(axis=1)), count, normalised=True, tol=1e-6, seed=0, progress=silent
    )
    expected = np.linalg.eigvalsh(normalised(S))[1 : count + 1]
    assert expected[-1] == pytest.approx(1)
    np.testing.assert_allclose(found.values, expected, atol=1e-6)
    assert "twins" not in found.solver


def test_a_graph_without_twins_keeps_its_nodes() -> None:
    ring = sp.csr_array(sp.diags_array([1.0, 1, 1, 1], offsets=[-1, 1, 9, -9], shape=(10, 10)))
    found = compacted(ring, 0)
    assert found.S.shape == (10, 10)
    np.testing.assert_array_equal(found.share, np.ones(10))
    assert Graph(found.S).n_edges == 10
