"""Events become turns: what was asked, who holds it, and what came of it, after all that was taken back.

A question opens a turn; an answer, "skip" or "unsure" closes the open one about its node. Several may be
open at once, each about another node, and a node may have several turns, one after another. "undo" opens the
turn that was closed last again, and withdraws the questions that were opened since: they were chosen by what
is taken back. An undo by a person takes back the last of theirs, and leaves the questions of others open. An
answer that `replaces` another, of the question with that number, stands in its place as if it had been the
only one.

Where several people answer, an open turn may be leased to one of them until some time. A lease ends by an
outcome, by being given back, or by an event that says so: nothing here reads a clock. A question whose node
is known, or decided on, is withdrawn.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal, get_args

from querist.asking.answers import as_code
from querist.asking.store.events import Event
from querist.labels import Code

Outcome = Literal["answer", "skip", "unsure"]
CLOSING = get_args(Outcome)
REMEMBERED = 50
"""Answers of a person whose times are remembered."""


@dataclass(frozen=True)
class Turn:
    """A question about `row`, and its outcome: None while open, else one of `CLOSING`.

    `about` is what was written of the question when it was chosen; `code` the class of an answer, or the
    set (answers.py), `person` who gave it. `opened` and `closed` are the numbers of the events; 0 while it is
    open.
    """

    row: int
    audit: bool
    about: Mapping[str, Any]
    outcome: str | None = None
    code: Code = -1
    person: str | None = None
    opened: int = field(default=0, compare=False)
    closed: int = field(default=0, compare=False)

    @property
    def again(self) -> bool:
        """Whether the node had been answered before."""
        return bool(self.about.get("again"))

    @property
    def counted(self) -> bool:
        """Whether it is spent of the budget of answers; one that came late is not."""
        return self.outcome == "answer" and not self.about.get("late")

    @property
    def unanswered(self) -> bool:
        """Whether nobody could or would answer."""
        return self.outcome in ("unsure", "skip")


@dataclass(frozen=True)
class Lease:
    """The open question about `row` is `person`'s, from `since` on and `until` a time."""

    row: int
    person: str
    since: float
    until: float

    def seconds(self, at: float) -> float | None:
        """How long it was held by then; None if the clock has run back since, so that nobody knows."""
        return at - self.since if at >= self.since else None


