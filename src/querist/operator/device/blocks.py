"""Blocks on a device: torch tensors.

Sums over rows are taken over parts of `PART` rows at a time, all at once, in float64: matrices with few rows
and columns but a long inner side would otherwise keep a small part of a GPU busy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from querist.operator.local import LocalSpace
from querist.operator.space import OrthonormalBasis, Space
from querist.types import Floats

PART = 4096
"""Rows summed together."""

CHUNK = 1 << 20
"""Rows turned to float64, or made anew, at a time: a block is not held twice."""

DRAWN_HERE = 1 << 22
"""Random numbers that are brought to the device; more are drawn there."""

NUMBERS = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}

Block = Any


@dataclass(frozen=True)
class DeviceSpace(LocalSpace):
    """Blocks of `n` rows on a `torch.device`.

    >>> space = DeviceSpace(3, np.dtype(np.float64), torch.device("cpu"))
    >>> space.gram(space.given(np.eye(3)[:, :2]), space.given(np.ones((3, 1)))).tolist()
    [[1.0], [1.0]]
    """

    device: Any

    @property
    def number(self) -> Any:
        """torch's name of the precision."""
        return NUMBERS[self.dtype]

    def small(self, matrix: Floats) -> Any:
        """A small matrix on the device, in the blocks' precision."""
        return torch.as_tensor(np.ascontiguousarray(matrix), dtype=self.number, device=self.device)

    def empty(self, k: int) -> Block:
        """Uninitialised."""
        return torch.empty((self.n, k), dtype=self.number, device=self.device)

    def random(self, random: np.random.Generator, k: int) -> Block:
        """What this process would draw, where it is little: what comes of it differs by rounding alone. Else
        drawn on the device, by a generator that is seeded from the given one."""
        if self.n * k <= DRAWN_HERE:
            return self.given(random.standard_normal((self.n, k), dtype=self.dtype.type))
        source = torch.Generator(device=self.device).manual_seed(int(random.integers(1 << 62)))
        return torch.randn((self.n, k), dtype=self.number, device=self.device, generator=source)

    def given(self, rows: Any) -> Block:
        """Itself where nothing is to be changed."""
        rows = rows if isinstance(rows, torch.Tensor) else torch.as_tensor(np.ascontiguousarray(rows))
        return rows.to(self.device, self.number)

    def array(self, X: Block) -> Any:
        """Brought to this process."""
        return X.cpu().numpy()

    def beside(self, X: Block, Y: Block) -> Block:
        """A new block."""
        return torch.cat([X, Y], dim=1)

    def gram(self, X: Block, Y: Block) -> Floats:
        """By parts, a few of which are turned to float64 at a time."""
        return np.asarray(self._gram(X, Y).cpu().numpy())

    def _gram(self, X: Block, Y: Block) -> Any:
        """On the device: who needs it there does not wait for it."""
        total = torch.zeros((X.shape[1], Y.shape[1]), dtype=torch.float64, device=self.device)
        for rows in chunks(self.n):
            a = X[rows].double()
            b = a if Y is X else Y[rows].double()
            total += summed(a.T, b)
        return total

    def dot(self, X: Block, Y: Block) -> float:
        """Added up in float64."""
        return float(sum(torch.sum(X[rows] * Y[rows], dtype=torch.float64) for rows in chunks(self.n)))

    def dots(self, X: Block, Y: Block) -> Floats:
        """By parts."""
        total = torch.zeros(X.shape[1], dtype=torch.float64, device=self.device)
        for rows in chunks(self.n):
            total += torch.sum(X[rows] * Y[rows], dim=0, dtype=torch.float64)
        return np.asarray(total.cpu().numpy())

    def remove(self, W: Block, Q: Block) -> None:
        """Inner products in float64."""
        Q = Q[:, None] if Q.ndim == 1 else Q
        W.addmm_(Q, self._gram(Q, W).to(self.number), alpha=-1)

    def rotated(self, X: Block, Z: Floats, v: Block | None = None, z: Any = 0.0) -> Block:
        """A new block."""
        if X.dtype == self.number:
            out = X @ self.small(Z)
        else:
            out, turn = self.empty(Z.shape[1]), self.small(Z)
            for rows in chunks(self.n):
                torch.mm(X[rows].to(self.number), turn, out=out[rows])
        if v is not None:
            out.addmm_(v[:, None], self.small(z[None, :]), alpha=-1)
        return out

    def turned(
        self, X: Block, Y: Block, Z: Floats, v: Block | None, z: Floats, values: Floats
    ) -> tuple[Block, Floats]:
        """In place where it fits."""
        out = X if Z.shape[1] == X.shape[1] else self.empty(Z.shape[1])
        Zt, zt, factors = self.small(Z), self.small(z[None, :]), self.small(values)
        squares = torch.zeros(values.size, dtype=torch.float64, device=self.device)
        for rows in chunks(self.n):
            own = X[rows] @ Zt
            if v is not None:
                own.addmm_(v[rows, None], zt, alpha=-1)
            rest = torch.addmm(own * factors, Y[rows], Zt, beta=-1)
            squares += torch.linalg.vector_norm(rest, dim=0, dtype=torch.float64) ** 2
            out[rows] = own
        return out, squares.cpu().numpy()

    def residuals(self, Y: Block, X: Block, values: Floats) -> Floats:
        """By parts."""
        factors = self.small(values)
        squares = torch.zeros(values.size, dtype=torch.float64, device=self.device)
        for rows in chunks(self.n):
            rest = torch.addcmul(Y[rows], X[rows], factors, value=-1)
            squares += torch.linalg.vector_norm(rest, dim=0, dtype=torch.float64) ** 2
        return np.asarray(np.sqrt(squares.cpu().numpy()))

    def reflected(self, X: Block) -> tuple[Block, Floats]:
        """By the device's LAPACK."""
        Q, R = torch.linalg.qr(X)
        return Q, R.cpu().numpy()

    def basis(self, most: int) -> OrthonormalBasis:
        """Rows of one tensor."""
        V = torch.empty((most, self.n), dtype=self.number, device=self.device)
        return DeviceBasis(self, V)


