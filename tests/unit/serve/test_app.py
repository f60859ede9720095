"""The server over HTTP: who may do what, what is refused, what comes back exactly as it was given."""

import asyncio
import gzip
import io
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from querist.asking.store.sqlite import SqliteStore
from querist.errors import InputError
from querist.labelling.reading import GraphFiles
from querist.serve.access import COOKIE, CSRF_COOKIE, DAY, LOOKED_UP, Gate
from querist.serve.app import make_app
from querist.serve.bodies import Limits
from querist.serve.opening import create, open_campaign
from querist.serve.running import bound
from querist.serve.server import CampaignServer, arrive
from querist.serve.writing import RefusedError

LIMITS = Limits(bytes=200_000, memory=14_000_000, body=400_000)
ROLES = ("reader", "labeller", "manager")


class House:
    """A server with one campaign, and clients for everybody."""

    def __init__(self, address, server, campaign):
        self.address, self.server, self.campaign = address, server, campaign
        self.path = f"/v1/campaigns/{campaign.id}"
        self.clients = []

    def client(self, **options):
        self.clients.append(httpx.Client(base_url=self.address, timeout=60, **options))
        return self.clients[-1]

    def invited(self, role, **options):
        """A client with a token of this role."""
        token, secret = self.server.gate.invite(self.campaign.id, role, **options)
        found = self.client(headers={"Authorization": f"Bearer {secret}"})
        found.token, found.person = token, token.person
        return found

    def everywhere(self):
        """A client of the server's own manager."""
        secret = self.server.gate.invite(None, "manager")[1]
        return self.client(headers={"Authorization": f"Bearer {secret}"})

    def browser(self, role="labeller"):
        """A client with a cookie, as a link gives it."""
        _, secret = self.server.gate.invite(self.campaign.id, role)
        found = self.client()
        entered = found.get("/enter", params={"token": secret})
        assert entered.status_code == 200
        return found


@pytest.fixture(scope="module")
def house(tmp_path_factory, serving):
    store = SqliteStore(tmp_path_factory.mktemp("house") / "store")
    server = CampaignServer(store)
    campaign = create(store, "karate", budget=30, second_opinions=False)
    server.add(campaign)
    with serving(make_app(server, LIMITS)) as address:
        found = House(address, server, campaign)
        yield found
        for client in found.clients:
            client.close()


def said(response):
    """What an error says."""
    return response.json()["error"]


# -- who may do what ---------------------------------------------------------------------------------------

TAKES = {
    ("GET", ""): "reader",
    ("GET", "/nodes"): "reader",
    ("GET", "/nodes/0"): "reader",
    ("GET", "/map"): "reader",
    ("GET", "/doubts"): "reader",
    ("POST", "/leases"): "labeller",
    ("POST", "/comments"): "labeller",
    ("POST", "/answers"): "labeller",
    ("POST", "/undo"): "labeller",
    ("POST", "/leases/0/beat"): "labeller",
    ("DELETE", "/leases/0"): "labeller",
    ("PATCH", ""): "manager",
    ("POST", "/verdicts"): "manager",
    ("POST", "/arrivals"): "manager",
    ("GET", "/people"): "manager",
    ("GET", "/answers"): "manager",
    ("GET", "/events"): "manager",
    ("GET", "/tokens"): "manager",
    ("POST", "/tokens"): "manager",
    ("DELETE", "/tokens/none"): "manager",
    ("DELETE", "/people/none/name"): "manager",
}
BODIES = {"/leases": {}, "/comments": {"row": 0, "text": "x"}, "/answers": {"row": 0, "label": 0},
          "/verdicts": {"row": 0, "label": 0}, "": {"paused": False}, "/tokens": {},
          "/arrivals": {}}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), TAKES)
def test_a_role_may_do_what_it_takes_and_no_more(house, method, path):
    body = BODIES.get(path) if method in ("POST", "PATCH") else None
    for role in ROLES:
        response = house.invited(role).request(method, house.path + path, json=body)
        if ROLES.index(role) < ROLES.index(TAKES[method, path]):
            assert response.status_code == 403, role
            assert TAKES[method, path] in said(response)
        else:
            assert response.status_code not in (401, 403)
            assert response.status_code < 500
    assert house.client().request(method, house.path + path, json=body).status_code == 401


