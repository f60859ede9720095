"""The operator's back end on a device that torch knows: a GPU, or the CPU by the same code."""

from querist.operator.device.blocks import DeviceSpace
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceOperator

__all__ = ["DeviceOperator", "DeviceSpace", "chosen_device"]
