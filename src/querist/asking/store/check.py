"""Whether a log is whole: nothing missing, nothing changed, and every event means something where it stands.

Sums find what was changed; `meaningful` finds what makes no sense.
"""

import json
import math
from collections.abc import Iterable, Iterator, Set
from types import NoneType
from typing import Any, NoReturn

from querist.asking.answers import as_code, as_kept, fault_of
from querist.asking.options import CampaignOptions
from querist.asking.store.events import BEGINNING, Damage, Event, StoreDamagedError, StoredEvent, chained
from querist.asking.turns import CLOSING, Turns
from querist.errors import QueristError

Types = Set[type]
"""What the value of a field may be; exactly these, as true is an integer to Python."""

_NUMBER: Types = {int, float}
_CODE: Types = {int, list}
_PERSON: Types = {str, NoneType}
_HELD: dict[str, Types] = {"row": {int}, "person": {str}, "until": _NUMBER}
KINDS: dict[str, dict[str, Types]] = {
    "campaign": {"graph": {str}, "nodes": {int}, "edges": {int}, "classes": {list}, "strategy": {str}},
    "question": {"row": {int}, "audit": {bool}, "reason": {str}},
    "answer": {"row": {int}, "code": _CODE},
    "skip": {"row": {int}},
    "unsure": {"row": {int}},
    "undo": {"row": {int}},
    "growth": {"nodes": {list}, "edges": {list}, "attributes": {list}, "columns": {int}},
    "known": {"rows": {list}, "codes": {list}},
    "stop": {"why": {str}},
    "lease": _HELD,
    "beat": _HELD,
    "expire": {"row": {int}, "person": {str}},
    "release": {"row": {int}, "person": {str}},
    "comment": {"row": {int}, "person": _PERSON, "text": {str}},
    "verdict": {"row": {int}, "code": _CODE, "person": _PERSON},
    "pause": {"person": _PERSON},
    "resume": {"person": _PERSON},
    "options": {"person": _PERSON},
}
"""What the body of every kind of event has."""

_MAY_HAVE: dict[str, Types] = {
    "person": _PERSON,
    "until": _NUMBER,
    "replaces": {int},
    "multilabel": {bool},
    "guess": _CODE | {NoneType},
    "second": _CODE | {NoneType},
    "probabilities": {list, NoneType},
    **dict.fromkeys(("value", "gain", "chance", "probability", "second_probability"), _NUMBER | {NoneType}),
}
_FIELDS = {kind: {**_MAY_HAVE, **own} for kind, own in KINDS.items()}


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


_decoded = json.JSONDecoder(parse_constant=_no_number).decode

Pair = tuple[StoredEvent, Event]


def unchanged(
    place: str,
    campaign: str,
    rows: Iterable[StoredEvent],
    seen: int = 0,
    total: bytes = BEGINNING,
) -> Iterator[Pair]:
    """Events as they are kept and as they are read, behind the `seen`-th, which has this sum.

    `StoreDamagedError` at the first that is missing or was changed.
    """
    for row in rows:
        seq, at, kind, text, kept = row
        seen += 1
        what = "it was changed since it was written"
        if seq != seen:
            what = "it is missing" if type(seq) is int and seq > seen else "it is there twice"
        elif type(at) is float and type(kind) is type(text) is str:
            total = chained(total, seq, at, kind, text)
            if total == kept:
                try:
                    body = _decoded(text)
                except ValueError:
                    body = None
                if type(body) is dict:
                    yield row, Event(seq, at, kind, body)
                    continue
                what = "its body is no JSON object"
        raise StoreDamagedError(place, Damage(campaign, seen, what))


def meaningful(place: str, campaign: str, events: Iterable[Pair]) -> Iterator[Pair]:
    """The same events; `StoreDamagedError` at the first that cannot have happened after those before it."""
    log = _Log()
    for row, event in events:
        what = log.fault(event)
        if what:
            raise StoreDamagedError(place, Damage(campaign, event.seq, what))
        yield row, event


