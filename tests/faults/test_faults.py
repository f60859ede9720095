"""Servers that are killed at random moments, and clients that try again: what was acknowledged is in the log,
once; nobody is given what another person has.

QUERIST_FAULTS says how many kills there are on each store; `make faults` makes 200.
"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from querist.asking.store.sqlite import SqliteStore
from querist.serve.access import Gate
from querist.serve.opening import create, open_campaign
from querist.serve.stores import open_store

pytestmark = pytest.mark.long
KILLS = int(os.environ.get("QUERIST_FAULTS", "10"))
NODES = 400 + 12 * KILLS
"""Enough to ask about between two kills."""
MANY_NODES = 400 + 80 * KILLS
"""Enough where nothing but a connection breaks, and people go on at once."""


@pytest.fixture(scope="module")
def forking():
    """`forking(place, port)`: the id of a new server's process; `forking("kill", id)` ends one."""
    own = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forking.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    started = set()

    def start(place, port):
        own.stdin.write(f"{place} {port}\n")
        own.stdin.flush()
        id = int(own.stdout.readline())
        (started.discard if place == "kill" else started.add)(id)
        return id

    assert own.stdout.readline() == "ready\n"
    yield start
    for id in list(started):
        start("kill", id)
    own.kill()
    own.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return str(tmp_path / "store") if request.param == "sqlite" else request.getfixturevalue("new_database")()


@pytest.fixture
def begun(tmp_path):
    """`begun(place)`: the id of a campaign on a large circle, in a store that is closed."""
    edges = tmp_path / "edges.csv"

    def make(place, nodes=NODES):
        edges.write_text("source,target\n" + "".join(f"{k},{(k + 1) % nodes}\n" for k in range(nodes)))
        store = open_store(place)
        made = create(
            store, edges, classes=["a", "b"], budget=nodes, strategy="random", second_opinions=False
        )
        made.close()
        store.close()
        return made.id

    return make


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def invited(place, campaign, count):
    """(person, secret) of labellers."""
    store = open_store(place)
    found = [Gate(store).invite(campaign, "labeller") for _ in range(count)]
    store.close()
    return [(token.person, secret) for token, secret in found]


class Labeller(threading.Thread):
    """Leases and answers until it is told to stop; whatever is not acknowledged is sent again."""

    def __init__(self, ports, campaign, person, secret, seed):
        super().__init__(daemon=True)
        self.addresses = [f"http://127.0.0.1:{port}" for port in ports]
        self.path, self.person, self.random = f"/v1/campaigns/{campaign}", person, random.Random(seed)
        self.headers = {"Authorization": f"Bearer {secret}"}
        self.acknowledged, self.problems, self.ended = {}, [], threading.Event()
        self.sent = 0

    def run(self):
        with httpx.Client(headers=self.headers, timeout=20) as client:
            self.client = client
            while not self.ended.is_set():
                found = self.insisted("POST", "/leases", {"count": 2, "detail": False})
                for lease in found["leases"]:
                    self.sent += 1
                    body = {"row": lease["row"], "label": self.random.randrange(2)}
                    key = f"{self.person}-{self.sent}"
                    told = self.insisted("POST", "/answers", body, key)
                    self.acknowledged[key] = (body, told)
                if found["stopped"] and not found["leases"]:
                    return

    def insisted(self, method, path, body, key=None):
        """What the server said in the end."""
        more = {"Idempotency-Key": key} if key else {}
        for _ in range(3000):
            address = self.random.choice(self.addresses)
            with suppress(httpx.TransportError):
                told = self.client.request(method, f"{address}{self.path}{path}", json=body, headers=more)
                if told.status_code == 200:
                    return told.json()
                if told.status_code != 503:
                    self.problems.append((path, told.status_code, told.text))
                    self.ended.set()
                    raise SystemExit
            time.sleep(0.02)
        raise AssertionError(f"{path}: the server does not come back")


@contextmanager
def at_work(ports, campaign, people):
    """Labellers who work meanwhile."""
    own = [Labeller(ports, campaign, person, secret, seed) for seed, (person, secret) in enumerate(people)]
    for each in own:
        each.start()
    try:
        yield own
    finally:
        for each in own:
            each.ended.set()
        for each in own:
            each.join(60)
    assert [problem for each in own for problem in each.problems] == []


def busy(labellers, count):
    """Until so many more answers are acknowledged."""
    before = sum(len(each.acknowledged) for each in labellers)
    assert any(each.is_alive() for each in labellers), "nobody is at work any more"
    for _ in range(60_000):
        if sum(len(each.acknowledged) for each in labellers) >= before + count:
            return
        time.sleep(0.002)
    raise AssertionError("nobody gets on")


def wait_for(port):
    for _ in range(3000):
        with suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=20).status_code == 200:
                return
        time.sleep(0.02)
    raise AssertionError("the server does not start")


