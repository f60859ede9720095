"""The labeller's page in Chromium: keys, marks, the network going away, undo, comments, leases."""

import random
import re
from contextlib import nullcontext, suppress

import pytest

from querist.asking.store.events import Draft


def again(page, papers):
    """The same person's page in another tab."""
    other = page.context.new_page()
    other.goto(f"{papers.place}/label")
    other.locator("#question").wait_for()
    return other


def until(page, text):
    """Wait until the mark in the header says so."""
    page.locator("#safe", has_text=re.compile(f"^{text}")).wait_for()


def saved(page):
    until(page, "All answers saved")


def row(page):
    """The node on the screen."""
    return int(page.locator("#name").inner_text().removeprefix("Paper "))


def shows(page, number):
    page.locator("#name", has_text=re.compile(f"^Paper {number}$")).wait_for()


def answer_truly(page, times):
    """Answer so many questions by the ring that their nodes are in; the class that is guessed then."""
    for _ in range(times):
        page.keyboard.press("adt"[row(page) // 20])
        saved(page)
        page.locator("#question").wait_for()
    return page.locator("#guess strong").inner_text()


# -- answers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_answers_and_the_next_question_is_there(page, papers):
    assert page.locator("#classes button kbd").all_inner_texts() == ["a", "d", "t"]
    first = row(page)
    page.context.set_offline(True)  # what comes now was there before
    page.keyboard.press("t")
    second = row(page)
    page.keyboard.press("D")
    page.context.set_offline(False)
    saved(page)
    assert second != first
    assert papers.answers() == [(first, "answer", 2), (second, "answer", 1)]
    assert page.locator("#past b").all_inner_texts() == ["✓", "✓"]
    assert page.locator("#said-saved").inner_text() == f"Saved: Paper {second}, Databases"


@pytest.mark.slow
def test_other_outcomes(page, papers):
    for key in ("s", "?"):
        page.keyboard.press(key)
        saved(page)
    assert [outcome for _, outcome, _ in papers.answers()] == ["skip", "unsure"]


@pytest.mark.slow
def test_a_question_is_read_out_with_its_guess_and_reason(page):
    said, why = page.locator("#said"), page.locator("#why").inner_text()
    assert said.inner_text() == f"Question 1: Paper {row(page)}. {why}"
    guess = answer_truly(page, 6)
    why = page.locator("#why").inner_text()
    assert re.fullmatch(rf"Question 7: Paper {row(page)}. Guess: {guess}, \d+ %. {why}", said.inner_text())


@pytest.mark.slow
def test_by_keyboard_alone_without_single_keys(page, papers):
    page.locator("#single").focus()
    page.keyboard.press("Space")
    page.keyboard.press("a")
    page.reload()
    page.locator("#question").wait_for()
    assert not page.locator("#single").is_checked() and papers.answers() == []
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.code") == "1":
            break
    page.keyboard.press("Enter")
    saved(page)
    assert [code for _, _, code in papers.answers()] == [1]


@pytest.mark.slow
def test_a_key_held_down_answers_once_and_one_with_control_not_at_all(page, papers):
    page.keyboard.press("Control+a")
    page.keyboard.down("t")
    for _ in range(5):
        page.keyboard.down("t")  # repeats
    page.keyboard.up("t")
    saved(page)
    assert [code for _, _, code in papers.answers()] == [2]


@pytest.mark.slow
def test_classes_that_outnumber_the_keys_are_written(site, opened):
    papers = site.papers([f"topic {number:03}" for number in range(60)])
    page = opened(papers.link())
    page.locator("#question").wait_for()
    assert page.locator("#classes kbd").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("017")
    assert page.locator("#classes button:visible").all_inner_texts() == ["topic 017"]
    page.keyboard.press("Enter")
    saved(page)
    assert [code for _, _, code in papers.answers()] == [17]


# -- the network goes away ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_answers_outlive_the_network_and_the_page(page, papers):
    rows = []
    page.context.set_offline(True)
    for key in "at":
        rows.append(row(page))
        page.keyboard.press(key)
    until(page, "Network away: 2 answers kept here")
    assert page.locator("#rest-title").inner_text() == "The network is away" and papers.answers() == []
    other = page.context.new_page()
    page.close()
    page.context.set_offline(False)
    other.goto(f"{papers.place}/label")
    other.locator("#question").wait_for()
    saved(other)
    assert papers.answers() == [(rows[0], "answer", 0), (rows[1], "answer", 2)]
    assert row(other) not in rows


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["request", "receipt"])
def test_a_loss_under_way_neither_loses_nor_doubles(page, papers, loss):
    keys, seen = [], False  # a busy machine may look at the page only after the next try

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        if seen:
            route.continue_()
            return
        if loss == "receipt":
            route.fetch()  # the server has it, the browser never knows
        route.abort()

    page.route("**/answers", lose)
    first = row(page)
    page.keyboard.press("a")
    until(page, "Network away: 1 answer")
    seen = True
    saved(page)  # by itself, after a pause
    assert papers.answers() == [(first, "answer", 0)] and len(set(keys)) == 1


@pytest.mark.slow
def test_a_server_in_trouble_is_asked_again(page, papers):
    page.route("**/answers", lambda route: route.fulfill(status=503, body="busy"))
    page.keyboard.press("a")
    until(page, "Network away: 1 answer")
    page.unroute("**/answers")
    saved(page)
    assert len(papers.answers()) == 1


@pytest.mark.slow
def test_what_the_server_refuses_is_told_and_kept(page, papers):
    page.route("**/answers", lambda route: route.fulfill(status=422, json={"error": "not this one"}), times=1)
    first = row(page)
    page.keyboard.press("a")
    page.locator("#refused", has_text="not this one").wait_for()
    page.reload()
    page.locator("#refused", has_text=f"Paper {first}, Agents: not this one").wait_for()
    page.locator("#question").wait_for()
    assert row(page) != first
    page.get_by_role("button", name="Send again").click()
    saved(page)
    assert papers.answers() == [(first, "answer", 0)] and page.locator("#refused").is_hidden()


@pytest.mark.slow
def test_who_is_signed_out_keeps_the_answers(page, papers, site):
    store = site.server.store
    (token,) = store.tokens(papers.campaign.id)
    site.server.gate.revoke(papers.campaign.id, token.id)
    page.keyboard.press("a")
    until(page, "Signed out")
    assert papers.answers() == []
    assert page.evaluate("Object.keys(localStorage).filter(k => k.startsWith('querist ')).length") == 1


@pytest.mark.slow
def test_a_bad_network_loses_doubles_and_reorders_nothing(opened, papers):
    """Requests and receipts are lost at random, the server is busy, the page is loaded again half-way."""
    draw, given = random.Random(1), []

    def fate(route):
        chance = draw.random()
        with suppress(Exception):  # the page was loaded again, and does not wait for it any more
            if 0.2 < chance < 0.4:
                route.fetch()
            if chance < 0.4:
                route.abort()
            elif chance < 0.5:
                route.fulfill(status=503, body="busy")
            else:
                route.continue_()

    page = with_clock(opened, papers)
    page.context.route(re.compile("/(answers|undo|leases)$"), fate)
    while len(given) < 12:
        if not page.locator("#question").is_visible():
            page.clock.fast_forward(31_000)  # the longest pause between two tries
            page.wait_for_timeout(50)
        elif draw.random() < 0.1:
            page.reload()
        elif given and draw.random() < 0.15:
            page.keyboard.press("u")
            given.pop()
        else:
            code = draw.randrange(3)
            given.append((row(page), code))
            page.keyboard.press("adt"[code])
    page.context.unroute_all(behavior="wait")
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page)
    turns = [turn for turn in papers.campaign.turns if turn.outcome == "answer"]
    assert [(turn.row, turn.code) for turn in sorted(turns, key=lambda turn: turn.closed)] == given


