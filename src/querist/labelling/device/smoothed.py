"""Smoothed rows of several kinds at once: rows.py, with the blocks of all kinds side by side.

Kinds of one source that are smoothed for as many steps share every product; each has its own damping. Bases
are made orthonormal by the Cholesky factors of their Gram matrices, twice, all at once, and how that went is
asked at the end alone: a block that turns out to be singular is left to `rows.smoothed_rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from querist.embedding.kinds.diffusion import OVERSAMPLING
from querist.labelling.device.place import DeviceGraph, DeviceRows
from querist.labelling.rows import RowSettings, sweeps_for
from querist.operator.threads import each

Tensor = Any

LEAST = 1e-12
"""Of the largest singular value: what is smaller is rounding."""

PART = 512
"""Rows that are summed together: Gram matrices are small, and a GPU is busy only with many sums at a time."""


def compute(place: DeviceGraph, kinds: Sequence[RowSettings], seed: int = 0) -> None:
    """The rows of these kinds, which `place.rows` keeps."""
    groups: dict[Any, list[RowSettings]] = {}
    for kind in dict.fromkeys(kinds):
        if kind not in place.rows:
            groups.setdefault((kind.source, kind.steps), []).append(kind)
    if not groups:
        return
    products = [SmoothedKinds(place, tuple(group)) for group in groups.values()]
    bases, triangles, worst = _iterated(place, products, seed)
    singular = not float(worst) < _good(max(Z.width for Z in products))
    every = [kind for Z in products for kind in Z.kinds]
    small = [R for triangle in triangles for R in triangle.cpu().numpy()]
    found = each(lambda R: np.linalg.svd(R.T)[:2], [] if singular else small)
    owners = [(Z, k) for Z in products for k in range(len(Z.kinds))]
    for kind, (inner, values), (Z, k) in zip([] if singular else every, found, owners, strict=False):
        basis = bases[products.index(Z)][:, k * Z.width : (k + 1) * Z.width]
        kept = max(1, int((values[: Z.columns] > LEAST * max(values[0], 1e-300)).sum()))
        left = basis @ place.tensor(inner[:, :kept], torch.float32)
        place.rows[kind] = DeviceRows(left, place.tensor(values[:kept]))
    for kind in every if singular else ():
        rows = place.workspace.rows(kind)
        place.rows[kind] = DeviceRows(place.tensor(rows.left, torch.float32), place.tensor(rows.values))


def _good(width: int) -> float:
    """How far from orthonormal the second factorisation may find a block, as in `ritz.thin_qr`."""
    return float(np.sqrt(10 * np.sqrt(width) * np.finfo(np.float32).eps))


def _iterated(
    place: DeviceGraph, products: Sequence["SmoothedKinds"], seed: int
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """A group: (n, kinds w) bases, and (kinds, w, w) the triangles of `Z'` times them; and what was met."""
    draw = int(np.random.default_rng(seed).integers(1 << 62))
    right, met = [], list[Tensor]()
    for Z in products:
        source = torch.Generator(device=place.device).manual_seed(draw)
        shape = Z.features.wide.shape[1], Z.width
        start = torch.randn(shape, dtype=torch.float64, device=place.device, generator=source)
        right.append(start.float().repeat(1, len(Z.kinds)))
    for _ in range(sweeps_for(place.workspace.graph)):
        blocks = [Z.forward(B) for Z, B in zip(products, right, strict=True)]
        bases, _, worst = _together(products, blocks)
        met.append(worst)
        blocks = [Z.backward(Q) for Z, Q in zip(products, bases, strict=True)]
        right, triangles, worst = _together(products, blocks)
        met.append(worst)
    return bases, triangles, torch.stack(met).amax()


def _together(
    products: Sequence["SmoothedKinds"], blocks: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """`orthonormal` for the blocks of all groups: those of one shape at once."""
    shapes = [(len(block), Z.width) for Z, block in zip(products, blocks, strict=True)]
    Q, R = [torch.empty(0)] * len(blocks), [torch.empty(0)] * len(blocks)
    met: list[Tensor] = []
    for shape in dict.fromkeys(shapes):
        own = [i for i, other in enumerate(shapes) if other == shape]
        counts = [len(products[i].kinds) for i in own]
        whole, triangle, worst = orthonormal(torch.cat([blocks[i] for i in own], dim=1), sum(counts))
        met.append(worst)
        wide = whole.split([count * shape[1] for count in counts], dim=1)
        for i, block, part in zip(own, wide, triangle.split(counts), strict=True):
            Q[i], R[i] = block.contiguous(), part
    return Q, R, torch.stack(met).amax()


def orthonormal(block: Tensor, kinds: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q (n, kinds w) whose blocks of w columns are orthonormal, (kinds, w, w) upper R with `QR` the blocks,
    and how far from the identity the second Gram matrix was: infinite where a block is singular.

    >>> Q, R, worst = orthonormal(torch.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]), 1)
    >>> (Q.double() @ R[0]).round(decimals=5).tolist(), bool(worst < 1e-5)
    ([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]], True)
    """
    width = block.shape[1] // kinds
    one = torch.eye(width, dtype=torch.float64, device=block.device)
    R, worst, regular = one, one, True
    for _ in range(2):
        own = block.unflatten(1, (kinds, width)).transpose(0, 1)
        G = grams(own)
        worst = (G - one).abs().amax()
        lower, info = torch.linalg.cholesky_ex(G)
        regular = (info == 0).all() & regular
        inverse = torch.linalg.solve_triangular(lower, one.expand_as(lower), upper=False)
        block = (own @ inverse.transpose(1, 2).to(block.dtype)).transpose(0, 1).flatten(1)
        R = lower.transpose(1, 2) @ R
    return block, R, torch.where(regular, worst, torch.inf)


