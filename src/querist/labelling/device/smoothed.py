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

from querist.embedding.kinds.diffusion import width_of
from querist.labelling.device.place import DeviceGraph, FeatureMatrix, SingularTensors
from querist.labelling.rows import RowSettings, sweeps_for
from querist.operator.threads import each
from querist.types import Floats

Tensor = Any

LEAST = 1e-12
"""Of the largest singular value: what is smaller is rounding."""

PART = 512
"""Rows that are summed together: Gram matrices are small, and a GPU is busy only with many sums at a time."""


def compute(place: DeviceGraph, kinds: Sequence[RowSettings], seed: int = 0) -> None:
    """The rows of these kinds, which `place.rows` keeps."""
    groups: dict[Any, list[RowSettings]] = {}
    for kind in dict.fromkeys(kinds):
        groups.setdefault((kind.source, kind.steps), []).append(kind)
    if not groups:
        return
    products = [SmoothedKinds(place, tuple(group)) for group in groups.values()]
    bases, triangles, met = _iterated(place, products, seed)
    small = [triangle.cpu().numpy() for triangle in triangles]
    fine = [worst.cpu().numpy() < _good(Z.width) for Z, worst in zip(products, met, strict=True)]
    regular = [R for own, good in zip(small, fine, strict=True) for R in own[good]]
    found = iter(each(lambda R: np.linalg.svd(R.T)[:2], regular))
    for Z, basis, good in zip(products, bases, fine, strict=True):
        for kind, part, is_regular in zip(Z.kinds, basis.split(Z.width, dim=1), good, strict=True):
            place.rows[kind] = (
                _turned(place, part, *next(found), Z.columns) if is_regular else _alone(place, kind)
            )


def _turned(
    place: DeviceGraph, basis: Tensor, inner: Floats, values: Floats, columns: int
) -> SingularTensors:
    """The directions that are no rounding, as `rows.decisive` takes them."""
    kept = max(1, int((values[:columns] > LEAST * max(values[0], 1e-300)).sum()))
    return SingularTensors(basis @ place.tensor(inner[:, :kept], torch.float32), place.tensor(values[:kept]))


def _alone(place: DeviceGraph, kind: RowSettings) -> SingularTensors:
    """By `rows.smoothed_rows`."""
    rows = place.workspace.rows(kind)
    return SingularTensors(place.tensor(rows.left, torch.float32), place.tensor(rows.values))


def _good(width: int) -> float:
    """How far from orthonormal the second factorisation may find a block, as in `ritz.thin_qr`."""
    return float(np.sqrt(10 * np.sqrt(width) * np.finfo(np.float32).eps))


def _iterated(
    place: DeviceGraph, products: Sequence["SmoothedKinds"], seed: int
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Of every group (n, kinds w) bases, (kinds, w, w) the triangles of `Z'` times them, and (kinds,) how far
    from orthonormal a second factorisation found a block at worst."""
    draw = int(np.random.default_rng(seed).integers(1 << 62))
    right, met = [], list[list[Tensor]]()
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
    return (
        bases,
        triangles,
        [torch.stack(list(each_time)).amax(dim=0) for each_time in zip(*met, strict=True)],
    )


def _together(
    products: Sequence["SmoothedKinds"], blocks: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """`orthonormal` for the blocks of all groups: those of one shape at once."""
    shapes = [(len(block), Z.width) for Z, block in zip(products, blocks, strict=True)]
    found: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
    for shape in dict.fromkeys(shapes):
        own = [i for i, other in enumerate(shapes) if other == shape]
        counts = [len(products[i].kinds) for i in own]
        whole, triangle, worst = orthonormal(torch.cat([blocks[i] for i in own], dim=1), sum(counts))
        wide = whole.split([count * shape[1] for count in counts], dim=1)
        for i, block, *rest in zip(own, wide, triangle.split(counts), worst.split(counts), strict=True):
            found[i] = block.contiguous(), rest[0], rest[1]
    Q, R, met = zip(*(found[i] for i in range(len(blocks))), strict=True)
    return list(Q), list(R), list(met)


def orthonormal(block: Tensor, kinds: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q (n, kinds w) whose blocks of w columns are orthonormal, (kinds, w, w) upper R with `QR` the blocks,
    and (kinds,) how far from the identity the second Gram matrix was: infinite where a block is singular.

    >>> Q, R, worst = orthonormal(torch.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]), 1)
    >>> (Q.double() @ R[0]).round(decimals=5).tolist(), bool(worst[0] < 1e-5)
    ([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]], True)
    """
    width = block.shape[1] // kinds
    one = torch.eye(width, dtype=torch.float64, device=block.device)
    R, worst, regular = one, one, torch.ones(kinds, dtype=torch.bool, device=block.device)
    for _ in range(2):
        own = block.unflatten(1, (kinds, width)).transpose(0, 1)
        G = grams(own)
        worst = (G - one).abs().amax(dim=(1, 2))
        lower, info = torch.linalg.cholesky_ex(G)
        regular = (info == 0) & regular
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
    def features(self) -> FeatureMatrix:
        """In single precision."""
        return self.place.single(self.kinds[0].source)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.features.wide.shape

    @cached_property
    def columns(self) -> int:
        """That are wanted."""
        return min(self.place.workspace.rank, *self._shape)

    @cached_property
    def width(self) -> int:
        """Columns of a kind."""
        return width_of(self.columns, *self._shape)

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
