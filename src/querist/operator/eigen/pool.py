"""The smallest eigenpairs of a disconnected graph: those of its components, pooled.

A Laplacian is block diagonal over components, so its eigenvectors can be chosen with one component each.
Solving every component on its own makes them exactly zero elsewhere, which a solver that sees the whole
matrix does not (it returns any rotation of equal eigenvalues), and leaves no null vector to chance.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from querist.operator.eigen.solve import smallest_pairs
from querist.progress import Progress, part
from querist.types import Codes, Floats, Sparse

TINY = 32
"""Components up to this size are solved in batches of equal size."""

BATCH = 1 << 22
"""Entries of a batch of dense blocks."""

Entry = tuple[float, int, Floats]


class Pool(NamedTuple):
    """`values` (k,) growing, `vectors` (n, k), the component of each pair, solver names, pairs missing, and
    whether all come from products in float32."""

    values: Floats
    vectors: Floats
    owner: Codes
    solver: str
    missing: int
    single: bool = False


def _merged(best: list[Entry], count: int, values: Floats, component: Codes, vectors: Floats) -> list[Entry]:
    """The `count` smallest of those so far and of candidates, a vector a row; those that stay are copied."""
    order = np.lexsort((component, values))[:count]
    fresh = [(float(values[i]), int(component[i]), vectors[i].copy()) for i in order]
    return sorted([*best, *fresh], key=lambda entry: entry[:2])[:count]


def pooled_pairs(
    S: Sparse,
    components: Codes,
    null: Floats,
    count: int,
    *,
    normalised: bool,
    progress: Progress,
    **how: Any,
) -> Pool:
    """The `count` smallest non-null pairs over all components; ties go to the lower component number.

    `null` (n,) holds the null vectors of all components in one, zero on a component that has none; `how` are
    tol, seed, spare and device of `smallest_pairs`.
    """
    order = np.argsort(components, kind="stable")
    sizes = np.bincount(components)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    # A connected graph is not copied: it may be most of the memory.
    blocks = S
    if sizes.size > 1:
        blocks = S[order][:, order]
        blocks.sort_indices()
    sorted_null = null[order]
    best, solvers, missing, done = list[Entry](), dict[str, None](), 0, 0
    for component in np.flatnonzero(sizes > TINY):
        rows = slice(int(starts[component]), int(starts[component + 1]))
        u = sorted_null[rows] if sorted_null[rows].any() else None
        size, before = int(sizes[component]), done / order.size
        own = part(progress, before, size / order.size, f"solving a component of {size:,} nodes")
        own(0.0, "")
        pairs = smallest_pairs(
            blocks if sizes.size == 1 else blocks[rows, rows],
            u,
            count,
            normalised=normalised,
            progress=own,
            **how,
        )
        missing += min(count, size - (u is not None)) - pairs.values.size
        if sizes.size == 1:  # nothing to be merged with
            owner = np.zeros(pairs.values.size, dtype=int)
            return Pool(pairs.values, pairs.vectors, owner, pairs.solver, missing, pairs.single)
        solvers[pairs.solver] = None
        owner = np.full(pairs.values.size, component)
        best = _merged(best, count, pairs.values, owner, pairs.vectors.T)
        done += size
    for numbers in _batches(sizes):
        values, vectors = _batch_pairs(blocks, starts, numbers, sorted_null, normalised)
        size = int(sizes[numbers[0]])
        vectors = np.swapaxes(vectors, 1, 2).reshape(-1, size)
        best = _merged(best, count, values.ravel(), np.repeat(numbers, size), vectors)
        solvers["dense"] = None
        done += numbers.size * size
        progress(done / order.size, "solving small components")
    return _assembled(best, order, starts, " + ".join(solvers) or "none needed", missing)


def _batches(sizes: Codes) -> Iterator[Codes]:
    """Component numbers in batches of equal size, 2 to `TINY`; a single node has no pair to offer."""
    for size in range(2, TINY + 1):
        numbers = np.flatnonzero(sizes == size)
        step = max(1, BATCH // size**2)
        for first in range(0, numbers.size, step):
            yield numbers[first : first + step]


def _batch_pairs(
    blocks: Sparse, starts: Codes, numbers: Codes, null: Floats, normalised: bool
) -> tuple[Floats, Floats]:
    """All eigenpairs of equally large blocks: values (k, c) and vectors (k, c, c); null pairs are inf."""
    size = int(starts[numbers[0] + 1] - starts[numbers[0]])
    nodes = starts[numbers][:, None] + np.arange(size)
    entries, dense = blocks[nodes.ravel()].tocoo(), np.zeros((numbers.size, size, size))
    # A column's place in its block is its distance to the start.
    number, row = np.divmod(entries.row, size)
    dense[number, row, entries.col - starts[numbers][number]] = entries.data
    dense = dense_laplacians(dense, normalised)
    u = null[nodes]
    length = np.linalg.norm(u, axis=1)
    u = u / np.where(length > 0, length, 1)[:, None]
    # Each block in units of its mean degree, its null vector moved above the spectrum, as in solve.py.
    diagonal = np.einsum("kii->ki", dense)
    scale = diagonal.mean(axis=1)
    lift = 3 * diagonal.max(axis=1) / scale
    values, vectors = np.linalg.eigh(
        dense / scale[:, None, None] + lift[:, None, None] * u[:, :, None] * u[:, None, :]
    )
    values *= scale[:, None]
    values[length > 0, -1] = np.inf
    return values, vectors


def dense_laplacians(S: Floats, normalised: bool) -> Floats:
    """`D - S` or `I - D^-1/2 S D^-1/2` of (k, c, c) connected adjacencies."""
    degrees = np.abs(S).sum(axis=2)
    if normalised:
        root = np.sqrt(degrees)
        S = S / root[:, :, None] / root[:, None, :]
        degrees = np.ones_like(degrees)
    L = -S
    np.einsum("kii->ki", L)[:] = degrees
    return L


def _assembled(entries: list[Entry], order: Codes, starts: Codes, solver: str, missing: int) -> Pool:
    finite = [entry for entry in entries if np.isfinite(entry[0])]
    vectors = np.zeros((order.size, len(finite)))
    for k, (_, component, vector) in enumerate(finite):
        vectors[order[starts[component] : starts[component + 1]], k] = vector
    return Pool(
        np.array([entry[0] for entry in finite]),
        vectors,
        np.array([entry[1] for entry in finite], dtype=np.int64),
        solver,
        missing,
    )
