"""`querist datasets` and `querist algorithms`."""

import os

import pytest

from querist import ALGORITHMS
from querist.asking import RULES, PoolRule
from querist.cli.lists import NAMES

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
    rows = {row["name"]: row for row in querist("algorithms", "--json").json}
    assert list(rows) == list(ALGORITHMS) == list(NAMES)
    assert rows["msg"]["parameters"]["h"] == 0.01
    assert all(row["about"] for row in rows.values())
    table = querist("algorithms").out
    assert all(name in table for name in NAMES)


def test_a_rule_of_the_pool_is_listed_with_its_sentence_once_it_is_registered(querist, monkeypatch):
    monkeypatch.setitem(RULES, "toy", PoolRule("toy", lambda model: model.rows[:, 0], "it is the first"))
    table = querist("algorithms").out
    assert all(name in table for name in RULES) and "it is the first" in table
