"""Who weighed most, against dense algebra: every smoothing row in full, sorted by hand."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from querist.labelling import influence
from querist.labelling.influence import by_pagerank, influences, insert, of_rows, spread_rows
from querist.progress import silent
from querist.types import Codes, Floats, Sparse


def dense_pagerank(S: Sparse, labelled: Codes, damping: float = 0.85) -> Floats:
    """(n, m) `W = (1 - damping) (I - damping D^-1 S)^-1 E`."""
    A = abs(S.toarray())
    degrees = A.sum(axis=1)
    walk = A / np.where(degrees > 0, degrees, 1.0)[:, None]
    n = A.shape[0]
    return np.linalg.solve(np.eye(n) - damping * walk, (1 - damping) * np.eye(n)[:, labelled])


def three(W: Floats, labelled: Codes) -> list[list[int]]:
    """The three largest, of equals the first; fewer where weights are 0."""
    order = np.argsort(-W, axis=1, kind="stable")[:, :3]
    return [[int(labelled[s]) if W[i, s] > 1e-12 else -1 for s in row] for i, row in enumerate(order)]


def graph(n: int, p: float, seed: int) -> Sparse:
    S = sp.csr_array(nx.to_scipy_sparse_array(nx.gnp_random_graph(n, p, seed=seed), dtype=float))
    rng = np.random.default_rng(seed)
    upper = sp.triu(S, format="csr")
    upper.data = rng.uniform(0.2, 3.0, upper.nnz) * rng.choice([1, 1, 1, -1], upper.nnz)
    return sp.csr_array(upper + upper.T)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "p", "m"), [(40, 0.12, 12), (150, 0.03, 30), (60, 0.02, 2), (30, 0.3, 30)])
def test_pagerank_is_exact_where_every_entry_is_kept(n: int, p: float, m: int, seed: int) -> None:
    S = graph(n, p, seed)
    labelled = np.sort(np.random.default_rng(seed).choice(n, m, replace=False))
    W = dense_pagerank(S, labelled)
    rows, weights = by_pagerank(S, labelled, kept=m, steps=200, settled=-1)
    ours = np.where(rows >= 0, np.take_along_axis(W, np.searchsorted(labelled, np.maximum(rows, 0)), 1), 0.0)
    best = -np.sort(-W, axis=1)[:, :3]
    best = np.pad(best, ((0, 0), (0, 3 - best.shape[1])))
    # By weight: two labelled nodes that are level to the last bits may come in either order.
    np.testing.assert_allclose(ours, best, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weights, best, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_cut_rows_find_nearly_all(data) -> None:  # type: ignore[no-untyped-def]
    cora = data("cora")
    labelled = np.sort(np.random.default_rng(0).choice(cora.n_nodes, 140, replace=False))
    expected = three(dense_pagerank(cora.adjacency, labelled), labelled)
    rows, _ = by_pagerank(cora.adjacency, labelled)
    same = [set(a) == set(b) for a, b in zip(rows.tolist(), expected, strict=True)]
    first = [a[0] == b[0] for a, b in zip(rows.tolist(), expected, strict=True)]
    assert np.mean(same) > 0.98
    assert np.mean(first) > 0.995


def test_nobody_weighs_where_no_label_comes() -> None:
    S = sp.csr_array(
        nx.to_scipy_sparse_array(nx.disjoint_union(nx.path_graph(4), nx.path_graph(3)), dtype=float)
    )
    rows, weights = by_pagerank(S, np.array([1, 2]))
    assert (rows[4:] == -1).all()
    assert (weights[4:] == 0).all()
    assert rows[0].tolist() == [1, 2, -1]


def test_the_result_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    S, labelled = graph(300, 0.02, 1), np.arange(0, 300, 7)
    found = []
    for threads in ("1", "5"):
        monkeypatch.setenv("QUERIST_THREADS", threads)
        found.append(by_pagerank(S, labelled))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


# -- shares too small for a number -------------------------------------------------------------------


def spokes(count: int) -> list[tuple[str, str, float]]:
    """h before `count` nodes that hardly see s: what each says of s comes to 0 in single precision."""
    return [
        ("h", "t", 1.0),
        *(edge for j in range(count) for edge in (("h", f"n{j}", 1.0), (f"n{j}", "s", 1e-50))),
    ]


def spoke_graph(count: int) -> tuple[Sparse, Codes]:
    """The same as a matrix, and where s and t are."""
    G = nx.Graph()
    G.add_weighted_edges_from(spokes(count))
    nodes = sorted(G)
    return sp.csr_array(nx.to_scipy_sparse_array(G, nodes)), np.array([nodes.index("s"), nodes.index("t")])


def faint_graph(seed: int) -> tuple[Sparse, Codes]:
    """A random graph, half of whose weights are tiny, and its labelled nodes."""
    S, rng = abs(graph(40, 0.2, seed)), np.random.default_rng(seed)
    upper = sp.triu(S, format="csr")
    upper.data *= rng.choice([1.0, 1e-50], upper.nnz)
    return sp.csr_array(upper + upper.T), np.sort(rng.choice(40, 6, replace=False))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [spread_rows, spread_rows.py_func], ids=["compiled", "python"])
@pytest.mark.parametrize(
    ("S", "labelled"), [spoke_graph(30), *(faint_graph(seed) for seed in range(4))], ids=["spokes", *"0123"]
)
def test_underflowing_shares_count_once(kernel: Any, S: Sparse, labelled: Codes) -> None:
    """Step by step against `W <- 0.15 E + 0.85 D^-1 S W`, dense, rounded to single precision."""
    n, m, guard = S.shape[0], labelled.size, 500
    A = S.toarray()
    walk, E = 0.85 * A / A.sum(axis=1, keepdims=True), np.eye(n)[:, labelled]
    scale, code = 0.85 / A.sum(axis=1), np.full(n, -1)
    code[labelled] = np.arange(m)
    lists, shares = np.full((n, m), -1, dtype=np.int32), np.zeros((n, m), dtype=np.float32)
    lists[labelled, 0], shares[labelled, 0] = np.arange(m), 0.15
    W = (0.15 * E).astype(np.float32)
    # Python refuses to write beyond a row of room; what compiled code writes there is seen.
    room = np.full(m + guard, -7)
    sums, seen, touched = np.zeros(m), np.zeros(m, dtype=bool), room[:m]
    faint = 0
    for _ in range(6):
        new_lists, new_shares = np.empty_like(lists), np.empty_like(shares)
        kernel(
            S.indptr, S.indices, S.data, scale, lists, shares, new_lists, new_shares, code, 0.15,
            sums, seen, touched, 2, 0, n,
        )  # fmt: skip
        lists, shares = new_lists, new_shares
        exact = 0.15 * E + walk @ W.astype(np.float64)
        with np.errstate(under="ignore"):
            W = exact.astype(np.float32)
        assert (room[m:] == -7).all()
        assert not sums.any()
        assert not seen.any()
        assert (np.diff(shares, axis=1) <= 0).all()
        for i in range(n):
            kept = lists[i][lists[i] >= 0]
            assert sorted(kept) == np.flatnonzero(exact[i] > 0).tolist()
            assert (lists[i, kept.size :] == -1).all()
            np.testing.assert_allclose(shares[i, : kept.size], W[i, kept], rtol=1e-6)
        faint += int(((exact > 0) & (W == 0)).sum())
    assert faint > 0, "no share was lost"


WRITTEN = """
import json
import sys
import querist

