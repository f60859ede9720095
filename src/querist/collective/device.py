"""The two kernels of GMNR and its kin on a device: a pass over the counts, and a sweep over the network.

They give what `CountMatrix` (mixture.py) and `Sweeper` (sweeps.py) give in this process. The likelihoods
`q_ij = sum_k Y_ik F_jk` are formed at the non-zeros only, a few at a time; with `R_ij = X_ij / q_ij` on the
same pattern

    Z = Y o (R F),     G = F o (R'Y),

two sparse products with blocks of K columns (`o` multiplies entry by entry).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from querist.operator.device.matrix import DeviceMatrix, DeviceOperator
from querist.types import Floats

ENTRIES = 1 << 24
"""Counts whose likelihoods are formed at a time."""


@dataclass(frozen=True, eq=False)
class DeviceCounts:
    """Counts `X` (n, M) on a device; likelihoods are above `floor`."""

    X: DeviceMatrix
    floor: float

    def expect(self, Y: Any, F: Any, loglik: bool = True) -> tuple[Any, Any, float]:
        """`Z` (n, K), `G` (M, K) and the log-likelihood of the parameters that came in."""
        X, counts = self.X, self.X.values
        q = self._likelihoods(Y, F)
        likely = (q > self.floor) & (counts != 0)
        q = torch.where(likely, q, 1.0)
        total = float(torch.sum(counts * torch.log(q), dtype=torch.float64)) if loglik else 0.0
        ratio = torch.where(likely, counts / q, 0.0)
        Z = (X.with_values(ratio) @ F).mul_(Y)
        G = (X.T.with_values(ratio[X.order]) @ Y).mul_(F)
        if not bool(likely.all()):
            # A word without likelihood takes P(c|x) for its posterior.
            rest = torch.where(likely, 0.0, counts)
            own = torch.ones((X.shape[1], 1), dtype=Y.dtype, device=Y.device)
            Z += Y * (X.with_values(rest) @ own)
            G += X.T.with_values(rest[X.order]) @ Y
        return Z, G, total

    def _likelihoods(self, Y: Any, F: Any) -> Any:
        """(nnz,) `q`."""
        q, rows = torch.empty_like(self.X.values), self.X.rows
        for first in range(0, len(q), ENTRIES):
            part = slice(first, first + ENTRIES)
            q[part] = torch.einsum("ek,ek->e", Y[rows[part]], F[self.X.indices[part]])
        return q


@dataclass(frozen=True, eq=False)
class DeviceSweeper:
    """A Jacobi sweep over the network S, as `Sweeper` makes it."""

    S: DeviceOperator

    @classmethod
    def of(cls, laplacian: DeviceOperator) -> "DeviceSweeper":
        """Over the network of a Laplacian."""
        return cls(replace(laplacian, centre=torch.zeros_like(laplacian.centre), sign=1))

    def sweep(self, centre: Any, step: Any, lam: float, B: Any, Y: Any, out: Any) -> Floats:
        """Fill `out`; (K,) the lengths of the columns of the residual of `Y`."""
        out[:] = B
        self.S.combine(Y, out, scale=lam, previous=1.0)
        out.addcmul_(Y, centre[:, None], value=-1)
        residual = np.sqrt(self.S.space.dots(out, out))
        out *= step[:, None]
        out += Y
        return residual
