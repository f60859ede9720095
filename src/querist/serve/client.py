"""A campaign on a server, with the calls of `Asking`.

asking = querist.connect("http://127.0.0.1:8377/enter?token=...")
question = asking.question       # leased to you
asking.answer("water")           # in the store when this returns
asking.labels

Every answer has a key, and is sent again under it when the network fails: it is kept once.
"""

import secrets
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from querist.asking.answers import as_code, as_kept, named
from querist.asking.campaign import Question
from querist.asking.oracles import checked_answer
from querist.atomic import check_writable, replacing
from querist.errors import InputError, QueristError
from querist.lazy import needing

with needing("serve", "a connection to a server"):
    import requests

TRIES, PAUSE = 6, 0.2
"""Times that a request is sent while the server is away, and seconds before the second; then twice that."""
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

    def get(self, path: str, **params: Any) -> Any:
        """What is there."""
        return self.send("GET", path, params=params).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Do something, once."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self.send("POST", path, json=dict(body or {}), headers=headers).json()

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        """One request and its response, or what the server says against it."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                response = self._session.request(
                    method, f"{self.address}/v1{path}", timeout=self.timeout, **more
                )
            except (requests.ConnectionError, requests.Timeout) as problem:
                away = str(problem)
                continue
            if response.status_code in AWAY:
                away = f"it says {response.status_code}"
                continue
            if response.ok:
                return response
            raise ServerError(_said(response))
        raise ServerError(
            f"{self.address} does not answer ({away}); nothing that was acknowledged is lost. Try later"
        )


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
        questions = [self._question(each) for each in found["leases"]]
        self._open = {each.node: each for each in questions}
        return questions

    def answer(self, given: Any, node: Hashable = None) -> None:
        """The class of the node whose question is yours, of the oldest one unless named; None is "unsure".

        Where nodes may have several labels it is a set of classes, perhaps the empty one.
        """
        code = checked_answer(given, self.classes, self._pending(node).node, several=self.multilabel)
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
            again = self._question(found["lease"])
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
    ) -> list[Any]:
        """New nodes, each a dict of its columns, and edges; what is said of each new node."""
        body = {"nodes": list(nodes), "edges": [list(edge) for edge in edges]}
        found: list[Any] = self._remote.post(f"{self._path}/arrivals", body)["nodes"]
        return found

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
        """The share of nodes that would be labelled right now, as the learner thinks."""
        found: float | None = self.summary()["expected_accuracy"]
        return found

    @property
    def labels(self) -> list[Any]:
        """The label of every node, None where no answer reaches; of several labels tuples."""
        found = (each["label"] for each in self._pages("labels", "labels", 10_000))
        return [tuple(own) if isinstance(own, list) else own for own in found]

    @property
    def answers(self) -> dict[Hashable, Any]:
        """All answers, by node; sets are tuples."""
        given = [each for each in self._pages("nodes", "nodes", 500) if each["by"] in ("answer", "verdict")]
        return {each["node"]: named(as_code(each["label"]), self.classes) for each in given}

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

    def _question(self, each: Mapping[str, Any]) -> Question:
        known = ("number", "node", "row", "audit", "reason", "probability", "second_probability", "again")
        said = {key: each[key] for key in known}
        for key in ("guess", "second"):
            said[key] = None if each[key] is None else named(as_code(each[key]), self.classes)
        if "probabilities" in each:
            said["probabilities"] = dict(zip(self.classes, each["probabilities"], strict=True))
        return Question(**said)

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
