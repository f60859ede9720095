"""The nodes most worth labelling next: few, far apart, each deciding much that is in doubt.

On graphs up to `SMALL` nodes the value is that of `ask` (pool.py): ambiguity times the variance that an
answer takes off ambiguous nodes. Rows and posterior are those of the quick model behind `ask` after the
labels that are known, with ridge 1; the probabilities are those of the labelling. After each pick the
posterior has the answer in it, so the next one is elsewhere.

On larger graphs rows would take minutes, and walks stand in for them: `v = a * sum_t c^t (P')^t a`, a the
ambiguities and P the random walk. A node is worth much where it is ambiguous and where walks from ambiguous
nodes come by. Neighbours of a node that was picked are passed over.
"""

from typing import Any

import numpy as np

from querist.labelling.worth import ambiguity, ambiguous_correlation, best
from querist.types import Bools, Codes, Floats, Sparse

SMALL = 20_000
DAMPING, STEPS = 0.85, 15


def worth_labelling(labelling: Any, count: int = 10) -> Codes:
    """Rows of up to `count` unlabelled nodes, the most valuable first."""
    a = ambiguity(labelling.probabilities) if len(labelling.classes) > 1 else np.ones(labelling.graph.n_nodes)
    free = ~labelling.labelled
    if labelling.graph.n_nodes <= SMALL:
        return _by_rows(labelling, a, free, count)
    return by_walks(labelling.graph.adjacency, a, free, count)


def _by_rows(labelling: Any, a: Floats, free: Bools, count: int) -> Codes:
    from querist.labelling.heads import unit_rows
    from querist.labelling.rows import CHOOSING_RANK, quick_rows

    rows = unit_rows(quick_rows(labelling.graph, CHOOSING_RANK).rows)
    known = rows[~free]
    P = np.asarray(np.linalg.inv(np.eye(rows.shape[1]) + known.T @ known), dtype=np.float64)
    free, picked = free.copy(), list[int]()
    for _ in range(count):
        r = np.einsum("ij,ij->i", rows @ P, rows)
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