def test_a_token_is_for_one_campaign(house):
    other = create(house.server.store, "karate", budget=3)
    house.server.add(other)
    inside = house.invited("manager")
    assert inside.get(f"/v1/campaigns/{other.id}").status_code == 403
    assert [each["id"] for each in inside.get("/v1/campaigns").json()] == [house.campaign.id]
    assert inside.post("/v1/campaigns", json={"data": "karate"}).status_code == 403
    everywhere = house.everywhere()
    assert len(everywhere.get("/v1/campaigns").json()) >= 2
    assert everywhere.get("/v1/campaigns/none").status_code == 404


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer none", "Basic eDp5", "bearer \u00ff"])
def test_what_is_no_token_opens_nothing(house, header):
    response = house.client().get("/v1/campaigns", headers={"Authorization": header.encode("latin-1")})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_ends(house):
    manager, labeller = house.invited("manager"), house.invited("labeller")
    assert labeller.get(house.path).status_code == 200
    assert manager.delete(f"{house.path}/tokens/{labeller.token.id}").status_code == 204
    assert labeller.get(house.path).status_code == 401
    assert manager.delete(f"{house.path}/tokens/{labeller.token.id}").status_code == 204
    assert manager.delete(f"{house.path}/tokens/none").status_code == 404
    (shown,) = [t for t in manager.get(f"{house.path}/tokens").json() if t["id"] == labeller.token.id]
    assert shown["revoked"] is not None


def test_a_token_expires():
    now = [1000.0]
    gate = Gate(SqliteStore(None), clock=lambda: now[0])
    _, secret = gate.invite("c", "labeller", days=1)
    assert gate.entered(secret).role == "labeller"
    now[0] += DAY
    with pytest.raises(RefusedError, match="has ended") as refusal:
        gate.entered(secret)
    assert refusal.value.status == 401


def test_a_token_that_another_server_revoked_ends_soon():
    now = [1000.0]
    store = SqliteStore(None)
    one, two = (Gate(store, clock=lambda: now[0]) for _ in range(2))
    token, secret = one.invite("c", "labeller")
    assert two.entered(secret)
    one.revoke("c", token.id)
    now[0] += LOOKED_UP
    with pytest.raises(RefusedError, match="has ended"):
        two.entered(secret)


def test_the_store_has_no_secret(house, tmp_path):
    manager = house.invited("manager")
    made = manager.post(f"{house.path}/tokens", json={"role": "reader", "name": "Ann"}).json()
    house.server.store.backup(tmp_path / "copy")
    content = (tmp_path / "copy").read_bytes()
    assert made["person"].encode() in content
    assert made["token"].encode() not in content
    assert made["link"].endswith(made["token"])
    assert len(made["token"]) * 6 >= 256


@pytest.mark.slow
def test_a_one_time_link_makes_one_manager(house):
    """However many open it at once."""
    for _ in range(5):
        _, secret = house.server.gate.invite(None, "manager", once=True)
        alone = threading.Barrier(8)

        def enter(secret=secret, alone=alone):
            with httpx.Client(base_url=house.address) as client:
                alone.wait()
                return client.get("/enter", params={"token": secret}), client.get("/v1/campaigns")

        with ThreadPoolExecutor(8) as pool:
            found = [each.result() for each in [pool.submit(enter) for _ in range(8)]]
        assert sorted(entered.status_code for entered, _ in found) == [200] + 7 * [401]
        assert sorted(listed.status_code for _, listed in found) == [200] + 7 * [401]
    for headers in ({"Authorization": f"Bearer {secret}"}, {"Cookie": f"{COOKIE}={secret}"}):
        assert house.client().get("/v1/campaigns", headers=headers).status_code == 401


def test_a_one_time_link_is_no_token(house):
    _, secret = house.server.gate.invite(None, "manager", once=True)
    for headers in ({"Authorization": f"Bearer {secret}"}, {"Cookie": f"{COOKIE}={secret}"}):
        assert house.client().get("/v1/campaigns", headers=headers).status_code == 401
    assert house.client().get("/enter", params={"token": secret}).status_code == 200


