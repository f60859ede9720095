"""GMNR and its kin on a device of torch: counts and smoothing as in mixture.py and smoothing.py.

The likelihoods `q_ij = sum_k Y_ik F_jk` are formed at the non-zeros only, a few at a time; with
`R_ij = X_ij / q_ij` on the same pattern

    Z = Y o (R F),     G = F o (R'Y),

two sparse products with blocks of K columns (`o` multiplies entry by entry).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from querist.collective.mixture import CountMatrix
from querist.collective.smoothing import EPS, Smoother
from querist.errors import InputError
from querist.operator.device.blocks import NUMBERS
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceMatrix, DeviceOperator
from querist.types import Bools, Floats

ENTRIES = 1 << 24
"""Counts whose likelihoods are formed at a time."""


@dataclass(frozen=True, eq=False)
class DeviceCounts:
    """Counts `X` (n, M) on a device: as rows, and turned round with `order`, where each entry comes from."""

    X: DeviceMatrix
    turned: DeviceMatrix
    order: Any
    row: Any
    floor: float

    @classmethod
    def brought(cls, counts: CountMatrix, device: str, dtype: Any) -> "DeviceCounts":
        """The counts of this process on the device of this name."""
        X = DeviceMatrix.brought(counts.X, device, dtype=dtype)
        return cls.of(X, counts.floor(np.dtype(dtype)))

    @classmethod
    def of(cls, X: DeviceMatrix, floor: float) -> "DeviceCounts":
        """From a matrix that is there already."""
        n, m = X.shape
        lengths = X.indptr[1:] - X.indptr[:-1]
        row = torch.repeat_interleave(torch.arange(n, device=lengths.device), lengths).to(torch.int32)
        columns, order = torch.sort(X.indices, stable=True)
        starts = torch.searchsorted(columns, torch.arange(m + 1, device=lengths.device, dtype=columns.dtype))
        turned = DeviceMatrix(starts.to(torch.int64), row[order], X.values[order], (m, n))
        return cls(X, turned, order, row, floor)

    def block(self, rows: Any, dtype: Any) -> Any:
        """Rows of this process, or of the device, in a precision."""
        given = rows if isinstance(rows, torch.Tensor) else torch.as_tensor(np.ascontiguousarray(rows))
        return given.to(self.row.device, NUMBERS[np.dtype(dtype)])

    def array(self, block: Any) -> Floats:
        """Brought to this process."""
        return np.asarray(block.cpu().numpy())

    def rows(self, mask: Bools) -> Any:
        """Which rows of a block."""
        return torch.as_tensor(mask, device=self.row.device)

    def share(self, G: Any) -> Any:
        """Columns scaled to sum to one; a class without a single word stays at zero."""
        total = G.sum(dim=0)
        return G / torch.where(total > 0, total, 1.0)

    def likelihoods(self, Y: Any, F: Any) -> Any:
        """(nnz,) `q`."""
        q = torch.empty_like(self.X.values)
        for first in range(0, len(q), ENTRIES):
            part = slice(first, first + ENTRIES)
            q[part] = torch.einsum("ek,ek->e", Y[self.row[part]], F[self.X.indices[part]])
        return q

    def expect(self, Y: Any, F: Any, loglik: bool = True) -> tuple[Any, Any, float]:
        """`Z` (n, K), `G` (M, K) and the log-likelihood of the parameters that came in."""
        counts = self.X.values
        likely, q = self._likely(Y, F)
        total = self._total(q) if loglik else 0.0
        ratio = torch.where(likely, counts / q, 0.0)
        Z = (self.X.with_values(ratio) @ F).mul_(Y)
        G = (self.turned.with_values(ratio[self.order]) @ Y).mul_(F)
        if not bool(likely.all()):
            # A word without likelihood takes P(c|x) for its posterior.
            rest = torch.where(likely, 0.0, counts)
            own = torch.ones((self.X.shape[1], 1), dtype=Y.dtype, device=Y.device)
            Z += Y * (self.X.with_values(rest) @ own)
            G += self.turned.with_values(rest[self.order]) @ Y
        return Z, G, total

    def loglik(self, Y: Any, F: Any) -> float:
        """The log-likelihood of the counts (eq. 2)."""
        return self._total(self._likely(Y, F)[1])

    def _likely(self, Y: Any, F: Any) -> tuple[Any, Any]:
        """(nnz,) which counts have a likelihood, and that, 1 for the others."""
        q = self.likelihoods(Y, F)
        likely = (q > self.floor) & (self.X.values != 0)
        return likely, torch.where(likely, q, 1.0)

    def _total(self, q: Any) -> float:
        return float(torch.sum(self.X.values * torch.log(q), dtype=torch.float64))


@dataclass(frozen=True, eq=False)
class DeviceSweeper:
    """A Jacobi sweep over the network S, as `Sweeper` makes it."""

    S: DeviceOperator

    def sweep(self, centre: Any, step: Any, lam: float, B: Any, Y: Any, out: Any) -> Floats:
        """Fill `out`; (K,) the lengths of the columns of the residual of `Y`."""
        out[:] = B
        self.S.combine(Y, out, scale=lam, previous=1.0)
        out.addcmul_(Y, centre[:, None], value=-1)
        residual = np.sqrt(self.S.space.dots(out, out))
        out *= step[:, None]
        out += Y
        return residual


@dataclass(frozen=True)
class DeviceSmoother(Smoother):
    """`Smoother` on blocks of a device, which has no factors: sweeps and conjugate gradients."""

    device: str = "cuda"

    def __post_init__(self) -> None:
        if self.solver == "factor":
            raise InputError(
                "solver = 'factor' makes a sparse factor, which a device does not; take 'auto', 'cg' or "
                "'jacobi', or no device"
            )

    @property
    def _method(self) -> str:
        return "sweeps" if self.solver == "auto" else self.solver

    def _mask(self, rows: Bools) -> Any:
        return torch.as_tensor(rows, device=chosen_device(self.device))

    def _laplacian_of(self, S: Any) -> Any:
        if isinstance(S, DeviceOperator):  # whoever holds tensors may give it as it is
            return S
        return DeviceOperator.brought(S, self.device, dtype=self.dtype)

    def _sweeper_of(self, operator: Any) -> Any:
        nothing = torch.zeros_like(operator.centre)
        arrays = operator.indptr, operator.indices, operator.values
        return DeviceSweeper(DeviceOperator(*arrays, nothing, 1, operator.dtype))

    def _divided(self, B: Any, rho: Floats) -> Any:
        return B / self._column(rho, B)

    def _turned(self, B: Any, V: Floats) -> Any:
        return B @ torch.as_tensor(np.ascontiguousarray(V), dtype=B.dtype, device=B.device)

    def _on_simplex(self, X: Any, B: Any, rho: Floats) -> Any:
        X = X.clamp(min=0)
        if torch.allclose(B.sum(dim=1), self._column(rho, B)[:, 0], rtol=1e-4):
            X /= X.sum(dim=1, keepdim=True).clamp(min=torch.finfo(X.dtype).tiny)
        return X

    def penalty(self, Y: Any) -> float:
        """As in this process."""
        if self.lam == 0 and self.lam_labels == 0:
            return 0.0
        logs = torch.log(Y.clamp(min=0) + EPS)
        R = self._space.dot(Y, self._operators[0].matmat(logs)) if self.lam else 0.0
        L_F = np.diag(self.F.sum(axis=1)) - self.F
        H = self._space.dot(self._turned(Y, L_F), logs) if self.lam_labels else 0.0
        return float(self.lam * R + self.lam_labels * H)

    def _column(self, rho: Floats, like: Any) -> Any:
        return torch.as_tensor(rho, dtype=like.dtype, device=like.device)[:, None]
