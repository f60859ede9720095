"""What a server takes from strangers: bodies, requests that do not arrive, names of files."""

import json
import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection

import httpx
import numpy as np
import pytest

from querist import InputError
from querist.asking.store.sqlite import SqliteStore
from querist.serve.bodies import Limits
from querist.serve.opening import create, open_campaign
from querist.serve.running import address_of, bound, run
from querist.serve.server import CampaignServer
from querist.serve.views import CampaignViews

JSON = {"Content-Type": "application/json"}


class Served:
    """A server as `querist serve` runs it, with one campaign."""

    def __init__(self, address, server, campaign):
        self.address, self.server, self.campaign = address, server, campaign
        self.port = int(address.rpartition(":")[2])
        self.path = f"/v1/campaigns/{campaign.id}"

    def token(self, role=None):
        """The token of a role in the campaign, or of the manager of the server."""
        gate = self.server.gate
        return gate.invite(role and self.campaign.id, role or "manager")[1]

    def client(self, role=None):
        headers = {"Authorization": f"Bearer {self.token(role)}", **JSON}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60)

    def connection(self):
        return socket.create_connection(("127.0.0.1", self.port), 20)

    def head(self, path, *headers, role="labeller"):
        lines = [f"POST {self.path}{path} HTTP/1.1", "Host: x", "Content-Type: application/json", *headers]
        lines += [f"Authorization: Bearer {self.token(role)}"] if role else []
        return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    import uvicorn

    store = SqliteStore(tmp_path_factory.mktemp("served") / "store")
    server, made, plain = CampaignServer(store), [], uvicorn.Server
    campaign = create(store, "karate", budget=30, second_opinions=False)
    server.add(campaign)
    with pytest.MonkeyPatch.context() as patch, bound("127.0.0.1", 0) as where:
        patch.setattr(uvicorn, "Server", lambda config: made.append(plain(config)) or made[0])
        thread = threading.Thread(target=run, args=(server, where), kwargs={"log": False})
        thread.start()
        yield Served(address_of(where), server, campaign)
        made[0].should_exit = True
        thread.join()


def end_of(connection):
    """What comes before the server closes the connection; it is an error that it stays open."""
    found = b""
    while piece := connection.recv(4096):
        found += piece
    return found


# -- bodies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        (None, "/answers", 401),
        (None, "/arrivals", 401),
        ("labeller", "/arrivals", 403),
        ("labeller", "/answers", 413),
        ("manager", "/arrivals", 413),
    ],
)
def test_no_body_is_read_that_nobody_may_send(served, role, path, status):
    with served.connection() as connection:
        connection.settimeout(5)
        connection.sendall(served.head(path, "Content-Length: 99999999999", role=role))
        assert connection.recv(20).startswith(b"HTTP/1.1 %d" % status)


def test_bodies_are_limited_by_route(served):
    padding = " " * (2 * Limits().body)
    with served.client("manager") as manager:
        small = manager.post(f"{served.path}/comments", content=f'{{"row": 0,{padding}"text": "x"}}')
        assert small.status_code == 413
        assert f"{Limits().body:,} bytes" in small.json()["error"]
        large = manager.post(f"{served.path}/arrivals", content=f'{{"edges": [{padding}]}}')
        assert large.status_code == 200
        longest = json.dumps({"row": 0, "text": "\U0001f600" * 10_000})
        assert manager.post(f"{served.path}/comments", content=longest).status_code == 200


