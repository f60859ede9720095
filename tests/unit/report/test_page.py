"""The page shell: everything that enters is escaped, every figure has ids of its own."""

import re

import numpy as np

from querist.report import (
    Curve,
    Figure,
    Tile,
    code,
    columns,
    curves,
    gallery,
    headline,
    page,
    prose,
    section,
    table,
)

EVIL = "<script>alert('x')</script> & \"quotes\""


def test_all_text_is_escaped():
    parts = [
        section(EVIL, prose(EVIL), code(EVIL), headline([(EVIL, EVIL, EVIL)])),
        table([EVIL, EVIL], [[EVIL, EVIL]], EVIL),
        gallery([Tile("data:image/png;base64,AA", EVIL, EVIL, True)]),
        columns(
            Figure(curves([Curve(EVIL, [0, 1], [0, 1])], EVIL, EVIL, name="a", description=EVIL), EVIL, EVIL)
        ),
    ]
    text = page(EVIL, EVIL, parts)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 12


def test_two_figures_share_no_ids_and_are_the_same_every_time():
    def draw(name):
        return curves([Curve("line", np.arange(3), np.ones(3), np.zeros(3), np.ones(3))], "x", "y",
                      name=name, description="a line")  # fmt: skip

    first, second = draw("first"), draw("second")
    found = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (first, second)]
    assert found[0]
    assert not found[0] & found[1]
    assert draw("first") == first
    assert "http" not in first
    assert "var(--series-1)" in first
