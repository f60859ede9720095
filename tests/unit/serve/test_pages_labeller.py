"""The labeller's page in Chromium: keys, marks, the network going away, undo, comments, heartbeats."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from conftest import serving
from pretend import Pretend, make_app

CLASSES = ["Agents", "Databases", "Theory"]


@pytest.fixture
def world():
    return Pretend(CLASSES)


@pytest.fixture
def site(world):
    with serving(make_app(world)) as address:
        yield address


@pytest.fixture
def context(browser):
    found = browser.new_context(viewport={"width": 1200, "height": 800})
    found.set_default_timeout(5_000)
    yield found
    found.close()


@pytest.fixture
def page(context, site):
    """The page with its first question; an error of a script fails the test."""
    errors, hosts = [], set()
    found = context.new_page()
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on("console", lambda said: errors.append(said.text) if "Content Security" in said.text else None)
    found.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    open_questions(found, site)
    yield found
    assert errors == [] and hosts == {site.split("/")[2]}


def open_questions(page, site):
    page.goto(f"{site}/c/papers/label")
    page.locator("#question").wait_for()


def until(page, text):
    """Wait until the mark in the header says so."""
    page.locator("#safe", has_text=re.compile(f"^{text}")).wait_for()


def saved(page):
    until(page, "All answers saved")


def answers(world):
    return [(body["row"], body["outcome"], body.get("label")) for kind, body in world.log if kind == "answer"]


def row(page, world):
    """The node on the screen."""
    return int(page.locator("#name").inner_text().rsplit(" ", 1)[1])


# -- answers ------------------------------------------------------------------------------------------------


def test_a_key_answers_and_the_next_question_is_there(page, world):
    assert page.locator("#classes button kbd").all_inner_texts() == ["a", "d", "t"]
    first = row(page, world)
    page.context.set_offline(True)  # what comes now was there before
    page.keyboard.press("t")
    second = row(page, world)
    page.keyboard.press("D")
    page.context.set_offline(False)
    saved(page)
    assert second != first
    assert answers(world) == [(first, "answer", 2), (second, "answer", 1)]
    assert page.locator("#past b").all_inner_texts() == ["✓", "✓"]
    assert page.locator("#said-saved").inner_text().startswith("Saved: ")


def test_skip_unsure_and_seconds(page, world):
    for key in ("s", "?"):
        page.keyboard.press(key)
        saved(page)
    assert [outcome for _, outcome, _ in answers(world)] == ["skip", "unsure"]
    assert all(body["seconds"] >= 0 and "label" not in body for kind, body in world.log if kind == "answer")


def test_the_question_is_read_out(page, world):
    said = page.locator("#said").inner_text()
    assert f"part {row(page, world)}" in said and "Databases, 61 %" in said and "settles most" in said
    page.keyboard.press("a")
    assert f"part {row(page, world)}" in page.locator("#said").inner_text()


def test_by_keyboard_alone_without_single_keys(page, world):
    page.locator("#single").focus()
    page.keyboard.press("Space")
    page.keyboard.press("a")
    assert answers(world) == []
    page.reload()
    page.locator("#question").wait_for()
    assert not page.locator("#single").is_checked()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.code") == "1":
            break
    page.keyboard.press("Enter")
    saved(page)
    assert [label for _, _, label in answers(world)] == [1]


def test_a_key_held_down_answers_once(page, world):
    page.keyboard.down("a")
    for _ in range(5):
        page.keyboard.down("a")  # repeats
    page.keyboard.up("a")
    saved(page)
    assert len(answers(world)) == 1


def test_keys_with_control_are_the_browsers(page, world):
    page.keyboard.press("Control+a")
    page.keyboard.press("x")
    assert page.locator("#past li").count() == 0


# -- the network goes away ----------------------------------------------------------------------------------


def test_answers_outlive_the_network_and_a_reload(page, world, context, site):
    context.set_offline(True)
    rows = []
    for key in "at":
        rows.append(row(page, world))
        page.keyboard.press(key)
    until(page, "Network away: 2 answers kept here")
    assert page.locator("#rest-title").inner_text() == "The network is away"
    assert answers(world) == []
    page.close()
    context.set_offline(False)
    again = context.new_page()
    open_questions(again, site)
    saved(again)
    assert answers(world) == [(rows[0], "answer", 0), (rows[1], "answer", 2)]
    assert row(again, world) not in rows


def test_an_answer_whose_receipt_was_lost_counts_once(page, world):
    lost = []

    def lose(route):
        """The server has it, the browser never hears of it."""
        if len(lost) < 2:
            lost.append(route.request.headers["idempotency-key"])
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/answers", lose)
    first = row(page, world)
    page.keyboard.press("a")
    until(page, "Network away: 1 answer")
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page)
    assert len(set(lost)) == 1 and answers(world) == [(first, "answer", 0)]


def test_a_server_in_trouble_is_asked_again(page, world):
    world.refuse = 503
    page.keyboard.press("a")
    until(page, "Network away: 1 answer")
    world.refuse = None
    saved(page)  # by itself, after a pause
    assert len(answers(world)) == 1


def test_what_the_server_refuses_is_told_and_kept(page, world):
    world.refuse = 422
    page.keyboard.press("a")
    page.locator("#refused", has_text="does not want it").wait_for()
    page.reload()
    page.locator("#refused", has_text="does not want it").wait_for()
    world.refuse = None
    page.get_by_role("button", name="Send again").click()
    saved(page)
    assert len(answers(world)) == 1 and page.locator("#refused").is_hidden()


def test_two_tabs_double_nothing(page, world, context, site):
    other = context.new_page()
    open_questions(other, site)
    first = row(page, world)
    assert row(other, world) == first
    context.set_offline(True)
    page.keyboard.press("a")
    other.locator("#name", has_not_text=f"part {first}").wait_for()
    context.set_offline(False)
    for each in (page, other):
        each.evaluate("dispatchEvent(new Event('online'))")
        saved(each)
    assert answers(world) == [(first, "answer", 0)]


# -- undo, comments, leases ---------------------------------------------------------------------------------


def test_undo_brings_the_question_back(page, world):
    first = row(page, world)
    page.keyboard.press("a")
    saved(page)
    page.keyboard.press("u")
    assert row(page, world) == first
    saved(page)
    page.keyboard.press("t")
    saved(page)
    assert world.answers == {first: 2}
    assert [kind for kind, _ in world.log if kind != "beat"] == ["answer", "undo", "answer"]


def test_undo_of_what_was_never_sent_leaves_no_trace(page, world, context):
    context.set_offline(True)
    page.keyboard.press("a")  # this one is tried, and may have arrived
    second = row(page, world)
    page.keyboard.press("d")
    page.keyboard.press("u")
    assert row(page, world) == second
    context.set_offline(False)
    saved(page)
    assert len(answers(world)) == 1 and row(page, world) == second


def test_undo_after_a_reload(page, world):
    first = row(page, world)
    page.keyboard.press("a")
    saved(page)
    page.reload()
    page.locator("#question").wait_for()
    page.keyboard.press("u")
    page.locator("#name", has_text=f"part {first}").wait_for()
    page.keyboard.press("a")
    saved(page)
    page.keyboard.press("u")
    page.keyboard.press("u")
    page.locator("#notice", has_text="no answer to take back").wait_for()
    assert world.answers == {}


def test_comments(page, world):
    first = row(page, world)
    page.keyboard.press("c")
    page.keyboard.type("ask the authors")  # letters that would answer, were the dialog not open
    page.keyboard.press("Control+Enter")
    saved(page)
    page.locator("#comments", has_text="ask the authors").wait_for()
    assert [(each["row"], each["text"]) for each in world.comments] == [(first, "ask the authors")]
    assert answers(world) == []
    page.keyboard.press("c")
    page.keyboard.type("no")
    page.keyboard.press("Escape")
    assert len(world.comments) == 1


def test_a_break_gives_the_questions_back(page, world):
    page.keyboard.press("q")
    page.locator("#rest-title", has_text="A break").wait_for()
    page.locator("#go-on:focus").wait_for()
    page.keyboard.press("Enter")
    page.locator("#question").wait_for()
    assert len([kind for kind, _ in world.log if kind == "release"]) == 2


def test_heartbeats_while_somebody_is_there(context, site, world):
    page = context.new_page()
    page.clock.install()
    open_questions(page, site)
    with page.expect_response(re.compile("/beat$")):
        page.clock.fast_forward(61_000)
    with page.expect_response(re.compile("/beat$")):
        page.clock.fast_forward(61_000)
    assert {row for kind, row in world.log if kind == "beat"} <= set(world.open)
    beats = []
    page.on("request", lambda request: beats.append(request.url) if request.url.endswith("/beat") else None)
    for _ in range(3):
        page.clock.fast_forward(700_000)  # nobody touches anything
    assert page.evaluate("1") and beats == []


def test_a_lease_that_expired_is_told(context, site, world):
    page = context.new_page()
    page.clock.install()
    open_questions(page, site)
    world.open = []
    first = row(page, world)
    page.clock.fast_forward(61_000)
    page.locator("#notice", has_text="further vote").wait_for()
    page.keyboard.press("a")
    page.locator("#past .late").wait_for()
    assert answers(world) == [(first, "answer", 0)]


def test_a_pause_is_told_and_ends_by_itself(page, world):
    world.paused = True
    for _ in range(2):
        page.keyboard.press("a")
    page.locator("#rest-text", has_text="paused").wait_for()


# -- what is shown ------------------------------------------------------------------------------------------


def test_the_node_its_text_and_its_neighbourhood(page):
    assert "how few labels suffice" in page.locator("#texts").inner_text()
    assert page.locator("#values dt").all_inner_texts() == ["year", "venue", "authors"]
    assert page.locator("#drawing circle:not(.under)").count() == 61
    assert page.locator("#drawing circle.known").count() > 0
    faint = page.locator("#drawing circle.c0:not(.known)").first
    assert float(faint.get_attribute("fill-opacity")) < 0.6
    page.locator("#near button").first.click()
    page.locator("#other-texts", has_text="how few labels").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show 4 more").click()
    assert page.locator("#near li").count() == 12


def test_a_guess_looks_like_its_class(page):
    dot = page.locator("#guess circle").first.evaluate("e => getComputedStyle(e).fill")
    button = page.locator("#classes button").nth(1)
    assert button.locator("circle").evaluate("e => getComputedStyle(e).fill") == dot
    assert "61 %" in button.inner_text()


def test_classes_that_outnumber_the_keys_are_written(browser):
    world = Pretend([f"topic {number:03}" for number in range(60)])
    with serving(make_app(world)) as address:
        page = browser.new_page()
        open_questions(page, address)
        assert page.locator("#classes kbd").count() == 0
        page.keyboard.press("/")
        page.keyboard.type("017")
        assert page.locator("#classes button:visible").all_inner_texts() == ["topic 017"]
        page.keyboard.press("Enter")
        saved(page)
        page.close()
    assert [label for _, _, label in answers(world)] == [17]