def grams(X: Tensor) -> Tensor:
    """(kinds, w, w) `X'X` of (kinds, n, w), in double precision.

    >>> grams(torch.ones((2, 1030, 1))).ravel().tolist()
    [1030.0, 1030.0]
    """
    n, cut = X.shape[1], X.shape[1] // PART * PART
    rest = X[:, cut:].double()
    total = rest.transpose(1, 2) @ rest
    if cut:
        parts = X[:, :cut].unflatten(1, (n // PART, PART)).double()
        total = total + (parts.transpose(2, 3) @ parts).sum(dim=1)
    return total


@dataclass(frozen=True, eq=False)
class SmoothedKinds:
    """Products with the smoothed features of kinds of one source and as many steps, a block of w columns
    a kind side by side."""

    place: DeviceGraph
    kinds: tuple[RowSettings, ...]

    @cached_property
    def features(self) -> Any:
        """In single precision."""
        return self.place.single(self.kinds[0].source)

    @cached_property
    def columns(self) -> int:
        """That are wanted."""
        return min(self.place.workspace.rank, *self.features.wide.shape)

    @cached_property
    def width(self) -> int:
        """Columns of a kind."""
        return min(self.columns + OVERSAMPLING, *self.features.wide.shape)

    @cached_property
    def _damping(self) -> Tensor:
        own = torch.tensor([kind.damping for kind in self.kinds], device=self.place.device)
        return own.float().repeat_interleave(self.width)[None]

    @cached_property
    def _scale(self) -> Tensor | None:
        """(n, kinds w) of kinds that are plain means, 1 for others."""
        if not any(kind.by_row for kind in self.kinds):
            return None
        s = self.place.row_scale
        own = [s if kind.by_row else torch.ones_like(s) for kind in self.kinds]
        return torch.stack(own, dim=1).repeat_interleave(self.width, dim=1)

    def forward(self, B: Tensor) -> Tensor:
        """(n, kinds w)."""
        block, s = self.features.wide @ B, self._scale
        return self._smooth(block) if s is None else self._smooth(s * block) / s

    def backward(self, B: Tensor) -> Tensor:
        """(m, kinds w)."""
        s = self._scale
        return self.features.tall @ (self._smooth(B) if s is None else s * self._smooth(B / s))

    def _smooth(self, block: Tensor) -> Tensor:
        """`smoothed`, with a damping a column."""
        found = block
        for _ in range(self.kinds[0].steps):
            found = torch.lerp(block, self.place.smoother.matmat(found), self._damping)
        return found
