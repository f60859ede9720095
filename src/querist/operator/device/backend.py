"""The arrays of an algorithm on a device: tensors. See operator/backend.py."""

from typing import Any, ClassVar

import numpy as np
import torch

from querist.operator.backend import Backend
from querist.operator.device.blocks import CHUNK, NUMBERS, Block, DeviceSpace
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceMatrix, DeviceOperator, compressed
from querist.types import Sparse


class DeviceBackend(Backend):
    """A device of torch.

    >>> backend = DeviceBackend("cpu")
    >>> backend.array(backend.given([[1.0, 2.0]]).sum(axis=1))
    array([3.])
    """

    xp: Any = torch
    has_factors: ClassVar[bool] = False
    at_once: ClassVar[bool] = True
    chunk: ClassVar[int] = CHUNK

    def __init__(self, name: str) -> None:
        self.name, self.device = name, chosen_device(name)

    def given(self, array: Any, dtype: Any = None) -> Block:
        """Brought to the device, unless it is there."""
        tensor = array if isinstance(array, torch.Tensor) else torch.as_tensor(np.ascontiguousarray(array))
        return tensor.to(self.device, None if dtype is None else NUMBERS[np.dtype(dtype)])

    def array(self, block: Block) -> Any:
        """Brought to this process."""
        return block.cpu().numpy()

    def space(self, n: int, dtype: Any = np.float64) -> DeviceSpace:
        """Blocks of n rows."""
        return DeviceSpace(n, np.dtype(dtype), self.device)

    def matrix(self, X: Sparse, dtype: Any = np.float64) -> DeviceMatrix:
        """Brought to the device."""
        indptr, indices, values = compressed(X, self.device)
        return DeviceMatrix(indptr, indices, values.to(NUMBERS[np.dtype(dtype)]), X.shape)

    def laplacian(self, S: Any, *, normalised: bool = False, dtype: Any = np.float64) -> DeviceOperator:
        """Brought to the device; an operator that is there stays as it is."""
        if isinstance(S, DeviceOperator):
            return S
        return DeviceOperator.laplacian(*compressed(S, self.device), normalised=normalised, dtype=dtype)

    def symmetric(self, S: Any, *, dtype: Any = np.float64) -> DeviceOperator:
        """Brought to the device."""
        return DeviceOperator.symmetric(*compressed(S, self.device), dtype=dtype)