@pytest.mark.slow
def test_a_question_answered_while_the_next_is_fetched_does_not_come_back(page, papers):
    """The server gives the question out once more, just before it has the answer."""
    rows, late = [row(page)], []
    # The reply, with the second question in it, comes after that was answered and saved.
    page.route("**/leases", lambda route: late.append((route, route.fetch())), times=1)
    with page.expect_request("**/leases"):
        page.keyboard.press("a")
    rows.append(row(page))
    page.keyboard.press("a")
    saved(page)
    ((route, reply),) = late
    route.fulfill(response=reply)
    page.locator("#question").wait_for()
    assert row(page) not in rows
    assert [each for each, _, _ in papers.answers()] == rows


@pytest.mark.slow
def test_two_tabs_double_nothing(page, papers):
    other, first = again(page, papers), row(page)
    shows(other, first)
    page.context.set_offline(True)
    page.keyboard.press("a")
    other.locator("#name", has_not_text=re.compile(f"^Paper {first}$")).wait_for()
    page.context.set_offline(False)
    for each in (page, other):
        each.evaluate("dispatchEvent(new Event('online'))")
        saved(each)
    assert papers.answers() == [(first, "answer", 0)]


# -- undo, comments, leases ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_undo_brings_the_question_back(page, papers):
    first = row(page)
    page.keyboard.press("a")
    saved(page)
    page.keyboard.press("u")
    assert row(page) == first
    saved(page)
    page.keyboard.press("t")
    saved(page)
    assert [event.kind for event in papers.events("answer", "undo")] == ["answer", "undo", "answer"]
    assert papers.campaign.turns.asked == 1


