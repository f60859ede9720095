"""A damaged log is found when it is opened, the first bad event named, and everything before it saved."""

import contextlib
import random
import sqlite3

import pytest

from querist.asking.store.events import Draft, Reply, StoreDamagedError, StoreError
from querist.asking.store.sqlite import SqliteStore, only_campaign, repair
from querist.errors import InputError

BEGUN = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "b"], "strategy": "random"}


def asked(row, **more):
    return Draft("question", {"row": row, "audit": False, "reason": "why", **more})


def answered(row, code=0, **more):
    return Draft("answer", {"row": row, "code": code, **more})


GROWN = {"nodes": ["x", 7], "edges": [[0, 9, 1.0], [9, 10, 0.5]], "attributes": [[1, 2, 3]], "columns": 3}
SOUND = [
    asked(1, person="p", until=5.0),
    Draft("beat", {"row": 1, "person": "p", "until": 9.0}),
    answered(1, 1, person="p"),
    Draft("undo", {"row": 1, "person": "p", "until": 9.5}),
    Draft("expire", {"row": 1, "person": "p"}),
    Draft("lease", {"row": 1, "person": "q", "until": 20}),
    Draft("release", {"row": 1, "person": "q"}),
    Draft("unsure", {"row": 1, "person": None}),
    Draft("growth", GROWN),
    asked(10),
    Draft("known", {"rows": [10, 3], "codes": [0, 1]}),
    Draft("comment", {"row": 10, "person": "p", "text": "hm"}),
    Draft("verdict", {"row": 1, "code": 0, "person": "m"}),
    Draft("pause", {"person": "m"}),
    Draft("resume", {"person": "m"}),
    Draft("options", {"budget": 30, "stop": None, "person": "m"}),
    asked(2),
    Draft("skip", {"row": 2}),
    Draft("stop", {"why": "enough"}),
]


def kept(path, drafts=SOUND):
    store = SqliteStore(path)
    store.create("c", "Cats", Draft("campaign", BEGUN))
    store.append("c", 1, drafts, ("key", "digest", {}))
    store.name_person("c", "p", "Ann")
    store.keep_source("c", "edges.csv", b"a,b")
    return store


def test_a_log_with_every_kind_of_event_is_sound():
    store = kept(None)
    assert [event.kind for event in store.check("c")[1:]] == [draft.kind for draft in SOUND]


def test_a_log_with_an_answer_that_replaces_another_is_sound():
    changed = [answered(1, 1, person="p", replaces=2), asked(1), answered(1, 0, person="p", replaces=2)]
    store = kept(None, [asked(1), answered(1, person="p"), *changed, answered(1, person="p")])
    assert len(store.check("c")) == 7


