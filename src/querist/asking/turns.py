"""Events become turns: what was asked, and what came of it, after all that was taken back.

A question opens a turn; an answer, "skip" or "unsure" closes it. "undo" withdraws a question that is still
open, and opens the turn before it again: the same question is put once more. So the open question of a
campaign is that of its last turn, if this is open, whenever the process was killed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from querist.asking.journal import Event

CLOSING = ("answer", "skip", "unsure")


@dataclass(frozen=True)
class Turn:
    """A question about `row`, and its outcome: None while open, else one of `CLOSING`.

    `about` is what was written of the question when it was chosen; `code` the class of an answer.
    """

    row: int
    audit: bool
    about: Mapping[str, Any]
    outcome: str | None = None
    code: int = -1

    @property
    def counted(self) -> bool:
        """Whether it is spent of the budget of answers."""
        return self.outcome == "answer"

    @property
    def unanswered(self) -> bool:
        """Whether nobody could or would answer."""
        return self.outcome in ("unsure", "skip")


def apply(turns: list[Turn], event: Event) -> None:
    """One event more.

    >>> happened = [("question", 4), ("answer", 4), ("question", 7), ("undo", 4), ("skip", 4)]
    >>> turns: list[Turn] = []
    >>> for i, (kind, row) in enumerate(happened):
    ...     apply(turns, Event(i, 0.0, kind, {"row": row, "audit": False}))
    >>> [(turn.row, turn.outcome) for turn in turns]
    [(4, 'skip')]
    """
    body = event.body
    if event.kind == "question":
        turns.append(Turn(body["row"], body["audit"], body))
    elif event.kind in CLOSING:
        turns[-1] = replace(turns[-1], outcome=event.kind, code=body.get("code", -1))
    elif event.kind == "undo":
        if turns and turns[-1].outcome is None:
            turns.pop()
        turns[-1] = replace(turns[-1], outcome=None, code=-1)
