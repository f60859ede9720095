"""What a campaign says of itself, as plain values: for the answers of the server and for its pages."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from querist.asking.answers import Code, as_kept, likeliest, sureness
from querist.asking.campaign import Question
from querist.asking.results import Audit, measured
from querist.labelling.influence import influences
from querist.labelling.storage import columns_of
from querist.report.drawing import layout, piece
from querist.serve.campaign import ServedCampaign
from querist.serve.exports import answers_table, file_of
from querist.types import Codes, Floats

DRAWN, AROUND = 150, 40
"""Most nodes of a drawing; neighbours of neighbours are added up to the second number."""
MAPPED = 5000
"""Most nodes of the map."""
PATIENCE = 60.0
"""Seconds that an export waits for the learner."""
NEIGHBOURS = 50
"""Most neighbours that are listed."""


class CampaignViews:
    """The views of one campaign; what takes long is computed once for the same answers."""

    def __init__(self, campaign: ServedCampaign) -> None:
        self.campaign = campaign
        self.places = lru_cache(512)(self._places)
        self._labelling = threading.Lock()
        self._audit: tuple[Any, Audit | None] = (None, None)
        self._auditing = threading.Lock()
        self._map: tuple[Codes, Floats, list[list[int]]] | None = None

    # -- the campaign -------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """How the campaign stands."""
        own = self.campaign
        graph, spec, curve = own.asking.graph, own.asking.specification, own.learner.curve
        with own.lock:
            turns = own.turns
            standing = {
                "id": own.id,
                "name": own.name,
                "classes": list(own.classes),
                "multilabel": spec.multilabel,
                "choose": spec.choose,
                "find": spec.find,
                "paused": own.paused,
                "budget": own.budget,
                "stop": own.stop,
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
            "audit": None
            if audit is None or not audit.answered
            else {"accuracy": audit.accuracy, "interval": list(audit.interval), "answered": audit.answered},
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
            votes: dict[str | None, int] = {}
            for turn in own.turns:
                if turn.outcome == "answer":
                    votes[turn.person] = votes.get(turn.person, 0) + 1
            holders = [lease.person for lease in own.turns.leases.values()]
            everybody = {*votes, *holders, *names}
            seconds = {who: None if who is None else own.turns.seconds(who) for who in everybody}
        found = []
        for who in sorted(everybody, key=lambda who: (-votes.get(who, 0), str(who))):
            person = believed.get(who)
            found.append(
                {
                    "person": who,
                    "name": names.get(who or "", None) or who or "somebody",
                    "votes": votes.get(who, 0),
                    "accuracy": None if person is None else person.accuracy,
                    "interval": None if person is None else list(person.interval),
                    "median_seconds": seconds[who],
                    "open": holders.count(who or ""),
                }
            )
        return found

    def doubts(self) -> list[dict[str, Any]]:
        """The answered nodes whose class is in doubt, the least sure first."""
        own = self.campaign
        with own.learner.lock:
            doubts = own.asking.doubts
        rows = [(own.asking.graph.row_of[node], belief) for node, belief in doubts.items()]
        return [
            {"row": row, "belief": belief, **self._named(row), "votes": self.votes(row)}
            for row, belief in rows
            if row not in own.verdicts
        ]

    # -- nodes --------------------------------------------------------------------------------------------

    def nodes(self, after: int, limit: int) -> dict[str, Any]:
        """A page of nodes behind a row, and where the next page begins."""
        n = self.campaign.n_nodes
        rows = list(range(after + 1, min(after + 1 + limit, n)))
        return {"nodes": self.listed(rows), "next": rows[-1] if rows and rows[-1] + 1 < n else None}

    def listed(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """What is known of some rows: the label, by whom, how sure."""
        own, found = self.campaign, list[dict[str, Any]]()
        if not len(rows):
            return found
        model = own.asking.state.model
        # Neighbours that just came by may not be learned yet: nothing is known of them.
        n = len(model.rows)
        p, reached = model.beliefs_at([row if row < n else 0 for row in rows])
        beliefs = sureness(p, model.several).tolist()
        with own.lock:
            for row, each, there, belief in zip(rows, p, reached.tolist(), beliefs, strict=True):
                code, by = self._label(row)
                if code is None and there and row < n:
                    code, by = likeliest(each, model.several), "guess"
                sure = None if code is None or by != "guess" else belief
                votes = sum(turn.outcome == "answer" for turn in own.turns.about(row))
                label = None if code is None else as_kept(code)
                found.append({"row": row, **self._named(row), "label": label, "by": by, "belief": sure})
                found[-1]["votes"] = votes
        return found

    def node(self, row: int) -> dict[str, Any]:
        """Everything about a node: its row of the table, its guess, answers, comments, neighbourhood."""
        own = self.campaign
        names = own.store.people(own.id)
        about = own.asking.state.about(row)
        code, _ = self._label(row)
        with own.lock:
            comments = [
                {"person": c.person, "name": names.get(c.person, c.person), "text": c.text, "at": c.at}
                for c in own.comments.get(row, ())
            ]
        return {
            "row": row,
            **self._named(row),
            "values": [list(pair) for pair in own.texts.values(row)],
            **about,
            "answer": None if code is None else as_kept(code),
            "votes": self.votes(row),
            "comments": comments,
            "degree": int(np.diff(own.asking.graph.adjacency.indptr[row : row + 2])[0]),
            "neighbours": self.neighbours(row),
            "drawing": self.drawing(row),
        }

    def lease(self, question: Question, detail: bool = True) -> dict[str, Any]:
        """A question that somebody has."""
        own = self.campaign
        codes = {name: code for code, name in enumerate(own.classes)}

        def code(name: Any) -> Any:
            return [codes[each] for each in name] if isinstance(name, tuple) else codes.get(name)

        held, each = own.turns.leases.get(question.row), question.probabilities
        return {
            "row": question.row,
            **self._named(question.row),
            "number": question.number,
            "until": None if held is None else held.until,
            "audit": question.audit,
            "again": question.again,
            "reason": question.reason,
            "guess": code(question.guess),
            "probability": question.probability,
            "second": code(question.second),
            "second_probability": question.second_probability,
            **({} if each is None else {"probabilities": list(each.values())}),
            **({"detail": self.node(question.row)} if detail else {}),
        }

    def votes(self, row: int) -> list[dict[str, Any]]:
        """Who answered what about a node."""
        own = self.campaign
        names = own.store.people(own.id)
        with own.lock:
            turns = own.turns.about(row)
        return [
            {
                "person": turn.person,
                "name": names.get(turn.person or "", turn.person),
                "label": as_kept(turn.code),
            }
            for turn in turns
            if turn.outcome == "answer"
        ]

    def neighbours(self, row: int) -> list[dict[str, Any]]:
        """The neighbours by the heaviest edges, those with a label first."""
        S = self.campaign.asking.graph.adjacency
        part = slice(S.indptr[row], S.indptr[row + 1])
        near = S.indices[part][np.argsort(-np.abs(S.data[part]), kind="stable")].tolist()
        known = {other for other in near if self._label(other)[0] is not None}
        rows = sorted(near, key=lambda other: other not in known)[:NEIGHBOURS]
        return [{**each, "known": each["row"] in known} for each in self.listed(rows)]

    def drawing(self, row: int) -> dict[str, Any]:
        """The neighbourhood of a node: places from 0 to 1, and edges between them."""
        rows, places, edges = self.places(row, self.campaign.asking.graph.n_nodes)
        drawn = [
            {**{k: each[k] for k in ("row", "name", "label")}, "known": each["by"] not in ("guess", None)}
            for each in self.listed(rows)
        ]
        for each, (x, y) in zip(drawn, places, strict=True):
            each |= {"x": x, "y": y, "centre": each["row"] == row}
        return {"nodes": drawn, "edges": edges}

    def _places(self, row: int, n_nodes: int) -> tuple[list[int], list[list[float]], list[list[int]]]:
        """Rows around a row, their places and edges. `n_nodes` makes a grown graph a new question."""
        S = self.campaign.asking.graph.adjacency
        rows = [row, *self._near(row)][:DRAWN]
        for other in rows[1:]:
            if len(rows) >= AROUND:
                break
            rows += [far for far in self._near(other) if far not in rows][: max(0, AROUND - len(rows))]
        own = S[rows][:, rows].tocsr()
        X = (layout(own) + 1) / 2 if len(rows) > 1 else np.full((1, 2), 0.5)
        return rows, np.round(X, 4).tolist(), _pairs(own)

    def _near(self, row: int) -> list[int]:
        S = self.campaign.asking.graph.adjacency
        part = slice(S.indptr[row], S.indptr[row + 1])
        near = S.indices[part][np.argsort(-np.abs(S.data[part]), kind="stable")]
        return [other for other in near.tolist() if other != row]

    def map(self) -> dict[str, Any]:
        """The graph, or a piece of a large one, with what is known of every node."""
        graph = self.campaign.asking.graph
        if self._map is None or len(self._map[0]) < min(graph.n_nodes, MAPPED):
            n, S = graph.n_nodes, graph.adjacency
            none = np.zeros(n, dtype=bool)
            rows = np.arange(n) if n <= MAPPED else piece(S, none, np.zeros(n, dtype=np.int64), MAPPED)
            own = S[rows][:, rows].tocsr()
            X = (layout(own) + 1) / 2 if n > 1 else np.full((n, 2), 0.5)
            self._map = rows, np.round(X, 4), _pairs(own)
        rows, X, edges = self._map
        listed = self.listed(rows.tolist())
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

    def export(self, format: str, *, safe_csv: bool = True) -> bytes:
        """The labels of all nodes as a file; in CSV what a spreadsheet would run is made harmless.

        It is what people open by a click; where it must read back as it was, `safe_csv` is False.
        """
        found = self.labelling()
        table = columns_of(found, influences(found), text=format == "csv")
        return file_of(table, format, safe_csv=safe_csv)

    def export_answers(self, format: str, anonymous: bool = False, *, safe_csv: bool = True) -> bytes:
        """Who answered what, when and in how many seconds, as a file."""
        own = self.campaign
        events = own.store.events(own.id)
        own.check_row(max((event.body["row"] for event in events if event.kind == "question"), default=0))
        names = None if anonymous else own.store.people(own.id)
        found = answers_table(events, own.asking.graph.nodes, own.classes, names)
        return file_of(found, format, safe_csv=safe_csv)

    # -- inside -------------------------------------------------------------------------------------------

    def _named(self, row: int) -> dict[str, Any]:
        asking = self.campaign.asking
        node = asking.graph.nodes[row]
        return {"node": node, "name": self.campaign.texts.name_of(asking, node)}

    def _label(self, row: int) -> tuple[Code | None, str | None]:
        """The class of a row that somebody gave, and how: a verdict, a label known before, an answer."""
        own = self.campaign
        state = own.asking.state
        with own.lock:
            if row in own.verdicts:
                return own.verdicts[row], "verdict"
            if row in state.known:
                return state.known[row], "known"
            codes = [turn.code for turn in own.turns.about(row) if turn.outcome == "answer"]
        if not codes:
            return None, None
        opinions = state.opinions
        at = -1 if opinions is None else opinions.rows.get(row, -1)
        # As in the labels: what is believed by the answers. The learner works meanwhile: a row may be there a
        # moment before its target.
        if opinions is not None and 0 <= at < len(opinions.targets):
            return likeliest(opinions.targets[at], opinions.several), "answer"
        return codes[-1], "answer"


def _coloured(label: int | list[int] | None) -> int:
    """The class by whose colour a node is drawn: of several the first; -1 for none."""
    first = next(iter(label), None) if isinstance(label, list) else label
    return -1 if first is None else first


def _pairs(S: Any) -> list[list[int]]:
    """Every edge of a symmetric matrix once."""
    heads = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    once = heads < S.indices
    return np.column_stack([heads[once], S.indices[once]]).tolist()  # type: ignore[no-any-return]
