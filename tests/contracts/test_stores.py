"""Every store keeps the same promises: one suite over a SQLite file and a real PostgreSQL."""

import importlib.util
import json
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from querist.asking.store.events import ConflictError, Draft, StoreError, Token
from querist.asking.store.sqlite import SqliteStore, move, repair
from querist.cli import main
from querist.errors import InputError, UnknownNameError
from querist.serve.opening import create, open_campaign
from querist.serve.stores import STORES, open_store
from querist.serve.stores.postgres import CONNECTIONS

BEGUN = Draft(
    "campaign", {"graph": "0", "nodes": 10, "edges": 9, "classes": ["a", "ü"], "strategy": "random"}
)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a store is made, as `open_store` takes it."""
    return str(tmp_path / "store") if request.param == "sqlite" else request.getfixturevalue("new_database")()


@pytest.fixture
def opened(place):
    """`opened(**options)`: the store at that place, closed after the test."""
    stores = []

    def make(**options):
        stores.append(open_store(place, **options))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(opened):
    return opened()


def asked(row):
    return Draft("question", {"row": row, "audit": False, "reason": "why"})


def answered(row, code=0):
    return Draft("answer", {"row": row, "code": code, "person": None})


def reply_to(key):
    return key, "digest", {}


@pytest.mark.slow
def test_events_come_back_as_they_were_written(store, opened):
    written = [store.create("c", "Cats", BEGUN)]
    written += store.append("c", 1, [asked(3), answered(3, 1)])
    written += store.append(
        "c", 3, [Draft("comment", {"row": 3, "text": "\1 \U0001f600 <é>", "x": [0.1, 1e300]})]
    )
    assert [event.seq for event in written] == [1, 2, 3, 4]
    for own in (store, opened()):
        assert own.events("c") == written
        assert own.events("c", after=2) == written[2:]
        assert own.events("c", after=4) == own.events("c", after=9) == []
        assert own.last("c") == 4
        (entry,) = own.campaigns()
        assert (entry.id, entry.name, entry.created) == ("c", "Cats", written[0].at)


def test_many_events_are_one_transaction(store):
    store.create("c", "c", BEGUN)
    for last, count in ((1, 19), (20, 20), (40, 500)):
        drafts = [Draft("comment", {"number": number}) for number in range(count)]
        store.append("c", last, drafts, (f"{count}", "", {"count": count}))
        with pytest.raises(ConflictError):
            store.append("c", last + count, drafts, (f"{count}", "", {}))
        assert json.loads(store.reply("c", f"{count}").body) == {"seq": last + count, "count": count}
        assert [event.body["number"] for event in store.events("c", after=last)] == list(range(count))


def test_campaigns_do_not_mix(store):
    for name in ("one", "two"):
        store.create(name, name, BEGUN)
    store.append("two", 1, [asked(1)])
    assert (store.last("one"), store.last("two"), store.last("three")) == (1, 2, 0)
    with pytest.raises(InputError, match="exists already"):
        store.create("one", "again", BEGUN)
    with pytest.raises(InputError, match="no campaign 'three'"):
        store.append("three", 0, [asked(1)])
    assert [entry.id for entry in store.campaigns()] == ["one", "two"]
    assert store.events("three") == []


def test_who_has_not_seen_the_newest_event_appends_nothing(store, opened):
    store.create("c", "c", BEGUN)
    other = opened()
    assert other.events("c")
    store.append("c", 1, [asked(3)])
    for own in (other, store):
        for last in (0, 1, 3):
            with pytest.raises(ConflictError) as problem:
                own.append("c", last, [asked(4), asked(5)])
            assert problem.value.last == 2
    assert store.last("c") == 2
    assert other.append("c", 2, [asked(4)])[0].seq == 3


def test_what_cannot_be_written_whole_is_not_written(store):
    store.create("c", "c", BEGUN)
    with pytest.raises(ValueError, match="JSON"):
        store.append("c", 1, [asked(1), Draft("answer", {"value": float("nan")})])
    with pytest.raises(TypeError, match="JSON"):
        store.append("c", 1, [asked(1)], ("key", "digest", {"row": object()}))
    assert store.last("c") == 1
    assert store.reply("c", "key") is None
    assert store.append("c", 1, [asked(1)])[0].seq == 2


def test_a_reply_is_kept_with_its_events_and_its_key_used_once(store, opened):
    store.create("c", "c", BEGUN)
    store.append("c", 1, [asked(1), answered(1)], reply_to("key"))
    kept = opened().reply("c", "key")
    assert (kept.digest, kept.seq, json.loads(kept.body)) == ("digest", 3, {"seq": 3})
    for own in (store, opened()):
        with pytest.raises(ConflictError) as problem:
            own.append("c", 3, [asked(2)], reply_to("key"))
        assert problem.value.last == own.last("c") == 3
    assert store.append("c", 3, [asked(2)], reply_to("other"))[0].seq == 4


def test_several_requests_are_one_transaction_each_with_its_reply(store, opened):
    store.create("c", "Cats", BEGUN)
    first, second = ([answered(1)], reply_to("k1")), ([answered(2, 1)], reply_to("k2"))
    parts = [([asked(1), asked(2)], None), first, second]
    found = store.append_all("c", 1, parts)
    assert [[event.seq for event in events] for events in found] == [[2, 3], [4], [5]]
    fresh = opened()
    assert [event for events in found for event in events] == fresh.events("c", after=1)
    assert [(fresh.reply("c", key).seq, fresh.reply("c", key).body) for key in ("k1", "k2")] == [
        (4, '{"seq": 4}'),
        (5, '{"seq": 5}'),
    ]
    with pytest.raises(ConflictError):
        store.append_all("c", 5, [([asked(3)], reply_to("k3")), ([asked(4)], reply_to("k2"))])
    assert (store.last("c"), store.reply("c", "k3")) == (5, None)


@pytest.mark.slow
def test_threads_lose_nothing_and_number_nothing_twice(opened):
    """8 threads on two stores of the same place; each appends whenever it knows the newest event."""
    stores = [opened(), opened()]
    stores[0].create("c", "c", BEGUN)
    start, conflicts = threading.Barrier(8), Counter()

    def work(who):
        store, mine = stores[who % 2], []
        start.wait()
        for number in range(12):
            last = store.last("c")
            while True:
                try:
                    draft = Draft("comment", {"who": who, "number": number})
                    (event,) = store.append("c", last, [draft], (f"{who} {number}", "", {}))
                    mine.append(event)
                    break
                except ConflictError as problem:
                    conflicts[who] += 1
                    last = problem.last
        return mine

    with ThreadPoolExecutor(8) as pool:
        acknowledged = [event for mine in pool.map(work, range(8)) for event in mine]
    assert conflicts
    assert [e.seq for e in stores[0].events("c")] == list(range(1, 8 * 12 + 2))
    assert sorted(acknowledged, key=lambda e: e.seq) == stores[1].events("c")[1:]
    own = [[e.body["number"] for e in stores[0].events("c")[1:] if e.body["who"] == who] for who in range(8)]
    assert own == [list(range(12))] * 8


APPENDING = """
import sys
from querist.asking.store.events import ConflictError, Draft
from querist.serve.stores import open_store
store, who = open_store(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
last = 1
for number in range(60):
    while True:
        try:
            (event,) = store.append("c", last, [Draft("comment", {"who": who, "number": number})])
        except ConflictError as problem:
            last = problem.last
        else:
            last = event.seq
            print(event.seq, number, flush=True)
            break
store.close()
"""


@pytest.mark.slow
def test_processes_lose_nothing_and_number_nothing_twice(store, place):
    store.create("c", "c", BEGUN)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDING, place, who],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for who in "ab"
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = {who: worker.communicate()[0] for who, worker in zip("ab", workers, strict=True)}
    acknowledged = {
        int(seq): (who, int(number))
        for who, text in said.items()
        for seq, number in map(str.split, text.splitlines())
    }
    assert acknowledged == {e.seq: (e.body["who"], e.body["number"]) for e in store.events("c")[1:]}
    assert sorted(acknowledged) == list(range(2, 122))


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(store, place):
    store.create("c", "c", BEGUN)
    acknowledged = {}
    for who in "abc":
        with subprocess.Popen(
            [sys.executable, "-c", APPENDING, place, who],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout.readline() == "ready\n"
            worker.stdin.write("\n")
            worker.stdin.flush()
            said = [worker.stdout.readline() for _ in range(5 + ord(who) % 7)]
            worker.kill()
            said += worker.stdout.readlines()
        whole = [line.split() for line in said if line.endswith("\n")]
        acknowledged |= {int(seq): (who, int(number)) for seq, number in whole}
    kept = {event.seq: (event.body["who"], event.body["number"]) for event in store.events("c")[1:]}
    assert acknowledged.items() <= kept.items()
    assert len(kept) <= len(acknowledged) + 3, "at most the one that was not acknowledged is there besides"


def all_of(store, campaign):
    """Everything that is kept of a campaign, as it is kept."""
    return (
        [entry for entry in store.campaigns() if entry.id == campaign],
        list(store.stored(campaign)),
        store.replies(campaign, 10**6),
        store.sources(campaign),
        store.people(campaign),
    )


def test_a_campaign_moves_to_the_other_store_and_back_byte_for_byte(tmp_path, new_database):
    first = SqliteStore(tmp_path / "first", clock=iter([0.1 + 0.2, 1e-300, 1.7e9 + 1 / 3]).__next__)
    first.create("c", "Cäts", BEGUN)
    first.append("c", 1, [asked(3), answered(3, 1)], reply_to("key"))
    odd = {"row": 3, "person": "p", "text": "\1 \U0001f600 <é> \u2028", "x": [0.1, 1e300, -0.0, 2**60]}
    first.append("c", 3, [Draft("comment", odd)])
    first.name_person("c", "p", "Ann")
    first.keep_source("c", "edges.csv", bytes(range(256)))
    second, third = open_store(new_database()), SqliteStore(tmp_path / "third")
    assert move(first, second, "c") == move(second, third, "c") == 4
    kept = all_of(first, "c")
    assert all_of(second, "c") == all_of(third, "c") == kept
    assert [store.check("c") for store in (first, second, third)] == [first.events("c")] * 3
    for store in (second, third):
        assert store.append("c", 4, [asked(4)])[0].seq == 5
    with pytest.raises(InputError, match="exists there already"):
        move(first, second, "c")
    assert second.last("c") == 5
    with pytest.raises(InputError, match=r"no campaign 'x'; it has c"):
        move(first, third, "x")
    for store in (first, second, third):
        store.close()


def raw(store, place, sql):
    """Run SQL past the store."""
    if isinstance(store, SqliteStore):
        import sqlite3

        with sqlite3.connect(place) as connection:
            connection.execute(sql)
    else:
        with psycopg.connect(place) as connection:
            connection.execute("SET search_path TO querist")
            connection.execute(sql)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET kind = 'skip'",
        "UPDATE events SET seq = seq + 10",
        "DELETE FROM events",
        "INSERT INTO events SELECT campaign, seq + 5, at, kind, body, sum FROM events",
        "INSERT INTO events SELECT campaign, 0, at, kind, body, sum FROM events WHERE seq = 1",
        "INSERT OR REPLACE INTO events SELECT campaign, seq, at, 'skip', body, sum FROM events",
        "INSERT INTO events SELECT campaign, seq, at, 'skip', body, sum FROM events WHERE true "
        "ON CONFLICT (campaign, seq) DO UPDATE SET kind = 'skip'",
        "TRUNCATE events",
    ],
)
def test_the_database_itself_changes_no_event(store, place, change):
    if ("TRUNCATE" if isinstance(store, SqliteStore) else "REPLACE") in change:
        return  # words of the other dialect
    written = [store.create("c", "c", BEGUN), *store.append("c", 1, [asked(1)])]
    with pytest.raises(Exception, match=r"never (changed|removed)|follow one another"):
        raw(store, place, change)
    assert store.events("c") == written


def test_a_clock_that_is_set_back_is_harmless(opened):
    times = iter([1000.0, 2000.0, 500.0, 0.0, 3000.0])
    store = opened(clock=lambda: next(times))
    store.create("c", "c", BEGUN)
    for last in (1, 2, 3):
        store.append("c", last, [asked(last)])
    assert [event.at for event in opened().events("c")] == [1000.0, 2000.0, 500.0, 0.0]
    assert store.append("c", 4, [asked(4)])[0].seq == 5


def test_what_lies_beside_the_log(store, opened):
    store.keep_source("c", "edges.csv", b"a,b\n\0\xff")
    store.keep_source("c", "options.json", b"{}")
    store.keep_source("c", "options.json", b'{"seed": 1}')
    assert opened().sources("c") == {"edges.csv": b"a,b\n\0\xff", "options.json": b'{"seed": 1}'}
    assert store.sources("d") == {}
    store.name_person("c", "p1", "Ann")
    store.name_person("c", "p2", "Bob")
    store.name_person("c", "p1", "Anna")
    assert opened().people("c") == {"p1": "Anna", "p2": "Bob"}
    store.erase_person("c", "p1")
    assert opened().people("c") == {"p2": "Bob"}


def test_tokens_are_found_by_their_hash_and_revoked_once(store, opened):
    ann = Token("t1", "h1", "c", "p1", "labeller", 1.0, 99.0)
    root = Token("t2", "h2", None, "p2", "manager", 2.0)
    for token in (ann, root):
        store.keep_token(token)
    assert store.tokens("c") == [ann] and opened().tokens(None) == [root]
    assert opened().token_by_hash("h1") == ann and store.token_by_hash("h3") is None
    with pytest.raises(InputError, match="exists already"):
        store.keep_token(ann)
    for at in (5.0, 6.0):
        store.revoke_token("t1", at)
    assert opened().token_by_hash("h1").revoked == 5.0
    assert store.token_by_hash("h2").revoked is None


# -- while somebody writes ---------------------------------------------------------------------------------


@pytest.fixture
def busy(store, opened, monkeypatch):
    """A store in which somebody else answers a question after each of our queries; how many they answered."""
    store.create("c", "Cats", BEGUN)
    other, read, answers = opened(), type(store)._read, Counter()

    def read_and_be_overtaken(self, sql, *values):
        rows = read(self, sql, *values)
        if self is not other and answers["c"] < 9:
            number = answers["c"]
            answers["c"] += 1
            other.append("c", 2 * number + 1, [asked(number), answered(number)], reply_to(f"key {number}"))
            other.name_person("c", f"p{number}", "Ann")
        return rows

    monkeypatch.setattr(type(store), "_read", read_and_be_overtaken)
    yield store, answers
    monkeypatch.undo()
    assert len(store.check("c")) == 2 * answers["c"] + 1


def test_a_log_that_grows_while_it_is_checked_is_sound(busy):
    store, answers = busy
    for _ in range(3):
        events = store.check("c")
        assert 1 <= len(events) <= 2 * answers["c"] + 1
    assert answers["c"] == 9


@pytest.mark.parametrize("way", ["move", "repair"])
def test_a_campaign_is_copied_as_it_is_at_one_moment(busy, tmp_path, way):
    store, answers = busy
    if way == "move":
        with SqliteStore(tmp_path / "copy") as copy:
            assert move(store, copy, "c") == copy.last("c")
    else:
        assert repair(store, "c", tmp_path / "copy") is None
    assert answers["c"] >= 3
    with SqliteStore(tmp_path / "copy") as copy:
        events = copy.check("c")
        # One answer, its reply and its person come with each other.
        assert len(events) == 2 * len(copy.replies("c", 99)) + 1 == 2 * len(copy.people("c")) + 1


def test_damage_is_what_a_second_reading_confirms(store, tmp_path, monkeypatch):
    store.create("c", "Cats", BEGUN)
    events = [*store.events("c"), *store.append("c", 1, [asked(1), answered(1)], reply_to("key"))]
    stored, readings = type(store).stored, Counter()

    def stored_in_part(self, *about):
        readings["c"] += 1
        rows = list(stored(self, *about))
        return iter(rows[:-1] if readings["c"] % 2 else rows)

    monkeypatch.setattr(type(store), "stored", stored_in_part)
    assert store.check("c") == events
    assert repair(store, "c", tmp_path / "saved") is None
    monkeypatch.undo()
    with SqliteStore(tmp_path / "saved") as saved:
        assert saved.check("c") == events


def test_a_campaign_that_is_created_while_the_others_are_listed_is_no_damage(store, opened, monkeypatch):
    other, read = opened(), type(store)._read

    def read_and_be_overtaken(self, sql, *values):
        rows = read(self, sql, *values)
        if self is not other and not other.last("c"):
            other.create("c", "Cats", BEGUN)
        return rows

    monkeypatch.setattr(type(store), "_read", read_and_be_overtaken)
    assert store.campaigns() == []
    assert [entry.id for entry in store.campaigns()] == ["c"]


# -- texts that cannot be kept or shown ------------------------------------------------------------------

UNFIT = ["a\0b", "a\ud800b"]


@pytest.mark.slow
@pytest.mark.parametrize("text", UNFIT)
@pytest.mark.parametrize(
    "write",
    [
        lambda store, text: store.create("d", text, BEGUN),
        lambda store, text: store.create("d", "d", Draft("campaign", {**BEGUN.body, "classes": [text, "b"]})),
        lambda store, text: store.append("c", 1, [Draft("comment", {"row": 1, "person": "p", "text": text})]),
        lambda store, text: store.append("c", 1, [Draft("growth", {"nodes": [1, text], "edges": []})]),
        lambda store, text: store.append("c", 1, [Draft("pause", {"person": text})]),
        lambda store, text: store.append("c", 1, [Draft("pause", {text: 1})]),
        lambda store, text: store.append("c", 1, [asked(1)], reply_to(text)),
        lambda store, text: store.name_person("c", "p", text),
        lambda store, text: store.name_person("c", text, "Ann"),
        lambda store, text: store.erase_person("c", text),
        lambda store, text: store.keep_token(Token("t", "h", "c", text, "reader", 1.0)),
    ],
)
def test_a_text_that_is_no_whole_characters_is_refused(store, write, text):
    store.create("c", "Cats", BEGUN)
    with pytest.raises(InputError, match="contains NUL or half of a character; remove it"):
        write(store, text)
    assert (store.last("c"), store.last("d"), len(store.campaigns())) == (1, 0, 1)
    assert not (store.people("c") or store.tokens("c") or store.replies("c", 9))


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.campaigns()


# -- what only PostgreSQL does -------------------------------------------------------------------------


def test_a_server_that_hung_up_is_called_again(new_database):
    url = new_database()
    store = open_store(url)
    store.create("c", "c", BEGUN)
    with psycopg.connect(url, autocommit=True) as other:
        for last in (1, 2):
            hung_up = other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
            assert hung_up == [(True,)]
            assert store.append("c", last, [asked(last)])[0].seq == last + 1
    store.close()


def test_a_query_that_fails_ends_no_reading_at_one_moment(new_database):
    with open_store(new_database()) as store:
        store.create("c", "Cats", BEGUN)
        with store.at_one_moment() as seen:
            with pytest.raises(StoreError, match="division by zero"):
                seen._read("SELECT 1 / 0")
            store.append("c", 1, [asked(1)])
            assert (seen.last("c"), store.last("c")) == (1, 2)
            with pytest.raises(StoreError, match="read-only"):
                seen.name_person("c", "p", "Ann")


@pytest.mark.slow
def test_more_calls_at_once_than_connections_wait_for_one(new_database):
    place = new_database()
    with open_store(place) as store, psycopg.connect(place, autocommit=True) as watch:
        store.create("c", "Cats", BEGUN)
        with ThreadPoolExecutor(4 * CONNECTIONS) as pool:
            asleep = [pool.submit(store._read, "SELECT pg_sleep(0.1)") for _ in range(4 * CONNECTIONS)]
            most = 0
            while not all(each.done() for each in asleep):
                (count,) = watch.execute(
                    "SELECT numbackends FROM pg_stat_database WHERE datname = %s", (watch.info.dbname,)
                ).fetchone()
                most = max(most, count)
        assert [each.result() for each in asleep] == [[("",)]] * len(asleep)
    assert CONNECTIONS // 2 < most <= CONNECTIONS + 1


def test_two_servers_may_start_on_an_empty_database_at_once(new_database):
    url = new_database()
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(open_store, [url] * 4))
    stores[0].create("c", "c", BEGUN)
    assert [store.last("c") for store in stores] == [1] * 4
    for store in stores:
        store.close()


def test_tables_of_another_version_are_refused(new_database):
    url = new_database()
    open_store(url).close()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE querist.version SET number = 99")
    with pytest.raises(StoreError, match=r"version 99.*use the Querist that wrote it"):
        open_store(url)


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path):
    with pytest.raises(StoreError, match="cannot be reached; see that") as problem:
        open_store(f"postgresql://ann:secret@/cats?host={tmp_path}")
    assert "secret" not in str(problem.value) and "/cats" in str(problem.value)
    with pytest.raises(InputError, match="postgresql://user@host/name"):
        open_store("postgresql://a:b:c@[/x?y")


def test_a_copy_of_a_database_is_made_by_its_own_program(new_database, tmp_path):
    store = open_store(new_database())
    with pytest.raises(InputError, match="pg_dump"):
        store.backup(tmp_path / "copy")
    store.close()


# -- a store of somebody else ------------------------------------------------------------------------------

MODULE = '''
"""A database store of somebody else: every call has a connection of its own."""

import sqlite3
from contextlib import closing, contextmanager
from copy import copy

from querist.asking.store.sql import SQLITE, EventStore, KeyTakenError
from querist.serve.stores import database_store


@database_store("toy")
class ToyStore(EventStore):
    seen = None

    def __init__(self, url, *, clock):
        super().__init__(url, clock)
        self.file = url.partition("://")[2]
        with closing(self.connected()) as connection:
            if not connection.execute("SELECT * FROM sqlite_master").fetchall():
                for statement in SQLITE:
                    connection.execute(statement)

    def connected(self):
        return sqlite3.connect(self.file, isolation_level=None, timeout=30)

    def _read(self, sql, *values):
        if self.seen is not None:
            return self.seen.execute(sql, values).fetchall()
        with closing(self.connected()) as connection:
            return connection.execute(sql, values).fetchall()

    def _commit(self, statements):
        with closing(self.connected()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for sql, values in statements:
                    connection.execute(sql, values)
            except sqlite3.IntegrityError as error:
                raise KeyTakenError from error
            connection.execute("COMMIT")

    @contextmanager
    def at_one_moment(self):
        with closing(self.connected()) as connection:
            connection.execute("BEGIN")
            found = copy(self)
            found.seen = connection
            yield found

    def backup(self, path):
        raise NotImplementedError

    def close(self):
        pass
'''


@pytest.fixture
def toy(tmp_path):
    """The URL of a store whose module is imported, and forgotten afterwards."""
    path = tmp_path / "toy_store.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_store", path)
    sys.modules["toy_store"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield f"toy://{tmp_path}/toy"
    del sys.modules["toy_store"], STORES["toy"]


@pytest.mark.slow
def test_a_database_store_is_one_module(toy, tmp_path, capsys):
    with open_store(toy) as store, open_store(toy) as other, SqliteStore(tmp_path / "file") as file:
        first = create(store, "karate", budget=4, second_opinions=False)
        second = open_campaign(other, first.id)
        for campaign, person in ((first, "ann"), (second, "bob"), (first, "bob"), (second, "ann")):
            (question,), _ = campaign.lease(person)
            assert campaign.close_question(person, question.row, "answer", 1)["late"] is False
        assert first.lease("cem") == second.lease("cem") == ([], "the budget of 4 answers is spent")
        events = store.check(first.id)
        with pytest.raises(ConflictError):
            other.append(first.id, len(events) - 1, [asked(3)])
        assert move(store, file, first.id) == len(events)
        assert file.check(first.id) == events == other.check(first.id)
        assert file.sources(first.id) == store.sources(first.id)
        for campaign in (first, second):
            campaign.close()
    assert main(["campaign", "list", "--store", toy, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["campaign"], listed["events"]) == (first.id, len(events))
    with pytest.raises(UnknownNameError, match="unknown database 'tpy'; did you mean 'toy'"):
        open_store(toy.replace("toy", "tpy"))
