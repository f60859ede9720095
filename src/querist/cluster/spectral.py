"""The spectral embedding of a graph on a cluster: read, partitioned, solved and written by its workers.

Every rank runs the project's own solver (operator/eigen/chebyshev.py) on its rows; it differs from one
process in what a block is (space.py) and in the order of the nodes. The largest component is embedded, and
how many nodes lie elsewhere is said. Rows are those of `querist.embed`: `v / sqrt(lambda)` and a constant.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from querist.cluster.shard import Shard
from querist.cluster.space import ShardOperator, ShardSpace
from querist.cluster.store import WORK, Checkpoints, load_rows, write_table
from querist.cluster.tables import Written, graph_tables, work_on
from querist.cluster.transport import Group
from querist.embedding.kinds.spectral import ROUNDING, TOL, column_scales, doubts_about, relative_gap
from querist.embedding.make import RANK
from querist.errors import InputError
from querist.graph_options import FileKeywords
from querist.operator.eigen.chebyshev import FilteredPairs, filtered_pairs, precision, width_of
from querist.operator.eigen.filter import density
from querist.operator.threads import one_blas_thread
from querist.parameters import checked_count
from querist.progress import silent
from querist.types import Floats

CEILING = 2.0
"""No eigenvalue of a normalised Laplacian is larger."""


@dataclass(frozen=True, kw_only=True)
class EmbeddedParts(Written):
    """What became of an embedding on a cluster; `out` holds the columns node, x1, x2, ..., in single
    precision, of which the last is the constant; `nodes` and `edges` are those of the largest component.

    Parameters
    ----------
    sent : bytes sent in products
    components : of the graph; left_out : nodes outside of the largest
    eigenvalues, residuals, eigengap, solver, doubts : as of `querist.embed`

    The others are those of `Written`.

    >>> found = EmbeddedParts(
    ...     out="rows", workers=2, cut=0.3, nodes=10**6, edges=10**7, bytes=10**8,
    ...     seconds={"reading": 60.0, "solving": 30.0}, sent=10**9, components=1, left_out=0, rank=2,
    ...     eigenvalues=(0.1,), residuals=(1e-3,), eigengap=0.1, solver="chebyshev", doubts=(),
    ... )
    >>> found.report().splitlines()[0].partition(";")[0]
    '1,000,000 nodes and 10,000,000 edges in the largest of 1 components'
    """

    sent: int
    components: int
    left_out: int
    rank: int
    eigenvalues: tuple[float, ...]
    residuals: tuple[float, ...]
    eigengap: float
    solver: str
    doubts: tuple[str, ...]

    def report(self) -> str:
        """A few lines."""
        left = f", {self.left_out:,} nodes outside of it left out" if self.left_out else ""
        return (
            f"{self.nodes:,} nodes and {self.edges:,} edges in the largest of {self.components:,} components"
            f"{left}; {self.workers} workers, {100 * self.cut:.0f} % of the entries between them\n"
            f"{self.solver}, residual {max(self.residuals, default=0.0):.1e}, eigengap {self.eigengap:.1e}; "
            f"read and placed in {self.seconds['reading']:.1f} s, solved in {self.seconds['solving']:.1f} s, "
            f"{self.sent / 1e9:.2f} GB sent"
        )


def embed(
    edges: str | Path,
    out: str | Path,
    rank: int | None = None,
    *,
    cluster: str,
    tol: float | None = None,
    constant: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    **columns: Unpack[FileKeywords],
) -> EmbeddedParts:
    """Embed the graph in a folder of edges on a Dask cluster; the rows go to the folder `out`.

    Parameters
    ----------
    edges : folder of parquet or CSV files, or one; both folders are seen by all workers under these names
    out : folder of the results, new or empty, or one that a stopped run left: it is gone on with
    rank : columns, 100 by default
    cluster : address of the Dask scheduler
    tol, constant, seed : as of `querist.embed`
    workers : how many to use; all by default. The rows do not depend on it, to the last bit
    columns : source, target and weight of `FileOptions`

    >>> embed("edges", "rows", 32, cluster="tcp://HOST:8786").report()  # doctest: +SKIP
    """
    rank = checked_count("rank", RANK if rank is None else rank, 2)
    tol = TOL if tol is None else float(tol)
    tables = graph_tables(edges, connect=True, **columns)
    parts, about, numbers = work_on(cluster, workers, out, tables, solve, rank, tol, constant, seed)
    first = parts[0]
    return EmbeddedParts(
        sent=sum(part["sent"] for part in parts),
        components=int(about["components"]),
        left_out=int(about["left_out"]),
        rank=rank,
        eigenvalues=tuple(first["values"].tolist()),
        residuals=tuple(first["residuals"].tolist()),
        eigengap=first["eigengap"],
        solver=first["solver"],
        doubts=first["doubts"],
        **numbers,
    )


def solve(group: Group, place: Path, rank: int, tol: float, constant: float, seed: int) -> dict[str, Any]:
    """Own rows of the embedding, written; what is known of all of it."""
    shard = load_rows(group, place / WORK)[0].shard(group)
    # One pair more than wanted measures the gap at the cut.
    wanted = rank - int(constant != 0)
    if 3 * width_of(wanted + 1, shard.n) > shard.n:
        raise InputError(
            f"rank {rank} for a component of {shard.n:,} nodes; such a graph is embedded without a cluster"
        )
    found, sent = lowest_pairs(shard, wanted + 1, tol, seed, Checkpoints(shard, place / WORK / "checkpoints"))
    values, vectors = found.values[:wanted], found.vectors[:, :wanted]
    tiny = values <= ROUNDING
    scales = column_scales(values, tiny, constant, np.full(values.size, shard.n)) * orientation(
        shard, vectors
    )
    table = {f"x{k + 1}": (vectors[:, k] * scales[k] + 0.0).astype(np.float32) for k in range(values.size)}
    if constant:
        table[f"x{rank}"] = np.full(shard.own, constant, dtype=np.float32)
    size = write_table(shard, place / WORK, place, table)
    errors = found.residuals[:wanted]
    missing = 0 if found.arrived else 1
    return {
        "sent": sent,
        "bytes": size,
        "values": np.maximum(values, 0.0),
        "residuals": errors,
        "eigengap": relative_gap(found.values, wanted),
        "solver": f"chebyshev, {found.products / (wanted + 1):.0f} products",
        "doubts": tuple(text for text, _ in doubts_about(errors, tol, int(tiny.sum()), missing)),
    }


def lowest_pairs(
    shard: Shard, count: int, tol: float, seed: int, checkpoints: Checkpoints | None = None
) -> tuple[FilteredPairs, int]:
    """Own rows of the lowest pairs of the normalised Laplacian, in single precision, and the bytes sent.

    With `checkpoints` it goes on from the newest.
    """
    degrees, made = shard.degrees(), dict[Any, ShardOperator]()

    def make(dtype: Any) -> ShardOperator:
        if np.dtype(dtype) not in made:
            made[np.dtype(dtype)] = ShardOperator.laplacian(shard, degrees, dtype=dtype)
        return made[np.dtype(dtype)]

    null = np.sqrt(degrees)
    null /= np.sqrt(ShardSpace.of(shard, np.float64).dot(null[:, None], null[:, None]))

    M = make(precision(tol, CEILING))
    with one_blas_thread():
        pairs = filtered_pairs(
            make, null, count, ceiling=CEILING, tol=tol, seed=seed, progress=silent, spare=1, exact=False,
            known=density(M, M.space.given(null), np.random.default_rng(seed)),
            start=None if checkpoints is None else checkpoints.newest(),
            keep=(lambda X: None) if checkpoints is None else checkpoints.save,
        )  # fmt: skip
    return pairs, sum(each.sent for each in made.values())


def orientation(shard: Shard, vectors: Floats) -> Floats:
    """(k,) +-1, which makes the largest entry of every column (the first of nearly equal ones) positive."""
    k = vectors.shape[1]
    ends = [vectors.max(axis=0, initial=0.0), -vectors.min(axis=0, initial=0.0)] if k else [np.zeros(0)] * 2
    high, low = np.max(shard.group.everyone(np.stack(ends)), axis=0)
    near = (1 - 1e-6) * np.maximum(high, low)
    first = np.full((2, k), shard.n, dtype=np.float64)
    for column in range(k):
        found = np.flatnonzero(np.abs(vectors[:, column]) >= near[column])
        if found.size:
            first[:, column] = shard.first + found[0], np.sign(vectors[found[0], column])
    every = np.array(shard.group.everyone(first))
    return np.asarray(every[every[:, 0].argmin(axis=0), 1, np.arange(k)])