@dataclass(frozen=True, eq=False)
class DeviceBasis:
    """Vectors as rows of `V` (most, n)."""

    space: DeviceSpace
    V: Block

    def put(self, first: int, Q: Block) -> None:
        """Turned round."""
        self.V[first : first + (Q.shape[1] if Q.ndim == 2 else 1)] = Q.T if Q.ndim == 2 else Q

    def inner(self, m: int, W: Block) -> Floats:
        """By parts."""
        return np.asarray(summed(self.V[:m], W).cpu().numpy())

    def subtract(self, m: int, W: Block, H: Floats) -> None:
        """At once."""
        W.addmm_(self.V[:m].T, self.space.small(H), alpha=-1)

    def combined(self, m: int, S: Floats, to: Space) -> Block:
        """Multiplied in the precision of the vectors."""
        out, turn = to.empty(S.shape[1]), self.space.small(S)
        for rows in chunks(self.V.shape[1]):
            out[rows] = (self.V[:m, rows].T @ turn).to(out.dtype)
        return out

    def turn(self, first: int, m: int, S: Floats) -> None:
        """In place, a part of all vectors at a time."""
        turn = self.space.small(S.T)
        for rows in chunks(self.V.shape[1]):
            self.V[first : first + len(turn), rows] = turn @ self.V[:m, rows]


def chunks(n: int) -> Iterator[slice]:
    """`CHUNK` rows at a time."""
    for first in range(0, n, CHUNK):
        yield slice(first, min(n, first + CHUNK))


def summed(A: Block, B: Block) -> Any:
    """`A B` in float64, its long inner side cut in parts that are multiplied at once and then added."""
    n = len(B)
    parts, rest = divmod(n, PART)
    cut = parts * PART
    total = (A[:, cut:] @ B[cut:]).double() if rest or not parts else 0.0
    if parts:
        left = A[:, :cut].unflatten(1, (parts, PART)).transpose(0, 1)
        total = total + torch.bmm(left, B[:cut].unflatten(0, (parts, PART))).sum(dim=0, dtype=torch.float64)
    return total
