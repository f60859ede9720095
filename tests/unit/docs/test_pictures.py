"""The first page shows four pictures, a method page its own, and both say what the runs behind them say."""

from pathlib import Path

import pytest

import method_pictures
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
        assert figure.svg.count(b"<use") > 20


@pytest.mark.parametrize("page", method_pictures.pages(), ids=lambda page: page.stem)
def test_a_method_page_says_what_its_run_says(page):
    figure = method_pictures.figure_of(page)
    text = page.read_text(encoding="utf-8")
    assert text == method_pictures.with_picture(text, figure), "run `make pictures`"
    assert (method_pictures.IMAGES / f"{page.stem}.svg").read_text(encoding="utf-8").count("<use") > 100