def test_a_cookie_needs_its_csrf_token_and_the_same_origin(house):
    browser = house.browser()
    csrf = browser.cookies[CSRF_COOKIE]
    assert browser.cookies[COOKIE] != csrf
    path, body = f"{house.path}/comments", {"row": 0, "text": "x"}
    assert browser.post(path, json=body).status_code == 403
    assert browser.post(path, json=body, headers={"X-Querist-CSRF": "0" * 64}).status_code == 403
    assert (
        browser.post(path, json=body, headers={"X-Querist-CSRF": "\u00e9".encode("latin-1")}).status_code
        == 403
    )
    own = {"X-Querist-CSRF": csrf}
    for origin in ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "nonsense:"):
        response = browser.post(path, json=body, headers={**own, "Origin": origin})
        assert response.status_code == 403, origin
        assert "another site" in said(response)
    assert browser.post(path, json=body, headers={**own, "Origin": house.address}).status_code == 200
    assert browser.post(path, json=body, headers=own).status_code == 200


@pytest.mark.slow
def test_cookies_and_headers_are_strict(house):
    _, secret = house.server.gate.invite(house.campaign.id, "labeller")
    entered = house.client().get("/enter", params={"token": secret})
    for cookie in entered.headers.get_list("set-cookie"):
        assert "samesite=strict" in cookie.lower()
        assert ("httponly" in cookie.lower()) == cookie.startswith(f"{COOKIE}=")
    client = house.browser()
    for path in ("/", "/healthz", "/metrics", f"/c/{house.campaign.id}/label", "/static/labeller.js", "/none",
                 "/v1/campaigns", house.path, "/v1/openapi.json", f"{house.path}/nodes/99999"):  # fmt: skip
        headers = client.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] in ("no-store", "no-cache")


# -- what is too large, or not what it says ----------------------------------------------------------------


def upload(client, name, content, **more):
    return client.post(
        "/v1/campaigns/files", files={"edges": (name, content)}, data={"classes": "a,b", **more}
    )


EDGES = b"source,target\n" + b"".join(b"%d,%d\n" % (k, (k * 7 + 1) % 40) for k in range(40))


def test_a_campaign_is_made_from_files(house):
    manager = house.everywhere()
    made = upload(manager, "pets.csv", EDGES, budget=5).json()
    assert (made["name"], made["classes"], made["budget"]) == ("pets", ["a", "b"], 5)
    lease = manager.post(f"/v1/campaigns/{made['id']}/leases", json={}).json()["leases"][0]
    assert lease["detail"]["drawing"]["nodes"]
    packed = upload(manager, "pets.csv.gz", gzip.compress(EDGES))
    assert packed.status_code == 201
    again = open_campaign(house.server.store, made["id"])
    assert again.status.options.budget == 5
    again.close()


def test_campaigns_work_on_the_device_of_their_server(house, monkeypatch):
    manager = house.everywhere()
    monkeypatch.setattr(house.server, "device", "auto")
    made = [
        upload(manager, "pets.csv", EDGES),
        manager.post("/v1/campaigns", json={"data": "karate", "classes": ["a", "b"]}),
    ]
    for each in made:
        asking = house.server.views(each.json()["id"]).campaign.asking
        assert asking.device == "auto" and len(asking.places) == 1
    other = CampaignServer(SqliteStore(house.server.store.place), device="auto")
    assert other.views(made[0].json()["id"]).campaign.asking.device == "auto"
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["files", "set"])
def test_what_is_said_of_a_new_campaign_holds(house, way):
    said = {"audit": 3, "overlap": 1, "second_opinions": False, "strategy": "random", "find": "b"}
    manager = house.everywhere()
    if way == "files":
        made = upload(manager, "pets.csv", EDGES, stop=0.25, **said)
    else:
        made = manager.post(
            "/v1/campaigns", json={"data": "karate", "classes": ["a", "b"], "stop": 0.25, **said}
        )
    spec = house.server.views(made.json()["id"]).campaign.asking.specification
    assert {name: getattr(spec, name) for name in said} == said
    assert made.json()["options"]["stop"] == 0.25
    place = f"/v1/campaigns/{made.json()['id']}"
    assert manager.patch(place, json={"stop": 0.5}).json()["options"]["stop"] == 0.5
    assert manager.patch(place, json={"paused": False}).json()["options"]["stop"] == 0.5
    assert manager.patch(place, json={"stop": 0}).json()["options"]["stop"] == 0
    assert manager.patch(place, json={"stop": None}).json()["options"]["stop"] is None
    assert manager.patch(place, json={"unanswered": 3, "budget": 7}).json()["options"]["unanswered"] == 3
    assert manager.patch(place, json={"seed": 3}).status_code == 422
    assert manager.patch(place, json={"stop": 2}).status_code == 422


