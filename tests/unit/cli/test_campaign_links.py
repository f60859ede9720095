"""Links of `querist serve` and `querist campaign token`: what they cannot do is said beside them."""

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve: pip install querist[serve]")
from querist.serve.opening import create
from querist.serve.stores import open_store

NOBODY = "only this machine can open links to {}; for others, pass --address http://NAME:PORT"


@pytest.fixture
def store(tmp_path):
    """The path of a store with one campaign."""
    path = str(tmp_path / "team.db")
    with open_store(path) as opened:
        create(opened, "karate", classes=["a", "b"], budget=5).close()
    return path


def test_a_link_has_no_address_but_the_one_that_is_given(querist, store):
    shown = querist("campaign", "token", "--store", store)
    assert shown.out.startswith("/enter?token=") and "at the address that querist serve prints" in shown.out
    assert shown.err == "" and "8377" not in shown.out
    made = querist("campaign", "token", "--store", store, "--json").json
    assert made["link"] == f"/enter?token={made['token']}"
    shown = querist("campaign", "token", "--store", store, "--address", "http://lab:9123/")
    assert shown.out.startswith("http://lab:9123/enter?token=")


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "0.0.0.0", "[::1]", "[::]"])
def test_a_link_that_others_cannot_open_comes_with_a_warning(querist, store, host):
    shown = querist("campaign", "token", "--store", store, "--address", f"http://{host}:8000")
    assert NOBODY.format(host.strip("[]")) in shown.err


@pytest.mark.parametrize(
    "address", ["https://label.example.org", "http://192.168.1.5:8377", "http://[2001:db8::1]:80"]
)
def test_a_link_that_others_can_open_comes_alone(querist, store, address):
    shown = querist("campaign", "token", "--store", store, "--address", address)
    assert (shown.code, shown.err) == (0, "")


@pytest.mark.parametrize(
    "address", ["nonsense", "label.example.org:80", "http://", "http://[::1", "http://a:99999", "http://a:0"]
)
def test_what_is_no_address_makes_no_token(querist, store, address):
    shown = querist("campaign", "token", "--store", store, "--address", address)
    assert shown.code == 2
    assert f"--address {address} is no address of a server; write http://NAME:PORT" in shown.err
    with open_store(store) as opened:
        assert not opened.tokens(opened.campaigns()[0].id)


@pytest.mark.parametrize(
    ("host", "instead"),
    [
        ("127.0.0.1", "pass --host 0.0.0.0 and write the name or IP address of this machine there"),
        ("0.0.0.0", "for others, write the name or IP address of this machine there"),
    ],
)
def test_the_links_of_a_server_come_with_a_warning(querist, store, host, instead, monkeypatch):
    monkeypatch.setattr("querist.serve.running.run", lambda *anything, **more: None)
    shown = querist("serve", "--store", store, "--host", host, "--port", "0", "--json")
    assert shown.json["manager"].startswith(f"http://{host}:")
    assert f"only this machine can open links to {host}; for others, " in shown.err
    assert instead in shown.err


@pytest.mark.slow
def test_a_token_is_revoked_by_its_id(querist, store):
    made = querist("campaign", "token", "--store", store, "--json").json
    beside = querist("campaign", "token", "--revoke", made["id"], "--days", "3", "--store", store)
    assert beside.code == 2 and "--days does not go with --revoke" in beside.err
    unknown = querist("campaign", "token", "--revoke", "x", "--store", store)
    assert unknown.code == 2 and f"there is no token 'x' here; there are {made['id']}" in unknown.err
    ended = querist("campaign", "token", "--revoke", made["id"], "--store", store, "--json")
    assert ended.json == {"id": made["id"], "revoked": True}
    with open_store(store) as opened:
        assert opened.tokens(opened.campaigns()[0].id)[0].revoked is not None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--budget", "9"), "--budget"),
        (("--name-column", "x"), "--name-column"),
        (("--weight", "w"), "--weight"),
    ],
)
def test_a_server_without_a_new_campaign_refuses_its_options(querist, store, words, named):
    refused = querist("serve", "--store", store, "--port", "0", *words)
    assert refused.code == 2
    assert f"{named} is about a new campaign, and no graph is given; name its DATA" in refused.err


def test_the_demo_has_a_graph_of_its_own(querist):
    refused = querist("serve", "karate", "--demo", "--port", "0")
    assert refused.code == 2 and "DATA (karate) does not go with --demo" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("create kar", "karate"),
        ("create karate --strategy rand", "random"),
        ("token --role lab", "labeller"),
    ],
)
def test_values_are_offered(process, line, expected):
    offered = process(
        _QUERIST_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS=f"querist campaign {line}",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert (offered.code, offered.out.split()[:1]) == (0, [expected])
