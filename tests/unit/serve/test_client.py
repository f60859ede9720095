"""`querist.connect` against a server in a process of its own, which is killed and comes back."""

import json
import os
import signal
import subprocess
import sys

import pytest

import querist
from querist.errors import InputError
from querist.serve.client import ServerError

TRUTH = dict(zip(*(lambda g: (g.nodes, g.labels))(querist.load_graph("messages")), strict=True))


def command(*arguments):
    return [sys.executable, "-m", "querist", *map(str, arguments)]


def started(store, port=0):
    """A server, and what it says first."""
    process = subprocess.Popen(
        command("serve", "messages", "--budget", 30, "--store", store, "--port", port, "--json"),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("}"):
            return process, json.loads("".join(lines))
    raise AssertionError(f"the server did not start: {lines}")


def token(store, *more):
    found = subprocess.run(
        command("campaign", "token", "--store", store, "--json", *more),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)["token"]


@pytest.fixture
def served(tmp_path):
    store = tmp_path / "team.db"
    process, said = started(store)
    yield store, said, process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_campaign_over_the_network_is_asked_and_answered_like_one_at_hand(served, tmp_path):
    store, said, process = served
    ann = querist.connect(said["address"], token(store, "--name", "Ann"))
    bob = querist.connect(said["address"], token(store, "--name", "Bob"), campaign="messages")
    assert ann.classes == bob.classes and set(ann.classes) == set(TRUTH.values())
    mine, theirs = ann.questions(3), bob.questions(2)
    assert len({question.node for question in (*mine, *theirs)}) == 5
    ann.answer(TRUTH[mine[1].node], mine[1].node)
    ann.comment("looks odd")
    about = ann.describe()
    assert about["node"] == mine[0].node and about["comments"][0]["text"] == "looks odd"
    assert {about["guess"], about["answer"]} <= {None, *ann.classes}
    near = ann.neighbours(mine[1].node)
    assert len(near) == ann.describe(mine[1].node)["degree"]
    assert all(mine[1].node in [node for node, _, _ in bob.neighbours(node)] for node, _, _ in near[:2])
    with pytest.raises(InputError, match="there is no node 'm999'"):
        ann.describe("m999")
    bob.skip()
    assert bob.undo() and {each.node for each in bob.questions(2)} == {each.node for each in theirs}
    bob.unsure(theirs[1].node)
    with pytest.raises(InputError, match="none of the classes"):
        ann.answer("no such class")
    with pytest.raises(InputError, match="no question about node 'm999'"):
        ann.answer(ann.classes[0], "m999")
    assert (ann.asked, ann.budget) == (1, 30)

    process.send_signal(signal.SIGKILL)
    process.wait()
    port = said["address"].rpartition(":")[2]
    again, _ = started(store, port)
    try:
        assert ann.answers == {mine[1].node: TRUTH[mine[1].node]}
        ann.run(TRUTH.get)
        bob.run(TRUTH.get)
        assert ann.asked == 30 and "budget" in ann.stopped
        assert all(TRUTH[node] == label for node, label in ann.answers.items())
        labels = ann.labels
        assert sum(a == b for a, b in zip(labels, TRUTH.values(), strict=True)) / len(labels) > 0.7
        ann.write(tmp_path / "labels.csv")
        assert len((tmp_path / "labels.csv").read_text().splitlines()) == 121
        manager = querist.connect(said["address"], token(store, "--role", "manager"))
        assert {each["name"] for each in manager.people} >= {"Ann", "Bob"}
        with pytest.raises(ServerError, match="takes a manager"):
            _ = ann.people
        came = manager.extend([("new", "m001"), ("new", "m002")], [{"id": "new"}, {"id": "alone"}])
        assert [each["node"] for each in came] == ["alone", "new"]
        assert came[1]["label"] in manager.classes and came[0]["label"] is None
    finally:
        again.terminate()
        assert again.wait(30) == 128 + signal.SIGTERM, "it finishes what is under way first"


@pytest.mark.slow
def test_what_is_no_link_is_refused_and_says_what_to_do(served):
    _, said, _ = served
    with pytest.raises(InputError, match="no address of a server"):
        querist.connect("campaign")
    with pytest.raises(InputError, match="there is no token"):
        querist.connect(said["address"])
    with pytest.raises(ServerError, match="unknown"):
        querist.connect(said["address"], "x" * 43)
    with pytest.raises(ServerError, match="works one time"):
        querist.connect(said["manager"])


def test_a_campaign_of_ask_opens_in_the_server_and_the_other_way_round(tmp_path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    graph = querist.load_graph("karate")
    S = graph.adjacency.tocoo()
    pairs = sorted({(min(i, j), max(i, j)) for i, j in zip(S.row.tolist(), S.col.tolist(), strict=True)})
    edges.write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in pairs))
    nodes.write_text("id,club\n" + "".join(f"n{i},x\n" for i in range(34)))
    codes = {f"n{i}": int(code) for i, code in enumerate(graph.codes)}
    journal = tmp_path / "edges.journal"
    begun = querist.asking.from_files(
        querist.labelling.GraphFiles(edges, nodes), classes=["0", "1"], journal=journal, budget=9
    ).asking
    for _ in range(3):
        begun.answer(str(codes[begun.question.node]))
    kept, waiting = begun.answers, begun.question.node
    begun.close()

    from querist.asking.store.sqlite import SqliteStore
    from querist.serve.opening import open_campaign

    files = querist.labelling.GraphFiles(edges, nodes)
    with SqliteStore(journal) as store:
        served = open_campaign(store, store.campaigns()[0].id, files=files)
        served.change("m", budget=9)
        (question,), _ = served.lease("ann")
        assert question.node == waiting, "the question that was open is the first"
        served.close_question("ann", question.row, "answer", codes[question.node])
        (question,), _ = served.lease("ann")
        served.close()
    on = querist.asking.from_files(files, journal=journal, budget=9).asking
    assert len(on.answers) == 4 and kept.items() <= on.answers.items()
    assert on.question.node == question.node
    on.run(lambda node: str(codes[node]))
    assert on.asked == 9
    on.close()
