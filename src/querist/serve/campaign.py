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
from dataclasses import dataclass
from typing import Any

from querist.asking.answers import Code, as_code, as_kept, fault_of
from querist.asking.arrivals import KIND as GROWTH
from querist.asking.campaign import LEAST_UNANSWERED, Asking, Question
from querist.asking.choosers import Pick
from querist.asking.state import AUDITED, SECOND, another, due, gained_little
from querist.asking.store.events import Draft, Event
from querist.asking.store.interface import EventStore, MakeReply, Part
from querist.asking.texts import NodeTexts
from querist.asking.turns import CLOSING, Lease, Turns
from querist.errors import InputError
from querist.serve.learner import BackgroundLearner
from querist.serve.writing import PendingWrite, RefusedError, Writer
from querist.tables.formats import some

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
NOTHING_LEFT = "no node is left to ask about"
ACTIVE = 120.0
"""Seconds for which somebody who asked for a question counts as at work."""


@dataclass(frozen=True)
class Kept:
    """What became of a request: the response, and whether it is that of an earlier one with the same key."""

    body: dict[str, Any]
    repeated: bool = False


@dataclass(frozen=True)
class Comment:
    """What somebody wrote about a node."""

    person: str
    text: str
    at: float


@dataclass(frozen=True)
class Once:
    """A request that is done once, whatever is sent again: what it writes, and what is responded.

    With a `key`, which is the person's own, the response is kept under it; `digest` is that of the request.
    """

    write: PendingWrite
    response: Callable[[list[Event]], dict[str, Any]]
    key: str | None
    digest: str


