"""Figures: the same bytes each time, ids of their own on a page, the page's colours, names as they are."""

import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

from querist.report import charts
from querist.report.figures import COLOURS, DARK, INK, LIGHT, Figure, entitle, on_page, standalone


def draw(figure):
    left, right = figure.subplots(1, 2)
    x = np.arange(5)
    charts.curves(left, {"a": (x, x), "b": (x, np.vstack([x, x + 1]))}, x_label="x", y_label="y")
    charts.finish(left, "x", "y", log_y=True)
    charts.histogram(right, x / 5, "nodes")


@pytest.mark.slow
def test_figures_are_the_same_each_time_in_both_forms():
    one, other = Figure("f", draw), Figure("f", draw)
    assert one.svg == other.svg
    assert one.png == other.png
    ElementTree.fromstring(one.svg)
    assert one.png.startswith(b"\x89PNG")
    assert re.search(rb"<text", one.svg), "letters stay letters"


@pytest.mark.slow
def test_two_figures_share_no_ids_and_are_the_same_every_time():
    drawn = [on_page(Figure("a", draw)), on_page(Figure("b", draw)), on_page(Figure("a", draw), "p-")]
    found = [set(re.findall(r'id="([^"]*)"', svg)) for svg in drawn]
    assert found[0]
    assert not found[0] & found[1]
    assert not found[0] & found[2]
    for svg, ids in zip(drawn, found, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', svg)) <= ids
    assert on_page(Figure("a", draw)) == drawn[0]
    assert "http" not in drawn[0]
    assert "var(--series-1)" in drawn[0]


def lines(canvas):
    charts.curves(canvas.add_subplot(), {"a": ([0, 1], [0, 1]), "b": ([0, 1], [[0, 1], [1, 2]])})


def test_a_figure_on_a_page_has_the_colours_of_the_page_only():
    def bars(canvas):
        charts.balance(canvas.add_subplot(), [("a", 0, 0.5, 0.25), ("b", 1, 0.5, 0.75)])

    for_bars, svg = on_page(Figure("b", bars)), on_page(Figure("a", lines, "caption", description="heard"))
    assert not re.findall(r"#[0-9a-f]{6}\b", svg + for_bars), "a colour that does not follow light and dark"
    assert 'role="img" aria-label="heard"' in svg
    assert set(LIGHT) == set(DARK)
    assert set(re.findall(r"var\(--([\w-]+)\)", svg)) <= set(LIGHT)
    alone = standalone(Figure("a", draw))
    ElementTree.fromstring(alone)
    assert INK in alone
    assert DARK["ink"] in alone


@pytest.mark.parametrize(
    "name", [f"{COLOURS[0]} or", 'id="x" url(#y)', "$5 to $10_", "中文 😀", "title: x", "<b>&"]
)
def test_names_are_drawn_as_they_are(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = on_page(Figure("a", lambda c: charts.balance(c.add_subplot(), [(name, 0, 0.5, 0.5)])))
        lines = on_page(Figure("a", lambda c: charts.curves(c.add_subplot(), {name: ([0, 1], [0, 1])})))
    for found in (svg, lines):
        tree = ElementTree.fromstring(found.replace("xlink:href", "href"))
        assert name in [text.text for text in tree.iter("text")]


@pytest.mark.parametrize("said", ["a & b", 'a "b" <c>', """both ' and ">'"""])
def test_what_a_mark_says_stands_in_its_title(said):
    def dot(canvas):
        (point,) = canvas.add_subplot().plot([0], [0], "o")
        entitle(point, said)

    svg = on_page(Figure("a", dot))
    tree = ElementTree.fromstring(svg.replace("xlink:href", "href"))
    assert [title.text for title in tree.iter("title")] == [said]
