"""Every registered algorithm has a page: formula, picture, when to use it, cost, where it is from."""

import re
from collections import Counter
from pathlib import Path

import pytest
from registered import families, named_by, with_tables

FOLDER = Path(__file__).parents[3] / "docs" / "methods"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")
PARTS = ["## Formula", "## When to use it", "## Cost", "## Source"]


def test_every_registered_name_is_on_one_page():
    registered = {(family, name) for family, (registry, _) in families().items() for name in registry}
    told = Counter(name for page in PAGES for name in named_by(page))
    assert set(told) == registered
    assert set(told.values()) == {1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_parts_and_its_table(page):
    text = page.read_text(encoding="utf-8")
    assert [text.count(part) for part in PARTS] == [1] * len(PARTS)
    shown = re.findall(r"^!\[[^\]]+\]\((.+)\)$", text.partition(PARTS[1])[0], re.MULTILINE)
    assert len(shown) == 1 and (page.parent / shown[0]).is_file()
    assert named_by(page)
    for _, name in named_by(page):
        assert f'"{name}"' in with_tables(text)
    assert f"]({page.name})" in (FOLDER / "index.md").read_text(encoding="utf-8")


def test_the_table_of_parameters_is_read_from_the_code():
    shown = with_tables("<!-- registered: online msg -->")
    assert "| `h` | a finite number, above 0 | `0.01` |" in shown
    assert "Multi-class selective sampling" in shown
