"""Events become turns: what was asked, and what came of it, after all that was taken back.

A question opens a turn; an answer, "skip" or "unsure" closes the open one about its node. Several may be
open at once, and a node may have several turns, one after another. "undo" opens the turn that was closed last
again, and withdraws the questions that were opened since: they were chosen by what is taken back. An undo by
a person takes back the last of theirs, and leaves the questions of others open.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from querist.asking.store.events import Event

CLOSING = ("answer", "skip", "unsure")


@dataclass(frozen=True)
class Turn:
    """A question about `row`, and its outcome: None while open, else one of `CLOSING`.

    `about` is what was written of the question when it was chosen; `code` the class of an answer, `person`
    who gave it. `opened` and `closed` are the numbers of the events; 0 while it is open.
    """

    row: int
    audit: bool
    about: Mapping[str, Any]
    outcome: str | None = None
    code: int = -1
    person: str | None = None
    opened: int = field(default=0, compare=False)
    closed: int = field(default=0, compare=False)

    @property
    def again(self) -> bool:
        """Whether the node had been answered before."""
        return bool(self.about.get("again"))

    @property
    def counted(self) -> bool:
        """Whether it is spent of the budget of answers."""
        return self.outcome == "answer"

    @property
    def unanswered(self) -> bool:
        """Whether nobody could or would answer."""
        return self.outcome in ("unsure", "skip")


def apply(turns: list[Turn], event: Event) -> Turn | None:
    """One event more; the turn that it opened, closed or opened again.

    >>> happened = [("question", 4), ("answer", 4), ("question", 7), ("undo", 4), ("skip", 4)]
    >>> turns: list[Turn] = []
    >>> for i, (kind, row) in enumerate(happened):
    ...     _ = apply(turns, Event(i + 1, 0.0, kind, {"row": row, "audit": False}))
    >>> [(turn.row, turn.outcome) for turn in turns]
    [(4, 'skip')]
    """
    body = event.body
    if event.kind == "question":
        turns.append(Turn(body["row"], body["audit"], body, opened=event.seq))
        return turns[-1]
    if event.kind in CLOSING:
        at = _last(turns, lambda turn: turn.outcome is None and turn.row == body["row"])
        given = {"code": body.get("code", -1), "person": body.get("person")}
        turns[at] = replace(turns[at], outcome=event.kind, closed=event.seq, **given)
        return turns[at]
    if event.kind == "undo":
        person = body.get("person")
        back = last_closed(turns, person)
        assert back is not None
        at = turns.index(back)
        turns[at] = again = replace(back, outcome=None, code=-1, person=None, closed=0)
        if person is None:
            turns[:] = [t for t in turns if t.outcome is not None or t.opened < back.closed]
        return again
    return None


def last_closed(turns: Sequence[Turn], person: str | None = None) -> Turn | None:
    """The turn that was closed last, by this person where one is named."""
    closed = [turn for turn in turns if turn.outcome is not None and person in (None, turn.person)]
    return max(closed, key=lambda turn: turn.closed, default=None)


def _last(turns: Sequence[Turn], fits: Callable[[Turn], bool]) -> int:
    return next(at for at in reversed(range(len(turns))) if fits(turns[at]))
