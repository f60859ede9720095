"""Which device, by its name: `None` is this process and its threads, without torch; and what there is."""

import sys
import time
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.lazy import needing
from querist.operator import memory
from querist.operator.place import CountedWork, Place, Resources, placed
from querist.operator.threads import available

FILES = ("/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg")
"""Of the drivers of GPUs that torch calls "cuda", on Linux."""

LONG = 20.0
"""Seconds from which it is worth loading torch to say what a GPU would take, where nobody asked for one."""

COPIED_BYTES = 1 << 28
"""Of the copy by which the pace of a GPU is measured."""


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
    except (RuntimeError, AssertionError) as problem:  # no such device, or torch was built without it
        reason = str(problem).splitlines()[0]
        raise InputError(
            f"device {name!r} cannot be used ({reason}); name one that torch has, or leave the device out"
        ) from None
    return device


def check_device(asked: str | None) -> None:
    """Refuse a device that cannot be used, before anything else is done."""
    if asked not in (None, "auto"):
        chosen_device(asked)


@cache
def copied_on(name: str) -> float | None:
    """Bytes that a GPU reads and writes in a second, by a copy, measured once; None for another device, and
    where there is no room for the copy."""
    device = chosen_device(name)
    if device.type != "cuda" or free_on(device) < 4 * COPIED_BYTES:
        return None
    import torch

    one, other = (torch.zeros(COPIED_BYTES // 4, device=device) for _ in "ab")
    best = float("inf")
    for _ in range(4):  # the first is slow
        torch.cuda.synchronize(device)
        started = time.perf_counter()
        other.copy_(one)
        torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - started)
    del one, other
    torch.cuda.empty_cache()
    return 2 * COPIED_BYTES / best


def resources(asked: str | None, *, look: bool = True) -> Resources:
    """What there is here, and of the device asked for; where none is named, of a GPU, if one may be looked
    for and is there."""
    here = Resources(available(), memory.free(), looked=look)
    name = (graphics() if look else None) if asked in (None, "auto") else asked
    if name is None:
        return here
    device = chosen_device(name)
    return replace(here, device=name, device_free=free_on(device), copied=copied_on(name))


def place_for(work: CountedWork, asked: str | None) -> Place:
    """Where to do the work: on the threads (None), a device by its name, or where it is done first ("auto").

    Where nobody asked, a GPU is looked for where that is quick, or little beside the work.
    """
    if asked is not None:
        return placed(work, resources(asked), asked)
    alone = resources(None, look=False)
    found = placed(work, alone, None)
    if not found.said or (driver_there() and (found.seconds or 0.0) < LONG):
        return found
    return placed(work, resources(None), None)
