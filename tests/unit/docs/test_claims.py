"""Every number of the table of claims stands on the page that it links to, and both tables say the same."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (.+?) \| (.*?\]\((.+?)(?:#[\w-]+)?\).*?) \|$", re.MULTILINE)
ROUNDED = {"16.6": "0.1656", "18.9": "0.1889", "81.5": "0.815", "86": "86%"}
"""Percentages of the claims, as the pages print them."""


def claims(page):
    table = page.read_text(encoding="utf-8").partition("| claim |")[2].partition("\n\n")[0]
    return ROW.findall(table)


@pytest.mark.parametrize("row", claims(ROOT / "README.md"), ids=lambda row: row[0][:30])
def test_the_numbers_of_a_claim_are_where_it_says(row):
    text, _, target = row
    page = (ROOT / target).read_text(encoding="utf-8")
    for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text):
        assert re.search(rf"(?<![\d.]){re.escape(ROUNDED.get(number, number))}(?!\d)", page), number


def test_the_first_page_claims_what_the_readme_claims():
    readme, first = claims(ROOT / "README.md"), claims(ROOT / "docs" / "index.md")
    assert len(readme) == 5
    assert [(text, "docs/" + target) for text, _, target in first] == [
        (text, target) for text, _, target in readme
    ]


def test_the_readme_is_one_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 90
