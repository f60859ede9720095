"""A campaign that several people work on at once: leases, answers, and the log they go to.

Every call looks at what the events say, drafts events, and appends them after the newest one it has seen;
where somebody else was first, on this server or another, it reads what came since and decides anew. So two
servers on one store are replicas of each other, and nobody is given a question that another person has.

An answer is acknowledged when it is in the store. What is learned from it follows in the background.
"""

import asyncio
import hashlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from querist.asking.answers import as_code, as_kept, fault_of
from querist.asking.arrivals import KIND as GROWTH
from querist.asking.campaign import Asking, Question
from querist.asking.choosers import Pick
from querist.asking.options import CampaignKeywords, CampaignOptions
from querist.asking.policy import (
    Stop,
    change_refusal,
    could_be_asked,
    ends,
    next_action,
    next_actions,
    undo_refusal,
    votes,
)
from querist.asking.state import CampaignStatus
from querist.asking.store.events import Draft, Event, Part, check_texts
from querist.asking.store.sql import EventStore
from querist.asking.turns import Outcome, Turn
from querist.serve.learner import BackgroundLearner
from querist.serve.writing import Decision, PendingWrite, RefusedError, Writer
from querist.tables.names import NodeTexts

LEASE = 300.0
"""Seconds that a lease lasts at least."""
MEDIANS = 3.0
"""It lasts so many medians of the times that the person took."""
AT_ONCE = 5
"""Most questions that one person may have open."""
PATIENCE = 30.0
"""Seconds that a request for a question waits for the learner."""
SOON = 1.0
"""Seconds that it waits for more questions where there is one already."""
LATE = "answered after it was given to somebody else: a further vote"


