"""Attributes: weighting, reach, limits, and the two embeddings side by side."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist.embedding import embed
from querist.embedding.kinds.diffusion import diffusion, smoothing, weighted
from querist.errors import InputError, QueristError, ResidualWarning
from querist.graph.graph import Graph


def graph_of(S: Any, X: Any) -> Graph:
    attributes = None if X is None else sp.csr_array(np.asarray(X, dtype=float))
    return Graph(sp.csr_array(np.asarray(S, dtype=float)), attributes=attributes)


PATH = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)  # 5 nodes


def test_weightings() -> None:
    X = sp.csr_array(np.array([[3.0, 4, 0], [0, 2e-200, 0], [0, 1e200, 1e200], [0, 0, 0]]))
    unit = weighted(X, "unit").toarray()
    half = np.sqrt(0.5)
    np.testing.assert_allclose(unit, [[0.6, 0.8, 0], [0, 1, 0], [0, half, half], [0, 0, 0]], rtol=1e-12)
    np.testing.assert_array_equal(weighted(X, "raw").toarray(), X.toarray())
    idf = 1 + np.log(5 / np.array([2, 4, 2]))
    expected = np.array([3, 4, 0]) * idf
    np.testing.assert_allclose(weighted(X, "tfidf").toarray()[0], expected / np.linalg.norm(expected))
    assert X.toarray()[0, 0] == 3  # the graph's own attributes are left alone
    with pytest.raises(QueristError, match="unknown weighting"):
        weighted(X, "tf")  # type: ignore[arg-type]


def test_smoothing_is_free_of_the_unit_of_weights_and_keeps_isolated_nodes() -> None:
    S = np.zeros((5, 5))
    S[:4, :4] = PATH[:4, :4] * [[1, 2, 3, 4]] * [[1], [2], [3], [4]]
    here, there = smoothing(graph_of(S, None)).toarray(), smoothing(graph_of(1e12 * S, None)).toarray()
    np.testing.assert_allclose(here, there, rtol=1e-12)
    assert here[4].tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_allclose(here, here.T)
    assert np.abs(np.linalg.eigvalsh(here)).max() <= 1 + 1e-12


def test_nodes_learn_from_each_other_over_edges_and_shared_attributes() -> None:
    S = np.zeros((8, 8))
    for i, j in ((0, 1), (2, 3), (4, 5)):
        S[i, j] = S[j, i] = 1
    X = np.zeros((8, 4))
    X[0, 0] = X[2, 0] = 1  # pairs 0-1 and 2-3 share a word
    X[4, 1] = X[5, 2] = 1  # pair 4-5 stands apart, and so does 6; 7 has nothing at all
    X[6, 3] = 1
    found = embed(graph_of(S, X), 4, kind="diffusion")
    np.testing.assert_array_equal(found.components, [0, 0, 0, 0, 1, 1, 2, 3])
    assert not found.rows[7].any()
    assert found.rows[1].any()  # by its neighbour


def test_a_node_out_of_reach_of_any_attribute_stands_alone() -> None:
    X = np.zeros((5, 2))
    X[0] = 1
    found = diffusion(graph_of(PATH, X), 2, steps=2)
    np.testing.assert_array_equal(found.components, [0, 0, 0, 1, 2])


def test_without_attributes_the_error_names_the_way_out() -> None:
    for graph in (graph_of(PATH, None), graph_of(PATH, np.zeros((5, 3)))):
        with pytest.raises(InputError, match="kind='spectral'"):
            embed(graph, 2, kind="diffusion")


def test_a_rank_above_the_attributes_is_noted() -> None:
    found = embed(graph_of(PATH, np.eye(5)[:, :2]), 4, kind="diffusion")
    assert found.rows.shape == (5, 2)
    assert "rank 4 exceeds the 2 attributes" in found.report()


@pytest.mark.slow
def test_attributes_are_never_made_dense() -> None:
    # Dense, the smoothed attributes would take 160 GB.
    n, m = 20_000, 1_000_000
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 3 * n))
    S = sp.coo_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    S.setdiag(0)
    S.eliminate_zeros()
    words = sp.coo_array((np.ones(5 * n), (np.repeat(np.arange(n), 5), rng.integers(0, m, 5 * n))), (n, m))
    graph = Graph(sp.csr_array(S), attributes=sp.csr_array(words))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResidualWarning)
        found = diffusion(graph, 2, steps=2, sweeps=1)
    assert found.rows.shape == (n, 2)
    assert np.isfinite(found.rows).all()


def test_too_few_sweeps_are_a_warning_that_carries_the_residual() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((300, 250)) < 0.05).astype(float)
    S = np.triu(rng.random((300, 300)) < 0.01, 1).astype(float)
    graph = graph_of(S + S.T, X)
    with pytest.warns(ResidualWarning, match="attribute residuals") as caught:
        found = embed(graph, 20, kind="diffusion", tol=1e-14)
    assert isinstance(caught[0].message, ResidualWarning)
    assert caught[0].message.residual == found.residual > 1e-14


def test_relabelling_nodes_permutes_the_gram_even_unconverged() -> None:
    # The random test matrix lives on the attributes' side, so it does not see the order of nodes.
    rng = np.random.default_rng(2)
    X = (rng.random((120, 90)) < 0.1).astype(float)
    S = np.triu(rng.random((120, 120)) < 0.05, 1).astype(float)
    graph, order = graph_of(S + S.T, X), rng.permutation(120)
    here = diffusion(graph, 10, sweeps=1).rows
    there = diffusion(graph.subgraph(order), 10, sweeps=1).rows
    np.testing.assert_allclose(there @ there.T, (here @ here.T)[np.ix_(order, order)], atol=1e-9)


def test_progress_reaches_one() -> None:
    graph = replace(graph_of(PATH, np.eye(5)))
    seen: list[float] = []
    embed(graph, 4, kind="diffusion", progress=lambda fraction, text: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
