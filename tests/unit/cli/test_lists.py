"""`querist datasets` and `querist algorithms`."""

import os

import pytest

from querist import ALGORITHMS, CLASSIFIERS, STREAMS
from querist.asking import STRATEGIES
from querist.asking.strategies import Strategy
from querist.labelling.members import MEMBERS

REAL_DATA = os.environ.get("QUERIST_DATA", "")


def test_datasets_as_json(querist):
    rows = {row["name"]: row for row in querist("datasets", "--json").json}
    assert rows["digits"]["nodes"] == 1797
    assert rows["digits"]["source"] == "bundled"
    assert rows["cora"]["source"] == "download"


def test_datasets_as_a_table(querist, monkeypatch):
    wide = querist("datasets").out
    assert "handwritten digits" in wide
    monkeypatch.setenv("COLUMNS", "80")
    narrow = querist("datasets").out
    assert "1,797" in narrow
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80


def test_every_real_set_fits_the_screen(querist, monkeypatch):
    if not os.path.isdir(REAL_DATA):
        pytest.skip("QUERIST_DATA names no directory")
    monkeypatch.setenv("QUERIST_DATA", REAL_DATA)
    monkeypatch.setenv("COLUMNS", "80")
    shown = querist("datasets")
    assert shown.code == 0
    assert "…" not in shown.out


def test_a_data_directory_that_is_not_there(querist, monkeypatch):
    monkeypatch.setenv("QUERIST_DATA", "/no/such/place")
    ran = querist("datasets")
    assert ran.code == 2
    assert "QUERIST_DATA" in ran.err


def test_algorithms(querist):
    rows = querist("algorithms", "--json").json
    kinds = {"algorithm": ALGORITHMS, "model": MEMBERS, "classifier": CLASSIFIERS, "stream learner": STREAMS}
    for kind, registry in kinds.items():
        assert [row["name"] for row in rows if row["kind"] == kind] == list(registry)
    named = {(row["kind"], row["name"]): row for row in rows}
    assert named["algorithm", "msg"]["parameters"]["h"] == 0.01
    assert all(row["about"] for row in rows)
    table = querist("algorithms").out
    assert all(row["name"] in table for row in rows)


def test_a_query_strategy_is_listed_with_its_sentence_once_it_is_registered(querist, monkeypatch):
    monkeypatch.setitem(STRATEGIES, "toy", Strategy(lambda model: model.rows[:, 0], "it is the first"))
    table = querist("algorithms").out
    assert all(name in table for name in STRATEGIES) and "it is the first" in table


def test_every_value_of_strategy_is_listed(querist):
    rows = querist("algorithms", "--json").json
    assert {row["name"] for row in rows if row["kind"] == "query strategy"} == {"pool", "random", *STRATEGIES}
