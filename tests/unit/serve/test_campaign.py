"""A campaign that several people work on: who gets which question, what becomes of an answer, and that every
server of a store says the same."""

import threading
from itertools import islice

import numpy as np
import pytest

import querist
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import SqliteStore
from querist.errors import InputError
from querist.labelling.reading import GraphFiles
from querist.serve.campaign import LATE, LEASE, ServedCampaign
from querist.serve.exports import answers_table
from querist.serve.opening import create, open_campaign, open_or_create
from querist.serve.server import arrive
from querist.serve.stores import open_store
from querist.serve.writing import RefusedError


class Clock:
    """A time that tests move."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def begin(clock):
    """`begin(**options)`: a campaign on the karate club in memory, with a clock that stands still."""
    made = []

    def make(store=None, data="karate", **options):
        found = create(
            store or SqliteStore(None, clock=clock),
            data,
            **{"budget": 10, "second_opinions": False} | options,
        )
        found.clock = clock
        made.append(found)
        return found

    yield make
    for each in made:
        each.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return str(tmp_path / "store") if request.param == "sqlite" else request.getfixturevalue("new_database")()


@pytest.fixture
def servers(place, clock):
    """`servers(**options)`: a new campaign, and a second server of it on the same store."""
    opened = []

    def make(count=2, **options):
        stores = [open_store(place, clock=clock) for _ in range(count)]
        first = create(stores[0], "karate", **{"budget": 10, "second_opinions": False} | options)
        found = [first, *(open_campaign(store, first.id) for store in stores[1:])]
        opened.extend(zip(found, stores, strict=True))
        for each in found:
            each.clock = clock
        return found

    yield make
    for campaign, store in opened:
        campaign.close()
        store.close()


def kinds(campaign, *wanted):
    found = campaign.store.events(campaign.id)
    return [event for event in found if not wanted or event.kind in wanted]


def take(campaign, person, count=1):
    return [question.row for question in campaign.lease(person, count)[0]]


def answer(campaign, person, row, code=0, key=None):
    return campaign.close_question(person, row, "answer", code, key)


# -- leases ------------------------------------------------------------------------------------------------


def test_a_question_is_one_persons_until_it_is_closed(begin):
    campaign = begin()
    own = take(campaign, "ann", 2)
    assert take(campaign, "ann", 2) == own
    others = take(campaign, "bob", 5)
    assert len({*own, *others}) == 7
    answer(campaign, "ann", own[0])
    assert own[0] not in take(campaign, "cem", 3)
    assert {event.body["person"] for event in kinds(campaign, "question")} == {"ann", "bob", "cem"}


def test_a_lease_that_ended_goes_to_somebody_else(begin, clock):
    campaign = begin()
    (row,) = take(campaign, "ann")
    clock.now += LEASE
    assert take(campaign, "bob") != [row]
    clock.now += 0.1
    assert row in take(campaign, "bob", 2)
    assert [event.body for event in kinds(campaign, "expire")] == [{"row": row, "person": "ann"}]
    with pytest.raises(RefusedError, match="not leased to you"):
        campaign.beat("ann", row)


def test_a_beat_prolongs_a_lease(begin, clock):
    campaign = begin()
    (row,) = take(campaign, "ann")
    for _ in range(4):
        clock.now += LEASE - 1
        assert campaign.beat("ann", row) == clock.now + LEASE
    assert take(campaign, "ann") == [row]
    assert not kinds(campaign, "expire")


def test_a_lease_lasts_three_times_as_long_as_the_person_takes(begin, clock):
    campaign = begin()
    for seconds in (100.0, 200.0, 150.0):
        (row,) = take(campaign, "ann")
        clock.now += seconds
        answer(campaign, "ann", row)
    take(campaign, "ann")
    assert campaign.turns.leases.popitem()[1].until == clock.now + 450.0
    take(campaign, "bob")
    assert campaign.turns.leases.popitem()[1].until == clock.now + LEASE


def test_what_is_given_back_goes_to_others_first(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    campaign.give_back("ann", row)
    with pytest.raises(RefusedError, match="not leased to you"):
        campaign.give_back("ann", row)
    assert take(campaign, "bob") == [row]
    campaign.give_back("bob", row)
    assert take(campaign, "cem") == [row]


def test_nobody_else_can_prolong_or_give_back(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    for call in (campaign.beat, campaign.give_back):
        with pytest.raises(RefusedError, match="not leased to you"):
            call("bob", row)
    assert take(campaign, "ann") == [row]


def test_open_questions_count_in_the_budget(begin):
    campaign = begin(budget=3)
    rows = take(campaign, "ann", 5)
    assert len(rows) == 3
    found, why = campaign.lease("bob")
    assert not found
    assert "budget of 3 answers is spent" in why
    for row in rows:
        answer(campaign, "ann", row)
    assert campaign.lease("bob") == ([], why)
    assert "budget" in campaign.stopped()
    campaign.change("ann", budget=4)
    assert len(take(campaign, "bob", 2)) == 1
    with pytest.raises(RefusedError, match="answered or open"):
        campaign.change("ann", budget=3)


def test_a_question_that_waits_is_not_counted_twice(begin):
    campaign = begin(budget=3)
    rows = take(campaign, "ann", 2)
    for row in rows:
        campaign.give_back("ann", row)
    assert len(take(campaign, "bob", 3)) == 3


def test_a_skip_that_is_taken_back_does_not_exceed_the_budget(begin):
    campaign = begin(budget=2)
    (row,) = take(campaign, "ann")
    campaign.close_question("ann", row, "skip")
    for other in take(campaign, "bob", 2):
        answer(campaign, "bob", other)
    with pytest.raises(RefusedError, match="budget of 2 answers is spent"):
        campaign.undo("ann")
    campaign.change("cem", budget=3)
    assert campaign.undo("ann")["row"] == row
    answer(campaign, "ann", row)
    assert campaign.turns.asked == 3


def test_skipped_questions_are_not_counted(begin):
    campaign = begin(budget=3)
    for outcome in ("skip", "unsure"):
        (row,) = take(campaign, "ann")
        assert campaign.close_question("ann", row, outcome)["outcome"] == outcome
        assert row not in take(campaign, "bob")
        campaign.give_back("bob", *take(campaign, "bob"))
    assert (campaign.turns.asked, campaign.turns.unanswered) == (0, 2)


def test_options_of_a_campaign_hold_on_every_server(servers):
    first, second = servers(unanswered=2, method="wvrn")
    assert first.asking.specification.method == second.asking.specification.method == "wvrn"
    for _ in range(2):
        second.close_question("ann", *take(second, "ann"), "skip")
    for campaign in (first, second):
        assert campaign.lease("ann") == ([], "2 questions left unanswered, as many as may be")


def test_a_paused_campaign_gives_nothing_new_and_takes_answers(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    campaign.change("cem", paused=True)
    campaign.change("cem", paused=True)
    assert take(campaign, "ann") == [row]
    found, why = campaign.lease("bob")
    assert not found
    assert "paused" in why
    answer(campaign, "ann", row)
    assert campaign.stopped() == why
    campaign.change("cem", paused=False)
    assert len(take(campaign, "bob")) == 1
    assert [event.kind for event in kinds(campaign, "pause", "resume")] == ["pause", "resume"]


# -- stopping where more answers would gain little -------------------------------------------------------


def answer_until_stopped(campaign, person="ann", most=30):
    """(questions, why there are no more)."""
    for asked in range(most):
        found, why = campaign.lease(person)
        if not found:
            return asked, why
        answer(campaign, person, found[0].row)
    return most, None


def test_a_campaign_stops_when_an_answer_would_gain_little(begin):
    campaign = begin(budget=30, stop=0.9)
    asked, why = answer_until_stopped(campaign)
    gains = [event.body["gain"] for event in kinds(campaign, "question")]
    assert asked == len(gains) == 10
    (stop,) = kinds(campaign, "stop")
    assert stop.body["why"] == why == campaign.stopped()
    assert f"{np.mean(gains):.3%}" in why and "less than 90.000%" in why
    assert campaign.lease("bob") == ([], why)
    assert len(kinds(campaign, "stop")) == 1


def test_a_gain_is_what_the_model_expects_of_an_answer(begin):
    campaign = begin(budget=30, stop=1e-9)
    rows = take(campaign, "ann", 2)
    model = campaign.asking.state.model
    gains = [event.body["gain"] for event in kinds(campaign, "question")]
    assert gains == [model.expected_gain(row) for row in rows]
    assert min(gains) >= 0


def test_without_the_rule_nothing_is_reckoned_and_nothing_stops(begin):
    campaign = begin(budget=12)
    assert answer_until_stopped(campaign) == (12, "the budget of 12 answers is spent")
    assert {event.body["gain"] for event in kinds(campaign, "question")} == {None}


def test_a_manager_lifts_the_rule_or_sets_it_anew(begin):
    campaign = begin(budget=30, stop=0.9)
    answer_until_stopped(campaign)
    campaign.change("boss", stop=0)
    assert campaign.stopped() is None
    row = take(campaign, "ann")[0]
    answer(campaign, "ann", row)
    campaign.change("boss", stop=0.8)
    why = answer_until_stopped(campaign)[1]
    assert why is not None and why == campaign.status.stopped
    assert [event.body["stop"] for event in kinds(campaign, "options")] == [0.0, 0.8]
    with pytest.raises(querist.InputError, match=r"stop = 1\.5; it must be"):
        campaign.change("boss", stop=1.5)


def test_what_is_left_of_the_audit_is_asked_before_the_end(begin):
    campaign = begin(budget=30, stop=0.9, audit=5)
    assert answer_until_stopped(campaign)[0] == 15
    questions = kinds(campaign, "question")
    assert sum(event.body["audit"] for event in questions) == 5
    assert questions[-1].body["audit"]


def test_a_node_that_comes_by_is_not_asked_about_after_the_end(begin):
    campaign = begin(budget=30, stop=0.9)
    answer_until_stopped(campaign)
    assert not arrive(campaign, [(0, "new")], None)[0]["asked"]


def test_every_server_stops_by_the_same_event(servers):
    first, second = servers(budget=30, stop=0.9)
    _, why = answer_until_stopped(first)
    assert second.lease("bob") == ([], why)
    assert second.status.options == first.status.options and second.status.stopped == why
    assert len(kinds(first, "stop")) == 1
    again = open_campaign(second.store, first.id)
    assert (again.status.options.stop, again.status.stopped, again.stopped()) == (0.9, why, why)
    again.close()
    second.change("boss", stop=0)
    assert len(first.lease("ann")[0]) == 1


def test_an_end_that_querist_ask_wrote_does_not_stop_a_server(begin):
    campaign = begin()
    campaign.store.append(campaign.id, campaign.last, [Draft("stop", {"why": "a break"})])
    assert len(take(campaign, "ann")) == 1


# -- answers -----------------------------------------------------------------------------------------------


def test_a_late_answer_is_a_further_vote_and_not_counted(begin, clock):
    campaign = begin()
    (row,) = take(campaign, "ann")
    clock.now += LEASE + 1
    assert take(campaign, "bob") == [row]
    assert answer(campaign, "bob", row, 1)["late"] is False
    late = answer(campaign, "ann", row, 0, "key")
    assert late["late"] is True
    assert campaign.turns.asked == 1
    votes = {turn.person: turn.code for turn in campaign.turns.about(row)}
    assert votes == {"bob": 1, "ann": 0}
    assert campaign.turns.about(row)[-1].about["reason"] == LATE
    assert answer(campaign, "ann", row, 0, "key") == late
    assert len(campaign.turns.about(row)) == 2


def test_an_answer_while_another_person_has_the_question_is_kept_too(begin, clock):
    campaign = begin()
    (row,) = take(campaign, "ann")
    clock.now += LEASE + 1
    assert take(campaign, "bob") == [row]
    assert answer(campaign, "ann", row, 0)["late"] is True
    assert answer(campaign, "bob", row, 1)["late"] is True
    assert {turn.person: turn.code for turn in campaign.turns.about(row)} == {"ann": 0, "bob": 1}
    assert campaign.turns.asked == 1


def test_a_late_skip_ends_nothing_for_whoever_has_it_now(begin, clock):
    campaign = begin()
    (row,) = take(campaign, "ann")
    clock.now += LEASE + 1
    assert take(campaign, "bob") == [row]
    assert campaign.close_question("ann", row, "skip", key="key")["late"] is True
    assert take(campaign, "bob") == [row]
    before = campaign.last
    assert campaign.close_question("ann", row, "skip", key="key")["late"] is True
    assert campaign.last == before
    with pytest.raises(RefusedError, match="another request"):
        campaign.close_question("ann", row, "unsure", key="key")


def test_late_answers_never_spend_the_budget(begin, clock):
    campaign = begin(budget=2)
    rows = take(campaign, "ann", 2)
    clock.now += LEASE + 1
    assert sorted(take(campaign, "bob", 2)) == sorted(rows)
    for row in rows:
        answer(campaign, "bob", row)
        answer(campaign, "ann", row, 1)
    assert campaign.turns.asked == 2
    assert campaign.undo("ann")["row"] == rows[1]
    assert campaign.turns.asked == 2
    assert answer(campaign, "ann", rows[1], 1)
    assert campaign.turns.asked == 2
    campaign.change("cem", budget=3)
    (row,) = take(campaign, "ann", 2)


def test_only_who_was_given_a_question_can_answer_it(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    with pytest.raises(RefusedError, match="take a lease first"):
        answer(campaign, "bob", row)
    with pytest.raises(RefusedError, match="number of a class, 0 to 1"):
        answer(campaign, "ann", row, 2)
    with pytest.raises(RefusedError, match="number of a class"):
        campaign.close_question("ann", row, "answer")
    assert not kinds(campaign, "answer", "skip", "unsure")


def test_the_same_key_gives_the_first_response_and_writes_nothing(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    first = answer(campaign, "ann", row, 1, "key")
    events = kinds(campaign)
    assert campaign.close_question("ann", row, "answer", 1, "key") == first
    with pytest.raises(RefusedError, match="another request") as refusal:
        answer(campaign, "ann", row, 0, "key")
    assert refusal.value.status == 422
    assert kinds(campaign) == events
    again = open_campaign(campaign.store, campaign.id)
    assert again.close_question("ann", row, "answer", 1, "key") == first
    again.close()


def test_a_key_is_one_persons_own(begin):
    campaign = begin()
    (one,), (two,) = take(campaign, "ann"), take(campaign, "bob")
    answer(campaign, "ann", one, 1, "1")
    assert answer(campaign, "bob", two, 1, "1")["row"] == two
    assert len(kinds(campaign, "answer")) == 2


def test_a_request_that_did_nothing_is_remembered_by_its_key(begin):
    campaign = begin()
    assert campaign.undo("ann", "key")["row"] is None
    answer(campaign, "ann", *take(campaign, "ann"))
    assert campaign.undo("ann", "key")["row"] is None
    assert campaign.turns.asked == 1


def test_undo_takes_back_ones_own_last_answer(begin):
    campaign = begin()
    (one,), (two,) = take(campaign, "ann"), take(campaign, "bob")
    answer(campaign, "ann", one)
    answer(campaign, "bob", two)
    assert campaign.undo("ann", "key")["row"] == one
    before = campaign.last
    assert campaign.undo("ann", "key")["row"] == one
    assert campaign.last == before
    assert (campaign.turns.asked, take(campaign, "ann")) == (1, [one])
    assert answer(campaign, "ann", one, 1)["late"] is False
    assert campaign.turns.about(one)[0].code == 1


def test_comments_are_kept_once_with_their_person(begin):
    campaign = begin()
    for _ in range(2):
        campaign.comment("ann", 3, "<b>odd", "key")
    assert [(c["person"], c["text"]) for c in campaign.comments[3]] == [("ann", "<b>odd")]
    with pytest.raises(RefusedError, match="rows 0 to 33"):
        campaign.comment("ann", 34, "none")


def test_a_verdict_ends_the_question_and_stands(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    campaign.verdict("cem", row, 1)
    assert row not in take(campaign, "ann", 3)
    assert answer(campaign, "ann", row, 0)["late"] is True
    assert campaign.learner.caught_up(campaign.last, 30)
    assert campaign.asking.state.answers()[row] == 1
    assert row not in take(campaign, "bob", 5)


def test_a_verdict_on_a_node_that_nobody_answered_is_its_label(begin):
    campaign = begin(audit=3)
    state, audit = campaign.asking.state, next(iter(campaign.asking.state.audit_rows))
    chosen = next(row for row in state.order if row not in state.audit_rows)
    campaign.verdict("cem", chosen, 1)
    campaign.verdict("cem", audit, 0)
    assert campaign.learner.caught_up(campaign.last, 30)
    assert state.answers() == {chosen: 1, audit: 0}
    assert (state.answers(audit=False), state.answers(audit=True)) == ({chosen: 1}, {})
    assert [campaign.asking.labelling.codes[row] for row in (chosen, audit)] == [1, 0]


# -- an answer that is changed ------------------------------------------------------------------------------


def learned(campaign):
    """The state once all is learned."""
    campaign.catch_up()
    assert campaign.learner.caught_up(campaign.last, 60)
    return campaign.asking.state


def test_one_person_has_one_vote_however_often_it_is_sent(begin):
    campaign = begin(budget=3)
    (row,) = take(campaign, "ann")
    first = answer(campaign, "ann", row, 1)
    assert [answer(campaign, "ann", row, 1) for _ in range(20)] == [first] * 20
    assert len(kinds(campaign, "answer")) == len(kinds(campaign, "question")) == 1
    changed = answer(campaign, "ann", row, 0)
    assert changed == {"seq": campaign.last, "row": row, "outcome": "answer", "late": False}
    assert answer(campaign, "ann", row, 0, "key") == changed
    assert [event.body.get("replaces") for event in kinds(campaign, "answer")] == [
        None,
        kinds(campaign, "question")[0].seq,
    ]
    ((turn,), state) = campaign.turns.about(row), learned(campaign)
    assert (turn.code, campaign.turns.asked, campaign.status.spent) == (0, 1, 1)
    assert len(state.opinions.votes) == 1 and state.answers()[row] == 0
    campaign.store.check(campaign.id)


@pytest.mark.parametrize("several", [False, True])
def test_a_changed_answer_leaves_what_it_alone_would_have_left(begin, several):
    """Labels, beliefs, what is thought of people: as if the person had waited with their answer."""
    states = []
    for change in (True, False):
        campaign = begin(budget=12, noise=0.2, multilabel=several, classes=["0", "1"], strategy="random")
        rows = [*take(campaign, "ann", 4), *take(campaign, "bob", 4), *take(campaign, "cem", 4)]
        if change:
            answer(campaign, "ann", rows[0], [] if several else 0)
        for number, row in enumerate(rows[1:], 1):
            code = number % 2
            answer(campaign, ("ann", "bob", "cem")[number // 4], row, [code] if several else code)
        answer(campaign, "ann", rows[0], [1] if several else 1)
        states.append(learned(campaign))
    one, other = states
    assert [*one.turns] == [*other.turns] and one.turns.asked == 12
    assert one.answers() == other.answers() and one.opinions.votes == other.opinions.votes
    assert np.array_equal(one.model.scores, other.model.scores)
    assert one.opinions.persons(one.model) == other.opinions.persons(other.model)


def test_a_changed_answer_is_the_last_and_undo_opens_its_question(begin):
    campaign = begin()
    one, two = take(campaign, "ann", 2)
    answer(campaign, "ann", one, 0)
    answer(campaign, "ann", two, 0)
    answer(campaign, "ann", one, 1)
    assert campaign.undo("ann")["row"] == one
    assert (campaign.turns.asked, take(campaign, "ann")) == (1, [one])
    assert learned(campaign).answers() == {two: 0}
    assert campaign.undo("ann")["row"] == two
    assert campaign.undo("ann")["row"] is None
    assert (campaign.turns.asked, sorted(take(campaign, "ann", 2))) == (0, sorted((one, two)))
    assert answer(campaign, "ann", one, 0)["late"] is False


def test_an_answer_is_not_changed_into_none_but_a_skip_may_be_answered(begin):
    campaign = begin(budget=1)
    (row,) = take(campaign, "ann")
    answer(campaign, "ann", row)
    before = kinds(campaign)
    for outcome in ("skip", "unsure"):
        with pytest.raises(RefusedError, match=r"you answered the question about row \d+; send another"):
            campaign.close_question("ann", row, outcome)
    assert kinds(campaign) == before
    campaign.undo("ann")
    campaign.close_question("ann", row, "skip")
    assert campaign.close_question("ann", row, "skip")["late"] is True
    assert answer(campaign, "ann", row, 0)["late"] is answer(campaign, "ann", row, 1)["late"] is True
    assert [(turn.outcome, turn.code) for turn in campaign.turns] == [("skip", -1), ("answer", 1)]
    assert (campaign.turns.asked, campaign.turns.unanswered) == (0, 1)


def test_a_changed_answer_does_not_take_the_question_that_another_has(begin):
    campaign = begin(budget=4, overlap=2)
    (row,) = take(campaign, "ann")
    answer(campaign, "ann", row, 0)
    learned(campaign)
    assert take(campaign, "bob") == [row]
    answer(campaign, "ann", row, 1)
    assert campaign.held("bob") == [row] and campaign.turns.asked == 1
    assert answer(campaign, "bob", row, 0)["late"] is False
    assert {turn.person: turn.code for turn in campaign.turns.about(row)} == {"ann": 1, "bob": 0}
    learned(campaign)
    assert [person.votes for person in campaign.asking.people] == [1, 1]


def test_a_late_answer_that_is_changed_stays_free_of_the_budget(begin, clock):
    campaign = begin(budget=2)
    (row,) = take(campaign, "ann")
    clock.now += LEASE + 1
    assert take(campaign, "bob") == [row]
    answer(campaign, "bob", row, 1)
    for code in (0, 1, 1, 0):
        assert answer(campaign, "ann", row, code)["late"] is True
    assert campaign.turns.asked == 1 and len(campaign.turns) == 2
    assert {turn.person: turn.code for turn in campaign.turns.about(row)} == {"bob": 1, "ann": 0}


def test_a_question_put_again_is_another_vote(begin):
    campaign = begin(noise=0.2)
    (row,) = take(campaign, "ann")
    answer(campaign, "ann", row, 0)
    again = {**campaign.turns.about(row)[0].about, "again": True, "person": "ann", "until": 2e6}
    campaign.write(lambda: [Draft("question", again)])
    assert answer(campaign, "ann", row, 1)["late"] is False
    assert [turn.code for turn in campaign.turns.about(row)] == [0, 1]
    answer(campaign, "ann", row, 0)
    assert [turn.code for turn in campaign.turns.about(row)] == [0, 0]
    assert (campaign.turns.asked, len(learned(campaign).opinions.votes)) == (2, 2)


def test_a_changed_answer_of_the_audit_is_the_one_that_measures(begin):
    campaign = begin(budget=4, audit=3)
    for _ in range(4):
        (question,), _ = campaign.lease("ann")
        answer(campaign, "ann", question.row, 0)
    assert question.audit
    answer(campaign, "ann", question.row, 1)
    assert learned(campaign).answers(audit=True)[question.row] == 1
    assert len(learned(campaign).answers(audit=True)) == 3


def test_a_verdict_stands_over_a_changed_answer(begin):
    campaign = begin()
    (row,) = take(campaign, "ann")
    answer(campaign, "ann", row, 0)
    campaign.verdict("cem", row, 1)
    answer(campaign, "ann", row, 1)
    answer(campaign, "ann", row, 0)
    assert learned(campaign).answers() == {row: 1} and len(campaign.turns) == 1


def test_the_table_of_answers_has_a_changed_one_once(begin, clock):
    campaign = begin(classes=["a", "b"])
    one, two = take(campaign, "ann", 2)
    for row, code in ((one, 0), (two, 0), (one, 1)):
        clock.now += 5
        answer(campaign, "ann", row, code)
    events = campaign.store.events(campaign.id)
    nodes = campaign.asking.graph.nodes
    found = answers_table(events, nodes, ["a", "b"], {}, multilabel=False).to_pylist()
    assert [(each["node"], each["label"], each["seconds"]) for each in found] == [
        (nodes[two], "a", 10.0),
        (nodes[one], "b", None),
    ]
    assert found[1]["at"].timestamp() == clock.now


def test_a_changed_answer_is_the_same_on_every_server(servers, clock):
    one, two = servers(budget=20, audit=2, overlap=2, noise=0.2)
    for code in (0, 1, 1, 0):
        for server, other, person in ((one, two, "ann"), (two, one, "bob")):
            (row,) = take(server, person)
            answer(server, person, row, code)
            answer(other, person, row, 1 - code)
            assert answer(server, person, row, 1 - code)["late"] is False
        learned(one), learned(two)
    same(one, two)
    again = open_campaign(one.store, one.id)
    same(one, again)
    again.close()
    pairs = [(turn.row, turn.person) for turn in one.turns if turn.outcome == "answer"]
    assert len(pairs) == len(set(pairs)) == one.turns.asked == 8


# -- several answers about a node --------------------------------------------------------------------------


def test_with_an_overlap_of_two_everybody_answers_once_about_a_node(begin):
    campaign = begin(budget=8, overlap=2)
    for _ in range(4):
        for person in ("ann", "bob"):
            for row in take(campaign, person):
                answer(campaign, person, row)
            assert campaign.learner.caught_up(campaign.last, 30)
    turns = list(campaign.turns)
    pairs = {(turn.row, turn.person) for turn in turns}
    assert len(turns) == len(pairs) == 8
    assert len({row for row, _ in pairs}) == 4


def test_a_doubtful_answer_is_put_to_another_person_three_times_at_most(begin):
    campaign = begin(budget=20, second_opinions=True, noise=0.4)
    (row,) = take(campaign, "ann")
    answer(campaign, "ann", row, 0)
    assert campaign.learner.caught_up(campaign.last, 30)
    assert row not in take(campaign, "ann", 3)
    assert row == take(campaign, "bob")[0]
    answer(campaign, "bob", row, 1)
    assert campaign.learner.caught_up(campaign.last, 30)
    assert row == take(campaign, "cem")[0]
    answer(campaign, "cem", row, 0)
    assert campaign.learner.caught_up(campaign.last, 30)
    assert row not in take(campaign, "dea", 5)


def test_some_questions_are_put_again_of_another_person_first(begin):
    """Every third question: of the least sure node of another's, or of one's own where there is none."""
    campaign = begin(budget=12, repeats=4)
    for person in ("ann", "ann", "ann", "bob", "bob", "bob", "ann", "bob", "ann", "cem", "cem", "cem"):
        (row,) = take(campaign, person)
        campaign.give_back(person, row)  # the same person gets it again if nobody else comes
        assert take(campaign, person) == [row]
        answer(campaign, person, row, row % 2)
        assert campaign.learner.caught_up(campaign.last, 30)
    turns = list(campaign.turns)
    assert [at for at, turn in enumerate(turns) if turn.again] == [2, 5, 8, 11]
    before = [{turn.person for turn in turns[:at] if turn.row == turns[at].row} for at in (2, 5, 8, 11)]
    assert before[0] == {"ann"} and not any(
        turns[at].person in people for at, people in zip((5, 8, 11), before[1:], strict=True)
    )
    assert campaign.stopped() == "the budget of 12 answers is spent"
    campaign.store.check(campaign.id)


def test_the_audit_is_spread_over_the_budget(begin):
    campaign = begin(budget=20, audit=4)
    flags = []
    for person, count in (("ann", 3), ("bob", 5), ("cem", 4), ("dea", 5), ("eve", 3)):
        flags += [question.audit for question in campaign.lease(person, count)[0]]
    assert [at for at, audit in enumerate(flags) if audit] == [4, 9, 14, 19]


# -- arrivals ----------------------------------------------------------------------------------------------


def test_a_node_that_comes_by_is_labelled_at_once(begin):
    campaign = begin()
    for code in (0, 1):
        answer(campaign, "ann", *take(campaign, "ann"), code)
    node = campaign.asking.graph.nodes[0]
    (came,) = arrive(campaign, [("new", node)], None)
    assert (came["row"], came["node"]) == (34, "new")
    assert came["label"] in (0, 1)
    assert came["asked"] == (came["probability"] < 0.8)
    if came["asked"]:
        assert take(campaign, "bob") == [34]
    assert arrive(campaign, [("new", node)], None) == []
    (other,) = arrive(campaign, [("far", "new")], None)
    assert other["row"] == 35


def test_arrivals_come_in_between_the_answers_of_others(begin):
    """They depend on the graph, not on the answers: people at work must not hold them up for ever."""
    campaign = begin(budget=10_000)
    ended = threading.Event()

    def work():
        while not ended.is_set():
            campaign.comment("ann", 3, "busy")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = len(kinds(campaign))
        nodes = campaign.asking.graph.nodes
        for number in range(3):
            (came,) = arrive(campaign, [(f"new{number}", nodes[0])], None)
            assert came["row"] == 34 + number
        assert len(kinds(campaign)) > before
        # Each was worked out once, whatever came between.
        assert len(kinds(campaign, "growth")) == 3
    finally:
        ended.set()
        thread.join()


def test_a_question_about_an_arrival_can_be_leased_on_another_server(servers):
    one, two = servers(budget=30)
    for code in (0, 1):
        answer(one, "ann", *take(one, "ann"), code)
    nodes = one.asking.graph.nodes
    edges = [("new", nodes[0]), ("new", nodes[33])]
    (came,) = arrive(one, edges, None)
    if not came["asked"]:
        body = {"row": came["row"], "audit": False, "reason": "", "value": 0.0, "gain": None}
        body |= {"guess": None, "probability": None, "second": None, "second_probability": None}
        one.write(lambda: [Draft("question", body)])
    assert take(two, "bob") == [34]
    assert two.question(34).node == "new"
    assert answer(two, "bob", 34)["late"] is False


# -- several servers ---------------------------------------------------------------------------------------


def same(one, two):
    """Both have seen, and learned, the same."""
    for each in (one, two):
        each.catch_up()
        assert each.learner.caught_up(each.last, 60)
    assert one.last == two.last
    assert [*one.turns] == [*two.turns]
    assert one.turns.leases == two.turns.leases
    assert [turn.about for turn in one.turns] == [turn.about for turn in two.turns]
    assert [*one.asking.state.turns] == [*two.asking.state.turns]
    states = one.asking.state, two.asking.state
    assert np.array_equal(states[0].model.scores, states[1].model.scores)
    assert np.array_equal(states[0].model.variance, states[1].model.variance)
    assert states[0].answers() == states[1].answers()
    for name in ("paused", "options", "settled", "known", "returned", "audit_rows", "stopped"):
        assert getattr(one.status, name) == getattr(two.status, name) == getattr(states[0], name), name
    for name in ("had", "comments"):
        assert getattr(one, name) == getattr(two, name)


def work(campaigns, people, clock, rounds=6):
    """Everybody does a little of everything, on one server after another."""
    places = iter(campaigns * 1000)
    for turn in range(rounds):
        for number, person in enumerate(people):
            rows = take(next(places), person, 1 + number % 2)
            for row in islice(rows, 1):
                clock.now += 7.0
                server = next(places)
                outcome = ("answer", "answer", "answer", "skip", "unsure")[(turn + number) % 5]
                server.close_question(
                    person, row, outcome, row % 2 if outcome == "answer" else None, f"{clock.now}"
                )
        next(places).undo(people[turn % len(people)])
        next(places).comment(people[0], turn, "said")
        clock.now += (LEASE + 1) * (turn == 2)


def test_two_servers_are_equal_after_the_same_events(servers, clock):
    one, two = servers(budget=40, audit=4, second_opinions=True)
    work([one, two], ["ann", "bob", "cem"], clock)
    two.verdict("cem", 5, 1)
    arrive(one, [("new", one.asking.graph.nodes[0])], None)
    work([two, one], ["ann", "bob"], clock, 2)
    same(one, two)
    assert one.turns.asked + one.turns.n_open <= one.status.options.budget


def test_a_replay_is_equal_with_the_clock_moved_by_a_day(servers, clock):
    one, two = servers(budget=40, audit=4, second_opinions=True)
    work([one], ["ann", "bob", "cem"], clock)
    take(one, "dea")
    clock.now += 86_400
    again = open_campaign(one.store, one.id)
    again.clock = clock
    same(one, again)
    same(two, again)
    assert "dea" in {lease.person for lease in again.turns.leases.values()}
    again.close()


def test_an_answer_reaches_a_server_that_did_not_give_the_question(servers):
    one, two = servers()
    (row,) = take(one, "ann")
    assert answer(two, "ann", row)["late"] is False
    (row,) = take(one, "ann")
    assert two.beat("ann", row)
    (row,) = take(one, "bob")
    two.give_back("bob", row)
    assert answer(one, "ann", *take(one, "ann"))
    assert two.undo("ann")["row"] is not None


def test_an_undo_sees_an_answer_that_came_to_another_server(servers):
    one, two = servers()
    (row,) = take(one, "ann")
    answer(one, "ann", row)
    assert two.undo("ann")["row"] == row


def test_what_was_written_while_a_server_opened_is_learned_too(begin, clock):
    """Between reading the log into the model and the first request another server may write."""
    one = begin(budget=20)
    from querist.asking.files import from_files
    from querist.asking.store.sqlite import StoredCampaign

    (entry,) = one.store.campaigns()
    read = from_files("karate", journal=StoredCampaign.of(one.store, entry))
    for code in (0, 1, 0):
        answer(one, "ann", *take(one, "ann"), code)
    two = ServedCampaign(one.store, one.id, "karate", read.asking, one.texts)
    two.clock = clock
    same(one, two)
    answer(two, "ann", *take(two, "ann"), 1)
    same(one, two)
    two.close()


def test_people_at_once_on_two_servers_never_have_the_same_question(servers):
    own = servers(budget=34)
    held, problems, seen = {}, [], []
    lock = threading.Lock()

    def person(number):
        who, server = f"p{number}", own[number % 2]
        for turn in range(4):
            for question in server.lease(who)[0]:
                with lock:
                    if held.setdefault(question.row, who) != who:
                        problems.append((question.row, who, held[question.row]))
                server.close_question(who, question.row, "answer", question.row % 2, f"{who}{turn}")
                with lock:
                    seen.append(question.row)

    threads = [threading.Thread(target=person, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(seen) == len(set(seen))
    same(*own)
    assert own[0].turns.asked == len(seen)


class CountingStore(SqliteStore):
    """Counts what it writes."""

    transactions = 0

    def _write(self, statements):
        self.transactions += 1
        super()._write(statements)


def at_once(campaign, calls):
    """What the calls gave, all of them made while somebody else writes: a result or a refusal each."""
    found = [None] * len(calls)

    def call(number):
        try:
            found[number] = calls[number]()
        except RefusedError as problem:
            found[number] = problem

    threads = [threading.Thread(target=call, args=[number]) for number in range(len(calls))]
    with campaign.lock:
        for number, thread in enumerate(threads):
            thread.start()
            while len(campaign.writer.pending) <= number:
                pass
    for thread in threads:
        thread.join()
    return found


def test_answers_that_come_together_are_one_transaction(begin, clock):
    store = CountingStore(None, clock=clock)
    campaign = begin(store, budget=20)
    rows = {who: [q.row for q in campaign.lease(who, 2)[0]] for who in ("ann", "bob", "cem")}
    campaign.close_question("bob", rows["bob"][1], "answer", 1, "before")
    before = store.transactions
    calls = [
        lambda: campaign.close_question("ann", rows["ann"][0], "answer", 0, "a"),
        lambda: campaign.close_question("bob", rows["bob"][0], "answer", 1, "b"),
        lambda: campaign.close_question("cem", rows["cem"][0], "skip", None, "c"),
        lambda: campaign.comment("cem", rows["cem"][1], "looks odd", "d"),
    ]
    found = at_once(campaign, calls)
    assert store.transactions == before + 1
    last = campaign.last
    assert sorted(kept["seq"] for kept in found) == [last - 3, last - 2, last - 1, last]
    assert [call() for call in calls] == found
    assert campaign.last == last
    store.check(campaign.id)


def test_one_that_is_refused_or_was_done_before_leaves_the_others_alone(begin):
    campaign = begin(budget=20)
    rows = {who: [q.row for q in campaign.lease(who, 2)[0]] for who in ("ann", "bob", "cem")}
    first = campaign.close_question("ann", rows["ann"][0], "answer", 0, "a")
    found = at_once(
        campaign,
        [
            lambda: campaign.close_question("ann", rows["ann"][0], "answer", 0, "a"),
            lambda: campaign.close_question("bob", rows["bob"][0], "answer", 1, "b"),
            lambda: campaign.close_question("bob", rows["cem"][0], "answer", 1, "c"),
            lambda: campaign.close_question("cem", rows["cem"][0], "answer", 1, "c"),
        ],
    )
    assert found[0] == first
    assert isinstance(found[2], RefusedError)
    assert [found[k]["row"] for k in (1, 3)] == [rows["bob"][0], rows["cem"][0]]
    answers = [(e.body["person"], e.body["row"]) for e in kinds(campaign, "answer")]
    assert sorted(answers) == sorted((who, rows[who][0]) for who in rows)


def test_answers_that_come_together_see_what_another_server_wrote(servers):
    here, there = servers(budget=20)
    rows = {who: [q.row for q in here.lease(who, 1)[0]] for who in ("ann", "bob")}
    there.comment("dan", 0, "a word between")
    found = at_once(
        here,
        [
            lambda: here.close_question("ann", rows["ann"][0], "answer", 0, "a"),
            lambda: here.close_question("bob", rows["bob"][0], "answer", 1, "b"),
        ],
    )
    assert [kept["late"] for kept in found] == [False, False]
    there.catch_up()
    assert there.last == here.last
    assert there.turns.asked == here.turns.asked == 2


class ReadCountingStore(SqliteStore):
    """Counts how often the events are read."""

    reads = 0

    def events(self, *arguments, **options):
        self.reads += 1
        return super().events(*arguments, **options)


def test_who_waits_for_a_question_leaves_the_store_alone(begin):
    people = 30
    campaign = begin(ReadCountingStore(None), "digits", budget=1000)
    with campaign.learner.lock:  # nothing is learned meanwhile, so that all have to wait
        first = list(campaign.learner.ready)
        for k in range(len(first)):
            campaign.lease(f"early {k}")
        got, before = [], campaign.store.reads
        waiting = [
            threading.Thread(target=lambda k=k: got.append(campaign.lease(f"late {k}")))
            for k in range(people)
        ]
        for each in waiting:
            each.start()
        while campaign.store.reads < before + people:
            pass
    for each in waiting:
        each.join()
    rows = [question.row for (question,), _ in got]
    assert len(set(rows)) == people
    # Everybody looked once when they came; few were called for a question that somebody else got.
    assert campaign.store.reads - before <= 1.5 * people


def test_options_of_a_campaign_that_is_there_change_it_or_are_refused(place, clock):
    with open_store(place, clock=clock) as store:
        first = open_or_create(store, GraphFiles("karate"), budget=10, audit=2)
        first.close()
        again = open_or_create(store, GraphFiles("karate"), budget=20, stop=0.5, audit=2)
        options = again.status.options
        assert (again.id, options.budget, options.stop) == (first.id, 20, 0.5)
        again.close()
        with pytest.raises(InputError, match=r"it was begun with audit 2, now it is 3"):
            open_or_create(store, GraphFiles("karate"), audit=3)