@pytest.mark.slow
def test_undo_of_what_was_never_sent_leaves_no_trace(page, papers):
    page.context.set_offline(True)
    page.keyboard.press("a")  # this one is tried, and may have arrived
    second = row(page)
    page.keyboard.press("d")
    page.keyboard.press("u")
    assert row(page) == second
    page.context.set_offline(False)
    saved(page)
    assert len(papers.answers()) == 1 and row(page) == second and papers.events("undo") == []


@pytest.mark.slow
def test_undo_after_a_reload_until_nothing_is_left(page, papers):
    first = row(page)
    page.keyboard.press("a")
    saved(page)
    page.reload()
    page.locator("#question").wait_for()
    page.keyboard.press("u")
    shows(page, first)
    page.keyboard.press("u")
    page.locator("#notice", has_text="no answer to take back").wait_for()
    assert len(papers.events("undo")) == 1


@pytest.mark.slow
def test_a_question_stays_on_the_screen_until_it_is_answered(page, papers):
    """An undo whose reply is late brings another question, but never under somebody's fingers."""
    first = row(page)
    page.keyboard.press("a")
    saved(page)
    page.reload()
    page.locator("#question").wait_for()
    page.context.set_offline(True)
    page.keyboard.press("u")
    page.locator("#rest-title", has_text="The network is away").wait_for()
    page.keyboard.press("t")  # answers nothing: which question would it be?
    page.context.set_offline(False)
    shows(page, first)
    saved(page)
    assert papers.answers() == [(first, "answer", 0)] and len(papers.events("undo")) == 1


@pytest.mark.slow
def test_comments(page, papers):
    first = row(page)
    page.keyboard.press("c")
    page.keyboard.type("ask the authors")  # letters that would answer, were the dialog not open
    page.keyboard.press("Control+Enter")
    page.keyboard.press("c")
    page.keyboard.type("no")
    page.keyboard.press("Escape")
    saved(page)
    page.reload()
    page.locator("#comments", has_text="Ada: ask the authors").wait_for()
    assert [(event.body["row"], event.body["text"]) for event in papers.events("comment")] == [
        (first, "ask the authors")
    ]
    assert papers.answers() == []


@pytest.mark.slow
def test_a_break_gives_the_questions_back(page, papers):
    assert len(papers.campaign.turns.leases) == 2
    with page.expect_response(lambda reply: reply.request.method == "DELETE"):
        page.keyboard.press("q")
    page.locator("#go-on:focus").wait_for()
    page.keyboard.press("Enter")
    page.locator("#question").wait_for()
    assert len(papers.events("release")) == 2


def with_clock(opened, papers):
    """The page, with a clock that the test can move."""
    page = opened(f"{papers.site.address}/healthz")
    page.clock.install()
    page.goto(papers.link())
    page.locator("#question").wait_for()
    return page


@pytest.mark.slow
def test_heartbeats_while_somebody_is_there(opened, papers):
    page = with_clock(opened, papers)
    beats = []
    page.on("requestfinished", lambda each: beats.append(each) if each.url.endswith("/beat") else None)
    for _ in range(2):
        with page.expect_response(re.compile("/beat$")):
            page.clock.fast_forward(61_000)
        page.keyboard.press("Shift")
    assert len(papers.events("beat")) >= 2
    page.wait_for_load_state("networkidle")
    before = len(beats)
    for _ in range(3):
        page.clock.fast_forward(700_000)  # nobody touches anything
    page.wait_for_load_state("networkidle")
    assert len(beats) == before