def test_nobody_is_told_of_the_campaign_that_another_makes(house):
    first, second = house.everywhere(), house.everywhere()
    person = house.server.store.tokens(None)[-1].person
    with house.server.making(person) as show:
        show(0.5, "embedding")
        said = {client.get("/v1/campaigns/files").json()["text"] for client in (first, second)}
    assert said == {None, "embedding"}
    assert second.get("/v1/campaigns/files").json() == {"fraction": None, "text": None}


def long_names(rows, length):
    """A table of parquet whose many rows name one long text, which its footer does not count."""
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a" * length]))
    file = io.BytesIO()
    pq.write_table(pa.table({"source": names, "target": names}), file, compression="zstd", store_schema=False)
    return file.getvalue()


def saved(**arrays):
    """An archive of arrays."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("big.csv", b"1,2\n" * 60_000, 413),
        ("bomb.csv.gz", gzip.compress(b"1,2\n" * 5_000_000), 413),
        ("lines.csv.gz", gzip.compress(b"1,2\n" + b"\n" * 60_000), 413),
        ("odd.exe", b"1,2\n", 422),
        ("odd", b"1,2\n", 422),
        ("names.parquet", long_names(20_000, 10_000), 413),
        ("pairs.npz", saved(edges=np.zeros((5_000_000, 2), np.int8)), 413),
        ("cut.csv.gz", gzip.compress(b"1,2\n" * 500)[:20], 400),
        ("no.csv.gz", b"1,2\n" * 50, 400),
        ("no.npz", b"1,2\n" * 50, 400),
        ("no.parquet", b"1,2\n" * 50, 400),
        ("../../etc/x.csv", b"", 400),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_uploads_are_held_to_limits(house, name, content, status):
    before = house.server.store.campaigns()
    response = upload(house.everywhere(), name, content)
    assert response.status_code == status, response.text
    assert said(response)
    assert house.server.store.campaigns() == before


def test_no_more_of_a_request_is_taken_than_may_be(house):
    manager = house.invited("manager")
    big = json.dumps({"row": 0, "text": "x" * 500_000})
    response = manager.post(
        f"{house.path}/comments", content=big, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 413

    def pieces():
        for _ in range(50):
            yield b" " * 10_000

    response = manager.post(
        f"{house.path}/comments", content=pieces(), headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 413
    assert "400,000 bytes" in said(response)


def test_files_of_strangers_are_not_taken(house):
    """Whoever may not make a campaign is told so before their files are read."""
    secrets = ["none", *(house.server.gate.invite(house.campaign.id, role)[1] for role in ROLES)]
    port = int(house.address.rpartition(":")[2])
    for secret in secrets:
        head = (
            f"POST /v1/campaigns/files HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {secret}\r\nContent-Length: 9999\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", port), 20) as connection:
            connection.sendall(head.encode())
            answer = connection.recv(20).decode()
        assert answer.startswith(f"HTTP/1.1 {401 if secret == 'none' else 403}")


def test_a_campaign_that_cannot_be_made_leaves_nothing(house):
    before = house.server.store.campaigns()
    manager = house.everywhere()
    for body in ({"data": "none"}, {"data": "karate", "audit": 500}, {"data": "karate", "classes": ["a"]},
                 {"data": "karate", "classes": ["a", "a"]}):  # fmt: skip
        assert manager.post("/v1/campaigns", json=body).status_code == 400
    labels = {"labels": ("labels.csv", b"node,label\n1,zebra\n"), "edges": ("e.csv", EDGES)}
    made = manager.post("/v1/campaigns/files", files=labels, data={"classes": "a,b"})
    assert made.status_code == 400
    assert house.server.store.campaigns() == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/answers", {"row": True, "label": 0}),
        ("/answers", {"row": 1.5, "label": 0}),
        ("/answers", {"row": 0, "label": 0, "person": "somebody else"}),
        ("/answers", {"row": 0, "outcome": "maybe"}),
        ("/leases", {"count": 0}),
        ("/leases", {"count": 6}),
        ("/leases", {"count": "2"}),
        ("/comments", {"row": 0, "text": ""}),
        ("/comments", {"row": 0, "text": "\ud800"}),
        ("/verdicts", {"row": 0, "label": -1}),
        ("/tokens", {"role": "owner"}),
        ("/tokens", {"days": 0}),
        ("/tokens", {"name": "\udfff"}),
        ("/arrivals", {"edges": [["a"]]}),
        ("/arrivals", {"edges": [["a", "b", float("nan")]]}),
        ("/arrivals", {"nodes": [{"id": "c", "x": float("inf")}]}),
        ("/arrivals", {"nodes": [{"id": "\ud800"}]}),
        ("/arrivals", {"nodes": [{"id": 1, "x": 2}, {"id": "two", "x": "three"}]}),
        ("/arrivals", {"edges": [["\ud800", "b"]]}),
    ],
)
def test_what_does_not_fit_is_refused_and_says_why(house, path, body):
    manager = house.invited("manager")
    content = json.dumps(body)
    response = manager.post(
        f"{house.path}{path}", content=content, headers={"Content-Type": "application/json"}
    )
    assert response.status_code in (400, 422), response.text
    assert said(response)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_text_that_cannot_be_kept_or_shown_leaves_nothing(house, text):
    store, everywhere, manager = house.server.store, house.everywhere(), house.invited("manager", name="Ada")

    def kept():
        own = house.campaign.id
        return (
            [store._read(f"SELECT count(*) FROM {table}") for table in ("campaigns", "sources", "events")],
            store.people(own),
            len(store.tokens(own)),
        )

    before = kept()
    for client, path, body in (
        (everywhere, "/v1/campaigns", {"data": "karate", "name": text}),
        (everywhere, "/v1/campaigns", {"data": "karate", "classes": [text, "b"]}),
        (everywhere, "/v1/campaigns", {"data": "karate", "classes": ["a", "b"], "find": text}),
        (everywhere, "/v1/campaigns", {"data": "karate", "strategy": text}),
        (manager, f"{house.path}/tokens", {"name": text}),
        (manager, f"{house.path}/comments", {"row": 0, "text": text}),
        (manager, f"{house.path}/arrivals", {"nodes": [{"id": text}]}),
        (manager, f"{house.path}/arrivals", {"nodes": [{"id": "c", text: 1}]}),
        (manager, f"{house.path}/arrivals", {"edges": [["a", text]]}),
    ):
        response = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422), (body, response.text)
        assert said(response)
    if "\0" in text:
        response = manager.delete(f"{house.path}/people/%00/name")
        assert response.status_code == 400 and "remove it" in said(response)
    assert kept() == before
    assert everywhere.get("/v1/campaigns").status_code == 200


def test_a_text_that_is_refused_ends_no_request_of_others(house):
    person, row = house.invited("labeller").person, 3
    for write in (
        lambda: house.campaign.comment(person, row, "a\0b"),
        lambda: house.campaign.comment(person, row, "fine", key="a\0b"),
    ):
        with ThreadPoolExecutor(1) as pool, house.campaign.lock:
            refused = pool.submit(write)
            with pytest.raises(InputError, match="contains NUL"):
                refused.result(5)  # before it could wait for the lock, to be written with others


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"row": NaN}', b"\xff", b'{"count": 1e999}']
)
def test_what_is_no_json_is_refused(house, content):
    response = house.invited("labeller").post(
        f"{house.path}/leases", content=content, headers={"Content-Type": "application/json"}
    )
    assert response.status_code in (400, 422)
    assert said(response)


# -- what comes back ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(house, tmp_path_factory, payloads):
    """A campaign whose ids, attributes and classes are payloads."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [text.replace("\x00", "") for text in payloads] + ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)"]
    import csv

    with (folder / "nodes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "name", "text"])
        table.writerows([name, f"{name}!", name] for name in names)
    with (folder / "edges.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["source", "target"])
        table.writerows(zip(names, names[1:] + names[:1], strict=True))
    campaign = create(
        house.server.store, GraphFiles(folder / "edges.csv", folder / "nodes.csv"),
        classes=names[:3] + names[-4:],
        name=names[0], budget=8, second_opinions=False,
    )  # fmt: skip
    house.server.add(campaign)
    return campaign, names


@pytest.mark.slow
def test_hostile_texts_come_back_as_they_are(house, hostile):
    campaign, names = hostile
    manager, path = house.everywhere(), f"/v1/campaigns/{campaign.id}"
    summary = manager.get(path)
    assert summary.headers["content-type"] == "application/json"
    assert (summary.json()["name"], summary.json()["classes"][:3]) == (names[0], names[:3])
    listed = manager.get(f"{path}/nodes").json()["nodes"]
    assert {each["node"] for each in listed} == {name.strip() for name in names}
    assert len(listed) == len(names)
    for each in listed:
        text = f"{each['node']} & <comment>"
        assert manager.post(f"{path}/comments", json={"row": each["row"], "text": text}).status_code == 200
        node = manager.get(f"{path}/nodes/{each['row']}").json()
        assert node["node"] == each["node"]
        assert [comment["text"] for comment in node["comments"]] == [text]


@pytest.mark.slow
def test_csv_is_neutralised_and_parquet_and_json_lines_are_exact(house, hostile):
    campaign, _ = hostile
    manager, path = house.everywhere(), f"/v1/campaigns/{campaign.id}"
    for label in range(7):
        (lease,) = manager.post(f"{path}/leases", json={"detail": False}).json()["leases"]
        assert manager.post(f"{path}/answers", json={"row": lease["row"], "label": label}).status_code == 200
    import csv

    answer = manager.get(f"{path}/export", params={"format": "csv"})
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(answer.text)))
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+@\t\r" and cell]
    assert not [cell for cell in cells if cell.startswith("-") and not cell[1:].replace(".", "").isdigit()]
    exact = {each["node"] for each in manager.get(f"{path}/nodes").json()["nodes"]}
    table = pq.read_table(io.BytesIO(manager.get(f"{path}/export", params={"format": "parquet"}).content))
    assert set(table.column("node").to_pylist()) == exact
    lines = manager.get(f"{path}/export", params={"format": "jsonl"}).text.split("\n")[:-1]
    assert {json.loads(line)["node"] for line in lines} == exact
    assert {"=1+1", "@SUM(A1)"} <= exact
    assert manager.get(f"{path}/export", params={"format": "exe"}).status_code == 422


