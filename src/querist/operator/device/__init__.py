"""The operator's back end on a device that torch knows: a GPU, or the CPU by the same code."""

from querist.operator.device.blocks import DeviceSpace
from querist.operator.device.choice import chosen_device, free_on
from querist.operator.device.matrix import DeviceMatrix, DeviceOperator

__all__ = ["DeviceMatrix", "DeviceOperator", "DeviceSpace", "chosen_device", "free_on"]
