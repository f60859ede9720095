"""What requests write to the log of a campaign, several of them in one transaction.

Every request decides what to write by what the log says; where somebody else was first, on this server or
another, it decides anew. Requests that look at one row each, all at different rows, do not need to know of
each other: those that wait at the same time are written together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from querist.asking.store.events import ConflictError, Draft, Event, MakeReply
from querist.errors import QueristError

if TYPE_CHECKING:
    from querist.serve.campaign import ServedCampaign

TOGETHER = 32
"""Most requests that are written in one transaction."""
TRIES = 50
"""Times that a request decides anew because somebody else was first."""


class RefusedError(QueristError):
    """A request that cannot be done as things are: `status` is that of HTTP."""

    def __init__(self, text: str, status: int = 409) -> None:
        super().__init__(text)
        self.status = status


@dataclass(eq=False)
class PendingWrite:
    """Something to be written: the events that `decide` drafts, and the reply under its key.

    `row` is the only one that `decide` looks at; None where it looks at more. Once it is `done` there are its
    `events`, None where its key is taken; or a `problem`.
    """

    decide: Callable[[], list[Draft]]
    reply: tuple[str, MakeReply] | None = None
    row: int | None = None
    done: bool = False
    events: list[Event] | None = None
    problem: BaseException | None = None

    def finish(self, events: list[Event] | None = None, problem: BaseException | None = None) -> None:
        """It is done with: written, not to be written, or a problem of whoever asked for it."""
        self.events, self.problem, self.done = events, problem, True


class Writer:
    """Writes for one campaign."""

    def __init__(self, campaign: "ServedCampaign") -> None:
        self.campaign = campaign
        self.pending: deque[PendingWrite] = deque()
        """Those that wait, and may be written with others."""
        self._turns = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()

    def write(self, own: PendingWrite) -> PendingWrite:
        """Write it; the thread waits until it is done."""
        if own.row is not None:
            self.pending.append(own)
        self._take_turn(own)
        return own

    async def write_soon(self, own: PendingWrite) -> PendingWrite:
        """The same about one row; requests that wait on one event loop share a thread."""
        self.pending.append(own)
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if not own.done:
                await asyncio.to_thread(self._take_turn, own)
        return own

    # -- inside -------------------------------------------------------------------------------------------

    def _take_turn(self, own: PendingWrite) -> None:
        with self.campaign.lock:
            if not own.done:
                if own.row is not None:
                    self.pending.remove(own)
                self._finish([own, *self._others(own)])

    def _others(self, first: PendingWrite) -> list[PendingWrite]:
        """Those that wait about other rows."""
        found, later, rows = list[PendingWrite](), list[PendingWrite](), {first.row}
        while first.row is not None and self.pending and len(found) < TOGETHER - 1:
            request = self.pending.popleft()
            (later if request.row in rows else found).append(request)
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
            if any(refusal or not drafts for _, drafts, refusal in drafted) and self.campaign.catch_up():
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
                found = self.campaign.append_all([(drafts, each.reply) for each, drafts in parts])
            except ConflictError:
                if not self.campaign.catch_up():
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
