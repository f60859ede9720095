"""A campaign on a server, with the calls of `Asking`.

asking = querist.connect("http://127.0.0.1:8377/enter?token=...")
question = asking.question       # leased to you
asking.answer("water")           # in the store when this returns
asking.labels

Every answer has a key, and is sent again under it when the network fails: it is kept once.
"""

import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from querist.asking.answers import as_kept, named_or_none
from querist.asking.campaign import Question
from querist.asking.oracles import checked_answer
from querist.atomic import check_writable, replacing
from querist.errors import InputError, QueristError
from querist.lazy import needing

with needing("serve", "a connection to a server"):
    import requests
    from requests.adapters import HTTPAdapter, Retry  # type: ignore[attr-defined]

TRIES, PAUSE = 6, 0.2
"""Times that a request is sent again while the server is away, and seconds that pauses grow from."""
AWAY = (502, 503, 504)


class ServerError(QueristError):
    """What a server refused, in its words."""


def connect(
    url: str, token: str | None = None, campaign: str | None = None, *, timeout: float = 60.0
) -> "RemoteAsking":
    """A campaign on a server.

    Parameters
    ----------
    url : the link that you were given, or the server's address
    token : where the address is given without one
    campaign : its id or name; the only one that you may see by default
    timeout : seconds to wait for an answer of the server

    >>> connect("http://127.0.0.1:8000/")
    Traceback (most recent call last):
    ...
    querist.errors.InputError: there is no token; give the link that you were given, or token=
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"{url!r} is no address of a server; give the link that you were given")
    found = token or next(iter(parse_qs(parts.query).get("token", [])), None)
    if not found:
        raise InputError("there is no token; give the link that you were given, or token=")
    remote = Remote(f"{parts.scheme}://{parts.netloc}", found, timeout)
    entries = [each for each in remote.get("/campaigns") if campaign in (None, each["id"], each["name"])]
    if len(entries) != 1:
        names = ", ".join(f"{each['id']} ({each['name']})" for each in remote.get("/campaigns")) or "none"
        raise InputError(f"which campaign? You may see {names}; name one with campaign=")
    return RemoteAsking(remote, entries[0]["id"])


class Remote:
    """Requests to a server, sent again while it is away."""

    def __init__(self, address: str, token: str, timeout: float) -> None:
        self.address, self.timeout = address, timeout
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"
        again = Retry(
            TRIES, backoff_factor=PAUSE, status_forcelist=AWAY, allowed_methods=None, raise_on_status=False
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=again))

    def get(self, path: str, **params: Any) -> Any:
        """What is there."""
        return self.send("GET", path, params=params).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Do something, once."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self.send("POST", path, json=dict(body or {}), headers=headers).json()

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        """One request and its response, or what the server says against it."""
        try:
            response = self._session.request(method, f"{self.address}/v1{path}", timeout=self.timeout, **more)
        except requests.RequestException as problem:
            raise ServerError(
                f"{self.address} does not answer ({problem}); no acknowledged answer is lost. Try later"
            ) from problem
        if not response.ok:
            raise ServerError(_said(response))
        return response


class RemoteAsking:
    """A campaign on a server, for one of its people.

    It has the calls of `Asking`:

    >>> from querist.asking import Asking
    >>> [call for call in ("question", "answer", "skip", "unsure", "undo", "write") if hasattr(Asking, call)]
    ['question', 'answer', 'skip', 'unsure', 'undo', 'write']
    >>> all(hasattr(RemoteAsking, call) for call in ("question", "answer", "skip", "unsure", "undo", "write"))
    True
    """

    def __init__(self, remote: Remote, campaign: str) -> None:
        self._remote, self._path = remote, f"/campaigns/{campaign}"
        self.stopped: str | None = None
        """Why no more is asked, once it is so."""
        self._open: dict[Hashable, Question] = {}
        own = self.summary()
        self.classes: tuple[Any, ...] = tuple(own["classes"])
        """What an answer may be."""
        self.multilabel: bool = own["multilabel"]
        """Whether a node may have several labels; then an answer is a set of classes."""

    # -- a question and its answer ---------------------------------------------------------------------

    @property
    def question(self) -> Question | None:
        """The question that is yours, or the next one; None when there is none (`stopped` says why)."""
        return next(iter(self.questions(1)), None)

    def questions(self, count: int) -> list[Question]:
        """Up to `count` questions at once, to be answered in any order."""
        found = self._remote.post(f"{self._path}/leases", {"count": count, "detail": False})
        self.stopped = found["stopped"]
        questions = [Question.of(each, self.classes) for each in found["leases"]]
        self._open = {each.node: each for each in questions}
        return questions

    def answer(self, given: Any, node: Hashable = None) -> None:
        """The class of the node whose question is yours, of the oldest one unless named; None is "unsure".

        Where nodes may have several labels it is a set of classes, perhaps the empty one.
        """
        code = checked_answer(given, self.classes, self._pending(node).node, multilabel=self.multilabel)
        if code == -1:
            self._close("unsure", node)
        else:
            self._close("answer", node, as_kept(code))

    def unsure(self, node: Hashable = None) -> None:
        """You cannot tell."""
        self._close("unsure", node)

    def skip(self, node: Hashable = None) -> None:
        """Put the node aside."""
        self._close("skip", node)

    def undo(self) -> bool:
        """Take back your last answer; False where there is none."""
        found = self._remote.post(f"{self._path}/undo")
        if found["lease"] is not None:
            again = Question.of(found["lease"], self.classes)
            self._open = {again.node: again, **self._open}
        return found["row"] is not None

    def comment(self, text: str, node: Hashable = None) -> None:
        """Say something about the node in question."""
        self._remote.post(f"{self._path}/comments", {"row": self._pending(node).row, "text": text})

    def run(self, oracle: Callable[[Any], Any]) -> None:
        """Put every question to the oracle."""
        while (question := self.question) is not None:
            self.answer(oracle(question.node), question.node)

    def extend(
        self, edges: Iterable[Sequence[Any]] = (), nodes: Iterable[Mapping[str, Any]] = ()
    ) -> list[dict[str, Any]]:
        """New nodes, each a dict of its columns, and edges; the label of each new node, and if it is asked
        about."""
        body = {"nodes": list(nodes), "edges": [list(edge) for edge in edges]}
        found = self._remote.post(f"{self._path}/arrivals", body)["nodes"]
        return [{**each, "label": named_or_none(each["label"], self.classes)} for each in found]

    # -- what came of it -------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """How the campaign stands."""
        found: dict[str, Any] = self._remote.get(self._path)
        return found

    @property
    def budget(self) -> int:
        """The most answers."""
        return int(self.summary()["budget"])

    @property
    def asked(self) -> int:
        """Questions that were answered, by everybody."""
        return int(self.summary()["asked"])

    @property
    def expected_accuracy(self) -> float | None:
        """The share of nodes that the learner would label right now; None without an audit."""
        found: float | None = self.summary()["expected_accuracy"]
        return found

    @property
    def labels(self) -> list[Any]:
        """The label of every node, tuples if nodes have several; None if unreached or hidden from you."""
        return [
            named_or_none(each["label"], self.classes) for each in self._pages("labels", "labels", 10_000)
        ]

    @property
    def answers(self) -> dict[Hashable, Any]:
        """All answers that you may see, by node; sets are tuples."""
        given = [each for each in self._pages("nodes", "nodes", 500) if each["by"] in ("answer", "verdict")]
        return {each["node"]: named_or_none(each["label"], self.classes) for each in given}

    def describe(self, node: Hashable = None) -> dict[str, Any]:
        """What you may see of a node, the one in question unless named, with its neighbours."""
        if node is None or node in self._open:
            row: int | None = self._pending(node).row
        else:
            listed = self._pages("nodes", "nodes", 500)
            row = next((each["row"] for each in listed if each["node"] == node), None)
        if row is None:
            raise InputError(f"there is no node {node!r}; give the id of a node of the campaign")
        found: dict[str, Any] = self._remote.get(f"{self._path}/nodes/{row}")
        named = {name: named_or_none(found[name], self.classes) for name in ("guess", "second", "answer")}
        near = [{**each, "label": named_or_none(each["label"], self.classes)} for each in found["neighbours"]]
        return {**found, **named, "neighbours": near}

    def neighbours(self, node: Hashable) -> list[tuple[Hashable, Any, bool]]:
        """(neighbour, its label by answer or guess, whether it was answered), the answered first."""
        return [(each["node"], each["label"], each["known"]) for each in self.describe(node)["neighbours"]]

    @property
    def people(self) -> list[dict[str, Any]]:
        """Who answers, how fast and how right; for managers."""
        found: list[dict[str, Any]] = self._remote.get(f"{self._path}/people")
        return found

    @property
    def doubts(self) -> dict[Hashable, float]:
        """Answered nodes whose class is in doubt, with the belief in it."""
        return {each["node"]: each["belief"] for each in self._remote.get(f"{self._path}/doubts")}

    def write(self, path: str | PathLike[str]) -> None:
        """One row a node, as CSV, parquet or JSON lines by the path's extension."""
        place = check_writable(Path(path).expanduser())
        found = self._remote.send("GET", f"{self._path}/export", params={"format": place.suffix.lstrip(".")})
        with replacing(place) as file:
            file.write(found.content)

    def __repr__(self) -> str:
        own = self.summary()
        return f"<RemoteAsking {own['name']}: {own['asked']} of {own['budget']} answers>"

    # -- inside ----------------------------------------------------------------------------------------

    def _pages(self, path: str, field: str, limit: int) -> Iterable[dict[str, Any]]:
        after: int | None = -1
        while after is not None:
            found = self._remote.get(f"{self._path}/{path}", after=after, limit=limit)
            yield from found[field]
            after = found["next"]

    def _pending(self, node: Hashable) -> Question:
        found = next(iter(self._open.values()), None) if node is None else self._open.get(node)
        if found is None:
            about = "" if node is None else f" about node {node!r}"
            raise InputError(f"no question{about} is yours; look at `question` first")
        return found

    def _close(self, outcome: str, node: Hashable, code: Any = None) -> None:
        question = self._pending(node)
        body = {"row": question.row, "outcome": outcome, "label": code}
        self._remote.post(f"{self._path}/answers", body)
        self._open.pop(question.node, None)


def _said(response: requests.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server says {response.status_code}"
