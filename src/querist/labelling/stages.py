"""One bar over several stages, with the time that is left, which moves also while a stage cannot tell.

A stage is worth a share of the bar. A clock shows where it stands every second. A step that cannot tell how
far it is goes by the seconds it should take; a stage that has been silent for some time, by the pace so far.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from querist.progress import Progress, with_time_left

BEAT = 1.0
"""Seconds between beats of the clock."""


class Stages:
    """Called with (stage, fraction of it, a few words); `worth` says how long stages take, compared."""

    def __init__(self, progress: Progress, worth: Mapping[str, float]) -> None:
        total, before = sum(worth.values()), 0.0
        self._spans: dict[str, tuple[float, float]] = {}
        for stage, share in worth.items():
            self._spans[stage] = before / total, share / total
            before += share
        self._show = with_time_left(progress)
        self._lock = threading.Lock()
        self._stage, self._fraction, self._text = next(iter(worth)), 0.0, ""
        self._begun = self._since = time.monotonic()
        self._seconds = 0.0

    def __call__(self, stage: str, fraction: float, text: str = "") -> None:
        """Where the work stands."""
        with self._lock:
            self._stage, self._fraction, self._text, self._seconds = stage, min(1.0, fraction), text, 0.0
            self._since = time.monotonic()
        self._tell()

    def lasting(self, stage: str, text: str, seconds: float) -> None:
        """A step begins that cannot tell, and should take so many seconds."""
        with self._lock:
            self._stage, self._fraction, self._text = stage, 0.0, text
            self._since, self._seconds = time.monotonic(), max(seconds, 0.1)
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            first, share = self._spans[self._stage]
            now, left = time.monotonic(), 1 - self._fraction
            silent, seconds = now - self._since, self._seconds
            if not seconds and silent > BEAT and first > 0:
                seconds = 2 * left * share / first * (self._since - self._begun)
            if seconds:
                # Half of the way in half of the time, and never at the end before it is.
                left *= 0.5 ** (2 * silent / seconds)
            self._show(first + (1 - left) * share, self._text)

    @contextmanager
    def ticking(self) -> Iterator["Stages"]:
        """Keep the bar alive while the body runs."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT):
                self._tell()

        clock = threading.Thread(target=beat, daemon=True)
        clock.start()
        try:
            yield self
        finally:
            done.set()
            clock.join()
