"""The channels of `KernelRidge` on a device: similarities of labelled nodes, and products with all nodes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from querist.labelling.device.place import DeviceGraph
from querist.labelling.kernel_ridge import Channels

Tensor = Any


@dataclass(frozen=True, eq=False)
class DeviceChannels:
    """`ChannelKernel` between labelled nodes and all."""

    place: DeviceGraph
    family: Channels
    labelled: Tensor

    @cached_property
    def _inverse_lengths(self) -> list[Tensor]:
        kernel = self.place.workspace.kernel(self.family)
        return [self.place.tensor(each) for each in kernel.inverse_lengths]

    @cached_property
    def _channels(self) -> list[Tensor]:
        """(features, m) a hop."""
        n, m = self.place.workspace.graph.n_nodes, len(self.labelled)
        reach = torch.zeros((n, m), dtype=torch.float64, device=self.place.device)
        reach[self.labelled, torch.arange(m, device=reach.device)] = 1.0
        tall, found = self.place.features(self.family.source).turned, []
        for hop, inverse in enumerate(self._inverse_lengths):
            reach = self.place.neighbours(reach, mean=False) if hop else reach
            found.append((tall @ reach) * inverse[self.labelled])
        return found

    def among(self) -> Tensor:
        """(m, m) of the labelled nodes."""
        return sum(Z.T @ Z for Z in self._channels)

    def times(self, nodes: Any, B: Tensor) -> Tensor:
        """(F, nodes, K) `k(nodes, labelled) B_f` of (F, m, K) coefficients, through those of the features."""
        F, m, K = B.shape
        columns = B.transpose(0, 1).reshape(m, F * K)
        wide = self.place.features(self.family.source).X
        total: Any = 0.0
        for hop, (Z, inverse) in enumerate(zip(self._channels, self._inverse_lengths, strict=True)):
            block = wide @ (Z @ columns)
            for _ in range(hop):
                block = self.place.neighbours(block)
            total = total + inverse[:, None] * block
        found = total[nodes]
        return found.reshape(len(found), F, K).transpose(0, 1)
