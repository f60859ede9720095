"""The kernels of `KernelRidge` on a device: similarities of labelled nodes, and products with all nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch

from querist.labelling.device.place import DeviceGraph, multiplied
from querist.labelling.device.ridge_rows import unit_lengths
from querist.labelling.kernel_ridge import (
    LANDMARKS,
    RANK,
    SKETCH,
    WIDTHS,
    ChannelKernel,
    Channels,
    Gaussians,
    measured_exactly,
    typical_distance,
)

Tensor = Any

BLOCK = 1 << 16
"""Nodes whose distances are held at a time."""


class DeviceKernels(Protocol):
    """Some kernels between labelled nodes and all."""

    def among(self) -> Tensor:
        """(kernels, m, m) of the labelled nodes."""

    def times(self, nodes: Any, B: Tensor, chosen: Sequence[int]) -> Tensor:
        """(F, nodes, K) `k(nodes, labelled) B_f` for each of (F, m, K), by the kernel chosen for it."""


@dataclass(frozen=True, eq=False)
class DeviceGaussians:
    """`GaussianKernel`, one a width."""

    place: DeviceGraph
    family: Gaussians
    labelled: Tensor

    @cached_property
    def _points(self) -> tuple[Tensor, Tensor | None]:
        """The points, or the columns to be scaled and the lengths to divide them by."""
        if self.family.rows is None:
            return self.place.tensor(self.place.workspace.standardised), None
        rows = self.place.rows[self.family.rows]
        return rows.left[:, :RANK], rows.values[:RANK]

    def _at(self, nodes: Any) -> Tensor:
        points, values = self._points
        part = points[nodes].double()
        if values is None:
            return part
        part = part * values
        return part / unit_lengths(part)

    @cached_property
    def _labelled(self) -> Tensor:
        return self._at(self.labelled)

    @cached_property
    def _widths(self) -> list[float]:
        n = self.place.workspace.graph.n_nodes
        some = np.random.default_rng(0).permutation(n)[:LANDMARKS]
        typical = typical_distance(self._at(self.place.places(some)).cpu().numpy())
        return [width * typical for width in WIDTHS]

    def _distances(self, X: Tensor) -> Tensor:
        own = self._labelled
        found = (X**2).sum(dim=1)[:, None] + (own**2).sum(dim=1) - 2 * X @ own.T
        return found.clamp(min=0)

    def among(self) -> Tensor:
        """By the distances."""
        D = self._distances(self._labelled)
        return torch.stack([torch.exp(-D / width) for width in self._widths])

    def times(self, nodes: Any, B: Tensor, chosen: Sequence[int]) -> Tensor:
        """A block of nodes at a time; fits of one width at once."""
        every: Any = torch.arange(self.place.workspace.graph.n_nodes, device=self.place.device)[nodes]
        parts: list[Tensor] = []
        for some in every.split(BLOCK):
            D = self._distances(self._at(some))
            found = torch.empty((len(B), len(some), B.shape[2]), dtype=B.dtype, device=B.device)
            for kernel in set(chosen):
                own = [f for f, other in enumerate(chosen) if other == kernel]
                found[own] = torch.exp(-D / self._widths[kernel]) @ B[own]
            parts.append(found)
        return torch.cat(parts, dim=1)


@dataclass(frozen=True, eq=False)
class DeviceChannels:
    """`ChannelKernel`."""

    place: DeviceGraph
    family: Channels
    labelled: Tensor

    @cached_property
    def _inverse_lengths(self) -> list[Tensor]:
        workspace, source, hops = self.place.workspace, self.family.source, self.family.hops
        if measured_exactly(workspace, source, hops):
            return self._exact()
        wide, found = self.place.features(source).wide, []
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(wide.shape[1], SKETCH))
        block = wide @ self.place.tensor(signs / np.sqrt(SKETCH))
        for hop in range(hops + 1):
            block = self.place.neighbours(block) if hop else block
            length = torch.linalg.vector_norm(block, dim=1)
            found.append(torch.where(length > 0, 1 / length, 0.0))
        return found

    def _exact(self) -> list[Tensor]:
        """From the channels of all nodes; in this process where torch cannot multiply sparse matrices."""
        workspace, source, hops = self.place.workspace, self.family.source, self.family.hops
        step, block, found = self.place.step, self.place.features(source).wide, []
        try:
            for hop in range(hops + 1):
                block = multiplied(step, block) if hop else block
                squares = block.with_values(block.values**2) @ torch.ones_like(block.values[:1]).expand(
                    block.shape[1], 1
                )
                found.append(torch.where(squares > 0, squares.rsqrt(), 0.0)[:, 0])
        except RuntimeError:
            kernel = ChannelKernel(workspace, source, hops)
            found = [self.place.tensor(one) for one in kernel.inverse_lengths]
        return found

    @cached_property
    def _channels(self) -> list[Tensor]:
        """(features, m) a hop."""
        n, m = self.place.workspace.graph.n_nodes, len(self.labelled)
        reach = torch.zeros((n, m), dtype=torch.float64, device=self.place.device)
        reach[self.labelled, torch.arange(m, device=reach.device)] = 1.0
        tall, found = self.place.features(self.family.source).tall, []
        for hop, inverse in enumerate(self._inverse_lengths):
            reach = self.place.neighbours(reach, mean=False) if hop else reach
            found.append((tall @ reach) * inverse[self.labelled])
        return found

    def among(self) -> Tensor:
        """One."""
        return sum(Z.T @ Z for Z in self._channels)[None]

    def times(self, nodes: Any, B: Tensor, chosen: Sequence[int]) -> Tensor:
        """Through coefficients of the features, of all fits at once."""
        F, m, K = B.shape
        columns = B.transpose(0, 1).reshape(m, F * K)
        wide = self.place.features(self.family.source).wide
        total: Any = 0.0
        for hop, (Z, inverse) in enumerate(zip(self._channels, self._inverse_lengths, strict=True)):
            block = wide @ (Z @ columns)
            for _ in range(hop):
                block = self.place.neighbours(block)
            total = total + inverse[:, None] * block
        found = total[nodes]
        return found.reshape(len(found), F, K).transpose(0, 1)
