"""Which device, by its name: `None` is this process and its threads, without torch."""

from importlib.util import find_spec
from typing import Any

from querist.errors import InputError
from querist.lazy import needing
from querist.operator.memory import free


def graphics() -> str | None:
    """The name of the GPU that torch would use; None where there is neither."""
    if find_spec("torch") is None:
        return None
    import torch

    return "cuda" if torch.cuda.is_available() else None


def free_on(device: Any) -> float:
    """Bytes that tensors may still take on a GPU; elsewhere those of this process."""
    if device.type != "cuda":
        return free()
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
