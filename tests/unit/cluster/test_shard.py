"""A matrix on several ranks multiplies as on one: the same bits, and no byte more than needed."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from thread_ranks import Alone, in_threads

from querist.cluster.partition import cut_share, partitioned, rank_bounds
from querist.cluster.space import ShardOperator, ShardSpace
from querist.operator.local import LocalSpace
from querist.operator.value import Operator


@pytest.fixture(scope="module")
def products(graph, rows_of):
    """`products(width, dtype)(group)`: M X by a rank, and what it sent. X depends on row numbers alone."""

    def work(width, dtype, group):
        shard = rows_of(graph, group).shard(group)
        M = ShardOperator.laplacian(shard, shard.degrees(), dtype=dtype)
        X = M.space.random(np.random.default_rng(5), width)
        given = X.copy()
        Y = M.combine(X, M.space.empty(width), scale=2.0, shift=-0.5)
        foreign = M.matmat(np.asfortranarray(given))
        squares = [(Y[rows].astype(np.float64) ** 2).sum(axis=0) for rows in shard.parts(100)]
        total = shard.total(squares, 100, np.zeros(width))
        return given, Y, foreign, M.sent, sum(rows.size for rows in shard.send), total

    return lambda width, dtype: partial(work, width, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_sums_have_the_bits_of_one_rank(graph, products, dtype):
    one = products(16, dtype)(Alone())
    M = Operator.laplacian(graph, normalised=True, dtype=dtype)
    expected = M.combine(one[0], np.empty_like(one[0]), scale=2.0, shift=-0.5)
    np.testing.assert_array_equal(one[1], expected)
    for size in (2, 3):
        several = in_threads(size, products(16, dtype))
        for k in (0, 1, 2):
            np.testing.assert_array_equal(np.concatenate([found[k] for found in several]), one[k])
        np.testing.assert_array_equal(several[0][2], M.matmat(one[0])[: len(several[0][2])])
        for found in several:
            np.testing.assert_array_equal(found[5], one[5])


def sums_of(space, X, Y):
    return {
        "gram": space.gram(X, Y),
        "dot": space.dot(X, Y),
        "dots": space.dots(X, Y),
        "own dots": space.dots(X, X),
        "residuals": space.residuals(Y, X, np.arange(6.0)),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_sum_of_a_block_is_over_all_ranks(graph, rows_of, dtype):
    def work(group):
        shard = rows_of(graph, group).shard(group)
        space = ShardSpace.of(shard, dtype)
        rng = np.random.default_rng(5)
        X, Y = space.random(rng, 6), space.given(space.in_double.random(rng, 6))
        unit = X.copy()
        unit /= np.sqrt(space.dots(unit, unit))
        return sums_of(space, X, Y), X, Y, unit

    alone = LocalSpace(graph.shape[0], np.dtype(dtype))
    one = work(Alone())
    expected = np.linalg.norm(one[1].astype(np.float64), axis=0)
    np.testing.assert_allclose(np.sqrt(one[0]["own dots"]), expected, rtol=1e-6)
    for size in (1, 2, 3):
        parts = in_threads(size, work)
        X, Y, unit = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        np.testing.assert_allclose(alone.dots(unit, unit), 1.0, rtol=1e-6)
        local = sums_of(alone, X, Y)
        for sums, *_ in parts:
            for name, found in sums.items():
                np.testing.assert_array_equal(found, one[0][name], err_msg=name)
                np.testing.assert_allclose(found, local[name], rtol=1e-4, atol=1e-4, err_msg=name)


def test_no_byte_is_sent_but_the_rows_that_are_needed(graph, products, rows_of):
    for found in in_threads(3, products(6, np.float32)):
        # Two products, of six columns each.
        assert found[3] == 2 * 4 * 6 * found[4]
    needed = 0
    bounds = rank_bounds(np.arange(0, 1501, 500), 3)
    for first, last in itertools.pairwise(bounds):
        columns = np.unique(graph[first:last].indices)
        needed += int(((columns < first) | (columns >= last)).sum())
    small = graph.shape[0] // 3

    def halo(group):
        return rows_of(graph, group, np.arange(0, 1501, small)).shard(group).halo.size

    assert sum(in_threads(3, halo)) == needed


def test_the_order_does_not_depend_on_the_ranks_and_keeps_neighbours_together(graph, rows_of):
    def work(group):
        rows, _ = partitioned(rows_of(graph, group).shard(group), rows_of(graph, group).names)
        return rows, cut_share(group, rows)

    one = work(Alone())[0]
    n = graph.shape[0]
    assert sorted(one.names) == list(range(n))
    # The same matrix, row by row and column by column.
    again = graph[one.names][:, one.names]
    again.sort_indices()
    np.testing.assert_array_equal(one.indptr, again.indptr)
    np.testing.assert_array_equal(one.columns, again.indices)
    for size in (2, 3):
        found = in_threads(size, work)
        for name in ("names", "columns", "weights"):
            together = np.concatenate([getattr(rows, name) for rows, _ in found])
            np.testing.assert_array_equal(together, getattr(one, name))
        np.testing.assert_array_equal(found[0][0].segments, one.segments)
        loads = np.array([rows.columns.size + rows.names.size for rows, _ in found])
        assert loads.max() < 1.1 * loads.mean()
        at_random = in_threads(size, lambda group: cut_share(group, rows_of(graph, group)))[0]
        # A fifth of the edges go anywhere.
        assert found[0][1] < 0.6 * at_random


def test_rows_can_be_dropped_on_the_way(graph, rows_of):
    two = sp.csr_array(sp.block_diag([graph, graph[:200][:, :200]]))
    mix = np.random.default_rng(0).permutation(two.shape[0])
    two = two[mix][:, mix]
    two.sort_indices()
    large = mix < graph.shape[0]

    def work(group):
        given = rows_of(two, group)
        rows, fresh = partitioned(given.shard(group), given.names, large[given.names])
        return given.names, rows, fresh

    for names, rows, fresh in in_threads(2, work):
        np.testing.assert_array_equal(fresh >= 0, large[names])
        assert rows.bounds[-1] == graph.shape[0] and large[rows.names].all()
