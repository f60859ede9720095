"""The pages as text: escaped, without inline script or style, small."""

import gzip
import re
from html.parser import HTMLParser

from querist.serve import pages

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
        "campaigns": pages.campaigns_page([campaign], creates=True),
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
    assert 'href="/c/a%2Fb%20c/manage"' in pages.campaigns_page([CAMPAIGN])


def test_a_role_sees_what_it_may_do():
    roles = {
        role: pages.campaigns_page([CAMPAIGN], {"a/b c": role}) for role in ("manager", "labeller", "reader")
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
