"""The nodes most worth labelling next: few, far apart, each deciding much that is in doubt.

On graphs up to `SMALL` nodes the value is the default of `ask` (`querist.asking.strategies`): the squared
correlation of an answer with those at ambiguous nodes, times the ambiguity. Rows and posterior are those of
the quick model behind `ask` after the labels that are known, with ridge 1; the probabilities are those of the
labelling. After each pick the posterior has the answer in it, so the next one is elsewhere.

On larger graphs rows would take minutes, and walks stand in for them: `v = a * sum_t c^t (P')^t a`, a the
ambiguities and P the random walk. A node is worth much where it is ambiguous and where walks from ambiguous
nodes come by. Neighbours of a node that was picked are passed over.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from querist.embedding import Embedding
from querist.labelling.heads import unit_rows
from querist.labelling.rows import CHOOSING_RANK, quick_rows
from querist.types import Bools, Codes, Floats, Sparse

SMALL = 20_000
DAMPING, STEPS = 0.85, 15
ROUNDING = 1e-12
TIE = 1e-9
"""Values whose relative difference is smaller are equal; the lower row is asked. Twins in a graph have equal
values but for rounding, which must not choose."""


def worth_labelling(labelling: Any, count: int = 10) -> Codes:
    """Rows of up to `count` unlabelled nodes, the most valuable first."""
    a = ambiguity(labelling.probabilities) if len(labelling.classes) > 1 else np.ones(labelling.graph.n_nodes)
    free = ~labelling.is_labelled
    if labelling.graph.n_nodes <= SMALL:
        return _by_rows(labelling, a, free, count)
    return by_walks(labelling.graph.adjacency, a, free, count)


def _by_rows(labelling: Any, a: Floats, free: Bools, count: int) -> Codes:
    rows = unit_rows(centred_rows(quick_rows(labelling.graph, CHOOSING_RANK)).rows)
    known = rows[~free]
    P = np.asarray(np.linalg.inv(np.eye(rows.shape[1]) + known.T @ known), dtype=np.float64)
    free, picked = free.copy(), list[int]()
    for _ in range(count):
        r = quadratic_forms(rows, P)
        row = best(ambiguous_correlation(rows, P, r, a), free)
        if row is None:
            break
        picked.append(row)
        free[row] = False
        g = P @ rows[row]
        P = P - np.outer(g, g) / (1 + r[row])
    return np.array(picked, dtype=np.int64)


def by_walks(S: Sparse, a: Floats, free: Bools, count: int) -> Codes:
    """The walk rule.

    >>> from querist import as_graph
    >>> star = as_graph([("hub", leaf) for leaf in "abcd"])
    >>> [star.nodes[i] for i in by_walks(star.adjacency, np.ones(5), np.ones(5, dtype=bool), 1)]
    ['hub']
    """
    degrees = np.asarray(abs(S).sum(axis=1)).ravel()
    inverse = 1 / np.where(degrees > 0, degrees, 1.0)
    walk, total = a.copy(), a.copy()
    for _ in range(STEPS):
        walk = DAMPING * (abs(S) @ (inverse * walk))  # S is symmetric: P' = S D^-1
        total += walk
    values, free, picked = a * total, free.copy(), list[int]()
    for _ in range(count):
        row = best(values, free)
        if row is None:
            break
        picked.append(row)
        free[row] = False
        free[S.indices[S.indptr[row] : S.indptr[row + 1]]] = False
    return np.array(picked, dtype=np.int64)


# -- what an answer is worth; see querist.asking.strategies for the model -----------------------------


def ambiguity(probabilities: Floats) -> Floats:
    """(n,) `1 - (p_1 - p_2)`, the two largest of each row of (n, K): 1 where two classes are level.

    >>> ambiguity(np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])).round(3).tolist()
    [1.0, 0.2]
    """
    return 1.0 - margins(probabilities)


def margins(scores: Floats) -> Floats:
    """(n,) the largest score of each row less the second largest."""
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def ambiguous_correlation(rows: Floats, P: Floats, r: Floats, a: Floats) -> Floats:
    """`a_i sum_u a_u c_ui^2 / ((1 + r_i) (1 + r_u))` over all nodes u."""
    weight = a / (1 + r)
    gram = rows.T @ (rows * weight[:, None])
    return weight * quadratic_forms(rows, P @ gram @ P)


def centred_rows(embedding: Embedding) -> Embedding:
    """Rows less the mean of those that are not zero: without what all nodes have in common.

    As they are where columns are constant (those of the Laplacian embedding are at right angles to all others
    already), and where nothing but rounding would be left. Rows of zeros, of nodes of which nothing is known,
    stay so.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> centred_rows(Embedding(rows, np.zeros(3, dtype=np.int64))).rows.tolist()
    [[0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]]
    """
    rows = embedding.rows
    some = np.asarray(rows.any(axis=1))
    if (embedding.layout or (0, 0, 0))[1] or not some.any():
        return embedding
    found = np.where(some[:, None], rows - rows[some].mean(axis=0), 0.0)
    found[np.linalg.norm(found, axis=1) <= ROUNDING * np.linalg.norm(rows, axis=1)] = 0.0
    return replace(embedding, rows=found) if found.any() else embedding


def quadratic_forms(rows: Floats, Q: Floats) -> Floats:
    """(n,) `m_i' Q m_i`."""
    return np.asarray(np.einsum("ij,ij->i", rows @ Q, rows))


def best(values: Floats, free: Bools) -> int | None:
    """The row of the largest value among the free nodes; of equals the lowest. None when none is free.

    >>> best(np.array([1.0, 3.0, 3.0 + 1e-12, 5.0]), np.array([True, True, True, False]))
    1
    """
    if not free.any():
        return None
    among = np.where(free, values, -np.inf)
    top = among.max()
    return int(np.argmax(among >= top - TIE * abs(top)))