class ServedCampaign:
    """One campaign of a store, in this process."""

    def __init__(
        self,
        store: EventStore,
        id: str,
        name: str,
        asking: Asking,
        texts: NodeTexts,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.id, self.name, self.asking, self.texts = store, id, name, asking, texts
        self.clock = clock
        self.classes = asking.classes
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        """Notified of every event."""
        self.writer = Writer(self)
        self.turns = Turns()
        self.last = 0
        """The newest event that is known here."""
        self.grown = 0
        """The newest event by which nodes or edges came."""
        self.paused = False
        self.budget = asking.budget
        self.stop: float | None = None
        """The expected gain of an answer below which no more is asked."""
        self.enough: str | None = None
        """Why it is so, from the event on that says it, until a manager sets the gain anew."""
        self.comments: defaultdict[int, list[Comment]] = defaultdict(list)
        self.verdicts: dict[int, Code] = {}
        self.had: set[tuple[int, str]] = set()
        """(row, person) of every question that a person was ever given."""
        self.returned: set[tuple[int, str]] = set()
        """(row, person) of questions that the person gave back: others come first."""
        self._seen: dict[str, float] = {}
        self._unaudited: list[int] = list(asking.state.audit_rows)
        events = store.events(id)
        for event in events:
            self._note(event)
        asking.budget, asking.stop = self.budget, self.stop
        learned = asking.journal.last
        self.learner = BackgroundLearner(asking, learned, self._fresh, lambda: bool(self.writer.pending))
        # Another server may have written since the model was made.
        self.learner.feed([event for event in events if event.seq > learned])

    # -- questions ----------------------------------------------------------------------------------------

    def lease(self, person: str, count: int = 1) -> tuple[list[Question], str | None]:
        """Up to `count` questions that are this person's until their leases end, those they have among them;
        and why there are no more, where that is so."""
        if not 1 <= count <= AT_ONCE:
            raise RefusedError(f"count {count}; take 1 to {AT_ONCE} questions at once", 422)
        self._mark_active(person, count)
        began = time.monotonic()
        why: list[str | None] = [None]
        while True:
            self.expire()
            self._end()
            self.write(lambda: self._leases(person, count, why))
            with self.lock:
                held = self.held(person)[:count]
                known = [row for row in held if row < self.n_nodes]
                left = (SOON if known else PATIENCE) - (time.monotonic() - began)
                enough = len(known) == (count if why[0] is None else len(held))
                if enough or left <= 0:
                    return [self.question(row) for row in known], why[0] if len(held) < count else None
            if len(known) < len(held):  # nodes that came by on another server, and are not learned here yet
                self.learner.caught_up(self.last, left)
            else:
                self.learner.wait(left, began)
            self.check_learner()

    def _leases(self, person: str, count: int, why: list[str | None]) -> list[Draft]:
        """The drafts by which a person gets their questions."""
        why[0] = None
        drafts: list[Draft] = []
        missing = count - len(self.held(person))
        picks: list[Pick] = []
        waiting = self._waiting(person) if missing > 0 else []
        while len(drafts) < missing:
            if self.paused:
                why[0] = "the campaign is paused; its manager can go on with it"
                break
            until = self.clock() + self.lease_seconds(person)
            if waiting:
                row = waiting.pop(0)
                drafts.append(Draft("lease", {"row": row, "person": person, "until": until}))
                continue
            found = self._next(person, picks)
            if found is None:
                break
            if isinstance(found, str):
                why[0] = found
                break
            picks.append(found)
            drafts.append(Draft("question", self._question(found, person, until)))
        return drafts

    def _waiting(self, person: str) -> list[int]:
        """Rows of open questions that nobody has; those that this person gave back come last."""
        rows = [turn.row for turn in self.turns.opens if turn.row not in self.turns.leases]
        own = [row for row in rows if person not in {turn.person for turn in self.turns.about(row)}]
        return sorted(own, key=lambda row: (row, person) in self.returned)

    def _next(self, person: str, picks: Sequence[Pick]) -> Pick | str | None:
        """The next question for somebody, after those that are just picked for them; why there is none; or
        None while the learner works one out."""
        turns, own = self.turns, self.asking.specification
        taken = {pick.row for pick in picks}
        asked = self.spent + len(picks)
        why = self._limit(asked, len(picks))
        if why is not None:
            return why
        audit = next((row for row in self._unaudited if row not in taken and self._fresh(row)), None)
        audited = turns.audited + sum(pick.audit for pick in picks)
        if audit is not None and (self.enough or due(asked, audited, own.audit, self.budget)):
            return Pick(audit, AUDITED, audit=True)
        if self.enough is not None:
            return self.enough
        wanted = (row for row in self.learner.wanting if row not in taken and row not in self.verdicts)
        second = next((row for row in wanted if another(turns, row, person)), None)
        if second is not None:
            return Pick(second, SECOND, again=True)
        pick: Pick | str | None = self.learner.best(taken)
        if pick is None and self.learner.nothing_left:
            pick = NOTHING_LEFT if audit is None else Pick(audit, AUDITED, audit=True)
        return pick

    def _fresh(self, row: int) -> bool:
        """Whether nobody was asked about a row, or decided on it."""
        return row not in self.verdicts and not self.turns.about(row)

    @property
    def spent(self) -> int:
        """Answers that are spent of the budget, or will be by the open questions; a late one is not."""
        return self.turns.asked + sum(not turn.about.get("late") for turn in self.turns.opens)

    def _limit(self, asked: int, picked: int) -> str | None:
        """Why no question more may be open."""
        turns, own = self.turns, self.asking.specification
        if asked >= self.budget:
            return self._budget_spent
        if turns.unanswered >= max(self.budget, LEAST_UNANSWERED):
            return f"{some(turns.unanswered, 'question')} left unanswered, as many as may be"
        if not self.asking.state.chooser.foresees and turns.n_open + picked:
            return f"{own.choose} decides at one node after another and allows one open question at a time"
        return None

    @property
    def _budget_spent(self) -> str:
        return f"the budget of {some(self.budget, 'answer')} is spent"

    def _question(self, pick: Pick, person: str, until: float) -> dict[str, Any]:
        """The body of the event by which a question is put and leased."""
        more = {"again": pick.again or None, "chance": pick.chance}
        return {
            "row": pick.row,
            "audit": pick.audit,
            "reason": pick.reason,
            "round": pick.round,
            "value": pick.value,
            "gain": pick.chance if pick.gain is None else pick.gain,
            **self.asking.state.about(pick.row),
            **{name: value for name, value in more.items() if value is not None},
            "person": person,
            "until": until,
        }

    def beat(self, person: str, row: int) -> float:
        """Prolong a lease; until when."""

        def decide() -> list[Draft]:
            self._own_lease(person, row)
            until = self.clock() + self.lease_seconds(person)
            return [Draft("beat", {"row": row, "person": person, "until": until})]

        (event,) = self.write(decide, row)
        return float(event.body["until"])

    def give_back(self, person: str, row: int) -> None:
        """End a lease; the question goes to somebody else."""

        def decide() -> list[Draft]:
            self._own_lease(person, row)
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

    def _end(self) -> None:
        """Write down that an answer is expected to gain too little, once it is so."""

        def decide() -> list[Draft]:
            found = gained_little(self.turns, self.stop, self.asking.specification.find)
            if found is None or self.enough is not None:
                return []
            return [Draft("stop", {"why": found[0], "gain": found[1]})]

        with self.lock:
            if decide():
                self.write(decide)

    # -- answers ------------------------------------------------------------------------------------------

    def close_question(
        self, person: str, row: int, outcome: str, code: Any = None, key: str | None = None
    ) -> Kept:
        """Keep an answer, "skip" or "unsure"; it is in the store when this returns: see `closing`."""
        return self._done(self.closing(person, row, outcome, code, key))

    async def close_question_soon(
        self, person: str, row: int, outcome: str, code: Any = None, key: str | None = None
    ) -> Kept:
        """The same, without a thread of its own."""
        return await self._done_soon(self.closing(person, row, outcome, code, key))

    def closing(self, person: str, row: int, outcome: str, code: Any = None, key: str | None = None) -> Once:
        """What keeps an answer, "skip" or "unsure".

        A `key` makes it safe to send again: the second time the first response comes back. An answer to a
        question that meanwhile went to somebody else is kept as a further vote.
        """
        if outcome not in CLOSING:
            raise RefusedError(f"outcome {outcome!r}; it is one of {', '.join(CLOSING)}", 422)
        if outcome == "answer":
            code = self._checked_code(code)
        self.check_row(row)
        late = [False]

        def decide() -> list[Draft]:
            turn = self.turns.open_about(row)
            if (row, person) not in self.had:
                raise RefusedError(f"no question about row {row} was given to you; take a lease first")
            held = self.turns.leases.get(row)
            late[0] = turn is None or held is None or held.person != person
            body: dict[str, Any] = {"row": row, "person": person}
            if outcome == "answer":
                body["code"] = code
            if turn is not None:
                # Somebody else has it now: what is no answer must not end it for them.
                return [] if outcome != "answer" and late[0] else [Draft(outcome, body)]
            if outcome != "answer":
                return []
            audit = any(turn.audit for turn in self.turns.about(row))
            about = self._question(Pick(row, LATE, audit=audit, again=True), person, 0.0)
            question = {name: value for name, value in about.items() if name not in ("person", "until")}
            return [Draft("question", {**question, "late": True}), Draft("answer", body)]

        def response(events: list[Event]) -> dict[str, Any]:
            seq = events[-1].seq if events else self.last
            return {"seq": seq, "row": row, "outcome": outcome, "late": late[0]}

        return self._once(person, key, [row, outcome, code], decide, response, row)

    def undo(self, person: str, key: str | None = None) -> Kept:
        """Take back one's own last answer; its question is open for them again."""

        def decide() -> list[Draft]:
            back = self.turns.last_closed(person)
            if back is None:
                return []
            opens = back.unanswered and self.turns.open_about(back.row) is None
            if opens and self.spent >= self.budget:
                raise RefusedError(f"{self._budget_spent}: nothing can be asked again; raise it first")
            until = self.clock() + self.lease_seconds(person)
            return [Draft("undo", {"row": back.row, "person": person, "until": until})]

        def response(events: list[Event]) -> dict[str, Any]:
            return {"row": events[-1].body["row"] if events else None}

        return self._done(self._once(person, key, ["undo"], decide, response))

    def comment(self, person: str, row: int, text: str, key: str | None = None) -> Kept:
        """Keep what somebody says of a node."""
        self.check_row(row)
        drafts = [Draft("comment", {"row": row, "person": person, "text": text})]
        return self._done(self._once(person, key, [row, text], lambda: drafts, _seq, row))

    def verdict(self, person: str, row: int, code: Any, key: str | None = None) -> Kept:
        """Decide on the class of a node, or its classes, whatever was answered."""
        self.check_row(row)
        code = self._checked_code(code)
        drafts = [Draft("verdict", {"row": row, "code": code, "person": person})]
        return self._done(self._once(person, key, [row, code], lambda: drafts, _seq, row))

    def change(
        self,
        person: str,
        *,
        paused: bool | None = None,
        budget: int | None = None,
        stop: float | None = None,
    ) -> None:
        """Pause or go on; raise or lower the budget, not below what was answered; set the gain below which no
        more is asked, 0 for none."""

        def decide() -> list[Draft]:
            drafts = []
            if paused is not None and paused != self.paused:
                drafts.append(Draft("pause" if paused else "resume", {"person": person}))
            if budget is not None and budget != self.budget:
                spent = self.spent
                if budget < spent:
                    raise RefusedError(
                        f"budget {budget}; {some(spent, 'question')} answered or open, give that or more", 422
                    )
                drafts.append(Draft("budget", {"budget": budget, "person": person}))
            if stop is not None and stop != (self.stop or 0):
                drafts.append(rule_draft(stop, person))
            return drafts

        self.write(decide)

    # -- the log ------------------------------------------------------------------------------------------

    def write(self, decide: Callable[[], list[Draft]], row: int | None = None) -> list[Event]:
        """Append what `decide` drafts; `row` where it looks at no other."""
        own = PendingWrite(decide, None, row)
        self.writer.write(own)
        if own.problem is not None:
            raise own.problem
        return own.events or []

    def append_all(self, parts: Sequence[Part]) -> list[list[Event]]:
        """See `writing.Log`."""
        found = self.store.append_all(self.id, self.last, parts)
        self._take_in([event for events in found for event in events])
        return found

    def _once(
        self,
        person: str,
        key: str | None,
        request: Sequence[Any],
        decide: Callable[[], list[Draft]],
        response: Callable[[list[Event]], dict[str, Any]],
        row: int | None = None,
    ) -> Once:
        """Something to do, unless it was done already under this person's key."""
        if key is None:
            return Once(PendingWrite(decide, None, row), response, None, "")
        own, digest = f"{person} {key}", hashlib.sha256(json.dumps(request).encode()).hexdigest()
        make: MakeReply = lambda events: (digest, json.dumps(response(events)))  # noqa: E731
        return Once(PendingWrite(decide, (own, make), row), response, own, digest)

    def _done(self, once: Once) -> Kept:
        self.writer.write(once.write)
        return self._kept(once) or self._first(once)

    async def _done_soon(self, once: Once) -> Kept:
        await self.writer.write_soon(once.write)
        found = self._kept(once)
        return await asyncio.to_thread(self._first, once) if found is None else found

    def _kept(self, once: Once) -> Kept | None:
        """What became of it; None where it may have been done before."""
        own = once.write
        if own.problem is None and (own.events is not None or once.key is None):
            return Kept(once.response(own.events or []))
        if own.problem is not None and (once.key is None or not isinstance(own.problem, RefusedError)):
            raise own.problem
        return None

    def _first(self, once: Once) -> Kept:
        """What was responded the first time: the key is taken; or it was done, and cannot be done again."""
        assert once.key is not None
        before = self.store.reply(self.id, once.key)
        if before is None:
            raise once.write.problem or RefusedError("somebody else was first; try again", 503)
        if before.digest != once.digest:
            raise RefusedError(
                f"Idempotency-Key {once.key.partition(' ')[2]!r} came before with another request; take a "
                "new key for a new request",
                422,
            )
        return Kept(json.loads(before.body), repeated=True)

    def catch_up(self) -> int:
        """Take in what other servers wrote; how many events."""
        with self.lock:
            events = self.store.events(self.id, after=self.last)
            self._take_in(events)
            return len(events)

    def _take_in(self, events: Sequence[Event]) -> None:
        for event in events:
            self._note(event)
        if events:
            self.learner.feed(events)
            self.changed.notify_all()

    def _note(self, event: Event) -> None:
        """What an event says, but for what is learned from it."""
        body = event.body
        self.turns.apply(event)
        self.last = event.seq
        kind = event.kind
        if "until" in body:
            self.had.add((body["row"], body["person"]))
        if kind == "release":
            self.returned.add((body["row"], body["person"]))
        elif kind == "comment":
            self.comments[body["row"]].append(Comment(body["person"], body["text"], event.at))
        elif kind == "verdict":
            self.verdicts[body["row"]] = as_code(body["code"])
        elif kind in ("pause", "resume"):
            self.paused = kind == "pause"
        elif kind == "budget":
            self.budget = body["budget"]
        elif kind == "rule":
            self.stop, self.enough = body["stop"] or None, None
        elif kind == "stop" and "gain" in body:  # querist ask stops for other reasons too, and goes on
            self.enough = body["why"]
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
            before = sum(other.opened < turn.opened for other in self.turns.opens)
            return self.asking.shown(turn, self.turns.asked + 1 + before)

    def lease_seconds(self, person: str) -> float:
        """How long a lease lasts."""
        usual = self.turns.seconds(person)
        return LEASE if usual is None else max(LEASE, MEDIANS * usual)

    def stopped(self) -> str | None:
        """Why nobody is asked any more; None while somebody is."""
        if self.paused:
            return "paused"
        if self.turns.asked >= self.budget:
            return self._budget_spent
        if self.enough is not None and not any(map(self._fresh, self._unaudited)):
            return self.enough
        return NOTHING_LEFT if self.learner.nothing_left and not self.turns.n_open else None

    def close(self) -> None:
        """Stop learning; leases stay."""
        self.writer.close()
        self.learner.close()

    # -- inside -------------------------------------------------------------------------------------------

    def _own_lease(self, person: str, row: int) -> Lease:
        held = self.turns.leases.get(row)
        if held is None or held.person != person:
            raise RefusedError(f"row {row} is not leased to you; take a lease first")
        return held

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

    def _mark_active(self, person: str, wanted: int) -> None:
        now = time.monotonic()
        with self.lock:
            self._seen[person] = now
            self._seen = {who: when for who, when in self._seen.items() if now - when < ACTIVE}
            count = len(self._seen)
        self.learner.want(count + wanted)


def _seq(events: list[Event]) -> dict[str, Any]:
    return {"seq": events[-1].seq}


def rule_draft(stop: float, person: str | None = None) -> Draft:
    """The event that sets the expected gain of an answer below which no more is asked; 0: none."""
    if not 0 <= stop <= 1:
        raise InputError(f"stop {stop}; it is a gain of accuracy from 0, which never stops, to 1")
    return Draft("rule", {"stop": float(stop), "person": person})


def check_text(text: Any, most: int = 10_000) -> str:
    """A comment that can be kept."""
    if not isinstance(text, str) or not text.strip() or len(text) > most:
        raise InputError(f"a comment is a text of 1 to {most:,} characters")
    return text
