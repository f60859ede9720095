"""One way to compile a kernel: numba, cached on disk, strict floating point.

No `fastmath`: every sum is taken in the order it is written, so two compiled
functions that add in the same order agree to the last bit.

Kernels get all their arrays from outside and allocate nothing, so they are
compiled without reference counting: the atomic counters cost more than the
arithmetic of a short round.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: F) -> F:
    """Compile on first call; later processes load the cached machine code."""
    return cast(F, numba.njit(**_OPTIONS)(function))