@pytest.mark.parametrize(
    ("drafts", "what"),
    [
        ([Draft("voted", {"row": 1})], "nothing is known of the kind 'voted'; update querist"),
        ([Draft("campaign", BEGUN)], "a log begins with 'campaign', once"),
        ([answered(1)], "no question about it is open"),
        (
            [asked(1), answered(1, 0, person="p", replaces=3)],
            "it replaces question 3, not that of its person's last answer",
        ),
        ([asked(1), answered(1, person="q"), answered(1, person="p", replaces=3)], "it replaces question 3"),
        ([asked(1), answered(1, person="p"), answered(1, person="p", replaces=2)], "it replaces question 2"),
        (
            [asked(1), answered(1, person="p"), Draft("skip", {"row": 1, "person": "p", "replaces": 3})],
            "it replaces question 3",
        ),
        ([asked(1), answered(1), answered(1, replaces=None)], "its 'replaces' is None, not of type int"),
        ([asked(1), answered(2)], "'answer' of row 2, and no question about it is open"),
        ([asked(1), answered(1), answered(1)], "no question about it is open"),
        ([asked(1), asked(1)], "asks about row 1, and that question is open"),
        ([Draft("lease", {"row": 1, "person": "p", "until": 1.0})], "no question about it is open"),
        ([Draft("undo", {"row": 1})], "takes back the answer about row 1"),
        ([asked(1), answered(1), asked(2), answered(2), Draft("undo", {"row": 1})], "which was not the last"),
        (
            [asked(1), Draft("known", {"rows": [1], "codes": [0]}), answered(1)],
            "no question about it is open",
        ),
        ([asked(9)], "its row is 9, and there are 9 nodes"),
        ([asked(-1)], "its row is -1"),
        ([asked(1), answered(1, 2)], "its class is 2, and there are 2 classes"),
        ([asked(1, guess=5)], "its class is 5"),
        ([Draft("known", {"rows": [1, 9], "codes": [0, 0]})], "its row is 9"),
        ([Draft("known", {"rows": [1, 2], "codes": [0]})], "its rows and codes are not as many integers"),
        ([Draft("growth", GROWN), asked(11)], "its row is 11, and there are 11 nodes"),
        ([Draft("growth", {**GROWN, "edges": [[0, 11, 1.0]]})], "cannot be one of its edges"),
        ([Draft("growth", {**GROWN, "edges": [[0, 1]]})], "cannot be one of its edges"),
        ([Draft("growth", {**GROWN, "attributes": [[2, 0, 1.0]]})], "cannot be one of its attributes"),
        ([Draft("growth", {**GROWN, "nodes": [None]})], "neither text nor number"),
        ([Draft("answer", {"row": 1})], "its body has no 'code'"),
        ([asked("1")], "its 'row' is '1', not of type int"),
        ([asked(True)], "its 'row' is True, not of type int"),
        ([asked(1, person=3)], "its 'person' is 3, not of type NoneType or str"),
        ([asked(1, until=None)], "its 'until' is None, not of type float or int"),
        ([Draft("known", {"rows": [1.0], "codes": [0]})], "not as many integers"),
        ([Draft("options", {"budget": "9", "person": None})], "budget = '9'; it must be a whole number"),
        ([Draft("options", {"seed": 9, "person": None})], "unknown option of a running campaign 'seed'"),
        ([Draft("options", {"budget": 9})], "its body has no 'person'"),
    ],
)
def test_what_cannot_have_happened_is_named(drafts, what):
    store = kept(None, [Draft("pause", {"person": None}), *drafts])
    with pytest.raises(StoreDamagedError, match="querist campaign repair") as problem:
        store.check("c")
    assert what in str(problem.value)
    damage = problem.value.damage
    assert (damage.campaign, damage.seq) == ("c", 2 + len(drafts))


CHANGES = {
    "a body": ("UPDATE events SET body = replace(body, 'why', 'who') WHERE seq = 2", 2),
    "a time": ("UPDATE events SET at = at + 1e-6 WHERE seq = 4", 4),
    "a kind": ("UPDATE events SET kind = 'unsure' WHERE seq = 19", 19),
    "a sum": ("UPDATE events SET sum = zeroblob(32) WHERE seq = 20", 20),
    "a type": ("UPDATE events SET body = cast(body AS BLOB) WHERE seq = 5", 5),
    "two events swapped": (
        "UPDATE events SET (at, kind, body, sum) = (SELECT e.at, e.kind, e.body, e.sum FROM events AS e "
        "WHERE e.seq = 27 - events.seq) WHERE seq IN (12, 15)",
        12,
    ),
    "one missing": ("DELETE FROM events WHERE seq = 6", 6),
    "the first missing": ("DELETE FROM events WHERE seq = 1", 1),
    "the last missing": ("DELETE FROM events WHERE seq = 20", 20),
    "all missing": ("DELETE FROM events", 1),
    "another campaign's": ("UPDATE events SET campaign = 'd' WHERE seq = 20", 20),
    "another campaign": ("UPDATE campaigns SET id = 'd'", 1),
    "no campaign": ("DELETE FROM campaigns", 1),
}


def unlocked(path, change):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for trigger in ("kept", "fixed", "following"):
            database.execute(f"DROP TRIGGER {trigger}")
        database.execute(change)


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_changed_is_found_on_opening_and_named(tmp_path, change):
    kept(tmp_path / "j").close()
    sql, seq = CHANGES[change]
    unlocked(tmp_path / "j", sql)
    with pytest.raises(StoreDamagedError) as problem:
        only_campaign(tmp_path / "j")
    assert problem.value.damage.seq == seq
    assert str(tmp_path / "j") in str(problem.value) and f"event {seq} " in str(problem.value)


