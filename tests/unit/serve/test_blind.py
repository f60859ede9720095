"""Questions that check the model or earlier answers show neither; and who sees whose answers elsewhere."""

import csv
import io
import json
from contextlib import ExitStack

import httpx
import pytest

from querist.asking.policy import SECOND
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import SqliteStore
from querist.serve.app import make_app
from querist.serve.client import connect
from querist.serve.opening import create
from querist.serve.server import CampaignServer

FOUND = ("guess", "probability", "second", "second_probability", "answer", "votes")


class Team:
    """A campaign on a server, and the people who work on it."""

    def __init__(self, address, server, campaign, stack):
        self.server, self.campaign, self.stack, self.address = server, campaign, stack, address
        self.views = server.add(campaign)

    def invited(self, role, name):
        token, secret = self.server.gate.invite(self.campaign.id, role, name)
        found = self.stack.enter_context(
            httpx.Client(
                base_url=f"{self.address}/v1/campaigns/{self.campaign.id}",
                headers={"Authorization": f"Bearer {secret}"},
                timeout=60,
            )
        )
        found.person, found.secret = token.person, secret
        return found

    def learn(self):
        assert self.campaign.learner.caught_up(self.campaign.last, 30)


@pytest.fixture(scope="module")
def house(serving):
    server = CampaignServer(SqliteStore(None))
    with serving(make_app(server)) as address:
        yield server, address


@pytest.fixture
def team(house):
    """`team(**options)`: a campaign on the karate club, random but for its options."""
    server, address = house
    with ExitStack() as stack:

        def begin(data="karate", **options):
            own = {"budget": 20, "strategy": "random", "second_opinions": False, **options}
            return Team(address, server, create(server.store, data, **own), stack)

        yield begin


def lease(client, count=1):
    return client.post("/leases", json={"count": count}).json()["leases"]


def answer(client, row, label=1):
    found = client.post("/answers", json={"row": row, "label": label})
    assert found.status_code == 200, found.text
    return found.json()


def told_of(client, row):
    """All that the server says of a row, whichever way it is asked."""
    (listed,) = [each for each in client.get("/nodes").json()["nodes"] if each["row"] == row]
    drawn, node = client.get("/map").json(), client.get(f"/nodes/{row}").json()
    at = drawn["rows"].index(row)
    others = [client.get(f"/nodes/{near['row']}").json() for near in node["neighbours"][:3]]
    seen = [near for other in others for near in other["neighbours"] if near["row"] == row]
    seen += [each for other in [node, *others] for each in other["drawing"]["nodes"] if each["row"] == row]
    labels = client.get("/labels")
    (label,) = [each for each in labels.json().get("labels", [{"row": row}]) if each["row"] == row]
    return [
        *(listed[name] for name in ("label", "by", "belief", "votes")),
        *(node[name] for name in FOUND),
        *(each["label"] for each in seen),
        *(each["known"] or None for each in seen),
        None if drawn["label"][at] == -1 else drawn["label"][at],
        drawn["known"][at] or None,
        label.get("label"),
        label.get("probability"),
    ]


def rows_of(client, form="jsonl"):
    """Nodes in an export."""
    reply = client.get("/export", params={"format": form})
    assert reply.status_code == 200
    if form == "csv":
        return {row["node"] for row in csv.DictReader(io.StringIO(reply.text))}
    return {str(json.loads(line)["node"]) for line in reply.text.splitlines()}


def begun(team, **options):
    """Ann has answered and commented on a row that Bob is asked about next; a few others are answered."""
    own = team(overlap=2, **options)
    ann, bob = own.invited("labeller", "Ann the First"), own.invited("labeller", "Bob")
    (first,) = lease(ann)
    for label in (1, 0, 1, 0):
        (taken,) = lease(ann)
        answer(ann, taken["row"], label)
    ann.post("/comments", json={"row": first["row"], "text": "it is of class 1"})
    bob.post("/comments", json={"row": first["row"], "text": "mine"})
    own.learn()
    return own, ann, bob, first["row"]


