"""Which device, by its name: `None` is this process and its threads, without torch."""

from typing import Any

from querist.errors import InputError
from querist.lazy import needing


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
