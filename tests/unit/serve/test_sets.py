"""Where nodes may have several labels: answers that are lists over HTTP, sets by the client, check boxes."""

import csv
import io
import json
import re

import httpx
import pyarrow.parquet as pq
import pytest

from querist.errors import InputError
from querist.serve.client import connect
from querist.serve.opening import open_campaign

CLASSES = ("Agents", "Databases", "Theory")


@pytest.fixture
def papers(site):
    return site.papers(CLASSES, multilabel=True, audit=2, budget=20)


def client(papers, role="labeller"):
    token = papers.link(role).rpartition("=")[2]
    place = f"{papers.site.address}/v1/campaigns/{papers.campaign.id}"
    return httpx.Client(base_url=place, headers={"Authorization": f"Bearer {token}"}, timeout=60)


def truth(row):
    """Of the ring, and every third paper is theory too; every tenth is of no class."""
    return [] if row % 10 == 7 else sorted({row // 20, *([2] if row % 3 == 0 else [])})


@pytest.mark.slow
def test_answers_are_lists_over_http(papers):
    with client(papers) as http, client(papers, "manager") as manager:
        assert papers.site.server.views(papers.campaign.id).summary()["multilabel"] is True
        for _ in range(12):
            (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
            row = lease["row"]
            body = {"row": row, "label": truth(row)[::-1]}
            assert http.post("/answers", json=body).status_code == 200
        assert [code for _, _, code in papers.answers()] == [truth(row) for row, _, _ in papers.answers()]
        (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
        assert lease["guess"] is None or all(type(code) is int for code in lease["guess"])
        assert len(lease["detail"]["probabilities"]) == 3
        for label in (1, [3], [-1], None, ["Theory"], [True], [0.5]):
            refused = http.post("/answers", json={"row": lease["row"], "label": label})
            assert refused.status_code == 422 and "label" in refused.json()["error"]
        row = papers.answers()[0][0]
        assert manager.post("/verdicts", json={"row": row, "label": [2, 1]}).status_code == 200
        assert manager.post("/verdicts", json={"row": row, "label": 1}).status_code == 422
        about = manager.get(f"/nodes/{row}").json()
        assert about["answer"] == [1, 2] and about["votes"][0]["label"] == truth(row)
        assert {-1, 0, 1, 2} >= set(manager.get("/map").json()["label"])

        labels = {each["row"]: each["label"] for each in manager.get("/labels").json()["labels"]}
        lines = manager.get("/export", params={"format": "jsonl"}).text.splitlines()
        table = pq.read_table(io.BytesIO(manager.get("/export", params={"format": "parquet"}).content))
        assert [json.loads(line)["label"] for line in lines] == table["label"].to_pylist()
        assert table["label"].to_pylist() == [[CLASSES[k] for k in labels[row]] for row in range(60)]
        assert labels[row] == [1, 2]
        csv = manager.get("/export").text.splitlines()[1 + row]
        assert csv.startswith(f"{row},Databases;Theory,")
    own = papers.campaign
    own.learner.caught_up(own.last, 20)
    again = open_campaign(own.store, own.id)
    try:
        assert again.asking.answers == own.asking.answers
    finally:
        again.close()


def test_the_table_of_answers_has_a_column_of_sets_before_the_first_answer(papers):
    with client(papers) as http, client(papers, "manager") as manager:
        (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
        assert http.post("/answers", json={"row": lease["row"], "outcome": "skip"}).status_code == 200
        content = manager.get("/answers", params={"format": "parquet"}).content
        assert str(pq.read_table(io.BytesIO(content)).schema.field("label").type).startswith("list<")


@pytest.mark.slow
def test_the_table_of_answers_has_sets(papers):
    with client(papers) as http, client(papers, "manager") as manager:
        given = []
        for _ in range(4):
            (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
            given.append(truth(lease["row"]))
            http.post("/answers", json={"row": lease["row"], "label": given[-1]})
        (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
        http.post("/answers", json={"row": lease["row"], "label": []})
        (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
        http.post("/answers", json={"row": lease["row"], "outcome": "skip"})
        named = [[CLASSES[code] for code in codes] for codes in given]
        exact = manager.get("/answers", params={"format": "parquet"}).content
        assert pq.read_table(io.BytesIO(exact))["label"].to_pylist() == [*named, [], None]
        text = manager.get("/answers", params={"format": "csv"}).text
        rows = csv.DictReader(io.StringIO(text))
        assert [row["label"] for row in rows] == [*map(";".join, named), "", ""]


def test_an_answer_of_one_class_is_no_list(site):
    papers = site.papers(CLASSES)
    with client(papers) as http:
        (lease,) = http.post("/leases", json={"count": 1}).json()["leases"]
        refused = http.post("/answers", json={"row": lease["row"], "label": [1]})
        assert refused.status_code == 422 and "the number of a class, 0 to 2" in refused.json()["error"]
        assert "probabilities" not in lease["detail"]


def test_campaigns_of_sets_are_made_over_http(site):
    secret = site.server.gate.invite(None, "manager")[1]
    with httpx.Client(base_url=site.address, headers={"Authorization": f"Bearer {secret}"}) as http:
        made = http.post("/v1/campaigns", json={"data": "karate", "multilabel": True})
        assert made.status_code == 201 and made.json()["multilabel"] is True
        files = {"edges": ("e.csv", b"source,target\n1,2\n2,3\n3,4\n")}
        form = {"classes": "a,b", "multilabel": "true"}
        made = http.post("/v1/campaigns/files", files=files, data=form)
        assert made.status_code == 201 and made.json()["multilabel"] is True


@pytest.mark.slow
def test_a_client_answers_with_sets(papers):
    asking = connect(papers.link())
    assert asking.multilabel
    first = asking.question
    asking.answer({"Theory", "Agents"})
    asking.answer(set(), asking.question.node)
    assert asking.answers[first.node] == ("Agents", "Theory") and () in asking.answers.values()
    assert asking.question is not None
    with pytest.raises(InputError, match="none of the classes"):
        asking.answer({"Cats"})
    asking.run(lambda node: {CLASSES[code] for code in truth(node)})
    assert asking.asked == 20
    labels = asking.labels
    assert all(labels[node] == given for node, given in asking.answers.items())
    papers.campaign.learner.caught_up(papers.campaign.last, 20)


def test_a_nodes_answer_is_what_its_label_is(papers):
    """Also where a single answer is believed to be wrong."""
    own = papers.campaign
    views = papers.site.server.views(own.id)
    for _ in range(6):
        (question,), _ = own.lease("p1", 1)
        own.close_question("p1", question.row, "answer", truth(question.row))
    own.learner.caught_up(own.last, 20)
    opinions = own.asking.state.opinions
    row, at = next(iter(opinions.rows.items()))
    opinions.targets[at] = 1 - opinions.targets[at]
    believed = opinions.believed()[row]
    assert list(believed) != truth(row)
    assert views.listed([row])[0]["label"] == list(believed)
    assert views.labelling().labels[row] == tuple(CLASSES[code] for code in believed)


# -- in the browser ---------------------------------------------------------------------------------------


def saved(page):
    page.locator("#safe", has_text=re.compile("^All answers saved")).wait_for()


def row(page):
    return int(page.locator("#name").inner_text().removeprefix("Paper "))


def marked(page):
    return page.locator("#classes input:checked").count()


@pytest.mark.slow
def test_keys_mark_boxes_and_enter_sends_them(page, papers):
    group = page.get_by_role("group", name="Classes that it has")
    assert group.get_by_role("checkbox").count() == 3
    send = page.get_by_role("button", name=re.compile("^Send: "))
    first = row(page)
    page.keyboard.press("t")
    assert page.locator("#said").inner_text() == "Theory: marked"
    for key in "adD":
        page.keyboard.press(key)
    assert send.inner_text().startswith("Send: Agents; Theory") and papers.answers() == []
    page.keyboard.press("Enter")
    saved(page)
    assert papers.answers() == [(first, "answer", [0, 2])]
    assert page.locator("#said-saved").inner_text() == f"Saved: Paper {first}, Agents; Theory"

    # The next one has no mark, and none is an answer; taken back, it is as it was.
    second = row(page)
    assert marked(page) == 0 and send.inner_text().startswith("Send: none of these")
    page.keyboard.press("Enter")
    saved(page)
    assert papers.answers()[1:] == [(second, "answer", [])]
    for key in "uu":
        page.keyboard.press(key)
        saved(page)
    assert row(page) == first and marked(page) == 2

    # By hand, with focus that stays where it is; and while the network is away.
    page.get_by_role("checkbox", name="Agents").focus()
    page.keyboard.press("Space")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    page.get_by_role("checkbox", name="Databases").click()
    third = row(page)
    send.click()
    page.context.set_offline(False)
    saved(page)
    assert papers.answers()[-2:] == [(first, "answer", [2]), (third, "answer", [1])]
    assert page.locator("#past li").first.inner_text().startswith(f"Paper {third}: Databases")


@pytest.mark.slow
def test_a_guess_is_a_set_with_the_chance_of_each_class(page, papers):
    own = papers.campaign
    for question in own.lease("other", 5)[0]:
        own.close_question("other", question.row, "answer", truth(question.row))
    own.learner.caught_up(own.last, 20)
    for _ in range(3):  # questions that were there before were chosen before
        page.keyboard.press("Enter")
        saved(page)
        page.locator("#question").wait_for()
    chances = page.locator("#classes .chance").all_inner_texts()
    if page.locator("#kind").inner_text():  # a check shows no guess
        assert chances == ["", "", ""]
    else:
        assert all(re.fullmatch(r"\d+ %", text) for text in chances)
        assert page.locator("#guess").inner_text().startswith("Guess: ")


@pytest.mark.slow
def test_classes_that_outnumber_the_keys_are_found_and_marked(site, opened):
    papers = site.papers([f"topic {number:03}" for number in range(60)], multilabel=True)
    page = opened(papers.link())
    page.locator("#question").wait_for()
    page.locator("#find").fill("topic 04")
    page.keyboard.press("Enter")
    page.keyboard.type("031")
    page.keyboard.press("Enter")
    assert papers.answers() == []
    page.keyboard.press("Enter")
    saved(page)
    assert [code for _, _, code in papers.answers()] == [[31, 40]]


@pytest.mark.slow
def test_a_manager_decides_on_a_set(opened, papers):
    own = papers.campaign
    for person in ("p1", "p2", "p3"):
        rows = [question.row for question in own.lease(person, 2)[0]]
        for each in rows:
            own.give_back(person, each)
    for code, person in enumerate(("p1", "p2", "p3")):
        for each in rows:
            own.close_question(person, each, "answer", [code])
    own.learner.caught_up(own.last, 20)
    page = opened(papers.link("manager", "Grace"))
    page.locator("#fresh", has_text="Up to date").wait_for()
    first = page.locator("#doubts > li").first
    decided = int(first.get_attribute("data-row"))
    first.get_by_text("other classes").click()
    for name in ("Agents", "Theory"):
        first.get_by_role("checkbox", name=name).check()
    first.get_by_role("button", name="Decide").click()
    page.locator(f"#doubts > li[data-row='{decided}']").wait_for(state="detached")
    assert own.status.settled == {decided: (0, 2)}
