"""The pages as text: escaped, without inline script or style, small."""

import gzip
import re
from html.parser import HTMLParser

import typer
from starlette.testclient import TestClient

from querist.asking.options import CampaignOptions
from querist.asking.store.sqlite import SqliteStore
from querist.cli.app import app
from querist.graph_options import FileOptions
from querist.serve import pages
from querist.serve.app import make_app
from querist.serve.options import NewCampaignOptions
from querist.serve.server import CampaignServer

CAMPAIGN = {
    "id": "a/b c", "name": "Papers", "classes": ["cat", "dog"], "paused": False, "budget": 10, "asked": 0,
    "unanswered": 0, "open": 0, "nodes": 3, "edges": 2, "expected_accuracy": None, "audit": None,
    "stopped": None, "last": 1, "curve": [], "find": None,
}  # fmt: skip


class Found(HTMLParser):
    """Every tag with its attributes, and the text inside scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._open = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open == "script":
            self.texts.append(data)


def all_pages(campaign):
    return {
        "labeller": pages.labeller_page(campaign, "p1", campaign["name"], "manager"),
        "manager": pages.manager_page(campaign),
        "reader": pages.manager_page(campaign, "reader"),
        "campaigns": pages.campaigns_page([campaign | {"role": "manager"}], creates=True),
        "new": pages.new_page(),
        "message": pages.message_page("Gone", campaign["name"], "/"),
    }


def shape(text):
    return [(tag, sorted(attributes)) for tag, attributes in Found(text).tags]


def test_what_is_given_never_becomes_a_tag(payloads):
    for payload in payloads:
        hostile = {**CAMPAIGN, "id": payload, "name": payload, "classes": [payload, "dog"]}
        for name, text in all_pages(hostile).items():
            assert shape(text) == shape(all_pages(CAMPAIGN)[name])


def test_pages_hold_nothing_that_the_policy_forbids():
    for text in all_pages(CAMPAIGN).values():
        for tag, attributes in Found(text).tags:
            assert tag != "style"
            assert not [name for name in attributes if name == "style" or name.startswith("on")]
            if tag == "script":
                assert attributes.get("type") == "application/json" or attributes["src"].startswith(
                    "/static/"
                )
            for name in ("src", "href", "action"):
                assert re.match(r"[/#](?!/)", attributes.get(name, "/"))


def test_addresses_of_a_campaign_are_quoted():
    assert 'href="/c/a%2Fb%20c/manage"' in pages.campaigns_page(
        [CAMPAIGN | {"role": "manager"}], creates=False
    )


def test_a_role_sees_what_it_may_do():
    roles = {
        role: pages.campaigns_page([CAMPAIGN | {"role": role}], creates=False)
        for role in ("manager", "labeller", "reader")
    }
    assert {role: ("/label" in text, "/manage" in text) for role, text in roles.items()} == {
        "manager": (True, True), "labeller": (True, False), "reader": (False, True),
    }  # fmt: skip
    assert 'id="invite"' in pages.manager_page(CAMPAIGN) and 'id="invite"' not in pages.manager_page(
        CAMPAIGN, "reader"
    )


def test_the_script_of_the_labeller_is_small():
    scripts = [pages.static_file(name) for name in ("labeller.js", "common.js")]
    assert sum(len(gzip.compress(content)) for content, _, _ in scripts) <= 20 * 1024


def test_only_what_is_meant_is_served():
    assert pages.static_file("querist.css")[1].startswith("text/css")
    assert b"--class-0" in pages.static_file("querist.css")[0]
    assert pages.static_file("../pages.py") is None and pages.static_file("none.js") is None


def test_no_script_writes_markup_or_names_another_host():
    for name in ("labeller.js", "manager.js", "new.js", "common.js"):
        text = pages.static_file(name)[0].decode()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function", text
        )
        assert set(re.findall(r"https?://[^\"'`\s]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_no_class_shares_a_key_with_a_command():
    from querist.asking.keys import command_keys, keys_for

    for names in (["s", "u", "c", "q", "?"], ["skip", "undo", "comment", "quit"], ["cat", "Cow", "C"]):
        commands = command_keys(names, pages.BROWSER_COMMANDS).values()
        keys = keys_for(names, pages.BROWSER_COMMANDS)
        assert len({*commands, *keys}) == len(commands) + len(names)


def test_every_surface_has_the_declared_options():
    """The command line, the HTTP schema and the forms name the same options as the declarations."""
    options, columns = NewCampaignOptions.on("http"), FileOptions.on("http")
    with TestClient(make_app(CampaignServer(SqliteStore(None)))) as client:
        document = client.get("/v1/openapi.json").json()
    schemas = {name: set(each["properties"]) for name, each in document["components"]["schemas"].items()}
    (files,) = (fields for fields in schemas.values() if "edges" in fields and "strategy" in fields)
    assert schemas["NewCampaign"] - {"data"} == set(options)
    assert files - {"edges", "nodes", "labels"} == {*options, *columns}
    assert schemas["Change"] - {"paused"} == set(CampaignOptions.changing("http"))

    def fields(page):
        return {about["name"] for _, about in Found(page).tags if "name" in about} - {"viewport"}

    apart = {"edges", "nodes", "labels", "generator", "color-scheme"}
    assert fields(pages.new_page()) - apart == {*options, *columns}
    assert fields(pages.manager_page(CAMPAIGN)) - apart == set(CampaignOptions.changing("http"))

    verbs = typer.main.get_command(app).commands
    for verb, declared in (
        (verbs["serve"], options),
        (verbs["campaign"].commands["create"], options),
        (verbs["ask"], NewCampaignOptions.on("command line")),
    ):
        own = {parameter.name for parameter in verb.params}
        others = CampaignOptions.declared().keys() - declared.keys() - {"device", "missing"}
        assert {*declared, *FileOptions.on("command line")} <= own and not others & own
