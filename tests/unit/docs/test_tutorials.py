"""The tutorials run as printed, and print what the pages say."""

from pathlib import Path

import pytest

import tutorials

pytestmark = pytest.mark.long
pytest.importorskip("ipykernel")
CHROMIUM = Path("/usr/bin/chromium")


@pytest.mark.parametrize("page", tutorials.pages(), ids=lambda page: page.stem)
def test_a_tutorial_prints_what_its_page_says(page):
    if str(CHROMIUM) in page.read_text(encoding="utf-8") and not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}, which the page opens")
    assert tutorials.differences(page, tutorials.run(page, copy=False)) == []


def test_there_are_five_and_the_list_names_them():
    listed = (tutorials.FOLDER / "index.md").read_text(encoding="utf-8")
    assert len(tutorials.pages()) == 5
    assert all(f"]({page.name})" in listed for page in tutorials.pages())


def test_a_page_that_says_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    assert "+2" in tutorials.differences(page, tutorials.run(page, copy=False))
    page.write_text(page.read_text().replace("3\n", "2\n"), encoding="utf-8")
    assert tutorials.differences(page, tutorials.run(page, copy=False)) == []
