"""What events make of turns and leases, against a plain walk over all of them."""

from hypothesis import given, strategies as st

from querist.asking.store.events import Event
from querist.asking.turns import CLOSING, Turns


def plainly(events):
    """(row, outcome, code, person, opened, closed) of every turn, by walking through lists."""
    turns = []
    for event in events:
        row, person = event.body.get("row"), event.body.get("person")
        if event.kind == "question":
            turns.append([row, None, -1, None, event.seq, 0])
        elif event.kind in CLOSING:
            replaced = event.body.get("replaces")
            turn = next(
                t for t in turns if (t[0] == row and t[1] is None if replaced is None else t[4] == replaced)
            )
            turn[1:4], turn[5] = [event.kind, event.body.get("code", -1), person], event.seq
        elif event.kind == "undo":
            own = [t for t in turns if t[1] is not None and person in (None, t[3])]
            back = max(own, key=lambda t: t[5])
            later = [
                t for t in turns if t[1] is None and (t[0] == back[0] or (not person and t[4] > back[5]))
            ]
            turns = [t for t in turns if not any(t is one for one in later)]
            back[1:4], back[5] = [None, -1, None], 0
    return [tuple(t) for t in turns]


@st.composite
def stories(draw):
    """Events that can happen, about a few rows and people."""
    events, turns = [], Turns()

    def happen(kind, **body):
        events.append(Event(len(events) + 1, float(len(events)), kind, body))
        turns.apply(events[-1])

    for _ in range(draw(st.integers(0, 40))):
        open_rows = [turn.row for turn in turns.opens]
        free = [row for row in range(6) if row not in open_rows]
        person = draw(st.sampled_from(["ann", "bob"]))
        kind = draw(
            st.sampled_from(["question", "answer", "change", "skip", "undo", "undo_all", "lease", "release"])
        )
        if kind == "question" and free:
            row = draw(st.sampled_from(free))
            happen("question", row=row, audit=draw(st.booleans()), again=bool(turns.about(row)))
        elif kind in CLOSING and open_rows:
            row = draw(st.sampled_from(open_rows))
            happen(kind, row=row, person=person, **({"code": 1} if kind == "answer" else {}))
        elif kind == "change" and any(turns.vote_of(person, row) for row in range(6)):
            row = draw(st.sampled_from([row for row in range(6) if turns.vote_of(person, row)]))
            happen("answer", row=row, person=person, code=2, replaces=turns.vote_of(person, row).opened)
        elif kind == "lease" and open_rows:
            row = draw(st.sampled_from(open_rows))
            happen("lease", row=row, person=person, until=1e9)
        elif kind == "release" and turns.leases:
            happen("release", row=draw(st.sampled_from(list(turns.leases))), person=person)
        elif kind == "undo" and turns.last_closed(person):
            happen("undo", row=turns.last_closed(person).row, person=person)
        elif kind == "undo_all" and turns.last_closed():
            happen("undo", row=turns.last_closed().row)
    return events


@given(stories())
def test_turns_are_those_of_a_plain_walk(events):
    turns = Turns()
    for event in events:
        turns.apply(event)
    walked = plainly(events)
    assert [(t.row, t.outcome, t.code, t.person, t.opened, t.closed) for t in turns] == walked
    assert [turn.row for turn in turns.opens] == [row for row, outcome, *_ in walked if outcome is None]
    assert turns.n_open == len(turns.opens)
    assert turns.asked == sum(outcome == "answer" for _, outcome, *_ in walked)
    assert turns.unanswered == sum(outcome in ("skip", "unsure") for _, outcome, *_ in walked)
    assert turns.repeated == sum(turn.again for turn in turns)
    assert turns.rows == {row for row, *_ in walked}
    assert set(turns.leases) <= {turn.row for turn in turns.opens}


def test_a_lease_goes_from_one_person_to_another_by_events_alone():
    turns = Turns()
    asked = {"row": 3, "audit": False, "person": "ann", "until": 400.0}
    turns.apply(Event(1, 100.0, "question", asked))
    assert turns.leases[3].person == "ann"
    turns.apply(Event(2, 300.0, "beat", {"row": 3, "person": "ann", "until": 600.0}))
    assert (turns.leases[3].since, turns.leases[3].until) == (100.0, 600.0)
    turns.apply(Event(3, 601.0, "expire", {"row": 3, "person": "ann"}))
    assert not turns.leases and turns.open_about(3) is not None
    turns.apply(Event(4, 602.0, "lease", {"row": 3, "person": "bob", "until": 902.0}))
    turns.apply(Event(5, 622.0, "answer", {"row": 3, "code": 1, "person": "bob"}))
    assert not turns.leases and turns.open_about(3) is None
    assert turns.seconds("bob") == 20.0 and turns.seconds("ann") is None


def test_the_time_of_an_answer_is_unknown_if_the_clock_ran_back():
    turns = Turns()
    for row, answered in ((3, 90.0), (4, 100.0)):
        asked = {"row": row, "audit": False, "person": "ann", "until": 400.0}
        turns.apply(Event(2 * row, 100.0, "question", asked))
        turns.apply(Event(2 * row + 1, answered, "answer", {"row": row, "code": 1, "person": "ann"}))
        assert turns.seconds("ann") == (None if row == 3 else 0.0)
