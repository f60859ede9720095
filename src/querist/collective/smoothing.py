"""The M-step for `P(c|x)`: smooth the expected counts over the network and over the classes.

mrgm15, eq. 10 and 11. With `rho` the counts a node, `L` the Laplacian of the network and
`L_F = diag(F 1) - F` that of the classes:

    (diag(rho) + lam L) Y + lam_labels Y L_F = Z.

The paper writes the NK x NK system. It is a Kronecker sum: with `L_F = V diag(s) V'` the columns of
`Y V` solve K separate systems `diag(rho + lam_labels s_k) + lam L`. Without `L_F` all classes share one.

Three ways, said in `how`:

- "factor": a sparse factorisation a system, kept across iterations;
- "jacobi": `sweeps` damped sweeps `Y <- Y + (Z - A Y)/c`, `c_i = rho_i + lam d_i + lam_labels max(F 1)`.
  Each is an average of a node's counts, its neighbours and its related classes: rows stay on the simplex
  at every sweep;
- "cg": conjugate gradients from the distribution of the iteration before, to `tol`.

"auto" factorises where that is cheap. Elsewhere it sweeps from the distribution before to `tol`, and goes on
with conjugate gradients where the sweeps turn out to need too many.

A component without any count has no equation to fix its level. Each of its nodes then counts once, with
its present distribution as posterior, so that labels still spread there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from querist.collective.sweeps import Sweeper
from querist.errors import InputError
from querist.operator.backend import HERE, Backend
from querist.operator.solve import cheap, lengths
from querist.operator.space import Space
from querist.types import Bools, Floats, Sparse

Solver: TypeAlias = Literal["auto", "factor", "cg", "jacobi"]

EPS = 1e-12
"""Added inside the logarithms of the regularisers, where clamped rows hold zeros."""

ROUNDING = 1e-6
"""By how much the rows of an exact solution may miss the simplex."""

TRIED, MOST_SWEEPS = 4, 24
"""After so many sweeps "auto" judges how many are needed; beyond the second number gradients are quicker."""


@dataclass(frozen=True)
class Smoother:
    """Solves the system for one network, again and again.

    Parameters
    ----------
    S : (n, n) weights; rho : (n,) counts; components : (n,) of the network
    F : (K, K) similarity of the classes; lam, lam_labels : weights of the two regularisers
    backend : where blocks live
    parts : the columns of each distribution, if a block holds several side by side
    """

    S: Sparse
    rho: Floats
    components: Any
    F: Floats
    lam: float
    lam_labels: float
    solver: Solver = "auto"
    tol: float = 1e-3
    sweeps: int = 10
    dtype: Any = np.float64
    backend: Backend = HERE
    parts: Sequence[slice] = (slice(None),)

    def __post_init__(self) -> None:
        if self.solver == "factor" and not self.backend.has_factors:
            raise InputError(
                "solver = 'factor' makes a sparse factor, which a device does not; take 'auto', 'cg' or "
                "'jacobi', or no device"
            )

    def solve(self, Z: Any, Y: Any) -> tuple[Any, str]:
        """The new distribution from the expected counts `Z` and the present one, and how it was found."""
        B = Z
        if self._idle.any():
            idle = self.backend.given(self._idle)
            B = Z + 0
            B[idle] = Y[idle]
        return self._solved(B, Y)

    def _given(self, array: Any) -> Any:
        return self.backend.given(array, self.dtype)

    def _on_simplex(self, X: Any, B: Any, rho: Floats) -> Any:
        """Nothing below 0, and rows that sum to one where the exact solution's would."""
        X, total = X.clip(0), self._given(rho)
        for part in self.parts:
            own = X[:, part]
            if self.backend.xp.allclose(B[:, part].sum(axis=1), total, rtol=1e-4):
                own /= own.sum(axis=1, keepdims=True).clip(float(np.finfo(self.dtype).tiny))
        return X

    def penalty(self, Y: Any) -> float:
        """`lam R + lam_labels H`, `R = sum_k y_k' L log y_k` (eq. 4) and `H = sum_i y_i' L_F log y_i`
        (eq. 6)."""
        if self.lam == 0 and self.lam_labels == 0:
            return 0.0
        # An iterative solve may leave a share a hair below 0.
        logs = self.backend.xp.log(Y.clip(0) + EPS)
        R = self._space.dots(Y, self._operators[0].matmat(logs)).sum() if self.lam else 0.0
        L_F = self._given(np.diag(self.F.sum(axis=1)) - self.F)
        H = self._space.dots(Y @ L_F, logs).sum() if self.lam_labels else 0.0
        return float(self.lam * R + self.lam_labels * H)

    # -- parts that stay the same --------------------------------------------------------

    @cached_property
    def _idle(self) -> Bools:
        """(n,) nodes in components without a count; on its own where the network has no weight."""
        parts = self.components if self.lam > 0 else np.arange(self.rho.size)
        return np.asarray(np.bincount(parts, weights=self.rho)[parts] == 0)

    @cached_property
    def _diagonal(self) -> Floats:
        """(n,) beside the Laplacian of the network."""
        return np.where(self._idle, 1.0, self.rho)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of the class Laplacian."""
        s, V = np.linalg.eigh(np.diag(self.F.sum(axis=1)) - self.F)
        return np.maximum(s, 0.0), V

    @cached_property
    def _shared(self) -> bool:
        """Whether one system serves all classes."""
        return self.lam_labels == 0 or not (self._spectrum[0] > 0).any()

    @cached_property
    def _operators(self) -> list[Any]:
        """One a system where each keeps its own factor; they share the arrays of the network."""
        several = self.backend.has_factors and not self._shared
        return [
            self.backend.laplacian(self.S, dtype=self.dtype) for _ in range(len(self.F) if several else 1)
        ]

    @cached_property
    def _space(self) -> Space:
        space: Space = self._operators[0].space
        return space

    # -- solving -------------------------------------------------------------------------

    def _solved(self, B: Any, start: Any) -> tuple[Any, str]:
        rho = self._diagonal
        if self.lam == 0 and self._shared:
            return B / self._given(rho)[:, None], "division"
        if self.solver == "jacobi":
            return self._swept(B, start)[0], f"{self.sweeps} Jacobi sweeps"
        swept = 0
        if self._method == "sweeps":
            start, swept, done = self._swept(B, start, self.tol)
            if done:
                return start, f"{swept} Jacobi sweeps"
        X, how = self._exact(B, start, rho)
        return X, f"{swept} Jacobi sweeps, then {how}" if swept else how

    @cached_property
    def _method(self) -> str:
        if self.solver != "auto":
            return self.solver
        if not self.backend.has_factors:
            return "sweeps"
        return "factor" if cheap(self._operators[0]) else "sweeps"

    def _exact(self, B: Any, start: Any, rho: Floats) -> tuple[Any, str]:
        """By factors or conjugate gradients, a system a class where classes are related."""
        if self._shared:
            X, how = self._one(0, B, rho, start)
            return self._proper(X, how, B, rho), how
        s, V = self._spectrum
        turn = self._given(V)
        B_hat, start_hat = B @ turn, start @ turn
        X_hat = self._space.empty(len(s))
        for k in range(len(s)):
            column, guess = B_hat[:, k : k + 1], start_hat[:, k : k + 1]
            X_hat[:, k : k + 1], how = self._one(k, column, rho + self.lam_labels * s[k], guess)
        return self._proper(X_hat @ turn.T, how, B, rho), how

    def _one(self, k: int, B: Any, diagonal: Floats, start: Any) -> tuple[Any, str]:
        method = "cg" if self._method == "sweeps" else self._method
        X, how = self._operators[k % len(self._operators)].solve(
            B, diagonal=diagonal, weight=self.lam, x0=start, tol=self.tol, method=method
        )
        return X, how.method

    def _proper(self, X: Any, how: str, B: Any, rho: Floats) -> Any:
        """An inexact solution put back on the simplex. That of a factor is there already, unless weights are
        so much larger than counts that the counts are lost in rounding."""
        return X if how == "factor" and is_distribution(X) else self._on_simplex(X, B, rho)

    def _swept(self, B: Any, Y: Any, tol: float = 0.0) -> tuple[Any, int, bool]:
        """`sweeps` of them, or until `tol`: the distribution, how many, whether `tol` was reached."""
        sweeper, rho = self._sweeper, self._diagonal
        f = self.F.sum(axis=1)
        inward = (self.lam_labels * (np.diag(f) - self.F)).astype(self.dtype)
        most = 0.0 if self._shared else self.lam_labels * float(f.max())
        space = self._space
        degrees = np.asarray(space.array(self._operators[0].diagonal()), dtype=np.float64)
        diagonal, size = rho + self.lam * degrees, lengths(space, B)
        centre, step = space.given(diagonal), space.given(1 / (diagonal + most))
        spare: list[Any] = []
        worst: list[float] = []
        for done in range(1, (MOST_SWEEPS if tol else self.sweeps) + 1):
            out = spare.pop() if spare else space.empty(Y.shape[1])
            right = B - space.rotated(Y, inward) if most else B
            residual = sweeper.sweep(centre, step, self.lam, right, Y, out)
            if done > 1:
                spare.append(Y)  # not the caller's
            Y = out
            if not tol:
                continue
            if (residual <= tol * size).all():
                return Y, done, True
            worst.append(float((residual / size).max()))
            if done == TRIED:
                rate = (worst[-1] / worst[0]) ** (1 / (TRIED - 1))
                if rate >= 1 or np.log(tol / worst[-1]) / np.log(rate) > MOST_SWEEPS - TRIED:
                    break
        return Y, done, False

    @cached_property
    def _sweeper(self) -> Any:
        operator = self._operators[0]
        if self.backend.has_factors:
            return Sweeper(operator.indptr, operator.indices, operator.values)
        from querist.collective.device import DeviceSweeper

        return DeviceSweeper.of(operator)


def is_distribution(X: Floats) -> bool:
    """Whether rows are distributions, but for rounding."""
    missed = np.abs(X.sum(axis=1) - 1)
    return bool(X.min(initial=0.0) >= -ROUNDING and missed.max(initial=0.0) <= ROUNDING)