class Turns:
    """All turns, in the order they were opened. An event costs the same however many there are.

    >>> turns = Turns()
    >>> happened = [("question", 4), ("answer", 4), ("question", 7), ("undo", 4), ("skip", 4)]
    >>> for i, (kind, row) in enumerate(happened):
    ...     _ = turns.apply(Event(i + 1, 0.0, kind, {"row": row, "audit": False}))
    >>> [(turn.row, turn.outcome) for turn in turns]
    [(4, 'skip')]
    """

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}
        """By the number of the event that opened it."""
        self._open: dict[int, int] = {}
        """That number by row, of the open ones."""
        self._closed: dict[int, None] = {}
        """Those numbers in the order of closing."""
        self._of_row: defaultdict[int, list[int]] = defaultdict(list)
        self.leases: dict[int, Lease] = {}
        """By row."""
        self.asked = 0
        """Questions that were answered: what is spent of the budget."""
        self.unanswered = 0
        """Questions that were skipped, or answered with "unsure"."""
        self.repeated = 0
        """Questions that were put again."""
        self._times: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def apply(self, event: Event) -> Turn | None:
        """One event more; the turn that it opened, closed or opened again."""
        body = event.body
        if event.kind == "question":
            return self._add(Turn(body["row"], body["audit"], body, opened=event.seq), event)
        if event.kind in CLOSING:
            return self._close(event)
        if event.kind == "undo":
            return self._undo(event)
        if event.kind in ("lease", "beat"):
            held = self.leases.get(body["row"]) if event.kind == "beat" else None
            self._lease(body, event.at if held is None else held.since)
        elif event.kind in ("expire", "release"):
            self.leases.pop(body["row"], None)
        elif event.kind == "verdict":
            self.withdraw((body["row"],))
        elif event.kind == "known":
            self.withdraw(set(body["rows"]))
        return None

    def withdraw(self, rows: Any) -> None:
        """Drop the open questions about some rows: they need no answer any more."""
        for row in [row for row in self._open if row in rows]:
            self._drop(self._open[row])

    # -- what there is --------------------------------------------------------------------------------

    @property
    def opens(self) -> list[Turn]:
        """The turns whose questions wait for an answer, the oldest first."""
        return [self._turns[number] for number in sorted(self._open.values())]

    @property
    def n_open(self) -> int:
        """How many they are."""
        return len(self._open)

    def open_about(self, row: int) -> Turn | None:
        """The open turn about a row."""
        return self._turns.get(self._open.get(row, 0))

    def about(self, row: int) -> list[Turn]:
        """All turns about a row, in order."""
        return [self._turns[number] for number in self._of_row.get(row, ())]

    @property
    def rows(self) -> KeysView[int]:
        """Rows that a question was put about."""
        return self._of_row.keys()

    def last_closed(self, person: str | None = None) -> Turn | None:
        """The turn that was closed last, by this person where one is named."""
        closed = (self._turns[number] for number in reversed(self._closed))
        return next((turn for turn in closed if person in (None, turn.person)), None)

    def vote_of(self, person: str, row: int) -> Turn | None:
        """The turn about a row that holds the last answer of a person; None if they gave none."""
        own = [turn for turn in self.about(row) if turn.outcome == "answer" and turn.person == person]
        return max(own, key=lambda turn: turn.closed, default=None)

    def by_closing(self) -> list[Turn]:
        """Closed turns in the order of their outcomes, then the open ones."""
        return [self._turns[number] for number in self._closed] + self.opens

    def seconds(self, person: str) -> float | None:
        """The median time that a person took for an answer; None where it is not known."""
        own = self._times.get(person)
        return median(own) if own else None

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns.values())

    def __reversed__(self) -> Iterator[Turn]:
        return reversed(self._turns.values())

    # -- inside ----------------------------------------------------------------------------------------

    def _add(self, turn: Turn, event: Event) -> Turn:
        self._turns[turn.opened] = turn
        self._open[turn.row] = turn.opened
        self._of_row[turn.row].append(turn.opened)
        self.repeated += turn.again
        if "until" in event.body:
            self._lease(event.body, event.at)
        return turn

    def _close(self, event: Event) -> Turn:
        body, held = event.body, None
        number = body.get("replaces")
        if number is None:
            number, held = self._open.pop(body["row"]), self.leases.pop(body["row"], None)
        else:
            self._take_back(self._turns[number])
        person = body.get("person")
        took = held.seconds(event.at) if held is not None and held.person == person else None
        if took is not None and event.kind == "answer":
            self._times[body["person"]].append(took)
        turn = replace(
            self._turns[number],
            outcome=event.kind,
            closed=event.seq,
            code=as_code(body.get("code", -1)),
            person=person,
        )
        self._turns[number] = turn
        self._closed[number] = None
        self.asked += turn.counted
        self.unanswered += turn.unanswered
        return turn

    def _undo(self, event: Event) -> Turn:
        person = event.body.get("person")
        back = self.last_closed(person)
        assert back is not None
        self._take_back(back)
        self.withdraw((back.row,))
        again = replace(back, outcome=None, code=-1, person=None, closed=0)
        if person is None:
            for number in [number for number in self._open.values() if number > back.closed]:
                self._drop(number)
        self._turns[again.opened] = again
        self._open[again.row] = again.opened
        if "until" in event.body:
            self._lease(event.body, event.at)
        return again

    def _take_back(self, turn: Turn) -> None:
        self.asked -= turn.counted
        self.unanswered -= turn.unanswered
        self._closed.pop(turn.opened)

    def _drop(self, number: int) -> None:
        turn = self._turns.pop(number)
        self._open.pop(turn.row)
        self._of_row[turn.row].remove(number)
        if not self._of_row[turn.row]:
            del self._of_row[turn.row]
        self.leases.pop(turn.row, None)
        self.repeated -= turn.again

    def _lease(self, body: Mapping[str, Any], since: float) -> None:
        self.leases[body["row"]] = Lease(body["row"], body["person"], since, body["until"])
