"""A column of `(I - p S)^-1` by local pushes, compiled: only nodes near the source are touched.

The column x solves `x = e_i + p S x`. Kept is a guess x and what it still lacks, `r = e_i - (I - p S) x`, so
that the column is `x + (I - p S)^-1 r`. A push at u takes `r_u` into `x_u` and hands `p S_uv r_u` on to the
neighbours; it is worth it while `|r_u| > eps sqrt(d_u)`, d the degree. With `S = D^-1/2 A D^-1/2` this is the
push of Andersen, Chung and Lang (2006), symmetrised.

>>> room = push_room(3)
>>> room.x.tolist()
[0.0, 0.0, 0.0]
"""

from typing import NamedTuple

import numpy as np

from querist.compiled import compiled
from querist.operator.value import Compressed, Operator, degrees_of
from querist.types import Bools, Codes, Floats

FLAT = 0.1
"""The least root: where weights differ by many orders of magnitude, no smaller push is worth it."""


BEYOND = 1e300
"""What a push of an S that is no normalised adjacency may grow to: there it ends."""


class Walkable(NamedTuple):
    """S as CSR arrays, and the square roots of the degrees in units of their median: the unit of the weights
    changes nothing."""

    indptr: Codes
    indices: Codes
    values: Floats
    roots: Floats


class PushRoom(NamedTuple):
    """Working room for n nodes; all zero between two calls."""

    x: Floats
    r: Floats
    waiting: Bools
    queue: Codes
    """(n,) nodes to push, as a ring."""
    met: Codes
    """(n,) nodes where x or r may not be zero, the source first."""
    known: Bools
    """(n,) whether a node is in `met`."""


def walkable(adjacency: Compressed) -> Walkable:
    """S of a symmetric CSR adjacency without self-loops; signed when weights are."""
    L = Operator.laplacian(adjacency, normalised=True)
    degrees = degrees_of(adjacency, L.indptr)
    middle = np.median(degrees[degrees > 0]) if degrees.any() else 1.0
    return Walkable(
        L.indptr, L.indices.astype(np.int64), L.values, np.maximum(np.sqrt(degrees / middle), FLAT)
    )


def push_room(n: int) -> PushRoom:
    """Room for n nodes."""
    return PushRoom(
        x=np.zeros(n),
        r=np.zeros(n),
        waiting=np.zeros(n, dtype=np.bool_),
        queue=np.zeros(n, dtype=np.int64),
        met=np.zeros(n, dtype=np.int64),
        known=np.zeros(n, dtype=np.bool_),
    )


@compiled
def push(S: Walkable, p: float, eps: float, source: int, room: PushRoom) -> int:
    """Fill `room.x` and `room.r` for a source; returns how many nodes `room.met` lists."""
    x, r, n = room.x, room.r, room.x.size
    room.queue[0], room.met[0] = source, source
    room.known[source], room.waiting[source] = True, True
    r[source] = 1.0
    first, size, met = 0, 1, 1
    while size > 0:
        u = room.queue[first]
        first = (first + 1) % n
        size -= 1
        room.waiting[u] = False
        amount = r[u]
        x[u] += amount
        r[u] = 0.0
        for e in range(S.indptr[u], S.indptr[u + 1]):
            v = S.indices[e]
            r[v] += p * S.values[e] * amount
            if not room.known[v]:
                room.known[v] = True
                room.met[met] = v
                met += 1
            if not room.waiting[v] and eps * S.roots[v] < abs(r[v]) < BEYOND:
                room.waiting[v] = True
                room.queue[(first + size) % n] = v
                size += 1
    return met


@compiled
def clear(room: PushRoom, met: int) -> None:
    """Make the room zero again."""
    for a in range(met):
        u = room.met[a]
        room.x[u] = 0.0
        room.r[u] = 0.0
        room.known[u] = False
