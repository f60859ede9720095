"""What requests write to the log of a campaign, several of them in one transaction.

Every request decides what to write by what the log says; where somebody else was first, on this server or
another, it decides anew. Requests that look at one row each, all at different rows, do not need to know of
each other: those that wait at the same time are written together.
"""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from querist.asking.store.events import Draft, Event
from querist.asking.store.interface import ConflictError, MakeReply, Part
from querist.errors import QueristError

TOGETHER = 32
"""Most requests that are written in one transaction."""
TRIES = 50
"""Times that a request decides anew because somebody else was first."""


class RefusedError(QueristError):
    """A request that cannot be done as things are: `status` is that of HTTP."""

    def __init__(self, text: str, status: int = 409) -> None:
        super().__init__(text)
        self.status = status


class Log(Protocol):
    """The log of a campaign, as one server knows it."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while it is read and written."""

    def catch_up(self) -> int:
        """Take in what others wrote; how many events."""

    def append_all(self, parts: Sequence[Part]) -> list[list[Event]]:
        """Write after the newest event that is known here, and take it in."""


class PendingWrite:
    """Something to be written: the events that `decide` drafts, and the reply under its key.

    `row` is the only one that `decide` looks at; None where it looks at more. Once it is `done` there are its
    `events`, None where its key is taken; or a `problem`.
    """

    def __init__(
        self,
        decide: Callable[[], list[Draft]],
        reply: tuple[str, MakeReply] | None = None,
        row: int | None = None,
    ) -> None:
        self.decide, self.reply, self.row = decide, reply, row
        self.done = False
        self.events: list[Event] | None = None
        self.problem: BaseException | None = None
        self.waiting: asyncio.Future[None] | None = None
        """Of a request that waits without a thread."""

    def finish(self, events: list[Event] | None = None, problem: BaseException | None = None) -> None:
        """It is done with: written, not to be written, or a problem of whoever asked for it."""
        self.events, self.problem, self.done = events, problem, True


class Writer:
    """Writes for one campaign."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.pending: deque[PendingWrite] = deque()
        """Those that wait, and may be written with others."""
        self._came, self._ended = threading.Event(), False
        self._thread: threading.Thread | None = None

    def write(self, own: PendingWrite) -> None:
        """Write it; the thread waits until it is done."""
        if own.row is not None:
            self.pending.append(own)
        with self.log.lock:
            if own.done:
                return
            if own.row is not None:
                self.pending.remove(own)
            together = [own, *self._others(own)]
            self._finish(together)
        _tell(together)

    async def write_soon(self, own: PendingWrite) -> None:
        """Write it, in a thread that all such requests share."""
        own.waiting = asyncio.get_running_loop().create_future()
        self.pending.append(own)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name=f"querist-writer-{id(self)}")
            self._thread.start()
        self._came.set()
        await own.waiting

    def close(self) -> None:
        """Write what waits, and no more."""
        self._ended = True
        self._came.set()
        if self._thread is not None:
            self._thread.join(10.0)

    # -- inside -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ended or self.pending:
            self._came.wait()
            self._came.clear()
            while self.pending:
                with self.log.lock:
                    if not self.pending:
                        break
                    first = self.pending.popleft()
                    together = [first, *self._others(first)]
                    self._finish(together)
                _tell(together)

    def _others(self, first: PendingWrite) -> list[PendingWrite]:
        """Those that wait about other rows."""
        if first.row is None:
            return []
        found, later, rows = list[PendingWrite](), list[PendingWrite](), {first.row}
        while self.pending and len(found) < TOGETHER - 1:
            request = self.pending.popleft()
            if request.row is None or request.row in rows:
                later.append(request)
            else:
                found.append(request)
                rows.add(request.row)
        self.pending.extendleft(reversed(later))
        return found

    def _finish(self, requests: Sequence[PendingWrite]) -> None:
        """See to it that all of them are done."""
        try:
            self._append(requests)
        except BaseException as problem:
            for each in requests:
                if not each.done:
                    each.finish(problem=problem)

    def _append(self, requests: Sequence[PendingWrite]) -> None:
        """Write requests about different rows; a refusal stands when all there is was seen."""
        for _ in range(TRIES):
            drafted = [(each, *_decided(each)) for each in requests]
            if any(refusal or not drafts for _, drafts, refusal in drafted) and self.log.catch_up():
                continue
            for each, drafts, refusal in drafted:
                if refusal is not None:
                    each.finish(problem=refusal)
                elif not drafts and each.reply is None:
                    each.finish([])
            parts = [(each, drafts) for each, drafts, _ in drafted if not each.done]
            requests = [each for each, _ in parts]
            if not requests:
                return
            try:
                found = self.log.append_all([(drafts, each.reply) for each, drafts in parts])
            except ConflictError:
                if not self.log.catch_up():
                    # Nothing is newer: it is the key of one of them.
                    self._find_taken(requests)
                    return
                continue
            for each, events in zip(requests, found, strict=True):
                each.finish(events)
            return
        raise RefusedError("too many others write to this campaign at once; try again", 503)

    def _find_taken(self, requests: Sequence[PendingWrite]) -> None:
        if len(requests) > 1:
            for each in requests:
                self._append([each])
        else:
            requests[0].finish(None)


def _decided(request: PendingWrite) -> tuple[list[Draft], RefusedError | None]:
    try:
        return request.decide(), None
    except RefusedError as refusal:
        return [], refusal


def _tell(requests: Sequence[PendingWrite]) -> None:
    """Wake those who wait without a thread: all of a loop at once."""
    waiting = defaultdict(list)
    for each in requests:
        if each.waiting is not None:
            waiting[each.waiting.get_loop()].append(each.waiting)
    for loop, futures in waiting.items():
        loop.call_soon_threadsafe(_wake, futures)


def _wake(futures: Sequence["asyncio.Future[None]"]) -> None:
    for future in futures:
        if not future.done():  # whoever asked may have gone
            future.set_result(None)
