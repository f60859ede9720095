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
from typing import Any, TypeVar, cast


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


Method = TypeVar("Method", bound=Callable[..., Any])


def one_at_a_time(method: Method) -> Method:
    """A method that waits while another thread is in one of the same object, whose lock is `own_lock`."""

    @wraps(method)
    def waiting(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self.own_lock:
            return method(self, *args, **kwargs)

    return cast(Method, waiting)
