"""One way to compile a kernel: numba, cached on disk, strict floating point.

Every sum is taken in the order it is written, so two compiled functions that
add in the same order agree to the last bit; `compiled_lanes` gives that up for
one function at a time.

Kernels get all their arrays from outside and allocate nothing, so they are
compiled without reference counting: the atomic counters cost more than the
arithmetic of a short round.

The cached code of a kernel holds the kernels it calls. Numba looks only at the
kernel's own file to see whether it is out of date; here an edit to any file of
its package, of the operator, whose kernels other packages call, or beside this
makes it so.

Numba has no public way to say the last two; where a version of it lacks the ways
taken here, kernels count references, and every process compiles them anew, since
cached code that may be out of date is never run.
"""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numba

known_options: Any = None
try:
    from numba.core.options import DefaultOptions

    known_options = DefaultOptions
except ImportError:
    pass

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_UNCOUNTED = "_nrt"


def compiled(function: F, *modules: ModuleType) -> F:
    """Compile on first call; later processes load the cached machine code.

    An edit in the package of one of the modules makes the cached code out of date too.

    >>> from querist.operator.push import clear, push_room
    >>> clear(push_room(2), 0)
    """
    return _cached(function, _OPTIONS, *modules)


def compiled_inside(function: F) -> F:
    """`compiled` for a kernel that others call at every item: its code is put where the call was.

    A call copies the arrays of every record that it is given, field by field.
    """
    return _cached(function, {**_OPTIONS, "inline": "always"})


def compiled_fused(function: F) -> F:
    """`compiled`, but a product and a sum may become one instruction, which rounds once."""
    return _cached(function, {**_OPTIONS, "fastmath": {"contract"}})


def compiled_lanes(function: F) -> F:
    """The same, but sums may be taken in vector lanes, in an order that the compiler chooses.

    It chooses once, when it compiles this function; callers take over the compiled code, so equal inputs
    give equal bits wherever it is called from.

    >>> import numpy as np
    >>> from querist.triangle import dot
    >>> dot(np.ones(3), np.ones(3), 3)
    3.0
    """
    return _cached(function, {**_OPTIONS, "fastmath": {"reassoc", "contract"}})


def _cached(function: F, options: dict[str, Any], *modules: ModuleType) -> F:
    if hasattr(known_options, _UNCOUNTED):
        options = {**options, _UNCOUNTED: False}
    dispatcher: Any = numba.njit(**options)(function)
    file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if not hasattr(file, "_version"):
        return cast(F, numba.njit(**{**options, "cache": False})(function))
    # Read before anything else of the file, which may name classes that are no longer there.
    files = [inspect.getfile(function), *map(inspect.getfile, modules)]
    file._version = f"{file._version} {[_stamp(Path(each).parent) for each in files]}"
    return cast(F, dispatcher)


@functools.cache
def _stamp(package: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every source file of a package, and of those that all packages share."""
    shared = Path(__file__).parent
    files = sorted({path for place in (package, shared, shared / "operator") for path in place.glob("*.py")})
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
