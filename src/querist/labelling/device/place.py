"""What a workspace holds, as tensors on a device: features, counts, the network. Each is brought once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from querist.collective.device import DeviceCounts
from querist.collective.mixture import CountMatrix
from querist.labelling.rows import RowSettings, Source
from querist.labelling.workspace import Workspace
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceOperator
from querist.types import Codes

Tensor = Any


class SingularTensors(NamedTuple):
    """`left` (n, r) orthonormal columns in single precision and `values` (r,) falling, in double."""

    left: Tensor
    values: Tensor

    def of(self, nodes: Any) -> Tensor:
        """(m, r) rows of `left`, in double precision."""
        return self.left[nodes].double()


@dataclass
class DeviceGraph:
    """The matrices of a workspace on its device.

    >>> from querist import load_graph
    >>> place = DeviceGraph(Workspace(load_graph("karate"), device="cpu"))
    >>> place.neighbours(torch.ones((34, 1), dtype=torch.float64))[:2].round(decimals=9).tolist()
    [[1.0], [1.0]]
    """

    workspace: Workspace
    _rows: dict[RowSettings, SingularTensors] = field(default_factory=dict)
    _features: dict[Source, DeviceCounts] = field(default_factory=dict)

    @cached_property
    def device(self) -> Any:
        """The `torch.device`."""
        assert self.workspace.device is not None
        return chosen_device(self.workspace.device)

    def tensor(self, array: Any, dtype: Any = torch.float64) -> Tensor:
        """An array of this process, on the device."""
        return torch.as_tensor(np.ascontiguousarray(array)).to(self.device, dtype)

    def places(self, nodes: Codes) -> Tensor:
        """Row numbers, on the device."""
        return self.tensor(nodes, torch.int64)

    # -- features and counts -----------------------------------------------------------------------

    def features(self, source: Source) -> DeviceCounts:
        """The features of the nodes, as the workspace makes them."""
        if source not in self._features:
            self._features[source] = self._brought(self.workspace.features(source))
        return self._features[source]

    def rows(self, settings: RowSettings) -> SingularTensors:
        """The smoothed rows of the workspace, which are computed on the device."""
        if settings not in self._rows:
            made = self.workspace.rows(settings)
            left = self.tensor(made.left, torch.float32)
            self._rows[settings] = SingularTensors(left, self.tensor(made.values))
        return self._rows[settings]

    @cached_property
    def counts(self) -> DeviceCounts:
        """`Workspace.counted`."""
        return self._brought(self.workspace.counted.attributes)

    def _brought(self, X: Any) -> DeviceCounts:
        return DeviceCounts.brought(CountMatrix(X), str(self.device), np.float64)

    # -- the network -------------------------------------------------------------------------------

    @cached_property
    def walks(self) -> DeviceOperator:
        """`Workspace.walks`."""
        S = abs(self.workspace.graph.adjacency)
        return DeviceOperator.brought(S, str(self.device), normalised=True)

    @cached_property
    def network(self) -> DeviceOperator:
        """The Laplacian of the adjacency."""
        return DeviceOperator.brought(self.workspace.graph.adjacency, str(self.device))

    @cached_property
    def degrees(self) -> Tensor:
        """(n,)."""
        return self.tensor(self.workspace.graph.degrees)

    def neighbours(self, B: Tensor, *, mean: bool = True) -> Tensor:
        """`Workspace.neighbours`."""
        root = self.degrees.sqrt()[:, None]
        inverse = torch.where(root > 0, 1 / root, 0.0)
        before, after = (root, inverse) if mean else (inverse, root)
        scaled = before * B
        return after * (scaled - self.walks.matmat(scaled))
