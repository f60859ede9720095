"""Which rows of all ranks are joined by entries."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.cluster.shard import Shard
from querist.types import Codes


def components(shard: Shard) -> Codes:
    """(own,) the smallest number of a row that each own row is joined to."""
    return joined(shard, shard.first + np.arange(shard.own))


def spread(shard: Shard, marks: Any) -> Any:
    """(own,) whether a row is joined to one that has a mark, or has one."""
    return joined(shard, np.where(marks, 0, 1)) == 0


def joined(shard: Shard, values: Codes) -> Codes:
    """(own,) the smallest value of a row that each own row is joined to.

    Within a shard by SciPy's components; between shards the smallest known value goes over until nobody
    learns of a smaller one.
    """
    size = shard.own + shard.halo.size
    indptr = np.r_[shard.indptr, np.full(shard.halo.size, shard.nnz)]
    local = sp.csr_array((np.ones(shard.nnz, dtype=np.int8), shard.indices, indptr), shape=(size, size))
    count, piece = csgraph.connected_components(local, directed=True, connection="weak")
    label = shard.with_halo(values.astype(np.int64))
    while True:
        least = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(least, piece, label)
        fresh = least[piece]
        shard.fill(fresh)  # what others have found of our halo, and we of theirs
        np.minimum(fresh, label, out=fresh)
        moved = int((fresh != label).any())
        label = fresh
        if not any(int(each) for each in shard.group.everyone(np.array(moved))):
            return label[: shard.own]


def largest(shard: Shard, component: Codes) -> tuple[Any, int]:
    """(own,) whether a row is in the largest component, and how many components there are, not counting rows
    without entries."""
    linked = np.diff(shard.indptr) > 0
    names, sizes = np.unique(component[linked], return_counts=True)
    found = shard.group.everyone(np.stack([names, sizes]))
    every = np.concatenate(found, axis=1)
    names, place = np.unique(every[0], return_inverse=True)
    sizes = np.bincount(place, every[1])
    # The lowest number among equally large ones.
    best = names[int(sizes.argmax())] if names.size else -1
    return linked & (component == best), int(names.size)