def test_answers_as_tables(house):
    """Who answered what, when, in how many seconds; not what was taken back."""
    campaign = create(house.server.store, "karate", classes=["=a", "b"], budget=30, second_opinions=False)
    own, path, manager = house.server.add(campaign), f"/v1/campaigns/{campaign.id}", house.everywhere()
    people = ["ann", "bob"]
    house.server.store.name_person(campaign.id, "ann", "=Ann")
    given = []
    for k, outcome in enumerate(["answer", "unsure", "answer", "answer", "skip", "answer"]):
        person = people[k in (1, 2)]
        row = campaign.lease(person)[0][0].row
        campaign.close_question(person, row, outcome, k % 2 if outcome == "answer" else None)
        given.append([row, outcome, k % 2 if outcome == "answer" else None, person])
    campaign.undo("ann")
    given.pop()
    campaign.comment("ann", 0, "a comment is no answer")

    def fetched(form, **more):
        reply = manager.get(f"{path}/answers", params={"format": form, **more})
        assert reply.status_code == 200, reply.text
        return reply

    nodes, classes = campaign.asking.graph.nodes, ["=a", "b"]
    exact = pq.read_table(io.BytesIO(fetched("parquet").content)).to_pylist()
    assert [[each[k] for k in ("node", "outcome", "label", "person", "name")] for each in exact] == [
        [nodes[row], outcome, None if code is None else classes[code], who, {"ann": "=Ann"}.get(who)]
        for row, outcome, code, who in given
    ]
    closed = [
        event.at for event in campaign.store.events(campaign.id) if event.kind in ("answer", "unsure", "skip")
    ]
    asked = [event.at for event in campaign.store.events(campaign.id) if event.kind == "question"]
    assert [each["at"].timestamp() for each in exact] == pytest.approx(closed[:5], abs=1e-5)
    assert [each["seconds"] for each in exact] == pytest.approx(
        [after - before for before, after in zip(asked[:5], closed[:5], strict=True)], abs=1e-6
    )
    lines = [json.loads(line) for line in fetched("jsonl").text.splitlines()]
    assert [{**each, "at": None} for each in lines] == [{**each, "at": None} for each in exact]
    assert [datetime.fromisoformat(each["at"]) for each in lines] == [each["at"] for each in exact]

    import csv

    rows = list(csv.DictReader(io.StringIO(fetched("csv").text)))
    assert [row["label"] for row in rows] == ["'=a", "", "'=a", "b", ""]
    assert {row["name"] for row in rows} == {"'=Ann", ""}
    hidden = list(csv.DictReader(io.StringIO(fetched("csv", anonymous=1).text)))
    assert [row["person"] for row in hidden] == ["person-1", "person-2", "person-2", "person-1", "person-1"]
    assert "name" not in hidden[0] and "nn" not in fetched("csv", anonymous=1).text
    assert manager.get(f"{path}/answers", params={"format": "exe"}).status_code == 422
    assert own.export_answers("jsonl", True) == fetched("jsonl", anonymous=1).content


