"""Every number in the table of results is on the page that it links to, and both tables are the same."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (.+?) \| (.*?\]\((.+?)(?:#[\w-]+)?\).*?) \|$", re.MULTILINE)
ROUNDED = {"81.5": "0.815"}
"""Percentages in the table, as the linked pages print them."""


def claims(page):
    table = page.read_text(encoding="utf-8").partition("| result |")[2].partition("\n\n")[0]
    return ROW.findall(table)


@pytest.mark.parametrize("row", claims(ROOT / "README.md"), ids=lambda row: row[0][:30])
def test_the_numbers_are_on_the_linked_page(row):
    text, _, target = row
    page = (ROOT / target).read_text(encoding="utf-8")
    for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text):
        assert re.search(rf"(?<![\d.]){re.escape(ROUNDED.get(number, number))}(?!\d)", page), number


def test_the_home_page_has_the_results_of_the_readme():
    readme, first = claims(ROOT / "README.md"), claims(ROOT / "docs" / "index.md")
    assert len(readme) == 4
    assert [(text, "docs/" + target) for text, _, target in first] == [
        (text, target) for text, _, target in readme
    ]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 90