edges = [tuple(edge) for edge in json.load(sys.stdin)]
for method in ("label_propagation", "pagerank", "harmonic"):
    labelling = querist.label(edges, {"s": "a", "t": "b"}, method=method)
    labelling.write(f"{sys.argv[1]}/{method}.csv")
"""


@pytest.mark.slow
def test_a_graph_of_tiny_weights_is_labelled_and_written(tmp_path: Path) -> None:
    """In a process of its own: two thousand shares of 0 once wrote beyond an array."""
    done = subprocess.run(
        [sys.executable, "-c", WRITTEN, str(tmp_path)],
        input=json.dumps(spokes(2000)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for method in ("label_propagation", "pagerank", "harmonic"):
        lines = (tmp_path / f"{method}.csv").read_text().splitlines()
        found = {line.split(",")[0]: line.split(",")[-1] for line in lines}
        assert found["h"] == "t"
        assert found["n0"] == found["n1999"] == "t;s"


@pytest.mark.parametrize("seed", range(5))
def test_largest_against_a_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, rng.random()], (50, 9))
    places, values = of_rows(lambda nodes: (np.arange(9), W[nodes]), 50, silent)
    for row, where, what in zip(W, places, values, strict=True):
        order = [k for k in np.argsort(-row, kind="stable") if row[k] > 0][:3]
        assert where.tolist() == order + [-1] * (3 - len(order))
        assert what.tolist() == row[order].tolist() + [0.0] * (3 - len(order))


def test_insert_keeps_order_whatever_comes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        given = list(enumerate(rng.choice([0.1, 0.2, 0.3, 0.4], 8)))
        places, values = np.full(4, -1), np.zeros(4)
        for k in rng.permutation(8):
            insert(places, values, given[k][0], given[k][1])
        expected = sorted(given, key=lambda item: (-item[1], item[0]))[:4]
        assert list(zip(places.tolist(), values.tolist(), strict=True)) == expected


def labelling(W: Floats | None, labelled: Codes, S: Sparse) -> SimpleNamespace:
    n = S.shape[0]
    given = np.zeros(n, dtype=bool)
    given[labelled] = True

    def weights(nodes: Codes) -> tuple[Codes, Floats] | None:
        return None if W is None else (labelled, W[nodes])

    reached = np.ones(n, dtype=bool)
    reached[3] = False
    return SimpleNamespace(
        graph=SimpleNamespace(adjacency=S, n_nodes=n),
        is_labelled=given,
        reached=reached,
        model=SimpleNamespace(weights=weights),
        choice=SimpleNamespace(method="ridge", scores=["ridge"]),
    )


def test_the_rows_of_the_method_come_first_and_it_is_said_whose_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    S, labelled = graph(60, 0.1, 2), np.arange(0, 60, 4)
    W = np.random.default_rng(1).normal(size=(60, labelled.size))
    expected = three(W, labelled)
    expected[3] = [-1, -1, -1]
    found = influences(labelling(W, labelled, S))
    assert found.rows.tolist() == expected
    assert found.how == "the largest entries of the smoothing rows of ridge"
    monkeypatch.setattr(influence, "BLOCK", 40)
    assert influences(labelling(W, labelled, S)).rows.tolist() == expected

    other = influences(labelling(None, labelled, S))
    assert "personalised PageRank (damping 0.85), since ridge has no smoothing rows" in other.how
    assert other.rows[3].tolist() == [-1, -1, -1]
    monkeypatch.setattr(influence, "AFFORDABLE", 10)
    assert "too many smoothing rows" in influences(labelling(W, labelled, S)).how


def test_blocks_are_asked_for_once_each() -> None:
    asked = list[int]()

    def tell(nodes: Codes) -> tuple[Codes, Floats]:
        asked.extend(nodes.tolist())
        return np.array([5, 8]), np.ones((nodes.size, 2))

    rows, _ = of_rows(tell, 10, lambda fraction, text: None)
    assert asked == list(range(10))
    assert rows.tolist() == [[5, 8, -1]] * 10
