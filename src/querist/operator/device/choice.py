"""Which device, by its name: `None` is this process and its threads, without torch; "auto" has one rule.

`device="auto"` takes a GPU if the graph has at least `LARGE` nodes and edges together, torch sees a GPU, and
the work fits into its free memory. Otherwise it takes the threads of this process.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from querist import memory
from querist.errors import InputError
from querist.lazy import needing

FILES = ("/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg")
"""Of the drivers of GPUs that torch calls "cuda", on Linux."""

LARGE = 100_000
"""Nodes and edges together from which "auto" looks for a GPU. Smaller graphs take a CPU a few seconds, and
loading torch takes three."""


class ChosenDevice(NamedTuple):
    """The `name` of a device, None for the threads of this process; `why`, if "auto" was asked for."""

    name: str | None
    why: str = ""


def driver_there() -> bool:
    """Whether the system shows a GPU: asked before torch, which takes seconds to load."""
    return not sys.platform.startswith("linux") or any(Path(file).exists() for file in FILES)


def graphics() -> str | None:
    """The name of the GPU that torch would use; None where there is neither."""
    if find_spec("torch") is None or not driver_there():
        return None
    import torch

    return "cuda" if torch.cuda.is_available() else None


def free_on(device: Any) -> float:
    """Bytes that tensors may still take on a GPU; elsewhere those of this process."""
    if device.type != "cuda":
        return memory.free()
    import torch

    return float(torch.cuda.mem_get_info(device)[0])


def chosen_device(name: str) -> Any:
    """The `torch.device` of a name ("cuda", "cuda:1", "cpu", whatever torch knows), if it can be used."""
    with needing("torch", f"device {name!r}"):
        import torch
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (
        RuntimeError,
        AssertionError,
        TypeError,
        ValueError,
    ) as problem:  # no such device, or not in torch
        reason = str(problem).splitlines()[0]
        raise InputError(
            f"device {name!r} cannot be used ({reason}); name one that torch has, or leave the device out"
        ) from None
    return device


def check_device(asked: str | None) -> None:
    """Refuse a device that cannot be used, before anything else is done."""
    if asked not in (None, "auto"):
        chosen_device(asked)


def device_for(asked: str | None, what: str, size: int, need: float | None) -> ChosenDevice:
    """The device for some work: none (`asked` is None), the one of that name, or by the rule of "auto".

    `size` is the number of nodes and edges, `need` the bytes on the device, None if the work cannot be done
    on one. A device that was named and has too little memory is refused.

    >>> device_for("auto", "this", 1000, 1e6).why
    'device="auto" takes the CPU: the graph has fewer than 100,000 nodes and edges'
    """
    if asked is None:
        return ChosenDevice(None)
    if asked != "auto":
        room = free_on(chosen_device(asked))
        memory.check(need or 0.0, what, "leave the device out", room=room, where=f" on {asked}")
        return ChosenDevice(asked)
    if need is None:
        return _threads("this is not done on a GPU")
    if size < LARGE:
        return _threads(f"the graph has fewer than {LARGE:,} nodes and edges")
    name = graphics()
    if name is None:
        return _threads("torch sees no GPU")
    room = free_on(chosen_device(name))
    sizes = f"{need / 1e9:,.1f} GB are needed there and {room / 1e9:,.1f} GB are free"
    return _threads(f"of {name}, {sizes}") if need > room else ChosenDevice(name, _taken(name, sizes))


def _threads(why: str) -> ChosenDevice:
    return ChosenDevice(None, _taken("the CPU", why))


def _taken(what: str, why: str) -> str:
    return f'device="auto" takes {what}: {why}'
