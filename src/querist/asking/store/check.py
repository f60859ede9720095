"""Whether a log is whole: nothing missing, nothing changed, and every event means something where it stands.

Sums find what was changed; journals of version 1 had none, and there only what makes no sense is found.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from querist.asking.store.events import BEGINNING, Damage, Event, StoredEvent, chained
from querist.asking.store.interface import StoreDamagedError
from querist.asking.turns import CLOSING, Turns

Test = tuple[str, Callable[[Any], bool]]
"""What a value must be, in words, and whether it is."""


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


_INTEGER: Test = ("an integer", lambda value: type(value) is int)
_COUNT: Test = ("an integer of 0 or more", lambda value: type(value) is int and value >= 0)
_NUMBER: Test = ("a number", _number)
_TEXT: Test = ("a text", lambda value: type(value) is str)
_FLAG: Test = ("true or false", lambda value: type(value) is bool)
_LIST: Test = ("a list", lambda value: type(value) is list)
_INTEGERS: Test = (
    "a list of integers",
    lambda value: type(value) is list and all(type(each) is int for each in value),
)
_CLASSES: Test = (
    "a list of two classes or more",
    lambda value: type(value) is list and len(value) > 1 and all(type(v) in (str, int, float) for v in value),
)


def _or_none(test: Test) -> Test:
    words, holds = test
    return f"{words} or null", lambda value: value is None or holds(value)


_PERSON = _or_none(_TEXT)
_ABOUT_A_ROW = {"row": _INTEGER}
_HELD = {"row": _INTEGER, "person": _TEXT, "until": _NUMBER}
KINDS: dict[str, dict[str, Test]] = {
    "campaign": {"graph": _TEXT, "nodes": _COUNT, "edges": _COUNT, "classes": _CLASSES, "choose": _TEXT},
    "question": {"row": _INTEGER, "audit": _FLAG, "reason": _TEXT},
    "answer": {"row": _INTEGER, "code": _INTEGER},
    "skip": _ABOUT_A_ROW,
    "unsure": _ABOUT_A_ROW,
    "undo": _ABOUT_A_ROW,
    "growth": {"nodes": _LIST, "edges": _LIST, "attributes": _LIST, "columns": _COUNT},
    "known": {"rows": _INTEGERS, "codes": _INTEGERS},
    "stop": {"why": _TEXT},
    "lease": _HELD,
    "beat": _HELD,
    "expire": {"row": _INTEGER, "person": _TEXT},
    "release": {"row": _INTEGER, "person": _TEXT},
    "comment": {"row": _INTEGER, "person": _PERSON, "text": _TEXT},
    "verdict": {"row": _INTEGER, "code": _INTEGER, "person": _PERSON},
    "pause": {"person": _PERSON},
    "resume": {"person": _PERSON},
    "budget": {"budget": _COUNT, "person": _PERSON},
}
"""What the body of every kind of event has."""

_MAY_HAVE: dict[str, Test] = {
    "person": _PERSON,
    "until": _NUMBER,
    "round": _INTEGER,
    "guess": _or_none(_INTEGER),
    "second": _or_none(_INTEGER),
    **dict.fromkeys(("value", "gain", "chance", "probability", "second_probability"), _or_none(_NUMBER)),
}
"""Of fields that are not everywhere."""

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
                    body = json.loads(text)
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

    def fault(self, event: Event) -> str | None:
        """What is wrong with the next event; it is part of the log from now on if nothing is."""
        kind, body = event.kind, event.body
        if (event.seq == 1) != (kind == "campaign"):
            return f"it is {kind!r}, and a log begins with 'campaign', once"
        if kind not in KINDS:
            return f"nothing is known of the kind {kind!r}; update querist if a newer one wrote it"
        wrong = _misshapen(kind, body) or self._out_of_range(kind, body)
        if wrong is None:
            wrong = self._impossible(kind, body)
        if wrong is not None:
            return wrong
        if kind == "campaign":
            self.nodes, self.classes = body["nodes"], len(body["classes"])
        elif kind == "growth":
            self.nodes += len(body["nodes"])
        elif kind == "known":
            self.turns.withdraw(set(body["rows"]))
        else:
            self.turns.apply(event)
        return None

    def _out_of_range(self, kind: str, body: Any) -> str | None:
        rows = [body["row"]] if "row" in body else ()
        codes: Any = [code for name in ("code", "guess", "second") if (code := body.get(name)) is not None]
        if kind == "known":
            rows, codes = body["rows"], body["codes"]
            if len(rows) != len(codes):
                return f"it has {len(rows)} rows and {len(codes)} codes"
        elif kind == "growth":
            return self._growth_fault(body)
        for row in rows:
            if not 0 <= row < self.nodes:
                return f"its row is {row}, and there are {self.nodes} nodes"
        for code in codes:
            if not 0 <= code < self.classes:
                return f"its class is {code}, and there are {self.classes} classes"
        return None

    def _growth_fault(self, body: Any) -> str | None:
        new, columns = len(body["nodes"]), body["columns"]
        if not all(type(node) in (str, int, float) for node in body["nodes"]):
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
                    and _number(entry[2])
                ):
                    return f"{entry!r} cannot be one of its {name}"
        return None

    def _impossible(self, kind: str, body: Any) -> str | None:
        row = body.get("row")
        if kind == "question" and self.turns.open_about(row) is not None:
            return f"it asks about row {row}, and that question is open"
        if kind in (*CLOSING, "lease") and self.turns.open_about(row) is None:
            return f"it is {kind!r} of row {row}, and no question about it is open"
        if kind == "undo":
            back = self.turns.last_closed(body.get("person"))
            if back is None or back.row != row:
                return f"it takes back the answer about row {row}, which was not the last"
        return None


def _misshapen(kind: str, body: Any) -> str | None:
    own = KINDS[kind]
    for name, (words, holds) in own.items():
        if name not in body:
            return f"its body has no {name!r}"
        if not holds(body[name]):
            return f"its {name!r} is {body[name]!r:.80}, not {words}"
    for name, value in body.items():
        if name not in own and name in _MAY_HAVE:
            words, holds = _MAY_HAVE[name]
            if not holds(value):
                return f"its {name!r} is {value!r:.80}, not {words}"
    return None
