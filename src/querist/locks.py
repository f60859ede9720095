"""One thread at a time: for objects that several threads may use, and that change.

>>> class Counter:
...     def __init__(self):
...         self.own_lock, self.count = OwnLock(), 0
...
...     @one_at_a_time
...     def add(self):
...         self.count += 1
>>> counter = Counter()
>>> counter.add()
>>> counter.count
1
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class OwnLock:
    """A lock that its thread may take again; a copy of what holds it has a lock of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *problem: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return OwnLock, ()


class Locked(Protocol):
    """Something with a lock."""

    own_lock: OwnLock


Own = TypeVar("Own", bound=Locked)
Given = ParamSpec("Given")
Found = TypeVar("Found")


def one_at_a_time(
    method: Callable[Concatenate[Own, Given], Found],
) -> Callable[Concatenate[Own, Given], Found]:
    """A method that waits while another thread is in one of the same object."""

    @wraps(method)
    def waiting(self: Own, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        with self.own_lock:
            return method(self, *args, **kwargs)

    return waiting