HOSTILE = {
    "unknown fields": ("/answers", json.dumps({f"k{k}": 0 for k in range(15_000)}), 422, "'k0'"),
    "no objects": ("/arrivals", json.dumps({"nodes": [[]] * 5000}), 422, "number 0"),
    "no values": ("/arrivals", json.dumps({"nodes": [{"id": []}] * 5000}), 422, "number 0 has []"),
    "no edges": ("/arrivals", json.dumps({"edges": [[[], [], []]] * 5000}), 422, "number 0 has []"),
    "one long edge": ("/arrivals", json.dumps({"edges": [[[]] * 50_000]}), 422, "number 0"),
    "many columns": ("/arrivals", json.dumps({"nodes": [{str(k): 1 for k in range(2000)}]}), 422, "1,000"),
    "many values": ("/arrivals", '{"edges": [' + "[]," * 300_000 + "[]]}", 413, "commas"),
    "many classes": ("/verdicts", json.dumps({"row": 0, "label": ["x"] * 999}), 422, "more"),
    "long name of a field": ("/answers", json.dumps({"k" * 150_000: 0}), 422, "kkk"),
    "a long list": ("/answers", json.dumps([0] * 60_000), 422, "object"),
    "no JSON type": ("/answers", "x" * 100_000, 422, "object"),
    "deep": ("/answers", "[" * 150_000, 422, "JSON"),
    "a huge number": ("/answers", '{"row": ' + "9" * 150_000 + "}", 422, "digits"),
    "half a character": ("/answers", b'{"row": "\xff"}', 422, "JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_refused_in_a_few_words(served, name):
    path, content, status, word = HOSTILE[name]
    headers = {"Content-Type": "text/plain" if name == "no JSON type" else "application/json"}
    with served.client("manager") as manager:
        found = manager.post(served.path + path, content=content, headers=headers)
    assert found.status_code == status
    assert len(found.content) < 3000
    assert word in found.json()["error"]


@pytest.mark.parametrize("value", [True, None, 2**53 + 1, 1e400, float("nan"), "\ud800", {}])
def test_a_value_of_an_edge_is_text_or_a_number(served, value):
    with served.client("manager") as manager:
        content = json.dumps({"edges": [["a", value]]})
        assert manager.post(f"{served.path}/arrivals", content=content).status_code in (400, 422)


def test_large_bodies_are_parsed_away_from_the_event_loop(served, monkeypatch):
    plain, threads = json.loads, {}

    def loads(text, *args, **options):
        threads[len(text)] = threading.current_thread().name
        return plain(text, *args, **options)

    monkeypatch.setattr(json, "loads", loads)
    sizes = []
    with served.client("manager") as manager:
        for padding in (10, 150_000):
            content = b'{"edges": [' + b" " * padding + b"]}"
            sizes.append(len(content))
            manager.post(f"{served.path}/arrivals", content=content)
    assert threads[sizes[0]] != threads[sizes[1]]


def test_others_have_their_turn_while_one_connection_is_read(served, monkeypatch):
    """A body in chunks of one byte takes a second to parse for every hundred thousand bytes."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    plain, sizes = H11Protocol.data_received, []

    def data_received(protocol, data):
        sizes.append(len(data))
        plain(protocol, data)

    monkeypatch.setattr(H11Protocol, "data_received", data_received)
    with served.connection() as connection:
        connection.sendall(served.head("/answers", "Transfer-Encoding: chunked", role=None))
        connection.sendall(b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n")
        assert connection.recv(20).startswith(b"HTTP/1.1 401")
    assert max(sizes) <= 20_000


# -- requests that do not arrive ---------------------------------------------------------------------------


@pytest.fixture
def impatient(served, monkeypatch):
    monkeypatch.setattr("querist.serve.running.ARRIVAL_SECONDS", 1.0, raising=False)
    monkeypatch.setattr("querist.serve.running.BYTES_PER_SECOND", 200, raising=False)
    return served


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nA: "])
def test_headers_that_do_not_arrive_end_the_connection(impatient, sent):
    with impatient.connection() as connection:
        connection.sendall(sent)
        assert end_of(connection) == b""


@pytest.mark.slow
def test_a_body_that_does_not_arrive_ends_the_connection(impatient):
    with impatient.connection() as connection:
        connection.sendall(impatient.head("/comments", "Content-Length: 100") + b'{"row": 0,')
        assert end_of(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_a_body_that_drips_ends_the_connection(impatient):
    sent = []
    with impatient.connection() as connection, suppress(ConnectionError):
        connection.sendall(impatient.head("/comments", "Content-Length: 10000"))
        while len(sent) < 100:
            connection.sendall(b" ")
            sent.append(threading.Event().wait(0.1))
    assert len(sent) < 100


GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = b"POST /v1/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("first", [GET, REFUSED], ids=["answered", "refused"])
def test_what_follows_an_answer_must_arrive_too(impatient, first):
    with impatient.connection() as connection:
        connection.sendall(first)
        assert connection.recv(4096)
        connection.sendall(b"x")
        end_of(connection)


@pytest.mark.slow
def test_what_was_sent_before_an_answer_must_arrive_too(impatient):
    with impatient.connection() as connection:
        connection.sendall(GET + impatient.head("/comments", "Content-Length: 100") + b"{")
        assert b" 408 " in end_of(connection)


@pytest.mark.slow
def test_a_slow_body_that_keeps_arriving_is_taken(impatient):
    """For longer than a request may keep the server waiting."""
    content = json.dumps({"row": 0, "text": "x" * 1000}).encode()
    with impatient.connection() as connection:
        connection.sendall(impatient.head("/comments", f"Content-Length: {len(content)}"))
        for start in range(0, len(content), 50):
            connection.sendall(content[start : start + 50])
            threading.Event().wait(0.1)
        assert connection.recv(20).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_whoever_waits_for_the_server_may_wait(impatient, monkeypatch):
    monkeypatch.setattr(CampaignViews, "people", lambda views: [{"late": threading.Event().wait(1.5)}])
    with impatient.client("manager") as manager:
        assert manager.get(f"{impatient.path}/people").json() == [{"late": False}]
    connection = HTTPConnection("127.0.0.1", impatient.port, timeout=20)
    connection.connect()
    connection.auto_open = 0
    for _ in range(2):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
        threading.Event().wait(1.5)
    connection.close()


# -- names of data sets ------------------------------------------------------------------------------------


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The working directory of the server with a secret, its data sets, and a file elsewhere."""
    places = [tmp_path / name for name in ("work", "sets", "elsewhere")]
    for place in places:
        place.mkdir()
    work, sets, elsewhere = places
    (work / "id_rsa").write_text("source,target\nSECRET,b\nb,c\n")
    (work / "own").write_text("source,target\nSECRET,b\nb,c\n")
    for place in (sets / "own.npz", elsewhere / "linked.npz"):
        np.savez(place, edges=np.array([[0, 1], [1, 2], [2, 3]]))
    (sets / "linked.npz").symlink_to(elsewhere / "linked.npz")
    monkeypatch.chdir(work)
    monkeypatch.setenv("QUERIST_DATA", str(sets))
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("name", ["id_rsa", "linked", "none", "../work/id_rsa", "/etc/passwd", "id_rsa.npz"])
def test_a_request_names_no_file(served, folders, name):
    before = served.server.store.campaigns()
    with served.client() as manager:
        found = manager.post("/v1/campaigns", json={"data": name, "classes": ["a", "b"]})
    assert found.status_code in (400, 422)
    assert "SECRET" not in found.text
    if found.status_code == 400:
        said = found.json()["error"]
        assert "karate" in said and "own" in said and "QUERIST_DATA" in said
        assert "linked," not in said
    assert served.server.store.campaigns() == before


def test_a_request_names_what_is_in_the_folder_of_data_sets(served, folders):
    with served.client() as manager:
        made = manager.post("/v1/campaigns", json={"data": "own", "classes": ["a", "b"]})
        assert made.status_code == 201, made.text
        nodes = manager.get(f"/v1/campaigns/{made.json()['id']}/nodes").json()["nodes"]
    assert [each["node"] for each in nodes] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["{}/written", "../written", "edges/../../written", "..", "written"])
def test_a_store_of_a_stranger_writes_no_file(tmp_path, name):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    store = SqliteStore(tmp_path / "store")
    made = create(store, tmp_path / "edges.csv", classes=["x", "y"], budget=3)
    made.close()
    store.keep_source(made.id, name.format(tmp_path), b"harm")
    with pytest.raises(InputError, match="do not use it"):
        open_campaign(store, made.id)
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("own", ["/etc/passwd", "../edges.csv", 3, ["karate"]])
def test_a_store_of_a_stranger_reads_no_file(tmp_path, own):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    store = SqliteStore(tmp_path / "store")
    made = create(store, tmp_path / "edges.csv", classes=["x", "y"], budget=3)
    made.close()
    options = json.loads(store.sources(made.id)["options.json"])
    store.keep_source(made.id, "options.json", json.dumps({**options, "data": own}).encode())
    with pytest.raises(InputError, match=r"data = .*restore a backup"):
        open_campaign(store, made.id)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "Expecting property name"),
        ("[]", "unknown option 'options'"),
        ('{"edges": "/etc/passwd"}', "unknown option 'edges'"),
        ('{"source": 3}', "source = 3; it must be a text or none"),
        ('{"parallel": "min"}', "parallel = 'min'"),
        ('{"name_column": ["name"]}', "name_column = "),
    ],
)
def test_options_that_a_store_keeps_are_checked(tmp_path, content, what):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    store = SqliteStore(tmp_path / "store")
    made = create(store, tmp_path / "edges.csv", classes=["x", "y"], budget=3)
    made.close()
    store.keep_source(made.id, "options.json", content.encode())
    with pytest.raises(InputError, match=r"options\.json, which the store keeps, is damaged") as problem:
        open_campaign(store, made.id)
    assert what in str(problem.value)


# -- what anybody may see ----------------------------------------------------------------------------------


def test_nobody_learns_the_ids_of_campaigns(served, monkeypatch):
    found = httpx.get(f"{served.address}/metrics")
    assert found.status_code == 200
    assert "querist_events " in found.text and "querist_events_behind 0" in found.text
    assert served.campaign.id not in found.text
    monkeypatch.setattr(served.campaign.learner, "failed", RuntimeError("lost"))
    health = httpx.get(f"{served.address}/healthz")
    assert health.status_code == 503
    assert "1 campaign" in health.json()["error"]
    assert served.campaign.id not in health.text
