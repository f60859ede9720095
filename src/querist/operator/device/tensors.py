"""The spectral embedding of a graph whose arrays lie on a device, made and left there.

What `querist.embed(..., kind="spectral")` gives for a connected, unsigned graph, for those who hold tensors:
nothing comes to this process but numbers of the size of the rank.
"""

import time
from typing import Any, NamedTuple

import numpy as np
import torch

from querist.errors import InputError
from querist.operator.device.matrix import DeviceOperator, components_of, degrees_of
from querist.operator.eigen.chebyshev import filtered_pairs, precision
from querist.operator.threads import one_blas_thread
from querist.progress import Progress, silent
from querist.types import Floats


class TensorEmbedding(NamedTuple):
    """`rows` (n, rank), a tensor where the graph's are; its eigenvalues, residuals, and how it was made."""

    rows: Any
    eigenvalues: Floats
    residuals: Floats
    solver: str


def embed_tensors(
    indptr: Any,
    indices: Any,
    values: Any | None = None,
    *,
    rank: int,
    tol: float = 2e-3,
    seed: int = 0,
    constant: float = 1.0,
    progress: Progress = silent,
    stages: dict[str, float] | None = None,
) -> TensorEmbedding:
    """Eigenvectors of the normalised Laplacian over the roots of their eigenvalues, and a constant.

    Parameters
    ----------
    indptr, indices, values : a symmetric CSR adjacency with weights above 0 and no self-loops, as tensors
        on one device; without `values` all weights are 1
    rank : columns, at least 2, the constant one included
    tol, seed, constant, progress : as for `querist.embed`
    stages : gets the seconds of every stage

    >>> square = torch.tensor([0, 2, 4, 6, 8]), torch.tensor([1, 3, 0, 2, 1, 3, 0, 2])
    >>> embed_tensors(*square, rank=2).rows.shape
    torch.Size([4, 2])
    """
    clock = _Stages(indptr.device, stages)
    parts = components_of(indptr, indices)
    n, largest = len(parts), int(parts.max())
    if largest > 0:
        raise InputError(
            "the graph of these tensors is not connected; give one component of it, or use querist.embed"
        )
    if not 2 <= rank < n:
        raise InputError(f"rank {rank} for a graph of {n:,} nodes; pass a rank from 2 to {n - 1}")
    if values is not None and not bool((values > 0).all()):
        raise InputError("weights must be above 0; signed graphs are embedded by querist.embed")
    clock("components")
    made = DeviceOperator.laplacian(indptr, indices, values, normalised=True, dtype=precision(tol, 2.0))
    null = degrees_of(indptr, values).sqrt()
    null /= torch.linalg.vector_norm(null)
    clock("laplacian")
    kept: dict[Any, DeviceOperator] = {made.dtype: made}

    def operator(dtype: Any) -> DeviceOperator:
        kind = np.dtype(dtype)
        if kind not in kept:
            kept[kind] = made.to(kind)
        return kept[kind]

    with one_blas_thread():  # what is left to this process is small
        found = filtered_pairs(
            operator, null, rank, ceiling=2.0, tol=tol, seed=seed, progress=progress, spare=1
        )
    clock("pairs")
    wanted = rank - 1
    rows = operator(np.float64).space.empty(rank)
    rows[:, :wanted] = found.vectors[:, :wanted]
    rows[:, :wanted] *= operator(np.float64).space.small(1 / np.sqrt(found.values[:wanted]))
    rows[:, wanted] = constant
    clock("rows")
    solver = f"chebyshev, {found.products / rank:.0f} products" + (
        "" if found.arrived else ", did not arrive"
    )
    return TensorEmbedding(rows, found.values[:wanted], found.residuals[:wanted], solver)


class _Stages:
    """Seconds between calls, by name."""

    def __init__(self, device: Any, stages: dict[str, float] | None) -> None:
        self.device, self.stages = device, stages
        self.before = self._now()

    def _now(self) -> float:
        if self.stages is not None and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def __call__(self, name: str) -> None:
        if self.stages is not None:
            now = self._now()
            self.stages[name], self.before = now - self.before, now
