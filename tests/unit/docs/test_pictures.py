"""The list of methods shows four pictures, each method page its own, with captions that match the runs."""

from pathlib import Path

import pytest

import method_pictures
import pictures
import result_figures

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "index.md"


@pytest.fixture(scope="module")
def figures():
    return [make() for make in pictures.PICTURES]


def test_the_list_of_methods_shows_the_runs(figures):
    page = PAGE.read_text(encoding="utf-8")
    assert len(figures) == 4
    assert page == pictures.on_page(page, figures), "run `make pictures`"


@pytest.mark.slow
def test_every_picture_is_there_and_is_drawn(figures):
    for figure in figures:
        assert (pictures.IMAGES / f"{figure.name}.svg").exists()
        assert figure.svg.count(b"<use") > 20


@pytest.mark.slow
@pytest.mark.parametrize("page", method_pictures.pages(), ids=lambda page: page.stem)
def test_a_method_page_shows_its_run(page):
    figure = method_pictures.figure_of(page)
    text = page.read_text(encoding="utf-8")
    assert text == method_pictures.with_picture(text, figure), "run `make pictures`"
    assert (method_pictures.IMAGES / f"{page.stem}.svg").read_text(encoding="utf-8").count("<use") > 100


@pytest.mark.parametrize("make", result_figures.FIGURES, ids=lambda make: make.__name__)
def test_a_figure_of_measurements_is_drawn_from_its_table(make):
    figure = make()
    assert figure.svg.count(b"<use") > 5
    assert (result_figures.IMAGES / f"{figure.name}.svg").exists()
    guides = "".join(page.read_text(encoding="utf-8") for page in result_figures.DOCS.glob("*.md"))
    assert f"images/results/{figure.name}.svg" in guides
