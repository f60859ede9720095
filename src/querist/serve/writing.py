"""What requests write to the log of a campaign, several of them in one transaction.

Every request decides what to write by what the log says; where somebody else was first, on this server or
another, it decides anew. Requests that look at one row each, all at different rows, do not need to know of
each other: those that wait at the same time are written together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from querist.asking.store.events import ConflictError, Draft, Event
from querist.errors import QueristError

if TYPE_CHECKING:
    from querist.serve.campaign import ServedCampaign

TOGETHER = 32
"""Most requests that are written in one transaction."""
TRIES = 50
"""Times that a request decides anew because somebody else was first."""

Decision = tuple[Sequence[Draft], dict[str, Any]]
"""The events that a request writes, and its response, to which `seq`, the newest event, is added."""


class RefusedError(QueristError):
    """A request that cannot be done as things are: `status` is that of HTTP."""

    def __init__(self, text: str, status: int = 409) -> None:
        super().__init__(text)
        self.status = status


@dataclass(eq=False)
class PendingWrite:
    """Something to be written: what `decide` says, and the response under its `key`, beside a digest.

    `row` is the only one that `decide` looks at; None where it looks at more. `written` has its events once
    they are in the store, None where its key is taken.
    """

    decide: Callable[[], Decision]
    key: tuple[str, str] | None = None
    row: int | None = None
    drafts: Sequence[Draft] = ()
    response: dict[str, Any] = field(default_factory=dict)
    refusal: RefusedError | None = None
    written: Future[Sequence[Event] | None] = field(default_factory=Future)

    def draft(self) -> None:
        """Decide, by what the log says now."""
        self.drafts, self.response, self.refusal = (), {}, None
        try:
            self.drafts, self.response = self.decide()
        except RefusedError as refusal:
            self.refusal = refusal

    def finish(self, events: Sequence[Event], seq: int) -> int:
        """It is written, after the event `seq`; the newest event then."""
        seq = events[-1].seq if events else seq
        self.response = {"seq": seq, **self.response}
        self.written.set_result(events)
        return seq


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
            if not own.written.done():
                await asyncio.to_thread(self._take_turn, own)
        return own

    # -- inside -------------------------------------------------------------------------------------------

    def _take_turn(self, own: PendingWrite) -> None:
        """Write it with those that wait about other rows, unless somebody did; all of them are done then."""
        with self.campaign.lock:
            if own.written.done():
                return
            requests, later, rows = [own], list[PendingWrite](), {own.row}
            if own.row is not None:
                self.pending.remove(own)
            while own.row is not None and self.pending and len(requests) < TOGETHER:
                request = self.pending.popleft()
                (later if request.row in rows else requests).append(request)
                rows.add(request.row)
            self.pending.extendleft(reversed(later))
            try:
                self._append(requests)
            except BaseException as problem:
                for each in requests:
                    if not each.written.done():
                        each.written.set_exception(problem)

    def _append(self, requests: Sequence[PendingWrite]) -> None:
        """Write requests about different rows; a refusal stands when all there is was seen."""
        for _ in range(TRIES):
            for each in requests:
                each.draft()
            if not all(each.drafts for each in requests) and self.campaign.catch_up():
                continue
            seq, left = self.campaign.last, list[PendingWrite]()
            for each in requests:
                if each.refusal is not None:
                    each.written.set_exception(each.refusal)
                elif each.drafts or each.key is not None:
                    left.append(each)
                else:
                    each.finish((), seq)
            if not left:
                return
            parts = [(each.drafts, None if each.key is None else (*each.key, each.response)) for each in left]
            try:
                found = self.campaign.append_all(parts)
            except ConflictError:
                requests = left
                if self.campaign.catch_up():
                    continue
                # Nothing is newer: it is the key of one of them.
                if len(requests) == 1:
                    requests[0].written.set_result(None)
                else:
                    for each in requests:
                        self._append([each])
                return
            for each, events in zip(left, found, strict=True):
                seq = each.finish(events, seq)
            return
        raise RefusedError("too many others write to this campaign at once; try again", 503)
