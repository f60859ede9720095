"""Verdicts, and tables in every form."""

import csv
import io
from xml.etree import ElementTree

import pytest

from querist.experiment import Cell, Outcome, Result, Specification, Table, tables
from querist_papers.item import Number, Paper

TABLE = Table(
    "A | B at 5 %",
    ("method", "error_rate", "queries", "note"),
    [
        ("MSG_1", Cell(0.08321, 0.0028), 1517, "a|b"),
        ("<GPA>", Cell(None), None, ""),
        ("x", 0.5, 2.0, "y"),
    ],
    note="n & m",
    digits=2,
)


def result(*errors):
    outcomes = tuple(Outcome({"error_rate": error}) for error in errors)
    return Result(Specification("online", "karate", "msg"), {}, outcomes)


def test_one_run_has_no_deviation():
    one, two = Cell.of(result(0.25), "error_rate"), Cell.of(result(0.2, 0.3), "error_rate", 1, unit=100)
    assert (one.value, one.std, tables.shown(one)) == (0.25, None, "0.2500")
    assert tables.shown(two) == "25.0 ± 5.0"
    assert tables.shown(Cell.of(result(0.2, 0.2), "error_rate")) == "0.2000 ± 0.0000", "two runs may agree"
    table = Table("", ("method", "error"), [("a", one)])
    assert tables.comma_separated(table) == "method,error\na,0.25\n"


PAPER = Paper("p", own=frozenset({"MSG"}))


def number(**fields):
    given = {"method": "MSG", "measure": "error_rate", "published": 0.2, "reached": 0.2, **fields}
    return Number(PAPER, "i", "d", **given)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"reached": 0.204}, "reached"),
        ({"reached": 0.196}, "reached"),
        ({"reached": 0.205}, "reached"),
        ({"reached": 0.206}, "not reached"),
        ({"reached": 0.194}, "better"),
        ({"reached": 0.21, "measure": "accuracy"}, "better"),
        ({"reached": 0.19, "measure": "accuracy"}, "not reached"),
        ({"reached": 0.194, "method": "MSG, h tuned"}, "better"),
        ({"reached": 0.194, "method": "GPA"}, "differs"),
        ({"reached": 0.206, "method": "GPA"}, "differs"),
        ({"reached": 0.204, "method": "GPA"}, "agrees"),
        ({"reached": 0.204, "method": "MSGG"}, "agrees"),
        ({"reached": 0.19, "measure": "nodes"}, "not reached"),
        ({"reached": 0.21, "measure": "nodes"}, "not reached"),
        ({"reached": None}, "no counterpart"),
        ({"reached": None, "method": "GPA"}, "no counterpart"),
        ({"measure": "seconds"}, "no counterpart"),
        ({"measure": "queries", "published": 100, "reached": 105}, "reached"),
        ({"measure": "queries", "published": 100, "reached": 105.1}, "not reached"),
        ({"measure": "queries", "published": 100, "reached": 94.9}, "better"),
        ({"measure": "queries", "published": 100, "reached": 100, "by_definition": True}, "by definition"),
        ({"measure": "queries", "published": 100, "reached": 50, "by_definition": True}, "not reached"),
        ({"method": "", "measure": "nodes", "published": 9, "reached": 8, "by_definition": True}, "differs"),
        ({"measure": "queries", "published": 100, "reached": 110, "std": 20, "n": 4}, "reached"),
        ({"measure": "kept", "published": 100, "reached": 94.9}, "not reached"),
        ({"measure": "kept", "published": 100, "reached": 105.1}, "not reached"),
        ({"measure": "average_rank", "published": 1.0, "reached": 1.1, "tolerance": 0.1}, "reached"),
    ],
)
def test_verdicts_are_computed(fields, verdict):
    assert number(**fields).verdict == verdict


@pytest.mark.parametrize(
    ("fields", "near"),
    [
        ({"std": 0.03, "n": 9, "published_std": 0.04, "published_n": 16}, 2 * (0.01**2 + 0.01**2) ** 0.5),
        ({"std": 0.001, "n": 20, "published_std": 0.001, "published_n": 20}, 0.005),
        ({"std": 0.05, "n": 25, "published_n": 4}, 2 * (0.05**2 / 4 + 0.05**2 / 25) ** 0.5),
        ({"published_std": 0.05, "published_n": 1}, 2 * (2 * 0.05**2) ** 0.5),
        ({"measure": "queries", "published": 1517, "std": 24, "n": 20}, 75.85),
    ],
)
def test_two_standard_errors_of_the_difference_but_half_a_point_at_least(fields, near):
    """A deviation that was not published is taken to be ours, and the other way round."""
    assert number(**fields).near == pytest.approx(near)


def test_a_number_is_read_off_its_runs():
    printed = Number(PAPER, "i", "d", "MSG", "error_rate", 0.2, published_std=0.03, published_n=9)
    found = printed.beside(result(0.1, 0.3))
    assert (found.reached, found.std, found.n) == (pytest.approx(0.2), pytest.approx(0.1), 2)
    assert (found.published_std, found.published_n, found.specification.dataset) == (0.03, 9, "karate")
    assert printed.beside(None).reached is None


def test_a_row_has_exactly_these_keys():
    row = number(reached=0.19, std=0.01, post_hoc=True).as_dict()
    assert list(row) == [
        "paper", "item", "dataset", "method", "system", "measure", "published", "published_std", "reached",
        "std", "difference", "tolerance", "verdict", "post_hoc", "majority", "random", "without",
        "reading", "others",
    ]  # fmt: skip
    assert row["difference"] == pytest.approx(-0.01)
    assert number(reached=None).as_dict()["difference"] is None
    systems = [
        number(**f).as_dict()["system"] for f in ({}, {"method": "GPA"}, {"reached": None}, {"method": ""})
    ]
    assert systems == ["own", "rival", "", ""]


def test_markdown():
    assert TABLE.markdown().splitlines() == [
        r"**A \| B at 5 %**",
        "",
        "| method | error_rate | queries | note |",
        "|---|---:|---:|---|",
        r"| MSG_1 | 0.0832 ± 0.0028 | 1,517 | a\|b |",
        "| &lt;GPA&gt; |  |  |  |",
        "| x | 0.50 | 2.00 | y |",
        "",
        "n &amp; m",
    ]


def test_csv_has_all_digits_and_deviations_apart():
    rows = list(csv.reader(io.StringIO(tables.comma_separated(TABLE))))
    assert rows[0] == ["method", "error_rate", "error_rate std", "queries", "note"]
    assert rows[1] == ["MSG_1", "0.08321", "0.0028", "1517", "a|b"]
    assert rows[2] == ["<GPA>", "", "", "", ""]


def test_html_is_escaped():
    text = tables.html(TABLE)
    ElementTree.fromstring(text)
    assert "&lt;GPA&gt;" in text
    assert "0.0832 ± 0.0028" in text