def judged(place, campaign, labellers):
    """The log is whole; every acknowledged answer is in it, exactly once; no question was two people's."""
    store = open_store(place)
    try:
        events = store.check(campaign)
        acknowledged = {key: each for own in labellers for key, each in own.acknowledged.items()}
        of_key = {key: own.person for own in labellers for key in own.acknowledged}
        answers = {event.seq: event.body for event in events if event.kind == "answer"}
        assert len({told["seq"] for _, told in acknowledged.values()}) == len(acknowledged)
        for key, (body, told) in acknowledged.items():
            kept = answers[told["seq"]]
            assert (kept["row"], kept["code"], kept["person"]) == (body["row"], body["label"], of_key[key])
            assert json.loads(store.reply(campaign, f"{of_key[key]} {key}").body) == told
        # Everybody insisted until they were told: there is no answer that nobody knows of.
        assert len(answers) == len(acknowledged)
        holder = {}
        for event in events:
            row, who = event.body.get("row"), event.body.get("person")
            if event.kind == "question":
                assert row not in holder
                holder[row] = who
            elif event.kind == "lease":
                assert holder[row] is None
                holder[row] = who
            elif event.kind in ("expire", "release"):
                assert holder[row] == who
                holder[row] = None
            elif event.kind in ("answer", "skip", "unsure"):
                del holder[row]
        return events
    finally:
        store.close()


def test_what_was_acknowledged_survives_kills(place, begun, forking):
    campaign = begun(place)
    port, moments = free_port(), random.Random(KILLS)
    server = forking(place, port)
    wait_for(port)
    with at_work([port], campaign, invited(place, campaign, 4)) as labellers:
        for _ in range(KILLS):
            busy(labellers, moments.randrange(12))
            time.sleep(moments.uniform(0.0, 0.01))
            forking("kill", server)
            server = forking(place, port)
        busy(labellers, 8)
    judged(place, campaign, labellers)
    forking("kill", server)


def test_a_connection_to_postgresql_may_break_at_any_moment(new_database, begun, forking, postgres_server):
    import psycopg

    place = new_database()
    id = begun(place, MANY_NODES)
    port, moments = free_port(), random.Random(KILLS)
    server = forking(place, port)
    wait_for(port)
    with at_work([port], id, invited(place, id, 4)) as labellers:
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            for _ in range(2 * KILLS):
                time.sleep(moments.uniform(0.0, 0.1))
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname LIKE 'test_%%' AND pid <> pg_backend_pid()"
                )
                busy(labellers, moments.randrange(5))
        busy(labellers, 8)
    judged(place, id, labellers)
    forking("kill", server)


def test_two_servers_and_sixteen_people_on_one_postgresql(new_database, begun, forking):
    place = new_database()
    id = begun(place)
    ports = [free_port(), free_port()]
    servers = [forking(place, port) for port in ports]
    for port in ports:
        wait_for(port)
    with at_work(ports, id, invited(place, id, 16)) as labellers:
        busy(labellers, 150)
    events = judged(place, id, labellers)
    assert all(each.acknowledged for each in labellers)
    for server in servers:
        forking("kill", server)
    assert len(events) > 300


def test_every_post_twice_reordered_across_a_restart(place, begun, forking):
    campaign = begun(place)
    port, chance = free_port(), random.Random(KILLS)
    server = forking(place, port)
    wait_for(port)
    ((_, secret),) = invited(place, campaign, 1)
    address = f"http://127.0.0.1:{port}/v1/campaigns/{campaign}"
    told = {}
    with httpx.Client(headers={"Authorization": f"Bearer {secret}"}, timeout=20) as client:

        def send(key, body):
            answer = client.post(f"{address}/answers", json=body, headers={"Idempotency-Key": key})
            assert answer.status_code == 200, answer.text
            assert told.setdefault(key, answer.json()) == answer.json()

        for turn in range(4):
            leases = client.post(f"{address}/leases", json={"count": 5, "detail": False}).json()["leases"]
            posts = [
                (f"{turn}-{lease['row']}", {"row": lease["row"], "label": chance.randrange(2)})
                for lease in leases
            ]
            every = posts * 2
            chance.shuffle(every)
            for at, post in enumerate(every):
                if at == len(every) // 2:
                    forking("kill", server)
                    server = forking(place, port)
                    wait_for(port)
                send(*post)
            for key, body in posts:
                send(key, body)
    store = open_store(place)
    answers = [event for event in store.check(campaign) if event.kind == "answer"]
    found = {event.seq: event.body["row"] for event in answers}
    assert found == {each["seq"]: each["row"] for each in told.values()}
    assert len(found) == len(told) == 20
    store.close()
    forking("kill", server)


def test_a_backup_under_load_restores(tmp_path, begun, forking):
    place = str(tmp_path / "store")
    id = begun(place)
    port = free_port()
    server = forking(place, port)
    wait_for(port)
    copies = []
    with at_work([port], id, invited(place, id, 4)) as labellers:
        for number in range(3):
            time.sleep(0.3)
            store = SqliteStore(place)
            before = store.last(id)
            store.backup(tmp_path / f"copy{number}")
            copies.append((tmp_path / f"copy{number}", before))
            store.close()
    forking("kill", server)
    events = judged(place, id, labellers)
    for path, before in copies:
        store = SqliteStore(path)
        found = store.check(id)
        assert before <= len(found)
        assert found == events[: len(found)]
        restored = open_campaign(store, id)
        assert restored.lease("somebody")[0]
        restored.close()
        store.close()