def test_answers_tell_no_seconds_if_the_clock_ran_back(house, monkeypatch):
    campaign = create(house.server.store, "karate", classes=["a", "b"], budget=9, second_opinions=False)
    views, _ = house.server.add(campaign), house.everywhere()
    now = [1000.0]
    monkeypatch.setattr(campaign.store, "_clock", lambda: now[0])
    for asked, closed in ((1000.0, 1002.5), (900.0, 400.0)):
        now[0] = asked
        row = campaign.lease("ann")[0][0].row
        now[0] = closed
        campaign.close_question("ann", row, "answer", 0)
    lines = [json.loads(line) for line in views.export_answers("jsonl").decode().splitlines()]
    assert [each["seconds"] for each in lines] == [2.5, None]
    assert next(p for p in views.people() if p["person"] == "ann")["median_seconds"] == 2.5


def test_answers_over_http_are_kept_once(house):
    labeller = house.invited("labeller")
    (lease,) = labeller.post(f"{house.path}/leases", json={}).json()["leases"]
    body, key = {"row": lease["row"], "label": 1}, {"Idempotency-Key": "one"}
    first = labeller.post(f"{house.path}/answers", json=body, headers=key)
    again = labeller.post(f"{house.path}/answers", json=body, headers=key)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    other = labeller.post(f"{house.path}/answers", json={**body, "label": 0}, headers=key)
    assert other.status_code == 422
    back = labeller.post(f"{house.path}/undo", headers={"Idempotency-Key": "two"}).json()
    assert back["row"] == back["lease"]["row"] == lease["row"]
    assert (
        labeller.post(f"{house.path}/undo", headers={"Idempotency-Key": "two"}).json()["row"] == lease["row"]
    )
    assert labeller.post(f"{house.path}/answers", json={"row": lease["row"]}).status_code == 422
    assert labeller.delete(f"{house.path}/leases/{lease['row']}").status_code == 204
    assert labeller.delete(f"{house.path}/leases/{lease['row']}").status_code == 409
    assert labeller.post(f"{house.path}/leases/99999/beat").status_code == 404


