"""A server on a store of its own, campaigns on it, and a real browser in front of it."""

import socket
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

DESKTOP = {"width": 1200, "height": 800}
PATIENCE = 30_000
"""Milliseconds that a page has for what is expected of it."""
CLASSES = ("Agents", "Databases", "Theory")
TEXT = (
    "We study how few labels suffice to classify the nodes of a citation graph. A tree that spans the graph "
    "is cut where two labels meet, and the cut is all that a learner has to find."
)


PAYLOADS = [
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "\"><svg onload=window.hit=1>",
    "'><iframe srcdoc='<script>parent.hit = 1</script>'>",
    "<!--<script>window.hit = 1//-->",
    "javascript:window.hit=1",
    "{{ 7 * 7 }}{% set x = 1 %}${window.hit = 1}",
    "\u2028window.hit=1\u2029<\x00script>window.hit = 1</script>",
    "<style>* { display: none }</style>",
]  # fmt: skip
"""Texts that would do something, were they taken for markup."""


@pytest.fixture(scope="session")
def payloads():
    return PAYLOADS


@contextmanager
def _serving(app):
    """The address of a server that runs meanwhile."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="session")
def serving():
    return _serving


@dataclass
class ServedPapers:
    """A campaign about 60 papers in three rings, and what the store has of it."""

    site: "Site"
    campaign: Any
    person: str = ""

    @property
    def place(self):
        return f"{self.site.address}/c/{self.campaign.id}"

    def link(self, role="labeller", name="Ada"):
        token, secret = self.site.server.gate.invite(self.campaign.id, role, name)
        self.person = self.person or token.person
        return f"{self.site.address}/enter?token={secret}"

    def events(self, *kinds):
        return [event for event in self.site.server.store.events(self.campaign.id) if event.kind in kinds]

    def answers(self):
        """(row, outcome, class) of every answer, in the order of the log."""
        return [
            (event.body["row"], event.kind, event.body.get("code"))
            for event in self.events("answer", "skip", "unsure")
        ]


@dataclass
class Site:
    """The server; `papers(...)` makes a campaign on it."""

    address: str
    server: Any
    folder: Path
    made: Any = field(default_factory=count)

    def papers(self, classes=CLASSES, titles=None, column="abstract", text=TEXT, **options):
        import pandas as pd

        from querist.labelling.reading import GraphFiles
        from querist.serve.opening import create

        place = self.folder / str(next(self.made))
        place.mkdir()
        ends = [(20 * c + i, 20 * c + (i + s) % 20) for c in range(3) for i in range(20) for s in (1, 3, 8)]
        titles = titles or [f"Paper {row}" for row in range(60)]
        pd.DataFrame([*ends, (0, 20), (20, 40)], columns=["source", "target"]).to_csv(
            place / "edges.csv", index=False
        )
        pd.DataFrame(
            {
                "id": range(60),
                "title": titles,
                column: text,
                "year": range(1960, 2020),
                "venue": "Machine Learning",
            }
        ).to_csv(place / "nodes.csv", index=False)
        options = {"name": "Papers", "budget": 30, **options}
        made = create(
            self.server.store,
            GraphFiles(place / "edges.csv", place / "nodes.csv"),
            classes=list(classes),
            **options,
        )
        self.server.add(made)
        return ServedPapers(self, made)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    pytest.importorskip("fastapi", reason="the server is the extra [serve]")
    from querist.asking.store.sqlite import SqliteStore
    from querist.serve.app import make_app
    from querist.serve.server import CampaignServer

    folder = tmp_path_factory.mktemp("site")
    server = CampaignServer(SqliteStore(folder / "store.db"))
    with _serving(make_app(server)) as address:
        yield Site(address, server, folder)


def enter(page, link):
    """Open a link, and wait until it has led on."""
    page.goto(link)
    page.wait_for_url(lambda url: "/enter" not in url)


@contextmanager
def _watched(context, site):
    """Errors of scripts, breaches of the content security policy and requests to other hosts are failures."""
    wrong = []
    watched = {
        "request": lambda each: None if each.url.startswith(site.address) else wrong.append(each.url),
        "weberror": lambda each: wrong.append(str(each.error)),
        "console": lambda each: wrong.append(each.text) if "ecurity" in each.text else None,
    }
    for kind, look in watched.items():
        context.on(kind, look)
    yield
    for kind, look in watched.items():
        context.remove_listener(kind, look)
    assert wrong == []


@pytest.fixture
def opened(browser, site):
    """`opened(link, ...)`: a page in a browser that nobody has used."""
    with ExitStack() as stack:

        def open_page(link, **options):
            context = browser.new_context(**{"viewport": DESKTOP, **options})
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE)
            stack.enter_context(_watched(context, site))
            page = context.new_page()
            enter(page, link)
            return page

        yield open_page


@pytest.fixture(scope="session")
def common_context(browser):
    """Saves most of the time that a new one takes."""
    found = browser.new_context(viewport=DESKTOP)
    found.set_default_timeout(PATIENCE)
    yield found
    found.close()


@pytest.fixture
def papers(site):
    return site.papers()


@pytest.fixture
def page(common_context, site, papers):
    """The labeller's page with its first question."""
    with _watched(common_context, site):
        found = common_context.new_page()
        enter(found, papers.link())
        found.locator("#question").wait_for()
        yield found
        common_context.set_offline(False)
        for each in common_context.pages:
            each.evaluate("localStorage.clear()")
            each.close()
