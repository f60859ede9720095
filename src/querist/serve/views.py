"""What a campaign says of itself, as plain values: for the answers of the server and for its pages."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import triu

from querist.asking.answers import as_kept
from querist.asking.campaign import Question
from querist.asking.nodes import NodeDescriptions
from querist.asking.options import CampaignOptions
from querist.asking.people import DOUBT
from querist.asking.policy import SECOND
from querist.asking.results import Audit, measured
from querist.labelling.influence import influences
from querist.labelling.storage import columns_of
from querist.report.drawing import layout, piece
from querist.serve.access import Visitor
from querist.serve.campaign import ServedCampaign
from querist.serve.exports import anonymous, answers_table, file_of
from querist.types import Codes, Floats

DRAWN, AROUND = 150, 40
"""Most nodes of a drawing; neighbours of neighbours are added up to the second number."""
MAPPED = 5000
"""Most nodes of the map."""
PATIENCE = 60.0
"""Seconds that an export waits for the learner."""
NEIGHBOURS = 50
"""Most neighbours that are listed."""
FOUND = (*("label", "by", "belief", "answer", "votes"),
         *("guess", "probability", "second", "second_probability", "probabilities", "chance"))  # fmt: skip
"""What is answered and guessed about a node."""


class CampaignViews:
    """The views of one campaign; what takes long is computed once for the same answers."""

    def __init__(self, campaign: ServedCampaign) -> None:
        self.campaign = campaign
        self._nodes = NodeDescriptions(campaign.status, campaign.asking.state, campaign.texts, campaign.lock)
        self.places = lru_cache(512)(self._places)
        self._labelling = threading.Lock()
        self._audit: tuple[Any, Audit | None] = (None, None)
        self._auditing = threading.Lock()
        self._map: tuple[Codes, Floats, list[list[int]]] | None = None

    # -- the campaign -------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """How the campaign stands."""
        own = self.campaign
        graph, curve = own.asking.graph, own.learner.curve
        with own.lock:
            turns, spec = own.turns, own.status.options
            standing = {
                "id": own.id,
                "name": own.name,
                "classes": list(own.classes),
                **{name: getattr(spec, name) for name in ("multilabel", "strategy", "find", "budget")},
                "paused": own.status.paused,
                "options": {name: getattr(spec, name) for name in CampaignOptions.changing("http")},
                "asked": turns.asked,
                "unanswered": turns.unanswered,
                "open": turns.n_open,
                "nodes": graph.n_nodes,
                "edges": graph.n_edges,
                "stopped": own.stopped(),
                "last": own.last,
            }
        audit = self.audit() if spec.audit else None
        return {
            **standing,
            "expected_accuracy": curve[-1][1] if curve else None,
            "curve": [list(point) for point in curve],
            "audit": None if audit is None or not audit.answered else audit.as_dict(),
        }

    def audit(self) -> Audit | None:
        """How right the labels are by the audit, as it was when it was last computed: that is begun anew in
        the background whenever there are new answers in it."""
        own = self.campaign
        with own.learner.lock:
            sample = own.asking.state.answers(audit=True)
            chosen = own.asking.state.answers(audit=False)
        key = tuple(sorted(sample.items()))
        if key and key != self._audit[0] and self._auditing.acquire(blocking=False):

            def measure() -> None:
                try:
                    with self._labelling:
                        self._audit = (key, measured(own.asking, sample, chosen))
                finally:
                    self._auditing.release()

            threading.Thread(target=measure, daemon=True, name="querist-audit").start()
        return self._audit[1]

    def people(self) -> list[dict[str, Any]]:
        """Everybody who answered or has a question, by answers."""
        own = self.campaign
        with own.learner.lock:
            believed = {p.name: p for p in own.asking.people}
        names = own.store.people(own.id)
        with own.lock:
            answers = Counter(turn.person for turn in own.turns if turn.outcome == "answer")
            holders = [lease.person for lease in own.turns.leases.values()]
            everybody = {*answers, *holders, *names}
            seconds = {who: None if who is None else own.turns.seconds(who) for who in everybody}
        return [
            {
                **(believed[who].as_dict() if who in believed else {"accuracy": None, "interval": None}),
                "person": who,
                "name": names.get(who or "", None) or who or "somebody",
                "answers": answers[who],
                "median_seconds": seconds[who],
                "open": holders.count(who or ""),
            }
            for who in sorted(everybody, key=lambda who: (-answers[who], str(who)))
        ]

    def doubts(self, visitor: Visitor | None = None) -> list[dict[str, Any]]:
        """The answered nodes whose class is in doubt, the least sure first, but for those hidden."""
        own = self.campaign
        found = (
            {"row": row, "belief": belief, **self._nodes.named(row), "votes": self.votes(row)}
            for row, belief in own.learner.doubts()
            if belief < DOUBT and row not in own.status.settled and not self.hides(row, visitor)
        )
        return [self.seen(each, visitor) for each in found]

    # -- who sees what ------------------------------------------------------------------------------------

    def hides(self, row: int, visitor: Visitor | None) -> bool:
        """Whether what is answered and guessed about a node is hidden from a visitor."""
        return visitor is not None and visitor.role == "labeller" and self.campaign.hides(visitor.person, row)

    def seen(self, about: dict[str, Any], visitor: Visitor | None) -> dict[str, Any]:
        """What a visitor may see of what is known about a node; whatever leaves the server goes through here.

        A manager sees everything, and so does this program (None). Others do not see who else voted or
        commented. What is hidden from a labeller is None, and only their own comments are left.
        """
        if visitor is None or visitor.role == "manager":
            return about
        hidden, me = self.hides(about["row"], visitor), visitor.person
        found: dict[str, Any] = {key: None if hidden and key in FOUND else about[key] for key in about}
        for name in ("votes", "comments"):
            if isinstance(found.get(name), list):
                own = (v if v["person"] == me else {**v, "person": None, "name": None} for v in found[name])
                found[name] = [each for each in own if each["person"] or not hidden]
        return found

    # -- nodes --------------------------------------------------------------------------------------------

    def nodes(self, after: int, limit: int, visitor: Visitor | None = None) -> dict[str, Any]:
        """A page of nodes behind a row, and where the next page begins."""
        rows, following = _page(after, limit, self.campaign.n_nodes)
        return {"nodes": self.listed(rows, visitor), "next": following}

    def listed(self, rows: Sequence[int], visitor: Visitor | None = None, guesses: bool = True) -> list[Any]:
        """What is known of some rows: the label, how it is known, how sure; perhaps without guesses."""
        return [self.seen(each, visitor) for each in self._nodes.listed(rows, guesses)]

    def node(self, row: int, visitor: Visitor | None = None) -> dict[str, Any]:
        """Everything about a node: its row of the table, its guess, answers, comments, neighbourhood. If its
        label is hidden, so are guesses about the nodes around it: they come from the same answers."""
        own = self.campaign
        names = own.store.people(own.id)
        with own.lock:
            said = own.comments.get(row, ())
            comments = [{**each, "name": names.get(each["person"], each["person"])} for each in said]
        guesses = not self.hides(row, visitor)
        near = self._nodes.neighbours(row, NEIGHBOURS, guesses, lambda other: self.hides(other, visitor))
        found = {
            **self._nodes.full(row),
            "votes": self.votes(row),
            "comments": comments,
            "neighbours": [self.seen(each, visitor) for each in near],
            "drawing": self.drawing(row, visitor, guesses),
        }
        return self.seen(found, visitor)

    def lease(self, question: Question, visitor: Visitor, detail: bool = True) -> dict[str, Any]:
        """A question that a visitor has; a manager who answers sees of it what a labeller does."""
        own, visitor = self.campaign, replace(visitor, role="labeller")
        row, held = question.row, own.turns.leases.get(question.row)
        blind = self.hides(row, visitor)
        found = {
            **question.kept,
            **self._nodes.named(row),
            "until": None if held is None else held.until,
            "blind": blind,
            "reason": SECOND if blind and not question.audit else question.reason,
            **({"detail": self.node(row, visitor)} if detail else {}),
        }
        return self.seen(found, visitor)

    def votes(self, row: int) -> list[dict[str, Any]]:
        """Who answered what about a node."""
        own = self.campaign
        names = own.store.people(own.id)
        with own.lock:
            turns = own.turns.about(row)
        given = [(turn.person, as_kept(turn.code)) for turn in turns if turn.outcome == "answer"]
        return [{"person": who, "name": names.get(who or "", who), "label": code} for who, code in given]

    def drawing(self, row: int, visitor: Visitor | None, guesses: bool) -> dict[str, Any]:
        """The neighbourhood of a node: places from 0 to 1, and edges between them."""
        rows, places, edges = self.places(row, self.campaign.asking.graph.n_nodes)
        drawn = [
            {**{k: each[k] for k in ("row", "name", "label")}, "known": each["by"] not in ("guess", None)}
            for each in self.listed(rows, visitor, guesses)
        ]
        for each, (x, y) in zip(drawn, places, strict=True):
            each |= {"x": x, "y": y, "centre": each["row"] == row}
        return {"nodes": drawn, "edges": edges}

    def _places(self, row: int, n_nodes: int) -> tuple[list[int], list[list[float]], list[list[int]]]:
        """Rows around a row, their places and edges. `n_nodes` makes a grown graph a new question."""
        S = self.campaign.asking.graph.adjacency
        rows = [row, *self._nodes.near(row)][:DRAWN]
        for other in rows[1:]:
            if len(rows) >= AROUND:
                break
            rows += [far for far in self._nodes.near(other) if far not in rows][: max(0, AROUND - len(rows))]
        X, edges = _placed(S, rows)
        return rows, X.tolist(), edges

    def map(self, visitor: Visitor | None = None) -> dict[str, Any]:
        """The graph, or a piece of a large one, with what is known of every node."""
        graph = self.campaign.asking.graph
        if self._map is None or len(self._map[0]) < min(graph.n_nodes, MAPPED):
            n, S = graph.n_nodes, graph.adjacency
            none = np.zeros(n, dtype=bool)
            rows = np.arange(n) if n <= MAPPED else piece(S, none, np.zeros(n, dtype=np.int64), MAPPED)
            self._map = rows, *_placed(S, rows)
        rows, X, edges = self._map
        listed = self.listed(rows.tolist(), visitor)
        return {
            "rows": rows.tolist(),
            "x": X[:, 0].tolist(),
            "y": X[:, 1].tolist(),
            "label": [_coloured(each["label"]) for each in listed],
            "known": [int(each["by"] not in ("guess", None)) for each in listed],
            "edges": edges,
        }

    # -- labels -------------------------------------------------------------------------------------------

    def labelling(self) -> Any:
        """A label for every node by `auto`, from all answers."""
        own = self.campaign
        own.learner.caught_up(own.last, PATIENCE)
        with own.learner.lock:
            answers = own.asking.state.answers()
        with self._labelling:
            return own.asking.label_from(answers)

    def labels(self, after: int, limit: int, visitor: Visitor | None = None) -> dict[str, Any]:
        """A page of the labels of all nodes behind a row, and where the next page begins."""
        found = self.labelling()
        rows, following = _page(after, limit, len(found.codes))
        shown = []
        for row in rows:
            about: dict[str, Any] = {"row": row, "node": found.graph.nodes[row], "label": None}
            if found.reached[row]:
                own = found.codes[row]
                about["label"] = own.nonzero()[0].tolist() if found.multilabel else int(own)
                about["probability"] = float(found.probability[row])
            shown.append(self.seen(about, visitor))
        return {"labels": shown, "next": following}

    def export(self, format: str, visitor: Visitor | None = None, *, safe_csv: bool = True) -> bytes:
        """The labels of all nodes but those hidden, as a file.

        In CSV, what a spreadsheet would run is made harmless: people open it by a click. Where it must read
        back as it was, `safe_csv` is False.
        """
        found = self.labelling()
        table = columns_of(found, influences(found), text=format == "csv")
        table = table.filter([not self.hides(row, visitor) for row in range(table.num_rows)])
        return file_of(table, format, safe_csv=safe_csv)

    def export_answers(self, format: str, hide: bool = False, *, safe_csv: bool = True) -> bytes:
        """Who answered what, when and in how many seconds, as a file; `hide` leaves out who people are."""
        own = self.campaign
        events = own.store.events(own.id)
        own.check_row(max((event.body["row"] for event in events if event.kind == "question"), default=0))
        names = None if hide else own.store.people(own.id)
        events = anonymous(events) if hide else events
        nodes, multilabel = own.asking.graph.nodes, own.asking.multilabel
        text = format == "csv"
        found = answers_table(events, nodes, own.classes, names, multilabel=multilabel, text=text)
        return file_of(found, format, safe_csv=safe_csv)


def _page(after: int, limit: int, n: int) -> tuple[list[int], int | None]:
    """Up to so many of n rows behind one, and the last of them if others follow."""
    rows = list(range(after + 1, min(after + 1 + limit, n)))
    return rows, rows[-1] if rows and rows[-1] + 1 < n else None


def _coloured(label: int | list[int] | None) -> int:
    """The class by whose colour a node is drawn: of several the first; -1 for none."""
    first = next(iter(label), None) if isinstance(label, list) else label
    return -1 if first is None else first


def _placed(S: Any, rows: Any) -> tuple[Floats, list[list[int]]]:
    """Places of some nodes, from 0 to 1, and every edge among them once."""
    own = S[rows][:, rows].tocsr()
    X = (layout(own) + 1) / 2 if len(rows) > 1 else np.full((len(rows), 2), 0.5)
    return np.round(X, 4), np.column_stack(triu(own, 1).nonzero()).tolist()
