"""Which labelled nodes weighed most in a node's label: the three largest entries of its smoothing row.

A linear method predicts node i from `sum_s w_is y_s` over the labelled nodes s; `w_i` is its smoothing row,
which the fitted method gives (`model.weights(nodes)`). A method without one gets the row of a personalised
PageRank: the share of its visits that a random walk from i, which starts again with probability `1 - damping`
at every step, spends at s,

    W = (1 - damping) E + damping D^-1 S W,    E_is = 1 where i is s.

For a million nodes and ten thousand labels W has ten billion entries, of which three a row are wanted. So
only the `kept` largest of a row are passed on: **top-k propagation**, W_t+1 from the truncated W_t, in
time `edges x kept` a step. It is exact where `kept` covers all labelled nodes (Jacobi's iteration for W),
and stops when hardly any node's three change any more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.compiled import compiled
from querist.operator.local import empty_block
from querist.operator.threads import available, cuts, each
from querist.progress import Progress, silent
from querist.types import Codes, Floats, Sparse

SHOWN = 3
DAMPING = 0.85
STEPS = (8, 40)
"""Steps at most, in a large graph and in a small one: what a walk does after 40 weighs `0.85^40`, 0.15 %."""
SETTLED = 1e-3
"""The share of nodes whose three may still change when the propagation stops."""
WORK = 3e7
"""Products in a step that are worth their time: as many entries of a row are kept, 8 at least, 32 at most."""
ALL_WORK = 1e9
"""Products in all steps that are worth their time."""
AFFORDABLE = 4e9
"""Nodes times labelled nodes up to which every smoothing row is looked at in full."""
BLOCK = 2e7
"""Entries of smoothing rows that are held at a time."""


@dataclass(frozen=True)
class Influences:
    """`rows` (n, 3) labelled nodes, the heaviest first, -1 where there are fewer; `weights` (n, 3).

    `how` says whose weights they are.
    """

    rows: Codes
    weights: Floats
    how: str


def influences(labelling: Any, progress: Progress = silent) -> Influences:
    """The three labelled nodes that weighed most, for every node of a `Labelling`.

    >>> import querist
    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> found = influences(querist.label(path, {"a": "cat", "d": "dog"}, method="harmonic"))
    >>> type(found).__name__
    'Influences'
    """
    graph, labelled = labelling.graph, np.flatnonzero(labelling.is_labelled)
    weights_of = getattr(labelling.model, "weights", None)
    first = None if weights_of is None else weights_of(np.zeros(1, dtype=np.int64))
    name = labelling.choice.method
    if weights_of is not None and first is not None and graph.n_nodes * labelled.size <= AFFORDABLE:
        rows, weights = of_rows(weights_of, graph.n_nodes, progress)
        part = "the heaviest part that has smoothing rows" if len(labelling.choice.scores) > 1 else name
        how = f"the largest entries of the smoothing rows of {part}"
    else:
        why = "has no smoothing rows" if first is None else "has too many smoothing rows to look at"
        rows, weights = by_pagerank(graph.adjacency, labelled, progress=progress)
        how = f"personalised PageRank (damping {DAMPING}), since {name} {why}"
    reached = labelling.reached[:, None]
    return Influences(np.where(reached, rows, -1), np.where(reached, weights, 0.0), how)


def of_rows(weights_of: Callable[[Codes], Any], n: int, progress: Progress) -> tuple[Codes, Floats]:
    """The largest entries of smoothing rows, which are computed a block of nodes at a time."""
    rows, weights = np.full((n, SHOWN), -1, dtype=np.int64), np.zeros((n, SHOWN))
    first, block = 0, 1
    while first < n:
        nodes = np.arange(first, min(n, first + block))
        labelled, W = weights_of(nodes)
        W = np.array(W, dtype=np.float64).reshape(nodes.size, -1)
        every = np.arange(nodes.size)
        for k in range(SHOWN):  # of equal ones the first comes first
            place = W.argmax(axis=1)
            value = np.maximum(W[every, place], 0.0)
            rows[nodes, k] = np.where(value > 0, np.asarray(labelled)[place], -1)
            weights[nodes, k] = value
            W[every, place] = 0.0
        first += block
        block = max(1, int(BLOCK / max(1, W.shape[1])))
        progress(first / n, "finding who weighed most")
    return rows, weights


def by_pagerank(
    S: Sparse,
    labelled: Codes,
    *,
    damping: float = DAMPING,
    kept: int | None = None,
    steps: int | None = None,
    settled: float = SETTLED,
    progress: Progress = silent,
) -> tuple[Codes, Floats]:
    """(n, 3) the labelled nodes at which random walks from each node spend most time, and the shares.

    Weights count by their size, signed or not. `kept` entries of a row are passed on.

    >>> from querist import as_graph
    >>> path = as_graph([(0, 1), (1, 2), (2, 3)])
    >>> rows, weights = by_pagerank(path.adjacency, np.array([0, 3]))
    >>> rows.tolist()
    [[0, 3, -1], [0, 3, -1], [3, 0, -1], [3, 0, -1]]
    """
    n, m = S.shape[0], labelled.size
    width = int(np.clip(WORK / max(1, S.nnz), 8, 32)) if kept is None else kept
    width = max(SHOWN, min(width, m))
    most = int(np.clip(ALL_WORK / max(1, S.nnz * width), *STEPS)) if steps is None else steps
    sizes = abs(S.data)
    degrees = np.bincount(np.repeat(np.arange(n), np.diff(S.indptr)), weights=sizes, minlength=n)
    scale = damping / np.where(degrees > 0, degrees, 1.0)
    code = np.full(n, -1, dtype=np.int64)
    code[labelled] = np.arange(m)
    (lists, shares) = map(list, zip(*(_table(n, width) for _ in range(2)), strict=True))
    lists[0][labelled, 0], shares[0][labelled, 0] = np.arange(m), 1 - damping
    indptr = np.ascontiguousarray(S.indptr, dtype=np.int64)
    bounds = cuts(indptr, max(1, min(available(), n)))
    rooms = [(np.zeros(m), np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.int64)) for _ in bounds[1:]]

    def part(k: int) -> int:
        entries = indptr, S.indices, sizes, scale
        state = lists[0], shares[0], lists[1], shares[1]
        return int(
            spread_rows(*entries, *state, code, 1 - damping, *rooms[k], SHOWN, bounds[k], bounds[k + 1])
        )

    for step in range(most):
        changed = sum(each(part, range(len(bounds) - 1)))
        lists.reverse()
        shares.reverse()
        progress((step + 1) / most, "finding who weighed most")
        if changed <= settled * n:
            break
    found = lists[0][:, :SHOWN]
    return np.where(found >= 0, labelled[found], -1), shares[0][:, :SHOWN].astype(np.float64)


def _table(n: int, width: int) -> tuple[Any, Any]:
    """(n, width) numbers and (n, width) shares that lie beside each other, so that a row is one visit."""
    both = empty_block((n, 2 * width), np.int32)
    both[:, :width], both[:, width:] = -1, 0
    return both[:, :width], both.view(np.float32)[:, width:]


# -- the inner loop, compiled: one step of top-k propagation ------------------------------------------------


@compiled
def insert(places: Any, values: Any, place: int, value: float) -> None:
    """Put a value into a falling list, if it belongs there; of equal ones the lower place comes first."""
    last = values.size - 1
    if places[last] >= 0 and (value < values[last] or (value == values[last] and place > places[last])):
        return
    k = last
    while k > 0 and (
        places[k - 1] < 0 or value > values[k - 1] or (value == values[k - 1] and place < places[k - 1])
    ):
        places[k], values[k] = places[k - 1], values[k - 1]
        k -= 1
    places[k], values[k] = place, value


@compiled
def spread_rows(
    indptr: Any,
    indices: Any,
    sizes: Any,
    scale: Any,
    lists: Any,
    shares: Any,
    new_lists: Any,
    new_shares: Any,
    code: Any,
    start: float,
    sums: Any,
    seen: Any,
    touched: Any,
    watched: int,
    first: int,
    last: int,
) -> int:
    """A step of `W = start E + diag(scale) S W` in rows first to last - 1, each cut to its largest entries.

    Row i of W is `shares[i]` at the labelled nodes `lists[i]`, -1 at the end; `code[i]` is the number of i
    among them, or -1. `sums` is all zero and `seen` all false before and after; `touched` is room: one entry
    of each a labelled node. Returns in how many rows the first `watched` entries of the list changed.
    """
    width, changed = lists.shape[1], 0
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            w = scale[i] * sizes[p]
            for k in range(width):
                s = lists[j, k]
                if s < 0:
                    break
                # Not by the sum: tiny products come to 0.
                if not seen[s]:
                    seen[s] = True
                    touched[count] = s
                    count += 1
                sums[s] += w * shares[j, k]
        own = code[i]
        if own >= 0:
            if not seen[own]:
                seen[own] = True
                touched[count] = own
                count += 1
            sums[own] += start
        new_lists[i, :] = -1
        new_shares[i, :] = 0.0
        for t in range(count):
            s = touched[t]
            if sums[s] > 0:
                insert(new_lists[i], new_shares[i], s, sums[s])
            sums[s] = 0
            seen[s] = False
        for k in range(watched):
            if new_lists[i, k] != lists[i, k]:
                changed += 1
                break
    return changed
