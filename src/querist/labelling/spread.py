"""The inner loops of influence.py, compiled: one step of top-k propagation, and the largest of many."""

from typing import Any

from querist.compiled import compiled


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
def largest(W: Any, places: Any, values: Any) -> None:
    """The largest positive entries of every row of W, falling; -1 and 0 where there are fewer."""
    for i in range(W.shape[0]):
        places[i, :] = -1
        values[i, :] = 0.0
        for s in range(W.shape[1]):
            if W[i, s] > 0:
                insert(places[i], values[i], s, W[i, s])


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