class ServedCampaign:
    """One campaign of a store, in this process."""

    def __init__(self, store: EventStore, id: str, name: str, asking: Asking, texts: NodeTexts) -> None:
        self.store, self.id, self.name, self.asking, self.texts = store, id, name, asking, texts
        self.clock = time.time
        self.classes = asking.classes
        self.lock = threading.RLock()
        self.writer = Writer(self)
        self.status = CampaignStatus(asking.specification)
        self.turns = self.status.turns
        self.last = 0
        """The newest event that is known here."""
        self.grown = 0
        """The newest event by which nodes or edges came."""
        self.comments: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        """Who wrote what about a row, and when."""
        self.had: set[tuple[int, str]] = set()
        """(row, person) of every question that a person was ever given."""
        events = store.events(id)
        for event in events:
            self._note(event)
        asking.state.options, learned = self.status.options, asking.last
        is_free, is_busy = self.status.is_free, lambda: bool(self.writer.pending)
        self.learner = BackgroundLearner(asking, learned, is_free, is_busy)
        # Another server may have written since the model was made.
        self.learner.feed([event for event in events if event.seq > learned])

    # -- questions ----------------------------------------------------------------------------------------

    def lease(self, person: str, count: int = 1) -> tuple[list[Question], str | None]:
        """Up to `count` questions that are this person's until their leases end, those they have among them;
        and why there are no more, where that is so."""
        with self.lock:
            at_work = {person, *(lease.person for lease in self.turns.leases.values())}
        self.learner.want(len(at_work) + count)
        began = time.monotonic()
        while True:
            self.expire()
            why = self._done(PendingWrite(lambda: self._leases(person, count)))["why"]
            with self.lock:
                held = self.held(person)[:count]
                known = [row for row in held if row < self.n_nodes]
                left = (SOON if known else PATIENCE) - (time.monotonic() - began)
                enough = len(known) == (count if why is None else len(held))
                if enough or left <= 0:
                    return [self.question(row) for row in known], why if len(held) < count else None
            if len(known) < len(held):  # nodes that came by on another server, and are not learned here yet
                self.learner.caught_up(self.last, left)
            else:
                self.learner.wait(left, began)
            self.check_learner()

    def _leases(self, person: str, count: int) -> Decision:
        """What gives a person their questions, and why there are no more."""
        missing = count - len(self.held(person))
        actions, why = next_actions(self.status, self.learner, person, missing, self.turns.leases)
        if not actions and ends(self.status, why):
            return [Draft("stop", {"why": why})], {"why": why}
        lease = {"person": person, "until": self.lease_end(person)}
        return [
            Draft("lease", {"row": action.row, **lease})
            if isinstance(action, Turn)
            else Draft("question", {**self.asking.state.question(action), **lease})
            for action in actions
        ], {"why": why}

    def beat(self, person: str, row: int) -> float:
        """Prolong a lease; until when."""

        def decide() -> list[Draft]:
            self._check_lease(person, row)
            return [Draft("beat", {"row": row, "person": person, "until": self.lease_end(person)})]

        (event,) = self.write(decide, row)
        return float(event.body["until"])

    def give_back(self, person: str, row: int) -> None:
        """End a lease; the question goes to somebody else."""

        def decide() -> list[Draft]:
            self._check_lease(person, row)
            return [Draft("release", {"row": row, "person": person})]

        self.write(decide, row)

    def expire(self) -> None:
        """Write down the leases that have ended by now."""

        def decide() -> list[Draft]:
            now = self.clock()
            return [
                Draft("expire", {"row": lease.row, "person": lease.person})
                for lease in self.turns.leases.values()
                if lease.until < now
            ]

        with self.lock:
            if decide():
                self.write(decide)

    # -- answers ------------------------------------------------------------------------------------------

    def close_question(
        self, person: str, row: int, outcome: Outcome, code: Any = None, key: str | None = None
    ) -> dict[str, Any]:
        """Keep an answer, "skip" or "unsure"; it is in the store when this returns: see `closing`."""
        return self._done(self.closing(person, row, outcome, code, key))

    async def close_soon(self, own: PendingWrite) -> dict[str, Any]:
        """The same from what `closing` gives, without a thread of its own."""
        await self.writer.write_soon(own)
        seen = own.written.exception() is None and own.written.result()
        return own.response if seen else await asyncio.to_thread(self._response, own)

    def closing(
        self, person: str, row: int, outcome: Outcome, code: Any = None, key: str | None = None
    ) -> PendingWrite:
        """What keeps an answer, "skip" or "unsure".

        A `key` makes it safe to send again: the second time the first response comes back. An answer to a
        question that meanwhile went to somebody else is kept as a further vote. Without a new question an
        answer replaces the person's earlier one about the row; if it is the same, nothing is written.
        """
        if outcome == "answer":
            code = self._checked_code(code)
        self.check_row(row)

        def decide() -> Decision:
            turn, held = self.turns.open_about(row), self.turns.leases.get(row)
            if (row, person) not in self.had:
                raise RefusedError(f"no question about row {row} was given to you; take a lease first")
            late = turn is None or held is None or held.person != person
            vote = self.turns.vote_of(person, row) if late else None
            done: dict[str, Any] = {"row": row, "outcome": outcome, "late": late}
            if outcome != "answer":
                if vote is not None:
                    raise RefusedError(
                        f"you answered the question about row {row}; send another answer to change yours, or "
                        "take back your last answer with undo"
                    )
                # If somebody else has it now, what is no answer must not end it for them.
                return [] if late else [Draft(outcome, {"row": row, "person": person})], done
            body = {"row": row, "person": person, "code": code}
            if vote is not None:
                done["late"] = bool(vote.about.get("late"))
                if as_code(code) == vote.code:
                    return [], {**done, "seq": vote.closed}
                return [Draft("answer", {**body, "replaces": vote.opened})], done
            if turn is not None:
                return [Draft("answer", body)], done
            audit = any(turn.audit for turn in self.turns.about(row))
            question = self.asking.state.question(Pick(row, LATE, audit=audit, again=True))
            return [Draft("question", {**question, "late": True}), Draft("answer", body)], done

        return self._once(person, key, [row, outcome, code], decide, row)

    def undo(self, person: str, key: str | None = None) -> dict[str, Any]:
        """Take back one's own last answer; its question is open for them again."""

        def decide() -> Decision:
            back = self.turns.last_closed(person)
            if back is None:
                return [], {"row": None}
            if refusal := undo_refusal(self.status, back, person):
                raise RefusedError(refusal)
            lease = {"person": person, "until": self.lease_end(person)}
            return [Draft("undo", {"row": back.row, **lease})], {"row": back.row}

        return self._done(self._once(person, key, ["undo"], decide))

    def comment(self, person: str, row: int, text: str, key: str | None = None) -> dict[str, Any]:
        """Keep what somebody says of a node."""
        drafts = [Draft("comment", {"row": self.check_row(row), "person": person, "text": text})]
        return self._done(self._once(person, key, [row, text], lambda: (drafts, {}), row))

    def verdict(self, person: str, row: int, code: Any, key: str | None = None) -> dict[str, Any]:
        """Decide on the class of a node, or its classes, whatever was answered."""
        code = self._checked_code(code)
        drafts = [Draft("verdict", {"row": self.check_row(row), "code": code, "person": person})]
        return self._done(self._once(person, key, [row, code], lambda: (drafts, {}), row))

    def change(
        self, person: str | None, /, *, paused: bool | None = None, **options: Unpack[CampaignKeywords]
    ) -> None:
        """Pause or go on; change options that may change, by name (see `policy.change_refusal`)."""
        given = CampaignOptions.changes(options)

        def decide() -> list[Draft]:
            drafts, own = [], self.status
            if paused is not None and paused != own.paused:
                drafts.append(Draft("pause" if paused else "resume", {"person": person}))
            changed = {name: value for name, value in given.items() if value != getattr(own.options, name)}
            if changed:
                if refusal := change_refusal(own, replace(own.options, **changed)):
                    raise RefusedError(refusal, 422)
                drafts.append(Draft("options", {**changed, "person": person}))
            return drafts

        self.write(decide)

    # -- the log ------------------------------------------------------------------------------------------

    def write(self, decide: Callable[[], Sequence[Draft]], row: int | None = None) -> Sequence[Event]:
        """Append what `decide` drafts; `row` where it looks at no other."""
        own = self.writer.write(PendingWrite(lambda: (decide(), {}), row=row))
        return own.written.result() or ()

    def append_all(self, parts: Sequence[Part]) -> list[list[Event]]:
        """Write several requests after the newest event that is known here, and take them in."""
        found = self.store.append_all(self.id, self.last, parts)
        self._take_in([event for events in found for event in events])
        return found

    def _once(
        self,
        person: str,
        key: str | None,
        request: Sequence[Any],
        decide: Callable[[], Decision],
        row: int | None = None,
    ) -> PendingWrite:
        """Something to do, unless it was done already under this person's key."""
        check_texts(key, request)  # not later: requests of several people are written together
        digest = hashlib.sha256(json.dumps(request).encode()).hexdigest()
        return PendingWrite(decide, None if key is None else (f"{person} {key}", digest), row)

    def _done(self, own: PendingWrite) -> dict[str, Any]:
        return self._response(self.writer.write(own))

    def _response(self, own: PendingWrite) -> dict[str, Any]:
        """The response to a request that is done; to one under a key that is taken, the first response."""
        problem = RefusedError("somebody else was first; try again", 503)
        try:
            if own.written.result() is not None:
                return own.response
        except RefusedError as refusal:
            problem = refusal  # perhaps it was done, and cannot be done again
        name, digest = own.key or ("", "")
        before = self.store.reply(self.id, name) if own.key else None
        if before is None:
            raise problem
        if before.digest != digest:
            key = name.partition(" ")[2]
            raise RefusedError(
                f"Idempotency-Key {key!r} came before with another request; take a new key for a new request",
                422,
            )
        found: dict[str, Any] = json.loads(before.body)
        return found

    def catch_up(self) -> int:
        """Take in what other servers wrote; how many events."""
        with self.lock:
            events = self.store.events(self.id, after=self.last)
            self._take_in(events)
            return len(events)

    def _take_in(self, events: Sequence[Event]) -> None:
        for event in events:
            self._note(event)
        self.learner.feed(events)

    def _note(self, event: Event) -> None:
        """What an event says, but for what is learned from it."""
        body = event.body
        self.status.apply(event)
        self.last = event.seq
        kind = event.kind
        if "until" in body:
            self.had.add((body["row"], body["person"]))
        if kind == "comment":
            said = {"person": body["person"], "text": body["text"], "at": event.at}
            self.comments[body["row"]].append(said)
        elif kind == GROWTH:
            self.grown = event.seq

    # -- what is so ---------------------------------------------------------------------------------------

    def held(self, person: str) -> list[int]:
        """Rows of the questions that a person has, the oldest first."""
        own = [lease for lease in self.turns.leases.values() if lease.person == person]
        return [lease.row for lease in sorted(own, key=lambda lease: lease.since)]

    def question(self, row: int) -> Question:
        """The open question about a row."""
        with self.lock:
            turn = self.turns.open_about(row)
            if turn is None:
                raise RefusedError(f"no question about row {row} is open")
            return self.asking.shown(turn, self.turns)

    def is_blind(self, row: int) -> bool:
        """Whether the open question about a row checks the model, or answers that others gave."""
        return any(turn.audit or turn.again or turn.outcome == "answer" for turn in self.turns.about(row))

    def hides(self, person: str, row: int) -> bool:
        """Whether a row is hidden from a labeller, who has or could be given a blind question about it."""
        with self.lock:
            held = self.turns.leases.get(row)
            if held is not None and held.person == person:
                return self.is_blind(row)
            if row in self.status.settled or self.turns.vote_of(person, row) is not None:
                return False
            if self.turns.open_about(row) is not None or (row, person) in self.had:
                return self.is_blind(row)  # an answer of theirs may still come late
            opinions = self.asking.state.opinions
            sure = 0.0 if opinions is None else opinions.sure_of(row, votes(self.status, row))
            return could_be_asked(self.status, row, sure)

    def lease_end(self, person: str) -> float:
        """Until when a lease lasts that begins now."""
        return self.clock() + max(LEASE, MEDIANS * (self.turns.seconds(person) or 0.0))

    def stopped(self) -> str | None:
        """Why nobody is asked any more; None while somebody is."""
        with self.lock:
            action = next_action(self.status, self.learner)
        return action.why if isinstance(action, Stop) and not self.turns.n_open else None

    def close(self) -> None:
        """Stop learning; leases stay."""
        self.learner.close()

    # -- inside -------------------------------------------------------------------------------------------

    def _check_lease(self, person: str, row: int) -> None:
        if row not in self.held(person):
            raise RefusedError(f"row {row} is not leased to you; take a lease first")

    @property
    def n_nodes(self) -> int:
        """How many nodes the model knows; nodes that came by are in the graph a moment before."""
        return len(self.asking.state.model.rows)

    def check_row(self, row: int) -> int:
        """The row, if there is a node there; it may have come by on another server."""
        if row >= self.n_nodes:
            self.catch_up()
            self.learner.caught_up(self.last, PATIENCE)
        if not 0 <= row < self.n_nodes:
            raise RefusedError(f"row {row}; the nodes have rows 0 to {self.n_nodes - 1}", 404)
        return row

    def _checked_code(self, given: Any) -> int | list[int]:
        """The code of an answer as an event keeps it."""
        wrong = fault_of(given, len(self.classes), self.asking.multilabel)
        if wrong:
            raise RefusedError(wrong, 422)
        return as_kept(as_code(given))

    def check_learner(self) -> None:
        """Say so where nothing is learned any more."""
        if self.learner.failed is not None:
            raise RefusedError(f"the learner failed: {self.learner.failed}; restart the server", 500)
