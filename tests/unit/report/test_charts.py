"""Charts: what is drawn is what was given."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from querist.report import charts
from querist.report.charts import balance, histogram, reliability
from querist.report.figures import Figure, on_page


def axes_of(chart, *values):
    axes = Canvas().add_subplot()
    chart(axes, *values)
    return axes


def test_bars_are_as_high_as_they_should_be():
    confidence = np.array([0.05] * 30 + [0.55] * 60 + [1.0] * 10)
    heights = [bar.get_height() for bar in axes_of(histogram, confidence, "nodes").patches]
    assert np.argmax(heights) == 5
    np.testing.assert_allclose(np.array(heights)[[0, 5, 9]] / heights[5], [0.5, 1, 1 / 6], atol=0.01)
    assert sum(h > 0 for h in heights) == 3
    svg = on_page(Figure("a", lambda canvas: histogram(canvas.add_subplot(), confidence, "nodes")))
    assert "<title>60 nodes between 50% and 60%</title>" in svg


def test_reliability_is_what_was_right():
    confidence = np.repeat([0.2, 0.9], 50)
    correct = np.concatenate([np.arange(50) < 10, np.arange(50) < 45])
    svg = on_page(Figure("a", lambda c: reliability(c.add_subplot(), confidence, correct, 2)))
    assert re.findall(r"<title>(.*?)</title>", svg) == [
        "50 held-out labels, probability 20% on average, 20% right",
        "50 held-out labels, probability 90% on average, 90% right",
    ]
    line = axes_of(reliability, confidence, correct, 2).lines[-1]
    np.testing.assert_allclose(line.get_xydata(), [[0.2, 0.2], [0.9, 0.9]])


@pytest.mark.parametrize("value", [1, 4, 5, 6, 99, 100, 101, 5555, 1e6])
def test_the_top_of_an_axis(value):
    _, top = axes_of(histogram, np.full(int(value), 0.5), "nodes").get_ylim()
    assert value <= top <= max(5, 2 * value)


def test_a_pair_of_bars_a_class():
    axes = axes_of(balance, [("a", 0, 0.5, 0.25), ("b" * 30, 99, 0.0, 0.75)])
    assert [bar.get_width() for bar in axes.patches] == [0.25, 0.75, 0.5, 0.0]
    assert [text.get_text() for text in axes.texts] == [
        "25.0% of all labels", "75.0% of all labels", "50.0% of those given", "",
    ]  # fmt: skip
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b" * 19 + "…"]
    assert len(axes_of(balance, []).patches) == 0


def test_series_differ_in_grey_too():
    looks = [charts.look_of(i) for i in range(8)]
    for part in ("marker", "linestyle", "color"):
        assert len({str(look[part]) for look in looks}) == 8


def test_the_first_curve_lies_on_top_and_a_band_is_one_deviation():
    axes = axes_of(charts.curves, {"first": ([0, 1], [1, 1]), "second": ([0, 1], [[0, 0], [2, 4]])})
    assert [line.get_label() for line in axes.lines] == ["second", "first"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["first", "second"]
    (band,) = axes.collections
    assert band.get_datalim(axes.transData).extents.tolist() == [0, 0, 1, 4]


def test_gains_add_up():
    axes = axes_of(charts.gains, np.array([1.0, 0.5, 0.25]), [(1, 0.5, 1.0), (3, 1.0, 2.5)], 0.1)
    found, random = axes.lines
    assert found.get_ydata().tolist() == [1.0, 1.5, 1.75]
    np.testing.assert_allclose(random.get_ydata(), [0.1, 0.2, 0.3])
