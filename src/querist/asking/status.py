"""What the events of a campaign say by themselves, without a model: enough for the policy to decide.

The same events give the same status. A server keeps one beside its requests, where it costs the same for
every event; `CampaignState` has the model besides.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from querist.asking.answers import as_code
from querist.asking.arrivals import KIND
from querist.asking.specification import CampaignSpec
from querist.asking.store.events import Event
from querist.asking.turns import Turn, Turns
from querist.labels import Code

CHANGES_NOTHING = ("stop", "lease", "beat", "expire", "release", "comment")
"""Kinds of events after which a campaign that has stopped still has no question."""


class CampaignStatus:
    """Turns, labels that are known or decided on, the audit, and the options as they are now.

    The nodes are put into a random order once. Its first `audit` nodes without a known label are the audit;
    the others, and nodes that arrive later, are those that a chooser may ask about.
    """

    def __init__(self, options: CampaignSpec) -> None:
        self.options = options
        """Some may change during a campaign (see `CampaignOptions.changing`)."""
        self.turns = Turns()
        self.known: dict[int, Code] = {}
        """Labels that nobody was asked for, by row; they are learned before all answers."""
        self.settled: dict[int, Code] = {}
        """Classes that somebody decided on, whatever was answered, by row."""
        self.paused = False
        self.stopped: str | None = None
        """Why there is no more question, if that was written and nothing has changed since."""
        self.returned: set[tuple[int, str]] = set()
        """(row, person) of the questions that a person gave back."""
        self.audit_rows: dict[int, None]
        """Rows of the audit, in order."""
        self.order: list[int]
        """The other rows without a known label, at random."""
        self._drawn: list[int] = np.random.default_rng(options.seed).permutation(options.nodes).tolist()
        self._deal()

    def apply(self, event: Event) -> Turn | None:
        """One event more; the turn that it opened, closed or opened again."""
        kind, body = event.kind, event.body
        turn = self.turns.apply(event)
        if kind == KIND:
            self._grow(len(body["nodes"]))
        elif kind == "known":
            self._know(dict(zip(body["rows"], map(as_code, body["codes"]), strict=True)))
        elif kind == "verdict":
            self.settled[body["row"]] = as_code(body["code"])
        elif kind == "release":
            self.returned.add((body["row"], body["person"]))
        elif kind in ("pause", "resume"):
            self.paused = kind == "pause"
        elif kind == "options":
            changed = {name: value for name, value in body.items() if name != "person"}
            self.options = replace(self.options, **changed)
        if kind == "stop":
            self.stopped = body["why"]
        elif kind not in CHANGES_NOTHING:
            self.stopped = None
        return turn

    @property
    def unaudited(self) -> list[int]:
        """Rows of the audit that need an answer and have had no question, in order."""
        done = self.turns.rows
        return [row for row in self.audit_rows if row not in done and row not in self.settled]

    @property
    def spent(self) -> int:
        """Answers that are spent of the budget, or will be by the open questions; a late one is not."""
        return self.turns.asked + sum(not turn.about.get("late") for turn in self.turns.opens)

    @property
    def not_free(self) -> Sequence[Collection[int]]:
        """Rows that a chooser may not ask about: of the audit, known, asked about, decided on."""
        return self.audit_rows, self.known, self.turns.rows, self.settled

    def is_free(self, row: int) -> bool:
        """Whether a chooser may ask about a row."""
        return not any(row in rows for rows in self.not_free)

    def _grow(self, count: int) -> None:
        before = len(self._drawn)
        draw = np.random.default_rng([self.options.seed, before])
        fresh = (before + draw.permutation(count)).tolist()
        self._drawn, self.order = [*self._drawn, *fresh], [*self.order, *fresh]

    def _know(self, labels: dict[int, Code]) -> None:
        """Labels that are known without asking."""
        self.known |= labels
        if self.turns:
            put = self.turns.rows
            kept = (row for row in self.audit_rows if row in put or row not in self.known)
            self.audit_rows = dict.fromkeys(kept)
        else:
            self._deal()

    def _deal(self) -> None:
        """Part the nodes into the audit and those to choose from."""
        unknown, size = [row for row in self._drawn if row not in self.known], self.options.audit
        self.audit_rows, self.order = dict.fromkeys(unknown[:size]), unknown[size:]