@pytest.mark.slow
def test_a_second_opinion_shows_neither_answer_nor_guess_nor_who_gave_it(team):
    _, ann, bob, row = begun(team)
    leases = lease(bob, 5)
    (found,) = [each for each in leases if each["row"] == row]
    assert found["again"] and found["blind"] and found["reason"] == SECOND
    detail = found["detail"]
    assert [found[name] for name in FOUND if name in found] == [None] * 4
    assert [detail[name] for name in FOUND] == [None] * 6
    assert [each["text"] for each in detail["comments"]] == ["mine"]
    assert detail["values"] == [] and detail["degree"] == len(detail["neighbours"]) > 0
    centre = next(each for each in detail["drawing"]["nodes"] if each["centre"])
    assert (centre["label"], centre["known"]) == (None, False)
    # What is guessed around it comes from the same answer.
    assert {each["by"] for each in detail["neighbours"]} <= {None, "answer"}
    assert all(each["known"] or each["label"] is None for each in detail["drawing"]["nodes"])
    for each in leases:
        near = [*each["detail"]["neighbours"], *each["detail"]["drawing"]["nodes"]]
        assert {other["label"] for other in near if other["row"] == row} <= {None}
    text = json.dumps(leases)
    assert "Ann the First" not in text and ann.person not in text and "class 1" not in text


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_a_blind_question_is_the_same_whatever_was_answered(team, several):
    """All of it: nothing that follows from the answer is left either."""
    found = []
    for label in ([0], [1]) if several else (0, 1):
        own = team(overlap=2, multilabel=several)
        ann, bob = own.invited("labeller", "Ann"), own.invited("labeller", "Bob")
        answer(ann, lease(ann)[0]["row"], label)
        own.learn()
        (taken,) = lease(bob)
        assert taken["blind"] and taken.pop("until")
        found.append((taken, bob.get(f"/nodes/{taken['row']}").json()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_whoever_may_be_asked_finds_nothing_elsewhere_until_they_answered(team):
    own, ann, bob, row = begun(team)
    name = str(own.campaign.asking.graph.nodes[row])
    cem = own.invited("labeller", "Cem")
    for client in (bob, cem):
        assert set(told_of(client, row)) == {None}
        assert row not in {each["row"] for each in client.get("/doubts").json()}
        assert name not in rows_of(client) and name not in rows_of(client, "csv")
    assert row in {each["row"] for each in lease(bob, 5)}
    assert set(told_of(bob, row)) == set(told_of(cem, row)) == {None}
    assert 1 in told_of(ann, row), "it is her own answer"
    answer(bob, row, 1)
    own.learn()
    for client in (ann, bob, cem):  # enough people have answered
        told = client.get(f"/nodes/{row}").json()
        assert told["answer"] == 1 and [each["label"] for each in told["votes"]] == [1, 1]
        assert [each["person"] for each in told["votes"]] == [
            who.person if who is client else None for who in (ann, bob)
        ]
        assert name in rows_of(client)


@pytest.mark.slow
def test_a_skip_uncovers_nothing(team):
    """The question can still be answered."""
    _, _, bob, _ = begun(team)
    row = lease(bob)[0]["row"]
    assert bob.post("/answers", json={"row": row, "outcome": "skip"}).status_code == 200
    assert set(told_of(bob, row)) == {None}
    assert answer(bob, row, 0)["late"]
    assert len(bob.get(f"/nodes/{row}").json()["votes"]) == 2


@pytest.mark.slow
def test_only_managers_and_oneself_are_told_who_answered(team):
    own, ann, bob, row = begun(team)
    reader, manager = own.invited("reader", "Rae"), own.invited("manager", "Mia")
    paths = ("/nodes", f"/nodes/{row}", "/map", "/labels", "/doubts", "")
    for client in (reader, bob):
        text = "".join(client.get(path).text for path in paths)
        assert "Ann the First" not in text and ann.person not in text
    told = reader.get(f"/nodes/{row}").json()
    assert told["answer"] == 1 and told["guess"] is not None
    assert told["votes"] == [{"person": None, "name": None, "label": 1}]
    assert [each["text"] for each in told["comments"]] == ["it is of class 1", "mine"]
    assert str(own.campaign.asking.graph.nodes[row]) in rows_of(reader)
    told = manager.get(f"/nodes/{row}").json()
    assert told["votes"] == [{"person": ann.person, "name": "Ann the First", "label": 1}]
    assert [each["name"] for each in told["comments"]] == ["Ann the First", "Bob"]
    # A manager who answers questions is asked as everybody is.
    (found,) = [each for each in lease(manager, 5) if each["row"] == row]
    assert found["blind"]
    assert found["guess"] is found["detail"]["answer"] is found["detail"]["guess"] is None
    assert "Ann the First" not in json.dumps(found)


def test_doubts_name_nobody_to_a_reader(team):
    own = team(noise=0.4, second_opinions=True)
    people = [own.invited("labeller", name) for name in ("Ann", "Bob", "Cem")]
    (row,) = {lease(each)[0]["row"] for each in people[:1]}
    for label, client in enumerate(people):
        own.campaign.had.add((row, client.person))
        answer(client, row, label % 2)
    own.learn()
    for role, names in (("reader", {None}), ("labeller", {None}), ("manager", {"Ann", "Bob", "Cem"})):
        (doubt,) = own.invited(role, "Zoe").get("/doubts").json()
        assert doubt["row"] == row and {vote["name"] for vote in doubt["votes"]} == names
        assert [vote["label"] for vote in doubt["votes"]] == [0, 1, 0]


@pytest.mark.slow
def test_the_audit_shows_no_guess_before_it_is_answered(team):
    own = team(audit=10)
    ann, bob = own.invited("labeller", "Ann"), own.invited("labeller", "Bob")
    audited = list(own.campaign.asking.state.audit_rows)
    while not (found := lease(ann)[0])["audit"]:
        assert not found["blind"]
        answer(ann, found["row"], found["row"] % 2)
        own.learn()
    assert found["row"] in audited and found["blind"]
    assert own.campaign.asking.state.about(found["row"])["guess"] is not None
    assert [found[name] for name in FOUND if name in found] == [None] * 4
    assert [found["detail"][name] for name in FOUND] == [None] * 6
    for row in (found["row"], *audited[-2:]):
        for client in (ann, bob):
            assert set(told_of(client, row)) == {None}
    assert own.invited("reader", "Rae").get(f"/nodes/{audited[-1]}").json()["guess"] is not None
    answer(ann, found["row"], 1)
    assert ann.get(f"/nodes/{found['row']}").json()["answer"] == 1


def test_a_plain_question_shows_its_guess(team):
    own = team()
    ann = own.invited("labeller", "Ann")
    for label in (0, 1):
        answer(ann, lease(ann)[0]["row"], label)
        own.learn()
    ann.delete(f"/leases/{lease(ann)[0]['row']}")
    (found,) = lease(own.invited("labeller", "Bob"))
    assert not found["blind"] and found["detail"]["guess"] is not None
    assert "guess" in {each["by"] for each in found["detail"]["neighbours"]}


@pytest.mark.slow
def test_a_question_put_again_does_not_show_ones_own_answer(team):
    own = team(noise=0.2)
    ann = own.invited("labeller", "Ann")
    row = lease(ann)[0]["row"]
    answer(ann, row, 1)
    own.learn()
    assert ann.get(f"/nodes/{row}").json()["answer"] == 1
    again = {**own.campaign.turns.about(row)[0].about, "again": True, "until": 2e10}
    own.campaign.write(lambda: [Draft("question", again)])
    (found,) = lease(ann)
    assert (found["row"], found["blind"], found["detail"]["answer"]) == (row, True, None)
    assert set(told_of(ann, row)) == {None}


@pytest.mark.slow
def test_whoever_may_still_answer_late_does_not_see_what_others_answered(team):
    own = team()
    ann, bob = own.invited("labeller", "Ann"), own.invited("labeller", "Bob")
    (had,) = lease(ann)
    row = had["row"]
    assert ann.delete(f"/leases/{row}").status_code == 204
    before = told_of(ann, row)
    (taken,) = lease(bob)
    assert taken["row"] == row
    answer(bob, row)
    own.learn()
    assert not any(value not in (None, []) for value in told_of(ann, row)), before
    assert answer(ann, row, 0)["late"]
    own.learn()
    assert ann.get(f"/nodes/{row}").json()["votes"]


@pytest.mark.slow
def test_an_undone_question_is_blind_once_somebody_else_has_answered_it(team):
    own = team(find="Officer", strategy="pool")
    ann, bob = own.invited("labeller", "Ann"), own.invited("labeller", "Bob")
    row = lease(ann)[0]["row"]
    answer(ann, row, 1)
    back = ann.post("/undo").json()["lease"]
    assert (back["row"], back["blind"]) == (row, False)
    answer(ann, row, 1)
    own.campaign.had.add((row, bob.person))
    assert answer(bob, row, 0)["late"]
    back = ann.post("/undo").json()["lease"]
    assert (back["row"], back["blind"], back["again"], back["reason"]) == (row, True, False, SECOND)
    assert set(told_of(ann, row)) == {None}


def test_a_label_is_hidden_while_another_answer_is_wanted(team):
    """By the belief in it, where second opinions are; what is not learned yet may be in doubt."""
    own = team(noise=0.4, second_opinions=True, budget=6)
    campaign, opinions = own.campaign, own.campaign.asking.state.opinions
    row = lease(ann := own.invited("labeller", "Ann"))[0]["row"]
    with campaign.learner.lock:
        answer(ann, row, 1)
        assert campaign.hides("bob", row) and not campaign.hides(ann.person, row)
    own.learn()
    assert opinions.sure_of(row, 1) < 0.8 and opinions.sure_of(row, 2) == 0.0
    assert campaign.hides("bob", row)
    opinions.sure[opinions.rows[row]] = 0.9
    assert not campaign.hides("bob", row)
    opinions.sure[opinions.rows[row]] = 0.7
    assert campaign.hides("bob", row)
    campaign.verdict("mia", row, 1)
    assert not campaign.hides("bob", row)


@pytest.mark.slow
def test_nothing_is_hidden_once_the_budget_is_spent(team):
    own = team(overlap=2, budget=3)
    ann = own.invited("labeller", "Ann")
    bob = connect(
        f"{own.address}/enter?token={own.invited('labeller', 'Bob').secret}", campaign=own.campaign.id
    )
    for _ in range(2):
        answer(ann, lease(ann)[0]["row"], 1)
    assert bob.answers == {} and None in bob.labels
    question = bob.question
    assert question.again
    assert (question.guess, question.probability, question.second) == (None, None, None)
    bob.answer(bob.classes[0])
    assert bob.question is None and len(bob.answers) == 2
    assert None not in bob.labels and len(bob.labels) == 34


def test_sets_of_classes_have_no_probabilities_in_a_blind_question(team):
    own = team(multilabel=True, overlap=2)
    ann, bob = own.invited("labeller", "Ann"), own.invited("labeller", "Bob")
    for label in ([0], [1], [0, 1]):
        answer(ann, lease(ann)[0]["row"], label)
    own.learn()
    (found,) = lease(bob)
    assert found["blind"] and found["detail"]["probabilities"] is None is found.get("probabilities")
    remote = connect(f"{own.address}/enter?token={bob.secret}", campaign=own.campaign.id)
    assert remote.question.guess is remote.question.probabilities is None


def test_a_team_of_one_or_none_works(team):
    """Nobody is asked anything, or nobody else is there."""
    own = team(overlap=20, budget=1)
    ann = own.invited("labeller", "Ann")
    assert lease(own.invited("manager", "Mia"))[0]["blind"] is False
    assert set(ann.get("/map").json()["label"]) == {-1}
    assert ann.get("/doubts").json() == []