class _Log:
    """What must be known of the events before to judge the next."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.nodes = self.classes = 0
        self.multilabel = False

    def fault(self, event: Event) -> str | None:
        """What is wrong with the next event; it is part of the log from now on if nothing is."""
        kind, body = event.kind, event.body
        if (event.seq == 1) != (kind == "campaign"):
            return f"it is {kind!r}, and a log begins with 'campaign', once"
        if kind not in KINDS:
            return f"nothing is known of the kind {kind!r}; update querist if a newer one wrote it"
        wrong = _misshapen(kind, body) or self._out_of_range(kind, body) or self._impossible(kind, body)
        if wrong:
            return wrong
        if kind == "campaign":
            self.nodes, self.classes = body["nodes"], len(body["classes"])
            self.multilabel = body.get("multilabel", False)
        elif kind == "growth":
            self.nodes += len(body["nodes"])
        elif kind == "known":
            self.turns.withdraw(set(body["rows"]))
        else:
            self.turns.apply(event)
        return None

    def _out_of_range(self, kind: str, body: Any) -> str | None:
        if kind == "campaign":
            return _campaign_fault(body)
        if kind == "options":
            try:
                CampaignOptions.changes({name: value for name, value in body.items() if name != "person"})
            except QueristError as error:
                return str(error)
        if kind == "growth":
            return self._growth_fault(body)
        if kind == "known":
            rows, codes = body["rows"], body["codes"]
            if len(rows) != len(codes) or not all(type(row) is int for row in rows):
                return "its rows and codes are not as many integers"
        else:
            rows = (body["row"],) if "row" in body else ()
            codes = (body.get("code"), body.get("guess"), body.get("second"))
        for row in rows:
            if not 0 <= row < self.nodes:
                return f"its row is {row}, and there are {self.nodes} nodes"
        return next((wrong for code in codes if code is not None and (wrong := self._no_code(code))), None)

    def _no_code(self, code: Any) -> str | None:
        if fault_of(code, self.classes, self.multilabel):
            return f"its class is {code!r:.80}, and there are {self.classes} classes"
        if as_kept(as_code(code)) != code:
            return f"its set {code!r:.80} is not in the order of the classes, each once"
        return None

    def _growth_fault(self, body: Any) -> str | None:
        new, columns = len(body["nodes"]), body["columns"]
        if not _plain(body["nodes"]):
            return "an id of its nodes is neither text nor number"
        for name, heads, tails in (
            ("edges", self.nodes + new, self.nodes + new),
            ("attributes", new, columns),
        ):
            for entry in body[name]:
                if not (
                    type(entry) is list
                    and len(entry) == 3
                    and type(entry[0]) is type(entry[1]) is int
                    and 0 <= entry[0] < heads
                    and 0 <= entry[1] < tails
                    and type(entry[2]) in _NUMBER
                    and math.isfinite(entry[2])
                ):
                    return f"{entry!r} cannot be one of its {name}"
        return None

    def _impossible(self, kind: str, body: Any) -> str | None:
        row = body.get("row")
        if kind in CLOSING and "replaces" in body:
            vote = self.turns.vote_of(body.get("person"), row)
            if kind != "answer" or vote is None or vote.opened != body["replaces"]:
                return f"it replaces question {body['replaces']}, not that of its person's last answer"
            return None
        if kind == "question" and self.turns.open_about(row) is not None:
            return f"it asks about row {row}, and that question is open"
        if kind in (*CLOSING, "lease") and self.turns.open_about(row) is None:
            return f"it is {kind!r} of row {row}, and no question about it is open"
        if kind == "undo":
            back = self.turns.last_closed(body.get("person"))
            if back is None or back.row != row:
                return f"it takes back the answer about row {row}, which was not the last"
        return None


def _campaign_fault(body: Any) -> str | None:
    if len(body["classes"]) < 2 or not _plain(body["classes"]):
        return "its classes are not two texts or numbers, or more"
    return f"it has {body['nodes']} nodes" if body["nodes"] < 0 else None


def _plain(names: list[Any]) -> bool:
    return all(type(name) in (str, int, float) for name in names)


def _misshapen(kind: str, body: Any) -> str | None:
    if not KINDS[kind].keys() <= body.keys():
        return f"its body has no {min(KINDS[kind].keys() - body.keys())!r}"
    own = _FIELDS[kind]
    for name, value in body.items():
        if name in own and type(value) not in own[name]:
            words = " or ".join(sorted(each.__name__ for each in own[name]))
            return f"its {name!r} is {value!r:.80}, not of type {words}"
    return None