@pytest.mark.slow
def test_a_question_that_went_to_somebody_else_is_told(opened, papers):
    page = with_clock(opened, papers)
    first, own = row(page), papers.campaign
    own.write(
        lambda: [Draft("expire", {"row": each, "person": papers.person}) for each in own.held(papers.person)]
    )
    assert first in {question.row for question in own.lease("another", 2)[0]}
    page.clock.fast_forward(61_000)
    page.locator("#notice", has_text="further vote").wait_for()
    assert row(page) == first
    page.keyboard.press("a")
    page.locator("#past .late").wait_for()
    assert papers.answers() == [(first, "answer", 0)]


@pytest.mark.slow
def test_a_pause_is_told_and_ends_by_itself(opened, papers):
    page = with_clock(opened, papers)
    papers.campaign.change("manager", paused=True)
    for _ in range(2):
        page.keyboard.press("a")
        saved(page)
    page.locator("#rest-text", has_text="paused").wait_for()
    papers.campaign.change("manager", paused=False)
    while not page.locator("#question").is_visible():
        page.clock.fast_forward(11_000)
        page.wait_for_timeout(50)


# -- what is shown ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_node_its_text_and_its_neighbourhood(page, papers):
    assert "how few labels suffice" in page.locator("#texts").inner_text()
    assert page.locator("#values dt").all_inner_texts() == ["year", "venue"]
    first = row(page)
    page.keyboard.press("d")
    saved(page)
    page.reload()
    page.locator("#question").wait_for()
    detail = papers.site.server.views(papers.campaign.id).node(row(page))
    nodes = detail["drawing"]["nodes"]
    assert page.locator("#drawing circle:not(.under)").count() == len(nodes) > 6
    rings = sum(node["row"] == first for node in nodes)
    assert page.locator("#drawing circle.known.c1").count() == rings
    page.locator("#near button").first.click()
    page.locator("#other-texts", has_text="how few labels").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#near li").count() == detail["degree"] == 6
    assert page.locator("#near-title").inner_text() == "6 neighbours"


@pytest.mark.slow
def test_a_guess_is_faint_and_in_the_colour_of_its_class(page):
    guess = answer_truly(page, 6)
    fill = "e => getComputedStyle(e).fill"
    button = page.locator("#classes button", has_text=guess)
    centre = page.locator("#drawing circle.centre")
    assert "guessed" in button.get_attribute("class")
    assert button.locator("circle").evaluate(fill) == page.locator("#guess circle").first.evaluate(fill)
    assert centre.evaluate(fill) == button.locator("circle").evaluate(fill)
    assert float(centre.get_attribute("fill-opacity")) < 0.6


@pytest.mark.slow
def test_an_answer_that_checks_others_leans_on_none(opened, site):
    """A second answer about a node is wanted: neither the first nor the guess that came of it is shown."""
    papers = site.papers(overlap=2)
    own = papers.campaign
    row = own.lease("another")[0][0].row
    own.close_question("another", row, "answer", 1)
    assert own.learner.caught_up(own.last, 20)
    page = opened(papers.link())
    shows(page, row)
    assert (
        "check" in page.locator("#guess").inner_text()
        and "Databases" not in page.locator("#said").inner_text()
    )
    assert page.locator("#classes .guessed, #drawing .centre.known").count() == 0
    assert "none" in page.locator("#drawing .centre").get_attribute("class")


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_the_page_of_an_audit_question_prefers_no_class(opened, site, several):
    papers = site.papers(audit=5, budget=6, multilabel=several)
    own = papers.campaign
    row = own.lease("another")[0][0].row
    while not (question := own.lease("another")[0][0]).audit:
        own.close_question("another", question.row, "answer", [0] if several else 0)
    own.learner.caught_up(own.last, 20)
    own.give_back("another", question.row)
    page = opened(papers.link())
    page.locator("#name", has_text=re.compile(f"^Paper {question.row}$")).wait_for()
    assert "a random check" in page.locator("#kind").inner_text()
    assert "your answer is to check it" in page.locator("#guess").inner_text()
    assert page.locator("#classes .guessed, #classes input:checked").count() == 0
    assert set(page.locator("#classes .chance").all_inner_texts()) == {""}
    assert not any(text.endswith("?") for text in page.locator("#near small").all_inner_texts())
    with page.expect_response(re.compile("/answers$")) if several else nullcontext():
        page.keyboard.press("Enter")  # sends what is marked, where classes are marked: nothing is
    page.locator("#past li" if several else "#question").first.wait_for()
    assert papers.answers()[1:] == ([(question.row, "answer", [])] if several else [])
    assert row == papers.answers()[0][0]
