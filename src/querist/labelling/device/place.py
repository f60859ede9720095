"""What a workspace holds, as tensors on a device: features, counts, the network. Each is brought once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from querist.collective.device import DeviceCounts
from querist.embedding.kinds.diffusion import smoothing
from querist.graph.scaling import scaled
from querist.labelling.rows import RowSettings, Source, row_scale
from querist.labelling.workspace import Workspace
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceMatrix, DeviceOperator, compressed, torch_matrix
from querist.types import Codes

Tensor = Any


class SingularTensors(NamedTuple):
    """`left` (n, r) orthonormal columns in single precision and `values` (r,) falling, in double."""

    left: Tensor
    values: Tensor

    def of(self, nodes: Any) -> Tensor:
        """(m, r) rows of `left`, in double precision."""
        return self.left[nodes].double()


class FeatureMatrix(NamedTuple):
    """Features (n, m), and turned round (m, n)."""

    wide: DeviceMatrix
    tall: DeviceMatrix


@dataclass
class DeviceGraph:
    """The matrices of a workspace on its device.

    >>> from querist.datasets import karate
    >>> place = DeviceGraph(Workspace(karate(), device="cpu"))
    >>> place.neighbours(torch.ones((34, 1), dtype=torch.float64))[:2].round(decimals=9).tolist()
    [[1.0], [1.0]]
    """

    workspace: Workspace
    rows: dict[RowSettings, SingularTensors] = field(default_factory=dict)
    _features: dict[Source, FeatureMatrix] = field(default_factory=dict)
    _single: dict[Source, FeatureMatrix] = field(default_factory=dict)

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

    @cached_property
    def attributes(self) -> DeviceCounts:
        """The attributes as they are, in both directions."""
        X = self.workspace.graph.attributes
        assert X is not None
        arrays = compressed(X, self.device)
        return DeviceCounts.of(DeviceMatrix(*arrays, X.shape), 0.0)

    def features(self, source: Source) -> FeatureMatrix:
        """tf-idf rows of length one, as `rows.features` makes them."""
        if source not in self._features:
            self._features[source] = self._computed(source)
        return self._features[source]

    def single(self, source: Source) -> FeatureMatrix:
        """The features in single precision."""
        if source not in self._single:
            both = self.features(source)
            self._single[source] = FeatureMatrix(*(each.with_values(each.values.float()) for each in both))
        return self._single[source]

    def _computed(self, source: Source) -> FeatureMatrix:
        X = self.workspace.graph.attributes
        if source == "links":
            return _tfidf(self._linked, torch.ones_like(self._linked.X.values))
        if X is None or not X.has_canonical_format or not self.workspace.has_counts:
            own = self.workspace.features(source)
            both = DeviceCounts.of(DeviceMatrix(*compressed(own, self.device), own.shape), 0.0)
            return FeatureMatrix(both.X, both.turned)
        return _tfidf(self.attributes, self.attributes.X.values.log1p())

    @cached_property
    def _linked(self) -> DeviceCounts:
        """The adjacency in which a node that has neighbours is its own, too."""
        S = self.workspace.graph.adjacency
        n = S.shape[0]
        indptr, indices, _ = compressed(S, self.device)
        row = torch.repeat_interleave(torch.arange(n, device=self.device), indptr[1:] - indptr[:-1])
        own = torch.nonzero(self.degrees > 0).ravel()
        place = torch.cat([row * n + indices, own * n + own]).sort().values
        starts = torch.searchsorted(place, torch.arange(n + 1, device=self.device) * n)
        ones = torch.ones(len(place), dtype=torch.float64, device=self.device)
        return DeviceCounts.of(DeviceMatrix(starts, (place % n).to(torch.int32), ones, (n, n)), 0.0)

    @cached_property
    def counts(self) -> DeviceCounts:
        """`Workspace.counted`: damped where whole, 0/1 where they are fractions."""
        raw = self.attributes
        data = raw.X.values
        whole = bool((data == data.round()).all())
        values = data.log1p() if whole else (data > 0).to(data.dtype)
        floor = float(np.finfo(np.float64).tiny) * 10 * max(1e6, float(values.max()) if len(values) else 0.0)
        turned = raw.turned.with_values(values[raw.order])
        return DeviceCounts(raw.X.with_values(values), turned, raw.order, raw.row, floor)

    # -- the network -------------------------------------------------------------------------------

    @cached_property
    def smoother(self) -> DeviceOperator:
        """`smoothing(graph)`, in single precision."""
        T = smoothing(scaled(self.workspace.graph))
        return DeviceOperator.symmetric(T, str(self.device), dtype=np.float32)

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

    @cached_property
    def row_scale(self) -> Tensor:
        """(n,) of rows that are plain means, in single precision."""
        return self.tensor(row_scale(scaled(self.workspace.graph)), torch.float32)

    @cached_property
    def step(self) -> DeviceMatrix:
        """`D^-1 S`: to a mean neighbour."""
        indptr, indices, values = compressed(abs(self.workspace.graph.adjacency), self.device)
        inverse = 1 / torch.where(self.degrees > 0, self.degrees, 1.0)
        scaled = values * torch.repeat_interleave(inverse, indptr[1:] - indptr[:-1])
        return DeviceMatrix(indptr, indices, scaled, self.workspace.graph.adjacency.shape)

    def neighbours(self, B: Tensor, *, mean: bool = True) -> Tensor:
        """`Workspace.neighbours`."""
        root = self.degrees.sqrt()[:, None]
        inverse = torch.where(root > 0, 1 / root, 0.0)
        before, after = (root, inverse) if mean else (inverse, root)
        scaled = before * B
        return after * (scaled - self.walks.matmat(scaled))


def multiplied(A: DeviceMatrix, B: DeviceMatrix) -> DeviceMatrix:
    """`A B` as a sparse matrix, by torch.

    >>> one = DeviceMatrix(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0]), (2, 2))
    >>> multiplied(one, one).values.tolist()
    [6.0, 6.0]
    """
    C = torch_matrix(A.indptr, A.indices, A.values, A.shape) @ torch_matrix(
        B.indptr, B.indices, B.values, B.shape
    )
    return DeviceMatrix(C.crow_indices().long(), C.col_indices(), C.values(), (A.shape[0], B.shape[1]))


def _tfidf(both: DeviceCounts, values: Tensor) -> FeatureMatrix:
    """tf-idf rows of length one, as `weighted` makes them, from values of 0 or more on a pattern."""
    row, column, (n, m) = both.row.long(), both.X.indices.long(), both.X.shape
    often = torch.bincount(column, weights=(values != 0).double(), minlength=m)
    values = values * (1 + torch.log((1 + n) / (1 + often)))[column]
    nothing = torch.zeros(n, dtype=values.dtype, device=values.device)
    # Divided by its largest entry first, a row's sum of squares neither overflows nor vanishes.
    largest = nothing.scatter_reduce(0, row, values, "amax")
    values = values / torch.where(largest > 0, largest, 1.0)[row]
    # By a product, whose sums run in one order: adding at many places at once does not.
    one = torch.ones((m, 1), dtype=values.dtype, device=values.device)
    squares = (both.X.with_values(values**2) @ one)[:, 0]
    values = values / torch.where(squares > 0, squares, 1.0).sqrt()[row]
    return FeatureMatrix(both.X.with_values(values), both.turned.with_values(values[both.order]))