def test_an_arrival_can_be_looked_at(house):
    manager = house.invited("manager")
    node = house.campaign.asking.graph.nodes[0]
    came = manager.post(f"{house.path}/arrivals", json={"edges": [["<b>new", node, 2.0]]})
    assert came.status_code == 200, came.text
    ((found),) = came.json()["nodes"]
    shown = manager.get(f"{house.path}/nodes/{found['row']}").json()
    assert shown["node"] == found["node"] == "<b>new"
    assert shown["drawing"]["nodes"]
    assert manager.get(f"{house.path}/map").status_code == 200
    assert manager.get(f"{house.path}/nodes", params={"after": found["row"] - 1}).json()["nodes"]


def test_pages_of_nodes_by_their_keys(house):
    manager, found, after = house.invited("manager"), [], -1
    while after is not None:
        page = manager.get(f"{house.path}/nodes", params={"after": after, "limit": 7}).json()
        found += [each["row"] for each in page["nodes"]]
        after = page["next"]
    assert found == list(range(house.campaign.n_nodes))


def test_whoever_looks_while_others_answer_gets_no_error(house):
    """Undo, verdicts and arrivals change what is looked at."""
    campaign = create(house.server.store, "karate", budget=1000, noise=0.3, overlap=2)
    house.server.add(campaign)
    ended, problems = threading.Event(), []

    def look(path):
        with httpx.Client(base_url=house.address, headers=everywhere.headers, timeout=60) as client:
            while not ended.is_set():
                found = client.get(f"/v1/campaigns/{campaign.id}{path}")
                if found.status_code != 200:
                    problems.append((path, found.status_code, found.text))

    everywhere = house.everywhere()
    threads = [
        threading.Thread(target=look, args=(path,)) for path in ("/nodes?limit=500", "/map", "/nodes/0")
    ]
    for thread in threads:
        thread.start()
    try:
        for turn in range(12):
            for person in ("ann", "bob"):
                for question in campaign.lease(person)[0]:
                    campaign.close_question(person, question.row, "answer", turn % 2)
                campaign.undo(person)
            campaign.verdict("cem", turn, turn % 2)
            arrive(campaign, [(f"new {turn}", campaign.asking.graph.nodes[turn])], None)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not problems, problems[:3]


