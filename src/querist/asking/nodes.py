"""The description of a node, built once for the terminal, the pages and Python."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from querist.asking.answers import as_kept, likeliest, sureness
from querist.asking.state import CampaignState, CampaignStatus
from querist.labels import Code
from querist.tables.names import NodeTexts

NEIGHBOURS = 8
"""Neighbours of a node shown at first."""


class NodeDescriptions:
    """Describes nodes by what the events say (`status`), the model (`state`, perhaps behind) and a table.

    Labels are codes, as an event keeps them. `lock` is held while the status is read.
    """

    def __init__(
        self,
        status: CampaignStatus,
        state: CampaignState,
        texts: NodeTexts,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.status, self.state, self.texts, self.lock = status, state, texts, lock or nullcontext()

    def named(self, row: int) -> dict[str, Any]:
        """The id of a node, and what it is called."""
        node = self.state.graph.nodes[row]
        return {"node": node, "name": self.texts.name_of(row) or str(node)}

    def full(self, row: int) -> dict[str, Any]:
        """A node with its row of the table, the model's guess and how many neighbours it has."""
        code, _ = self.label(row)
        return {
            "row": row,
            **self.named(row),
            "values": [list(pair) for pair in self.texts.values(row)],
            **self.state.about(row),
            "answer": None if code is None else as_kept(code),
            "degree": int(np.diff(self.state.graph.adjacency.indptr[row : row + 2])[0]),
        }

    def listed(self, rows: Sequence[int], guesses: bool = True) -> list[dict[str, Any]]:
        """What is known of some rows: the label, how it is known, how sure; perhaps without guesses."""
        if not len(rows):
            return []
        model, found = self.state.model, list[dict[str, Any]]()
        # Neighbours that just came by may not be learned yet: nothing is known of them.
        n = len(model.rows)
        p, reached = model.beliefs_at([row if row < n else 0 for row in rows])
        beliefs = sureness(p, model.multilabel).tolist()
        with self.lock:
            for row, each, there, belief in zip(rows, p, reached.tolist(), beliefs, strict=True):
                code, by = self.label(row)
                if code is None and there and row < n and guesses:
                    code, by = likeliest(each, model.multilabel), "guess"
                label = None if code is None else as_kept(code)
                about = {"row": row, **self.named(row), "label": label, "by": by}
                votes = sum(turn.outcome == "answer" for turn in self.status.turns.about(row))
                found.append({**about, "belief": belief if by == "guess" else None, "votes": votes})
        return found

    def near(self, row: int) -> list[int]:
        """The neighbours, those by the heaviest edges first."""
        S = self.state.graph.adjacency
        part = slice(S.indptr[row], S.indptr[row + 1])
        own: list[int] = S.indices[part][np.argsort(-np.abs(S.data[part]), kind="stable")].tolist()
        return [other for other in own if other != row]

    def neighbours(
        self,
        row: int,
        most: int | None = None,
        guesses: bool = True,
        hides: Callable[[int], bool] = lambda row: False,
    ) -> list[dict[str, Any]]:
        """The neighbours, those with a known label that is not hidden first."""
        near = self.near(row)
        known = {other for other in near if self.label(other)[0] is not None and not hides(other)}
        rows = sorted(near, key=lambda other: other not in known)[:most]
        return [{**each, "known": each["row"] in known} for each in self.listed(rows, guesses)]

    def label(self, row: int) -> tuple[Code | None, str | None]:
        """The class of a row that somebody gave, and how: a verdict, a label known before, an answer."""
        status, opinions = self.status, self.state.opinions
        with self.lock:
            if row in status.settled:
                return status.settled[row], "verdict"
            if row in status.known:
                return status.known[row], "known"
            codes = [turn.code for turn in status.turns.about(row) if turn.outcome == "answer"]
        if not codes:
            return None, None
        at = -1 if opinions is None else opinions.rows.get(row, -1)
        # As in the labels: what is believed by the answers. The learner works meanwhile: a row may be there a
        # moment before its target.
        if opinions is not None and 0 <= at < len(opinions.targets):
            return likeliest(opinions.targets[at], opinions.multilabel), "answer"
        return codes[-1], "answer"
