"""What a sparse factor would cost, before paying for it.

Symbolic Cholesky: row i of the factor has an entry in column k exactly when k lies on a path from a
neighbour of i up the elimination tree (Liu 1990). Counting those paths takes as many steps as the factor
has entries, so counting stops as soon as a limit is passed. The ordering here is a cheap one (rising
degree, or Cuthill-McKee, whichever is better); SuperLU's minimum degree does about as well or better.
"""

from typing import Any, NamedTuple

import numpy as np

from querist.compiled import compiled


class Fill(NamedTuple):
    """Entries below the diagonal of the factor, and its multiplications; `known` False beyond the limit."""

    entries: int
    work: float
    known: bool


@compiled
def count_fill(
    indptr: Any, indices: Any, order: Any, place: Any, parent: Any, mark: Any, counts: Any, limit: int
) -> int:
    """Entries of the factor in this order, stopping beyond `limit`; `counts` gets those of every column."""
    total = 0
    for i in range(order.size):
        parent[i] = -1
        mark[i] = i
        counts[i] = 0
        node = order[i]
        for p in range(indptr[node], indptr[node + 1]):
            k = place[indices[p]]
            if k >= i:
                continue
            while mark[k] != i:
                if parent[k] < 0:
                    parent[k] = i
                counts[k] += 1
                total += 1
                mark[k] = i
                k = parent[k]
        if total > limit:
            return total
    return total


def fill(matrix: Any, limit: int) -> Fill:
    """The cost of factorising a symmetric CSR pattern: the better of two orderings.

    >>> import scipy.sparse as sp
    >>> fill(sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), 100)  # a path: no fill
    Fill(entries=2, work=2.0, known=True)
    """
    import scipy.sparse as sp
    from scipy.sparse import csgraph

    indptr, n = np.asarray(matrix.indptr, dtype=np.int64), matrix.indptr.size - 1
    pattern: Any = sp.csr_array(
        (np.broadcast_to(np.int8(1), matrix.indices.shape), matrix.indices, matrix.indptr), (n, n)
    )
    orders = [
        np.argsort(np.diff(indptr), kind="stable"),
        csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64),
    ]
    best = Fill(limit + 1, np.inf, False)
    place, parent, mark, counts = (np.empty(n, dtype=np.int64) for _ in range(4))
    for order in orders:
        place[order] = np.arange(n)
        mark[:] = -1
        total = count_fill(indptr, np.asarray(matrix.indices), order, place, parent, mark, counts, limit)
        if total <= min(limit, best.entries):
            best = Fill(int(total), float((counts.astype(np.float64) ** 2).sum()), True)
    return best