# -- events ------------------------------------------------------------------------------------------------


def test_events_as_lines_from_any_number(house):
    manager = house.invited("manager")
    lines = [json.loads(line) for line in manager.get(f"{house.path}/events").text.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["body"] for line in lines] == [
        dict(e.body) for e in house.campaign.store.events(house.campaign.id)
    ]
    later = manager.get(f"{house.path}/events", params={"after": 3}).text.splitlines()
    assert [json.loads(line) for line in later] == lines[3:]
    assert manager.get(f"{house.path}/events", params={"after": 10**6}).text == ""


def test_anonymous_events_name_nobody_and_number_everybody_alike(house):
    manager, ids = house.invited("manager"), set()
    labeller = house.invited("labeller")
    labeller.post(f"{house.path}/comments", json={"row": 0, "text": "here"})
    for event in house.campaign.store.events(house.campaign.id):
        ids.add(event.body.get("person"))
    every = manager.get(f"{house.path}/events", params={"anonymous": 1}).text
    assert not [who for who in ids if who and who in every]
    last = every.splitlines()[-1]
    after = house.campaign.last - 1
    assert manager.get(f"{house.path}/events", params={"anonymous": 1, "after": after}).text.strip() == last


def test_answers_are_sent_at_once():
    """Without TCP_NODELAY a response in two parts takes 40 ms; asyncio sets it where it knows TCP."""
    with bound("127.0.0.1", 0) as where:
        where.listen()

        async def accepted():
            loop, found = asyncio.get_running_loop(), asyncio.Queue()
            server = await asyncio.start_server(lambda _, writer: found.put_nowait(writer), sock=where)
            client = await loop.run_in_executor(None, socket.create_connection, where.getsockname())
            writer = await found.get()
            nodelay = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
            client.close()
            server.close()
            return nodelay

        assert asyncio.run(accepted())


# -- how it is ---------------------------------------------------------------------------------------------


def test_health_and_metrics(house):
    client = house.client()
    assert client.get("/healthz").json()["status"] == "ok"
    client.request("WEIRD", "/healthz")
    text = client.get("/metrics").text
    assert f"querist_events {sum(own.last for own in house.server.open_campaigns())}" in text
    assert "WEIRD" not in text
    assert 'route="/v1/campaigns/{c}"' in text


@pytest.mark.slow
def test_schemathesis_finds_nothing(house):
    """Whatever fits the description, or just does not, is answered as described."""
    schemathesis = pytest.importorskip("schemathesis")
    # What fits the description may still be a class, a row or a data set that there is not.
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    headers = {"Authorization": house.everywhere().headers["Authorization"]}
    schema = schemathesis.openapi.from_url(f"{house.address}/v1/openapi.json")
    few = settings(
        max_examples=max(3, settings().max_examples // 10),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    seen = set()
    for mode in schemathesis.GenerationMode:
        for found in schema.get_all_operations():
            operation = found.ok()

            @few
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                if "c" in (case.path_parameters or {}):
                    case.path_parameters["c"] = house.campaign.id
                # A stream never ends.
                case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() != "accept"}
                seen.add(case.operation.label)
                told = case.call(headers=headers)
                if told.status_code != 413:  # which it takes for an acceptance
                    case.validate_response(told, excluded_checks=[positive_data_acceptance])

            with suppress(Unsatisfiable):  # there is nothing to get wrong
                check()
    assert len(seen) >= 25