def test_everything_before_the_damage_is_saved_and_gone_on_with(tmp_path):
    sound = kept(None)
    sound.append("c", 20, [asked(5)], ("later", "digest", {}))
    kept(tmp_path / "j").close()
    again = SqliteStore(tmp_path / "j")
    again.append("c", 20, [asked(5)], ("later", "digest", {}))
    events = again.check("c")
    again.close()
    unlocked(tmp_path / "j", "UPDATE events SET body = replace(body, 'why', 'who') WHERE seq = 21")
    before = (tmp_path / "j").read_bytes()
    damaged = SqliteStore(tmp_path / "j")
    damage = repair(damaged, "c", tmp_path / "saved")
    assert (damage.seq, damage.what) == (21, "it was changed since it was written")
    with pytest.raises(StoreDamagedError):
        damaged.events("c")
    with pytest.raises(InputError, match="exists already"):
        repair(damaged, "c", tmp_path / "saved")
    with pytest.raises(InputError, match=r"no campaign 'x'; it has c"):
        repair(damaged, "x", tmp_path / "other")
    damaged.close()
    assert (tmp_path / "j").read_bytes() == before
    saved = SqliteStore(tmp_path / "saved")
    assert saved.check("c") == events[:20]
    assert saved.people("c") == {"p": "Ann"} and saved.sources("c") == {"edges.csv": b"a,b"}
    assert saved.reply("c", "key") == Reply("digest", 20, '{"seq": 20}') and saved.reply("c", "later") is None
    saved.close()
    with only_campaign(tmp_path / "saved") as journal:
        assert journal.store.append("c", 20, [Draft("stop", {"why": "enough"})])[0].seq == 21


def test_events_of_a_campaign_that_is_gone_are_saved(tmp_path):
    store = kept(tmp_path / "j")
    events = store.check("c")
    store.close()
    unlocked(tmp_path / "j", "DELETE FROM campaigns")
    damaged = SqliteStore(tmp_path / "j")
    assert repair(damaged, "c", tmp_path / "saved").what == "no campaign is known that it is of"
    damaged.close()
    saved = SqliteStore(tmp_path / "saved")
    assert saved.check("c") == events
    saved.close()


# -- damaged files -------------------------------------------------------------------------------


def long_log(path):
    """Some pages of events, in order."""
    drafts = [draft for row in range(9) for draft in (asked(row, more="x" * 150), answered(row))]
    return kept(path, [*drafts, *(Draft("stop", {"why": f"{n} {'y' * 200}"}) for n in range(60))])


def damage_of(path):
    """How a damaged journal ends: the events there are, or what is said of it."""
    try:
        with only_campaign(path) as journal:
            return journal.events
    except StoreError as problem:
        return problem


def flipped(content, seed):
    """The same bytes with one bit flipped, anywhere or in the first page."""
    draw = random.Random(seed)
    at = draw.randrange(len(content) if seed % 3 else 100)
    changed = bytearray(content)
    changed[at] ^= 1 << draw.randrange(8)
    return bytes(changed)


def test_a_table_whose_definition_is_damaged_ends_in_words_of_ours(tmp_path):
    kept(tmp_path / "j").close()
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content.replace(b"ABORT", b"AB\xcfRT", 1))
    with pytest.raises(StoreError, match="damaged"):
        only_campaign(tmp_path / "j")


def test_a_page_of_elsewhere_is_found_or_harmless(tmp_path):
    store = long_log(tmp_path / "sound")
    events = store.check("c")
    store.close()
    content, size = (tmp_path / "sound").read_bytes(), 4096
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    assert len(pages) > 10
    found = 0
    for one in range(len(pages)):
        for other in range(1, len(pages)):
            path = tmp_path / f"j{one}-{other}"
            path.write_bytes(b"".join([*pages[:one], pages[other], *pages[one + 1 :]]))
            ending = damage_of(path)
            assert isinstance(ending, StoreError) or ending == events, (one, other)
            found += ending != events
    assert found > len(pages)


def test_a_file_that_is_cut_short_is_found_and_what_can_be_read_is_saved(tmp_path):
    store = long_log(tmp_path / "sound")
    events = store.check("c")
    store.close()
    content, saved = (tmp_path / "sound").read_bytes(), 0
    for number, length in enumerate(range(1, len(content) - 1, 1111)):
        path = tmp_path / f"j{number}"
        path.write_bytes(content[:length])
        assert isinstance(damage_of(path), StoreError), length
        with contextlib.suppress(StoreError):
            broken = SqliteStore(path)
            with contextlib.closing(broken), contextlib.suppress(StoreError, InputError):
                damage = repair(broken, "c", tmp_path / f"saved{number}")
                whole = SqliteStore(tmp_path / f"saved{number}")
                assert whole.check("c") == events[: damage.seq - 1]
                whole.close()
                saved += 1
    assert saved
