"""Pages from templates: everything that enters is escaped, and nothing can run or be loaded."""

import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from jinja2 import UndefinedError
from scipy.sparse import csr_array

from querist.report import charts
from querist.report.drawing import draw
from querist.report.figures import Figure
from querist.report.page import page, part

EVIL = "<script>alert('x')</script> & \"quotes\""
PAYLOADS = [
    EVIL,
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style><script>",
    "{{ 7 * 7 }}{% raw %}",
    "]]><script>",
    "$\\frac{1}{$ <b>",
    "javascript:alert(1)",
]
TEMPLATES = {each.name: each.read_text() for each in files("querist.report").joinpath("templates").iterdir()}


class Tags(HTMLParser):
    """Tags with the names of their attributes, and all text."""

    def __init__(self):
        super().__init__()
        self.seen, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, [name for name, _ in attrs]))

    def handle_data(self, data):
        self.text.append(data)


def structure(page):
    reader = Tags()
    reader.feed(page)
    return reader.seen, "".join(reader.text)


def everything(text: str) -> str:
    """All that a page can be made of, with the same text wherever there is one."""
    curve = Figure(
        "curve", lambda canvas: charts.curves(canvas.add_subplot(), {text: ([0, 1], [0, 1])}), text,
        heading=text, description=text,
    )  # fmt: skip
    shares = Figure("shares", lambda canvas: charts.balance(canvas.add_subplot(), [(text, 0, 0.5, 0.25)]))
    both = np.ones(2, dtype=bool)
    drawing, _ = draw(
        csr_array(np.eye(2)[::-1]), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64),
        labelled=both, reached=both, sure=np.ones(2), said=lambda row: text,
    )  # fmt: skip
    parts = [
        part("prose", [text]),
        part("code", text),
        part("headline", [(text, text, text)]),
        part("table", [text, text], [[text, text]], text),
        part("gallery", [("data:image/png;base64,AA", text, text, True)]),
        part("figures", [curve, shares]),
        part("legend", [("c0", text, "1")]),
        drawing,
    ]
    return page(
        "comparison", title=text, lede=text, command=text, protocol=[text], tables=parts,
        figures=[curve, shares], remarks=[text], conditions=text, n_specifications=1,
    )  # fmt: skip


def test_all_text_is_escaped():
    text = everything(EVIL)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 30


@pytest.mark.slow
@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_becomes_a_tag_or_an_attribute(payload):
    plain, _ = structure(everything("word"))
    found, text = structure(everything(payload))
    assert found == plain
    assert payload in text
    assert not any(name.startswith("on") for _, names in found for name in names)


def test_a_page_may_neither_run_nor_load_anything():
    text = everything("word")
    assert "default-src 'none'" in text
    assert not re.search(r"<script|https?://|<link|<iframe|@import|url\((?!#)", text)


def test_templates_leave_no_way_around_escaping():
    assert {"base.html", "parts.html", "labelling.html", "demo.html", "comparison.html"} <= set(TEMPLATES)
    for name, text in TEMPLATES.items():
        bare = re.sub(r"{#.*?#}", "", text, flags=re.DOTALL)
        assert not re.search(r"\|\s*safe|autoescape|<script|https?:", bare), name
        assert not re.search(r"=\s*{{", bare), f"{name}: a value as an attribute stands in quotes"


def test_a_value_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="lede"):
        page("demo", title="a title")
