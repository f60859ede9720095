"""The first page shows four pictures, and says of them what the runs behind them say."""

from pathlib import Path

import pytest

import pictures

pytestmark = pytest.mark.slow
FIRST_PAGE = Path(__file__).parents[3] / "docs" / "index.md"


@pytest.fixture(scope="module")
def figures():
    return [make() for make in pictures.PICTURES]


def test_the_first_page_says_what_the_runs_say(figures):
    page = FIRST_PAGE.read_text(encoding="utf-8")
    assert len(figures) == 4
    assert page == pictures.on_first_page(page, figures), "run `make pictures`"


def test_every_picture_is_there_and_is_drawn(figures):
    for figure in figures:
        assert (FIRST_PAGE.parent / "images" / f"{figure.name}.svg").exists()
        assert figure.svg.count(b"<path") > 20
