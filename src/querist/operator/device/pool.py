"""Rows of all nodes on a device: the products by which questions are chosen, and small results back."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from querist.operator.device.blocks import NUMBERS
from querist.operator.device.choice import chosen_device
from querist.types import Bools, Floats

PIECE = 1 << 18
"""Rows that are multiplied at a time: what comes between is small beside the rows."""


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows (n, d) in this process and the same on a device; a `PoolRows` (labelling/suggest.py).

    >>> rows = DeviceRows.brought(np.array([[3.0, 4.0], [0.0, 1.0]]), "cpu")
    >>> rows.forms(np.eye(2)).tolist(), rows.gram().tolist()
    ([25.0, 1.0], [[9.0, 12.0], [12.0, 17.0]])
    """

    array: Floats
    tensor: Any

    @staticmethod
    def brought(array: Floats, device: str, *, dtype: Any = np.float64) -> "DeviceRows":
        """Rows of this process, on the device of this name too."""
        tensor = torch.as_tensor(np.ascontiguousarray(array)).to(chosen_device(device))
        return DeviceRows(array, tensor.to(NUMBERS[np.dtype(dtype)]))

    @cached_property
    def present(self) -> Bools:
        """(n,) whether a row is not zero."""
        return np.asarray(self.tensor.any(dim=1).cpu().numpy())

    def times(self, W: Floats) -> Floats:
        """(n, k) `m_i'W`, or (n,) where W is a vector."""
        return _back(self.tensor @ self._small(W))

    def forms(self, Q: Floats) -> Floats:
        """(n,) `m_i'Q m_i`."""
        Q_there = self._small(Q)
        found = self.tensor.new_empty(len(self.tensor))
        for part in self._pieces():
            X = self.tensor[part]
            found[part] = ((X @ Q_there) * X).sum(dim=1)
        return _back(found)

    def gram(self, weight: Floats | None = None) -> Floats:
        """(d, d) `sum_i w_i m_i m_i'`."""
        w = None if weight is None else self._small(weight)
        d = self.tensor.shape[1]
        total = self.tensor.new_zeros((d, d))
        for part in self._pieces():
            X = self.tensor[part]
            total += X.T @ (X if w is None else X * w[part, None])
        return _back(total)

    def total(self) -> Floats:
        """(d,) the sum of all rows."""
        return _back(self.tensor.sum(dim=0))

    def distances(self, row: int) -> Floats:
        """(n,) squared distances to one of the rows, through the inner products."""
        lengths = self._lengths
        found = lengths + lengths[row] - 2 * (self.tensor @ self.tensor[row])
        return _back(found.clamp_(min=0.0))

    @cached_property
    def _lengths(self) -> Any:
        return (self.tensor * self.tensor).sum(dim=1)

    def _small(self, matrix: Floats) -> Any:
        return torch.as_tensor(np.ascontiguousarray(matrix)).to(self.tensor)

    def _pieces(self) -> Iterator[slice]:
        return (slice(i, i + PIECE) for i in range(0, len(self.tensor), PIECE))


def _back(tensor: Any) -> Floats:
    """In this process, in float64."""
    return np.asarray(tensor.cpu().numpy(), dtype=np.float64)
