"""How much memory an embedding will need, said before it starts.

The estimates count the large arrays that live at the same time: blocks of n rows, sparse matrices, dense
matrices of small components. Better a refusal that names a rank that fits than a machine that swaps.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from querist.embedding.diffusion import OVERSAMPLING
from querist.errors import InputError
from querist.graph.graph import Graph
from querist.operator import memory
from querist.operator.eigen import krylov, solve
from querist.operator.eigen.chebyshev import precision, width_of

FACTOR_BYTES = 32
"""An entry of a sparse factor: value and index, in both halves, with room to grow."""


def spectral_bytes(graph: Graph, rank: int, *, normalised: bool, tol: float) -> float:
    """The most that the spectral part holds beyond the graph."""
    sizes = np.bincount(graph.components)
    largest, nnz = int(sizes[0]), graph.adjacency.nnz
    count = min(rank, largest)
    rows = 8.0 * graph.n_nodes * (rank + min(sizes.size, rank))
    if largest <= solve.DENSE or count > largest // 3:
        return rows + 8.0 * (2.5 * largest**2 + 3 * largest * count)
    item = np.dtype(precision(tol, 2.0 if normalised else np.inf)).itemsize
    block = item * largest * width_of(count, largest)
    # The space of krylov.py is at most a quarter of the graph; the estimate must grow with the rank.
    lanczos = item * largest * min(krylov.room_of(count), largest / 4) if count >= krylov.LEAST else 0.0
    space = max(block, lanczos)
    sweeping, finishing = max(3 * block, space), space + 3 * 8.0 * largest * count
    factor = 0.0 if normalised else FACTOR_BYTES * min(solve.FACTOR_ENTRIES, 150.0 * largest)
    copies = 0.0 if sizes.size == 1 else 24.0 * nnz
    if normalised:  # the graph of compact.py, and vectors that are lifted from it
        copies += 12.0 * nnz + 8.0 * largest * count
    return rows + (item + 8.0) * nnz + copies + max(sweeping, finishing, factor) + 8.0 * largest * count


def diffusion_bytes(graph: Graph, rank: int) -> float:
    """The most that the attribute part holds beyond the graph."""
    assert graph.attributes is not None
    n, m = graph.attributes.shape
    width = min(rank + OVERSAMPLING, n, m)
    sparse = 12.0 * (3 * graph.attributes.nnz + 2 * graph.adjacency.nnz)
    return sparse + 8.0 * width * (4.0 * n + 3.0 * m)


def check_room(graph: Graph, ranks: dict[str, int], parts: dict[str, dict[str, Any]]) -> float:
    """Bytes needed, or an error that names what would fit."""
    rank = sum(ranks.values())

    def needed(share: float, loose: bool = False) -> float:
        total = 0.0
        for part, columns in ranks.items():
            least = max(1, ceil(columns * share))  # as `_ranks` of make.py would round at most
            if part == "diffusion":
                total += diffusion_bytes(graph, least) if graph.attributes is not None else 0.0
            else:
                tol = max(parts[part]["tol"], 2e-3) if loose else parts[part]["tol"]
                total += spectral_bytes(graph, least, normalised=parts[part]["normalised"], tol=tol)
        return total

    room, need = memory.free(), needed(1.0)
    if need <= room:
        return need
    advice = []
    if needed(1.0, loose=True) <= room:
        advice.append("tol=2e-3 (a float32 filter) fits")
    smaller = _largest(lambda r: needed(r / rank) <= room, rank)
    if smaller:
        advice.append(f"rank={smaller} fits")
    ways = " or ".join(advice) or "no rank fits: embed a part of the graph, or use a larger machine"
    raise InputError(
        f"rank {rank} for {graph.n_nodes:,} nodes and {graph.n_edges:,} edges needs about "
        f"{need / 1e9:.1f} GB and {room / 1e9:.1f} GB are free; {ways}"
    )


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number from 1 to most - 1 that fits, or 0."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
