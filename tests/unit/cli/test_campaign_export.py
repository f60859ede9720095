"""`querist campaign export`: the answers, and the events, with people or without."""

import csv
import json

import pytest


@pytest.fixture
def store(tmp_path, querist):
    """A store with a campaign that stops early, and two answers in it."""
    from querist.asking.store.sqlite import SqliteStore
    from querist.serve.opening import open_campaign

    place = tmp_path / "team.db"
    made = querist("campaign", "create", "karate", "--stop", "0.25", "--store", place, "--json").json
    with SqliteStore(place) as opened:
        campaign = open_campaign(opened, made["campaign"])
        assert campaign.status.options.stop == 0.25
        for person in ("zoe", "ann"):
            campaign.close_question(person, campaign.lease(person)[0][0].row, "answer", 1)
        campaign.close()
    return place


def test_answers_and_events_are_written_with_people_or_without(store, querist, tmp_path):
    def exported(name, *more):
        querist("campaign", "export", "--store", store, "--out", tmp_path / name, *more)
        return (tmp_path / name).read_text()

    people = [row["person"] for row in csv.DictReader(exported("a.csv", "--answers").splitlines())]
    assert people == ["zoe", "ann"]
    hidden = [json.loads(line) for line in exported("b.jsonl", "--answers", "--anonymous").splitlines()]
    assert [row["person"] for row in hidden] == ["person-1", "person-2"]
    assert "zoe" in exported("c.ndjson") and "zoe" not in exported("d.ndjson", "--anonymous")
    assert exported("labels.csv").startswith("node,label,probability,")


@pytest.mark.parametrize(
    "words", [("e.jsonl", "--safe-csv"), ("e.ndjson", "--safe-csv"), ("e.csv", "--anonymous")]
)
def test_what_a_file_cannot_have_is_refused(store, querist, tmp_path, words):
    ran = querist("campaign", "export", "--store", store, "--out", tmp_path / words[0], words[1])
    assert ran.code == 2 and f"{words[1]} does not go with --out" in ran.err
