"""The learner of a campaign, beside the requests: it follows the events and keeps the next questions ready.

It works in a thread of its own, niced, so that whoever answers never waits for it. What it has ready was
chosen by the answers it had seen; a question is given out as long as nobody else was asked about its node.
"""

import os
import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from querist.asking.campaign import Asking
from querist.asking.choosers import Pick
from querist.asking.store.events import Event
from querist.operator.threads import one_blas_thread

NICE = 10
LEAST, MOST = 2, 24
"""Questions that are kept ready: as many as people asked for of late, between these."""
FEW, MOST_AT_ONCE = 8, 8
"""Where more than the first number are to be ready, half of those that are missing are chosen for the work of
one, up to so many; they do not know of each other."""
PART = 6
"""One in so many of those that are to be ready may be missing, before others are chosen: where many people
ask, that many at once."""
SLICE = 0.1
"""Seconds of learning, before questions are made ready again."""
PAUSE, LONGEST = 3.0, 0.1
"""Where requests wait to be written, they have the processor to themselves for so many times what an event
took to learn; at most so many seconds."""
REST = 1.0
"""What is ready is chosen anew after so many times as long as choosing took: so long others have the
processor."""
CURVE = 400
"""Points that are kept of how the expected accuracy grew."""


class BackgroundLearner:
    """Follows the events of a campaign; the `Candidates` of its policy are at hand. `ready` are questions.

    `fresh` says of a row whether nobody was asked about it, `busy` whether requests wait to be written.
    """

    def __init__(
        self, asking: Asking, seq: int, fresh: Callable[[int], bool], busy: Callable[[], bool]
    ) -> None:
        self.asking, self.state, self._fresh, self._busy = asking, asking.state, fresh, busy
        self.seq = self._fed = seq
        """The newest event that was learned."""
        self.ready: list[Pick] = []
        self._doubts = asking.state.doubts()
        self._exhausted = False
        self._waiting: list[tuple[float, int, threading.Event]] = []
        """Since when somebody waits for a question, who, and what calls them; the first to ask first."""
        self._stale = False
        """Whether something was learned since what is ready was chosen."""
        self._unnoted = False
        """Whether something was learned since the last point of the curve."""
        self._rested = 0.0
        """When what is ready may be chosen anew, and a point be noted."""
        self.wanted = LEAST
        self.curve: list[tuple[int, float]] = []
        """(answers, expected accuracy), after each time that answers were learned."""
        self.failed: BaseException | None = None
        self.lock = threading.RLock()
        """Held while an event is learned: whoever walks through the state holds it too."""
        self._events: deque[Event] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._work, daemon=True, name=f"querist-learner-{id(self)}")
        self._thread.start()

    def feed(self, events: Sequence[Event]) -> None:
        """Events that were written."""
        if not events:
            return
        with self._changed:
            self._events.extend(events)
            self._fed = events[-1].seq
            self.ready = [pick for pick in self.ready if self._fresh(pick.row)]
            self._changed.notify_all()

    def doubts(self) -> list[tuple[int, float]]:
        """(row, belief) of the answered rows, the least sure first, by what was learned."""
        return self._doubts

    def pick(self, taken: Collection[int] = ()) -> Pick | None:
        """The first question that is ready about a fresh row, but for those taken; None where there is none,
        now. It stays ready until its row is no more fresh: somebody else may be first to write it down."""
        with self._changed:
            fresh = (pick for pick in self.ready if pick.row not in taken and self._fresh(pick.row))
            return next(fresh, None)

    def want(self, count: int) -> None:
        """Keep about so many questions ready, and one for everybody who waits."""
        with self._changed:
            self.wanted = max(LEAST, min(count + len(self._waiting), MOST))
            self._changed.notify_all()

    def wait(self, timeout: float, since: float) -> None:
        """Wait until a question is ready that nobody waits for who asked before `since`, or it is clear that
        there is none, or that it takes too long."""
        called = threading.Event()
        own = since, threading.get_ident(), called
        with self._changed:
            insort(self._waiting, own)
            self._wake()
        called.wait(timeout)
        with self._changed, suppress(ValueError):
            self._waiting.remove(own)

    def _wake(self) -> None:
        """Call as many of those who wait as there are questions ready; all, where there will be none."""
        self._changed.notify_all()
        ready = sum(self._fresh(pick.row) for pick in self.ready)
        count = len(self._waiting) if self.complete or self.failed is not None else ready
        for _, _, called in self._waiting[:count]:
            called.set()
        del self._waiting[:count]

    @property
    def complete(self) -> bool:
        """Whether there is nothing to ask about, by all events."""
        return self._exhausted and not self.ready and self.seq >= self._fed

    def caught_up(self, seq: int, timeout: float) -> bool:
        """Wait until the event `seq` is learned."""
        with self._changed:
            return self._changed.wait_for(lambda: self.seq >= seq or self.failed is not None, timeout)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(10.0)

    # -- inside -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with suppress(OSError, AttributeError):  # where a thread has no priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            with one_blas_thread():
                self._note()
                while self._step():
                    pass
        except BaseException as problem:
            with self._changed:
                self.failed = problem
                self._wake()
            raise

    def _step(self) -> bool:
        """Learn what came, then make questions ready; False at the end."""
        with self._changed:
            while not (
                self._ended or self._events or (len(self.ready) < self._enough and not self._exhausted)
            ):
                rest = self._rested - time.monotonic()
                behind = self._stale or self._unnoted
                if behind and rest <= 0:
                    break
                self._changed.wait(rest if behind else None)
            if self._ended:
                return False
        events = self._learn_some()
        learned = any(event.kind not in ("question", "lease", "beat", "comment") for event in events)
        self._stale |= learned
        self._unnoted |= learned
        began = time.monotonic()
        rested = began >= self._rested
        if self._unnoted and rested and not self._events:
            self._note()
        if learned:
            self._doubts = self.state.doubts()
        put = self.state.turns.rows
        with self._changed:
            if events:
                self.seq, self._exhausted = events[-1].seq, False
            enough = sum(pick.row not in put for pick in self.ready) >= self._enough
            more = bool(self._events)
            self._wake()
        # What is ready is as good as it was where nothing was learned, and good enough while there is more.
        if not enough or (self._stale and not more and rested):
            self._stale = more
            self._choose()
            self._rested = time.monotonic() + REST * (time.monotonic() - began)
        return True

    @property
    def _enough(self) -> int:
        """With fewer ready, others are chosen at once."""
        return self.wanted - self.wanted // PART

    def _learn_some(self) -> list[Event]:
        """Learn what came, for a while."""
        learned, took, end = list[Event](), 0.0, time.monotonic() + SLICE
        while not (learned and time.monotonic() > end):
            with self._changed:
                if not self._events:
                    break
                event = self._events.popleft()
            if self._busy() and not self._waiting:
                time.sleep(min(PAUSE * took, LONGEST))
            began = time.monotonic()
            with self.lock:
                self.state.apply(event)
            took = time.monotonic() - began
            learned.append(event)
        return learned

    def _choose(self) -> None:
        """Make questions ready, each as soon as it is chosen; what was ready before stays so behind them.

        As many as are wanted; no more than one more where there is more to learn, by which they would change.
        What others were asked meanwhile is asked of nobody else, though it is not learned yet.
        """
        found, count = list[Pick](), self.wanted
        with self._changed:
            put = [event.body["row"] for event in self._events if event.kind == "question"]
        missing = count - len(self.ready)
        at_once = min(MOST_AT_ONCE, max(missing // 2, count // PART)) if count > FEW else 1
        for some in self.state.picking(at_once, put):
            found += some
            rows = {pick.row for pick in found}
            with self._changed:
                others = [pick for pick in self.ready if pick.row not in rows]
                self.ready = [*found, *others][: max(count, len(found))]
                self._wake()
                if len(found) >= count or self._ended or (self._events and len(self.ready) >= count):
                    self._exhausted = False
                    return
        with self._changed:
            self._exhausted, self.ready = True, found
            self._wake()

    def _note(self) -> None:
        """How right the labels would be now."""
        self._unnoted = False
        expected = self.asking.expected_accuracy
        if expected is not None:
            self.curve.append((self.state.turns.asked, expected))
            if len(self.curve) > CURVE:
                self.curve = self.curve[::2]
