"""The next question, worked out while the person thinks about this one.

For the question at hand every likely answer is learned on trial, the likeliest first, and the best next node
found. When the answer comes, what was worked out for it is taken; it is the very value that would be worked
out now, so nothing but the waiting depends on it.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


class Prefetcher(Generic[Found]):
    """Works out `find(outcome)` for the outcomes, in order, in a thread of its own.

    >>> ahead = Prefetcher(lambda outcome: outcome * 10, [1, 2])
    >>> ahead.take(1), ahead.take(3)
    (10, None)
    """

    def __init__(self, find: Callable[[Any], Found], outcomes: Sequence[Any]) -> None:
        self._find, self._outcomes = find, list(outcomes)
        self._found: dict[Any, Found] = {}
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        # The first is taken up before the thread runs, so that `take` waits for it instead of missing it.
        self._current = self._outcomes[0] if self._outcomes else None
        threading.Thread(target=self._work, daemon=True, name="querist-ahead").start()

    def take(self, outcome: Any) -> Found | None:
        """What was worked out for this outcome, after a wait if it is being worked out; else None."""
        self._stopped.set()
        with self._changed:
            while self._current == outcome:
                self._changed.wait()
            return self._found.get(outcome)

    def stop(self) -> None:
        """Work out nothing more."""
        self._stopped.set()

    def _work(self) -> None:
        for outcome in self._outcomes:
            with self._changed:
                if self._stopped.is_set() and outcome != self._current:
                    break
                self._current = outcome
            found = None
            # Whatever goes wrong here goes wrong again, and is told, when it is worked out in its turn.
            with suppress(Exception):
                found = self._find(outcome)
            with self._changed:
                if found is not None:
                    self._found[outcome] = found
                self._current = None
                self._changed.notify_all()
