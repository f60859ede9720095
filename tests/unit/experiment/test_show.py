"""Verdicts, and tables in every form."""

import csv
import io
from xml.etree import ElementTree

import pytest

from querist.experiment import Cell, Number, Outcome, Result, Specification, Table, tables

TABLE = Table(
    "A | B at 5 %",
    ("method", "error_rate", "queries", "note"),
    [
        ("MSG_1", Cell(0.08321, 0.0028, strong=True), 1517, "a|b"),
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


def number(**fields):
    given = {"measure": "error_rate", "published": 0.2, "reached": 0.2, "tolerance": 0.005, **fields}
    return Number("p", "i", "d", "m", **given)


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
        ({"reached": 0.19, "measure": "nodes"}, "not reached"),
        ({"reached": 0.21, "measure": "nodes"}, "not reached"),
        ({"reached": None}, "not reached"),
        ({"published": 1.0, "reached": 1.1, "tolerance": 0.1}, "reached"),
    ],
)
def test_verdicts_are_computed(fields, verdict):
    assert number(**fields).verdict == verdict


def test_a_row_has_exactly_these_keys():
    row = number(reached=0.19, std=0.01, post_hoc=True).as_dict()
    assert list(row) == [
        "paper", "item", "dataset", "method", "measure", "published", "reached", "std", "difference",
        "verdict", "post_hoc",
    ]  # fmt: skip
    assert row["difference"] == pytest.approx(-0.01)
    assert number(reached=None).as_dict()["difference"] is None


def test_markdown():
    assert tables.markdown(TABLE).splitlines() == [
        r"**A \| B at 5 %**",
        "",
        "| method | error_rate | queries | note |",
        "|---|---:|---:|---|",
        r"| MSG_1 | **0.0832 ± 0.0028** | 1,517 | a\|b |",
        "| <GPA> |  |  |  |",
        "| x | 0.50 | 2.00 | y |",
        "",
        "n & m",
    ]


def test_latex():
    text = tables.latex(TABLE)
    assert r"MSG\_1 & \textbf{0.0832 $\pm$ 0.0028} & 1,517 & a|b \\" in text
    assert r"\begin{tabular}{lrrl}" in text
    assert r"\caption{A | B at 5 \%}" in text
    assert r"$<$GPA$>$" in text
    assert r"\par n \& m" in text
    assert text.count("{") == text.count("}")


def test_csv_has_all_digits_and_deviations_apart():
    rows = list(csv.reader(io.StringIO(tables.comma_separated(TABLE))))
    assert rows[0] == ["method", "error_rate", "error_rate std", "queries", "note"]
    assert rows[1] == ["MSG_1", "0.08321", "0.0028", "1517", "a|b"]
    assert rows[2] == ["<GPA>", "", "", "", ""]


def test_html_is_escaped():
    text = tables.html(TABLE)
    ElementTree.fromstring(text)
    assert "&lt;GPA&gt;" in text
    assert "<strong>0.0832 ± 0.0028</strong>" in text
